//! The legacy clients of the HTTP door, by their session's id.

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
use trove_core::source::Notice;

use super::{Server, asking::Asking, exchange::Session};
use crate::{
    bounds::Bounds,
    wire::{Outcome, Request},
};

/// How long a new stream waits for the old one to let go.
const TAKE_OVER: Duration = Duration::from_secs(2);

/// How often unused sessions are looked for.
const CLEANING: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(60);

/// How long to wait before idle sessions are looked for again.
pub(crate) fn rest(bounds: &Bounds) -> Duration {
    bounds.session_idle.clamp(*CLEANING.start(), *CLEANING.end())
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
    pub(crate) fn new(session: Session, unheard: mpsc::Receiver<Bytes>) -> HttpSession {
        HttpSession {
            session,
            unheard: Arc::new(tokio::sync::Mutex::new(unheard)),
            listening: Mutex::default(),
            last_seen: Mutex::new(Instant::now()),
        }
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
        tokio::time::timeout(TAKE_OVER, unheard).await.ok().map(|unheard| (unheard, stop))
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

    fn idle(&self) -> Duration {
        // A client with an open stream is there even if it says nothing.
        if self.is_listening() {
            return Duration::ZERO;
        }
        self.last_seen.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

/// All sessions.
#[derive(Default)]
pub(crate) struct Sessions(RwLock<HashMap<String, Arc<HttpSession>>>);

impl Sessions {
    /// Adds a session and gives its id. Where there are too many, the one that has been
    /// idle longest makes room; false if none is idle.
    pub(crate) async fn admit(&self, server: &Server, session: HttpSession) -> Option<String> {
        let id = format!("{:032x}", rand::random::<u128>());
        let evicted = {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let principal = session.session.caller.principal.clone();
            let own = |other: &HttpSession| other.session.caller.principal == principal;
            let evicted = if all.len() >= server.bounds.sessions {
                Some(evict(&mut all, |_| true))
            } else if principal.is_some()
                && all.values().filter(|s| own(s)).count() >= server.bounds.sessions_per_caller
            {
                // A caller that begins too many loses a session of its own, not one of others.
                Some(evict(&mut all, own))
            } else {
                None
            };
            if !matches!(evicted, Some(None)) {
                all.insert(id.clone(), Arc::new(session));
            }
            evicted
        };
        match evicted {
            Some(Some(old)) => {
                old.session.end(server).await;
                Some(id)
            }
            Some(None) => None,
            None => Some(id),
        }
    }

    /// The session of that id, which is thereby not idle. A session belongs to the caller who began
    /// it; an id alone proves nothing.
    pub(crate) fn find(
        &self,
        server: &Server,
        id: &str,
        principal: Option<&str>,
    ) -> Option<Arc<HttpSession>> {
        let session = self.0.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()?;
        let is_over = session.idle() > server.bounds.session_idle;
        if is_over || session.session.caller.principal.as_deref() != principal {
            return None;
        }
        *session.last_seen.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Some(session)
    }

    /// Ends a session; false if there is none.
    pub(crate) async fn end(&self, server: &Server, id: &str) -> bool {
        let ended = self.0.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        match ended {
            Some(session) => {
                session.session.end(server).await;
                true
            }
            None => false,
        }
    }

    /// Ends the sessions that have been idle for too long.
    pub(crate) async fn end_idle(&self, server: &Server) {
        let idle: Vec<Arc<HttpSession>> = {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            all.extract_if(|_, session| session.idle() > server.bounds.session_idle)
                .map(|(_, s)| s)
                .collect()
        };
        for session in idle {
            session.session.end(server).await;
        }
    }
}

/// Takes out the session that has been idle longest of those that may go.
fn evict(
    all: &mut HashMap<String, Arc<HttpSession>>,
    may_go: impl Fn(&HttpSession) -> bool,
) -> Option<Arc<HttpSession>> {
    let (id, idle) = all
        .iter()
        .filter(|(_, session)| may_go(session))
        .map(|(id, session)| (id.clone(), session.idle()))
        .max_by_key(|(_, idle)| *idle)?;
    if idle.is_zero() { None } else { all.remove(&id) }
}
