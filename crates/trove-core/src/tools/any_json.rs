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
    /// schema has no other way to write `true` or a list.
    pub(super) fn value(self) -> Option<Value> {
        match self.0 {
            Some(Value::String(text)) => Some(match serde_json::from_str::<Value>(&text) {
                Ok(value @ (Value::Bool(_) | Value::Array(_) | Value::Object(_) | Value::Null)) => {
                    value
                }
                _ => Value::String(text),
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
