//! Streamable HTTP at `/mcp`: sessions for legacy clients, one exchange per request for modern ones.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::Value;
use tokio::sync::mpsc;

use super::dispatch::{self, Era};
use super::floods;
use super::options::{Eras, Fault};
use super::peer::{OUTBOX, Peer, lock};
use super::state::Toy;
use super::wire::{Frame, Incoming, META_VERSION, RpcError};

const SESSION: &str = "mcp-session-id";
/// The id of the event after which an answer comes that was held back.
const HELD: &str = "held-7";

/// A server and its open sessions.
pub(super) struct Door {
    pub toy: Arc<Toy>,
    sessions: Mutex<HashMap<String, Arc<Peer>>>,
    opened: AtomicU64,
}

impl Door {
    pub(super) fn new(toy: Arc<Toy>) -> Self {
        Self { toy, sessions: Mutex::default(), opened: AtomicU64::default() }
    }

    /// Opens a session and names it.
    pub(super) fn open(&self, peer: Peer) -> (String, Arc<Peer>) {
        let name =
            format!("toy-{}-{}", std::process::id(), self.opened.fetch_add(1, Ordering::Relaxed));
        let peer = Arc::new(peer);
        lock(&self.sessions).insert(name.clone(), Arc::clone(&peer));
        (name, peer)
    }

    pub(super) fn find(&self, session: &str) -> Option<Arc<Peer>> {
        lock(&self.sessions).get(session).cloned()
    }

    /// Ends a session and everything it has running; says whether there was one.
    pub(super) fn close(&self, session: &str) -> bool {
        let peer = lock(&self.sessions).remove(session);
        peer.inspect(|peer| peer.closed.cancel()).is_some()
    }
}

/// Serves for ever.
pub(super) async fn serve(toy: Arc<Toy>, address: SocketAddr) -> anyhow::Result<()> {
    let door = Arc::new(Door::new(toy));
    let routes =
        Router::new().route("/mcp", get(stream_of_session).post(message).delete(close_session));
    listen(&door.toy, address, routes.with_state(Arc::clone(&door))).await
}

/// Binds, tells the address, and serves the routes.
pub(super) async fn listen(toy: &Toy, address: SocketAddr, routes: Router) -> anyhow::Result<()> {
    use std::io::Write as _;
    let listener = tokio::net::TcpListener::bind(address).await?;
    writeln!(std::io::stderr(), "listening {}", listener.local_addr()?)?;
    toy.options.delay(Fault::DelayInit).await;
    axum::serve(listener, routes.layer(DefaultBodyLimit::disable())).await?;
    Ok(())
}

async fn message(State(door): State<Arc<Door>>, headers: HeaderMap, body: Bytes) -> Response {
    let all: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
    *lock(&door.toy.headers) = all.join("\n");
    let incoming = match Incoming::parse(&body) {
        Ok(incoming) => incoming,
        Err(error) => return refusal(&error, "null"),
    };
    let id = incoming.id.as_ref().map_or("null", |id| id.get()).to_owned();
    let (method, params) = (incoming.method.clone().unwrap_or_default(), incoming.params());
    let era = Era::of(&door.toy.options, &method, &params);
    let is_modern = era == Era::Modern || (!headers.contains_key(SESSION) && incoming.id.is_none());
    if let Some(port) = door.toy.options.amount(Fault::Redirect)
        && method == "resources/read"
    {
        let elsewhere = format!("http://127.0.0.1:{port}/mcp");
        return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, elsewhere)]).into_response();
    }
    let mut opened = None;
    let peer = if is_modern {
        if let Err(error) = check_headers(&headers, &incoming, &params) {
            return refusal(&error, &id);
        }
        Arc::new(Peer::default())
    } else if method == "initialize" {
        let (name, peer) = door.open(Peer::default());
        opened = Some(name);
        peer
    } else {
        match headers.get(SESSION).map(|name| door.find(name.to_str().unwrap_or_default())) {
            Some(Some(peer)) => peer,
            Some(None) => return StatusCode::NOT_FOUND.into_response(),
            None => return StatusCode::BAD_REQUEST.into_response(),
        }
    };
    let reads_in_session = method == "resources/read" && !is_modern;
    if reads_in_session && let Some(refusal) = forget(&door, &headers, &peer) {
        return refusal;
    }
    let (reply, frames) = mpsc::channel(OUTBOX);
    let Some(exchange) = dispatch::receive(&door.toy, &peer, reply, incoming) else {
        return StatusCode::ACCEPTED.into_response();
    };
    door.toy.tasks.spawn(exchange.run());
    if reads_in_session && door.toy.options.has(Fault::HangUp) {
        *lock(&peer.held) = Some(frames);
        return events(format!("id: {HELD}\nretry: 50\ndata: \n\n"), stream::empty());
    }
    let mut response = answer(frames).await;
    if door.toy.options.has(Fault::Gzip) && method == "resources/read" {
        let gzip = axum::http::HeaderValue::from_static("gzip");
        response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
    }
    if let Some(name) = opened.and_then(|name| name.parse().ok()) {
        response.headers_mut().insert(SESSION, name);
    }
    response
}

/// The refusal of a session that has read before, if the server knows none for longer.
fn forget(door: &Door, headers: &HeaderMap, peer: &Peer) -> Option<Response> {
    let status = door.toy.options.amount(Fault::Forget)?;
    if peer.reads.fetch_add(1, Ordering::Relaxed) == 0 {
        return None;
    }
    let name = headers.get(SESSION).and_then(|name| name.to_str().ok());
    door.close(name.unwrap_or_default());
    let status = u16::try_from(status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.unwrap_or(StatusCode::NOT_FOUND);
    Some((status, "No valid session ID provided").into_response())
}

/// Plain JSON when the answer comes first, a stream of events when something comes before it.
async fn answer(mut frames: mpsc::Receiver<Frame>) -> Response {
    match frames.recv().await {
        None => StatusCode::ACCEPTED.into_response(),
        Some(frame) if frame.last => {
            let status = StatusCode::from_u16(frame.status).unwrap_or(StatusCode::OK);
            let body =
                Body::from_stream(stream::iter(frame.pieces("", "").map(Ok::<_, Infallible>)));
            (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        Some(first) => events(String::new(), stream::iter([first]).chain(received(frames))),
    }
}

/// The frames of a channel as a stream.
pub(super) fn received(frames: mpsc::Receiver<Frame>) -> impl Stream<Item = Frame> + Send {
    stream::unfold(
        frames,
        |mut frames| async move { frames.recv().await.map(|frame| (frame, frames)) },
    )
}

/// A response of server-sent events: the opening as it stands, then one event for each frame.
pub(super) fn events(
    opening: String,
    frames: impl Stream<Item = Frame> + Send + 'static,
) -> Response {
    let pieces =
        frames.flat_map(|frame| stream::iter(frame.pieces("event: message\ndata: ", "\n\n")));
    let body = Body::from_stream(
        stream::iter([opening.into()]).chain(pieces).map(Ok::<Bytes, Infallible>),
    );
    ([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], body)
        .into_response()
}

async fn stream_of_session(State(door): State<Arc<Door>>, headers: HeaderMap) -> Response {
    if door.toy.options.era == Eras::Modern {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match headers.get(SESSION).map(|name| door.find(name.to_str().unwrap_or_default())) {
        Some(Some(peer)) => {
            if headers.get("last-event-id").is_some_and(|id| id == HELD)
                && let Some(frames) = lock(&peer.held).take()
            {
                return events(String::new(), received(frames));
            }
            let (out, frames) = mpsc::channel(OUTBOX);
            floods::start(&door.toy, &out, floods::Stream::Events);
            *lock(&peer.out) = Some(out);
            let open_for = door.toy.options.amount(Fault::CutUnasked).unwrap_or(u64::MAX);
            let cut = tokio::time::sleep(Duration::from_millis(open_for.min(1 << 40)));
            events(": open\n\n".to_owned(), received(frames).take_until(cut))
        }
        Some(None) => StatusCode::NOT_FOUND.into_response(),
        None => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn close_session(State(door): State<Arc<Door>>, headers: HeaderMap) -> Response {
    let name = headers.get(SESSION).and_then(|name| name.to_str().ok()).unwrap_or_default();
    if door.close(name) {
        StatusCode::OK.into_response()
    } else {
        StatusCode::NOT_FOUND.into_response()
    }
}

/// Refuses a modern request whose headers do not repeat what its body says.
fn check_headers(headers: &HeaderMap, incoming: &Incoming, params: &Value) -> Result<(), RpcError> {
    let method = incoming.method.as_deref().unwrap_or_default();
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let expected = [
        ("mcp-protocol-version", params["_meta"][META_VERSION].as_str()),
        ("mcp-method", incoming.id.is_some().then_some(method)),
        ("mcp-name", name),
    ];
    for (header, expected) in expected {
        let Some(expected) = expected else { continue };
        let sent = headers.get(header).and_then(|value| value.to_str().ok()).map(decoded);
        if sent.as_deref() != Some(expected) {
            return Err(RpcError::new(-32020, format!("{header} does not match the body")));
        }
    }
    Ok(())
}

/// A header value, freed from the base64 that clothes what a header cannot carry.
fn decoded(value: &str) -> String {
    let clothed = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let bytes = clothed.and_then(|inner| BASE64_STANDARD.decode(inner).ok());
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| value.to_owned())
}

fn refusal(error: &RpcError, id: &str) -> Response {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    (status, [(header::CONTENT_TYPE, "application/json")], error.message(id)).into_response()
}
