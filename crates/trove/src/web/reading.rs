//! Reads a resource for the page once, then shows it in any form that is asked for.
//!
//! The contents are held for a while under a name that cannot be guessed, so that looking at them
//! as a tree, as text and as bytes asks their server only once.

use std::{borrow::Cow, collections::VecDeque, sync::Arc, time::UNIX_EPOCH};

use axum::{
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use trove_core::{
    Json, PublicUri,
    content::{self, Content, Form, Kind, Payload, escape_line, sniff, summarise},
    gateway::{Reading, Wanted},
    source::Ask,
};

use super::{
    Web,
    answer::{Answer, explain, json_of, missing, refuse},
    query::Query,
    show::{self, Look},
};

/// How many readings are held, and how many bytes of them.
const MAX_HELD: usize = 32;
const MAX_HELD_BYTES: usize = 64 << 20;
/// The most parts of one resource that are shown.
const MAX_PARTS: usize = 200;

/// One of the contents of a resource.
pub(super) struct Part {
    pub(super) uri: String,
    pub(super) bytes: Vec<u8>,
    pub(super) kind: Kind,
    /// Its server gave it as text.
    pub(super) is_text: bool,
}

/// The latest readings.
#[derive(Default)]
pub(super) struct Held(Mutex<VecDeque<(String, Arc<Vec<Part>>)>>);

impl Held {
    fn keep(&self, parts: Vec<Part>) -> (String, Arc<Vec<Part>>) {
        let ticket = trove_core::hex(&rand::random::<[u8; 16]>());
        let parts = Arc::new(parts);
        let mut held = self.0.lock();
        held.push_back((ticket.clone(), parts.clone()));
        let size = |parts: &[Part]| parts.iter().map(|part| part.bytes.len()).sum::<usize>();
        // The newest stays at any size: the page is about to show it.
        while held.len() > MAX_HELD
            || (held.len() > 1 && held.iter().map(|(_, p)| size(p)).sum::<usize>() > MAX_HELD_BYTES)
        {
            held.pop_front();
        }
        (ticket, parts)
    }

    /// Holds a text to be saved, and gives its ticket.
    pub(super) fn keep_text(&self, name: &str, text: &str) -> String {
        let bytes = text.as_bytes().to_vec();
        let kind = sniff(None, name, &bytes);
        self.keep(vec![Part { uri: name.to_owned(), bytes, kind, is_text: true }]).0
    }

    /// Holds a draft to be looked at: its ticket, and the forms it can be shown in.
    pub(super) fn keep_draft(&self, name: &str, text: &str) -> (String, Vec<&'static str>) {
        let bytes = text.as_bytes().to_vec();
        let kind = sniff(None, name, &bytes);
        let part = Part { uri: name.to_owned(), bytes, kind, is_text: true };
        let looks = Look::of(&part).into_iter().map(|look| look.as_str()).collect();
        (self.keep(vec![part]).0, looks)
    }

    fn find(&self, ticket: &str) -> Option<Arc<Vec<Part>>> {
        let held = self.0.lock();
        held.iter().find(|(own, _)| own == ticket).map(|(_, parts)| parts.clone())
    }
}

/// `GET /api/resource?uri=…`: what is known of it without reading it.
pub(super) async fn resource(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let uri = query.get("uri").ok_or_else(|| missing("uri"))?;
    let caller = web.caller();
    let view = web.gateway.view(&caller).await;
    let snapshot = view.snapshot();
    // By the view, not the Snapshot: what is hidden from the caller is not there.
    let listed = view.resources().find(|(resource, _)| resource.public.as_str() == uri);
    let Some((resource, is_closed)) = listed else {
        return Ok(json_of(&json!({
            "uri": uri, "listed": false, "closed": false, "server": null, "name": null,
            "description": null, "type": null, "entry": {},
        })));
    };
    let details = snapshot.details(resource);
    let shown = |text: Option<Cow<'_, str>>| text.map(|text| escape_line(&text).into_owned());
    Ok(json_of(&json!({
        "uri": uri,
        "listed": true,
        "closed": is_closed,
        "server": snapshot.owner(resource.member).id().as_str(),
        "name": shown(details.shown_name()),
        "description": shown(details.description()),
        "type": shown(details.mime()),
        "entry": resource.entry,
    })))
}

/// `GET /api/contents?uri=…`: reads it, and says in which forms it can be shown.
pub(super) async fn contents(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let uri = PublicUri::new(query.get("uri").ok_or_else(|| missing("uri"))?);
    let began = tokio::time::Instant::now();
    let reading = web.gateway.read(&web.caller(), &uri, Ask::default()).await;
    let reading = reading.map_err(|error| explain(&error))?;
    if reading.reply.needs_input {
        let next = ["Read it in a client that can ask you, such as VS Code."];
        let message = "its server wants to know something first, which this page cannot ask you";
        return Err(refuse(StatusCode::CONFLICT, message, &next));
    }
    let took = began.elapsed().as_secs_f64() * 1000.0;
    let parts = with_texts(&web, &reading.reply.body).await;
    Ok(json_of(&described(&web, &reading, parts, took)))
}

/// The contents of a read, with the text of each document before its bytes.
async fn with_texts(web: &Web, body: &Json) -> Vec<Part> {
    let own = parts(body);
    let wanted = Wanted { written: false, ..Wanted::for_caller() };
    let Ok(Some(texts)) = web.gateway.with_texts(body, &wanted).await else { return own };
    let mut all = Vec::with_capacity(own.len());
    for (bytes, text) in own.into_iter().zip(parts(&texts.body)) {
        if text.is_text && !bytes.is_text {
            all.push(text);
        }
        all.push(bytes);
    }
    all
}

fn described(web: &Web, reading: &Reading, parts: Vec<Part>, took_ms: f64) -> Value {
    let (ticket, parts) = web.held.keep(parts);
    let fetched = reading.fetched_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let shown: Vec<Value> = parts.iter().map(described_part).collect();
    json!({
        "ticket": ticket,
        "server": reading.source.as_str(),
        "found_by": reading.by.as_str(),
        "fetched_at": fetched.as_secs(),
        "age_ms": u64::try_from(reading.age.as_millis()).unwrap_or(u64::MAX),
        "cached": reading.hit,
        "stale": reading.stale,
        "took_ms": took_ms,
        "bytes": parts.iter().map(|part| part.bytes.len()).sum::<usize>(),
        "parts": shown,
    })
}

fn described_part(part: &Part) -> Value {
    let looks = Look::of(part);
    let names: Vec<&str> = looks.iter().map(|look| look.as_str()).collect();
    json!({
        "uri": part.uri,
        "type": part.kind.mime,
        "size": part.bytes.len(),
        "text": part.is_text,
        "looks": names,
        "pages": looks.iter().map(|look| show::pages(part, *look)).collect::<Vec<_>>(),
        "summary": (part.kind.form == Form::Binary).then(|| summarise(&part.bytes, &part.kind)),
    })
}

/// The contents of a read, decoded.
fn parts(body: &Json) -> Vec<Part> {
    content::contents(body).into_iter().take(MAX_PARTS).filter_map(part).collect()
}

fn part(content: Content<'_>) -> Option<Part> {
    let uri = content.uri.into_owned();
    let (bytes, is_text) = match content.payload {
        Payload::Text(words) => (words.text().into_owned().into_bytes(), true),
        Payload::Blob(bytes) => (bytes, false),
        Payload::Odd(_) => return None,
    };
    let kind = match sniff(content.mime.as_deref(), &uri, &bytes) {
        // A server's text is text, even with odd characters in it.
        kind if is_text && kind.form == Form::Binary => sniff(Some("text/plain"), "", b""),
        kind => kind,
    };
    Some(Part { uri, bytes, kind, is_text })
}

/// `GET /api/show/{ticket}/{part}`: one part in one form, for a frame that can do nothing.
pub(super) async fn show(
    State(web): State<Arc<Web>>,
    Path((ticket, nth)): Path<(String, usize)>,
    request: Request,
) -> Response {
    let parts = web.held.find(&ticket);
    let Some(part) = parts.as_ref().and_then(|parts| parts.get(nth)) else {
        let mut gone = show::framed(show::GONE.to_owned(), "");
        *gone.status_mut() = StatusCode::GONE;
        return gone;
    };
    let query = Query::of(request.uri());
    let look = query.get("as").and_then(Look::parse).filter(|look| Look::of(part).contains(look));
    let look = look.unwrap_or(Look::Hex);
    let theme = query.get("theme").unwrap_or_default();
    show::framed(show::html(part, look, query.number("page", 0)), theme)
}

/// `GET /api/raw/{ticket}/{part}`: the bytes, to be saved and never to be opened here.
pub(super) async fn raw(
    State(web): State<Arc<Web>>,
    Path((ticket, nth)): Path<(String, usize)>,
) -> Answer {
    let parts = web.held.find(&ticket);
    let Some(part) = parts.as_ref().and_then(|parts| parts.get(nth)) else {
        return Err(refuse(StatusCode::GONE, "it is no longer held", &["Read it again."]));
    };
    let mut response = Response::new(Body::from(part.bytes.clone()));
    let name = format!("attachment; filename=\"{}\"", file_name(&part.uri));
    let headers = response.headers_mut();
    show::seal(headers);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// A name to save it under that no system takes for anything else.
fn file_name(uri: &str) -> String {
    let last = uri.split(['?', '#']).next().unwrap_or_default();
    let last = last.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
    let name: String = last.chars().filter(is_plain).take(100).collect();
    match name.trim_matches('.') {
        "" => "resource".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_saved_under_a_harmless_name() {
        assert_eq!(file_name("file:///a/notes.md?x#y"), "notes.md");
        assert_eq!(file_name("x://a/..%2f\"evil\r\n.exe"), "2fevil.exe");
        assert_eq!(file_name("x://..."), "resource");
    }

    #[test]
    fn only_the_newest_readings_are_held() {
        let held = Held::default();
        let part = || Part {
            uri: String::new(),
            bytes: vec![0; 30 << 20],
            kind: sniff(None, "", &[]),
            is_text: false,
        };
        let first = held.keep(vec![part()]).0;
        let second = held.keep(vec![part()]).0;
        let third = held.keep(vec![part()]).0;
        assert!(held.find(&first).is_none());
        assert!(held.find(&second).is_some() && held.find(&third).is_some());
    }
}
