//! The door for clients that only know HTTP with SSE, the transport of 2024-11-05.
//!
//! `GET /sse` opens a stream, whose first event says where to post. Answers to what is posted
//! there come on the stream. The door is off unless the configuration opens it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock},
};

use axum::{
    Router,
    body::Body,
    extract::{Request as HttpRequest, State},
    response::Response,
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use tokio::{sync::mpsc, task::JoinSet};
use trove_core::Caller;

use super::{
    exchange::{Session, answered, telling},
    guard::Admitted,
    http::{HttpDoor, drop_later, over},
    responses::{refuse, respond, turn_away},
    sessions::MAX_UNHEARD,
    streams::encoded_events,
};
use crate::{
    sse,
    wire::{self, Message, Outcome, Request, RpcError, code},
};

/// Where the stream is opened, and where its client posts.
const SSE: &str = "/sse";
const MESSAGES: &str = "/messages";
/// The argument by which a post names its stream, e.g. `/messages?sessionId=3f2a`.
const STREAM_ID: &str = "sessionId=";

/// The streams of this door, by id.
#[derive(Default)]
pub(super) struct Streams(RwLock<HashMap<String, Arc<Client>>>);

/// A client with an open stream.
struct Client {
    caller: Caller,
    /// Leads to its stream, as long as that is open.
    out: mpsc::Sender<Bytes>,
    /// Begun with `initialize`.
    session: OnceLock<Session>,
    /// The requests under way.
    tasks: Mutex<JoinSet<()>>,
}

/// The routes of this door.
pub(super) fn routes() -> Router<Arc<HttpDoor>> {
    Router::new().route(SSE, get(open)).route(MESSAGES, post(take))
}

/// Opens a stream.
async fn open(State(door): State<Arc<HttpDoor>>, request: HttpRequest) -> Response {
    let admitted = match door.guard.admit(request.headers(), SSE).await {
        Ok(admitted) => admitted,
        Err(refusal) => return turn_away(refusal),
    };
    let place = match door.limits.listen(&admitted.caller) {
        Ok(place) => place,
        Err(too_much) => return door.hold_back(&admitted.caller, None, &too_much),
    };
    let (out, messages) = mpsc::channel(MAX_UNHEARD);
    let Some(id) = door.streams.admit(&admitted, out.clone(), door.server.bounds.sessions) else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many streams; try again later");
    };
    let first = sse::encode_named("endpoint", format!("{MESSAGES}?{STREAM_ID}{id}").as_bytes());
    let (owner, stop) = (door.clone(), door.stop.clone());
    // The task ends when the client hangs up, which closes the channel, or with us.
    tokio::spawn(async move {
        tokio::select! {
            () = out.closed() => {}
            () = owner.stop.cancelled() => {}
        }
        owner.streams.end(&owner, &id).await;
    });
    let messages =
        stream::unfold(
            messages,
            |mut messages| async move { Some((messages.recv().await?, messages)) },
        );
    let messages = messages.take_until(over(admitted.until));
    let messages = messages.inspect(move |_| drop_later(&place));
    let messages = messages.map(|message| sse::encode(&message));
    encoded_events(stream::iter([first]).chain(messages), stop)
}

/// Takes one message of a client; the answer comes on its stream.
async fn take(State(door): State<Arc<HttpDoor>>, request: HttpRequest) -> Response {
    let mut admitted = match door.guard.admit(request.headers(), MESSAGES).await {
        Ok(admitted) => admitted,
        Err(refusal) => return turn_away(refusal),
    };
    match door.limits.begin(&admitted.caller) {
        Ok(place) => admitted.place = Some(Arc::new(place)),
        Err(too_much) => return door.hold_back(&admitted.caller, None, &too_much),
    }
    let id = request.uri().query().unwrap_or_default();
    let id = id.split('&').find_map(|part| part.strip_prefix(STREAM_ID));
    let Some(client) = id.and_then(|id| door.streams.find(id, &admitted.caller)) else {
        return refuse(StatusCode::NOT_FOUND, "no such stream; open one with GET /sse");
    };
    let body = match door.body_of(request.into_body(), &mut admitted).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    match wire::parse_request(&body, door.server.bounds.json_depth) {
        Ok(Message::Request(request)) => {
            if let Err(too_much) = door.limits.spend(&admitted.caller) {
                return door.hold_back(&admitted.caller, Some(&request.id), &too_much);
            }
            client.begin(door, request, admitted);
        }
        Ok(message) => {
            if let Some(session) = client.session.get() {
                session.hear(&door.server, message);
            }
        }
        Err(bad) => {
            let (id, error) = bad.answer();
            let answer = wire::error_response(id.as_ref(), &error);
            return respond(StatusCode::BAD_REQUEST, Some(Body::from(answer)));
        }
    }
    respond(StatusCode::ACCEPTED, None)
}

impl Streams {
    /// Adds a client and gives the id of its stream; `None` if there are `most` already.
    fn admit(&self, admitted: &Admitted, out: mpsc::Sender<Bytes>, most: usize) -> Option<String> {
        let id = format!("{:032x}", rand::random::<u128>());
        let client = Client {
            caller: admitted.caller.clone(),
            out,
            session: OnceLock::new(),
            tasks: Mutex::default(),
        };
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= most {
            return None;
        }
        all.insert(id.clone(), Arc::new(client));
        Some(id)
    }

    /// The client of a stream, if it is the caller's own: an id alone proves nothing.
    fn find(&self, id: &str, caller: &Caller) -> Option<Arc<Client>> {
        let client = self.0.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()?;
        (client.caller.principal == caller.principal).then_some(client)
    }

    async fn end(&self, door: &HttpDoor, id: &str) {
        let ended = self.0.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        let Some(client) = ended else { return };
        if let Some(session) = client.session.get() {
            session.end(&door.server);
        }
        let mut tasks =
            std::mem::take(&mut *client.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }
}

impl Client {
    /// Begins to answer a request.
    fn begin(self: &Arc<Client>, door: Arc<HttpDoor>, request: Request, admitted: Admitted) {
        let client = self.clone();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let id = request.id.clone();
            let outcome = match request.method.as_str() {
                "initialize" => client.initialize(&door, &request, &admitted),
                _ => client.answer(&door, request, &admitted).await,
            };
            if let Some(answer) = answered(&id, &outcome) {
                // A client that hung up misses nothing.
                let _ = client.out.send(answer).await;
            }
        });
    }

    fn initialize(&self, door: &HttpDoor, request: &Request, admitted: &Admitted) -> Outcome {
        let (params, caller) = (request.params.as_ref(), admitted.caller.clone());
        let (session, result) = Session::meet(&door.server, params, caller, self.out.clone());
        match self.session.set(session) {
            Ok(()) => Ok(result.into()),
            Err(_) => {
                Err(RpcError::new(code::INVALID_REQUEST, "this stream is initialized already"))
            }
        }
    }

    async fn answer(&self, door: &HttpDoor, request: Request, admitted: &Admitted) -> Outcome {
        let Some(session) = self.session.get() else {
            return Err(RpcError::new(code::INVALID_REQUEST, "send `initialize` first"));
        };
        session.find_project(&door.server).await;
        let asking = session.asking(&door.server, &request, &admitted.caller);
        let work = |notices| session.answer(&door.server, request, (&asking, true), notices);
        telling(&asking, &self.out, work).await
    }
}
