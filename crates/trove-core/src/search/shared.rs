//! The state that the writer, the background and questions share; its settings and its status.

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64},
    },
    time::SystemTime,
};

use arc_swap::ArcSwap;
use tokio::sync::broadcast;

use super::{
    doubt::{Doubts, Judge},
    embed::Bell,
    roster::Roster,
    store::{Opened, Place, Store},
    vectors::VectorSet,
};

/// The most bytes of the index, unless configured.
pub const MAX_INDEX_BYTES: u64 = 4 * 1024 * 1024 * 1024;
pub const MAX_VECTORS: usize = 400_000;

#[derive(Debug, Clone)]
pub struct Config {
    /// When the index takes more bytes than this no more contents are taken in.
    pub max_index_bytes: u64,
    /// How many vectors are kept.
    pub max_vectors: usize,
    /// The clock.
    pub now: fn() -> SystemTime,
}

impl Default for Config {
    fn default() -> Config {
        Config { max_index_bytes: MAX_INDEX_BYTES, max_vectors: MAX_VECTORS, now: SystemTime::now }
    }
}

/// An event in the life of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It could not be used any more and begins empty: feed it everything again.
    Rebuilt {
        /// The fault in it.
        why: String,
    },
}

/// How search is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Where the index lives.
    pub place: Place,
    /// Its condition when it was opened, or when it was last built anew.
    pub opened: Opened,
    /// How many resources it knows.
    pub entries: usize,
    /// How many bytes it takes.
    pub bytes: u64,
    /// How many vectors there are.
    pub vectors: usize,
    /// How many resources have them.
    pub resources_with_vectors: usize,
    /// How much waits to be written, in KiB.
    pub queued_kib: usize,
    /// How many resources were taken in and cannot be found yet.
    pub staged: u64,
    pub last_error: Option<String>,
}

/// The state that the writer, the background and questions share.
pub(super) struct Shared {
    pub(super) store: ArcSwap<Store>,
    pub(super) roster: RwLock<Roster>,
    pub(super) vectors: RwLock<VectorSet>,
    pub(super) events: broadcast::Sender<Event>,
    pub(super) bell: Bell,
    /// Search is told to stop.
    pub(super) is_stopping: AtomicBool,
    pub(super) bytes: AtomicU64,
    pub(super) staged: AtomicU64,
    pub(super) last_error: Mutex<Option<String>>,
    pub(super) doubts: Doubts,
    pub(super) config: Config,
}

impl Shared {
    pub(super) fn store(&self) -> Arc<Store> {
        self.store.load_full()
    }

    pub(super) fn roster(&self) -> RwLockReadGuard<'_, Roster> {
        self.roster.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn roster_mut(&self) -> RwLockWriteGuard<'_, Roster> {
        self.roster.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn vectors(&self) -> RwLockReadGuard<'_, VectorSet> {
        self.vectors.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn vectors_mut(&self) -> RwLockWriteGuard<'_, VectorSet> {
        self.vectors.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time, in milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        let since = (self.config.now)().duration_since(SystemTime::UNIX_EPOCH);
        i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
    }

    /// Judges the texts of a roster at this moment.
    pub(super) fn judge(&self, roster: &Roster) -> Judge {
        self.doubts.judge(&roster.sources, self.now())
    }

    pub(super) fn note_error(&self, error: &str) {
        tracing::warn!(%error, "search index");
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_owned());
    }

    pub(super) fn wake_embedder(&self) {
        self.bell.wake();
    }
}
