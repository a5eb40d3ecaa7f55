//! An argument that takes any JSON, in a schema that says `string`.
//!
//! A property without a type is refused by some clients, and a union by others; a
//! string every client can write, and those that write a boolean or a list are right too.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::schema::TAKES_ANYTHING;

/// Any JSON, null too.
#[derive(Debug, Clone, Default)]
pub(super) struct AnyJson(Option<Value>);

impl AnyJson {
    /// The value; nothing when none was given at all.
    ///
    /// A string that is JSON of a flag's kind is read as such: a client that follows the
    /// schema has no other way to write `true` or a list, nor a text that looks like one.
    pub(super) fn value(self) -> Option<Value> {
        match self.0 {
            Some(Value::String(text)) => Some(match serde_json::from_str::<Value>(&text) {
                // No flag holds a number; its digits are a text.
                Err(_) | Ok(Value::Number(_)) => Value::String(text),
                Ok(value) => value,
            }),
            other => other,
        }
    }
}

impl<'de> Deserialize<'de> for AnyJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyJson, D::Error> {
        Value::deserialize(deserializer).map(|value| AnyJson(Some(value)))
    }
}

impl JsonSchema for AnyJson {
    fn schema_name() -> Cow<'static, str> {
        "AnyJson".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", TAKES_ANYTHING: true })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_in_a_string_is_read_and_any_other_text_stays() {
        for (given, expected) in [
            ("true", json!(true)),
            ("null", Value::Null),
            (r#"["a"]"#, json!(["a"])),
            (r#""quoted""#, json!("quoted")),
            (r#""true""#, json!("true")),
            ("plain", json!("plain")),
            (r#"say "x""#, json!(r#"say "x""#)),
            ("12", json!("12")),
            ("", json!("")),
        ] {
            assert_eq!(AnyJson(Some(json!(given))).value(), Some(expected), "{given}");
        }
    }
}
