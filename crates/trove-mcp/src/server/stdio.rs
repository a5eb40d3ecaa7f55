//! The door on stdin and stdout: one client, the local user. stdout is the protocol's.

use std::{
    collections::HashMap,
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{OnceCell, OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use trove_core::{Caller, Class, Json, caller::Door, source::Notice};

use super::{
    Server,
    asking::{Asking, claimed_version, meta_of},
    legacy::{CANCELLED, Session},
    listen::{Ended, listen},
};
use crate::{
    bounds::{MAX_BATCH, MAX_LISTENS, MAX_NOTICES, MAX_OUTBOX},
    era::Version,
    lines::{Line, Lines, write},
    wire::{self, Message, Outcome, Request, RpcError, code},
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
        session: OnceCell::new(),
        modern: Mutex::default(),
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
        session.end(&client.server).await;
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
    session: OnceCell<Session>,
    /// Modern requests under way, to be cancelled by id.
    modern: Mutex<HashMap<Vec<u8>, CancellationToken>>,
    places: Arc<Semaphore>,
    /// Streams of changes stay open, so they have places of their own.
    listens: Arc<Semaphore>,
    /// Held by whoever of the requests of a session has not begun yet.
    turn: tokio::sync::Mutex<()>,
    /// Cancelled when the client asks no more: what never ends by itself ends then.
    closing: CancellationToken,
}

impl Client {
    async fn send(&self, message: Bytes) {
        // A client that is gone needs no answer.
        let _ = self.out.send(message).await;
    }

    async fn take(self: &Arc<Self>, text: Bytes, tasks: &mut JoinSet<()>) {
        if let Some(batch) = wire::parse_batch(&text) {
            let version = self.session.get().map(|session| session.version);
            if version != Some(Version::V2025_03_26) || batch.is_empty() || batch.len() > MAX_BATCH
            {
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
            Ok(Message::Notification { method, params }) => {
                self.take_notification(&method, params.as_ref());
                Taken::nothing()
            }
            Ok(Message::Response { id, outcome }) => {
                if let Some(session) = self.session.get() {
                    session.take_answer(&self.server, &id, outcome);
                }
                Taken::nothing()
            }
            Err(bad) => {
                let (id, error) = bad.answer();
                Taken::answered(wire::error_response(id.as_ref(), &error))
            }
        }
    }

    async fn initialize(&self, request: Request) -> Bytes {
        let meta = meta_of(request.params.as_ref());
        let outcome = if claimed_version(meta.as_ref()).is_some() {
            Err(super::dispatch::unknown_method("initialize"))
        } else {
            let params = request.params.as_ref();
            let client = client_name(params);
            let caller = Caller { client, ..Caller::behind(Door::Stdio) };
            let (version, result) = self.server.initialize(params, &caller);
            let begin = || async {
                Session::begin(&self.server, (version, params), caller, self.out.clone())
            };
            self.session.get_or_init(begin).await;
            Ok(result.into())
        };
        wire::response(&request.id, &outcome)
    }

    fn take_notification(&self, method: &str, params: Option<&Json>) {
        if let Some(session) = self.session.get() {
            session.take(method, params);
        }
        if method == "notifications/cancelled"
            && let Some(id) = params.and_then(|params| params.get("requestId"))
            && let Some(token) = self.modern().get(&id.as_bytes().to_vec())
        {
            token.cancel();
        }
    }

    /// Nothing: it was taken back, or is answered by and by.
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
        // Whoever waits for the project lets nobody pass who came later.
        let turn = match request.method.as_str() {
            "ping" => None,
            _ => Some(self.turn.lock().await),
        };
        if turn.is_some() {
            session.find_project(&self.server).await;
        }
        let asking = session.asking(&self.server, &request, &session.caller);
        let id = request.id.clone();
        let mut work = pin!(self.with_notices(&asking, |notices| {
            session.answer(&self.server, request, (&asking, true), notices)
        }));
        let begun = begin(work.as_mut()).await;
        drop(turn);
        let outcome = match begun {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => work.await,
        };
        let is_taken_back = matches!(&outcome, Err(error) if error.code == CANCELLED);
        (!is_taken_back).then(|| wire::response(&id, &outcome))
    }

    async fn answer_modern(&self, request: Request, meta: Option<Json>) -> Option<Bytes> {
        let id = request.id.clone();
        let asking = match Asking::modern(Caller::behind(Door::Stdio), meta) {
            Ok(asking) => asking,
            Err(error) => return Some(wire::error_response(Some(&id), &error)),
        };
        if request.method == "subscriptions/listen" {
            let taken_back = CancellationToken::new();
            self.modern().insert(id.as_bytes().to_vec(), taken_back.clone());
            let end = async {
                tokio::select! {
                    () = taken_back.cancelled() => Ended::ByClient,
                    () = self.closing.cancelled() => Ended::ByUs,
                }
            };
            listen(&self.server, &asking.caller, &request, self.out.clone(), end).await;
            self.modern().remove(&id.as_bytes().to_vec());
            return None;
        }
        let token = CancellationToken::new();
        self.modern().insert(id.as_bytes().to_vec(), token.clone());
        let work = self.with_notices(&asking, |notices| {
            self.server.answer(&request.method, request.params.clone(), &asking, notices)
        });
        let outcome = tokio::select! {
            biased;
            outcome = work => Some(outcome),
            () = token.cancelled() => None,
        };
        self.modern().remove(&id.as_bytes().to_vec());
        outcome.map(|outcome| wire::response(&id, &outcome))
    }

    /// Does the work and passes on what is said about it meanwhile, all before the answer.
    async fn with_notices<F>(
        &self,
        asking: &Asking,
        work: impl FnOnce(Option<mpsc::Sender<Notice>>) -> F,
    ) -> Outcome
    where
        F: Future<Output = Outcome>,
    {
        if !asking.wants_notices() {
            return work(None).await;
        }
        let (sender, mut notices) = mpsc::channel(MAX_NOTICES);
        let work = work(Some(sender));
        let pass_on = async {
            while let Some(notice) = notices.recv().await {
                if let Some(message) = asking.encode_notice(&notice) {
                    self.send(message).await;
                }
            }
        };
        // The sender goes with the work, so both end together.
        let (outcome, ()) = tokio::join!(work, pass_on);
        outcome
    }

    fn modern(&self) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, CancellationToken>> {
        self.modern.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does the first part of some work, up to where it waits. It is not told to yield to others
/// meanwhile: what comes after it would overtake it.
async fn begin<F: Future + ?Sized>(mut work: Pin<&mut F>) -> Poll<F::Output> {
    tokio::task::unconstrained(poll_fn(|context| Poll::Ready(work.as_mut().poll(context)))).await
}

/// What a legacy client calls itself.
pub(crate) fn client_name(params: Option<&Json>) -> Option<Arc<str>> {
    params?.get("clientInfo")?.get_str("name").map(Into::into)
}
