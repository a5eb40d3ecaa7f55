//! A client that met us with `initialize`: its agreements, and the resources it watches.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    pin::pin,
    sync::{Arc, atomic::Ordering},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::{sync::mpsc, task::JoinHandle};
use trove_core::{Caller, Json, PublicUri, resource::ListsChanged, source::Notice};

use super::{
    super::{
        Server,
        asking::{Asking, level, level_name, meta_of, required},
        encode,
        listen::Interest,
        measure::timed,
        questions::Questions,
        roots::Roots,
        session_notes::Note,
    },
    UnderWay, client_name,
};
use crate::{
    era::Version,
    seal::Ticket,
    wire::{self, Message, Outcome, Request, RpcError, code},
};

/// The notification that the list of resources is another one.
const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";

/// The outcome of `initialize`: what was agreed on, and what the client said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Greeting {
    #[serde(with = "version_name")]
    pub(crate) version: Version,
    client: Option<String>,
    /// The client can be asked for the folders it works in.
    has_roots: bool,
    /// A person can be asked through the client.
    asks_person: bool,
}

mod version_name {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::era::Version;

    pub(super) fn serialize<S: Serializer>(version: &Version, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(version.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Version, D::Error> {
        let name = String::deserialize(from)?;
        Version::parse(&name).ok_or_else(|| D::Error::custom("an unknown version"))
    }
}

impl Greeting {
    /// Answers `initialize`.
    pub(crate) fn of(server: &Server, params: Option<&Json>, caller: &Caller) -> (Greeting, Json) {
        let client = client_name(params);
        let caller = Caller { client: client.as_deref().map(Into::into), ..caller.clone() };
        let (version, result) = server.initialize(params, &caller);
        let has_roots = Roots::are_offered(params);
        let asks_person = Questions::are_offered(params);
        (Greeting { version, client, has_roots, asks_person }, result)
    }
}

/// One client of a legacy era.
pub(crate) struct Session {
    pub(crate) version: Version,
    /// The client as a caller, but for the project, which follows its roots.
    pub(crate) caller: Caller,
    roots: Roots,
    questions: Questions,
    /// The pump holds the stream open, and ends with the session.
    out: mpsc::WeakSender<Bytes>,
    interest: Arc<Interest>,
    under_way: UnderWay,
    lanes: Lanes,
    pump: JoinHandle<()>,
    /// Names it in the notes; `None` if it ends with its connection.
    ticket: Option<Ticket>,
    /// Takes up what it watched before; there once it was resumed.
    taking_up: Option<JoinHandle<()>>,
}

impl Session {
    /// Answers `initialize` and begins a session that ends with its connection. Messages that the
    /// client did not ask for go to `out`.
    pub(crate) fn meet(
        server: &Arc<Server>,
        params: Option<&Json>,
        caller: Caller,
        out: mpsc::Sender<Bytes>,
    ) -> (Session, Json) {
        let (greeting, result) = Greeting::of(server, params, &caller);
        (Session::begin(server, &greeting, caller, out), result)
    }

    /// Begins a session after the greeting.
    pub(crate) fn begin(
        server: &Arc<Server>,
        greeting: &Greeting,
        caller: Caller,
        out: mpsc::Sender<Bytes>,
    ) -> Session {
        let caller = Caller { client: greeting.client.as_deref().map(Into::into), ..caller };
        let roots = Roots::new(greeting.has_roots, out.downgrade());
        let questions = Questions::new(greeting.asks_person, out.downgrade());
        let (gateway, most) = (server.gateway.clone(), server.bounds.watches_per_client);
        let changes = gateway.changes();
        let interest = Interest::new((&gateway, caller.clone()), ListsChanged::ALL, None, most);
        let interest = Arc::new(interest);
        let told = out.downgrade();
        let pump = tokio::spawn({
            let interest = interest.clone();
            async move { interest.pump(&gateway, changes, &out).await }
        });
        Session {
            version: greeting.version,
            caller,
            roots,
            questions,
            out: told,
            interest,
            under_way: UnderWay::default(),
            lanes: Lanes::default(),
            pump,
            ticket: None,
            taking_up: None,
        }
    }

    /// Makes it one that outlives the process by its ticket.
    pub(crate) fn with_ticket(self, ticket: Ticket) -> Session {
        Session { ticket: Some(ticket), ..self }
    }

    /// Goes on where the session was when we last held it: with its log level and with what it
    /// watched. Changes may have been missed, so the client is told to look at all of it.
    pub(crate) fn resume(self, server: &Arc<Server>, note: Note) -> Session {
        let (server, interest) = (server.clone(), self.interest.clone());
        let (caller, out) = (self.caller.clone(), self.out.clone());
        let taking_up = tokio::spawn(async move {
            let gateway = &*server.gateway;
            if let Some(level) = note.level {
                // A server that is away is told when it comes back.
                let _ = interest.set_level(gateway, &caller, &level).await;
            }
            let uris = note.watched.iter().map(|uri| PublicUri::new(uri.as_str())).collect();
            interest.watch_all(gateway, &caller, uris).await;
            let Some(out) = out.upgrade() else { return };
            for message in interest.everything() {
                if out.send(message).await.is_err() {
                    return;
                }
            }
        });
        Session { taking_up: Some(taking_up), ..self }
    }

    /// Asks a client whose session was resumed for its folders, now that it hears the question.
    pub(crate) fn hears_again(&self) {
        if self.taking_up.is_some() {
            self.roots.ask();
        }
    }

    /// Notes a change that must outlive the process.
    async fn note(&self, server: &Server, change: impl FnOnce(&mut Note)) {
        if let Some(ticket) = &self.ticket {
            server.notes().change(ticket, change).await;
        }
    }

    /// Takes a message that is no request: a notification, or an answer to what we asked.
    pub(crate) fn hear(&self, server: &Server, message: Message) {
        match message {
            Message::Notification { method, params } => self.take(&method, params.as_ref()),
            Message::Response { id, outcome } => self.take_answer(server, &id, outcome),
            Message::Request(_) => {}
        }
    }

    /// Answers one request of this client. `hears` says whether it would hear a question now.
    pub(crate) async fn answer(
        &self,
        server: &Server,
        request: Request,
        (asking, hears): (&Asking, bool),
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Outcome {
        match request.method.as_str() {
            // Watched resources are counted, so these are never broken off in the middle.
            method @ ("resources/subscribe" | "resources/unsubscribe" | "logging/setLevel") => {
                let params = request.params.as_ref();
                let work = pin!(async {
                    let _lane = self.lanes.of(params).lock().await;
                    self.answer_own(server, method, params, asking).await
                });
                timed(server.begin(method), work).await
            }
            "tools/call" if hears && self.questions.is_offered() => {
                let work = pin!(async {
                    let asking = self.consenting(server, request.params.as_ref(), asking).await;
                    server.answer("tools/call", request.params.clone(), &asking, notices).await
                });
                self.under_way.run(&request.id, work).await
            }
            method => {
                let work = pin!(server.answer(method, request.params.clone(), asking, notices));
                self.under_way.run(&request.id, work).await
            }
        }
    }

    /// The request with a person's answer, where a tool of ours needs a yes. No other Source
    /// learns that the client can be asked.
    async fn consenting(&self, server: &Server, params: Option<&Json>, asking: &Asking) -> Asking {
        let Some(question) = server.question(params) else { return asking.clone() };
        let answer = self.questions.ask(&question.params).await;
        Asking {
            capabilities: Json::parse(r#"{"elicitation":{}}"#).ok(),
            answers: Some(question.answered(answer.as_ref())),
            ..asking.clone()
        }
    }

    /// Answers what only a client with a session can ask.
    async fn answer_own(
        &self,
        server: &Server,
        method: &str,
        params: Option<&Json>,
        asking: &Asking,
    ) -> Outcome {
        match method {
            "resources/subscribe" => {
                let uri = PublicUri::new(required(params, "uri")?);
                let watched = self.interest.watch(&server.gateway, &asking.caller, &uri).await;
                watched.map_err(|error| server.refusal(error, asking))?;
                self.note(server, |note| note.watch(uri.as_str())).await;
                Ok(Json::empty_object().into())
            }
            "resources/unsubscribe" => {
                let uri = PublicUri::new(required(params, "uri")?);
                self.interest.unwatch(&server.gateway, &asking.caller, &uri).await;
                self.note(server, |note| note.unwatch(uri.as_str())).await;
                Ok(Json::empty_object().into())
            }
            _ => self.set_level(server, params).await,
        }
    }

    /// The caller, for the project worked on in the client's folders.
    fn caller(&self, server: &Server) -> Caller {
        let project = server.gateway.project_in(&self.roots.folders());
        Caller { project, ..self.caller.clone() }
    }

    /// Waits for what the client says of its folders, where that may matter. Only where a
    /// question reaches the client at once: over HTTP it may not listen yet, or never.
    pub(crate) async fn find_project(&self, server: &Server) {
        if server.gateway.has_project_folders() {
            self.roots.settled().await;
        }
    }

    /// A request's word about itself. The roles are those of its present sender, which may be
    /// fewer than when the session began.
    pub(crate) fn asking(&self, server: &Server, request: &Request, now: &Caller) -> Asking {
        let caller = Caller { roles: now.roles.clone(), ..self.caller(server) };
        self.interest.note(&server.gateway, &caller);
        let mut asking = Asking::legacy(self.version, caller, meta_of(request.params.as_ref()));
        // A modern server logs for a request only if the request says so.
        let rank = self.interest.log_level.load(Ordering::Relaxed);
        asking.log_level = level_name(rank).map(str::to_owned);
        asking
    }

    async fn set_level(&self, server: &Server, params: Option<&Json>) -> Outcome {
        let name = required(params, "level")?;
        if level(&name).is_none() {
            return Err(RpcError::new(
                code::INVALID_PARAMS,
                format!(
                    "`level` must be debug, info, notice, warning, error, critical, alert or emergency, not {name:?}"
                ),
            ));
        }
        let set = self.interest.set_level(&server.gateway, &self.caller, &name).await;
        set.map_err(|error| encode::error(error, self.version))?;
        self.note(server, |note| note.level = Some(name)).await;
        Ok(Json::empty_object().into())
    }

    fn take(&self, method: &str, params: Option<&Json>) {
        if matches!(method, "notifications/initialized" | "notifications/roots/list_changed") {
            self.roots.ask();
        }
        if method == "notifications/cancelled"
            && let Some(id) = params.and_then(|params| params.get("requestId"))
        {
            self.under_way.cancel(&id);
        }
    }

    fn take_answer(&self, server: &Server, id: &Json, outcome: Result<Json, RpcError>) {
        let Some(outcome) = self.questions.take(id, outcome) else { return };
        let before = server.gateway.project_in(&self.roots.folders());
        if !self.roots.take(id, outcome) {
            return;
        }
        if server.gateway.project_in(&self.roots.folders()) != before {
            // Another project may have other documents. A client that reads nothing learns
            // of it when it lists again.
            if let Some(out) = self.out.upgrade() {
                let _ = out.try_send(wire::notification(RESOURCES_CHANGED, None));
            }
        }
    }

    /// Ends the session: cancels its requests, lets go of what it watches.
    pub(crate) fn end(&self, server: &Server) {
        self.pump.abort();
        if let Some(taking_up) = &self.taking_up {
            taking_up.abort();
        }
        self.under_way.cancel_all();
        self.interest.release(&server.gateway);
    }

    /// Ends it for good: its id is taken no longer.
    pub(crate) async fn end_for_good(&self, server: &Server) {
        self.end(server);
        self.note(server, Note::end).await;
    }
}

/// How many resources something may be done with at once.
const LANES: usize = 32;

/// Keeps actions on one resource in order: it must not be let go of before it is held. Actions on
/// others seldom wait for it.
#[derive(Default)]
struct Lanes([tokio::sync::Mutex<()>; LANES]);

impl Lanes {
    fn of(&self, params: Option<&Json>) -> &tokio::sync::Mutex<()> {
        let mut hasher = DefaultHasher::new();
        params.and_then(|params| params.get_str("uri")).hash(&mut hasher);
        &self.0[hasher.finish() as usize % self.0.len()]
    }
}
