//! Keeps the index in step with the catalogue, and reads contents for it in the
//! background: few at a time, fewer still from one Source, and never before a request.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::{
    sync::{
        Semaphore,
        broadcast::error::{RecvError, TryRecvError},
    },
    task::JoinSet,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{Gateway, find::seconds};
use crate::{
    access::Standing,
    caller::{Caller, Door, Via},
    catalogue::{Change, Member, Snapshot},
    content,
    json::{self, Json, Object},
    resource::{Listing, Scope},
    search::{Content, Depth, Entry, Key, Pending, Search, Skip, SourceListing},
    source::{Ask, Indexing, Operation, Reply, SourceError, SourceId},
};

/// How many contents are read from one Source at a time.
const PER_SOURCE: usize = 2;
/// How many are chosen at a time.
const CHOSEN: usize = 64;
/// How long to rest when there is nothing to read.
const REST: Duration = Duration::from_millis(500);
/// How long a Source that failed is left alone.
const LEAVE_ALONE: Duration = Duration::from_secs(30);
/// How often a content may fail before it is given up.
const MAX_FAILURES: u32 = 3;
/// How long reading one content may take.
const MAX_READING: Duration = Duration::from_secs(30);
/// How long after a request the background waits.
const YIELD: Duration = Duration::from_millis(100);
/// How often the background looks whether somebody asks, while it computes.
const LOOK: Duration = Duration::from_millis(250);
/// The longest that a content waits for a pause between requests to be read: where somebody
/// always asks, the index must get whole too.
const MAX_YIELD: Duration = Duration::from_millis(200);
/// The same for vectors, which take the processor for longer, and their turn after that.
const MAX_MEANING_YIELD: Duration = Duration::from_secs(2);
const MEANING_TURN: Duration = Duration::from_millis(50);

/// What the crawler is told by the settings.
#[derive(Debug)]
pub struct CrawlSettings {
    /// Contents that are larger are left out.
    pub max_content_bytes: AtomicUsize,
    /// How many contents are read at a time.
    pub parallel: AtomicUsize,
}

impl CrawlSettings {
    /// Holds from the next content on.
    pub fn set(&self, max_content_bytes: usize, parallel: usize) {
        self.max_content_bytes.store(max_content_bytes, Ordering::Relaxed);
        self.parallel.store(parallel, Ordering::Relaxed);
    }
}

impl Default for CrawlSettings {
    fn default() -> CrawlSettings {
        CrawlSettings {
            max_content_bytes: AtomicUsize::new(1024 * 1024),
            parallel: AtomicUsize::new(5),
        }
    }
}

/// When somebody last asked, so that the background can stand aside.
#[derive(Debug, Default)]
pub(super) struct LastAsked(AtomicU64);

impl LastAsked {
    pub(super) fn note(&self, since: Instant) {
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.store(ms, Ordering::Relaxed);
    }

    fn is_recent(&self, since: Instant) -> bool {
        let asked = Duration::from_millis(self.0.load(Ordering::Relaxed));
        asked > Duration::ZERO && since.elapsed().saturating_sub(asked) < YIELD
    }
}

impl Gateway {
    /// Feeds the index until told to stop.
    pub async fn crawl(self: Arc<Self>, stop: CancellationToken) {
        let Some(search) = self.search().cloned() else { return };
        let mut crawler = Crawler {
            gateway: self,
            search,
            fed: HashMap::new(),
            failures: HashMap::new(),
            left_alone: HashMap::new(),
        };
        let (gateway, search) = (crawler.gateway.clone(), crawler.search.clone());
        tokio::select! {
            () = stop.cancelled() => {}
            () = crawler.run() => {}
            () = gateway.yield_meaning(&search) => {}
        }
        // Whoever comes after us finds it running.
        search.pause_meaning(false);
    }

    /// Lets vectors wait while requests come in, but not for ever.
    async fn yield_meaning(&self, search: &Search) {
        let mut turn = LOOK;
        loop {
            tokio::time::sleep(turn).await;
            turn = LOOK;
            if self.last_asked.is_recent(self.started) && search.lacks_vectors() {
                search.pause_meaning(true);
                self.stand_aside(MAX_MEANING_YIELD).await;
                search.pause_meaning(false);
                turn = MEANING_TURN;
            }
        }
    }

    async fn stand_aside(&self, limit: Duration) {
        let began = Instant::now();
        while self.last_asked.is_recent(self.started) && began.elapsed() < limit {
            tokio::time::sleep(YIELD).await;
        }
    }
}

struct Crawler {
    gateway: Arc<Gateway>,
    search: Arc<Search>,
    /// The listing each Source was last fed with.
    fed: HashMap<SourceId, Arc<Listing>>,
    failures: HashMap<Key, u32>,
    left_alone: HashMap<SourceId, Instant>,
}

impl Crawler {
    async fn run(&mut self) {
        let mut changes = self.gateway.changes();
        let mut events = self.search.events();
        self.feed().await;
        loop {
            // An index that begins anew knows nothing of what it was fed with.
            if !matches!(events.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {
                self.fed.clear();
                self.failures.clear();
                self.feed().await;
            }
            let worked = self.read_some().await;
            if !worked {
                self.gateway.progress.note_rest();
            }
            let rest = if worked { Duration::ZERO } else { REST };
            match tokio::time::timeout(rest, changes.recv()).await {
                // Not every other Snapshot is worth telling clients of.
                Err(_) if !self.gateway.progress.is_fed_with(&self.gateway.current()) => {
                    self.feed().await;
                }
                Err(_) => {}
                Ok(Ok(Change::Lists(_)) | Err(RecvError::Lagged(_))) => self.feed().await,
                Ok(Ok(Change::Updated { source, uri })) => {
                    self.search.content_changed(Key { source, local: uri }).await;
                }
                Ok(Ok(Change::Log { .. })) => {}
                Ok(Err(RecvError::Closed)) => return,
            }
        }
    }

    /// Tells the index what is listed now.
    async fn feed(&mut self) {
        let snapshot = self.gateway.snapshot().await;
        let ids: HashSet<&SourceId> = snapshot.members().iter().map(|m| m.source.id()).collect();
        let gone: Vec<SourceId> = self.fed.keys().filter(|id| !ids.contains(id)).cloned().collect();
        // Names depend on who else is there.
        let names_may_differ = !gone.is_empty() || ids.len() != self.fed.len();
        for id in gone {
            self.fed.remove(&id);
            self.search.remove_source(id).await;
        }
        for (n, member) in (0u32..).zip(snapshot.members()) {
            let id = member.source.id();
            let is_same = self.fed.get(id).is_some_and(|fed| Arc::ptr_eq(fed, &member.listing));
            if is_same && !names_may_differ {
                continue;
            }
            self.fed.insert(id.clone(), member.listing.clone());
            match member.source.indexing() {
                Indexing::Off => self.search.remove_source(id.clone()).await,
                depth => {
                    let entries = entries(&snapshot, n, member, depth);
                    self.search.replace_source(SourceListing { source: id.clone(), entries }).await;
                }
            }
        }
        self.gateway.progress.note_fed(snapshot);
    }

    /// Reads the contents that are wanted most; false when there is nothing to do.
    async fn read_some(&mut self) -> bool {
        let now = Instant::now();
        self.left_alone.retain(|_, until| *until > now);
        let is_free = |p: &Pending| !self.left_alone.contains_key(&p.key.source);
        let pending: Vec<Pending> =
            self.search.pending(CHOSEN).into_iter().filter(is_free).collect();
        if pending.is_empty() {
            return false;
        }
        let settings = &self.gateway.crawl_settings;
        let room = Arc::new(Semaphore::new(settings.parallel.load(Ordering::Relaxed).max(1)));
        let mut lanes: HashMap<SourceId, Arc<Semaphore>> = HashMap::new();
        let mut reading = JoinSet::new();
        for pending in pending {
            let lane = lanes.entry(pending.key.source.clone());
            let lane = lane.or_insert_with(|| Arc::new(Semaphore::new(PER_SOURCE))).clone();
            let (gateway, room) = (self.gateway.clone(), room.clone());
            reading.spawn(async move {
                let _lane = lane.acquire_owned().await;
                let _room = room.acquire_owned().await;
                gateway.stand_aside(MAX_YIELD).await;
                let outcome = gateway.read_for_index(&pending).await;
                (pending.key, outcome)
            });
        }
        while let Some(done) = reading.join_next().await {
            let Ok((key, outcome)) = done else { continue };
            self.take(key, outcome).await;
        }
        true
    }

    async fn take(&mut self, key: Key, outcome: Outcome) {
        match outcome {
            Outcome::Content(content) => {
                self.failures.remove(&key);
                let is_private = content.owner.is_some();
                self.search.put_content(key.clone(), content).await;
                if is_private {
                    // There is nothing in it for everybody: it is not wanted again.
                    self.search.skip_content(key, Skip::Private).await;
                }
            }
            Outcome::Skip(skip) => self.search.skip_content(key, skip).await,
            Outcome::Failed => {
                let count = self.failures.entry(key.clone()).or_default();
                *count += 1;
                if *count >= MAX_FAILURES {
                    self.failures.remove(&key);
                    return self.search.skip_content(key, Skip::Unreadable).await;
                }
                self.left_alone.insert(key.source, Instant::now() + LEAVE_ALONE);
            }
        }
    }
}

/// What became of reading one content.
enum Outcome {
    Content(Content),
    Skip(Skip),
    /// Now; it may work later.
    Failed,
}

impl Gateway {
    /// Reads one content for the index, as nobody in particular.
    async fn read_for_index(&self, pending: &Pending) -> Outcome {
        let max = self.crawl_settings.max_content_bytes.load(Ordering::Relaxed);
        if pending.size.is_some_and(|size| size > max as u64) {
            return Outcome::Skip(Skip::TooLarge);
        }
        let Key { source, local } = &pending.key;
        let caller = Caller { via: Via::Search, ..Caller::local() };
        let access = self.access();
        let nobody = access.policy.rule_for(source.as_str(), local.as_str());
        if nobody.is_some_and(|rule| rule.standing(&[]) != Standing::Open) {
            return Outcome::Skip(Skip::Forbidden);
        }
        let snapshot = self.current();
        let Some(member) = snapshot.member(source) else { return Outcome::Failed };
        // What names other resources must not name those that nobody in particular may read.
        let visible = self.visible(&Caller::behind(Door::Http), source.as_str());
        let ask = Ask { caller: caller.clone(), visible, ..Ask::default() };
        let read = member.source.perform(Operation::Read { uri: local.clone() }, ask);
        match tokio::time::timeout(MAX_READING, read).await {
            Err(_) => Outcome::Failed,
            Ok(Err(error)) if error.is_retryable() => Outcome::Failed,
            Ok(Err(SourceError::TooLarge { .. })) => Outcome::Skip(Skip::TooLarge),
            Ok(Err(_)) => Outcome::Skip(Skip::Unreadable),
            Ok(Ok(reply)) if reply.needs_input => Outcome::Skip(Skip::Unreadable),
            Ok(Ok(reply)) => text_for_index(&reply, pending, max, &caller),
        }
    }
}

/// The text of an answer, if it is one.
fn text_for_index(reply: &Reply, pending: &Pending, max: usize, caller: &Caller) -> Outcome {
    let object = Object::parse_valid(reply.body.as_str()).unwrap_or_default();
    let contents = object.get_original("contents").and_then(json::items).unwrap_or_default();
    let (mut text, mut mime) = (String::new(), pending.mime.clone());
    for item in contents {
        let Some(one) = Object::parse_valid(item) else { continue };
        let declared = one.get_str("mimeType").map(|mime| mime.into_owned());
        if let Some(part) = one.get_str("text") {
            text.push_str(&part);
        } else if let Some(blob) = one.get_str("blob") {
            use base64::{Engine as _, engine::general_purpose::STANDARD};
            let Ok(bytes) = STANDARD.decode(blob.as_bytes()) else { continue };
            let name = pending.key.local.as_str();
            let kind = content::sniff(declared.as_deref(), name, &bytes);
            if !kind.is_text() {
                return Outcome::Skip(Skip::Binary);
            }
            text.push_str(&content::decode_text(&bytes, kind.charset).text);
        }
        text.push('\n');
        mime = mime.or(declared);
        if text.len() > max {
            return Outcome::Skip(Skip::TooLarge);
        }
    }
    // What a Source calls private is for the one whose credentials fetched it.
    let is_private = reply.freshness.is_some_and(|said| said.scope == Scope::Private);
    let owner = is_private.then(|| caller.scope());
    Outcome::Content(Content { text, mime, read_at: seconds(SystemTime::now()), owner })
}

/// The resources of one member as the index takes them.
fn entries(snapshot: &Snapshot, member: u32, of: &Member, indexing: Indexing) -> Vec<Entry> {
    let depth = match indexing {
        Indexing::Content => Depth::Content,
        Indexing::Metadata | Indexing::Off => Depth::Metadata,
    };
    let own = snapshot.resources().iter().filter(|resource| resource.member == member);
    own.map(|resource| {
        let listed = Listed::of(&resource.entry);
        Entry {
            source: of.source.id().clone(),
            local: resource.local.clone(),
            public: resource.public.clone(),
            name: listed.name,
            title: listed.title,
            description: listed.description,
            mime: listed.mime,
            size: listed.size,
            modified: listed.modified,
            priority: listed.priority,
            depth,
        }
    })
    .collect()
}

/// What an entry says that search can use.
struct Listed {
    name: String,
    title: Option<String>,
    description: Option<String>,
    mime: Option<String>,
    size: Option<u64>,
    modified: Option<i64>,
    priority: f32,
}

impl Listed {
    fn of(entry: &Json) -> Listed {
        let object = Object::parse_valid(entry.as_str()).unwrap_or_default();
        let text = |key: &str| object.get_str(key).map(|text| text.into_owned());
        let annotations = object.get_original("annotations").and_then(Object::parse_valid);
        let annotated = |key: &str| annotations.as_ref().and_then(|all| all.get_original(key));
        let modified = annotated("lastModified").and_then(json::string);
        Listed {
            name: text("name").unwrap_or_default(),
            title: text("title"),
            description: text("description"),
            mime: text("mimeType"),
            size: object.get_original("size").and_then(|size| size.parse().ok()),
            modified: modified.and_then(|date| {
                OffsetDateTime::parse(&date, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp)
            }),
            priority: annotated("priority").and_then(|p| p.parse().ok()).unwrap_or(0.5),
        }
    }
}
