//! `trove read`: the bytes of one resource.

use std::io::{self, IsTerminal as _};

use serde_json::{Map, Value};
use trove_core::content::escape_controls;

use super::{Class, Failed, errand_bytes, say, say_bytes};
use crate::{
    cli::{Global, Read},
    errand::{Until, What},
};

pub(super) fn read(global: &Global, read: &Read) -> Result<(), Failed> {
    let uri = read.uri.trim().to_owned();
    let is_json = read.wait.output.json;
    let is_raw = !is_json && is_raw(read);
    let what = if is_raw {
        What::Read { uri }
    } else {
        What::Call {
            tool: "get_resource".to_owned(),
            arguments: arguments(read).into(),
            until: Until::Owner(uri),
        }
    };
    let mut bytes = errand_bytes(global, what, read.wait.wait)?;
    if is_json {
        say(&format!("{}\n", String::from_utf8_lossy(&bytes)));
        return Ok(());
    }
    if is_raw {
        bytes = window(checked(bytes, read)?, read);
    } else {
        bytes = data(&bytes);
    }
    if io::stdout().is_terminal() {
        bytes = for_terminal(&bytes);
    }
    say_bytes(&bytes);
    Ok(())
}

/// Whether the bytes are wanted as they are, all or some of them. Lines that match, and JSON
/// made readable, are made by the tool; so is the answer to a form that there is not.
fn is_raw(read: &Read) -> bool {
    let is_form_raw =
        read.format.as_deref().is_none_or(|form| ["auto", "text", "binary"].contains(&form));
    read.grep.is_none() && is_form_raw
}

/// The arguments of `get_resource`, e.g. `{"uri": "wiki://home", "maxSize": 1000}`.
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

/// Refuses what is no text where text is wanted.
fn checked(bytes: Vec<u8>, read: &Read) -> Result<Vec<u8>, Failed> {
    if read.format.as_deref() == Some("text") && std::str::from_utf8(&bytes).is_err() {
        let message = format!("{} is no text; `--format binary` gives its bytes", read.uri);
        return Err(Failed::new(Class::ResourceExecutionError, message));
    }
    Ok(bytes)
}

/// The part that was asked for. Parts put together are the whole, so nothing is added and no
/// character is spared.
fn window(mut bytes: Vec<u8>, read: &Read) -> Vec<u8> {
    let size = |wanted: u64| usize::try_from(wanted).unwrap_or(usize::MAX);
    let start = read.offset.map_or(0, size).min(bytes.len());
    bytes.drain(..start);
    bytes.truncate(read.max_size.map_or(usize::MAX, size));
    bytes
}

/// The tool's data as lines.
fn data(object: &[u8]) -> Vec<u8> {
    let object: Value = serde_json::from_slice(object).unwrap_or_default();
    let mut text = match &object["data"] {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.into_bytes()
}

/// Contents of servers may try to speak to the terminal; only a file or a pipe gets them raw. The
/// prompt that follows begins a line of its own.
fn for_terminal(bytes: &[u8]) -> Vec<u8> {
    let mut text = escape_controls(&String::from_utf8_lossy(bytes)).into_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.into_bytes()
}
