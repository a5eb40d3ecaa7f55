//! YAML to a tree.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, MessageFormatter, Spanned, UserMessageFormatter};

use super::{At, Entry, Node, SyntaxError, TOP, Value};

pub(crate) fn parse(text: &str) -> Result<Node, Vec<SyntaxError>> {
    // A snippet would repeat lines of the file, and with them secrets.
    let options = serde_saphyr::options! { with_snippet: false };
    match serde_saphyr::from_str_with_options::<Spanned<Value>>(text, options) {
        Ok(parsed) => Ok(node(parsed)),
        Err(error) => {
            let at = error.location().map_or(TOP, place);
            let message = UserMessageFormatter.format_message(&error).into_owned();
            Err(vec![SyntaxError { at, message }])
        }
    }
}

fn node(parsed: Spanned<Value>) -> Node {
    Node { at: place(parsed.referenced), value: parsed.value }
}

fn place(location: Location) -> At {
    let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX).max(1);
    At { line: number(location.line()), column: number(location.column()) }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Float(f64::INFINITY), Value::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(item) = seq.next_element::<Spanned<Value>>()? {
            nodes.push(node(item));
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let node = node(map.next_value()?);
            entries.push(Entry { at: place(key.referenced), key: key.value, node });
        }
        Ok(Value::Map(entries))
    }
}
