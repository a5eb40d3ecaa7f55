//! Keeps answers for as long as they may be believed, and fetches each only once.
//!
//! An answer is kept only where its Source, or the configuration, allows it, and shown only to
//! those it was meant for. It is not believed from the moment its Source says that it changed, even
//! if it was on its way then. If a Source fails, its last answer is given, marked stale. Errors are
//! never kept.

mod flight;
mod floors;
mod freshness;
mod stats;
mod store;

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures_util::FutureExt as _;
use tokio::time::Instant;
use tracing::debug;

pub use freshness::{Audience, Key, MAX_TTL, Policy};
pub use stats::Stats;

use crate::{
    changes::Reader,
    content::shown_uri,
    source::{Reply, SourceError},
    source_id::SourceId,
    uri::LocalUri,
};
use flight::{Departure, Flights, Landed};
use floors::Floors;
use store::{Entry, Store};

/// The limits of the cache, and the clock for its dates.
#[derive(Clone)]
pub struct Config {
    /// The most bytes that are kept.
    pub max_bytes: u64,
    /// The most bytes of one answer that is kept.
    pub max_entry_bytes: usize,
    /// How long an answer is kept after it is no longer believed, in case its Source
    /// fails.
    pub stale_for: Duration,
    /// The clock, for [`Cached::fetched_at`].
    pub now: fn() -> SystemTime,
}

/// An answer, and where it came from.
#[derive(Debug, Clone)]
pub struct Cached {
    /// The answer; its freshness is what is left of it.
    pub reply: Reply,
    /// When the Source gave it.
    pub fetched_at: SystemTime,
    /// How long ago that was.
    pub age: Duration,
    /// It was kept from an earlier question.
    pub hit: bool,
    /// It is older than it may be, given because the Source failed.
    pub stale: bool,
}

/// Keeps answers; cheap to clone, and all clones are one cache.
#[derive(Clone)]
pub struct Cache {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    flights: Flights,
    floors: Floors,
    stale_for: Duration,
    now: fn() -> SystemTime,
    hits: AtomicU64,
    misses: AtomicU64,
    joined: AtomicU64,
    stale: AtomicU64,
}

impl Cache {
    /// An empty cache that no change is told to.
    pub fn new(config: Config) -> Cache {
        Cache::with(Floors::default(), config)
    }

    /// An empty cache that believes no answer which a change of this log makes doubtful. It reads
    /// the log before each answer: a client that was told of a change gets no older one.
    pub fn fed_by(changes: Reader, config: Config) -> Cache {
        Cache::with(Floors::fed_by(changes), config)
    }

    fn with(floors: Floors, config: Config) -> Cache {
        let inner = Inner {
            store: Store::new(config.max_bytes, config.max_entry_bytes),
            flights: Flights::default(),
            floors,
            stale_for: config.stale_for.min(MAX_TTL),
            now: config.now,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            joined: AtomicU64::new(0),
            stale: AtomicU64::new(0),
        };
        Cache { inner: Arc::new(inner) }
    }

    /// The kept answer, or else the result of `fetch`. A fetch that another caller began for the
    /// key is waited for instead; it has the deadline of that caller.
    pub async fn get_or_fetch<F, W>(
        &self,
        key: Key,
        policy: Policy,
        fetch: F,
    ) -> Result<Cached, SourceError>
    where
        F: FnOnce() -> W + Send + 'static,
        W: Future<Output = Result<Reply, SourceError>> + Send + 'static,
    {
        let kept = self.inner.find(&key, policy).await;
        let fresh = kept.as_ref().filter(|entry| entry.is_fresh(policy.told));
        if let Some(entry) = fresh {
            count(&self.inner.hits);
            log(&key, "answered from the cache");
            return Ok(answer(entry, Given::Kept));
        }
        log(&key, "not in the cache");
        // Boxed, so that what is kept is not asked for with the room of a fetch.
        match Box::pin(self.fetch(&key, policy, fetch)).await {
            Ok(entry) => Ok(answer(&entry, Given::Fetched)),
            Err(error) => match kept.filter(|entry| self.inner.may_stand_in(&key, entry, &error)) {
                Some(entry) => {
                    count(&self.inner.stale);
                    log(&key, "an old answer stands in");
                    Ok(answer(&entry, Given::Stale))
                }
                None => Err(error),
            },
        }
    }

    /// Fetches even what is kept, and keeps the answer where that is allowed: the next question
    /// finds it. Counts as no question.
    pub async fn fetch_anew<W>(
        &self,
        key: Key,
        policy: Policy,
        fetch: W,
    ) -> Result<Cached, SourceError>
    where
        W: Future<Output = Result<Reply, SourceError>>,
    {
        let began = self.inner.floors.now();
        let entry = self.inner.land(key, policy, began, fetch.await).await?;
        Ok(answer(&entry, Given::Fetched))
    }

    /// The answer that is kept, if it is still believed. Counts as no question.
    pub async fn kept(&self, key: &Key, policy: Policy) -> Option<Cached> {
        let entry = self.inner.find(key, policy).await?;
        if !entry.is_fresh(policy.told) {
            return None;
        }
        Some(answer(&entry, Given::Kept))
    }

    /// One resource has changed: answers that are kept or on their way are not believed any more.
    pub fn invalidate(&self, source: &SourceId, uri: &LocalUri) {
        self.inner.floors.raise(source, uri);
    }

    /// Anything of a Source may have changed.
    pub fn invalidate_source(&self, source: &SourceId) {
        self.inner.floors.raise_all(source);
    }

    /// How it has done so far.
    pub fn stats(&self) -> Stats {
        let inner = &self.inner;
        // The store puts off counting. If it is at it just now, sizes are as of a moment ago.
        let _ = inner.store.settle().now_or_never();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            hits: read(&inner.hits),
            misses: read(&inner.misses),
            joined: read(&inner.joined),
            stale: read(&inner.stale),
            evictions: inner.store.evictions(),
            bytes: inner.store.bytes(),
            entries: inner.store.len(),
            fetching: inner.flights.len() as u64,
        }
    }

    async fn fetch<F, W>(&self, key: &Key, policy: Policy, fetch: F) -> Landed
    where
        F: FnOnce() -> W + Send + 'static,
        W: Future<Output = Result<Reply, SourceError>> + Send + 'static,
    {
        let inner = &self.inner;
        let mut fetch = Some(fetch);
        // An answer that is public by configuration is fetched once for all who ask.
        let shared = match policy.public_ttl {
            Some(_) => key.seen_by(Audience::Everyone),
            None => key.clone(),
        };
        let waiting = inner.flights.board(
            &shared,
            |began| inner.floors.allow(&key.source, &key.uri, began),
            |number| {
                let fetch = fetch.take().expect("a fetch begins once");
                let (inner, key, shared) = (inner.clone(), key.clone(), shared.clone());
                let began = inner.floors.now();
                let work = async move {
                    let landed = inner.land(key, policy, began, fetch().await).await;
                    inner.flights.end(&shared, number);
                    landed
                };
                Departure { began, work: Box::pin(work) }
            },
        );
        count(if fetch.is_none() { &inner.misses } else { &inner.joined });
        let landed = waiting.landed().await;
        match (&landed, fetch) {
            // Only the answer tells that it was meant for the one who asked.
            (Ok(entry), Some(fetch)) if !entry.is_for(&key.audience) => {
                count(&inner.misses);
                let began = inner.floors.now();
                inner.land(key.clone(), policy, began, fetch().await).await
            }
            _ => landed,
        }
    }
}

impl Inner {
    /// The answer kept for the asker, fresh or not, and not known to have changed. The newer one
    /// counts: an answer kept for the asker alone takes the place of one for everyone.
    async fn find(&self, key: &Key, policy: Policy) -> Option<Arc<Entry>> {
        let shared = self.believed(&key.seen_by(Audience::Everyone)).await;
        if shared.as_ref().is_some_and(|entry| entry.is_fresh(policy.told)) {
            return shared;
        }
        let own = self.believed(key).await;
        shared.into_iter().chain(own).max_by_key(|entry| entry.fetched)
    }

    async fn believed(&self, key: &Key) -> Option<Arc<Entry>> {
        let entry = self.store.get(key).await?;
        self.floors.allow(&key.source, &key.uri, entry.began).then_some(entry)
    }

    /// Takes what a fetch gave, and keeps it where that is allowed.
    async fn land(
        &self,
        key: Key,
        policy: Policy,
        began: u64,
        outcome: Result<Reply, SourceError>,
    ) -> Landed {
        // An answer that was overtaken by a change says nothing about the one that is kept by now.
        let is_believed = self.floors.allow(&key.source, &key.uri, began);
        let reply = match outcome {
            Ok(reply) => reply,
            Err(error) => {
                // An answer that the Source itself refuses now must not stand in for it later.
                if is_believed && !error.is_retryable() {
                    self.replace(&key, None).await;
                }
                return Err(error);
            }
        };
        let audience = freshness::audience(&reply, policy, &key.audience);
        let ttl = freshness::ttl(&reply, policy);
        let is_kept = ttl.is_some() && audience.is_some() && self.store.takes(&key, &reply);
        // A kept answer must not hold on to the larger message it came in.
        let reply = if is_kept { reply.compact() } else { reply };
        // A time that the Source or the configuration gives needs no reports.
        let needs_reports = reply.freshness.is_none() && policy.told.is_some();
        let ttl = ttl.unwrap_or_default();
        let entry = Arc::new(Entry {
            reply,
            audience,
            began,
            fetched: Instant::now(),
            fetched_at: (self.now)(),
            ttl,
            told: policy.told.filter(|_| needs_reports),
            kept_for: ttl + self.stale_for,
        });
        if is_believed && !entry.reply.needs_input {
            self.replace(&key, Some(&entry).filter(|_| is_kept)).await;
        }
        Ok(entry)
    }

    /// Keeps an answer, and nothing else, for the asker, be it for him alone or for everyone.
    async fn replace(&self, key: &Key, entry: Option<&Arc<Entry>>) {
        let kept_for = entry.and_then(|entry| entry.audience.as_ref());
        if let (Some(entry), Some(audience)) = (entry, kept_for) {
            log(key, "kept in the cache");
            self.store.put(key.seen_by(audience.clone()), entry.clone()).await;
        }
        for audience in [&key.audience, &Audience::Everyone] {
            if kept_for != Some(audience) {
                self.store.forget(&key.seen_by(audience.clone())).await;
            }
        }
    }

    /// Whether an old answer may be given because its Source failed.
    fn may_stand_in(&self, key: &Key, entry: &Entry, error: &SourceError) -> bool {
        error.is_retryable()
            && entry.is_kept()
            && self.floors.allow(&key.source, &key.uri, entry.began)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    Fetched,
    Kept,
    Stale,
}

fn answer(entry: &Entry, given: Given) -> Cached {
    let age = entry.age();
    let mut reply = entry.reply.clone();
    reply.freshness = match given {
        Given::Fetched => reply.freshness,
        Given::Kept => freshness::remaining(reply.freshness, age),
        Given::Stale => freshness::remaining(reply.freshness, Duration::MAX),
    };
    Cached {
        reply,
        fetched_at: entry.fetched_at,
        age,
        hit: given != Given::Fetched,
        stale: given == Given::Stale,
    }
}

/// Says what the cache does with an answer; never the answer.
fn log(key: &Key, what: &'static str) {
    debug!(source = %key.source, uri = %shown_uri(key.uri.as_str()), "{what}");
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
