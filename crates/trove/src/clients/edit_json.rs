//! Edits JSON with comments in place: order, comments and spacing stay.

use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};

use super::{edit::Spot, entry::Entry, error::ClientError};
use crate::config::tree::jsonc;

pub(super) fn put(text: &str, spot: &Spot<'_>, entry: &Entry) -> Result<String, ClientError> {
    let root = parse(text, spot)?;
    let top = match root.value() {
        None => root.object_value_or_set(),
        Some(value) => value.as_object().ok_or_else(|| no_object(spot, "the file"))?,
    };
    let servers = match last(&top, spot.key) {
        None => made(&top, spot.key),
        Some(prop) => match prop.value() {
            Some(value) if value.as_null_keyword().is_some() => {
                prop.set_value(CstInputValue::Object(Vec::new()));
                prop.object_value()
            }
            _ => prop.object_value(),
        },
    };
    let servers = servers.ok_or_else(|| no_object(spot, &format!("`{}`", spot.key)))?;
    match last(&servers, spot.name) {
        None => {
            servers.append(spot.name, object(&entry.whole()));
        }
        Some(prop) => match prop.object_value() {
            Some(present) => update(&present, entry),
            None => prop.set_value(object(&entry.whole())),
        },
    }
    let edited = root.to_string();
    // A file that was empty gets the line end that files have.
    let is_new = text.trim().is_empty();
    Ok(if is_new { format!("{}\n", edited.trim_end()) } else { edited })
}

pub(super) fn take(text: &str, spot: &Spot<'_>) -> Result<String, ClientError> {
    let root = parse(text, spot)?;
    let top = root.object_value().ok_or_else(|| no_object(spot, "the file"))?;
    if let Some(servers) = last(&top, spot.key).and_then(|prop| prop.object_value()) {
        // Of two alike, a reader may take either.
        for prop in servers.properties() {
            if is_named(&prop, spot.name) {
                prop.remove();
            }
        }
    }
    Ok(root.to_string())
}

fn parse(text: &str, spot: &Spot<'_>) -> Result<CstRootNode, ClientError> {
    CstRootNode::parse(text, &jsonc()).map_err(|error| {
        let message = error.kind().to_string().to_lowercase();
        let path = spot.path.to_owned();
        ClientError::Broken { path, line: 1, column: 1, message }
    })
}

/// Of two keys alike the last, as clients take it.
fn last(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    object.properties().into_iter().rev().find(|prop| is_named(prop, key))
}

fn is_named(prop: &CstObjectProp, key: &str) -> bool {
    prop.decoded_name().as_deref() == Some(key)
}

fn made(top: &CstObject, key: &str) -> Option<CstObject> {
    top.append(key, CstInputValue::Object(Vec::new())).object_value()
}

/// Sets what must be said and leaves what the user added.
fn update(present: &CstObject, entry: &Entry) {
    for key in &entry.never {
        if let Some(prop) = last(present, key) {
            prop.remove();
        }
    }
    for (key, wanted) in &entry.must {
        match last(present, key) {
            Some(prop) => prop.set_value(value(wanted)),
            None => {
                present.append(key, value(wanted));
            }
        }
    }
}

fn object(map: &Map<String, Value>) -> CstInputValue {
    CstInputValue::Object(map.iter().map(|(key, v)| (key.clone(), value(v))).collect())
}

fn value(json: &Value) -> CstInputValue {
    match json {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(value).collect()),
        Value::Object(map) => object(map),
    }
}

fn no_object(spot: &Spot<'_>, what: &str) -> ClientError {
    spot.unfit(format!("{what} is no object"), "put braces there, then try again")
}
