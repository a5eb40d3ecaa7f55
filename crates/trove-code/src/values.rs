//! Values of a program, and values of JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiter::JsonValue;
use monty_types::{MontyDateTime, MontyObject};
use serde_json::{Map, Number, Value};

/// How deep a value may be nested on its way out.
const MAX_DEPTH: usize = 64;

/// A value as JSON: tuples and sets as arrays, bytes as base64, objects by their members, and dates
/// as text, e.g. `2026-03-01`. `None` where it is nested too deep.
pub(crate) fn to_json(object: &MontyObject) -> Option<Value> {
    within(object, MAX_DEPTH)
}

fn within(object: &MontyObject, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let all = |items: &[MontyObject]| {
        items.iter().map(|item| within(item, depth)).collect::<Option<Vec<_>>>().map(Value::Array)
    };
    let pairs = |pairs: &monty_types::DictPairs| {
        let pairs = pairs.iter().map(|(key, value)| Some((key_of(key), within(value, depth)?)));
        pairs.collect::<Option<Map<String, Value>>>().map(Value::Object)
    };
    Some(match object {
        MontyObject::None => Value::Null,
        MontyObject::Bool(is) => Value::Bool(*is),
        MontyObject::Int(number) => Value::from(*number),
        MontyObject::BigInt(number) => Value::String(number.to_string()),
        // JSON has no infinity, so it becomes text, e.g. `inf`.
        MontyObject::Float(number) => {
            Number::from_f64(*number).map_or_else(|| Value::String(object.py_repr()), Value::Number)
        }
        MontyObject::String(text) | MontyObject::Path(text) => Value::String(text.clone()),
        MontyObject::Bytes(bytes) => Value::String(STANDARD.encode(bytes)),
        MontyObject::List(items)
        | MontyObject::Tuple(items)
        | MontyObject::Set(items)
        | MontyObject::FrozenSet(items) => all(items)?,
        MontyObject::NamedTuple { field_names, values, .. } => {
            let named = field_names.iter().zip(values);
            let named = named.map(|(name, value)| Some((name.clone(), within(value, depth)?)));
            Value::Object(named.collect::<Option<_>>()?)
        }
        MontyObject::Dict(held) => pairs(held)?,
        MontyObject::ClassInstance(instance) => pairs(&instance.attrs)?,
        MontyObject::Date(date) => {
            Value::String(format!("{:04}-{:02}-{:02}", date.year, date.month, date.day))
        }
        MontyObject::DateTime(moment) => Value::String(iso(moment)),
        MontyObject::Repr(text) => Value::String(text.clone()),
        other => Value::String(other.py_repr()),
    })
}

fn key_of(key: &MontyObject) -> String {
    match key {
        MontyObject::String(text) => text.clone(),
        MontyObject::None => "null".to_owned(),
        MontyObject::Bool(is) => is.to_string(),
        other => other.py_repr(),
    }
}

fn iso(moment: &MontyDateTime) -> String {
    let MontyDateTime { year, month, day, hour, minute, second, microsecond, .. } = moment;
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if *microsecond > 0 {
        text.push_str(&format!(".{microsecond:06}"));
    }
    match moment.offset_seconds {
        None => {}
        Some(0) => text.push('Z'),
        Some(offset) => {
            let sign = if offset < 0 { '-' } else { '+' };
            let minutes = offset.abs() / 60;
            text.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
        }
    }
    text
}

/// The value of a JSON text, as a program has it: numbers of any length keep every digit.
pub(crate) fn from_json(text: &str) -> Result<MontyObject, String> {
    let value = JsonValue::parse(text.as_bytes(), false);
    value.map(|value| of_value(&value)).map_err(|error| error.description(text.as_bytes()))
}

fn of_value(value: &JsonValue<'_>) -> MontyObject {
    match value {
        JsonValue::Null => MontyObject::None,
        JsonValue::Bool(is) => MontyObject::Bool(*is),
        JsonValue::Int(whole) => MontyObject::Int(*whole),
        JsonValue::BigInt(whole) => MontyObject::BigInt(whole.clone()),
        JsonValue::Float(real) => MontyObject::Float(*real),
        JsonValue::Str(text) => MontyObject::String(text.to_string()),
        JsonValue::Array(items) => MontyObject::List(items.iter().map(of_value).collect()),
        JsonValue::Object(members) => {
            let pairs = members.iter();
            let pairs =
                pairs.map(|(key, value)| (MontyObject::String(key.to_string()), of_value(value)));
            MontyObject::Dict(pairs.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_json_says_comes_back_as_it_was() {
        let value = json!({"a": [1, -2.5, true, null, "ä\u{0}"], "b": {"c": []}});
        let object = from_json(&value.to_string()).unwrap();
        assert_eq!(to_json(&object), Some(value));
        let long = from_json("[18446744073709551615, 123456789012345678901234567890]").unwrap();
        assert_eq!(long.py_repr(), "[18446744073709551615, 123456789012345678901234567890]");
        assert!(from_json("{\"a\": }").unwrap_err().contains("column"));
    }

    #[test]
    fn what_json_has_no_word_for_is_told_in_text() {
        let moment = MontyDateTime {
            year: 2026,
            month: 1,
            day: 2,
            hour: 3,
            minute: 4,
            second: 5,
            microsecond: 60,
            offset_seconds: Some(-5400),
            timezone_name: None,
        };
        let all = MontyObject::Tuple(vec![
            MontyObject::Float(f64::NAN),
            MontyObject::Bytes(b"hi".to_vec()),
            MontyObject::DateTime(moment),
        ]);
        let told = json!(["nan", "aGk=", "2026-01-02T03:04:05.000060-01:30"]);
        assert_eq!(to_json(&all), Some(told));
    }

    #[test]
    fn what_is_nested_too_deep_is_not_followed() {
        let nested =
            |depth| (0..depth).fold(MontyObject::None, |inner, _| MontyObject::List(vec![inner]));
        assert!(to_json(&nested(MAX_DEPTH - 1)).is_some());
        assert_eq!(to_json(&nested(MAX_DEPTH)), None);
    }
}
