//! The door on HTTP: both eras on one address.
//!
//! A modern request stands alone; a legacy one belongs to a session that `initialize`
//! began. Answers are plain JSON unless the client wants to hear of the work meanwhile.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request as HttpRequest, State},
    response::Response,
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use trove_core::{Caller, Json, caller::Door};

use super::{
    Server,
    asking::{Asking, meta_of},
    guard::Guard,
    headers,
    legacy::Session,
    listen::listen,
    stdio::client_name,
};
use crate::{
    bounds::{MAX_NOTICES, MAX_REQUEST_BYTES, MAX_SESSIONS, SESSION_IDLE},
    sse,
    wire::{self, BadMessage, Message, Request, RpcError, code},
};

/// How many messages wait for a legacy client that is not listening.
const MAX_UNHEARD: usize = 256;
/// How often something is said on a silent stream, so that nobody takes it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What the HTTP door holds: its guard, and the legacy sessions.
pub struct HttpDoor {
    server: Arc<Server>,
    guard: Guard,
    sessions: RwLock<HashMap<String, Arc<HttpSession>>>,
    stop: CancellationToken,
}

/// A legacy client over HTTP.
struct HttpSession {
    session: Session,
    /// Messages for the client's listening stream; held by that stream while it is open.
    unheard: Arc<tokio::sync::Mutex<mpsc::Receiver<Bytes>>>,
    last_seen: std::sync::Mutex<Instant>,
}

/// The routes of the MCP door. Streams end when `stop` is cancelled.
pub fn router(server: Arc<Server>, guard: Guard, stop: CancellationToken) -> Router {
    let door = Arc::new(HttpDoor { server, guard, sessions: RwLock::default(), stop });
    let janitor = Arc::downgrade(&door);
    let stopped = door.stop.clone();
    tokio::spawn(async move {
        while let Some(door) = janitor.upgrade() {
            door.end_idle_sessions().await;
            drop(door);
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(60)) => {}
                () = stopped.cancelled() => return,
            }
        }
    });
    Router::new()
        .route("/mcp", post(handle).get(handle).delete(handle))
        .route("/healthz", get(|| async { "ok\n" }))
        .with_state(door)
}

async fn handle(State(door): State<Arc<HttpDoor>>, request: HttpRequest) -> Response {
    if let Err((status, why)) = door.guard.admit(request.headers()) {
        return refuse(status, why);
    }
    match *request.method() {
        Method::POST => door.post(request).await,
        Method::GET => door.listen_unasked(request.headers()).await,
        _ => door.end_session(request.headers()).await,
    }
}

impl HttpDoor {
    async fn post(self: Arc<Self>, request: HttpRequest) -> Response {
        let (head, body) = request.into_parts();
        let is_json = head
            .headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|t| t.as_bytes().to_ascii_lowercase().starts_with(b"application/json"));
        if !is_json {
            return refuse(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Content-Type must be application/json",
            );
        }
        let body = match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request is larger than 4 MiB");
            }
            Err(_) => return refuse(StatusCode::BAD_REQUEST, "the request was cut off"),
        };
        match wire::parse_batch(&body) {
            Some(batch) => self.post_batch(&head.headers, batch).await,
            None => self.post_one(&head.headers, body).await,
        }
    }

    async fn post_one(self: Arc<Self>, headers: &HeaderMap, body: Bytes) -> Response {
        match wire::parse(&body) {
            Ok(Message::Request(request)) => {
                let meta = meta_of(request.params.as_ref());
                let has_session = headers.contains_key(headers::SESSION);
                if headers::is_modern(headers, meta.as_ref()) && !has_session {
                    return self.answer_modern(headers, request, meta).await;
                }
                self.answer_legacy(headers, request).await
            }
            Ok(Message::Notification { method, params }) => {
                if let Some(session) = self.session(headers) {
                    session.session.take(&method, params.as_ref());
                }
                respond(StatusCode::ACCEPTED, None)
            }
            Ok(Message::Response { .. }) => respond(StatusCode::ACCEPTED, None),
            Err(BadMessage::NotJson) => {
                bad_request(None, &RpcError::new(code::PARSE_ERROR, "the body is not JSON"))
            }
            Err(BadMessage::NotRpc { id }) => {
                let error = RpcError::new(
                    code::INVALID_REQUEST,
                    "neither request, notification nor response",
                );
                bad_request(id.as_ref(), &error)
            }
        }
    }

    /// Batches exist in 2025-03-26 only; each part is answered as if it came alone.
    async fn post_batch(self: Arc<Self>, headers: &HeaderMap, batch: Vec<Bytes>) -> Response {
        let Some(session) = self.session(headers) else {
            return refuse(StatusCode::BAD_REQUEST, "a batch needs a session");
        };
        let mut answers: Vec<String> = Vec::new();
        for part in batch {
            match wire::parse(&part) {
                Ok(Message::Request(request)) => {
                    let id = request.id.clone();
                    let asking = session.session.asking(&request);
                    let outcome =
                        session.session.answer(&self.server, request, &asking, None).await;
                    answers
                        .push(String::from_utf8_lossy(&wire::response(&id, &outcome)).into_owned());
                }
                Ok(Message::Notification { method, params }) => {
                    session.session.take(&method, params.as_ref())
                }
                Ok(Message::Response { .. }) | Err(_) => {}
            }
        }
        if answers.is_empty() {
            return respond(StatusCode::ACCEPTED, None);
        }
        respond(StatusCode::OK, Some(format!("[{}]", answers.join(",")).into()))
    }

    async fn answer_modern(
        self: Arc<Self>,
        headers: &HeaderMap,
        request: Request,
        meta: Option<Json>,
    ) -> Response {
        if let Err(error) = headers::check(headers, &request, meta.as_ref()) {
            return bad_request(Some(&request.id), &error);
        }
        let asking = match Asking::modern(Caller::behind(Door::Http), meta) {
            Ok(asking) => asking,
            Err(error) => return bad_request(Some(&request.id), &error),
        };
        if request.method == "subscriptions/listen" {
            return self.listen_modern(request, asking);
        }
        if request.method == "tools/call"
            && let Err(error) = self.check_arguments(headers, &request).await
        {
            return bad_request(Some(&request.id), &error);
        }
        if asking.wants_notices() && accepts_events(headers) {
            let door = self.clone();
            return stream_answer(request.id.clone(), asking.clone(), move |notices| async move {
                door.server.answer(&request.method, request.params, &asking, Some(notices)).await
            });
        }
        let outcome = self.server.answer(&request.method, request.params, &asking, None).await;
        respond(status_of(&outcome), Some(wire::response(&request.id, &outcome)))
    }

    async fn check_arguments(
        &self,
        headers: &HeaderMap,
        request: &Request,
    ) -> Result<(), RpcError> {
        let name = request.params.as_ref().and_then(|params| params.get_str("name"));
        let snapshot = self.server.gateway.snapshot().await;
        match name.as_deref().and_then(|name| snapshot.tool(name)) {
            Some(tool) => headers::check_arguments(headers, request, &tool.entry),
            None => Ok(()),
        }
    }

    async fn answer_legacy(self: Arc<Self>, headers: &HeaderMap, request: Request) -> Response {
        if request.method == "initialize" {
            return self.initialize(request).await;
        }
        let Some(session) = self.session(headers) else {
            return match headers.contains_key(headers::SESSION) {
                true => refuse(StatusCode::NOT_FOUND, "no such session; send `initialize` again"),
                false => refuse(
                    StatusCode::BAD_REQUEST,
                    "Mcp-Session-Id is missing; send `initialize` first",
                ),
            };
        };
        let asking = session.session.asking(&request);
        let id = request.id.clone();
        if asking.wants_notices() && accepts_events(headers) {
            let door = self.clone();
            return stream_answer(id, asking.clone(), move |notices| async move {
                session.session.answer(&door.server, request, &asking, Some(notices)).await
            });
        }
        // In these eras a client that hangs up has not cancelled what it began; what has
        // effects is finished even for nobody.
        let outcome = if has_effects(&request.method) {
            let door = self.clone();
            let work = tokio::spawn(async move {
                session.session.answer(&door.server, request, &asking, None).await
            });
            work.await.unwrap_or_else(|_| {
                Err(RpcError::new(code::INTERNAL_ERROR, "the request failed inside the gateway"))
            })
        } else {
            session.session.answer(&self.server, request, &asking, None).await
        };
        respond(StatusCode::OK, Some(wire::response(&id, &outcome)))
    }

    async fn initialize(self: Arc<Self>, request: Request) -> Response {
        let params = request.params.as_ref();
        let (version, result) = self.server.initialize(params).await;
        let caller = Caller { client: client_name(params), ..Caller::behind(Door::Http) };
        let (out, unheard) = mpsc::channel(MAX_UNHEARD);
        let session = HttpSession {
            session: Session::begin(&self.server, version, caller, out),
            unheard: Arc::new(tokio::sync::Mutex::new(unheard)),
            last_seen: std::sync::Mutex::new(Instant::now()),
        };
        let id = format!("{:032x}", rand::random::<u128>());
        if !self.admit_session(&id, session).await {
            return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many sessions; try again later");
        }
        let mut response = respond(StatusCode::OK, Some(wire::response(&request.id, &Ok(result))));
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(headers::SESSION, id);
        }
        response
    }

    async fn admit_session(&self, id: &str, session: HttpSession) -> bool {
        if self.sessions.read().unwrap_or_else(PoisonError::into_inner).len() >= MAX_SESSIONS {
            session.session.end(&self.server).await;
            return false;
        }
        self.sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.to_owned(), Arc::new(session));
        true
    }

    fn session(&self, headers: &HeaderMap) -> Option<Arc<HttpSession>> {
        let id = headers::text(headers, headers::SESSION)?;
        let session =
            self.sessions.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()?;
        *session.last_seen.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Some(session)
    }

    async fn end_session(&self, headers: &HeaderMap) -> Response {
        let Some(id) = headers::text(headers, headers::SESSION) else {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "there is no session to end");
        };
        let ended = self.sessions.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        match ended {
            Some(session) => {
                session.session.end(&self.server).await;
                respond(StatusCode::NO_CONTENT, None)
            }
            None => refuse(StatusCode::NOT_FOUND, "no such session"),
        }
    }

    async fn end_idle_sessions(&self) {
        let is_idle = |session: &HttpSession| {
            let last_seen = *session.last_seen.lock().unwrap_or_else(PoisonError::into_inner);
            // A client with an open stream is there even if it says nothing.
            last_seen.elapsed() > SESSION_IDLE && session.unheard.try_lock().is_ok()
        };
        let idle: Vec<Arc<HttpSession>> = {
            let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
            sessions.extract_if(|_, session| is_idle(session)).map(|(_, session)| session).collect()
        };
        for session in idle {
            session.session.end(&self.server).await;
        }
    }

    /// The stream on which a legacy client hears what it did not ask for.
    async fn listen_unasked(&self, headers: &HeaderMap) -> Response {
        if !headers.contains_key(headers::SESSION) {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "listening needs a session");
        }
        let Some(session) = self.session(headers) else {
            return refuse(StatusCode::NOT_FOUND, "no such session; send `initialize` again");
        };
        let Ok(receiver) = session.unheard.clone().try_lock_owned() else {
            return refuse(StatusCode::CONFLICT, "this session is listening already");
        };
        let messages = stream::unfold((receiver, session), |(mut receiver, session)| async move {
            let message = receiver.recv().await?;
            Some((message, (receiver, session)))
        });
        events(messages, self.stop.clone())
    }

    fn listen_modern(self: Arc<Self>, request: Request, asking: Asking) -> Response {
        let (out, messages) = mpsc::channel(MAX_UNHEARD);
        let stop = self.stop.clone();
        // The task ends when the client hangs up, which closes the channel, or with us.
        let until = stop.clone();
        tokio::spawn(async move {
            listen(&self.server.gateway, &asking.caller, &request, out, &until).await;
        });
        let messages = stream::unfold(messages, |mut messages| async move {
            Some((messages.recv().await?, messages))
        });
        events(messages, stop)
    }
}

/// Does the work while passing on what is said about it; the answer comes last. All of
/// it lives in the body, so that a client that hangs up cancels the work.
fn stream_answer<F>(
    id: Json,
    asking: Asking,
    work: impl FnOnce(mpsc::Sender<trove_core::source::Notice>) -> F,
) -> Response
where
    F: Future<Output = Result<Json, RpcError>> + Send + 'static,
{
    let (sender, notices) = mpsc::channel(MAX_NOTICES);
    let work = Box::pin(work(sender));
    let messages = stream::unfold(Some((work, notices, asking, id)), |state| async move {
        let (mut work, mut notices, asking, id) = state?;
        loop {
            tokio::select! {
                biased;
                Some(notice) = notices.recv() => {
                    if let Some(message) = asking.encode_notice(&notice) {
                        return Some((message, Some((work, notices, asking, id))));
                    }
                }
                outcome = &mut work => {
                    // Notices that arrived with the answer still come before it.
                    let mut last = Vec::new();
                    while let Ok(notice) = notices.try_recv() {
                        last.extend(asking.encode_notice(&notice));
                    }
                    last.push(wire::response(&id, &outcome));
                    let joined = last.iter().map(|message| sse::encode(message)).collect::<Vec<_>>().concat();
                    return Some((Bytes::from(joined), None));
                }
            }
        }
    });
    let framed = messages.map(|message| {
        Ok::<_, Infallible>(if message.starts_with(b"event:") {
            message
        } else {
            sse::encode(&message)
        })
    });
    event_response(Body::from_stream(framed))
}

/// A stream of messages with a sign of life now and then, until the gateway stops.
fn events(
    messages: impl Stream<Item = Bytes> + Send + 'static,
    stop: CancellationToken,
) -> Response {
    let messages = Box::pin(messages);
    let framed = stream::unfold((messages, stop), |(mut messages, stop)| async move {
        tokio::select! {
            () = stop.cancelled() => None,
            message = messages.next() => Some((Ok::<_, Infallible>(sse::encode(&message?)), (messages, stop))),
            () = tokio::time::sleep(KEEP_ALIVE) => {
                Some((Ok(Bytes::from_static(b": still here\n\n")), (messages, stop)))
            }
        }
    });
    event_response(Body::from_stream(framed))
}

fn event_response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn has_effects(method: &str) -> bool {
    matches!(method, "tools/call" | "resources/subscribe" | "resources/unsubscribe")
}

fn accepts_events(headers: &HeaderMap) -> bool {
    headers::text(headers, header::ACCEPT.as_str())
        .is_some_and(|accept| accept.contains("text/event-stream"))
}

/// What a modern answer means in HTTP.
fn status_of(outcome: &Result<Json, RpcError>) -> StatusCode {
    match outcome {
        Err(error) => match error.code {
            code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            code::UNSUPPORTED_VERSION | code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY => {
                StatusCode::BAD_REQUEST
            }
            _ => StatusCode::OK,
        },
        Ok(_) => StatusCode::OK,
    }
}

fn respond(status: StatusCode, body: Option<Bytes>) -> Response {
    let has_body = body.is_some();
    let mut response = Response::new(body.map_or_else(Body::empty, Body::from));
    *response.status_mut() = status;
    if has_body {
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    response
}

fn bad_request(id: Option<&Json>, error: &RpcError) -> Response {
    respond(StatusCode::BAD_REQUEST, Some(wire::error_response(id, error)))
}

/// Turns a request away before it is known to be JSON-RPC, in words.
fn refuse(status: StatusCode, why: &'static str) -> Response {
    let mut response = respond(
        status,
        Some(wire::error_response(None, &RpcError::new(code::INVALID_REQUEST, why))),
    );
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
