//! Offers paths for the variable of the template.

use serde_json::json;
use trove_core::{
    json::{Json, Object},
    source::{SourceError, Visible},
};

use crate::{names, tree::Tree};

/// The most values one answer may offer.
const MAX_VALUES: usize = 100;

/// Paths that begin with what was typed, then those that hold it.
pub(crate) fn complete(
    tree: &Tree,
    visible: &Visible,
    arguments: &Json,
) -> Result<Json, SourceError> {
    let bad = |what: &str| SourceError::Refused { code: -32602, message: what.into(), data: None };
    let object = arguments.object().ok_or_else(|| bad("params must be an object"))?;
    let argument = object.get("argument").and_then(Object::parse);
    let argument = argument.ok_or_else(|| bad("`argument` is missing"))?;
    let typed = argument.get_str("value").unwrap_or_default().to_lowercase();
    let mut begin = Vec::new();
    let mut hold = Vec::new();
    let mut total = 0;
    for (path, file) in tree.files() {
        let value = value_of(&path);
        let low = value.to_lowercase();
        let list = if low.starts_with(&typed) {
            &mut begin
        } else if low.contains(&typed) {
            &mut hold
        } else {
            continue;
        };
        if !visible.allows(file.resource.uri.as_str()) {
            continue;
        }
        total += 1;
        if list.len() < MAX_VALUES {
            list.push(value);
        }
    }
    begin.sort();
    let mut values = begin;
    values.extend(hold);
    values.truncate(MAX_VALUES);
    Ok(Json::of(&json!({
        "completion": { "values": values, "total": total, "hasMore": total > MAX_VALUES },
    })))
}

/// A path as the template takes it: expanded, it is the URI of that file, e.g. `c%23.md` for
/// `c#.md`.
fn value_of(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        // These would not be encoded where `{+path}` is expanded.
        Ok(text) if !text.contains(['%', '?', '#', '[', ']']) => text.to_owned(),
        _ => {
            let mut encoded = String::new();
            names::encode(path, &mut encoded);
            encoded
        }
    }
}
