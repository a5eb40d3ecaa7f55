//! Jupyter notebooks: the text of each cell and of its output, without pictures.

use serde_json::{Map, Value};

use crate::Parts;

/// The most text of one output.
const MAX_OUTPUT: usize = 16 * 1024;

pub(crate) fn parts(bytes: &[u8]) -> Result<Parts, String> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let book: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("it is no sound JSON: {error}"))?;
    let cells = book.get("cells").or_else(|| book.pointer("/worksheets/0/cells"));
    let cells =
        cells.and_then(Value::as_array).ok_or("it is JSON, but no notebook: it has no cells")?;
    let language = book.pointer("/metadata/language_info/name");
    let language = language.or_else(|| book.pointer("/metadata/kernelspec/language"));
    let language = language.and_then(Value::as_str).unwrap_or_default();
    let mut parts = Parts::of("cell");
    for cell in cells {
        let Some(cell) = cell.as_object() else { continue };
        if parts.has_room() {
            add(&mut parts, cell, language);
        } else {
            parts.leave_out();
        }
    }
    if parts.total == 0 {
        return Err("it has no cells".to_owned());
    }
    Ok(parts)
}

fn add(parts: &mut Parts, cell: &Map<String, Value>, language: &str) {
    let source = joined(cell.get("source").or_else(|| cell.get("input")));
    let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or_default();
    if kind != "code" {
        let first = source.lines().next().unwrap_or_default();
        let title = first.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim());
        parts.add(title.unwrap_or_default(), &source, "");
        return;
    }
    let mut text = format!("```{language}\n{}\n```\n", source.trim_end());
    let outputs = cell.get("outputs").and_then(Value::as_array);
    for output in outputs.into_iter().flatten() {
        let said = said(output);
        let said = said.trim_end();
        if said.is_empty() {
            continue;
        }
        let end = said.floor_char_boundary(MAX_OUTPUT);
        let cut = if end < said.len() { "\n…" } else { "" };
        text.push_str(&format!("Output:\n```\n{}{cut}\n```\n", &said[..end]));
    }
    parts.add("", &text, "");
}

/// The text of one output; empty if it has none.
fn said(output: &Value) -> String {
    let plain = output.pointer("/data/text~1plain").or_else(|| output.get("text"));
    if let Some(plain) = plain {
        return joined(Some(plain));
    }
    match (output.get("ename"), output.get("evalue")) {
        (Some(name), Some(value)) => format!("{}: {}", joined(Some(name)), joined(Some(value))),
        _ => String::new(),
    }
}

/// A text that may be written as a list of lines.
fn joined(text: Option<&Value>) -> String {
    match text {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
