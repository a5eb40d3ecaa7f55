//! Arguments checked against the schema that was published: what is refused is named,
//! with what came and what is allowed.

use serde_json::{Map, Value};

use super::{outcome::Failure, schema::TAKES_ANYTHING};
use crate::content::escape_line;

/// The ends of a range of dates, and the names of the range itself.
const RANGE: [&str; 2] = ["after", "before"];
const RANGE_NAMES: [&str; 2] = ["dateRange", "date_range"];
/// How much of a wrong value is repeated.
const MAX_SHOWN: usize = 60;

/// The arguments under their own names, or why they are refused.
pub(super) fn check(arguments: Value, schema: &Value) -> Result<Value, Failure> {
    let Value::Object(given) = arguments else {
        return Err(Failure::arguments(format!(
            "the arguments must be an object, not {}",
            shown(&arguments)
        )));
    };
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let mut taken = Map::new();
    for (name, value) in flattened(given, properties)? {
        let Some(own) = own_name(&name, properties) else { return Err(unknown(&name, properties)) };
        let property = &properties[own];
        // Some clients send null for what is left out.
        if value.is_null() && property.get(TAKES_ANYTHING).is_none() {
            continue;
        }
        let value = whole(value, property);
        check_value(own, &value, property)?;
        if taken.insert(own.to_owned(), value).is_some() {
            return Err(Failure::arguments(format!("`{own}` is given twice")));
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !taken.contains_key(name) {
            let says = describe(&properties[name]);
            return Err(
                Failure::arguments(format!("`{name}` is missing: {says}")).with("field", name)
            );
        }
    }
    Ok(Value::Object(taken))
}

/// Schemas are flat, because some clients understand no others. A range of dates may also
/// come as the one object that it is elsewhere.
fn flattened(
    mut given: Map<String, Value>,
    properties: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    if !RANGE.iter().all(|end| properties.contains_key(*end)) {
        return Ok(given);
    }
    let named = RANGE_NAMES.iter().find_map(|name| given.remove(*name).map(|value| (*name, value)));
    let Some((name, value)) = named.filter(|(_, value)| !value.is_null()) else { return Ok(given) };
    let Value::Object(range) = value else {
        let message = format!("`{name}` must be an object with `after` and `before`");
        return Err(Failure::arguments(message).with("field", name));
    };
    for (end, date) in range {
        if !RANGE.contains(&end.as_str()) {
            let other = escape_line(&end).chars().take(MAX_SHOWN).collect::<String>();
            let message = format!("`{name}` has `after` and `before`, not `{other}`");
            return Err(Failure::arguments(message).with("field", name));
        }
        if given.insert(end.clone(), date).is_some() {
            return Err(Failure::arguments(format!("`{end}` is given twice")).with("field", end));
        }
    }
    Ok(given)
}

/// `3.0` where a whole number is wanted is `3`, as JSON Schema has it.
fn whole(value: Value, property: &Value) -> Value {
    let is_integer = property.get("type").and_then(Value::as_str) == Some("integer");
    match value.as_f64().filter(|_| is_integer && value.is_f64()) {
        // Beyond this a float no longer tells whole numbers apart.
        Some(number) if number.fract() == 0.0 && number.abs() < 9.0e15 => {
            format!("{number:.0}").parse::<i64>().map_or(value, Value::from)
        }
        _ => value,
    }
}

/// The property a name means: itself, or in snake_case for camelCase.
fn own_name<'a>(name: &str, properties: &'a Map<String, Value>) -> Option<&'a str> {
    let exact = properties.get_key_value(name).map(|(own, _)| own.as_str());
    exact.or_else(|| properties.keys().find(|own| snake_case(own) == name).map(String::as_str))
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

fn unknown(name: &str, properties: &Map<String, Value>) -> Failure {
    let shown = escape_line(name).chars().take(MAX_SHOWN).collect::<String>();
    let allowed: Vec<&str> = properties.keys().map(String::as_str).collect();
    let near = allowed.iter().find(|own| strsim::damerau_levenshtein(own, &shown) <= 2);
    let hint = near.map(|own| format!("; did you mean `{own}`?")).unwrap_or_default();
    let message = match allowed.len() {
        0 => format!("`{shown}` is not an argument: this tool takes none"),
        _ => format!("`{shown}` is not an argument; allowed are {}{hint}", list(&allowed)),
    };
    Failure::arguments(message).with("field", shown).with("allowed", allowed)
}

fn check_value(name: &str, value: &Value, property: &Value) -> Result<(), Failure> {
    if property.get(TAKES_ANYTHING).is_some() {
        return Ok(());
    }
    let wrong = |allowed: String| {
        let message = format!("`{name}` must be {allowed}, not {}", shown(value));
        Failure::arguments(message).with("field", name)
    };
    if let Some(words) = property.get("enum").and_then(Value::as_array) {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        let is_one = value.as_str().is_some_and(|word| words.contains(&word));
        let allowed = || format!("one of {}", list(&words));
        return if is_one { Ok(()) } else { Err(wrong(allowed()).with("allowed", words)) };
    }
    match property.get("type").and_then(Value::as_str) {
        Some("string") if value.is_string() => check_length(name, value, property),
        Some("boolean") if value.is_boolean() => Ok(()),
        Some("integer") if value.is_i64() || value.is_u64() => check_range(value, property, wrong),
        Some("number") if value.is_number() => check_range(value, property, wrong),
        Some("array") if value.as_array().is_some_and(|all| all.iter().all(Value::is_string)) => {
            check_count(name, value, property)
        }
        Some("string") => Err(wrong("a string".to_owned())),
        Some("boolean") => Err(wrong("true or false".to_owned())),
        Some("integer") => Err(wrong(format!("a whole number{}", range(property)))),
        Some("number") => Err(wrong(format!("a number{}", range(property)))),
        Some("array") => Err(wrong("a list of strings".to_owned())),
        Some(_) | None => Ok(()),
    }
}

fn check_length(name: &str, value: &Value, property: &Value) -> Result<(), Failure> {
    let limit = property.get("maxLength").and_then(Value::as_u64);
    let length = value.as_str().map_or(0, |text| text.chars().count() as u64);
    match limit {
        Some(limit) if length > limit => Err(Failure::arguments(format!(
            "`{name}` has {length} characters; at most {limit} are allowed"
        ))
        .with("field", name)),
        _ => Ok(()),
    }
}

fn check_count(name: &str, value: &Value, property: &Value) -> Result<(), Failure> {
    let limit = property.get("maxItems").and_then(Value::as_u64);
    let count = value.as_array().map_or(0, Vec::len) as u64;
    match limit {
        Some(limit) if count > limit => Err(Failure::arguments(format!(
            "`{name}` has {count} elements; at most {limit} are allowed"
        ))
        .with("field", name)),
        _ => Ok(()),
    }
}

fn check_range(
    value: &Value,
    property: &Value,
    wrong: impl Fn(String) -> Failure,
) -> Result<(), Failure> {
    let bound = |key: &str| property.get(key).and_then(Value::as_f64);
    let number = value.as_f64().unwrap_or(f64::NAN);
    let fits = bound("minimum").is_none_or(|least| number >= least)
        && bound("maximum").is_none_or(|most| number <= most);
    if fits { Ok(()) } else { Err(wrong(format!("a number{}", range(property)))) }
}

fn range(property: &Value) -> String {
    match (property.get("minimum"), property.get("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (None, None) => String::new(),
    }
}

fn describe(property: &Value) -> &str {
    property.get("description").and_then(Value::as_str).unwrap_or("see the schema")
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
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
            (json!([1]), "must be an object"),
        ] {
            let failure = check(arguments, &schema()).unwrap_err();
            assert!(failure.message().contains(said), "{} lacks {said}", failure.message());
        }
    }

    #[test]
    fn snake_case_is_taken_for_camel_case_and_null_for_nothing() {
        let given = json!({"term": "a", "max_size": 3, "format": null, "value": null});
        let taken = check(given, &schema()).unwrap();
        assert_eq!(taken, json!({"term": "a", "maxSize": 3, "value": null}));
        let float = check(json!({"term": "a", "maxSize": 3.0}), &schema()).unwrap();
        assert_eq!(float, json!({"term": "a", "maxSize": 3}));
        assert!(check(json!({"term": "a", "maxSize": 3.5}), &schema()).is_err());
        let twice = json!({"term": "a", "max_size": 3, "maxSize": 4});
        assert!(check(twice, &schema()).unwrap_err().message().contains("given twice"));
    }

    #[test]
    fn a_huge_wrong_value_is_not_repeated() {
        let failure = check(json!({"term": ["x".repeat(100_000)]}), &schema()).unwrap_err();
        assert!(failure.message().len() < 200, "{}", failure.message().len());
    }
}
