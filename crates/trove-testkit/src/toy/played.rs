//! The tools of another server, played from a file: its list of tools, and answers of their shape.
//!
//! The file is an object with `tools`, as `tools/list` gives them, and `calls`. A call is answered
//! by the first entry of `calls` with its `tool` whose `arguments` are all among those given. An
//! entry has a `text`, a `json` that becomes the text, or whole blocks in `content`; `error: true`
//! marks a failure. A call that fits no entry fails.

use std::path::Path;

use serde_json::{Value, json};

/// The longest file.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Reads the file.
pub(super) fn read(file: &Path) -> Value {
    let text = trove_core::files::read_text(file, MAX_FILE_BYTES).expect("the played file");
    serde_json::from_str(&text).expect("the played file is JSON")
}

/// The result of `tools/list`.
pub(super) fn list(played: &Value) -> String {
    json!({ "tools": played["tools"] }).to_string()
}

/// The result of one call.
pub(super) fn call(played: &Value, params: &Value) -> String {
    let calls = played["calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(entry) = calls.iter().find(|entry| fits(entry, params)) else {
        let text = format!("no such call was recorded: {params}");
        return json!({ "content": [block(&text)], "isError": true }).to_string();
    };
    let content = match (&entry["content"], &entry["text"]) {
        (Value::Array(blocks), _) => Value::from(blocks.clone()),
        (_, Value::String(text)) => json!([block(text)]),
        _ => json!([block(&entry["json"].to_string())]),
    };
    let mut result = json!({ "content": content, "isError": entry["error"] == true });
    if !entry["structured"].is_null() {
        result["structuredContent"] = entry["structured"].clone();
    }
    result.to_string()
}

fn block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn fits(entry: &Value, params: &Value) -> bool {
    let asked = &params["arguments"];
    let mut wanted = entry["arguments"].as_object().into_iter().flatten();
    entry["tool"] == params["name"] && wanted.all(|(key, value)| asked[key] == *value)
}
