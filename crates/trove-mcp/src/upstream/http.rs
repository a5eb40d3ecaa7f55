//! Streamable HTTP: a POST for each request, answered by JSON or by a stream of events.

mod dialect;
mod refusal;
mod unasked;

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, future::BoxFuture};
use parking_lot::{Mutex, MutexGuard, RwLock};
use reqwest::{
    Client, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use trove_core::{
    SourceId,
    aside::aside,
    json::{Json, Object},
    source::{Notice, Outage, Why},
    status::Remedy,
};

use self::{
    dialect::Dialect,
    refusal::{is_expiry, refusal},
};
use super::{
    broken::{BROKEN, broken_answer},
    events::{End, Events},
    link::{Call, Inbox, Link, LinkError, notice_of, own_id},
    meter::{CutOff, Meter, Noise},
    mux::refuse_or_pong,
    oauth::Bearer,
};
use crate::{
    bounds::Bounds,
    era::Version,
    repeated,
    sse::Parser,
    wire::{self, BadMessage, Message},
};

const SESSION: HeaderName = HeaderName::from_static(repeated::SESSION);
const VERSION: HeaderName = HeaderName::from_static(repeated::VERSION);
const METHOD: HeaderName = HeaderName::from_static(repeated::METHOD);
const NAME: HeaderName = HeaderName::from_static(repeated::NAME);
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How long we wait before we go on with a stream, unless the server says. Its wish is kept between
/// the least and the most.
const USUAL_RETRY: Duration = Duration::from_secs(1);
const LEAST_RETRY: Duration = Duration::from_millis(20);
const MAX_RETRY: Duration = Duration::from_secs(10);

/// How long a server may take to take our answer to a question of its own.
const MAX_REPLY: Duration = Duration::from_secs(5);
/// How much of a refusal's body is kept to explain it.
const MAX_REFUSAL_BYTES: usize = 4096;
/// How long telling a server may take that something is over.
const MAX_FAREWELL: Duration = Duration::from_secs(1);
const CANCELLED: &str = "notifications/cancelled";
const DISCOVER: &str = "server/discover";

pub(crate) struct HttpLink {
    shared: Arc<Shared>,
    /// The stream on which a legacy server speaks unasked.
    unasked: OnceLock<tokio::task::JoinHandle<()>>,
}

struct Shared {
    source: SourceId,
    client: Client,
    url: String,
    headers: HeaderMap,
    session: RwLock<Option<HeaderValue>>,
    version: OnceLock<&'static str>,
    inbox: Arc<Inbox>,
    closed: CancellationToken,
    /// The server has forgotten us.
    has_expired: AtomicBool,
    /// Unasked messages of a legacy server do not reach us now.
    is_deaf: AtomicBool,
    dialect: Dialect,
    places: Semaphore,
    most: usize,
    longest: usize,
    bearer: Option<Bearer>,
    /// The listeners to notices of requests under way.
    notices: Mutex<HashMap<u64, mpsc::Sender<Notice>>>,
}

impl HttpLink {
    pub(crate) fn new(
        source: &SourceId,
        client: Client,
        url: String,
        headers: HeaderMap,
        inbox: Arc<Inbox>,
        bounds: &Bounds,
        bearer: Option<Bearer>,
    ) -> HttpLink {
        let shared = Shared {
            source: source.clone(),
            client,
            url,
            headers,
            session: RwLock::default(),
            version: OnceLock::new(),
            inbox,
            closed: CancellationToken::new(),
            has_expired: AtomicBool::new(false),
            is_deaf: AtomicBool::new(false),
            dialect: Dialect::default(),
            places: Semaphore::new(bounds.waiting),
            most: bounds.waiting,
            longest: bounds.message_bytes,
            bearer,
            notices: Mutex::default(),
        };
        HttpLink { shared: Arc::new(shared), unasked: OnceLock::new() }
    }

    /// Listens to what a legacy server says unasked. One that refuses has nothing to say.
    fn listen_unasked(&self) {
        self.shared.is_deaf.store(true, Ordering::Release);
        let shared = self.shared.clone();
        let task = tokio::spawn(async move { shared.run_unasked().await });
        if let Err(second) = self.unasked.set(task) {
            second.abort();
        }
    }
}

impl Link for HttpLink {
    fn request<'a>(&'a self, call: Call) -> BoxFuture<'a, Result<Json, LinkError>> {
        Box::pin(async move {
            let mut guard = CancelOnDrop { shared: &self.shared, id: call.id, is_answered: false };
            if let Some(notices) = &call.notices {
                self.shared.notices().insert(call.id, notices.clone());
            }
            let outcome = self.shared.request(call).await;
            guard.is_answered = true;
            outcome
        })
    }

    fn notify<'a>(
        &'a self,
        method: &'static str,
        params: Option<String>,
    ) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            let body = wire::notification(method, params.as_deref());
            self.shared.post(method, Vec::new(), body).await.map(|_| ())
        })
    }

    fn agreed(&self, version: &'static str) {
        let _ = self.shared.version.set(version);
        if !self.shared.is_modern() {
            self.listen_unasked();
        }
    }

    fn closed(&self) -> &CancellationToken {
        &self.shared.closed
    }

    fn has_expired(&self) -> Option<bool> {
        Some(self.shared.has_expired.load(Ordering::Acquire))
    }

    fn hears(&self) -> bool {
        !self.shared.is_deaf.load(Ordering::Acquire)
    }

    fn speaks_otherwise(&self) -> bool {
        self.shared.dialect.has_changed()
    }

    fn close<'a>(&'a self) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.shared.closed.cancel();
            if let Some(task) = self.unasked.get() {
                task.abort();
            }
            if self.shared.session().is_some() {
                let headers = self.shared.common_headers().await;
                let request = self.shared.client.delete(&self.shared.url).headers(headers);
                // A server that does not want to hear of it forgets the session by itself.
                let _ = tokio::time::timeout(MAX_FAREWELL, request.send()).await;
            }
        })
    }
}

/// Tells a legacy server when the caller has gone. A modern one sees it by the connection, which to
/// a legacy one means nothing.
struct CancelOnDrop<'a> {
    shared: &'a Arc<Shared>,
    id: u64,
    is_answered: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.shared.notices().remove(&self.id);
        if self.is_answered || self.shared.is_modern() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let shared = self.shared.clone();
        let params = format!("{{\"requestId\":{},\"reason\":\"no longer wanted\"}}", self.id);
        let body = wire::notification(CANCELLED, Some(&params));
        // The caller is gone, so the request ends by itself.
        runtime.spawn(async move {
            let told = shared.post(CANCELLED, Vec::new(), body);
            let _ = tokio::time::timeout(MAX_FAREWELL, told).await;
        });
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        if let Some(task) = self.unasked.get() {
            task.abort();
        }
    }
}

impl Shared {
    fn session(&self) -> Option<HeaderValue> {
        self.session.read().clone()
    }

    fn is_modern(&self) -> bool {
        self.version.get().is_none_or(|v| *v == Version::MODERN.as_str())
    }

    async fn common_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(bearer) = &self.bearer
            && let Some(token) = bearer.header().await
        {
            headers.insert(AUTHORIZATION, token);
        }
        if let Some(version) = self.version.get() {
            headers.insert(VERSION, HeaderValue::from_static(version));
        }
        if let Some(session) = self.session() {
            headers.insert(SESSION, session);
        }
        headers
    }

    async fn post(
        &self,
        method: &'static str,
        repeated: Vec<(HeaderName, String)>,
        body: Bytes,
    ) -> Result<Response, LinkError> {
        let mut headers = self.common_headers().await;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if method == DISCOVER {
            // Asked of a server that was met in the old way, it says nothing of that.
            headers.remove(SESSION);
            headers.remove(VERSION);
        }
        if method == DISCOVER || self.is_modern() && method != "initialize" {
            headers.entry(VERSION).or_insert(HeaderValue::from_static(Version::MODERN.as_str()));
            headers.insert(METHOD, HeaderValue::from_static(method));
            for (header, text) in repeated {
                if let Ok(value) = HeaderValue::from_str(&repeated::encode(&text)) {
                    headers.insert(header, value);
                }
            }
        }
        let mut response = self.send(headers.clone(), body.clone()).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            // It may only have ended a moment ago.
            let refused = headers.get(AUTHORIZATION).cloned();
            let renewed = match &self.bearer {
                Some(bearer) => bearer.after_refusal(refused.as_ref()).await,
                None => None,
            };
            if let Some(token) = renewed {
                headers.insert(AUTHORIZATION, token);
                response = self.send(headers, body).await?;
            }
        }
        if response.status() == StatusCode::UNAUTHORIZED {
            return Err(unauthorized(&self.source, self.headers.contains_key(AUTHORIZATION)));
        }
        if let Some(session) = response.headers().get(SESSION) {
            *self.session.write() = Some(session.clone());
        }
        Ok(response)
    }

    async fn send(&self, headers: HeaderMap, body: Bytes) -> Result<Response, LinkError> {
        let sent = self.client.post(&self.url).headers(headers).body(body).send().await;
        sent.map_err(|error| {
            if error.is_connect() {
                // No server listens there any more: its life begins anew, and says so.
                self.closed.cancel();
            }
            unreachable(&error)
        })
    }

    async fn request(&self, call: Call) -> Result<Json, LinkError> {
        let method = call.method;
        match self.exchange(call).await {
            Err(error) if self.has_changed_era(method, &error).await => Err(self.forgotten()),
            outcome => outcome,
        }
    }

    /// The server has forgotten our session, in words of its own: its life begins anew.
    fn forgotten(&self) -> LinkError {
        self.has_expired.store(true, Ordering::Release);
        self.closed.cancel();
        LinkError::Forgotten
    }

    /// Sends one request and takes in its answer.
    async fn exchange(&self, call: Call) -> Result<Json, LinkError> {
        let body = wire::request(call.id, call.method, &call.params);
        // Streams of changes stay open for ever and wait for nothing.
        let _place = match call.method {
            "subscriptions/listen" => None,
            _ => Some(self.places.try_acquire().map_err(|_| LinkError::Busy(self.most))?),
        };
        let repeated = if self.is_modern() { repeated_of(&call) } else { Vec::new() };
        self.inbox.meter.note_request();
        let response = self.post(call.method, repeated, body).await?;
        let status = response.status();
        let moved_to = response.headers().get(LOCATION).cloned();
        if is_event_stream(&response) && status.is_success() {
            return self.answer_in_stream(response, &call).await;
        }
        let limit = if status.is_success() { self.longest } else { MAX_REFUSAL_BYTES };
        let body = match read_body(response, limit, &self.inbox.meter).await {
            Err(LinkError::TooLarge(_)) if !status.is_success() => Bytes::new(),
            other => other?,
        };
        let is_of_session = self.session().is_some() && call.method != DISCOVER;
        if is_of_session && is_expiry(status, &body, call.id) {
            return Err(self.forgotten());
        }
        match self.answer_among(&body, &call).await {
            // A refusal may have no id to repeat; an answer must repeat ours.
            Ok(Message::Response { outcome: Err(error), .. }) => Err(LinkError::Rpc(error)),
            Ok(Message::Response { id, outcome: Ok(result) }) if own_id(&id) == Some(call.id) => {
                Ok(result)
            }
            Ok(_) | Err(_) if status.is_success() => Err(LinkError::Malformed(BROKEN.to_owned())),
            Ok(_) | Err(_) => Err(refusal(status, moved_to.as_ref(), &body)),
        }
    }

    /// Reads events until the one that answers; all others are handed on in order. A legacy server
    /// may hang up before and go on where it was when it is asked again.
    async fn answer_in_stream(&self, response: Response, call: &Call) -> Result<Json, LinkError> {
        let mut parser = Parser::new(self.longest);
        let mut stream = response;
        loop {
            let chunks = stream.bytes_stream();
            if let Some(outcome) = self.answer_in(chunks, &mut parser, call).await {
                return outcome;
            }
            if parser.last_id.is_none() || self.is_modern() {
                return Err(LinkError::Lost);
            }
            // The caller's timeout sets the limit.
            let pause = parser.retry.unwrap_or(USUAL_RETRY);
            tokio::time::sleep(pause.clamp(LEAST_RETRY, MAX_RETRY)).await;
            parser = parser.anew();
            let going_on = self.open_unasked(parser.last_id.as_deref()).await;
            stream = going_on.ok_or(LinkError::Lost)?;
        }
    }

    /// The answer, if it is in this stream.
    async fn answer_in<E>(
        &self,
        chunks: impl Stream<Item = Result<Bytes, E>> + Unpin,
        parser: &mut Parser,
        call: &Call,
    ) -> Option<Result<Json, LinkError>> {
        let mut events = Events::new(chunks, parser, self.inbox.meter.clone());
        loop {
            let event = match events.next().await {
                Ok(event) => event,
                Err(End::Over) => return None,
                Err(End::TooLong) => return Some(Err(LinkError::TooLarge(self.longest))),
                Err(End::CutOff) => return Some(Err(LinkError::Lost)),
            };
            let bytes = event.data.len();
            let taken = match self.answer_among(&event.data, call).await {
                Ok(Message::Response { id, outcome }) if own_id(&id) == Some(call.id) => {
                    return Some(outcome.map_err(LinkError::Rpc));
                }
                Ok(message) => self.take(message, Some(call), bytes).await,
                Err(_) if broken_answer(&event.data) == Some(call.id) => {
                    return Some(Err(LinkError::Malformed(BROKEN.to_owned())));
                }
                Err(_) => {
                    debug!(source = %self.source, "an event that is no message; skipped");
                    self.inbox.meter.message(Noise::NoMessages, bytes).await
                }
            };
            if taken.is_err() {
                return Some(Err(LinkError::Lost));
            }
        }
    }

    /// The message, or of a batch the answer to this request; the others are handed on.
    async fn answer_among(&self, text: &Bytes, call: &Call) -> Result<Message, BadMessage> {
        let Some(batch) = aside(text.len(), || wire::parse_batch(text)) else {
            return aside(text.len(), || wire::parse(text));
        };
        let mut answer = Err(BadMessage::NotRpc { id: None });
        for part in batch {
            let taken = match aside(part.len(), || wire::parse(&part)) {
                Ok(Message::Response { id, outcome }) if own_id(&id) == Some(call.id) => {
                    answer = Ok(Message::Response { id, outcome });
                    Ok(())
                }
                Ok(message) => self.take(message, Some(call), part.len()).await,
                Err(_) => {
                    debug!(source = %self.source, "a part of a batch that is no message; skipped");
                    self.inbox.meter.message(Noise::NoMessages, part.len()).await
                }
            };
            if taken.is_err() {
                break;
            }
        }
        answer
    }

    /// Takes a message of so many bytes that is not the answer to the request of this stream, and
    /// pays for it.
    async fn take(
        &self,
        message: Message,
        call: Option<&Call>,
        bytes: usize,
    ) -> Result<(), CutOff> {
        let noise = match message {
            Message::Notification { method, params } => {
                self.take_notification(&method, params.as_ref(), call).await
            }
            Message::Request(request) => {
                let reply = wire::response(&request.id, &refuse_or_pong(&request.method));
                let post = self.post("response", Vec::new(), reply);
                // A server that does not take the answer waits by itself.
                let _ = tokio::time::timeout(MAX_REPLY, post).await;
                Noise::Requests
            }
            Message::Response { .. } => {
                debug!(source = %self.source, "an answer nobody asked for");
                Noise::Answers
            }
        };
        self.inbox.meter.message(noise, bytes).await
    }

    async fn take_notification(
        &self,
        method: &str,
        params: Option<&Json>,
        call: Option<&Call>,
    ) -> Noise {
        let params = params.map(|params| self.inbox.masked(method, params));
        let params = params.as_ref();
        let notice = params.and_then(|params| notice_of(method, params));
        let Some((id, notice)) = notice else {
            self.inbox.take(method, params).await;
            return Noise::Notifications;
        };
        // Its token names the request, on any stream. Without one it belongs to the request of this
        // stream.
        let owner = id.or_else(|| call.map(|call| call.id));
        let wanted = owner.and_then(|owner| self.notices().get(&owner).cloned());
        if let Some(wanted) = wanted {
            // A client that does not keep up loses notices, not the answer.
            let _ = wanted.try_send(notice);
            return Noise::Notices;
        }
        if id.is_none() {
            self.inbox.take(method, params).await;
        }
        Noise::Notifications
    }

    fn notices(&self) -> MutexGuard<'_, HashMap<u64, mpsc::Sender<Notice>>> {
        self.notices.lock()
    }
}

/// The error of a server that does not know us, or does not believe us.
pub(crate) fn unauthorized(source: &SourceId, has_header: bool) -> LinkError {
    LinkError::Unauthorized(if has_header {
        let told = format!(
            "the server does not take the `Authorization` header of [servers.{source}]; correct it"
        );
        Outage::new(Why::NotBelieved, told)
    } else {
        let command = Remedy::LogIn.command(source, "");
        let outage = Outage::new(Why::AsksWho, "the server asks who you are");
        Outage { command: Some(command), ..outage }
    })
}

/// Reads a whole body, no longer than the limit.
pub(crate) async fn read_body(
    response: Response,
    limit: usize,
    meter: &Meter,
) -> Result<Bytes, LinkError> {
    let mut body = BytesMut::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| LinkError::Lost)?;
        if body.len() + chunk.len() > limit {
            return Err(LinkError::TooLarge(limit));
        }
        body.extend_from_slice(&chunk);
        meter.asked(chunk.len()).await;
    }
    Ok(body.freeze())
}

pub(crate) fn is_event_stream(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|value| {
        value.as_bytes().to_ascii_lowercase().starts_with(b"text/event-stream")
    })
}

/// The failure of a connection, without the URL, which may carry a secret.
pub(crate) fn unreachable(error: &reqwest::Error) -> LinkError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let what = if error.is_connect() { "cannot connect" } else { "the request failed" };
    LinkError::unreachable(format!("{what}: {cause}"))
}

/// The headers in which a modern request repeats its subject, and the arguments that its tool
/// marks.
fn repeated_of(call: &Call) -> Vec<(HeaderName, String)> {
    let Some(params) = Object::parse(&call.params) else { return Vec::new() };
    let name = params.get_str("uri").or_else(|| params.get_str("name"));
    let mut all: Vec<(HeaderName, String)> =
        name.map(|name| (NAME, name.into_owned())).into_iter().collect();
    if !call.repeated.is_empty() {
        let arguments = params.get("arguments").and_then(|text| serde_json::from_str(text).ok());
        let arguments: serde_json::Value = arguments.unwrap_or_default();
        all.extend(call.repeated.iter().filter_map(|one| {
            Some((HeaderName::try_from(one.header.as_str()).ok()?, one.value(&arguments)?))
        }));
    }
    all
}

#[cfg(test)]
pub(crate) mod peer;
#[cfg(test)]
mod tests;
