//! The legacy clients of the HTTP door, by their session's id.
//!
//! An id holds what was agreed with the client, sealed for that caller. So a session outlives the
//! process, and one that is idle needs no memory: it is made again when its id comes next. Held
//! are only sessions that were used a moment ago, listen, or have requests under way.

use std::{
    collections::HashMap,
    ops::RangeInclusive,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    sync::{OwnedMutexGuard, mpsc},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use trove_core::{Caller, Json, source::Notice};

use super::{
    Server,
    asking::Asking,
    exchange::{Greeting, Session},
};
use crate::{
    bounds::Bounds,
    seal::{Purpose, Ticket, Use},
    wire::{Outcome, Request},
};

/// How many messages wait for a legacy client that is not listening. They are all that is kept
/// for one that comes back; past them it is told to look at everything.
pub(super) const MAX_UNHEARD: usize = 256;

/// How long a new stream waits for the old one to let go.
const TAKE_OVER: Duration = Duration::from_secs(2);

/// How often unused sessions are looked for.
const CLEANING: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(60);

/// How long to wait before idle sessions are looked for again.
pub(crate) fn rest(bounds: &Bounds) -> Duration {
    bounds.session_idle.clamp(*CLEANING.start(), *CLEANING.end())
}

/// Why a request has no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The id is none of ours, is over, or is another caller's.
    Unknown,
    /// So many are in use that there is no memory for this one.
    NoRoom,
}

/// A legacy client over HTTP.
pub(crate) struct HttpSession {
    pub(crate) session: Session,
    /// Messages for the client's listening stream; held by that stream while it is open.
    unheard: Arc<tokio::sync::Mutex<mpsc::Receiver<Bytes>>>,
    /// Ends the listening stream of this moment.
    listening: Mutex<CancellationToken>,
    last_seen: Mutex<Instant>,
}

impl HttpSession {
    fn begin(server: &Arc<Server>, greeting: &Greeting, caller: &Caller) -> HttpSession {
        let (out, unheard) = mpsc::channel(MAX_UNHEARD);
        HttpSession {
            session: Session::begin(server, greeting, caller.clone(), out),
            unheard: Arc::new(tokio::sync::Mutex::new(unheard)),
            listening: Mutex::default(),
            last_seen: Mutex::new(Instant::now()),
        }
    }

    fn with(self, change: impl FnOnce(Session) -> Session) -> HttpSession {
        HttpSession { session: change(self.session), ..self }
    }

    /// The messages for a listening stream, and when to end it. A new stream takes over
    /// from an old one: a client that lost its network comes back before we notice.
    pub(crate) async fn listen(
        &self,
    ) -> Option<(OwnedMutexGuard<mpsc::Receiver<Bytes>>, CancellationToken)> {
        let stop = CancellationToken::new();
        {
            let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *listening, stop.clone()).cancel();
        }
        let unheard = self.unheard.clone().lock_owned();
        let unheard = tokio::time::timeout(TAKE_OVER, unheard).await.ok()?;
        self.session.hears_again();
        Some((unheard, stop))
    }

    /// Answers one request of this client.
    pub(crate) async fn answer(
        &self,
        server: &Server,
        request: Request,
        asking: &Asking,
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Outcome {
        self.session.answer(server, request, (asking, self.is_listening()), notices).await
    }

    /// Whether a stream is open: it shares what it listens to.
    fn is_listening(&self) -> bool {
        Arc::strong_count(&self.unheard) > 1
    }

    fn touch(&self) {
        *self.last_seen.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// How long a session of the table has been idle. One with a request under way, or with an open
/// stream, is not.
fn idle(session: &Arc<HttpSession>) -> Duration {
    if Arc::strong_count(session) > 1 || session.is_listening() {
        return Duration::ZERO;
    }
    session.last_seen.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
}

/// The sessions in use, by the ids of their tickets.
#[derive(Default)]
pub(crate) struct Sessions(RwLock<HashMap<String, Arc<HttpSession>>>);

impl Sessions {
    /// Begins a session: gives its id and the answer to `initialize`.
    pub(crate) fn begin(
        &self,
        server: &Arc<Server>,
        params: Option<&Json>,
        caller: &Caller,
    ) -> Result<(String, Json), Absent> {
        let (greeting, result) = Greeting::of(server, params, caller);
        let lifetime = server.bounds.session_age;
        let sealed =
            server.seal().close(&of_session(caller), Json::of(&greeting).as_bytes(), lifetime);
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(error) => {
                warn!(%error, "a session has no id");
                return Err(Absent::NoRoom);
            }
        };
        let session = HttpSession::begin(server, &greeting, caller);
        let session = session.with(|session| session.with_ticket(sealed.ticket.clone()));
        self.admit(server, &sealed.ticket, session)?;
        Ok((sealed.text, result))
    }

    /// The session of that id, which is thereby not idle. A session belongs to the caller who began
    /// it; an id alone proves nothing.
    pub(crate) fn find(
        &self,
        server: &Arc<Server>,
        id: &str,
        caller: &Caller,
    ) -> Result<Arc<HttpSession>, Absent> {
        let opened = match server.seal().open(&of_session(caller), id) {
            Ok(opened) => opened,
            Err(why) => {
                debug!(%why, "a session id is not taken");
                return Err(Absent::Unknown);
            }
        };
        let ticket = opened.ticket;
        if server.notes().is_ended(&ticket) {
            return Err(Absent::Unknown);
        }
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&ticket.id).cloned();
        if let Some(session) = held {
            session.touch();
            return Ok(session);
        }
        let Ok(greeting) = serde_json::from_slice::<Greeting>(&opened.content) else {
            debug!("a session id of another version of Trove is not taken");
            return Err(Absent::Unknown);
        };
        let note = server.notes().of(&ticket);
        let session = HttpSession::begin(server, &greeting, caller);
        let session = session.with(|session| session.with_ticket(ticket.clone()));
        let session = session.with(|session| session.resume(server, note));
        self.admit(server, &ticket, session)
    }

    /// Holds a session. Where there are too many, the one that has been idle longest makes room.
    fn admit(
        &self,
        server: &Server,
        ticket: &Ticket,
        session: HttpSession,
    ) -> Result<Arc<HttpSession>, Absent> {
        let session = Arc::new(session);
        let (admitted, gone) = self.put(&server.bounds, ticket, session.clone());
        for gone in gone {
            gone.session.end(server);
        }
        if admitted.as_ref().is_none_or(|admitted| !Arc::ptr_eq(admitted, &session)) {
            session.session.end(server);
        }
        admitted.ok_or(Absent::NoRoom)
    }

    /// The session that is held under the ticket now, if there is room for it, and those that
    /// made room.
    fn put(
        &self,
        bounds: &Bounds,
        ticket: &Ticket,
        session: Arc<HttpSession>,
    ) -> (Option<Arc<HttpSession>>, Vec<Arc<HttpSession>>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = all.get(&ticket.id) {
            // Two requests came at once.
            return (Some(held.clone()), Vec::new());
        }
        let principal = session.session.caller.principal.clone();
        let is_own = |other: &HttpSession| other.session.caller.principal == principal;
        let own = all.values().filter(|other| is_own(other)).count();
        let evicted = if all.len() >= bounds.sessions {
            evict(&mut all, |_| true)
        } else if principal.is_some() && own >= bounds.sessions_per_caller {
            // A caller that uses too many puts aside one of its own, not one of others.
            evict(&mut all, is_own)
        } else {
            Some(Vec::new())
        };
        let Some(evicted) = evicted else { return (None, Vec::new()) };
        all.insert(ticket.id.clone(), session.clone());
        (Some(session), evicted)
    }

    /// Ends a session for good.
    pub(crate) async fn end(&self, server: &Server, session: &HttpSession) {
        {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, held| !std::ptr::eq(Arc::as_ptr(held), session));
        }
        session.session.end_for_good(server).await;
    }

    /// Lets go of the sessions that have been idle for too long.
    pub(crate) fn forget_idle(&self, server: &Server) {
        let idle: Vec<Arc<HttpSession>> = {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            all.extract_if(|_, session| idle(session) > server.bounds.session_idle)
                .map(|(_, session)| session)
                .collect()
        };
        for session in idle {
            session.session.end(server);
        }
    }
}

fn of_session(caller: &Caller) -> Use<'_> {
    Use { purpose: Purpose::Session, whom: caller.principal.as_deref(), about: "" }
}

/// Takes out the session that has been idle longest of those that may go; `None` if each is used.
fn evict(
    all: &mut HashMap<String, Arc<HttpSession>>,
    may_go: impl Fn(&HttpSession) -> bool,
) -> Option<Vec<Arc<HttpSession>>> {
    let (id, idle) = all
        .iter()
        .filter(|(_, session)| may_go(session))
        .map(|(id, session)| (id.clone(), idle(session)))
        .max_by_key(|(_, idle)| *idle)?;
    if idle.is_zero() {
        return None;
    }
    let put_aside = all.remove(&id)?;
    Some(vec![put_aside])
}
