//! Search in names, descriptions and contents of resources, by word and by meaning.
//!
//! The gateway feeds it with plain values ([`Search::apply`], [`Search::put_content`]), and asks it
//! with a [`Query`] and a [`Sight`]. It reads no Source, knows no rule, and is only ever a memory:
//! lost entries are fed again.

mod analyser;
mod chunks;
mod collect;
mod conjunction;
mod document;
mod doubt;
mod embed;
mod entry;
mod extract;
mod filter;
mod find;
mod fuzzy;
mod handful;
mod highlight;
mod hits;
mod interval;
mod letters;
mod lexical;
mod live;
mod load;
mod looks;
mod near_miss;
mod parallel;
mod plan;
mod query;
mod recommend;
mod record;
pub mod relevance;
mod roster;
mod schema;
mod shared;
mod shelf;
mod show;
mod staged;
mod store;
mod tokens;
mod top;
mod uses;
mod vectors;
mod words;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use arc_swap::ArcSwap;
use tokio::sync::{Semaphore, broadcast, oneshot};

pub use doubt::{Doubt, Reason};
pub use embed::Encode;
pub use entry::{
    Change, Content, Coverage, Depth, Entry, EntryRef, Everything, Key, Pending, Seen, Sight, Skip,
    SourceListing, Wanting,
};
pub use extract::{Extracted, MAX_BODY_BYTES, extract};
pub use handful::{Handful, Passage};
pub use hits::{Highlight, Hit, Hits, Why};
pub use interval::{Believed, FIRST_DATED_INTERVAL, FIRST_INTERVAL, MAX_INTERVAL, MIN_INTERVAL};
pub use letters::common_words;
pub use live::{Foreign, Weighed};
pub use query::{
    MAX_FILTER, MAX_QUERY_BYTES, MAX_REACH, MAX_RESULTS, MAX_TERMS, MAX_WORDS, Query, QueryError,
    Scope, Wanted,
};
pub use recommend::usefulness;
pub use relevance::{Evidence, NEAR_MISS_SCORE};
pub use roster::MAX_ENTRIES;
pub use shared::{Config, Event, MAX_INDEX_BYTES, MAX_VECTORS, Status};
pub use store::{Opened, Place};

use crate::{source_id::SourceId, uri::PublicUri};
use doubt::Doubts;
use embed::{Bell, Embedder};
use find::Finder;
use roster::Roster;
use shared::Shared;
use shelf::VectorFile;
use store::Store;
use vectors::VectorSet;
use writer::{Order, Queued, Writer};

/// How much may wait to be written, in KiB; a sender of more waits.
const MAX_QUEUED_KIB: usize = 16 * 1024;
/// How many resources travel in one order.
const ENTRIES_AN_ORDER: usize = 1000;
/// How many events a slow listener may fall behind.
const MAX_WAITING_EVENTS: usize = 16;
/// The most a resource's use counts.
const MAX_USES: f32 = 1e6;

/// Why search could not begin at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Not even an index in memory could be made.
    #[error("no search index can be made: {0}")]
    Index(String),
    /// No thread could be started.
    #[error("no thread can be started for search")]
    Thread(#[from] std::io::Error),
}

/// Finds resources.
pub struct Search {
    shared: Arc<Shared>,
    orders: mpsc::Sender<Queued>,
    room: Arc<Semaphore>,
    encoder: Option<Arc<dyn Encode>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Search {
    /// Opens the index in `dir`, or one in memory. The index of an earlier run is used. One that
    /// cannot be used is thrown away, which [`Search::status`] tells.
    pub fn open(
        dir: Option<PathBuf>,
        config: Config,
        encoder: Option<Arc<dyn Encode>>,
    ) -> Result<Search, OpenError> {
        let (store, mut roster) =
            Store::open(dir.as_deref()).map_err(|error| OpenError::Index(error.to_string()))?;
        uses::restore(&store, &mut roster);
        if let Opened::Rebuilt { why } = &store.opened {
            tracing::warn!(%why, "the search index is built anew");
        }
        let (file, vectors) = open_vectors(&store, &roster, encoder.as_deref());
        let (events, _) = broadcast::channel(MAX_WAITING_EVENTS);
        let shared = Arc::new(Shared {
            store: ArcSwap::from_pointee(store),
            roster: RwLock::new(roster),
            vectors: RwLock::new(vectors),
            events,
            bell: Bell::default(),
            is_stopping: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            staged: AtomicU64::new(0),
            last_error: Mutex::new(None),
            doubts: Doubts::default(),
            config,
        });
        looks::restore(&shared.store(), &mut shared.roster_mut(), shared.now());
        let (orders, inbox) = mpsc::channel();
        let writer = Writer::new(shared.clone(), inbox);
        let mut threads = vec![spawn("trove-index", move || writer.run())?];
        if let Some(encoder) = encoder.clone() {
            let embedder = Embedder { shared: shared.clone(), encoder, file };
            shared.bell.wake();
            threads.push(spawn("trove-meaning", move || embedder.run())?);
        }
        let room = Arc::new(Semaphore::new(MAX_QUEUED_KIB));
        Ok(Search { shared, orders, room, encoder, threads: Mutex::new(threads) })
    }

    /// Takes in what changed among resources. Waits while too much is to be written.
    pub async fn apply(&self, change: Change) {
        for keys in change.removed.chunks(ENTRIES_AN_ORDER) {
            self.order(Order::Remove(keys.to_vec()), keys.len() / 4).await;
        }
        let mut put = change.put;
        while !put.is_empty() {
            let rest = put.split_off(put.len().min(ENTRIES_AN_ORDER));
            let kib = put.iter().map(entry_bytes).sum::<usize>() / 1024;
            self.order(Order::Put(put), kib).await;
            put = rest;
        }
    }

    /// Takes in the whole list of a Source: resources listed as before cost little, those that are
    /// not in it any more are removed.
    pub async fn replace_source(&self, listing: SourceListing) {
        let kib = listing.entries.iter().map(entry_bytes).sum::<usize>() / 1024;
        self.order(Order::Listing(listing), kib).await;
    }

    /// Forgets a Source and all it listed.
    pub async fn remove_source(&self, source: SourceId) {
        self.order(Order::RemoveSource(source), 0).await;
    }

    /// Takes in the content of a resource; of one that is not known it is dropped.
    pub async fn put_content(&self, key: Key, content: Content) {
        let kib = content.text.len() / 1024;
        self.order(Order::Content(key, content), kib).await;
    }

    /// Takes in a content that a client read. One that belongs to an owner is taken only if the
    /// index has an earlier one of theirs: no crawl would look at it again.
    pub async fn put_passing(&self, key: Key, content: Content) {
        let kib = content.text.len() / 1024;
        self.order(Order::Passing(key, content), kib).await;
    }

    /// Notes that the content of a resource will not come.
    pub async fn skip_content(&self, key: Key, skip: Skip) {
        self.order(Order::Skip(key, skip), 0).await;
    }

    /// Notes that the content of a resource changed, so that it is wanted again.
    pub async fn content_changed(&self, key: Key) {
        self.order(Order::Stale(key), 0).await;
    }

    /// Casts doubt on texts of a Source that were read until now.
    pub fn cast_doubt(&self, source: &SourceId, doubt: Doubt) {
        self.shared.doubts.cast(source, doubt, self.now());
    }

    /// The moment to note for a read of a Source that begins now, in milliseconds since 1970.
    pub fn moment_of_read(&self, source: &SourceId) -> i64 {
        self.shared.doubts.moment_of_read(source, self.now())
    }

    /// The time of the index, in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.shared.now()
    }

    /// Notes that a client read a resource.
    pub fn note_use(&self, key: &Key) {
        // A reader must not wait for the writer: a use more or less is no matter.
        let Ok(mut roster) = self.shared.roster.try_write() else { return };
        let id = roster.find(&key.source, key.local.as_str()).map(|record| record.id);
        if let Some(record) = id.and_then(|id| roster.get_mut(id)) {
            record.uses = (record.uses + 1.0).min(MAX_USES);
        }
    }

    /// The resources that were read most, of those the caller may see, and how often.
    pub fn most_used(&self, limit: usize, sight: &dyn Sight) -> Vec<(PublicUri, u64)> {
        let roster = self.shared.roster();
        let mut filter = filter::Filter::new(&roster, sight, &Query::everything());
        let used = roster.iter().filter(|record| record.uses >= 1.0);
        let used = used.filter(|record| filter.admits_record(record));
        let most = top::top_by(used, limit, |a, b| a.uses.total_cmp(&b.uses));
        most.into_iter().map(|it| (PublicUri::from(it.public()), it.uses as u64)).collect()
    }

    /// The meanings of texts, one for each; `None` if nothing is found by meaning. It takes
    /// processor time, as [`Search::find`] does.
    pub fn meanings(&self, texts: &[&str]) -> Option<Vec<Vec<f32>>> {
        self.encoder.as_ref().map(|encoder| encoder.encode(texts))
    }

    /// Waits until everything brought before can be found.
    pub async fn flush(&self) {
        let (done, waiting) = oneshot::channel();
        self.order(Order::Flush(done), 0).await;
        // The writer only goes away when search does.
        let _ = waiting.await;
    }

    /// The resources whose content was never read, or is known to have changed; the most
    /// wanted first.
    pub fn pending(&self, limit: usize) -> Vec<Pending> {
        self.shared.roster().pending(limit)
    }

    /// The resources that should be read of each Source now, as far as `may` allows: at most
    /// `limit` that were never read, and `limit` again.
    pub fn wanting(
        &self,
        limit: usize,
        may: &dyn Fn(&SourceId, &str, Reason) -> bool,
    ) -> Vec<Wanting> {
        let roster = self.shared.roster();
        roster.wanting(&self.shared.judge(&roster), limit, may)
    }

    /// Whether something happened that may have changed any text, which was not read since.
    pub fn is_doubtful(&self) -> bool {
        let roster = self.shared.roster();
        let judge = self.shared.judge(&roster);
        roster.iter().any(|record| judge.reason(record) == Some(Reason::Doubted))
    }

    /// A resource as one who reads it for the index needs it; `None` if its text is not wanted.
    pub fn looked_into(&self, key: &Key) -> Option<Pending> {
        let roster = self.shared.roster();
        let record = roster.find(&key.source, key.local.as_str())?;
        let reason = self.shared.judge(&roster).reason(record).unwrap_or(Reason::Due);
        let is_wanted = record.state != record::State::MetadataOnly;
        is_wanted.then(|| roster.pending_of(record, reason))
    }

    /// Whether something that was brought is not noted yet.
    pub fn has_queued(&self) -> bool {
        self.room.available_permits() < MAX_QUEUED_KIB
    }

    /// The Sources of which something is known.
    pub fn sources(&self) -> Vec<SourceId> {
        let roster = self.shared.roster();
        let all = roster.sources.iter().zip(&roster.tallies);
        all.filter(|(_, tally)| tally.entries > 0).map(|(source, _)| source.clone()).collect()
    }

    /// Stops or resumes the background that gives resources their vectors.
    pub fn pause_meaning(&self, is_paused: bool) {
        self.shared.bell.pause(is_paused);
    }

    /// Whether that background has something to do; cheaper than to count it.
    pub fn is_meaning_busy(&self) -> bool {
        self.encoder.is_some() && self.shared.bell.is_busy()
    }

    /// How many resources still have no vectors of what they are now.
    pub fn awaiting_meaning(&self) -> usize {
        if self.encoder.is_none() {
            return 0;
        }
        let (roster, vectors) = (self.shared.roster(), self.shared.vectors());
        roster.iter().filter(|record| vectors.version(record.id) != Some(record.version())).count()
    }

    /// Answers a question. Takes processor time, not waiting: call it where blocking is
    /// allowed.
    pub fn find(&self, query: &Query, sight: &dyn Sight) -> Result<Hits, QueryError> {
        let plan = plan::plan(query)?;
        let meaning = self.meaning_of(query, &plan);
        let store = self.shared.store();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let (roster, vectors) = (self.shared.roster(), self.shared.vectors());
            let judge = self.shared.judge(&roster);
            let finder = Finder { store: &store, roster: &roster, vectors: &vectors, sight, judge };
            finder.find(query, &plan, meaning.as_deref())
        }));
        let why = match outcome {
            Ok(Err(QueryError::Index { why })) => why,
            Ok(answer) => return answer,
            Err(_) => "it is damaged".to_owned(),
        };
        self.shared.note_error(&why);
        // The writer alone may replace the index.
        let _ = self.orders.send((Order::Rebuild(store, why.clone()), None));
        Err(QueryError::Index { why })
    }

    /// The type of a resource: as listed, else as found in its content.
    pub fn type_of(&self, key: &Key) -> Option<String> {
        let roster = self.shared.roster();
        let record = roster.find(&key.source, key.local.as_str())?;
        roster.type_of(record).map(str::to_owned)
    }

    /// How much of the caller's catalogue is indexed.
    pub fn coverage(&self, sight: &dyn Sight) -> Coverage {
        let roster = self.shared.roster();
        filter::Filter::new(&roster, sight, &Query::everything()).coverage()
    }

    /// How search is doing.
    pub fn status(&self) -> Status {
        let store = self.shared.store();
        let last_error = self.shared.last_error.lock().unwrap_or_else(PoisonError::into_inner);
        let vectors = self.shared.vectors();
        Status {
            place: store.place.clone(),
            opened: store.opened.clone(),
            entries: self.shared.roster().len(),
            bytes: self.shared.bytes.load(Ordering::Relaxed),
            vectors: vectors.len(),
            resources_with_vectors: vectors.resources(),
            queued_kib: MAX_QUEUED_KIB - self.room.available_permits(),
            staged: self.shared.staged.load(Ordering::Relaxed),
            last_error: last_error.clone(),
        }
    }

    /// The events of the index from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.shared.events.subscribe()
    }

    /// Commits what was brought, of long lists the beginning, and ends the threads. Blocks until
    /// they have.
    pub fn shutdown(&self) {
        self.tell_to_stop();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                tracing::warn!("a thread of search ended badly");
            }
        }
    }

    fn tell_to_stop(&self) {
        self.shared.is_stopping.store(true, Ordering::Relaxed);
        self.shared.bell.stop();
        // The writer may have ended already.
        let _ = self.orders.send((Order::Stop, None));
    }

    fn meaning_of(&self, query: &Query, plan: &plan::Plan) -> Option<Vec<f32>> {
        let encoder = self.encoder.as_ref().filter(|_| query.is_semantic)?;
        let text = plan.meaning.as_deref()?;
        let has_vectors = self.shared.vectors().len() > 0;
        has_vectors.then(|| encoder.encode(&[text]).pop()).flatten()
    }

    async fn order(&self, order: Order, kib: usize) {
        let permits = kib.clamp(1, MAX_QUEUED_KIB) as u32;
        // Neither the room nor the inbox closes while we are here.
        let room = self.room.clone().acquire_many_owned(permits).await.ok();
        let _ = self.orders.send((order, room));
    }
}

impl Drop for Search {
    /// Threads do not outlive what they work for; [`Search::shutdown`] waits for them.
    fn drop(&mut self) {
        self.tell_to_stop();
    }
}

fn entry_bytes(entry: &Entry) -> usize {
    let description = entry.description.as_ref().map_or(0, String::len);
    200 + entry.name.len() + entry.local.as_str().len() * 2 + description
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work)
}

fn open_vectors(
    store: &Store,
    roster: &Roster,
    encoder: Option<&dyn Encode>,
) -> (Option<VectorFile>, VectorSet) {
    let Some(encoder) = encoder else { return (None, VectorSet::default()) };
    let dimension = encoder.dimension();
    let is_current = |id, version| roster.get(id).is_some_and(|it| it.version() == version);
    if let Place::Disk(place) = &store.place {
        let path = place.join("vectors");
        match VectorFile::open(path, encoder.name(), dimension, is_current) {
            Ok((file, set)) => return (Some(file), set),
            Err(error) => tracing::warn!(%error, "vectors cannot be kept on disk"),
        }
    }
    (None, VectorSet::new(dimension))
}
