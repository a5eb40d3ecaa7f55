//! Notebooks: their texts, their code, and the answers that are kept in them.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{code, escape, markdown};

/// The most cells that are shown, and how much of one answer.
const MAX_CELLS: usize = 500;
const MAX_ANSWER: usize = 20_000;
/// The pictures that answers may hold.
const PICTURES: [&str; 2] = ["image/png", "image/jpeg"];

/// Whether a text is a notebook, by its type or its name.
pub(super) fn is_one(mime: &str, uri: &str) -> bool {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    mime == "application/x-ipynb+json" || path.ends_with(".ipynb")
}

/// `None`: it is no notebook after all.
pub(super) fn html(text: &str) -> Option<String> {
    let notebook: Value = serde_json::from_str(text).ok()?;
    let cells = notebook["cells"].as_array()?;
    let language = notebook["metadata"]["kernelspec"]["language"].as_str().unwrap_or("python");
    let mut out = String::from("<div class=notebook>");
    for cell in cells.iter().take(MAX_CELLS) {
        let source = joined(&cell["source"]);
        match cell["cell_type"].as_str() {
            Some("markdown") => out.push_str(&markdown::html(&source, &Default::default())),
            Some("code") => {
                let code = code::html(&source, language);
                let _ = write!(out, "<pre class=cell tabindex=0>{code}</pre>");
                for answer in cell["outputs"].as_array().into_iter().flatten() {
                    answer_of(answer, &mut out);
                }
            }
            _ => {
                let _ = write!(out, "<pre class=cell tabindex=0>{}</pre>", escape(&source));
            }
        }
    }
    if cells.len() > MAX_CELLS {
        let _ = write!(out, "<p class=note>Only the first {MAX_CELLS} cells are shown.</p>");
    }
    out.push_str("</div>");
    Some(out)
}

fn answer_of(answer: &Value, out: &mut String) {
    let data = &answer["data"];
    for mime in PICTURES {
        if let Some(picture) = picture(mime, &joined(&data[mime])) {
            out.push_str(&picture);
            return;
        }
    }
    let text = match answer["output_type"].as_str() {
        Some("stream") => joined(&answer["text"]),
        Some("error") => joined(&answer["traceback"]),
        _ => joined(&data["text/plain"]),
    };
    if text.is_empty() {
        return;
    }
    let text = without_colours(&text[..text.floor_char_boundary(MAX_ANSWER)]);
    let _ = write!(out, "<pre class=answer tabindex=0>{}</pre>", escape(&text));
}

fn picture(mime: &str, text: &str) -> Option<String> {
    let text: String = text.split_whitespace().collect();
    let bytes = STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty())?;
    let data = STANDARD.encode(bytes);
    Some(format!(
        "<p><img alt=\"a picture of the notebook\" src=\"data:{mime};base64,{data}\"></p>"
    ))
}

/// A text, or the lines of one.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// Without the sequences by which a terminal is told to change its colours.
fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic()).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_their_answers_are_shown_and_escaped() {
        let notebook = serde_json::json!({ "cells": [
            { "cell_type": "markdown", "source": ["# A <b>\n", "text"] },
            { "cell_type": "code", "source": "import x", "outputs": [
                { "output_type": "stream", "text": ["\u{1b}[31mred\u{1b}[0m <i>"] },
                { "output_type": "display_data", "data": { "image/png": "AAAA\n" } },
                { "output_type": "display_data", "data": { "image/png": "\"><script>", "text/plain": "a plot" } },
            ] },
        ] });
        let html = html(&notebook.to_string()).unwrap();
        assert!(html.contains("<h1>A &lt;b&gt;</h1>"), "{html}");
        assert!(html.contains("<span class=k>import</span> x"), "{html}");
        assert!(html.contains(">red &lt;i&gt;<"), "{html}");
        assert!(html.contains("data:image/png;base64,AAAA\""), "{html}");
        assert!(html.contains(">a plot<") && !html.contains("<script"), "{html}");
    }

    #[test]
    fn what_has_no_cells_is_no_notebook() {
        assert_eq!(html("{\"a\": 1}"), None);
        assert_eq!(html("no"), None);
    }
}
