//! The value of a flag, and its name.
//!
//! Values come and go as JSON. Everything here is bounded, because names and values stay in
//! memory and on disk until they are removed.

use std::{borrow::Borrow, collections::BTreeMap, fmt, sync::Arc};

use serde_json::Value;

/// The longest name of a flag, in characters.
pub const MAX_NAME_CHARS: usize = 64;
/// The longest single text in a value.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;
/// The most elements of a list, and the most keys of a map.
pub const MAX_ELEMENTS: usize = 256;
/// The most a whole value may take, texts and keys together.
pub const MAX_VALUE_BYTES: usize = 64 * 1024;

/// The name of a flag, e.g. `content-format`: `^[\w-]{1,64}$` in ASCII, as JSON Schema means it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlagName(Arc<str>);

/// Why a text names no flag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no name of a flag; use 1 to {MAX_NAME_CHARS} letters (a-z, A-Z), digits, `_` and `-`"
)]
pub struct BadFlagName;

impl FlagName {
    /// Takes a name, if it is one.
    pub fn new(name: &str) -> Result<FlagName, BadFlagName> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let fits = (1..=MAX_NAME_CHARS).contains(&name.len());
        if fits && name.bytes().all(is_word) { Ok(FlagName(name.into())) } else { Err(BadFlagName) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for FlagName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FlagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The value of a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlagValue {
    /// A value by itself.
    Plain(Plain),
    /// Values under keys; a map holds no maps.
    Map(BTreeMap<String, Plain>),
}

/// A value that holds no others by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plain {
    Bool(bool),
    Text(String),
    /// Texts, in order.
    List(Vec<String>),
}

/// Why a JSON value can be no flag's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    /// It is of another type.
    #[error(
        "{found} is no value of a flag; allowed are true, false, a string, a list of strings, \
         a map to those, and null to remove the flag"
    )]
    Type {
        /// The type that came.
        found: &'static str,
    },
    /// A list holds something else than strings.
    #[error("a list may hold strings only, and this one holds {found}")]
    InList {
        /// The type that came.
        found: &'static str,
    },
    /// A map holds something that may not be in one.
    #[error("a map may hold true, false, strings and lists of strings, and this one holds {found}")]
    InMap {
        /// The type that came.
        found: &'static str,
    },
    /// A text or key is too long.
    #[error("a text in it is longer than {MAX_TEXT_BYTES} bytes; make it shorter")]
    LongText,
    /// There are too many elements or keys.
    #[error("it has more than {MAX_ELEMENTS} elements; keep fewer")]
    ManyElements,
    /// It is too large as a whole.
    #[error("it is larger than {MAX_VALUE_BYTES} bytes; keep less in it")]
    Large,
}

impl FlagValue {
    /// Takes a JSON value, if a flag may hold it.
    pub fn from_json(value: &Value) -> Result<FlagValue, BadValue> {
        let taken = match value {
            Value::Object(entries) => FlagValue::Map(map(entries)?),
            other => FlagValue::Plain(plain(other)?.ok_or(BadValue::Type { found: kind(other) })?),
        };
        if taken.bytes() > MAX_VALUE_BYTES { Err(BadValue::Large) } else { Ok(taken) }
    }

    pub fn to_json(&self) -> Value {
        match self {
            FlagValue::Plain(plain) => plain.to_json(),
            FlagValue::Map(entries) => Value::Object(
                entries.iter().map(|(key, plain)| (key.clone(), plain.to_json())).collect(),
            ),
        }
    }

    /// Whether it is on; `None` if it is no switch.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            FlagValue::Plain(Plain::Bool(is_on)) => Some(*is_on),
            FlagValue::Plain(Plain::Text(_) | Plain::List(_)) | FlagValue::Map(_) => None,
        }
    }

    /// Its text; `None` if it is of another type.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            FlagValue::Plain(Plain::Text(text)) => Some(text),
            FlagValue::Plain(Plain::Bool(_) | Plain::List(_)) | FlagValue::Map(_) => None,
        }
    }

    /// Its type in words, e.g. `a list of strings`.
    pub fn kind(&self) -> &'static str {
        match self {
            FlagValue::Plain(Plain::Bool(_)) => "true or false",
            FlagValue::Plain(Plain::Text(_)) => "a string",
            FlagValue::Plain(Plain::List(_)) => "a list of strings",
            FlagValue::Map(_) => "a map",
        }
    }

    /// The bytes of its texts and keys.
    pub(super) fn bytes(&self) -> usize {
        match self {
            FlagValue::Plain(plain) => plain.bytes(),
            FlagValue::Map(entries) => {
                entries.iter().map(|(key, plain)| key.len() + plain.bytes()).sum()
            }
        }
    }
}

impl Plain {
    fn to_json(&self) -> Value {
        match self {
            Plain::Bool(is_on) => Value::Bool(*is_on),
            Plain::Text(text) => Value::String(text.clone()),
            Plain::List(texts) => texts.iter().map(String::as_str).collect(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Plain::Bool(_) => 1,
            Plain::Text(text) => text.len(),
            Plain::List(texts) => texts.iter().map(String::len).sum(),
        }
    }
}

fn map(entries: &serde_json::Map<String, Value>) -> Result<BTreeMap<String, Plain>, BadValue> {
    if entries.len() > MAX_ELEMENTS {
        return Err(BadValue::ManyElements);
    }
    let mut taken = BTreeMap::new();
    for (key, value) in entries {
        let value = plain(value)?.ok_or(BadValue::InMap { found: kind(value) })?;
        taken.insert(bounded(key)?, value);
    }
    Ok(taken)
}

/// The value by itself; `None` if it is of a type that cannot be one.
fn plain(value: &Value) -> Result<Option<Plain>, BadValue> {
    Ok(match value {
        Value::Bool(is_on) => Some(Plain::Bool(*is_on)),
        Value::String(text) => Some(Plain::Text(bounded(text)?)),
        Value::Array(elements) => Some(Plain::List(list(elements)?)),
        Value::Null | Value::Number(_) | Value::Object(_) => None,
    })
}

fn list(elements: &[Value]) -> Result<Vec<String>, BadValue> {
    if elements.len() > MAX_ELEMENTS {
        return Err(BadValue::ManyElements);
    }
    let mut texts = Vec::with_capacity(elements.len());
    for element in elements {
        let text = element.as_str().ok_or(BadValue::InList { found: kind(element) })?;
        texts.push(bounded(text)?);
    }
    Ok(texts)
}

fn bounded(text: &str) -> Result<String, BadValue> {
    if text.len() > MAX_TEXT_BYTES { Err(BadValue::LongText) } else { Ok(text.to_owned()) }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_has_letters_digits_and_two_signs() {
        for good in ["a", "A_b-9", "-", &"x".repeat(64)] {
            assert_eq!(FlagName::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a.b", "é", "a\n", "a/b", &"x".repeat(65)] {
            FlagName::new(bad).expect_err(bad);
        }
    }

    #[test]
    fn the_four_kinds_come_back_as_they_were() {
        for value in [
            json!(true),
            json!(""),
            json!("plain"),
            json!([]),
            json!(["b", "a"]),
            json!({}),
            json!({"on": false, "text": "x", "list": ["y"]}),
        ] {
            assert_eq!(FlagValue::from_json(&value).unwrap().to_json(), value);
        }
    }

    #[track_caller]
    fn check_refused(value: Value, says: &str) {
        let error = FlagValue::from_json(&value).unwrap_err().to_string();
        assert!(error.contains(says), "{value}: {error}");
    }

    #[test]
    fn anything_else_is_refused_with_the_reason() {
        check_refused(
            json!(1),
            "a number is no value of a flag; allowed are true, false, a string",
        );
        check_refused(json!(null), "null");
        check_refused(json!(["a", 1]), "strings only, and this one holds a number");
        check_refused(json!(["a", ["b"]]), "holds a list");
        check_refused(json!({"a": {"b": "c"}}), "this one holds a map");
        check_refused(json!({"a": null}), "this one holds null");
        check_refused(json!("x".repeat(MAX_TEXT_BYTES + 1)), "16384 bytes");
        check_refused(json!(vec!["x"; MAX_ELEMENTS + 1]), "256 elements");
        check_refused(json!(vec!["x".repeat(MAX_TEXT_BYTES); 5]), "65536 bytes");
    }

    proptest! {
        #[test]
        fn no_json_is_taken_that_would_not_come_back(text in "\\PC{0,40}") {
            if let Ok(value) = serde_json::from_str::<Value>(&text)
                && let Ok(taken) = FlagValue::from_json(&value)
            {
                prop_assert_eq!(FlagValue::from_json(&taken.to_json()).unwrap(), taken);
            }
        }
    }
}
