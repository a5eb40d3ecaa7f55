//! Arguments for the tool of a server, compared with its schema before it is asked.
//!
//! Only what the schema says plainly at its top is looked at; the rest is for the server to judge.
//! A failure speaks in the words of the schema, and carries it.

use serde_json::{Map, Value};

use crate::{content::one_line, failure::Failure};

/// How much of a wrong value is repeated, in bytes.
const MAX_SHOWN: usize = 60;
/// The longest schema that a failure carries, in bytes.
const MAX_SCHEMA: usize = 8 * 1024;
/// Names that differ in so many letters may be meant.
const MAX_DISTANCE: usize = 2;

/// Refuses arguments that the schema rules out.
pub(super) fn check(schema: &Value, given: &Map<String, Value>) -> Result<(), Failure> {
    let Some(wrong) = first_wrong(schema, given) else { return Ok(()) };
    let mut failure = Failure::arguments(wrong.message).with("field", wrong.field);
    if schema.to_string().len() <= MAX_SCHEMA {
        failure = failure.with("inputSchema", schema.clone());
    }
    Err(failure)
}

struct Wrong {
    field: String,
    message: String,
}

fn first_wrong(schema: &Value, given: &Map<String, Value>) -> Option<Wrong> {
    let properties = schema["properties"].as_object();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !given.contains_key(name) {
            let about = properties.and_then(|all| all.get(name)).map(words_of).unwrap_or_default();
            let message = format!("`{name}` is missing{about}");
            return Some(Wrong { field: name.to_owned(), message });
        }
    }
    let is_closed = schema["additionalProperties"] == Value::Bool(false);
    for (name, value) in given {
        let Some(property) = properties.and_then(|all| all.get(name)) else {
            if is_closed {
                return Some(unknown(name, properties));
            }
            continue;
        };
        if let Some(wanted) = mismatch(property, value) {
            let about = words_of(property);
            let message = format!("`{name}` must be {wanted}, not {}{about}", shown(value));
            return Some(Wrong { field: name.clone(), message });
        }
    }
    None
}

fn unknown(name: &str, properties: Option<&Map<String, Value>>) -> Wrong {
    let allowed: Vec<&str> =
        properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let near = allowed.iter().find(|own| strsim::damerau_levenshtein(own, name) <= MAX_DISTANCE);
    let hint = near.map(|own| format!("; did you mean `{own}`?")).unwrap_or_default();
    let shown = shown(&Value::from(name));
    let message = format!("{shown} is not an argument; allowed are {}{hint}", allowed.join(", "));
    Wrong { field: name.to_owned(), message }
}

/// The values that a property takes, if this is none of them.
fn mismatch(property: &Value, value: &Value) -> Option<String> {
    if let Some(words) = property["enum"].as_array() {
        let all: Vec<String> = words.iter().map(Value::to_string).collect();
        return (!words.contains(value)).then(|| format!("one of {}", all.join(", ")));
    }
    let types: Vec<&str> = match &property["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let fits = types.is_empty() || types.iter().any(|kind| is_of(kind, value));
    (!fits).then(|| format!("of type {}", types.join(" or ")))
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        // A type that JSON Schema does not know rules nothing out.
        _ => true,
    }
}

/// The words of a property, to stand at the end of a sentence.
fn words_of(property: &Value) -> String {
    match property["description"].as_str() {
        Some(words) => format!(": {}", one_line(words)),
        None => String::new(),
    }
}

fn shown(value: &Value) -> String {
    let mut text = value.to_string();
    if text.len() > MAX_SHOWN {
        text.truncate(text.floor_char_boundary(MAX_SHOWN));
        text.push('…');
    }
    one_line(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_says(given: Value, expected: Option<&str>) {
        let schema = json!({
            "type": "object",
            "properties": {
                "repo": { "type": "string", "description": "As owner/name" },
                "state": { "enum": ["open", "closed"] },
                "labels": { "type": ["array", "null"] },
                "page": { "type": "integer" },
                "deep": { "anyOf": [{ "type": "string" }] },
            },
            "required": ["repo"],
            "additionalProperties": false,
        });
        let said = first_wrong(&schema, given.as_object().unwrap()).map(|wrong| wrong.message);
        assert_eq!(said.as_deref(), expected);
    }

    #[test]
    fn what_a_schema_rules_out_is_told_in_its_words() {
        check_says(json!({}), Some("`repo` is missing: As owner/name"));
        check_says(
            json!({ "repo": 7 }),
            Some("`repo` must be of type string, not 7: As owner/name"),
        );
        let state = Some(r#"`state` must be one of "open", "closed", not "all""#);
        check_says(json!({ "repo": "a/b", "state": "all" }), state);
        let stat = Some(
            r#""stat" is not an argument; allowed are repo, state, labels, page, deep; did you mean `state`?"#,
        );
        check_says(json!({ "repo": "a/b", "stat": "open" }), stat);
        check_says(json!({ "repo": "a/b", "labels": null, "page": 2.0, "deep": 7 }), None);
    }

    #[test]
    fn a_schema_that_says_nothing_rules_nothing_out() {
        for schema in [Value::Null, json!({}), json!({ "type": "object", "properties": 7 })] {
            assert!(check(&schema, json!({ "a": 1 }).as_object().unwrap()).is_ok());
        }
    }
}
