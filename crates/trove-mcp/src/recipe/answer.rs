//! The answer of a tool, unwrapped: what it says, what in it is data, and whether it failed.

use std::borrow::Cow;

use serde_json::Value;
use trove_core::{
    Json, SourceError,
    content::{decode_blob, sniff},
    json::{Object, items, push_quoted},
};

use super::{Items, MAX_ANSWER_BYTES, MAX_ANSWER_VALUES, Path, ReadStep, words::text_of};

/// The longest text that is taken for an error though it is not marked as one.
const MAX_SAID: usize = 400;
/// How such a text begins.
const FAILURES: [&str; 8] = [
    "error:",
    "error executing ",
    "error fetching ",
    "database error:",
    "api error:",
    "failed to ",
    "failed:",
    "unable to ",
];
/// The members beside `error` of an object that tells of nothing but a failure.
const BESIDE_ERROR: [&str; 9] =
    ["error", "success", "ok", "status", "code", "message", "details", "statusCode", "request_id"];
/// How much of a text is looked at to tell its type.
const SNIFFED: usize = 4096;
/// The code of a refusal that only its words explain.
const SAID_IN_WORDS: i64 = -32603;

/// The answer of a tool.
pub(super) struct Answer {
    body: Json,
}

impl Answer {
    /// Of a result of `tools/call`. One that says that it failed is an error.
    pub(super) fn of(body: Json, is_plain: bool) -> Result<Answer, SourceError> {
        let answer = Answer { body };
        let Some(object) = answer.body.object() else {
            return Err(malformed("the answer of a tool is no object"));
        };
        let is_error = object.get("isError") == Some("true");
        if is_error || !is_plain {
            let text = answer.text();
            if is_error || says_failure(&text) {
                let message = failure_of(&text);
                return Err(SourceError::Refused { code: SAID_IN_WORDS, message, data: None });
            }
        }
        Ok(answer)
    }

    fn blocks(&self) -> Vec<Json> {
        let Some(content) = self.body.get("content") else { return Vec::new() };
        let blocks = items(content.as_str()).unwrap_or_default();
        blocks.into_iter().map(|block| content.part(block)).collect()
    }

    /// Its texts, one below the other.
    pub(super) fn text(&self) -> String {
        let mut texts = Vec::new();
        for block in self.blocks() {
            let text = match block.get_str("type").as_deref() {
                Some("resource") => block.get("resource").and_then(|one| one.get_str("text")),
                _ => block.get_str("text"),
            };
            texts.extend(text);
        }
        texts.join("\n")
    }

    /// Its data: a text that is JSON, else what it says beside the text.
    pub(super) fn data(&self, text: &str) -> Result<Option<Value>, SourceError> {
        let is_json = text.trim_start().starts_with(['{', '[', '"']);
        if is_json && let Some(value) = parsed(text)? {
            return Ok(Some(value));
        }
        match self.body.get("structuredContent") {
            Some(structured) => parsed(structured.as_str()),
            None => Ok(None),
        }
    }

    /// The items in it, at most `most`.
    pub(super) fn items(&self, items: &Items, most: usize) -> Result<Vec<Value>, SourceError> {
        let text = self.text();
        if text.len() > MAX_ANSWER_BYTES {
            return Err(SourceError::TooLarge { limit: MAX_ANSWER_BYTES });
        }
        match items {
            Items::Lines(form) => {
                Ok(text.lines().filter_map(|line| form.of_line(line)).take(most).collect())
            }
            Items::Pieces(form) => Ok(form.of_text(&text, most)),
            Items::Found { path, trail } => {
                let Some(data) = self.data(&text)? else { return Ok(Vec::new()) };
                Ok(found(&data, path, trail.as_deref(), most))
            }
        }
    }

    /// The entries of the resources it links to or embeds.
    pub(super) fn links(&self) -> Vec<Json> {
        let mut links = Vec::new();
        for block in self.blocks() {
            match block.get_str("type").as_deref() {
                Some("resource_link") => links.push(block),
                Some("resource") => links.extend(block.get("resource")),
                _ => {}
            }
        }
        links
    }

    /// One value in its data.
    pub(super) fn value(&self, path: &Path) -> Result<Option<Value>, SourceError> {
        let data = self.data(&self.text())?;
        Ok(data.and_then(|data| path.first(&data).cloned()))
    }

    /// The result of `resources/read` that it makes.
    pub(super) fn contents(&self, uri: &str, step: &ReadStep) -> Result<Json, SourceError> {
        if let Some(must) = &step.must
            && self.value(must)?.is_none()
        {
            return Err(SourceError::NotFound);
        }
        if let Some(path) = &step.take {
            let value = self.value(path)?.filter(|value| !is_empty(value));
            let value = value.ok_or(SourceError::NotFound)?;
            let text = text_of(&value).filter(|_| !value.is_array());
            let text = text.unwrap_or_else(|| pretty(&value));
            return wrapped(vec![content(uri, step.mime.as_deref(), &Json::of(&text), &text)]);
        }
        let mut blocks = self.blocks();
        // A server that embeds the thing itself says beside it only that it did.
        if blocks.iter().any(is_embedded) {
            blocks.retain(is_embedded);
        }
        let mut contents: Vec<String> = Vec::new();
        for block in blocks {
            contents.extend(self.content_of(&block, uri, step.mime.as_deref()));
        }
        if contents.is_empty()
            && let Some(structured) = self.body.get("structuredContent")
        {
            let text = structured.as_str();
            contents.push(content(uri, step.mime.as_deref(), &Json::of(&text), text));
        }
        wrapped(contents)
    }

    /// One block of an answer as a content.
    fn content_of(&self, block: &Json, uri: &str, mime: Option<&str>) -> Option<String> {
        let object = block.object()?;
        match object.get_str("type").as_deref() {
            Some("text") => {
                let text = block.part(object.get_original("text")?);
                let start = beginning(text.as_str());
                Some(content(uri, mime, &text, &start))
            }
            Some("image" | "audio") => {
                let data = object.get("data")?;
                let told = object.get_str("mimeType");
                let kind = told.as_deref().or(mime).unwrap_or("application/octet-stream");
                Some(blob(uri, kind, data))
            }
            Some("resource") => {
                let mut resource = Object::parse(object.get("resource")?)?;
                resource.set_str("uri", uri);
                Some(resource.to_text())
            }
            Some("resource_link") => {
                let target = object.get_str("uri")?;
                let name = object.get_str("name").unwrap_or_default();
                let text = format!("{name} {target}");
                Some(content(uri, Some("text/plain"), &Json::of(&text), &text))
            }
            _ => None,
        }
    }
}

fn is_embedded(block: &Json) -> bool {
    block.get_str("type").as_deref() == Some("resource")
}

fn malformed(what: &str) -> SourceError {
    SourceError::Malformed { what: what.to_owned() }
}

/// The first bytes of what a JSON string means.
fn beginning(literal: &str) -> String {
    let mut end = literal.len().min(SNIFFED);
    while !literal.is_char_boundary(end) {
        end -= 1;
    }
    // An escape that is cut off would end the text early.
    let cut = literal[..end].trim_end_matches(['\\', 'u']);
    let closed = if end < literal.len() { format!("{cut}\"") } else { literal.to_owned() };
    serde_json::from_str(&closed).unwrap_or_default()
}

/// A text as a content. `text` is a JSON string, and `start` what its beginning means.
fn content(uri: &str, mime: Option<&str>, text: &Json, start: &str) -> String {
    let mime = match mime {
        Some(mime) => Cow::Borrowed(mime),
        None => match sniff(None, uri, start.as_bytes()) {
            kind if kind.is_text() => kind.mime,
            _ => Cow::Borrowed("text/plain"),
        },
    };
    let mut out = String::with_capacity(text.as_str().len() + uri.len() + 64);
    out.push_str("{\"uri\":");
    push_quoted(&mut out, uri);
    out.push_str(",\"mimeType\":");
    push_quoted(&mut out, &mime);
    out.push_str(",\"text\":");
    out.push_str(text.as_str());
    out.push('}');
    out
}

fn blob(uri: &str, mime: &str, data: &str) -> String {
    let is_sound = serde_json::from_str::<String>(data).ok().and_then(|data| decode_blob(&data));
    let data = if is_sound.is_some() { data } else { "\"\"" };
    let mut out = String::with_capacity(data.len() + uri.len() + 64);
    out.push_str("{\"uri\":");
    push_quoted(&mut out, uri);
    out.push_str(",\"mimeType\":");
    push_quoted(&mut out, mime);
    out.push_str(",\"blob\":");
    out.push_str(data);
    out.push('}');
    out
}

fn wrapped(contents: Vec<String>) -> Result<Json, SourceError> {
    if contents.is_empty() {
        return Err(malformed("the answer of the tool holds no content"));
    }
    let text = format!("{{\"contents\":[{}]}}", contents.join(","));
    Json::parse(text).map_err(|_| malformed("the answer of the tool is no JSON"))
}

/// Parses an answer, within bounds; `None` if it is no JSON.
fn parsed(text: &str) -> Result<Option<Value>, SourceError> {
    if text.len() > MAX_ANSWER_BYTES {
        return Err(SourceError::TooLarge { limit: MAX_ANSWER_BYTES });
    }
    let signs = text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    if signs > MAX_ANSWER_VALUES {
        let what = format!("an answer has more than {MAX_ANSWER_VALUES} values");
        return Err(SourceError::Malformed { what });
    }
    Ok(serde_json::from_str(text).ok())
}

fn found(data: &Value, path: &Path, trail: Option<&str>, most: usize) -> Vec<Value> {
    let Some(member) = trail else {
        return path.all(data).into_iter().take(most).cloned().collect();
    };
    let with_trail = |(item, trail): (&Value, String)| {
        let mut item = item.clone();
        if let Value::Object(members) = &mut item {
            // Nested members are listed by themselves.
            members.retain(|_, value| !value.is_array() && !value.is_object());
            members.insert("trail".to_owned(), trail.into());
        }
        item
    };
    path.all_with_trails(data, member).into_iter().take(most).map(with_trail).collect()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => false,
    }
}

fn pretty(value: &Value) -> String {
    // A parsed value always becomes text again.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Whether a text without the mark of an error is one, e.g. `Error: not found`.
fn says_failure(text: &str) -> bool {
    let said = text.trim();
    if said.len() > MAX_SAID {
        return false;
    }
    let lower = said.to_ascii_lowercase();
    if !said.contains('\n') && FAILURES.iter().any(|start| lower.starts_with(start)) {
        return true;
    }
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(said) else { return false };
    let error = members.get("error").is_some_and(|error| error.is_string() || error.is_object());
    error && members.keys().all(|key| BESIDE_ERROR.contains(&key.as_str()))
}

/// The words of a failure.
fn failure_of(text: &str) -> String {
    let said: String = text.trim().chars().take(MAX_SAID).collect();
    if said.is_empty() { "the tool failed and does not say why".to_owned() } else { said }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Result<Answer, SourceError> {
        Answer::of(Json::parse(text.to_owned()).expect("JSON"), false)
    }

    fn said(text: &str) -> String {
        format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, Json::of(&text).as_str())
    }

    #[test]
    fn a_text_that_says_so_is_a_failure() {
        for failure in [
            r#"{"content":[{"type":"text","text":"boom"}],"isError":true}"#.to_owned(),
            said("Database error: no such table: ghosts"),
            said(r#"{"error":"not found","status":404}"#),
        ] {
            assert!(matches!(answer(&failure), Err(SourceError::Refused { .. })), "{failure}");
        }
        for fine in [said("Errors are what this page is about."), said(r#"{"error":"x","a":[]}"#)] {
            assert!(answer(&fine).is_ok(), "{fine}");
        }
        let missing = answer(&said("Database error: no such table: ghosts")).err();
        assert!(missing.is_some_and(|error| error.means_absence_of("sqlite://table/ghosts")));
    }

    #[test]
    fn a_bomb_of_values_is_refused_before_it_is_parsed() {
        let bomb = said(&format!("[{}0]", "0,".repeat(MAX_ANSWER_VALUES + 1)));
        let items = Items::Found { path: Path::parse("$[*]").expect("a path"), trail: None };
        let refused = answer(&bomb).expect("an answer").items(&items, 10);
        assert!(matches!(refused, Err(SourceError::Malformed { .. })));
    }

    #[test]
    fn every_kind_of_block_becomes_a_content() {
        let step = ReadStep {
            template: trove_core::template::UriTemplate::parse("x://{id}").expect("a template"),
            name: None,
            description: None,
            call: super::super::ToolCall { tool: "t".to_owned(), arguments: Default::default() },
            must: None,
            take: None,
            mime: None,
            only: Vec::new(),
            is_listed_only: false,
            is_plain: false,
        };
        let all = r#"{"content":[{"type":"text","text":"{\"a\":1}"},
            {"type":"image","data":"aGk=","mimeType":"image/png"}]}"#;
        let read = answer(all).expect("an answer").contents("x://1", &step).expect("contents");
        let read: Value = serde_json::from_str(read.as_str()).expect("JSON");
        assert_eq!(read["contents"][0]["text"], "{\"a\":1}");
        assert_eq!(read["contents"][1]["blob"], "aGk=");
        let embedded = r#"{"content":[{"type":"text","text":"downloaded it"},
            {"type":"resource","resource":{"uri":"y://1","text":"inner"}}]}"#;
        let read = answer(embedded).expect("an answer").contents("x://1", &step).expect("contents");
        let read: Value = serde_json::from_str(read.as_str()).expect("JSON");
        let inner = serde_json::json!([{ "uri": "x://1", "text": "inner" }]);
        assert_eq!(read["contents"], inner);
        let only_data = r#"{"content":[],"structuredContent":{"a":[1]}}"#;
        let read = answer(only_data).expect("an answer").contents("x://1", &step).expect("it");
        assert!(read.as_str().contains("[1]"));
        assert!(answer(r#"{"content":[]}"#).expect("it").contents("x://1", &step).is_err());
    }
}
