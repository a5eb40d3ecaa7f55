//! Kept answers, bounded by their bytes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use moka::{Expiry, future::Cache as Moka, notification::RemovalCause};
use tokio::time::Instant;

use super::freshness::{Audience, Key};
use crate::source::{Reply, Told};

/// The memory of an entry beside its text, in bytes.
const OVERHEAD: usize = 256;

/// An answer as it was fetched.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) reply: Reply,
    /// The callers who may see it; `None`: only the asker, this once.
    pub(super) audience: Option<Audience>,
    /// The moment at which its fetch began, as the floors count.
    pub(super) began: u64,
    pub(super) fetched: Instant,
    pub(super) fetched_at: SystemTime,
    /// How long it is believed.
    pub(super) ttl: Duration,
    /// It is believed because its Source reports changes, and only as long as that goes on
    /// without a break.
    pub(super) told: Option<Told>,
    /// How long it is kept, in case its Source fails.
    pub(super) kept_for: Duration,
}

impl Entry {
    /// Whether a caller who waited for it may have it, though another asked.
    pub(super) fn is_for(&self, asker: &Audience) -> bool {
        self.audience.as_ref().is_some_and(|who| *who == Audience::Everyone || who == asker)
    }

    pub(super) fn age(&self) -> Duration {
        self.fetched.elapsed()
    }

    /// Whether it is believed, where its Source reports changes since `told`.
    pub(super) fn is_fresh(&self, told: Option<Told>) -> bool {
        let is_told_still = self.told.is_none() || self.told == told;
        is_told_still && self.age() < self.ttl
    }

    pub(super) fn is_kept(&self) -> bool {
        self.age() < self.kept_for
    }
}

pub(super) struct Store {
    entries: Moka<Key, Arc<Entry>>,
    evictions: Arc<AtomicU64>,
    max_entry_bytes: usize,
}

impl Store {
    pub(super) fn new(max_bytes: u64, max_entry_bytes: usize) -> Store {
        let evictions = Arc::new(AtomicU64::new(0));
        let counter = evictions.clone();
        let entries = Moka::builder()
            .max_capacity(max_bytes)
            .weigher(|key: &Key, entry: &Arc<Entry>| {
                u32::try_from(weight(key, &entry.reply)).unwrap_or(u32::MAX)
            })
            .eviction_listener(move |_, _, cause| {
                if cause == RemovalCause::Size {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            })
            .expire_after(Keep)
            .build();
        Store { entries, evictions, max_entry_bytes }
    }

    pub(super) async fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        self.entries.get(key).await
    }

    /// Whether an answer is small enough to be kept.
    pub(super) fn takes(&self, key: &Key, reply: &Reply) -> bool {
        weight(key, reply) <= self.max_entry_bytes
    }

    pub(super) async fn put(&self, key: Key, entry: Arc<Entry>) {
        self.entries.insert(key, entry).await;
    }

    pub(super) async fn forget(&self, key: &Key) {
        self.entries.invalidate(key).await;
    }

    /// How many answers were given up to make room.
    pub(super) fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }

    /// How many bytes are kept, as of the last time it settled.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.weighted_size()
    }

    /// How many answers are kept, as of the last time it settled.
    pub(super) fn len(&self) -> u64 {
        self.entries.entry_count()
    }

    /// Does what it has put off, so that its figures are exact.
    pub(super) async fn settle(&self) {
        self.entries.run_pending_tasks().await;
    }
}

fn weight(key: &Key, reply: &Reply) -> usize {
    let audience = match &key.audience {
        Audience::Everyone => 0,
        Audience::Only(scope) => scope.len(),
    };
    OVERHEAD + reply.body.as_bytes().len() + key.uri.as_str().len() + audience
}

/// Frees what is kept no longer. Whether an answer is believed is not decided here: the
/// store has a clock of its own, which tests cannot stop.
struct Keep;

impl Expiry<Key, Arc<Entry>> for Keep {
    fn expire_after_create(
        &self,
        _key: &Key,
        entry: &Arc<Entry>,
        _created: std::time::Instant,
    ) -> Option<Duration> {
        Some(entry.kept_for)
    }

    fn expire_after_update(
        &self,
        _key: &Key,
        entry: &Arc<Entry>,
        _updated: std::time::Instant,
        _before: Option<Duration>,
    ) -> Option<Duration> {
        Some(entry.kept_for)
    }
}
