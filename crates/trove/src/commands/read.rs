//! `trove read`: the bytes of one resource.

use serde_json::{Map, Value};

use super::{Failed, errand_bytes, say_bytes};
use crate::{
    cli::{Global, Read},
    errand::{Until, What},
};

pub(super) fn read(global: &Global, read: &Read) -> Result<(), Failed> {
    let uri = read.uri.trim().to_owned();
    let is_part = read.max_size.is_some() || read.offset.is_some() || read.grep.is_some();
    let what = match read.wait.output.json || is_part || read.format.is_some() {
        false => What::Read { uri },
        true => What::Call {
            tool: "get_resource".to_owned(),
            arguments: arguments(read).into(),
            until: Until::Owner(uri),
        },
    };
    let mut bytes = errand_bytes(global, what, read.wait.wait)?;
    if read.wait.output.json {
        bytes.push(b'\n');
    } else if is_part || read.format.is_some() {
        bytes = window(&bytes);
    }
    say_bytes(&bytes);
    Ok(())
}

/// What `get_resource` is asked.
fn arguments(read: &Read) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("uri".into(), read.uri.as_str().into());
    let mut give = |key: &str, value: Option<Value>| {
        arguments.extend(value.map(|value| (key.to_owned(), value)));
    };
    give("maxSize", read.max_size.map(Value::from));
    give("offset", read.offset.map(Value::from));
    give("grep", read.grep.clone().map(Value::from));
    give("format", read.format.clone().map(Value::from));
    arguments
}

/// The part that was asked for, as text.
fn window(object: &[u8]) -> Vec<u8> {
    let object: Value = serde_json::from_slice(object).unwrap_or_default();
    let mut text = match &object["data"] {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.into_bytes()
}
