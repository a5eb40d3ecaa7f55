//! Messages on the wire: how a request is written, and how everything that answers it is read.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use reqwest::RequestBuilder;
use serde_json::json;
use serde_json::value::RawValue;

use super::transcript::Transcript;

pub(super) fn request(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A member of an object as it is spelled.
pub(crate) fn member(object: &str, key: &str) -> Option<String> {
    let members: HashMap<String, Box<RawValue>> = serde_json::from_str(object).ok()?;
    members.get(key).map(|value| value.get().to_owned())
}

/// The elements of an array as they are spelled.
pub(crate) fn elements(array: &str) -> Vec<String> {
    let elements: Vec<Box<RawValue>> = serde_json::from_str(array).expect("an array");
    elements.iter().map(|element| element.get().to_owned()).collect()
}

/// A POST with what every one needs.
pub(super) fn posted(http: &reqwest::Client, url: &str, session: Option<&str>) -> RequestBuilder {
    let post = http
        .post(url)
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream");
    match session {
        Some(session) => post.header("Mcp-Session-Id", session),
        None => post,
    }
}

/// A name that a header cannot carry travels as base64.
pub(super) fn header_text(name: &str) -> String {
    if name.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return name.to_owned();
    }
    format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(name))
}

/// Writes down every message of a response. Where there is none, an error in its place tells the
/// test that waits for the answer.
pub(super) async fn hear_all(
    request: RequestBuilder,
    id: Option<u64>,
    transcript: Arc<Transcript>,
) {
    let failed = |why: String| {
        let error = json!({ "code": 0, "message": why });
        transcript.push(json!({ "id": id, "error": error }).to_string());
    };
    let mut response = match request.send().await {
        Ok(response) => response,
        Err(error) => return failed(format!("{error:?}")),
    };
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    if kind != Some("text/event-stream") {
        let status = response.status();
        return match response.text().await {
            Ok(text) if text.starts_with('{') => transcript.push(text),
            Ok(text) => failed(format!("HTTP {status}: {text}")),
            Err(error) => failed(format!("{error:?}")),
        };
    }
    let mut waiting = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        waiting.extend_from_slice(&chunk);
        while let Some(end) = waiting.windows(2).position(|pair| pair == b"\n\n") {
            let event: Vec<u8> = waiting.drain(..end + 2).collect();
            let event = String::from_utf8_lossy(&event).into_owned();
            let data: Vec<&str> = event
                .lines()
                .filter_map(|line| line.strip_prefix("data:"))
                .map(str::trim)
                .collect();
            if !data.is_empty() {
                transcript.push(data.join("\n"));
            }
        }
    }
}
