//! Edits TOML in place: order, comments and spacing stay.

use serde_json::{Map, Value as Json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{edit::Spot, entry::Entry, error::ClientError};

pub(super) fn put(text: &str, spot: &Spot<'_>, entry: &Entry) -> Result<String, ClientError> {
    let mut document = parse(text, spot)?;
    let is_inline = document.get(spot.key).is_some_and(Item::is_inline_table);
    let servers = document.entry(spot.key).or_insert_with(|| {
        let mut table = Table::new();
        // `[mcp_servers]` alone would only be noise above `[mcp_servers.trove]`.
        table.set_implicit(true);
        Item::Table(table)
    });
    let what = format!("`{}` is no table", spot.key);
    let servers = servers.as_table_like_mut().ok_or_else(|| spot.unfit(what, "make it a table"))?;
    match servers.get_mut(spot.name).and_then(Item::as_table_like_mut) {
        Some(present) => update(present, entry),
        None => {
            servers.insert(spot.name, whole(&entry.whole(), is_inline));
        }
    }
    set_apart(&mut document, spot, text);
    Ok(document.to_string())
}

pub(super) fn take(text: &str, spot: &Spot<'_>) -> Result<String, ClientError> {
    let mut document = parse(text, spot)?;
    if let Some(servers) = document.get_mut(spot.key).and_then(Item::as_table_like_mut) {
        servers.remove(spot.name);
    }
    let is_empty = |item: &Item| item.as_table().is_some_and(|t| t.is_empty() && t.is_implicit());
    if document.get(spot.key).is_some_and(is_empty) {
        document.remove(spot.key);
    }
    Ok(document.to_string())
}

fn parse(text: &str, spot: &Spot<'_>) -> Result<DocumentMut, ClientError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let (path, message) = (spot.path.to_owned(), error.message().to_owned());
        ClientError::Broken { path, line: 1, column: 1, message }
    })
}

fn whole(entry: &Map<String, Json>, is_inline: bool) -> Item {
    if is_inline {
        return Item::Value(Value::InlineTable(inline(entry)));
    }
    let mut table = Table::new();
    for (key, json) in entry {
        table.insert(key, Item::Value(value(json)));
    }
    Item::Table(table)
}

/// Leaves an empty line before a table that was added behind other lines.
fn set_apart(document: &mut DocumentMut, spot: &Spot<'_>, text: &str) {
    let table = document.get_mut(spot.key).and_then(|servers| servers.get_mut(spot.name));
    if let Some(table) = table.and_then(Item::as_table_mut)
        && table.decor().prefix().is_none()
    {
        table.decor_mut().set_prefix(if text.trim().is_empty() { "" } else { "\n" });
    }
}

/// Sets what must be said and leaves what the user added.
fn update(present: &mut dyn TableLike, entry: &Entry) {
    for key in &entry.never {
        present.remove(key);
    }
    for (key, json) in &entry.must {
        let fresh = value(json);
        match present.get_mut(key).and_then(Item::as_value_mut) {
            // The comment behind the old value stays behind the new one.
            Some(old) => {
                let decor = old.decor().clone();
                *old = fresh;
                *old.decor_mut() = decor;
            }
            None => {
                present.insert(key, Item::Value(fresh));
            }
        }
    }
}

fn value(json: &Json) -> Value {
    match json {
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::from(number),
            None => Value::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(values) => Value::Array(values.iter().map(value).collect::<Array>()),
        Json::Object(map) => Value::InlineTable(inline(map)),
        // TOML has no null; an entry of ours never says one.
        Json::Null => Value::from(""),
    }
}

fn inline(map: &Map<String, Json>) -> InlineTable {
    map.iter().map(|(key, json)| (key.as_str(), value(json))).collect()
}
