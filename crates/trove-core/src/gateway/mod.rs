//! The use cases; the only front door.
//!
//! Every door, the MCP server and the command line alike, asks here and nowhere else. So a rule
//! that holds for one holds for all. The gateway has no state of its own: it joins the parts.

mod actions;
mod admit;
mod completing;
mod crawl;
mod documents;
mod error;
mod facts;
mod fetch;
mod figures;
mod find;
mod hearers;
mod index;
mod limits;
mod live;
mod papers;
mod progress;
mod rights;
mod road;
mod rules;
mod settle;
mod stores;
mod trim;
mod views;
mod watches;

use std::{
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

pub use actions::Action;
pub use crawl::{
    CrawlSettings, IndexRule, IndexRules, MAX_INDEX_RULES, READS_A_SECOND, REVISITS_A_SECOND,
};
pub use documents::{GuideShelf, Written};
pub use error::AskError;
pub use fetch::{ListAnswer, MAX_CACHE_BYTES, MAX_CACHED_ANSWER, Reading};
pub use find::{FindError, Found};
pub use index::{Index, Opening};
pub use limits::Limits;
pub use live::{LIVE_WAIT, LiveAnswer, LiveQuestion, MAX_LIVE_WAIT};
pub use papers::{NoPart, Texts, Wanted};
pub use road::{Answer, Call, Purpose, Read};
pub use rules::{Named, Rules};
pub use views::View;
pub use watches::{MAX_WATCHES, News, Watched};

use crate::{
    about::{About, SecuritySettings, ServerSettings, ToolBook},
    access::{Access, audit::Audit},
    cache::{Cache, Stats},
    caller::Caller,
    catalogue::{Catalogue, Feed, Snapshot, shelf::Shelf},
    changes::{Changes, Reader},
    flags::Flags,
    knowledge::Knowledge,
    metrics::Metrics,
    papers::Papers,
    programs::Programs,
    source::Source,
    status::StatusBoard,
};
use views::{Kind, Views};
use watches::Watches;

/// How long answers of public Sources are believed where nothing else is set.
const DEFAULT_CACHE_TTL_MS: u64 = 300_000;
/// How long questions wait for what was remembered from the last run, all together: the memory of
/// one server may be long.
const MAX_LOADING: Duration = Duration::from_secs(2);

/// The parts, joined.
pub struct Gateway {
    version: &'static str,
    started: Instant,
    /// When the first question waited for what was remembered.
    first_waited: OnceLock<Instant>,
    limits: Limits,
    catalogue: Arc<Catalogue>,
    board: Arc<StatusBoard>,
    metrics: Arc<Metrics>,
    access: ArcSwap<Access>,
    /// Made of them and of the guide, and made again when either changes.
    rules: ArcSwap<Rules>,
    views: Views,
    cache: Cache,
    keepers: fetch::Keepers,
    cache_ttl_ms: AtomicU64,
    watches: Watches,
    tools: OnceLock<Weak<dyn ToolBook>>,
    flags: Option<Arc<Flags>>,
    audit: Audit,
    knowledge: Option<Arc<Knowledge>>,
    index: Index,
    /// How many questions servers may still be asked.
    live: live::Budget,
    programs: Option<Arc<dyn Programs>>,
    papers: Option<Arc<dyn Papers>>,
    /// The rules of the settings for work in the background.
    pub crawl_settings: CrawlSettings,
    demand: crawl::Demand,
    passing: crawl::Passing,
    hearers: hearers::Hearers,
    progress: progress::Progress,
    settings: ArcSwap<(ServerSettings, SecuritySettings)>,
    watched_files: stores::Watched,
    stop: CancellationToken,
    writer: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

/// Everything a gateway is made of. It does without a part that is left out.
pub struct Parts {
    /// The version of the program.
    pub version: &'static str,
    /// How much it may hold.
    pub limits: Limits,
    /// Remembers listings across restarts.
    pub shelf: Option<Arc<dyn Shelf>>,
    pub flags: Option<Arc<Flags>>,
    pub audit: Audit,
    /// Local knowledge, served as a Source of ours.
    pub knowledge: Option<Arc<Knowledge>>,
    pub index: Index,
    /// The runner of programs.
    pub programs: Option<Arc<dyn Programs>>,
    /// The reader of papers.
    pub papers: Option<Arc<dyn Papers>>,
}

impl Parts {
    /// The parts of a gateway that serves only what it says about itself.
    pub fn new(version: &'static str) -> Parts {
        Parts {
            version,
            limits: Limits::default(),
            shelf: None,
            flags: None,
            audit: Audit::off(),
            knowledge: None,
            index: Index::default(),
            programs: None,
            papers: None,
        }
    }
}

impl Gateway {
    /// A gateway made of these parts, at work.
    pub async fn new(parts: Parts) -> Arc<Gateway> {
        let Parts { version, limits, shelf, flags, audit, knowledge, index, programs, papers } =
            parts;
        let board = Arc::new(StatusBoard::default());
        let stop = CancellationToken::new();
        let changes = Arc::new(Changes::default());
        let cache = Cache::fed_by(changes.reader_of_all(), fetch::config(&limits));
        let (catalogue, writer) = Catalogue::start(board.clone(), shelf, changes, stop.clone());
        let gateway = Arc::new(Gateway {
            version,
            started: Instant::now(),
            first_waited: OnceLock::new(),
            catalogue: Arc::new(catalogue),
            board,
            metrics: Arc::default(),
            access: ArcSwap::default(),
            rules: ArcSwap::default(),
            views: Views::default(),
            cache,
            keepers: fetch::Keepers::default(),
            cache_ttl_ms: AtomicU64::new(DEFAULT_CACHE_TTL_MS),
            watches: Watches::within(limits.watches),
            limits,
            tools: OnceLock::new(),
            flags,
            audit,
            knowledge: knowledge.clone(),
            index,
            live: live::Budget::default(),
            programs,
            papers,
            crawl_settings: CrawlSettings::default(),
            demand: crawl::Demand::new(),
            passing: crawl::Passing::new(),
            hearers: hearers::Hearers::default(),
            progress: progress::Progress::default(),
            settings: ArcSwap::default(),
            watched_files: stores::Watched::default(),
            stop,
            writer: tokio::sync::Mutex::new(Some(writer)),
        });
        let facts: Weak<Gateway> = Arc::downgrade(&gateway);
        gateway.attach_builtin(Arc::new(About::new(facts))).await;
        if let Some(knowledge) = knowledge {
            gateway.attach_builtin(knowledge).await;
        }
        gateway
    }

    /// Adds a Source that is part of the gateway.
    async fn attach_builtin(&self, source: Arc<dyn Source>) {
        let id = source.id().clone();
        self.board.add(&id, "builtin");
        self.board.update(&id, |status| status.state = crate::status::State::Ready);
        let feed = self.catalogue.feed();
        feed.attach(source).await;
        feed.report(&id, crate::source::SourceEvent::Ready).await;
    }

    /// Where Sources report to.
    pub fn feed(&self) -> Feed {
        self.catalogue.feed()
    }

    /// The state of each Source.
    pub fn board(&self) -> &Arc<StatusBoard> {
        &self.board
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Changes from now on.
    pub fn changes(&self) -> Reader {
        self.catalogue.changes().reader()
    }

    /// The Snapshot of this moment, even if not every Source is in it yet.
    pub fn current(&self) -> Arc<Snapshot> {
        self.catalogue.snapshot()
    }

    /// The Snapshot of this moment, once what was remembered is in it.
    pub async fn snapshot(&self) -> Arc<Snapshot> {
        if !self.catalogue.is_loaded() {
            // A slow disk must not stop us: after the wait the answer is what there is.
            let first = *self.first_waited.get_or_init(Instant::now);
            let _ = tokio::time::timeout_at(first + MAX_LOADING, self.catalogue.loaded()).await;
        }
        self.catalogue.snapshot()
    }

    /// The catalogue as `caller` sees it, once the remembered lists are in it.
    pub async fn view(&self, caller: &Caller) -> Arc<View> {
        self.view_of(self.snapshot().await, caller)
    }

    /// The current catalogue as `caller` sees it.
    pub fn current_view(&self, caller: &Caller) -> Arc<View> {
        self.view_of(self.current(), caller)
    }

    /// One Snapshot as `caller` sees it.
    pub(crate) fn view_of(&self, snapshot: Arc<Snapshot>, caller: &Caller) -> Arc<View> {
        let rules = self.rules();
        let standings = rules.access().standings(caller);
        let kind = Kind { standings, picks: self.picks_of(caller) };
        self.views.of(snapshot, &rules, kind)
    }

    /// The rules in force.
    pub fn access(&self) -> Arc<Access> {
        self.access.load_full()
    }

    /// Puts other rules in force, for every question from now on.
    pub fn set_access(&self, access: Access) {
        self.access.store(Arc::new(access));
        self.catalogue.tell_of_rules();
    }

    /// How long answers of public Sources are believed where the Source says nothing.
    pub fn set_cache_ttl(&self, ttl: Duration) {
        let ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        self.cache_ttl_ms.store(ms, Ordering::Relaxed);
    }

    fn cache_ttl(&self) -> Duration {
        Duration::from_millis(self.cache_ttl_ms.load(Ordering::Relaxed))
    }

    /// How the cache of contents has done.
    pub fn cache_stats(&self) -> Stats {
        self.cache.stats()
    }

    /// The flags, if there are any.
    pub fn flags(&self) -> Option<&Flags> {
        self.flags.as_deref()
    }

    /// The runner of programs, if there is one.
    pub fn programs(&self) -> Option<&Arc<dyn Programs>> {
        self.programs.as_ref()
    }

    /// Local knowledge, if there is any.
    pub(crate) fn knowledge(&self) -> Option<&Arc<Knowledge>> {
        self.knowledge.as_ref()
    }

    /// Says which tools of ours are offered beside those of Sources.
    pub fn publish_tools(&self, book: Weak<dyn ToolBook>) {
        // Said once, when the tools are made.
        let _ = self.tools.set(book.clone());
        self.catalogue.adopt_own_tools(Box::new(move |servers| {
            book.upgrade().map(|book| book.own(servers)).unwrap_or_default()
        }));
    }

    /// Tells that other tools of ours may be offered.
    pub(crate) fn tell_of_tools(&self) {
        self.catalogue.tell_of_own_tools();
    }

    fn tool_book(&self) -> Option<Arc<dyn ToolBook>> {
        self.tools.get().and_then(Weak::upgrade)
    }

    /// Says what `config://` tells beside what the gateway knows by itself.
    pub fn publish_settings(&self, server: ServerSettings, security: SecuritySettings) {
        self.settings.store(Arc::new((server, security)));
    }

    /// Stops the writer and waits for it.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        if let Some(writer) = self.writer.lock().await.take() {
            let _ = writer.await;
        }
        if let Some(search) = self.search().cloned() {
            // It blocks until its threads have ended.
            let _ = tokio::task::spawn_blocking(move || search.shutdown()).await;
        }
        self.audit.close().await;
    }
}
