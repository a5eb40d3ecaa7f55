//! The door on stdin and stdout: one client, the local user. stdout is the protocol's.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, OnceLock},
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use trove_core::{Caller, Class, Json, caller::Door};

use super::{
    Server,
    asking::{Asking, claimed_version, meta_of},
    exchange::{Session, UnderWay, answered, takes_batch, telling},
    listen::{Ended, listen},
};
use crate::{
    bounds::{MAX_LISTENS, MAX_OUTBOX},
    lines::{Line, Lines, write},
    wire::{self, Message, Request, RpcError, code},
};

/// How long requests under way may take once the client asks no more.
const FINISH: Duration = Duration::from_secs(5);

/// Serves one client until its stream ends or `stop` is cancelled.
pub async fn serve_stdio(
    server: Arc<Server>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: CancellationToken,
) {
    let (longest, most) = (server.bounds.request_bytes, server.bounds.stdio_requests);
    let (out, waiting) = mpsc::channel(MAX_OUTBOX);
    let writer = tokio::spawn(write(output, waiting));
    let client = Arc::new(Client {
        server,
        out,
        session: OnceLock::new(),
        modern: UnderWay::default(),
        places: Arc::new(Semaphore::new(most)),
        listens: Arc::new(Semaphore::new(MAX_LISTENS)),
        turn: tokio::sync::Mutex::default(),
        closing: CancellationToken::new(),
    });
    let mut tasks = JoinSet::new();
    let mut lines = Lines::new(input, longest);
    loop {
        let line = tokio::select! {
            () = stop.cancelled() => break,
            line = lines.next() => line,
        };
        match line {
            Some(Line::Text(text) | Line::Last(text)) => client.take(text, &mut tasks).await,
            Some(Line::None) => {}
            Some(Line::TooLong { .. }) => {
                let text = format!("a message may be at most {longest} bytes");
                let error = RpcError::new(code::INVALID_REQUEST, text);
                client.send(wire::error_response(None, &error)).await;
            }
            None => break,
        }
        while tasks.try_join_next().is_some() {}
    }
    // A client that pipes a request in and closes the pipe still wants the answer.
    client.closing.cancel();
    let finish = async { while tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FINISH, finish).await;
    tasks.shutdown().await;
    if let Some(session) = client.session.get() {
        session.end(&client.server);
    }
    drop(client);
    // A client that reads no more does not keep us.
    let _ = tokio::time::timeout(FINISH, writer).await;
}

/// The outcome of a message.
struct Taken {
    answer: Answer,
    /// Held until the answer is sent, so that a client that reads nothing cannot ask on.
    place: Option<OwnedSemaphorePermit>,
}

enum Answer {
    /// At once; or there is none.
    Given(Option<Bytes>),
    UnderWay(Work),
}

type Work = BoxFuture<'static, Option<Bytes>>;

impl Taken {
    fn answered(answer: Bytes) -> Taken {
        Taken { answer: Answer::Given(Some(answer)), place: None }
    }

    fn nothing() -> Taken {
        Taken { answer: Answer::Given(None), place: None }
    }
}

impl Answer {
    async fn given(self) -> Option<Bytes> {
        match self {
            Answer::Given(answer) => answer,
            Answer::UnderWay(work) => work.await,
        }
    }
}

struct Client {
    server: Arc<Server>,
    out: mpsc::Sender<Bytes>,
    /// There once the client has sent `initialize`.
    session: OnceLock<Session>,
    /// Modern requests under way, to be cancelled by id.
    modern: UnderWay,
    places: Arc<Semaphore>,
    /// Streams of changes stay open, so they have places of their own.
    listens: Arc<Semaphore>,
    /// Each request of a session holds this until it starts.
    turn: tokio::sync::Mutex<()>,
    /// Cancelled when the client asks no more: work without an end of its own ends then.
    closing: CancellationToken,
}

impl Client {
    async fn send(&self, message: Bytes) {
        // A client that is gone needs no answer.
        let _ = self.out.send(message).await;
    }

    async fn take(self: &Arc<Self>, text: Bytes, tasks: &mut JoinSet<()>) {
        if let Some(batch) = wire::parse_batch(&text) {
            if !takes_batch(self.session.get(), batch.len()) {
                let error = wire::no_batch();
                return self.send(wire::error_response(None, &error)).await;
            }
            let mut parts = Vec::with_capacity(batch.len());
            for one in batch {
                parts.push(self.take_one(one).await);
            }
            let client = self.clone();
            tasks.spawn(async move { client.answer_batch(parts).await });
            return;
        }
        let taken = self.take_one(text).await;
        match taken.answer {
            Answer::Given(Some(answer)) => self.send(answer).await,
            Answer::Given(None) => {}
            Answer::UnderWay(work) => {
                let client = self.clone();
                tasks.spawn(async move {
                    if let Some(answer) = work.await {
                        client.send(answer).await;
                    }
                    drop(taken.place);
                });
            }
        }
    }

    /// Sends the answers to a batch as one, once all are there.
    async fn answer_batch(&self, parts: Vec<Taken>) {
        let (work, places): (Vec<_>, Vec<_>) =
            parts.into_iter().map(|part| (part.answer.given(), part.place)).unzip();
        let answers = join_all(work).await;
        let answers: Vec<Bytes> = answers.into_iter().flatten().collect();
        if !answers.is_empty() {
            self.send(wire::batch(&answers)).await;
        }
        drop(places);
    }

    async fn take_one(self: &Arc<Self>, text: Bytes) -> Taken {
        match wire::parse_request(&text, self.server.bounds.json_depth) {
            Ok(Message::Request(request)) if request.method == "initialize" => {
                Taken::answered(self.initialize(request).await)
            }
            Ok(Message::Request(request)) => {
                let places = match request.method.as_str() {
                    "subscriptions/listen" => &self.listens,
                    _ => &self.places,
                };
                let Ok(place) = places.clone().try_acquire_owned() else {
                    let error = RpcError::new(
                        Class::TooManyRequests.rpc(true),
                        "too many requests at once; wait for answers",
                    );
                    return Taken::answered(wire::error_response(Some(&request.id), &error));
                };
                let client = self.clone();
                let mut work: Work = Box::pin(client.answer(request));
                // Begun here, in the order in which requests come: tasks begin in any order.
                let answer = match begin(work.as_mut()).await {
                    Poll::Ready(answer) => Answer::Given(answer),
                    Poll::Pending => Answer::UnderWay(work),
                };
                Taken { answer, place: Some(place) }
            }
            Ok(message) => {
                self.hear(message);
                Taken::nothing()
            }
            Err(bad) => {
                let (id, error) = bad.answer();
                Taken::answered(wire::error_response(id.as_ref(), &error))
            }
        }
    }

    async fn initialize(&self, request: Request) -> Bytes {
        let params = request.params.as_ref();
        let outcome = if claimed_version(meta_of(params).as_ref()).is_some() {
            Err(super::dispatch::unknown_method("initialize"))
        } else {
            let caller = Caller::behind(Door::Stdio);
            let (session, result) = Session::meet(&self.server, params, caller, self.out.clone());
            // A client that says it twice keeps the session it has.
            if let Err(second) = self.session.set(session) {
                second.end(&self.server);
            }
            Ok(result.into())
        };
        wire::response(&request.id, &outcome)
    }

    /// Takes a message that is no request.
    fn hear(&self, message: Message) {
        if let Message::Notification { method, params: Some(params) } = &message
            && method == "notifications/cancelled"
            && let Some(id) = params.get("requestId")
        {
            self.modern.cancel(&id);
        }
        if let Some(session) = self.session.get() {
            session.hear(&self.server, message);
        }
    }

    /// `None`: it was taken back, or is answered by and by.
    async fn answer(self: Arc<Self>, request: Request) -> Option<Bytes> {
        let meta = meta_of(request.params.as_ref());
        if claimed_version(meta.as_ref()).is_some() || request.method == "server/discover" {
            return self.answer_modern(request, meta).await;
        }
        let Some(session) = self.session.get() else {
            if request.method == "ping" {
                let pong = Ok(Json::empty_object().into());
                return Some(wire::response(&request.id, &pong));
            }
            let error = RpcError::new(
                code::INVALID_REQUEST,
                "send `initialize` first, or `_meta` with each request",
            );
            return Some(wire::error_response(Some(&request.id), &error));
        };
        // A request that waits for the project keeps its place before later ones.
        let turn = match request.method.as_str() {
            "ping" => None,
            _ => Some(self.turn.lock().await),
        };
        if turn.is_some() {
            session.find_project(&self.server).await;
        }
        let asking = session.asking(&self.server, &request, &session.caller);
        let id = request.id.clone();
        let mut work = pin!(telling(&asking, &self.out, |notices| {
            session.answer(&self.server, request, (&asking, true), notices)
        }));
        let begun = begin(work.as_mut()).await;
        drop(turn);
        let outcome = match begun {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => work.await,
        };
        answered(&id, &outcome)
    }

    async fn answer_modern(&self, request: Request, meta: Option<Json>) -> Option<Bytes> {
        let id = request.id.clone();
        let asking = match Asking::modern(Caller::behind(Door::Stdio), meta) {
            Ok(asking) => asking,
            Err(error) => return Some(wire::error_response(Some(&id), &error)),
        };
        if request.method == "subscriptions/listen" {
            let entry = self.modern.begin(&id);
            let end = async {
                tokio::select! {
                    () = entry.token.cancelled() => Ended::ByClient,
                    () = self.closing.cancelled() => Ended::ByUs,
                }
            };
            listen(&self.server, &asking.caller, &request, self.out.clone(), end).await;
            return None;
        }
        let work = pin!(telling(&asking, &self.out, |notices| {
            self.server.answer(&request.method, request.params.clone(), &asking, notices)
        }));
        let outcome = self.modern.run(&id, work).await;
        answered(&id, &outcome)
    }
}

/// Does the first part of some work, up to where it waits. It is not told to yield to others
/// meanwhile: later work would overtake it.
async fn begin<F: Future + ?Sized>(mut work: Pin<&mut F>) -> Poll<F::Output> {
    tokio::task::unconstrained(poll_fn(|context| Poll::Ready(work.as_mut().poll(context)))).await
}
