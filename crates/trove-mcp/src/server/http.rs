//! The door on HTTP: both eras on one address.
//!
//! A modern request stands alone; a legacy one belongs to a session that `initialize`
//! began. Answers are plain JSON unless the client wants to hear of the work meanwhile.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request as HttpRequest, State},
    middleware::from_fn_with_state,
    response::Response,
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use trove_core::{Caller, Json, access::ADMIN, metrics::CONTENT_TYPE, source::Notice};

use super::{
    Server,
    asking::{Asking, meta_of},
    bodies::{Held, ROOM_WAIT, Room, Unread},
    elsewhere,
    exchange::{takes_batch, telling},
    guard::{Admitted, Guard, Identity, Refusal},
    headers,
    identity::METADATA_PATH,
    limits::{Limits, Place, TooMuch},
    listen::{Ended, listen},
    responses::{
        answer, bad_request, no_room, refuse, respond, slow_down, too_much_error, turn_away,
    },
    sessions::{self, Absent, HttpSession, MAX_UNHEARD, Sessions},
    sse_door::{self, Streams},
    streams::{encoded_events, event_response, events},
};
use crate::{
    bounds::MAX_NOTICES,
    sse,
    wire::{self, Message, Outcome, Request, RpcError, code},
};

/// How long a legacy client waits before it opens a broken stream again. Python `mcp` tries only
/// once, and the TypeScript SDK twice, so this is the time in which a restart must be done.
const RECONNECT: Duration = Duration::from_secs(5);

/// The places of this door, as the audit log calls them.
const MCP: &str = "/mcp";
const METRICS: &str = "/metrics";

/// The parts of the HTTP door: its guard, its legacy sessions, its limits.
pub(super) struct HttpDoor {
    pub(super) server: Arc<Server>,
    pub(super) guard: Guard,
    sessions: Sessions,
    /// The streams of clients that only know HTTP with SSE.
    pub(super) streams: Streams,
    pub(super) limits: Limits,
    room: Arc<Room>,
    pub(super) stop: CancellationToken,
}

/// The routes of the MCP door. Streams end when `stop` is cancelled.
pub fn router(server: Arc<Server>, guard: Guard, stop: CancellationToken) -> Router {
    routes(Router::new(), server, guard, stop)
}

/// The routes of the MCP door, and `/sse` and `/messages` for clients of the transport of 2024-11-05.
pub fn router_with_sse(server: Arc<Server>, guard: Guard, stop: CancellationToken) -> Router {
    routes(sse_door::routes(), server, guard, stop)
}

fn routes(
    more: Router<Arc<HttpDoor>>,
    server: Arc<Server>,
    guard: Guard,
    stop: CancellationToken,
) -> Router {
    let (limits, room) = (Limits::new(&server.bounds), Room::of(&server.bounds));
    let (sessions, streams) = (Sessions::default(), Streams::default());
    let door = Arc::new(HttpDoor { server, guard, sessions, streams, limits, room, stop });
    let janitor = Arc::downgrade(&door);
    let stopped = door.stop.clone();
    tokio::spawn(async move {
        while let Some(door) = janitor.upgrade() {
            door.sessions.forget_idle(&door.server);
            door.limits.forget_silent();
            let rest = sessions::rest(&door.server.bounds);
            drop(door);
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                () = stopped.cancelled() => return,
            }
        }
    });
    let guard = door.guard.clone();
    let router = more
        .route(MCP, post(handle).get(handle).delete(handle))
        .route(METADATA_PATH, get(metadata))
        .route(&format!("{METADATA_PATH}/mcp"), get(metadata))
        .route(METRICS, get(metrics))
        .route("/healthz", get(healthz))
        .method_not_allowed_fallback(other_method)
        .with_state(door);
    match guard.has_origins() {
        true => router.layer(from_fn_with_state(guard, elsewhere::tell)),
        false => router,
    }
}

/// Refuses an unknown method, after the guard. A stranger does not learn which methods there are.
async fn other_method(State(door): State<Arc<HttpDoor>>, request: HttpRequest) -> Response {
    match door.guard.admit_place(request.headers(), MCP) {
        Ok(()) => refuse(StatusCode::METHOD_NOT_ALLOWED, "this method is not served here"),
        Err(refusal) => turn_away(refusal),
    }
}

async fn handle(State(door): State<Arc<HttpDoor>>, request: HttpRequest) -> Response {
    let mut admitted = match door.guard.admit(request.headers(), MCP).await {
        Ok(admitted) => admitted,
        Err(refusal) => return turn_away(refusal),
    };
    match *request.method() {
        Method::POST => {
            // Before the body: the memory of many slow ones is bounded too.
            match door.limits.begin(&admitted.caller) {
                Ok(place) => admitted.place = Some(Arc::new(place)),
                Err(too_much) => return door.hold_back(&admitted.caller, None, &too_much),
            }
            door.post(request, admitted).await
        }
        Method::GET => door.listen_unasked(request.headers(), &admitted).await,
        Method::DELETE => door.end_session(request.headers(), &admitted).await,
        _ => refuse(StatusCode::METHOD_NOT_ALLOWED, "use POST, GET or DELETE"),
    }
}

/// Says that the program is there, and no more, since the caller is unknown.
async fn healthz(State(door): State<Arc<HttpDoor>>, request: HttpRequest) -> Response {
    match door.guard.admit_probe(request.headers(), "/healthz").await {
        Ok(()) => respond(StatusCode::OK, Some(Body::from(r#"{"status":"ok"}"#))),
        Err(refusal) => turn_away(refusal),
    }
}

/// The counters, for Prometheus.
async fn metrics(State(door): State<Arc<HttpDoor>>, request: HttpRequest) -> Response {
    let caller = match door.guard.admit(request.headers(), METRICS).await {
        Ok(admitted) => admitted.caller,
        Err(refusal) => return turn_away(refusal),
    };
    // The figures name every Source. Where callers have names, not every caller may know them.
    if caller.principal.is_some() && !caller.roles.as_slice().iter().any(|role| role == ADMIN) {
        door.guard.note_caller(&caller, StatusCode::FORBIDDEN, METRICS);
        return refuse(StatusCode::FORBIDDEN, "the figures are for the role `admin`");
    }
    let mut response = Response::new(Body::from(door.server.gateway.figures()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The metadata for OAuth clients that have no token yet.
async fn metadata(State(door): State<Arc<HttpDoor>>, request: HttpRequest) -> Response {
    if let Err(refusal) = door.guard.admit_place(request.headers(), METADATA_PATH) {
        return turn_away(refusal);
    }
    let document = match &door.guard.identity {
        Identity::Signed(tokens) => tokens.metadata(),
        Identity::None | Identity::Token(_) => None,
    };
    match document {
        Some(document) => respond(StatusCode::OK, Some(Body::from(document.to_string()))),
        None => refuse(StatusCode::NOT_FOUND, "this door does not use OAuth"),
    }
}

impl HttpDoor {
    /// Tells a caller who asks too much to wait, and writes it down.
    pub(super) fn hold_back(
        &self,
        caller: &Caller,
        id: Option<&Json>,
        too_much: &TooMuch,
    ) -> Response {
        self.note_held_back(caller);
        slow_down(id, too_much)
    }

    fn note_held_back(&self, caller: &Caller) {
        self.guard.note_caller(caller, StatusCode::TOO_MANY_REQUESTS, MCP);
    }

    async fn post(self: Arc<Self>, request: HttpRequest, mut admitted: Admitted) -> Response {
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
        let body = match self.body_of(body, &mut admitted).await {
            Ok(body) => body,
            Err(response) => return response,
        };
        match wire::parse_batch(&body) {
            Some(batch) => self.post_batch(&head.headers, &admitted, batch).await,
            None => self.post_one(&head.headers, admitted, body).await,
        }
    }

    /// Reads the body of a request, if it comes in time, is not too long and there is room for it.
    pub(super) async fn body_of(
        &self,
        body: Body,
        admitted: &mut Admitted,
    ) -> Result<Bytes, Response> {
        let (body, held) = match self.room.read(body, &self.server.bounds).await {
            Ok(read) => read,
            Err(unread) => return Err(self.without_body(&unread)),
        };
        admitted.held = Some(Arc::new(held));
        Ok(body)
    }

    fn without_body(&self, unread: &Unread) -> Response {
        match unread {
            Unread::TooLate => {
                refuse(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")
            }
            Unread::CutOff => refuse(StatusCode::BAD_REQUEST, "the request was cut off"),
            Unread::TooLong => {
                let most = self.server.bounds.request_bytes;
                let why = format!("the request is larger than {most} bytes");
                turn_away(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why))
            }
            Unread::NoRoom => {
                debug!(most = self.server.bounds.body_bytes, "no room for another body");
                let why = "there is no room for so large a request now";
                no_room(&TooMuch { why, retry_after: ROOM_WAIT })
            }
        }
    }

    async fn post_one(
        self: Arc<Self>,
        headers: &HeaderMap,
        admitted: Admitted,
        body: Bytes,
    ) -> Response {
        match wire::parse_request(&body, self.server.bounds.json_depth) {
            Ok(Message::Request(request)) => {
                if let Err(too_much) = self.limits.spend(&admitted.caller) {
                    return self.hold_back(&admitted.caller, Some(&request.id), &too_much);
                }
                let meta = meta_of(request.params.as_ref());
                if headers::is_modern(headers, meta.as_ref()) {
                    return self.answer_modern(headers, admitted, request, meta).await;
                }
                self.answer_legacy(headers, &admitted, request).await
            }
            Ok(message) => {
                match self.session(headers, &admitted) {
                    Ok(session) => session.session.hear(&self.server, message),
                    Err(why) if headers.contains_key(headers::SESSION) => return absent(why),
                    Err(_) => {}
                }
                respond(StatusCode::ACCEPTED, None)
            }
            Err(bad) => {
                let (id, error) = bad.answer();
                bad_request(id.as_ref(), &error)
            }
        }
    }

    /// Batches exist in 2025-03-26 only; each part is answered as if it came alone.
    async fn post_batch(
        self: Arc<Self>,
        headers: &HeaderMap,
        admitted: &Admitted,
        batch: Vec<Bytes>,
    ) -> Response {
        let session = match self.session(headers, admitted) {
            Ok(session) if takes_batch(Some(&session.session), batch.len()) => session,
            Err(Absent::NoRoom) => return absent(Absent::NoRoom),
            Ok(_) | Err(Absent::Unknown) => return bad_request(None, &wire::no_batch()),
        };
        let mut answers: Vec<Bytes> = Vec::new();
        for part in batch {
            match wire::parse_request(&part, self.server.bounds.json_depth) {
                Ok(Message::Request(request)) => {
                    let id = request.id.clone();
                    let asking = session.session.asking(&self.server, &request, &admitted.caller);
                    let outcome = match self.limits.spend(&admitted.caller) {
                        Ok(()) => session.answer(&self.server, request, &asking, None).await,
                        Err(too_much) => {
                            self.note_held_back(&admitted.caller);
                            Err(too_much_error(&too_much))
                        }
                    };
                    answers.push(wire::response(&id, &outcome));
                }
                Ok(message) => session.session.hear(&self.server, message),
                Err(bad) => {
                    let (id, error) = bad.answer();
                    answers.push(wire::error_response(id.as_ref(), &error));
                }
            }
        }
        if answers.is_empty() {
            return respond(StatusCode::ACCEPTED, None);
        }
        respond(StatusCode::OK, Some(Body::from(wire::batch(&answers))))
    }

    async fn answer_modern(
        self: Arc<Self>,
        headers: &HeaderMap,
        admitted: Admitted,
        request: Request,
        meta: Option<Json>,
    ) -> Response {
        let asking = match headers::check(headers, &request, meta, admitted.caller) {
            Ok(asking) => asking,
            Err(error) => return bad_request(Some(&request.id), &error),
        };
        if request.method == "subscriptions/listen" {
            return self.listen_modern(request, asking, (admitted.until, admitted.held));
        }
        let place = (admitted.place, admitted.held);
        if request.method == "tools/call"
            && let Err(error) = self.check_arguments(headers, &request).await
        {
            return bad_request(Some(&request.id), &error);
        }
        if asking.wants_notices() && accepts_events(headers) {
            let door = self.clone();
            return stream_answer(request.id.clone(), asking.clone(), move |notices| async move {
                let _place = place;
                door.server.answer(&request.method, request.params, &asking, notices).await
            });
        }
        let outcome = self.server.answer(&request.method, request.params, &asking, None).await;
        respond(status_of(&outcome), Some(answer(&request.id, &outcome)))
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

    async fn answer_legacy(
        self: Arc<Self>,
        headers: &HeaderMap,
        admitted: &Admitted,
        request: Request,
    ) -> Response {
        if request.method == "initialize" {
            return self.initialize(request, admitted).await;
        }
        let session = match self.session(headers, admitted) {
            Ok(session) => session,
            Err(why) if headers.contains_key(headers::SESSION) => return absent(why),
            Err(_) => {
                let why = "Mcp-Session-Id is missing; send `initialize` first";
                return refuse(StatusCode::BAD_REQUEST, why);
            }
        };
        if let Err(error) = headers::check_version(headers) {
            return bad_request(Some(&request.id), &error);
        }
        let asking = session.session.asking(&self.server, &request, &admitted.caller);
        let id = request.id.clone();
        let has_effects = self.server.has_effects(&request);
        let (door, about) = (self.clone(), asking.clone());
        let place = (admitted.place.clone(), admitted.held.clone());
        let work = move |notices| async move {
            let work = async move {
                let _place = place;
                session.answer(&door.server, request, &about, notices).await
            };
            // In these eras a client that hangs up has not cancelled its request. Work with
            // effects is finished without a listener.
            if has_effects { finish(work).await } else { work.await }
        };
        if asking.wants_notices() && accepts_events(headers) {
            return stream_answer(id, asking, work);
        }
        let outcome = work(None).await;
        respond(StatusCode::OK, Some(answer(&id, &outcome)))
    }

    async fn initialize(self: Arc<Self>, request: Request, admitted: &Admitted) -> Response {
        let params = request.params.as_ref();
        let (id, result) = match self.sessions.begin(&self.server, params, &admitted.caller) {
            Ok(begun) => begun,
            Err(why) => return absent(why),
        };
        let mut response = respond(StatusCode::OK, Some(answer(&request.id, &Ok(result.into()))));
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(headers::SESSION, id);
        }
        response
    }

    /// The session a request names, if it is the caller's own: to anybody else there is
    /// no such session.
    fn session(
        &self,
        headers: &HeaderMap,
        admitted: &Admitted,
    ) -> Result<Arc<HttpSession>, Absent> {
        let Some(id) = headers::text(headers, headers::SESSION) else {
            return Err(Absent::Unknown);
        };
        self.sessions.find(&self.server, id, &admitted.caller)
    }

    async fn end_session(&self, headers: &HeaderMap, admitted: &Admitted) -> Response {
        if !headers.contains_key(headers::SESSION) {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "there is no session to end");
        }
        match self.session(headers, admitted) {
            Ok(session) => {
                self.sessions.end(&self.server, &session).await;
                respond(StatusCode::NO_CONTENT, None)
            }
            Err(why) => absent(why),
        }
    }

    /// The stream on which a legacy client hears what it did not ask for.
    async fn listen_unasked(&self, headers: &HeaderMap, admitted: &Admitted) -> Response {
        if !headers.contains_key(headers::SESSION) {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "listening needs a session");
        }
        let session = match self.session(headers, admitted) {
            Ok(session) => session,
            Err(why) => return absent(why),
        };
        let place = match self.limits.listen(&admitted.caller) {
            Ok(place) => place,
            Err(too_much) => return self.hold_back(&admitted.caller, None, &too_much),
        };
        let Some((receiver, taken_over)) = session.listen().await else {
            return refuse(StatusCode::CONFLICT, "this session is listening already");
        };
        let messages = stream::unfold((receiver, session), |(mut receiver, session)| async move {
            let message = receiver.recv().await?;
            Some((message, (receiver, session)))
        });
        let messages = messages.take_until(taken_over.cancelled_owned());
        let messages = messages.take_until(over(admitted.until));
        let messages = messages.inspect(move |_| drop_later(&place));
        let messages = messages.map(|message| sse::encode(&message));
        let first = stream::iter([sse::encode_retry(RECONNECT)]);
        encoded_events(first.chain(messages), self.stop.clone())
    }

    fn listen_modern(
        self: Arc<Self>,
        request: Request,
        asking: Asking,
        (token_ends, held): (Option<Instant>, Option<Arc<Held>>),
    ) -> Response {
        let place = match self.limits.listen(&asking.caller) {
            Ok(place) => place,
            Err(too_much) => {
                return self.hold_back(&asking.caller, Some(&request.id), &too_much);
            }
        };
        let (out, messages) = mpsc::channel(MAX_UNHEARD);
        // The task ends when the client hangs up, which closes the channel, or with us.
        tokio::spawn(async move {
            let end = async {
                tokio::select! {
                    () = self.stop.cancelled() => Ended::ByUs,
                    () = over(token_ends) => Ended::ByUs,
                }
            };
            listen(&self.server, &asking.caller, &request, out, end).await;
            drop(held);
        });
        let messages = stream::unfold(messages, |mut messages| async move {
            Some((messages.recv().await?, messages))
        });
        // The last message is that we stop, so the stream ends by itself.
        events(messages.inspect(move |_| drop_later(&place)), CancellationToken::new())
    }
}

/// The place of a stream is held by its messages, and free when they are dropped.
pub(super) fn drop_later(_place: &Place) {}

/// Ends with the token that opened a stream: a caller who may no longer ask may no longer listen.
pub(super) async fn over(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Does the work while passing on what is said about it; the answer comes last. All of
/// it lives in the body, so that a client that hangs up cancels the work.
fn stream_answer<F>(
    id: Json,
    asking: Asking,
    work: impl FnOnce(Option<mpsc::Sender<Notice>>) -> F + Send + 'static,
) -> Response
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let (out, mut messages) = mpsc::channel(MAX_NOTICES);
    let answer = async move {
        let outcome = telling(&asking, &out, work).await;
        // A client that hung up has dropped this work too.
        let _ = out.send(wire::response(&id, &outcome)).await;
    };
    let answer = stream::once(answer).filter_map(|()| std::future::ready(None));
    let messages = stream::poll_fn(move |context| messages.poll_recv(context));
    let events = stream::select(messages, answer).map(|message| sse::encode(&message));
    event_response(Body::from_stream(events.map(Ok::<Bytes, Infallible>)))
}

/// Does the work to its end, even if its caller no longer waits for it.
async fn finish(work: impl Future<Output = Outcome> + Send + 'static) -> Outcome {
    let failed =
        |_| Err(RpcError::new(code::INTERNAL_ERROR, "the request failed inside the gateway"));
    tokio::spawn(work).await.unwrap_or_else(failed)
}

fn absent(why: Absent) -> Response {
    match why {
        Absent::Unknown => {
            refuse(StatusCode::NOT_FOUND, "no such session; send `initialize` again")
        }
        Absent::NoRoom => {
            refuse(StatusCode::SERVICE_UNAVAILABLE, "too many sessions; try again later")
        }
    }
}

fn accepts_events(headers: &HeaderMap) -> bool {
    headers::text(headers, header::ACCEPT.as_str())
        .is_some_and(|accept| accept.contains("text/event-stream"))
}

/// The HTTP status of a modern answer.
fn status_of(outcome: &Outcome) -> StatusCode {
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
