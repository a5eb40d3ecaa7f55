//! Arguments checked against the schema that was published: a refusal names the argument, the value
//! that came and the values that are allowed.

use std::fmt;

use serde_json::{Map, Number, Value};

use super::{
    dates,
    schema::{TAKES_ANYTHING, on_one_line},
};
use crate::{content::escape_line, failure::Failure, json::Json};

/// The ends of a range of dates, and what stands for one that is open.
const RANGE: [&str; 2] = ["after", "before"];
const OPEN: &str = "..";
/// The names of the range itself: in the schema, and in snake_case.
const RANGE_NAMES: [&str; 2] = [dates::RANGE, "date_range"];
/// How much of a wrong name or value is repeated.
const MAX_SHOWN: usize = 60;

/// The arguments as they came, under the names they were given.
pub(super) fn given(arguments: Option<&Json>) -> Result<Map<String, Value>, Failure> {
    let mut all = Map::new();
    // Some clients send null for nothing.
    let Some(text) = arguments.filter(|text| text.as_str().trim() != "null") else {
        return Ok(all);
    };
    let Some(object) = text.object() else {
        let message = format!("the arguments must be an object, not {}", shown(text.as_str()));
        return Err(Failure::arguments(message));
    };
    for (name, value) in object.iter() {
        let value = serde_json::from_str(value).map_err(|error| unreadable(name, &error))?;
        if all.insert(name.to_owned(), value).is_some() {
            return Err(given_twice(name));
        }
    }
    Ok(all)
}

/// The arguments of a tool, made once of the schema that was published.
pub(super) struct Shape {
    properties: Vec<Property>,
}

struct Property {
    name: String,
    snake_case: String,
    description: String,
    is_required: bool,
    kind: Kind,
}

enum Kind {
    Anything,
    OneOf(Vec<String>),
    Text { most: Option<u64> },
    Texts { most: Option<u64> },
    Flag,
    Whole(Bounds),
    Number(Bounds),
}

struct Bounds {
    least: Option<Number>,
    most: Option<Number>,
}

impl Shape {
    /// The shape that a schema describes.
    pub(super) fn of(schema: &Value) -> Shape {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
        let all = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let properties = all.map(|(name, property)| Property {
            name: name.clone(),
            snake_case: snake_case(name),
            description: on_one_line(text(property, "description").unwrap_or("see the schema")),
            is_required: is_required(name),
            kind: Kind::of(property),
        });
        Shape { properties: properties.collect() }
    }

    /// The arguments under their own names, or why they are refused.
    pub(super) fn check(&self, given: Map<String, Value>) -> Result<Value, Failure> {
        let mut taken = Map::new();
        for (name, value) in self.flattened(given)? {
            let property = self.property(&name).ok_or_else(|| self.unknown(&name))?;
            // Some clients send null for what is left out.
            if value.is_null() && !matches!(property.kind, Kind::Anything) {
                continue;
            }
            let value = property.kind.whole(value);
            property.check(&value)?;
            if taken.insert(property.name.clone(), value).is_some() {
                return Err(given_twice(&property.name));
            }
        }
        let mut required = self.properties.iter().filter(|property| property.is_required);
        match required.find(|property| !taken.contains_key(&property.name)) {
            Some(Property { name, description, .. }) => {
                let message = format!("`{name}` is missing: {description}");
                Err(Failure::arguments(message).with("field", name.as_str()))
            }
            None => Ok(Value::Object(taken)),
        }
    }

    /// The property a name means: itself, or in snake_case for camelCase, e.g. `max_size` for
    /// `maxSize`.
    fn property(&self, name: &str) -> Option<&Property> {
        let exact = self.properties.iter().find(|property| property.name == name);
        exact.or_else(|| self.properties.iter().find(|property| property.snake_case == name))
    }

    /// Schemas are flat, because some clients understand no others: a range of dates is a text.
    /// It may also come as the object that it is elsewhere, e.g. `{"after": "2026-11-01"}`.
    fn flattened(&self, mut given: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        for name in RANGE_NAMES {
            if self.property(name).is_none() {
                continue;
            }
            if let Some(Value::Object(range)) = given.get(name) {
                let text = range_as_text(name, range)?;
                given.insert(name.to_owned(), Value::String(text));
            }
        }
        Ok(given)
    }

    fn unknown(&self, name: &str) -> Failure {
        let shown = short(name);
        let allowed: Vec<&str> = self.properties.iter().map(|it| it.name.as_str()).collect();
        let near = allowed.iter().find(|own| strsim::damerau_levenshtein(own, &shown) <= 2);
        let hint = near.map(|own| format!("; did you mean `{own}`?")).unwrap_or_default();
        let message = match allowed.len() {
            0 => format!("`{shown}` is not an argument: this tool takes none"),
            _ => format!("`{shown}` is not an argument; allowed are {}{hint}", list(&allowed)),
        };
        Failure::arguments(message).with("field", shown).with("allowed", allowed)
    }
}

impl Property {
    fn check(&self, value: &Value) -> Result<(), Failure> {
        match &self.kind {
            Kind::Anything => Ok(()),
            Kind::OneOf(words) => {
                let is_one = value.as_str().is_some_and(|word| words.iter().any(|it| it == word));
                let words = || words.iter().map(String::as_str).collect::<Vec<_>>();
                let wrong = || self.wrong(&format!("one of {}", list(&words())), value);
                if is_one { Ok(()) } else { Err(wrong().with("allowed", words())) }
            }
            Kind::Text { most } => match value.as_str() {
                Some(text) => self.check_count(text.chars().count(), *most, "characters"),
                None => Err(self.wrong("a string", value)),
            },
            Kind::Texts { most } => match value.as_array() {
                Some(all) if all.iter().all(Value::is_string) => {
                    self.check_count(all.len(), *most, "elements")
                }
                _ => Err(self.wrong("a list of strings", value)),
            },
            Kind::Flag if value.is_boolean() => Ok(()),
            Kind::Flag => Err(self.wrong("true or false", value)),
            Kind::Whole(bounds) if value.is_i64() || value.is_u64() => {
                self.check_bounds(value, bounds)
            }
            Kind::Whole(bounds) => Err(self.wrong(&format!("a whole number{bounds}"), value)),
            Kind::Number(bounds) if value.is_number() => self.check_bounds(value, bounds),
            Kind::Number(bounds) => Err(self.wrong(&format!("a number{bounds}"), value)),
        }
    }

    fn check_count(&self, count: usize, most: Option<u64>, what: &str) -> Result<(), Failure> {
        let name = self.name.as_str();
        match most.filter(|most| count as u64 > *most) {
            None => Ok(()),
            Some(most) => {
                let message = format!("`{name}` has {count} {what}; at most {most} are allowed");
                Err(Failure::arguments(message).with("field", name))
            }
        }
    }

    fn check_bounds(&self, value: &Value, bounds: &Bounds) -> Result<(), Failure> {
        let number = value.as_f64().unwrap_or(f64::NAN);
        let bound = |bound: &Option<Number>| bound.as_ref().and_then(Number::as_f64);
        let fits = bound(&bounds.least).is_none_or(|least| number >= least)
            && bound(&bounds.most).is_none_or(|most| number <= most);
        if fits { Ok(()) } else { Err(self.wrong(&format!("a number{bounds}"), value)) }
    }

    fn wrong(&self, allowed: &str, value: &Value) -> Failure {
        let name = self.name.as_str();
        let message = format!("`{name}` must be {allowed}, not {}", shown(&value.to_string()));
        Failure::arguments(message).with("field", name)
    }
}

impl Kind {
    fn of(property: &Value) -> Kind {
        let count = |key: &str| property.get(key).and_then(Value::as_u64);
        if property.get(TAKES_ANYTHING).is_some() {
            return Kind::Anything;
        }
        if let Some(words) = property.get("enum").and_then(Value::as_array) {
            return Kind::OneOf(
                words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            );
        }
        match text(property, "type") {
            Some("string") => Kind::Text { most: count("maxLength") },
            Some("array") => Kind::Texts { most: count("maxItems") },
            Some("boolean") => Kind::Flag,
            Some("integer") => Kind::Whole(Bounds::of(property)),
            Some("number") => Kind::Number(Bounds::of(property)),
            Some(_) | None => Kind::Anything,
        }
    }

    /// Makes a float whole where a whole number is wanted, e.g. `3` of `3.0`, as JSON Schema says.
    fn whole(&self, value: Value) -> Value {
        let is_whole = matches!(self, Kind::Whole(_));
        match value.as_f64().filter(|_| is_whole && value.is_f64()) {
            // Beyond this a float no longer tells whole numbers apart.
            Some(number) if number.fract() == 0.0 && number.abs() < 9.0e15 => {
                format!("{number:.0}").parse::<i64>().map_or(value, Value::from)
            }
            _ => value,
        }
    }
}

impl Bounds {
    fn of(property: &Value) -> Bounds {
        let bound = |key: &str| property.get(key).and_then(Value::as_number).cloned();
        Bounds { least: bound("minimum"), most: bound("maximum") }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.least, &self.most) {
            (Some(least), Some(most)) => write!(f, " from {least} to {most}"),
            (Some(least), None) => write!(f, " of at least {least}"),
            (None, Some(most)) => write!(f, " of at most {most}"),
            (None, None) => Ok(()),
        }
    }
}

/// A range of dates that came as an object, as the text in the schema, e.g. `2026-01-01/..`.
fn range_as_text(name: &str, range: &Map<String, Value>) -> Result<String, Failure> {
    let other = range.keys().find(|end| !RANGE.contains(&end.as_str()));
    if let Some(other) = other {
        let message = format!("`{name}` has `after` and `before`, not `{}`", short(other));
        return Err(Failure::arguments(message).with("field", name));
    }
    let mut ends = Vec::new();
    for end in RANGE {
        match range.get(end) {
            None | Some(Value::Null) => ends.push(OPEN),
            Some(Value::String(date)) => ends.push(date),
            Some(other) => {
                let other = shown(&other.to_string());
                let message = format!("`{name}.{end}` must be a string, not {other}");
                return Err(Failure::arguments(message).with("field", name));
            }
        }
    }
    Ok(ends.join("/"))
}

/// JSON that no value can be made of: half of a surrogate pair, a number beyond all bounds.
fn unreadable(name: &str, error: &serde_json::Error) -> Failure {
    let (name, error) = (short(name), error.to_string());
    let why = error.split(" at line").next().unwrap_or(&error);
    let message = format!("`{name}` cannot be read: {why}");
    Failure::arguments(message).with("field", name)
}

fn given_twice(name: &str) -> Failure {
    let name = short(name);
    Failure::arguments(format!("`{name}` is given twice")).with("field", name)
}

fn text<'a>(property: &'a Value, key: &str) -> Option<&'a str> {
    property.get(key).and_then(Value::as_str)
}

fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// A name from the arguments, on one line and cut.
fn short(name: &str) -> String {
    escape_line(name).chars().take(MAX_SHOWN).collect()
}

/// A value from the arguments, on one line and cut.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(MAX_SHOWN).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", escape_line(&short))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["term"],
            "properties": {
                "term": {"type": "string", "description": "what to look for", "maxLength": 5},
                "maxSize": {"type": "integer", "minimum": 1, "maximum": 10},
                "format": {"type": "string", "enum": ["auto", "json"]},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                "value": {"type": "string", TAKES_ANYTHING: true},
            },
        })
    }

    /// As they come, in a text.
    fn check(arguments: &Value) -> Result<Value, Failure> {
        Shape::of(&schema()).check(given(Some(&Json::of(arguments)))?)
    }

    #[test]
    fn what_no_value_can_be_made_of_is_named() {
        for (field, value) in [("term", r#""\ud800""#), ("maxSize", "1e999"), ("x\u{1b}", "-1e999")]
        {
            let text = format!("{{{}:{value}}}", crate::json::quote(field));
            let failure = given(Some(&Json::parse(text).unwrap())).unwrap_err();
            let field = escape_line(field);
            assert_eq!(failure.field(), Some(field.as_ref()));
            let said = format!("`{field}` cannot be read");
            assert!(failure.message().starts_with(&said), "{}", failure.message());
        }
        let twice = Json::parse(r#"{"x":1,"y":2,"x":1}"#.to_owned()).unwrap();
        assert_eq!(given(Some(&twice)).unwrap_err().message(), "`x` is given twice");
    }

    #[test]
    fn wrong_arguments_are_named_with_what_came_and_what_is_allowed() {
        for (arguments, said) in [
            (json!({}), "`term` is missing: what to look for"),
            (json!({"term": 5}), "`term` must be a string, not 5"),
            (json!({"term": "a", "maxsize": 1}), "did you mean `maxSize`?"),
            (json!({"term": "a", "x": 1}), "`x` is not an argument; allowed are `term`, `maxSize`"),
            (json!({"term": "a", "maxSize": 11}), "a number from 1 to 10, not 11"),
            (json!({"term": "a", "maxSize": "3"}), "a whole number from 1 to 10, not \"3\""),
            (json!({"term": "a", "format": "xml"}), "one of `auto`, `json`, not \"xml\""),
            (json!({"term": "a", "tags": [1]}), "`tags` must be a list of strings"),
            (json!({"term": "a", "tags": ["a", "b", "c"]}), "at most 2"),
            (json!({"term": "abcdef"}), "at most 5"),
            (json!([1]), "must be an object, not [1]"),
        ] {
            let failure = check(&arguments).unwrap_err();
            assert!(failure.message().contains(said), "{} lacks {said}", failure.message());
        }
    }

    #[test]
    fn snake_case_is_taken_for_camel_case_and_null_for_nothing() {
        let arguments = json!({"term": "a", "max_size": 3, "format": null, "value": null});
        let taken = check(&arguments).unwrap();
        assert_eq!(taken, json!({"term": "a", "maxSize": 3, "value": null}));
        let float = check(&json!({"term": "a", "maxSize": 3.0})).unwrap();
        assert_eq!(float, json!({"term": "a", "maxSize": 3}));
        assert!(check(&json!({"term": "a", "maxSize": 3.5})).is_err());
        let twice = json!({"term": "a", "max_size": 3, "maxSize": 4});
        assert!(check(&twice).unwrap_err().message().contains("given twice"));
    }

    #[test]
    fn a_huge_wrong_value_is_not_repeated() {
        let failure = check(&json!({"term": ["x".repeat(100_000)]})).unwrap_err();
        assert!(failure.message().len() < 200, "{}", failure.message().len());
    }
}
