//! The one writer: events in, Snapshot and Change out.
//!
//! A Source is listed at most once a second, even if it says more often that its lists changed, and
//! never twice at a time. A listing that fails leaves the last one in place, marked stale.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwap;
use futures_util::FutureExt as _;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::{AbortHandle, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{
    Member, Shared, Snapshot,
    age::{self, Age},
    shelf::Shelf,
};
use crate::{
    aside::aside,
    changes::{Change, Changes},
    resource::{Listing, ListsChanged, OwnTools},
    source::{Source, SourceError, SourceEvent, SourceId},
    status::{Counts, State, StatusBoard},
};

/// The least time between the starts of two listings of one Source.
const MIN_LISTING_INTERVAL: Duration = Duration::from_secs(1);
/// The least time for a Source on this machine, whose listing costs no message.
const MIN_LOCAL_LISTING_INTERVAL: Duration = Duration::from_millis(200);
/// How much longer for each entry of such a list.
const REST_FOR_LOCAL_ENTRY: Duration = Duration::from_micros(10);
/// How much longer for each entry that it listed: a long list takes long to read.
const REST_FOR_ENTRY: Duration = Duration::from_micros(20);
/// How much longer for each entry of a list that is new, and so is indexed.
const REST_FOR_NEW_ENTRY: Duration = Duration::from_micros(200);
/// How much longer for each entry of any Source, where a new Snapshot was made of all of them.
const REST_FOR_ANY_ENTRY: Duration = Duration::from_micros(10);
/// How many bytes an entry has, about.
const BYTES_OF_ENTRY: usize = 100;
/// How many messages are handled before a Snapshot is made and others have their turn.
const MAX_AT_ONCE: usize = 256;
/// How long to wait before listing again a Source whose listing failed.
const RETRY_LISTING_AFTER: Duration = Duration::from_secs(5);
/// From this many entries on a Snapshot is built aside, if no caller waits.
const BUILD_ASIDE_FROM: usize = 2000;
/// How often that time doubles at the most: up to five minutes.
const MAX_DOUBLINGS: u32 = 6;

/// The messages to the writer.
pub(super) enum Message {
    Attach(Arc<dyn Source>),
    Detach(SourceId),
    Event(SourceId, SourceEvent),
    /// All Sources of the configuration have been attached; to be answered once they are
    /// in the Snapshot.
    AllAttached(oneshot::Sender<()>),
    /// The list of a Source from before the last restart.
    Remembered(SourceId, u64, Listing),
    Listed(SourceId, u64, Result<Listing, SourceError>),
    /// The lists of a Source may have changed.
    Doubted(SourceId),
    /// A Source is to be listed again that was left alone for a while.
    Due(SourceId, u64),
}

/// Where the writer puts what it makes.
pub(super) struct Ends {
    pub(super) current: Arc<ArcSwap<Snapshot>>,
    pub(super) changes: Arc<Changes>,
    pub(super) loaded: watch::Sender<bool>,
}

pub(super) struct Writer {
    current: Arc<ArcSwap<Snapshot>>,
    changes: Arc<Changes>,
    board: Arc<StatusBoard>,
    shelf: Option<Arc<dyn Shelf>>,
    loaded: watch::Sender<bool>,
    shared: Arc<Shared>,
    slots: BTreeMap<SourceId, Slot>,
    revision: u64,
    generation: u64,
    is_dirty: bool,
    /// A Source was listed since the last word of that.
    has_looked: bool,
    /// Memories that are still being read.
    loading: usize,
    is_complete: bool,
    all_attached: Option<oneshot::Sender<()>>,
    announced: ListsChanged,
    /// The Sources whose listing is new since the last Snapshot.
    listed: Vec<SourceId>,
    tasks: JoinSet<()>,
}

/// The state of one Source, as the writer knows it.
struct Slot {
    source: Arc<dyn Source>,
    listing: Arc<Listing>,
    is_stale: bool,
    /// Tells this attachment from an earlier one of the same id.
    generation: u64,
    age: Arc<Age>,
    listing_since: Option<Instant>,
    is_listing: bool,
    /// The lists changed while they were being read.
    changed_meanwhile: bool,
    /// The last look found another list than the one before.
    was_new: bool,
    /// The changes that the Source announced since it was last listed.
    announced: ListsChanged,
    /// How often in a row a listing was tried again because it was not whole.
    retries: u32,
    /// It will be listed again later, if nothing happens before.
    later: Option<AbortHandle>,
}

impl Slot {
    fn forget_later(&mut self) {
        if let Some(later) = self.later.take() {
            later.abort();
        }
    }

    /// The least time between two listings. It grows with the length of the list, as its cost does.
    /// So a Source whose list differs at each look takes a share of the processor, not all of it.
    fn interval(&self, all_entries: usize) -> Duration {
        let rest = |each: Duration, entries: usize| {
            each.saturating_mul(u32::try_from(entries).unwrap_or(u32::MAX))
        };
        let entries = self.listing.resources.len();
        if self.source.is_local() {
            return rest(REST_FOR_LOCAL_ENTRY, entries).max(MIN_LOCAL_LISTING_INTERVAL);
        }
        let interval = if self.was_new {
            rest(REST_FOR_NEW_ENTRY, entries) + rest(REST_FOR_ANY_ENTRY, all_entries)
        } else {
            rest(REST_FOR_ENTRY, entries)
        };
        interval.max(MIN_LISTING_INTERVAL)
    }

    fn as_member(&self) -> Member {
        Member {
            source: self.source.clone(),
            listing: self.listing.clone(),
            is_stale: self.is_stale && !self.source.is_builtin(),
            age: self.age.clone(),
        }
    }
}

impl Writer {
    pub(super) fn new(
        ends: Ends,
        shared: Arc<Shared>,
        board: Arc<StatusBoard>,
        shelf: Option<Arc<dyn Shelf>>,
    ) -> Writer {
        let Ends { current, changes, loaded } = ends;
        Writer {
            current,
            changes,
            board,
            shelf,
            loaded,
            shared,
            slots: BTreeMap::new(),
            revision: 0,
            generation: 0,
            is_dirty: false,
            has_looked: false,
            loading: 0,
            is_complete: false,
            all_attached: None,
            announced: ListsChanged::default(),
            listed: Vec::new(),
            tasks: JoinSet::new(),
        }
    }

    pub(super) async fn run(
        mut self,
        mut inbox: mpsc::Receiver<Message>,
        own: mpsc::Sender<Message>,
        stop: CancellationToken,
    ) {
        let shared = self.shared.clone();
        loop {
            let message = tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = self.tasks.join_next() => continue,
                () = shared.own_changed.notified() => {
                    self.is_dirty |= self.own_tools() != *self.current.load().own_tools();
                    self.publish().await;
                    continue;
                }
                () = shared.wanted.notified() => {
                    self.renew_old(&own);
                    continue;
                }
                message = inbox.recv() => message,
            };
            let Some(message) = message else { break };
            self.handle(message, &own);
            // One Snapshot for all that has arrived by now. More may come for ever.
            for _ in 0..MAX_AT_ONCE {
                let Ok(message) = inbox.try_recv() else { break };
                self.handle(message, &own);
            }
            self.publish().await;
            tokio::task::yield_now().await;
            if let Some(done) = self.all_attached.take() {
                let _ = done.send(());
            }
            // Our own Sources are listed before the first answer: they are here, and quick.
            let is_own_listed =
                self.slots.values().all(|slot| !slot.source.is_builtin() || !slot.is_stale);
            if self.is_complete && self.loading == 0 && is_own_listed {
                self.loaded.send_replace(true);
            }
        }
        if let Some(shelf) = &self.shelf {
            shelf.close();
        }
        self.tasks.shutdown().await;
    }

    fn handle(&mut self, message: Message, own: &mpsc::Sender<Message>) {
        match message {
            Message::Attach(source) => self.attach(source, own),
            Message::Detach(id) => self.detach(&id),
            Message::AllAttached(done) => {
                self.all_attached = Some(done);
                self.is_complete = true;
                self.forget_others();
            }
            Message::Remembered(id, generation, remembered) => {
                self.on_remembered(&id, generation, remembered);
            }
            Message::Event(id, event) => self.on_event(id, event, own),
            Message::Listed(id, generation, result) => self.on_listed(id, generation, result, own),
            Message::Doubted(id) => self.list_when_old(&id, own),
            Message::Due(id, generation) => {
                if self.slots.get(&id).is_some_and(|slot| slot.generation == generation) {
                    self.start_listing(&id, own);
                }
            }
        }
    }

    fn attach(&mut self, source: Arc<dyn Source>, own: &mpsc::Sender<Message>) {
        let id = source.id().clone();
        self.board.update(&id, |status| status.stale_since = Some(Instant::now()));
        if self.slots.contains_key(&id) {
            // Behind another entry is another server: nothing that was kept is its word.
            self.changes.note(Change::Doubted(id.clone()));
        }
        self.generation += 1;
        let generation = self.generation;
        if let Some(shelf) = self.shelf.clone().filter(|_| !source.is_local()) {
            self.loading += 1;
            let (id, own, fingerprint) = (id.clone(), own.clone(), source.fingerprint());
            self.tasks.spawn_blocking(move || {
                // The start goes on without a damaged memory, even if loading it panics.
                let load = catch_unwind(AssertUnwindSafe(|| shelf.load(&id)));
                let own_memory = load.ok().flatten().filter(|(of, _)| *of == fingerprint);
                let remembered = own_memory.map(|(_, listing)| listing).unwrap_or_default();
                // The writer only goes away when the whole gateway does.
                let _ = own.blocking_send(Message::Remembered(id, generation, remembered));
            });
        }
        let slot = Slot {
            source,
            listing: Arc::default(),
            is_stale: true,
            generation,
            age: Arc::default(),
            listing_since: None,
            is_listing: false,
            changed_meanwhile: false,
            was_new: false,
            announced: ListsChanged::default(),
            retries: 0,
            later: None,
        };
        self.slots.insert(id, slot);
        self.is_dirty = true;
    }

    /// A memory is only good for a Source that has not spoken for itself meanwhile.
    fn on_remembered(&mut self, id: &SourceId, generation: u64, remembered: Listing) {
        self.loading -= 1;
        let slot = self.slots.get_mut(id);
        if let Some(slot) = slot.filter(|slot| slot.generation == generation && slot.is_stale) {
            self.board.update(id, |status| {
                status.counts = counts(&remembered);
                status.is_known |= status.counts != Counts::default();
            });
            slot.listing = Arc::new(remembered);
            self.is_dirty = true;
        }
    }

    fn detach(&mut self, id: &SourceId) {
        if let Some(mut slot) = self.slots.remove(id) {
            slot.forget_later();
            self.is_dirty = true;
        }
        self.forget_others();
    }

    /// Forgets the listings of Sources that are no more.
    fn forget_others(&mut self) {
        if let Some(shelf) = self.shelf.clone() {
            let ids: Vec<SourceId> = self.slots.keys().cloned().collect();
            self.tasks.spawn_blocking(move || shelf.retain(&ids));
        }
    }

    fn on_event(&mut self, id: SourceId, event: SourceEvent, own: &mpsc::Sender<Message>) {
        match event {
            SourceEvent::Ready => {
                self.changes.note(Change::Doubted(id.clone()));
                if let Some(slot) = self.slots.get_mut(&id) {
                    slot.retries = 0;
                }
                self.start_listing(&id, own);
            }
            SourceEvent::ListsChanged(lists) => {
                self.changes.note(Change::Doubted(id.clone()));
                if let Some(slot) = self.slots.get_mut(&id) {
                    slot.announced = slot.announced.or(lists);
                }
                self.start_listing(&id, own);
            }
            SourceEvent::Updated(uri) => {
                self.changes.note(Change::Updated { source: id, uri });
            }
            SourceEvent::Log(message) => {
                self.changes.note(Change::Log { source: id, message });
            }
            SourceEvent::Down => self.mark_stale(&id),
        }
    }

    fn mark_stale(&mut self, id: &SourceId) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        if !slot.is_stale {
            slot.is_stale = true;
            self.is_dirty = true;
            self.board.update(id, |status| status.stale_since = Some(Instant::now()));
        }
    }

    /// Lists those again whose listings are old.
    fn renew_old(&mut self, own: &mpsc::Sender<Message>) {
        let old = self.slots.iter().filter(|(_, s)| !s.is_listing && s.as_member().is_old());
        let old = old.map(|(id, _)| id.clone());
        for id in old.collect::<Vec<_>>() {
            if self.board.of(&id).is_some_and(|status| status.state == State::Ready) {
                self.start_listing(&id, own);
            }
        }
    }

    /// Lists what is doubted as soon as that may be: not every one tells what it declares to tell.
    fn list_when_old(&mut self, id: &SourceId, own: &mpsc::Sender<Message>) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        if slot.is_listing || slot.is_stale || slot.later.is_some() {
            return;
        }
        let announces = slot.source.announces_lists();
        if let Some(left) = slot.age.left(slot.listing.freshness, announces) {
            self.list_later(id, left, own);
        }
    }

    fn list_later(&mut self, id: &SourceId, delay: Duration, own: &mpsc::Sender<Message>) {
        if delay.is_zero() {
            return self.start_listing(id, own);
        }
        let Some(slot) = self.slots.get_mut(id) else { return };
        let (due, own) = (Message::Due(id.clone(), slot.generation), own.clone());
        slot.forget_later();
        slot.later = Some(self.tasks.spawn(async move {
            tokio::time::sleep(delay).await;
            let _ = own.send(due).await;
        }));
    }

    fn start_listing(&mut self, id: &SourceId, own: &mpsc::Sender<Message>) {
        let entries = self.slots.values().map(|slot| slot.listing.resources.len()).sum();
        let Some(slot) = self.slots.get_mut(id) else { return };
        slot.forget_later();
        if slot.is_listing {
            slot.changed_meanwhile = true;
            return;
        }
        let now = Instant::now();
        let interval = slot.interval(entries);
        let earliest = slot.listing_since.map_or(now, |since| since + interval);
        let start = earliest.max(now);
        (slot.is_listing, slot.listing_since) = (true, Some(start));
        let (source, age, own) = (slot.source.clone(), slot.age.clone(), own.clone());
        let (id, generation) = (id.clone(), slot.generation);
        self.tasks.spawn(async move {
            if start > now {
                tokio::time::sleep_until(start).await;
            }
            age.begin();
            // A Source that panics has failed like any other, and is listed again later.
            let result = AssertUnwindSafe(source.list()).catch_unwind().await;
            let result = result.unwrap_or_else(|_| {
                let what = "listing failed by a fault of Trove's own".to_owned();
                Err(SourceError::Malformed { what })
            });
            let _ = own.send(Message::Listed(id, generation, result)).await;
        });
    }

    fn on_listed(
        &mut self,
        id: SourceId,
        generation: u64,
        result: Result<Listing, SourceError>,
        own: &mpsc::Sender<Message>,
    ) {
        let Some(slot) = self.slots.get_mut(&id).filter(|s| s.generation == generation) else {
            return;
        };
        slot.is_listing = false;
        self.has_looked = true;
        let again = std::mem::take(&mut slot.changed_meanwhile);
        let is_whole = match result {
            Ok(listing) => {
                let is_whole = !listing.unread.any();
                self.accept(&id, listing);
                is_whole
            }
            Err(error) => {
                warn!(source = %id, %error, "listing failed; the last one stands");
                self.mark_stale(&id);
                let outage = error.as_outage("listing");
                let told = short(&outage.told);
                let outage = outage.told(told);
                self.board.update(&id, |status| status.last_error = Some(outage));
                false
            }
        };
        if again {
            self.start_listing(&id, own);
        } else if !is_whole && self.board.of(&id).is_some_and(|s| s.state == State::Ready) {
            self.retry_listing(&id, own);
        } else if is_whole && let Some(slot) = self.slots.get_mut(&id) {
            slot.retries = 0;
            if slot.age.is_doubted() {
                self.list_when_old(&id, own);
            }
        }
    }

    /// Lists again after a while, which doubles as long as it does not help.
    fn retry_listing(&mut self, id: &SourceId, own: &mpsc::Sender<Message>) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        let delay = RETRY_LISTING_AFTER * 2u32.pow(slot.retries.min(MAX_DOUBLINGS));
        slot.retries += 1;
        let took = slot.listing_since.map_or(Duration::ZERO, |since| since.elapsed());
        self.list_later(id, delay.max(took * age::SHARE), own);
    }

    fn accept(&mut self, id: &SourceId, mut listing: Listing) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        let bytes = listing.resources.len() * BYTES_OF_ENTRY;
        let is_same = aside(bytes, || {
            listing.complete_from(&slot.listing);
            listing.is_same(&slot.listing)
        });
        slot.age.renew(slot.listing_since.map_or(Duration::ZERO, |since| since.elapsed()));
        // The first list of a Source is new to us, not a change.
        slot.was_new = !is_same && !slot.is_stale;
        if is_same && !slot.is_stale && !slot.announced.any() {
            return;
        }
        let counts = counts(&listing);
        info!(source = %id, resources = counts.resources, templates = counts.templates, "listed");
        for omission in &listing.omissions {
            warn!(source = %id, omission, "listing is not whole");
        }
        slot.listing = Arc::new(listing);
        slot.is_stale = false;
        self.listed.push(id.clone());
        // Said by the Source itself, so passed on even where the entries look the same.
        self.announced = self.announced.or(std::mem::take(&mut slot.announced));
        self.is_dirty = true;
        if let Some(shelf) = self.shelf.clone().filter(|_| !slot.source.is_local()) {
            let (id, listing) = (id.clone(), slot.listing.clone());
            let fingerprint = slot.source.fingerprint();
            self.tasks.spawn_blocking(move || {
                if let Err(error) = shelf.save(&id, fingerprint, &listing) {
                    warn!(source = %id, %error, "listing not kept for the next start");
                }
            });
        }
    }

    fn report_listed(&self, id: &SourceId) {
        let Some(slot) = self.slots.get(id).filter(|slot| !slot.is_stale) else { return };
        self.board.update(id, |status| {
            status.counts = counts(&slot.listing);
            status.stale_since = None;
            status.is_known = true;
            status.last_error = None;
            status.omissions.clone_from(&slot.listing.omissions);
        });
    }

    /// The tools of our own that are offered beside the Sources there are.
    fn own_tools(&self) -> OwnTools {
        let servers = self.slots.values().map(|slot| &slot.source);
        let servers: Vec<&SourceId> =
            servers.filter(|source| !source.is_builtin()).map(|source| source.id()).collect();
        self.shared.name_own.get().map(|name| name(&servers)).unwrap_or_default()
    }

    async fn publish(&mut self) {
        if std::mem::take(&mut self.is_dirty) {
            self.publish_anew().await;
            self.has_looked = true;
        }
        if std::mem::take(&mut self.has_looked) {
            self.changes.note(Change::Listed);
        }
    }

    async fn publish_anew(&mut self) {
        self.revision += 1;
        let members: Vec<Member> = self.slots.values().map(Slot::as_member).collect();
        let entries: usize = members.iter().map(|m| m.listing.resources.len()).sum();
        let (revision, old) = (self.revision, self.current.load_full());
        let own = self.own_tools();
        let build = move || {
            let new = Snapshot::beside(own, revision, members);
            let changed = new.differs_from(&old);
            (Arc::new(new), changed)
        };
        // A large one takes long enough for requests to notice.
        let built = if entries > BUILD_ASIDE_FROM {
            tokio::task::spawn_blocking(build).await
        } else {
            Ok(build())
        };
        let Ok((new, changed)) = built else {
            return error!("the catalogue could not be put together; the last one stands");
        };
        self.current.store(new);
        // A reader of the board that sees a Source as listed must find its list.
        for id in std::mem::take(&mut self.listed) {
            self.report_listed(&id);
        }
        let changed = changed.or(std::mem::take(&mut self.announced));
        if changed.any() {
            self.changes.note(Change::Lists(changed));
        }
    }
}

/// A server's message may be long; at most 500 characters of it are shown.
fn short(text: &str) -> String {
    text.chars().take(500).collect()
}

fn counts(listing: &Listing) -> Counts {
    Counts {
        resources: listing.resources.len(),
        templates: listing.templates.len(),
        tools: listing.tools.len(),
        prompts: listing.prompts.len(),
    }
}
