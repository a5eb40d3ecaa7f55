//! The one that writes the index: takes orders, gathers them, commits them together.
//!
//! A commit costs the same for one document as for a thousand, so that orders wait for each other a
//! moment. Committed documents survive the process; others are fed again, because the Sources are
//! the truth.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering, mpsc},
    time::{Duration, Instant},
};

use tantivy::{IndexWriter, TantivyDocument, merge_policy::LogMergePolicy};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{
    collect,
    document::{self, Held, Shown},
    entry::{Content, Entry, Key, Skip, SourceListing},
    extract,
    filter::owner_number,
    interval::{Believed, Finding},
    looks,
    record::{self, State},
    roster::Roster,
    shared::{Event, Shared},
    staged::{Kept, Staged, documents},
    store::Store,
    uses,
};
use crate::source_id::SourceId;

/// How long an order waits for others at least.
const GATHER: Duration = Duration::from_millis(200);
/// Commits take at most about one part in so many of the time, unless a caller would wait longer
/// than [`MAX_GATHER`] for news.
const COMMIT_SHARE: u32 = 8;
/// How long an order waits for others at most.
const MAX_GATHER: Duration = Duration::from_secs(2);
/// How many resources are noted at a time; between, others have their turn at the roster.
const STEP: usize = 256;
/// How many resources of lists are still noted once the end is near.
const MAX_AT_STOP: usize = 5_000;
/// When so many resources wait they are committed at once.
const MAX_STAGED: usize = 20_000;
/// When so many bytes of content wait they are committed at once.
const MAX_STAGED_BYTES: usize = 24 * 1024 * 1024;
/// How long the writer's memory is kept when nothing comes.
const KEEP_WRITER: Duration = Duration::from_secs(10);
/// How much memory the writer may fill before it writes a segment.
const WRITER_BYTES: usize = 48 * 1024 * 1024;

/// Something to be written.
pub(super) enum Order {
    Put(Vec<Entry>),
    Remove(Vec<Key>),
    Listing(SourceListing),
    RemoveSource(SourceId),
    Content(Key, Content),
    /// A content that a client read.
    Passing(Key, Content),
    Skip(Key, Skip),
    Stale(Key),
    /// Everything before this is to be committed now.
    Flush(oneshot::Sender<()>),
    /// The index cannot be read.
    Rebuild(Arc<Store>, String),
    Stop,
}

/// An order and the room it takes in the queue.
pub(super) type Queued = (Order, Option<OwnedSemaphorePermit>);

pub(super) struct Writer {
    shared: Arc<Shared>,
    inbox: mpsc::Receiver<Queued>,
    writer: Option<IndexWriter>,
    staged: BTreeMap<u64, Staged>,
    staged_bytes: usize,
    gone: Vec<u64>,
    waiting: Vec<oneshot::Sender<()>>,
    /// When what is staged is to be committed.
    due: Option<Instant>,
    last_commit: Duration,
    is_full: bool,
    /// How often the index was built anew.
    rebuilt: u32,
    left_at_stop: usize,
}

/// How often an index on the disk is built anew before it is kept in memory.
const MAX_REBUILT_ON_DISK: u32 = 1;

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, inbox: mpsc::Receiver<Queued>) -> Writer {
        Writer {
            shared,
            inbox,
            writer: None,
            staged: BTreeMap::new(),
            staged_bytes: 0,
            gone: Vec::new(),
            waiting: Vec::new(),
            due: None,
            last_commit: Duration::ZERO,
            rebuilt: 0,
            left_at_stop: MAX_AT_STOP,
            is_full: false,
        }
    }

    /// Works until told to stop, or until no sender is left.
    pub(super) fn run(mut self) {
        self.measure();
        loop {
            match self.next() {
                Ok((Order::Stop, _)) | Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Ok((order, room)) => {
                    self.take(order);
                    drop(room);
                }
                Err(mpsc::RecvTimeoutError::Timeout) if self.due.is_some() => self.commit(),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    self.release();
                    self.keep_notes();
                }
            }
            if self.is_due() {
                self.commit();
            }
        }
        self.commit();
        self.release();
        self.keep_notes();
    }

    /// Writes down beside the index what is not worth a commit.
    fn keep_notes(&self) {
        let store = self.shared.store();
        let kept = uses::keep(&store, &self.shared.roster());
        let kept = kept.and_then(|()| looks::keep(&store, &self.shared.roster()));
        if let Err(error) = kept {
            self.shared.note_error(&error.to_string());
        }
    }

    fn next(&self) -> Result<Queued, mpsc::RecvTimeoutError> {
        match self.due {
            Some(due) => self.inbox.recv_timeout(due.saturating_duration_since(Instant::now())),
            None if self.writer.is_some() => self.inbox.recv_timeout(KEEP_WRITER),
            None => self.inbox.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        }
    }

    fn is_due(&self) -> bool {
        self.staged.len() >= MAX_STAGED
            || self.staged_bytes >= MAX_STAGED_BYTES
            || !self.waiting.is_empty()
            || self.due.is_some_and(|due| due <= Instant::now())
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Put(entries) => self.put(&entries),
            Order::Remove(keys) => self.remove(&keys),
            Order::Listing(listing) => self.replace(&listing),
            Order::RemoveSource(source) => {
                self.shared.doubts.forget(&source);
                self.replace(&SourceListing { source, entries: Vec::new() });
            }
            Order::Content(key, content) => self.put_content(&key, content),
            Order::Passing(key, content) => self.put_passing(&key, content),
            Order::Skip(key, skip) => self.skip(&key, skip),
            Order::Stale(key) => self.set_stale(&key),
            Order::Flush(done) => self.waiting.push(done),
            Order::Rebuild(store, why) if Arc::ptr_eq(&store, &self.shared.store()) => {
                self.rebuild(why);
            }
            // It has been replaced since.
            Order::Rebuild(..) => {}
            Order::Stop => {}
        }
        self.note_staged();
        if self.due.is_none() && (!self.staged.is_empty() || !self.gone.is_empty()) {
            let wait = (self.last_commit * COMMIT_SHARE).clamp(GATHER, MAX_GATHER);
            self.due = Some(Instant::now() + wait);
        }
    }

    fn note_staged(&self) {
        let staged = (self.staged.len() + self.gone.len()) as u64;
        self.shared.staged.store(staged, Ordering::Relaxed);
    }

    fn put(&mut self, entries: &[Entry]) {
        for step in entries.chunks(STEP) {
            if self.has_no_time_for(step.len()) || !self.put_step(step) {
                return;
            }
            if self.staged.len() >= MAX_STAGED {
                self.commit();
            }
            // Questions wait for the roster, too.
            std::thread::yield_now();
        }
    }

    /// Whether so many more would hold up a stop: of a long list the next run is told again.
    fn has_no_time_for(&mut self, entries: usize) -> bool {
        if !self.shared.is_stopping.load(Ordering::Relaxed) {
            return false;
        }
        self.left_at_stop = self.left_at_stop.saturating_sub(entries);
        self.left_at_stop == 0
    }

    /// Puts a few entries; false if no more can be known.
    fn put_step(&mut self, entries: &[Entry]) -> bool {
        let shared = self.shared.clone();
        let mut roster = shared.roster_mut();
        for entry in entries {
            let before = roster.find(&entry.source, entry.local.as_str());
            let is_same = before.is_some_and(|it| it.listed_hash == record::listed_hash(entry));
            if is_same {
                continue;
            }
            let is_new = before.is_none();
            let Some(id) = roster.put(entry, None) else {
                shared.note_error("more resources than search can know; the rest is not found");
                return false;
            };
            let staged = self.staged.entry(id).or_default();
            staged.is_new |= is_new;
            staged.shown = Some(Shown::of(entry));
        }
        true
    }

    fn remove(&mut self, keys: &[Key]) {
        let shared = self.shared.clone();
        for step in keys.chunks(STEP) {
            let mut roster = shared.roster_mut();
            for key in step {
                if let Some(id) = roster.remove(&key.source, key.local.as_str()) {
                    self.forget(id);
                }
            }
            drop(roster);
            std::thread::yield_now();
        }
    }

    fn forget(&mut self, id: u64) {
        let is_new = self.staged.remove(&id).is_some_and(|staged| staged.is_new);
        if !is_new {
            self.gone.push(id);
        }
        self.shared.vectors_mut().remove(id);
    }

    fn replace(&mut self, listing: &SourceListing) {
        let names = listing.names();
        let gone: Vec<Key> = {
            let roster = self.shared.roster();
            let Some(number) = roster.source_number(&listing.source) else {
                drop(roster);
                return self.put(&listing.entries);
            };
            let own = roster.iter().filter(|record| record.source == number);
            own.filter(|record| !names.contains(&*record.local))
                .map(|record| roster.key_of(record))
                .collect()
        };
        self.remove(&gone);
        self.put(&listing.entries);
    }

    fn put_passing(&mut self, key: &Key, content: Content) {
        let is_known = match content.owner.as_deref() {
            None => true,
            Some(owner) => {
                let roster = self.shared.roster();
                let record = roster.find(&key.source, key.local.as_str());
                record.is_some_and(|it| roster.has_private(it.id, owner_number(owner)))
            }
        };
        if is_known {
            self.put_content(key, content);
        }
    }

    fn put_content(&mut self, key: &Key, content: Content) {
        let shared = self.shared.clone();
        let mut roster = shared.roster_mut();
        let Some(record) = roster.find(&key.source, key.local.as_str()) else { return };
        if record.state == State::MetadataOnly || record.has_overtaken(content.read_at) {
            return;
        }
        let (id, mime) = (record.id, roster.listed_type_of(record).map(str::to_owned));
        let mime = content.mime.or(mime);
        let hash = record::hash(&(&content.text, &mime)).max(1);
        let owner = content.owner.as_deref().map_or(0, owner_number);
        let finding = roster.compare(id, owner, hash);
        if finding == Finding::First && self.is_full {
            drop(roster);
            return self.skip(key, Skip::IndexFull);
        }
        if let Some(record) = roster.get_mut(id) {
            record.note_look(content.read_at, finding, &content.believed);
        }
        let is_type_new = owner == 0 && mime.as_deref().is_some_and(|it| roster.note_type(id, it));
        roster.put_hash(id, owner, hash);
        drop(roster);
        if is_type_new {
            self.staged.entry(id).or_default();
        }
        if finding == Finding::Same {
            return;
        }
        let extracted = extract::extract(&content.text, mime.as_deref(), key.local.as_str());
        self.staged_bytes += extracted.body.len();
        let staged = self.staged.entry(id).or_default();
        staged.contents.retain(|held| held.owner != owner);
        staged.contents.push(Held::of(extracted, owner, hash));
    }

    /// Notes that a content was looked at and is left out.
    fn skip(&mut self, key: &Key, skip: Skip) {
        let state = State::Skipped(skip);
        {
            let mut roster = self.shared.roster_mut();
            let known = roster.find(&key.source, key.local.as_str());
            let Some((id, before)) = known.map(|it| (it.id, it.state)) else { return };
            let finding = match before {
                State::Wanted | State::MetadataOnly => Finding::First,
                before if before == state => Finding::Same,
                _ => Finding::Changed,
            };
            // The look at a private content was noted with that content.
            if skip != Skip::Private
                && let Some(record) = roster.get_mut(id)
            {
                record.note_look(self.shared.now(), finding, &Believed::default());
            }
        }
        self.set_state(key, state);
    }

    fn set_state(&mut self, key: &Key, state: State) {
        let shared = self.shared.clone();
        let mut roster = shared.roster_mut();
        let Some(record) = roster.find(&key.source, key.local.as_str()) else { return };
        if record.state != state {
            let id = record.id;
            roster.set_state(id, state);
            self.staged.entry(id).or_default();
        }
    }

    /// Notes that a content is to be read again. Nothing is written for it: it may be the same.
    fn set_stale(&mut self, key: &Key) {
        let mut roster = self.shared.roster_mut();
        let known = roster.find(&key.source, key.local.as_str());
        let Some((id, before)) = known.map(|it| (it.id, it.state)) else { return };
        match before {
            State::Indexed => roster.set_state(id, State::Stale),
            State::Skipped(_) => roster.set_state(id, State::Wanted),
            State::MetadataOnly | State::Wanted | State::Stale => {}
        }
    }

    /// Writes everything that is staged. An index that cannot be written is built anew.
    fn commit(&mut self) {
        self.due = None;
        let started = Instant::now();
        if !self.staged.is_empty() || !self.gone.is_empty() {
            let outcome = catch_unwind(AssertUnwindSafe(|| self.try_commit()));
            let why = match outcome {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("the index library gave up".to_owned()),
            };
            if let Some(why) = why {
                self.rebuild(why);
            }
            self.staged.clear();
            self.gone.clear();
            self.staged_bytes = 0;
            self.note_staged();
            self.last_commit = started.elapsed();
            self.measure();
            self.shared.wake_embedder();
        }
        for waiting in self.waiting.drain(..) {
            // The one who waited may have gone.
            let _ = waiting.send(());
        }
    }

    /// Forgets what was known of contents that are not to be indexed any more.
    fn forget_unheld(&self) {
        let unheld: Vec<u64> = {
            let roster = self.shared.roster();
            let staged = self.staged.keys().filter_map(|id| roster.get(*id));
            staged.filter(|record| record.is_unheld()).map(|record| record.id).collect()
        };
        if !unheld.is_empty() {
            let mut roster = self.shared.roster_mut();
            unheld.into_iter().for_each(|id| roster.forget_content(id));
        }
    }

    fn try_commit(&mut self) -> tantivy::Result<()> {
        self.forget_unheld();
        let store = self.shared.store();
        if self.writer.is_none() {
            store.set_clean(false);
            self.writer = Some(open_writer(&store)?);
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        for id in &self.gone {
            writer.delete_term(store.fields.id_term(*id));
        }
        let searcher = store.reader.searcher();
        for (id, staged) in &mut self.staged {
            let mut kept = Kept::default();
            if !staged.is_new {
                for (doc, _) in collect::all_documents_of(&searcher, &store.fields, *id)? {
                    kept.take(document::read(
                        &store.fields,
                        &searcher.doc::<TantivyDocument>(doc)?,
                    ));
                }
                writer.delete_term(store.fields.id_term(*id));
            }
            kept.replace(std::mem::take(&mut staged.contents));
            let shown = staged.shown.take().unwrap_or_else(|| std::mem::take(&mut kept.shown));
            // Only looked at: a search meanwhile is not held up, nor are we.
            let roster = self.shared.roster();
            let Some(record) = roster.get(*id) else { continue };
            kept.clear_unless_held(record.state);
            for document in documents(&store, &roster, record, &shown, &kept.contents) {
                writer.add_document(document)?;
            }
        }
        writer.commit()?;
        store.reader.reload()
    }

    fn rebuild(&mut self, why: String) {
        tracing::warn!(%why, "the search index is built anew");
        self.writer = None;
        self.rebuilt += 1;
        // A disk that is full takes an empty index, and then no more than before.
        let store = match self.rebuilt {
            0..=MAX_REBUILT_ON_DISK => self.shared.store().rebuilt(why.clone()),
            _ => Store::moved_to_memory(why.clone()),
        };
        match store {
            Ok(store) => {
                *self.shared.roster_mut() = Roster::default();
                self.shared.vectors_mut().retain(|_| false);
                self.shared.store.store(Arc::new(store));
                // The event may have no listener; the status tells it too.
                let _ = self.shared.events.send(Event::Rebuilt { why });
            }
            Err(error) => self.shared.note_error(&error.to_string()),
        }
    }

    fn measure(&mut self) {
        let bytes = self.shared.store().bytes();
        self.shared.bytes.store(bytes, Ordering::Relaxed);
        self.is_full = bytes > self.shared.config.max_index_bytes;
    }

    /// Gives the writer's memory back.
    fn release(&mut self) {
        if let Some(writer) = self.writer.take() {
            if let Err(error) = writer.wait_merging_threads() {
                self.shared.note_error(&error.to_string());
            }
            let store = self.shared.store();
            if store.reader.reload().is_ok() {
                store.set_clean(true);
            }
            self.measure();
        }
    }
}

fn open_writer(store: &Store) -> tantivy::Result<IndexWriter> {
    let writer: IndexWriter = store.index.writer_with_num_threads(1, WRITER_BYTES)?;
    let mut merging = LogMergePolicy::default();
    merging.set_del_docs_ratio_before_merge(0.3);
    writer.set_merge_policy(Box::new(merging));
    Ok(writer)
}
