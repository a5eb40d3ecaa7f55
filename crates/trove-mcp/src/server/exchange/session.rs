//! A client that met us with `initialize`: its agreements, and the resources it watches.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    pin::pin,
    sync::{Arc, atomic::Ordering},
};

use bytes::Bytes;
use tokio::{sync::mpsc, task::JoinHandle};
use trove_core::{Caller, Json, PublicUri, gateway::Call, resource::ListsChanged, source::Notice};

use super::{
    super::{
        Server,
        asking::{Asking, level, level_name, meta_of, required},
        encode,
        listen::Interest,
        measure::timed,
        questions::Questions,
        roots::Roots,
    },
    UnderWay, client_name,
};
use crate::{
    era::Version,
    wire::{self, Message, Outcome, Request, RpcError, code},
};

/// The notification that the list of resources is another one.
const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";

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
}

impl Session {
    /// Answers `initialize` and begins a session with what was agreed on. Messages that the
    /// client did not ask for go to `out`.
    pub(crate) fn meet(
        server: &Arc<Server>,
        params: Option<&Json>,
        caller: Caller,
        out: mpsc::Sender<Bytes>,
    ) -> (Session, Json) {
        let caller = Caller { client: client_name(params), ..caller };
        let (version, result) = server.initialize(params, &caller);
        let (roots, told) = (Roots::new(params, out.downgrade()), out.downgrade());
        let questions = Questions::new(params, out.downgrade());
        let (gateway, most) = (server.gateway.clone(), server.bounds.watches_per_client);
        let changes = gateway.changes();
        let interest = Interest::new((&gateway, caller.clone()), ListsChanged::ALL, None, most);
        let interest = Arc::new(interest);
        let pump = tokio::spawn({
            let interest = interest.clone();
            async move { interest.pump(&gateway, changes, &out).await }
        });
        let session = Session {
            version,
            caller,
            roots,
            questions,
            out: told,
            interest,
            under_way: UnderWay::default(),
            lanes: Lanes::default(),
            pump,
        };
        (session, result)
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
                watched.map(|()| Json::empty_object().into()).map_err(|e| server.refusal(e, asking))
            }
            "resources/unsubscribe" => {
                let uri = PublicUri::new(required(params, "uri")?);
                self.interest.unwatch(&server.gateway, &asking.caller, &uri).await;
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
        let rank = level(&name).ok_or_else(|| {
            RpcError::new(code::INVALID_PARAMS, format!("`level` must be debug, info, notice, warning, error, critical, alert or emergency, not {name:?}"))
        })?;
        self.interest.log_level.store(rank, Ordering::Relaxed);
        let lowest = server.gateway.lowest_level(&self.interest.log_level);
        let level = level_name(lowest).unwrap_or(&name).to_owned();
        let set = server.gateway.run(&self.caller, Call::SetLogLevel(level)).await;
        set.map_err(|error| encode::error(error, self.version))?;
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
    pub(crate) async fn end(&self, server: &Server) {
        self.pump.abort();
        self.under_way.cancel_all();
        self.interest.release(&server.gateway);
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
