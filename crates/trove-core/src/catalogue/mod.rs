//! The catalogue: one current [`Snapshot`], written by one task, read by all.

pub mod collisions;
pub mod naming;
mod owned;
pub mod page;
pub mod rewrite;
pub mod shelf;

mod age;
mod refresh;
mod route;
mod snapshot;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

pub use age::Age;
pub use page::{BadCursor, PAGE_ENTRIES, Page};
pub use route::{MAX_ATTEMPTS, MAX_MATCHED_BYTES, Route, RouteError, RoutedBy};
pub use snapshot::{Member, NamedEntry, ResourceEntry, Snapshot, TemplateEntry};

pub use crate::changes::Change;
use crate::{
    changes::Changes,
    resource::OwnTools,
    source::{Source, SourceEvent, SourceId},
    status::StatusBoard,
};
use refresh::{Ends, Message, Writer};
use shelf::Shelf;

/// How many events may wait for the writer; a Source that sends more waits.
const MAX_WAITING_EVENTS: usize = 1024;

/// How long a client that lists waits for old listings to be renewed.
const MAX_RENEWAL_WAIT: Duration = Duration::from_millis(250);

/// Tells which tools of our own are offered beside these servers.
pub type NameOwn = Box<dyn Fn(&[&SourceId]) -> OwnTools + Send + Sync>;

/// The parts that the writer and the catalogue share.
#[derive(Default)]
struct Shared {
    /// Names our own tools.
    name_own: OnceLock<NameOwn>,
    /// It may name others by now.
    own_changed: Notify,
    /// A client wants to see the lists.
    wanted: Notify,
}

/// Holds the current Snapshot; readers copy a pointer.
pub struct Catalogue {
    current: Arc<ArcSwap<Snapshot>>,
    changes: Arc<Changes>,
    loaded: watch::Receiver<bool>,
    shared: Arc<Shared>,
    feed: Feed,
}

/// Where Sources report to; the way to the one writer.
#[derive(Clone)]
pub struct Feed(mpsc::Sender<Message>);

impl Feed {
    /// Adds a Source, or replaces the one of the same id.
    pub async fn attach(&self, source: Arc<dyn Source>) {
        self.send(Message::Attach(source)).await;
    }

    /// Says that every configured Source has been attached: from now on an empty
    /// catalogue means that there is nothing, not that nothing has been loaded yet.
    /// Waits until they are in the Snapshot, though perhaps not yet what they list.
    pub async fn all_attached(&self) {
        let (done, waiting) = oneshot::channel();
        self.send(Message::AllAttached(done)).await;
        let _ = waiting.await;
    }

    /// Removes a Source and all it listed.
    pub async fn detach(&self, id: SourceId) {
        self.send(Message::Detach(id)).await;
    }

    /// Reports what happened at a Source.
    pub async fn report(&self, id: &SourceId, event: SourceEvent) {
        self.send(Message::Event(id.clone(), event)).await;
    }

    async fn send(&self, message: Message) {
        // The writer only goes away when the whole gateway does.
        let _ = self.0.send(message).await;
    }
}

impl Catalogue {
    /// Starts the writer, which ends with `stop`; the task is the caller's to await.
    pub fn start(
        board: Arc<StatusBoard>,
        shelf: Option<Arc<dyn Shelf>>,
        changes: Arc<Changes>,
        stop: CancellationToken,
    ) -> (Catalogue, tokio::task::JoinHandle<()>) {
        let current = Arc::new(ArcSwap::from_pointee(Snapshot::empty()));
        let (sender, inbox) = mpsc::channel(MAX_WAITING_EVENTS);
        let (loaded_sender, loaded) = watch::channel(false);
        let shared = Arc::new(Shared::default());
        let ends =
            Ends { current: current.clone(), changes: changes.clone(), loaded: loaded_sender };
        let writer = Writer::new(ends, shared.clone(), board, shelf);
        let task = tokio::spawn(writer.run(inbox, sender.clone(), stop));
        (Catalogue { current, changes, loaded, shared, feed: Feed(sender) }, task)
    }

    /// Has Sources listed again whose listings are old.
    pub(crate) fn want(&self) {
        if self.has_old() {
            self.shared.wanted.notify_one();
        }
    }

    /// As `want`, and waits a moment for the listings; not again for those that do not come.
    pub(crate) async fn renewed(&self) {
        if !self.has_old() {
            return;
        }
        let mut changes = self.changes.reader_of_all();
        self.shared.wanted.notify_one();
        let renewed = async { while !self.awaited().is_empty() && changes.recv().await.is_ok() {} };
        if tokio::time::timeout(MAX_RENEWAL_WAIT, renewed).await.is_err() {
            // A listing that comes later is told as a change.
            for age in self.awaited() {
                age.note_late();
            }
        }
    }

    /// The ages of old listings that may come in time.
    fn awaited(&self) -> Vec<Arc<Age>> {
        let snapshot = self.current.load();
        let awaited =
            snapshot.members.iter().filter(|member| member.is_old() && !member.age.is_late());
        awaited.map(|member| member.age.clone()).collect()
    }

    fn has_old(&self) -> bool {
        self.current.load().members.iter().any(Member::is_old)
    }

    /// Says that something was done which may have changed what a Source lists.
    pub(crate) async fn doubt(&self, id: &SourceId) {
        if let Some(member) = self.current.load().member(id) {
            member.age.doubt();
        }
        self.feed.send(Message::Doubted(id.clone())).await;
    }

    /// The Snapshot of this moment.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Whether what was remembered from the last run is in the Snapshot.
    pub fn is_loaded(&self) -> bool {
        *self.loaded.borrow()
    }

    /// Waits until what was remembered from the last run is in the Snapshot.
    pub async fn loaded(&self) {
        let _ = self.loaded.clone().wait_for(|loaded| *loaded).await;
    }

    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Says who tells which tools of our own are offered; once, when they are made.
    pub(crate) fn adopt_own_tools(&self, name: NameOwn) {
        let _ = self.shared.name_own.set(name);
        self.tell_of_own_tools();
    }

    /// Tells that other tools of our own may be offered.
    pub(crate) fn tell_of_own_tools(&self) {
        self.shared.own_changed.notify_one();
    }

    /// Tells that other rules are in force.
    pub(crate) fn tell_of_rules(&self) {
        self.changes.note(Change::Rules);
    }

    /// Where Sources report to.
    pub fn feed(&self) -> Feed {
        self.feed.clone()
    }
}

/// One of the lists a Snapshot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    Resources,
    Templates,
    /// Tools of Sources that show theirs.
    Tools,
    /// Prompts of Sources that show theirs.
    Prompts,
    Skills,
}

impl List {
    /// Its name in the audit log and in its cursors.
    pub fn as_str(self) -> &'static str {
        match self {
            List::Resources => "resources",
            List::Templates => "templates",
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Skills => "skills",
        }
    }

    /// The cursor that leads to a place in this list, and in no other, e.g. `tools:wiki_find`.
    pub(crate) fn cursor_to(self, place: &str) -> String {
        format!("{}:{place}", self.as_str())
    }

    /// The place that a cursor of this list leads to.
    pub(crate) fn place_in(self, cursor: &str) -> Result<&str, BadCursor> {
        let place = cursor.strip_prefix(self.as_str()).and_then(|rest| rest.strip_prefix(':'));
        place.ok_or(BadCursor)
    }
}

impl Snapshot {
    /// The page of a list that follows `cursor`.
    pub fn page(&self, list: List, cursor: Option<&str>) -> Result<Page, BadCursor> {
        let named = |entries| {
            page::cut(entries, cursor, PAGE_ENTRIES, |n: &NamedEntry| (&n.public, &n.entry))
        };
        match list {
            List::Resources => {
                page::cut(&self.resources, cursor, PAGE_ENTRIES, |r| (r.public.as_str(), &r.entry))
            }
            List::Templates => {
                page::cut(&self.templates, cursor, PAGE_ENTRIES, |t| (t.public.as_str(), &t.entry))
            }
            List::Tools => named(&self.tools),
            List::Prompts => named(&self.prompts),
            List::Skills => named(&self.skills),
        }
    }
}
