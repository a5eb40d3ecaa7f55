//! The members of a JSON document as a table, made from its schema.

use std::fmt::Write as _;

use serde_json::Value;

/// How deep a document is described.
const MAX_DEPTH: usize = 6;

/// A table with one row for each member, e.g. `sources[].state`.
pub fn table(schema: &Value) -> String {
    let mut out = "| member | type | meaning |\n|---|---|---|\n".to_owned();
    rows(schema, schema, "", 0, &mut out);
    out
}

fn rows(root: &Value, schema: &Value, place: &str, depth: usize, out: &mut String) {
    let Some(members) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, member) in members {
        let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
        let (kind, inner) = followed(root, member);
        let described = member.get("description").and_then(Value::as_str);
        let meaning =
            described.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let kind_shown =
            if is_required(schema, name) { kind.clone() } else { format!("{kind}, optional") };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "| `{place}` | {kind_shown} | {} |", meaning.replace('|', "\\|"));
        if depth < MAX_DEPTH {
            let place = if kind.starts_with("list") { format!("{place}[]") } else { place };
            rows(root, inner, &place, depth + 1, out);
        }
    }
}

/// The type of a member in a word, and the schema of what is in it.
fn followed<'a>(root: &'a Value, member: &'a Value) -> (String, &'a Value) {
    let whole = referred(root, member);
    let kind = match whole.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("any")
        }
        _ => "any",
    };
    match whole.get("items") {
        Some(items) if kind == "array" => {
            let (of, inner) = followed(root, items);
            (format!("list of {of}"), inner)
        }
        _ => (kind.to_owned(), whole),
    }
}

/// The schema that is meant by a reference, or by one that may also be null.
fn referred<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let schema = schema.get("anyOf").and_then(|all| all.get(0)).unwrap_or(schema);
    let Some(name) = schema.get("$ref").and_then(Value::as_str) else { return schema };
    root.pointer(name.trim_start_matches('#')).unwrap_or(schema)
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|all| all.iter().any(|one| one == name))
}
