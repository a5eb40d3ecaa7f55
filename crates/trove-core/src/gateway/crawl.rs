//! Keeps the index in step with the catalogue, and reads contents for it in the
//! background: few at a time, at an even pace from each server, and never before a request.
//!
//! A text is looked at again at once if its Source tells of a change, and soon if something
//! happened that may have changed it. Else the clock decides, less and less often while it stays
//! the same.

mod demand;
mod pace;
mod passing;
mod reading;
mod rules;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use arc_swap::ArcSwap;
use tokio::{sync::broadcast::error::TryRecvError, time::Instant};
use tokio_util::sync::CancellationToken;

pub use self::pace::{READS_A_SECOND, REVISITS_A_SECOND};
pub use self::rules::{IndexRule, IndexRules, MAX_INDEX_RULES};

pub(super) use self::{demand::Demand, passing::Passing};
use self::{
    demand::{LOOK, YIELD},
    reading::Reading,
};
use super::{AskError, Gateway, Named, Purpose, Read, Texts, Wanted, papers::TEXT_TYPE};
use crate::{
    access::Standing,
    aside::aside,
    caller::{Caller, Door, Via},
    catalogue::{Change, Member, ResourceEntry, Snapshot},
    content::{self, Payload},
    papers::PaperForm,
    resource::{Freshness, Listing, Scope},
    search::{
        Believed, Content, Depth, Doubt, Entry, Key, MIN_INTERVAL, Pending, Reason, Search, Skip,
        SourceListing,
    },
    source::{Ask, Indexing, Reply, SourceError, SourceId, meaning::Meaning},
};

/// The longest paper that text is made of for the index; its text is much shorter.
const MAX_PAPER_BYTES: usize = 32 * 1024 * 1024;
/// How long reading one content may take.
const MAX_READING: Duration = Duration::from_secs(30);
/// How long the background waits for a pause between requests to read a content. Where clients
/// always ask, the index must get whole too.
const MAX_YIELD: Duration = Duration::from_millis(200);
/// How long it waits to make vectors, which take the processor for longer, and their turn then.
const MAX_MEANING_YIELD: Duration = Duration::from_secs(2);
const MEANING_TURN: Duration = Duration::from_millis(50);
/// How long both wait under load, where all their time is taken from requests.
const MAX_LOADED_YIELD: Duration = Duration::from_secs(3);

/// How many entries of a list are looked at before others have their turn.
const STEP: usize = 256;
/// How many bytes an entry has, about.
const BYTES_OF_ENTRY: usize = 100;

/// The limits of the crawler, from the settings.
#[derive(Debug)]
pub struct CrawlSettings {
    /// Contents that are larger are left out.
    pub max_content_bytes: AtomicUsize,
    /// How many contents are read at a time.
    pub parallel: AtomicUsize,
    /// No content is read again by the clock sooner than this, in milliseconds.
    pub reread_after_ms: AtomicU64,
    /// How long after its start the crawler waits for others to begin, in milliseconds.
    pub settle_ms: AtomicU64,
    rules: ArcSwap<IndexRules>,
}

impl CrawlSettings {
    /// Holds from the next content on.
    pub fn set(&self, max_content_bytes: usize, parallel: usize) {
        self.max_content_bytes.store(max_content_bytes, Ordering::Relaxed);
        self.parallel.store(parallel, Ordering::Relaxed);
    }

    /// Says which URIs may be looked into; entries that were fed before are fed again.
    pub fn set_rules(&self, rules: IndexRules) {
        self.rules.store(Arc::new(rules));
    }
}

impl Default for CrawlSettings {
    fn default() -> CrawlSettings {
        CrawlSettings {
            max_content_bytes: AtomicUsize::new(1024 * 1024),
            parallel: AtomicUsize::new(5),
            reread_after_ms: AtomicU64::new(MIN_INTERVAL.as_millis() as u64),
            settle_ms: AtomicU64::new(0),
            rules: ArcSwap::default(),
        }
    }
}

impl Gateway {
    /// Feeds the index until told to stop.
    pub async fn crawl(self: Arc<Self>, stop: CancellationToken) {
        let Some(search) = self.search().cloned() else { return };
        let mut crawler = Crawler {
            settled: self.settled(),
            gateway: self,
            search,
            fed: HashMap::new(),
            rules: Arc::default(),
            reading: Reading::default(),
        };
        let (gateway, search) = (crawler.gateway.clone(), crawler.search.clone());
        tokio::select! {
            () = stop.cancelled() => {}
            () = crawler.run() => {}
            () = gateway.yield_meaning(&search) => {}
            () = gateway.index_passing(&search) => {}
        }
        // The next crawler finds it running.
        search.pause_meaning(false);
    }

    /// The moment when others have begun.
    fn settled(&self) -> Instant {
        let settle = self.crawl_settings.settle_ms.load(Ordering::Relaxed);
        Instant::now() + Duration::from_millis(settle)
    }

    /// Lets vectors wait while others begin and while requests come in, but not for ever.
    async fn yield_meaning(&self, search: &Search) {
        search.pause_meaning(true);
        tokio::time::sleep_until(self.settled()).await;
        search.pause_meaning(false);
        let mut turn = LOOK;
        loop {
            tokio::time::sleep(turn).await;
            turn = LOOK;
            self.demand.look();
            if self.demand.is_recent() && search.is_meaning_busy() {
                search.pause_meaning(true);
                self.stand_aside(MAX_MEANING_YIELD).await;
                search.pause_meaning(false);
                turn = MEANING_TURN;
            }
        }
    }

    async fn stand_aside(&self, limit: Duration) {
        let began = Instant::now();
        let limit = if self.demand.is_heavy() { MAX_LOADED_YIELD.max(limit) } else { limit };
        while self.demand.is_recent() && began.elapsed() < limit {
            tokio::time::sleep(YIELD).await;
        }
    }
}

/// The part of one Source that the index was last fed with.
struct Fed {
    listing: Arc<Listing>,
    /// Whether it was a memory: its Source was away.
    was_stale: bool,
}

struct Crawler {
    gateway: Arc<Gateway>,
    search: Arc<Search>,
    fed: HashMap<SourceId, Fed>,
    /// The rules they were fed by.
    rules: Arc<IndexRules>,
    reading: Reading,
    /// Before this no content is read.
    settled: Instant,
}

impl Crawler {
    async fn run(&mut self) {
        let mut changes = self.gateway.catalogue.changes().reader_of_all();
        let mut events = self.search.events();
        self.feed().await;
        loop {
            // An index that begins anew knows nothing of what it was fed with.
            if !matches!(events.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {
                self.fed.clear();
                self.reading.forget();
                self.feed().await;
            }
            if self.is_behind() {
                self.feed().await;
            }
            let rest = self.start_reading();
            tokio::select! {
                change = changes.recv() => match change {
                    Ok(Change::Updated { source, uri }) => {
                        self.search.content_changed(Key { source, local: uri }).await;
                    }
                    Ok(Change::Missed) => self.doubt_all(),
                    // Whether the index is behind is seen before the next wait.
                    Ok(_) => {}
                    Err(_) => return,
                },
                Some((read, outcome)) = self.reading.next() => self.take(read, outcome).await,
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// Changes were missed: a text without a date may be another one.
    fn doubt_all(&self) {
        for id in self.fed.keys() {
            self.search.cast_doubt(id, Doubt::Undated);
        }
    }

    /// Whether something is listed, or allowed, that the index was not told of. Not every new
    /// Snapshot is worth telling clients of.
    fn is_behind(&self) -> bool {
        let rules = self.gateway.crawl_settings.rules.load();
        !Arc::ptr_eq(&self.rules, &rules)
            || !self.gateway.progress.is_fed_with(&self.gateway.current())
    }

    /// Tells the index what is listed now.
    async fn feed(&mut self) {
        let rules = self.gateway.crawl_settings.rules.load_full();
        if !Arc::ptr_eq(&self.rules, &rules) {
            self.rules = rules;
            self.fed.clear();
            self.reading.forget();
        }
        let snapshot = self.gateway.snapshot().await;
        let ids: HashSet<&SourceId> = snapshot.members().iter().map(|m| m.source.id()).collect();
        // Facts that an earlier run had of a server that is not configured any more go too.
        let known = self.search.sources().into_iter().chain(self.fed.keys().cloned());
        let gone: HashSet<SourceId> = known.filter(|id| !ids.contains(id)).collect();
        // Names depend on who else is there.
        let names_may_differ = !gone.is_empty() || ids.len() != self.fed.len();
        for id in gone {
            self.fed.remove(&id);
            self.reading.forget_source(&id);
            self.search.remove_source(id).await;
        }
        for (n, member) in (0u32..).zip(snapshot.members()) {
            let id = member.source.id();
            let fed = Fed { listing: member.listing.clone(), was_stale: member.is_stale };
            let before = self.fed.insert(id.clone(), fed);
            let is_same = |before: &Fed| Arc::ptr_eq(&before.listing, &member.listing);
            let is_same = before.as_ref().is_some_and(is_same);
            if is_same && !names_may_differ {
                continue;
            }
            let is_about_others = before.is_some_and(|before| {
                let bytes = member.listing.resources.len() * BYTES_OF_ENTRY;
                let leaves = || member.listing.leaves_resources(&before.listing);
                !before.was_stale && aside(bytes, leaves)
            });
            if !is_same && !is_about_others {
                // Another listing, or the first since the start: no Source told us of changes. The
                // dates in it vouch for the texts that have one.
                self.search.cast_doubt(id, Doubt::Undated);
            }
            let entries = entries(&snapshot, n, member, &self.rules).await;
            self.search.replace_source(SourceListing { source: id.clone(), entries }).await;
        }
        self.gateway.progress.note_fed(snapshot);
    }
}

/// The outcome of reading one content.
enum Outcome {
    Content(Content),
    Skip(Skip),
    /// Its Source is away, or busy; it may work later.
    Failed,
    /// Its Source refuses it for a reason that says nothing of the text.
    Refused,
}

impl Gateway {
    /// How long a content may be believed, as far as its Source and the settings tell.
    fn believed(&self, source: &SourceId, said: Option<Freshness>) -> Believed {
        let is_public = || self.current().member(source).is_some_and(|m| m.source.is_public());
        let as_said = match said {
            // A text that may not be kept at all changes often, or at an unknown time.
            Some(said) => Some(Duration::from_millis(said.ttl_ms)).filter(|ttl| !ttl.is_zero()),
            None if is_public() => Some(self.cache_ttl()),
            None => None,
        };
        let at_least = self.crawl_settings.reread_after_ms.load(Ordering::Relaxed);
        let at_least = Duration::from_millis(at_least);
        Believed { at_least, at_first: self.cache_ttl(), as_said }
    }

    /// Casts doubt on all texts of a Source: something was done there that may change them. Kept
    /// answers of it are asked for again.
    pub(super) fn doubt_texts(&self, source: &SourceId) {
        self.cache.invalidate_source(source);
        if let Some(search) = self.search() {
            search.cast_doubt(source, Doubt::All);
        }
    }

    /// Reads one content for the index, on behalf of no caller.
    async fn read_for_index(&self, search: &Search, pending: &Pending) -> Outcome {
        let max = self.crawl_settings.max_content_bytes.load(Ordering::Relaxed);
        let Key { source, local } = &pending.key;
        let most = match self.form_for_index(pending.mime.as_deref(), local.as_str()) {
            // Most of a picture is no text.
            None | Some(PaperForm::Picture) => max,
            Some(_) => MAX_PAPER_BYTES.max(max),
        };
        if pending.size.is_some_and(|size| size > most as u64) {
            return Outcome::Skip(Skip::TooLarge);
        }
        // The index is for everybody, so it reads what a caller without a name may read.
        let nobody = Caller { via: Via::Search, ..Caller::behind(Door::Http) };
        let (standing, _) = self.rules().standing(&nobody, Named::listed(source, local.as_str()));
        if standing != Standing::Open {
            return Outcome::Skip(Skip::Forbidden);
        }
        let snapshot = self.current();
        let Some(entry) = snapshot.listed(source, local.as_str()) else { return Outcome::Failed };
        // A text that is only read for the first time may have been kept for one caller.
        let purpose = Purpose::Index { anew: pending.reason != Reason::Unread };
        let read = Read::of(&entry.public, Ask::default());
        let read = Read { purpose, found_in: Some(snapshot.clone()), ..read };
        let asked_at = search.moment_of_read(source);
        match tokio::time::timeout(MAX_READING, self.read_as(&nobody, read)).await {
            Err(_) => Outcome::Failed,
            Ok(Err(error)) => unread(&error, pending),
            Ok(Ok(reading)) if reading.reply.needs_input => Outcome::Skip(Skip::Unreadable),
            Ok(Ok(reading)) => {
                let asked_at =
                    if reading.hit { milliseconds(reading.fetched_at) } else { asked_at };
                let believed = self.believed(source, reading.reply.freshness);
                let when = When { asked_at, believed };
                let reply = &reading.reply;
                let text = self.with_texts(&reply.body, &Wanted::for_index()).await;
                // All parts are wanted, so none is missing.
                match text.unwrap_or_default() {
                    None => text_for_index(reply, pending, max, &nobody.scope(), when),
                    Some(text) => paper_for_index(reply, text, pending, &nobody.scope(), when),
                }
            }
        }
    }
}

/// The text of an answer in which text was made of papers.
fn paper_for_index(
    reply: &Reply,
    text: Texts,
    pending: &Pending,
    scope: &Arc<str>,
    when: When,
) -> Outcome {
    if text.is_passing {
        return Outcome::Failed;
    }
    if text.count == 0 {
        return Outcome::Skip(Skip::Unreadable);
    }
    let pending = Pending { mime: Some(TEXT_TYPE.to_owned()), ..pending.clone() };
    let reply = Reply { body: text.body, ..reply.clone() };
    text_for_index(&reply, &pending, MAX_PAPER_BYTES, scope, when)
}

/// The outcome for a content that was not given.
fn unread(error: &AskError, pending: &Pending) -> Outcome {
    let AskError::Source { error, .. } = error else { return Outcome::Skip(Skip::Forbidden) };
    if is_passing(error) {
        return Outcome::Failed;
    }
    if matches!(error, SourceError::TooLarge { .. }) {
        return Outcome::Skip(Skip::TooLarge);
    }
    // A text that is indexed stays until it is known to be gone.
    if pending.has_text && !error.means_absence_of(pending.key.local.as_str()) {
        return Outcome::Refused;
    }
    Outcome::Skip(Skip::Unreadable)
}

fn milliseconds(moment: SystemTime) -> i64 {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Whether a failure is known to pass. After one that tells nothing the text is unreadable.
fn is_passing(error: &SourceError) -> bool {
    error.is_retryable() || matches!(error.meaning(None), Meaning::Passing | Meaning::Busy(_))
}

/// When a text was asked for, and how long it may be believed.
struct When {
    asked_at: i64,
    believed: Believed,
}

/// The text of an answer, if it is one.
fn text_for_index(
    reply: &Reply,
    pending: &Pending,
    max: usize,
    scope: &Arc<str>,
    when: When,
) -> Outcome {
    let (mut text, mut mime) = (String::new(), pending.mime.clone());
    for one in content::contents(&reply.body) {
        match &one.payload {
            Payload::Text(words) => text.push_str(&words.text()),
            Payload::Blob(bytes) => {
                let name = pending.key.local.as_str();
                let kind = content::sniff(one.mime.as_deref(), name, bytes);
                if !kind.is_text() {
                    return Outcome::Skip(Skip::Binary);
                }
                text.push_str(&content::decode_text(bytes, kind.charset).text);
            }
            Payload::Odd(_) => continue,
        }
        text.push('\n');
        mime = mime.or(one.mime.map(Cow::into_owned));
        if text.len() > max {
            return Outcome::Skip(Skip::TooLarge);
        }
    }
    // A Source that names no type anywhere leaves it to the text to tell.
    if mime.is_none() && !text.trim().is_empty() {
        let kind = content::sniff(None, pending.key.local.as_str(), text.as_bytes());
        mime = Some(kind.mime.into_owned());
    }
    // A content that its Source calls private is for the one whose credentials fetched it.
    let is_private = reply.freshness.is_some_and(|said| said.scope == Scope::Private);
    let owner = is_private.then(|| scope.clone());
    Outcome::Content(Content { text, mime, read_at: when.asked_at, believed: when.believed, owner })
}

/// The resources of one member as the index takes them. A list may be long: others have their
/// turn all along.
async fn entries(snapshot: &Snapshot, member: u32, of: &Member, rules: &IndexRules) -> Vec<Entry> {
    let mut entries = Vec::new();
    for step in snapshot.resources().chunks(STEP) {
        let own = step.iter().filter(|resource| resource.member == member);
        entries.extend(own.filter_map(|resource| entry(snapshot, of, resource, rules)));
        tokio::task::yield_now().await;
    }
    entries
}

fn entry(
    snapshot: &Snapshot,
    of: &Member,
    resource: &ResourceEntry,
    rules: &IndexRules,
) -> Option<Entry> {
    let (id, indexing) = (of.source.id(), of.source.indexing());
    let depth = match rules.of(id.as_str(), resource.local.as_str(), indexing) {
        Indexing::Content => Depth::Content,
        Indexing::Metadata => Depth::Metadata,
        Indexing::Off => return None,
    };
    let details = snapshot.details(resource);
    let annotations = details.annotations();
    // A read that would change something is never done unasked, even if a rule allows it.
    let depth = if annotations.has_effects() { Depth::Metadata } else { depth };
    Some(Entry {
        source: id.clone(),
        local: resource.local.clone(),
        public: resource.public.clone(),
        name: details.name().unwrap_or_default().into_owned(),
        title: details.title().map(Cow::into_owned),
        description: details.description().map(Cow::into_owned),
        mime: details.mime().map(Cow::into_owned),
        size: details.size(),
        modified: annotations.modified(),
        priority: annotations.priority(),
        depth,
    })
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin, sync::Weak};

    use super::*;
    use crate::{about::About, json::Json, resource::Resource};

    #[tokio::test]
    async fn t07_others_have_their_turn_while_a_long_list_is_walked() {
        let listed = |n: usize| Resource::new(Json::parse(format!(r#"{{"uri":"x:{n}"}}"#)).ok()?);
        let resources = (0..5 * STEP).filter_map(listed).collect();
        let member = Member {
            source: Arc::new(About::new(Weak::<Gateway>::new())),
            listing: Arc::new(Listing { resources, ..Listing::default() }),
            is_stale: false,
            age: Arc::default(),
        };
        let snapshot = Snapshot::build(1, vec![member]);
        let rules = IndexRules::default();
        let mut walk = pin!(entries(&snapshot, 0, &snapshot.members()[0], &rules));
        let mut turns = 0;
        poll_fn(|cx| {
            turns += 1;
            walk.as_mut().poll(cx)
        })
        .await;
        assert!(turns > 5, "{turns} turns");
    }
}
