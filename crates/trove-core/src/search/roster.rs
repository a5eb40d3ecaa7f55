//! Every resource in the index, in memory and in few bytes each.
//!
//! Whatever a filter needs is here, so that a document that matches is admitted or not
//! without reading anything from the index. It is filled from the index at start and is
//! never written by itself: the index is the only memory.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use super::entry::{Coverage, Depth, Entry, EntryRef, Key, Pending, Skip};
use crate::{
    source_id::SourceId,
    uri::{LocalUri, PublicUri},
};

/// How many resources search knows at most.
pub const MAX_ENTRIES: usize = 4_000_000;
/// How many types are told apart; the rest count as unknown.
const MAX_TYPES: usize = 4096;
/// How many Sources are told apart.
const MAX_SOURCES: usize = u16::MAX as usize;

const NO_TYPE: u16 = u16::MAX;
const NO_DATE: i64 = i64::MIN;
const NO_SIZE: u64 = u64::MAX;

/// Where the content of a resource stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Only what is listed is to be indexed.
    MetadataOnly,
    /// It is to be read.
    Wanted,
    /// It is indexed.
    Indexed,
    /// It is indexed, and has changed since.
    Stale,
    /// It is left out.
    Skipped(Skip),
}

impl State {
    /// The number that stands for it in the index.
    fn number(self) -> u8 {
        match self {
            State::MetadataOnly => 0,
            State::Wanted => 1,
            State::Indexed => 2,
            State::Stale => 3,
            State::Skipped(skip) => 16 + skip as u8,
        }
    }

    /// The state in the flags of a record.
    pub(super) fn of_flags(flags: u64) -> State {
        let number = flags & 0xff;
        match number {
            0 => State::MetadataOnly,
            2 => State::Indexed,
            3 => State::Stale,
            _ => usize::try_from(number)
                .ok()
                .and_then(|number| Skip::ALL.get(number.checked_sub(16)?))
                .map_or(State::Wanted, |skip| State::Skipped(*skip)),
        }
    }

    /// Counts it.
    pub(super) fn add_to(self, coverage: &mut Coverage) {
        let mut tally = Tally::default();
        tally.count(self, 1);
        tally.add_to(coverage);
    }

    fn wants_reading(self) -> bool {
        matches!(self, State::Wanted | State::Stale)
    }

    pub(super) fn has_content(self) -> bool {
        matches!(self, State::Indexed | State::Stale)
    }
}

/// One resource.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// Its place in the low half, how often places were given in the high half: an id is
    /// never given twice, so that a document of a resource that is gone finds nobody.
    pub(super) id: u64,
    pub(super) local: Box<str>,
    /// Its public name where it differs.
    pub(super) public: Option<Box<str>>,
    pub(super) listed_hash: u64,
    pub(super) content_hash: u64,
    pub(super) content_at: i64,
    /// Changes with any content that belongs to one owner.
    private_hash: u64,
    modified: i64,
    size: u64,
    pub(super) priority: f32,
    pub(super) uses: f32,
    pub(super) source: u16,
    pub(super) mime: u16,
    pub(super) state: State,
    pub(super) is_described: bool,
}

impl Record {
    pub(super) fn modified(&self) -> Option<i64> {
        (self.modified != NO_DATE).then_some(self.modified)
    }

    pub(super) fn size(&self) -> Option<u64> {
        (self.size != NO_SIZE).then_some(self.size)
    }

    pub(super) fn public(&self) -> &str {
        self.public.as_deref().unwrap_or(&self.local)
    }

    /// What is kept of its state in the index.
    pub(super) fn flags(&self) -> u64 {
        u64::from(self.state.number()) | u64::from(self.is_described) << 8
    }

    /// Whether flags tell of a description.
    pub(super) fn is_described_by(flags: u64) -> bool {
        flags >> 8 & 1 == 1
    }

    /// Changes whenever anything that is indexed of it does.
    pub(super) fn version(&self) -> u64 {
        version_of(self.listed_hash, self.content_hash) ^ self.private_hash
    }
}

/// The version of a resource as its shared document tells it.
pub(super) fn version_of(listed_hash: u64, content_hash: u64) -> u64 {
    listed_hash ^ content_hash.rotate_left(17)
}

/// What a private content adds to the version of its resource.
pub(super) fn private_version(owner: u64, hash: u64) -> u64 {
    self::hash(&(owner, hash))
}

/// The place in an id.
pub(super) fn slot_of(id: u64) -> usize {
    (id & u64::from(u32::MAX)) as usize
}

/// What is kept of a resource beside what is listed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub(super) id: u64,
    pub(super) listed_hash: u64,
    pub(super) content_hash: u64,
    pub(super) content_at: i64,
    pub(super) state: State,
    pub(super) is_described: bool,
}

/// How much content of a Source is indexed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) entries: usize,
    pub(super) indexed: usize,
    indexable: usize,
    skipped: [usize; Skip::ALL.len()],
}

impl Tally {
    fn count(&mut self, state: State, by: isize) {
        let add = |n: &mut usize| *n = n.saturating_add_signed(by);
        add(&mut self.entries);
        match state {
            State::MetadataOnly => {}
            State::Wanted => add(&mut self.indexable),
            State::Indexed | State::Stale => {
                add(&mut self.indexable);
                add(&mut self.indexed);
            }
            State::Skipped(skip) => add(&mut self.skipped[skip as usize]),
        }
    }

    pub(super) fn add_to(&self, coverage: &mut Coverage) {
        coverage.indexed += self.indexed;
        coverage.indexable += self.indexable;
        for (skip, &n) in Skip::ALL.iter().zip(&self.skipped).filter(|(_, n)| **n > 0) {
            *coverage.skipped.entry(*skip).or_default() += n;
        }
    }
}

/// Every resource in the index.
#[derive(Debug, Default)]
pub(super) struct Roster {
    records: Vec<Option<Record>>,
    free: Vec<u32>,
    /// Places by the hash of Source and name; a clash takes the next number.
    places: HashMap<u64, u32>,
    hasher: RandomState,
    pub(super) sources: Vec<SourceId>,
    source_numbers: HashMap<SourceId, u16>,
    pub(super) tallies: Vec<Tally>,
    pub(super) types: Vec<Arc<str>>,
    type_numbers: HashMap<Arc<str>, u16>,
    generation: u32,
    /// Contents that belong to one owner, by resource and owner: the hash of each.
    pub(super) private: BTreeMap<(u64, u64), u64>,
    pub(super) described: usize,
}

impl Roster {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// One more than the highest place.
    pub(super) fn capacity(&self) -> usize {
        self.records.len()
    }

    /// The resource at a place.
    pub(super) fn at(&self, slot: usize) -> Option<&Record> {
        self.records.get(slot)?.as_ref()
    }

    /// The resource with an id, unless it is gone.
    pub(super) fn get(&self, id: u64) -> Option<&Record> {
        self.at(slot_of(id)).filter(|record| record.id == id)
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Record> {
        self.records.get_mut(slot_of(id))?.as_mut().filter(|record| record.id == id)
    }

    /// The resource of a name.
    pub(super) fn find(&self, source: &SourceId, local: &str) -> Option<&Record> {
        let number = *self.source_numbers.get(source)?;
        self.probe(number, local).ok().and_then(|slot| self.at(slot))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().flatten()
    }

    pub(super) fn source_of(&self, record: &Record) -> &SourceId {
        &self.sources[usize::from(record.source)]
    }

    pub(super) fn source_number(&self, source: &SourceId) -> Option<u16> {
        self.source_numbers.get(source).copied()
    }

    pub(super) fn type_of(&self, record: &Record) -> Option<&str> {
        self.types.get(usize::from(record.mime)).map(|mime| &**mime)
    }

    pub(super) fn entry_of<'a>(&'a self, record: &'a Record) -> EntryRef<'a> {
        EntryRef {
            source: self.source_of(record),
            local: &record.local,
            public: record.public(),
            mime: self.type_of(record),
        }
    }

    pub(super) fn key_of(&self, record: &Record) -> Key {
        Key { source: self.source_of(record).clone(), local: LocalUri::from(&*record.local) }
    }

    /// Adds a resource, or replaces what is listed of it; gives its id, or nothing when
    /// there are too many.
    pub(super) fn put(&mut self, entry: &Entry, kept: Option<Kept>) -> Option<u64> {
        let source = self.number_source(&entry.source)?;
        let mime = entry.mime.as_deref().map_or(NO_TYPE, |mime| self.number_type(mime));
        let place = self.probe(source, entry.local.as_str());
        let old = place.ok().and_then(|slot| self.records[slot].take());
        if let Some(old) = &old {
            self.uncount(old);
        }
        let id = match (&old, kept) {
            (Some(old), _) => old.id,
            (None, Some(kept)) => kept.id,
            (None, None) => self.new_id()?,
        };
        let record = record(entry, source, mime, id, old.as_ref(), kept);
        self.tallies[usize::from(source)].count(record.state, 1);
        self.described += usize::from(record.is_described);
        let slot = slot_of(id);
        if slot >= self.records.len() {
            self.records.resize_with(slot + 1, || None);
        }
        if let Err(hash) = place {
            self.places.insert(hash, slot as u32);
        }
        self.generation = self.generation.max((id >> 32) as u32);
        self.records[slot] = Some(record);
        Some(id)
    }

    /// Takes a resource out; gives its id.
    pub(super) fn remove(&mut self, source: &SourceId, local: &str) -> Option<u64> {
        let number = *self.source_numbers.get(source)?;
        let slot = self.probe(number, local).ok()?;
        let record = self.records[slot].take()?;
        self.uncount(&record);
        self.forget_place(number, local, slot);
        self.free.push(slot as u32);
        self.remove_private(record.id);
        Some(record.id)
    }

    /// Notes a content that belongs to one owner; gives the hash of the one before.
    pub(super) fn put_private(&mut self, id: u64, owner: u64, hash: u64) -> Option<u64> {
        let before = self.private.insert((id, owner), hash);
        if let Some(record) = self.get_mut(id) {
            let gone = before.map_or(0, |before| private_version(owner, before));
            record.private_hash ^= gone ^ private_version(owner, hash);
        }
        before
    }

    /// Forgets every content of a resource that belongs to one owner.
    pub(super) fn remove_private(&mut self, id: u64) {
        let owned = self.private.range((id, 0)..=(id, u64::MAX)).map(|(key, _)| *key);
        for key in owned.collect::<Vec<_>>() {
            self.private.remove(&key);
        }
        if let Some(record) = self.get_mut(id) {
            record.private_hash = 0;
        }
    }

    /// Changes where the content of a resource stands.
    pub(super) fn set_state(&mut self, id: u64, state: State) {
        let Some(record) = self.get_mut(id) else { return };
        let (source, before) = (usize::from(record.source), record.state);
        record.state = state;
        self.tallies[source].count(before, -1);
        self.tallies[source].count(state, 1);
    }

    /// The resources whose content should be read, the most wanted first.
    pub(super) fn pending(&self, limit: usize) -> Vec<Pending> {
        let wanted = self.iter().filter(|record| record.state.wants_reading());
        let chosen = top_by(wanted, limit, |a, b| urgency(a).total_cmp(&urgency(b)));
        let pending = |record: &Record| Pending {
            key: self.key_of(record),
            public: PublicUri::from(record.public()),
            mime: self.type_of(record).map(str::to_owned),
            size: record.size(),
            indexed_at: record.state.has_content().then_some(record.content_at),
        };
        chosen.into_iter().map(pending).collect()
    }

    /// After filling from an index: places that nobody has.
    pub(super) fn collect_free(&mut self) {
        let is_free = |(_, record): &(usize, &Option<Record>)| record.is_none();
        self.free =
            self.records.iter().enumerate().filter(is_free).map(|(n, _)| n as u32).collect();
    }

    fn new_id(&mut self) -> Option<u64> {
        if self.len() >= MAX_ENTRIES {
            return None;
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.records.len() as u32,
        };
        self.generation = self.generation.wrapping_add(1);
        Some(u64::from(self.generation) << 32 | u64::from(slot))
    }

    fn uncount(&mut self, record: &Record) {
        self.tallies[usize::from(record.source)].count(record.state, -1);
        self.described -= usize::from(record.is_described);
    }

    /// The place of a name, or the hash under which it would stand.
    fn probe(&self, source: u16, local: &str) -> Result<usize, u64> {
        let mut hash = self.hasher.hash_one((source, local));
        while let Some(&slot) = self.places.get(&hash) {
            let record = self.at(slot as usize);
            if record.is_some_and(|record| record.source == source && *record.local == *local) {
                return Ok(slot as usize);
            }
            hash = hash.wrapping_add(1);
        }
        Err(hash)
    }

    fn forget_place(&mut self, source: u16, local: &str, slot: usize) {
        let mut hash = self.hasher.hash_one((source, local));
        while let Some(&at) = self.places.get(&hash) {
            if at as usize == slot {
                self.places.remove(&hash);
                return;
            }
            hash = hash.wrapping_add(1);
        }
    }

    fn number_source(&mut self, source: &SourceId) -> Option<u16> {
        if let Some(&number) = self.source_numbers.get(source) {
            return Some(number);
        }
        if self.sources.len() >= MAX_SOURCES {
            return None;
        }
        let number = self.sources.len() as u16;
        self.sources.push(source.clone());
        self.tallies.push(Tally::default());
        self.source_numbers.insert(source.clone(), number);
        Some(number)
    }

    fn number_type(&mut self, mime: &str) -> u16 {
        let mime = mime.trim().to_ascii_lowercase();
        if let Some(&number) = self.type_numbers.get(mime.as_str()) {
            return number;
        }
        if self.types.len() >= MAX_TYPES || mime.len() > 256 {
            return NO_TYPE;
        }
        let number = self.types.len() as u16;
        let mime: Arc<str> = mime.into();
        self.types.push(mime.clone());
        self.type_numbers.insert(mime, number);
        number
    }
}

fn record(
    entry: &Entry,
    source: u16,
    mime: u16,
    id: u64,
    old: Option<&Record>,
    kept: Option<Kept>,
) -> Record {
    let public = entry.public.as_str();
    let state = match (kept.map(|kept| kept.state), old.map(|old| old.state)) {
        (Some(state), _) => state,
        (None, state) => state_after_listing(entry, old, state),
    };
    Record {
        id,
        local: entry.local.as_str().into(),
        public: (public != entry.local.as_str()).then(|| public.into()),
        listed_hash: kept.map_or_else(|| listed_hash(entry), |kept| kept.listed_hash),
        content_hash: kept.map(|k| k.content_hash).or(old.map(|o| o.content_hash)).unwrap_or(0),
        content_at: kept.map(|k| k.content_at).or(old.map(|o| o.content_at)).unwrap_or(0),
        private_hash: old.map_or(0, |old| old.private_hash),
        modified: entry.modified.unwrap_or(NO_DATE),
        size: entry.size.unwrap_or(NO_SIZE),
        priority: if entry.priority.is_finite() { entry.priority.clamp(0.0, 1.0) } else { 0.0 },
        uses: old.map_or(0.0, |old| old.uses),
        source,
        mime,
        state,
        is_described: kept.map_or(entry.description.is_some(), |kept| kept.is_described),
    }
}

/// What becomes of the content when a resource is listed anew.
fn state_after_listing(entry: &Entry, old: Option<&Record>, state: Option<State>) -> State {
    if entry.depth == Depth::Metadata {
        return State::MetadataOnly;
    }
    let is_same = old.is_some_and(|old| {
        old.modified == entry.modified.unwrap_or(NO_DATE)
            && old.size == entry.size.unwrap_or(NO_SIZE)
    });
    match state {
        None | Some(State::MetadataOnly | State::Wanted) => State::Wanted,
        Some(state) if is_same => state,
        Some(State::Indexed | State::Stale) => State::Stale,
        Some(State::Skipped(_)) => State::Wanted,
    }
}

/// Differs when anything listed does.
pub(super) fn listed_hash(entry: &Entry) -> u64 {
    hash(&(
        entry.public.as_str(),
        &entry.name,
        &entry.title,
        &entry.description,
        &entry.mime,
        entry.size,
        entry.modified,
        entry.priority.to_bits(),
        entry.depth == Depth::Content,
    ))
}

/// The same in every run of this program, so that it can be kept.
pub(super) fn hash(value: &impl std::hash::Hash) -> u64 {
    std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(value)
}

/// How much a resource is wanted: what is used first, then what is important, then what
/// is new.
pub(super) fn urgency(record: &Record) -> f64 {
    /// About a year; what is older differs little.
    const YEAR: f64 = 31_557_600.0;
    let age_term = record.modified().map_or(0.0, |at| (at as f64 / YEAR).clamp(0.0, 1000.0));
    f64::from(record.uses).min(1e6) * 1e6 + f64::from(record.priority) * 1e4 + age_term
}

/// The greatest few, greatest first.
pub(super) fn top_by<T>(
    values: impl Iterator<Item = T>,
    limit: usize,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Vec<T> {
    let mut best: Vec<T> = Vec::new();
    if limit == 0 {
        return best;
    }
    let cut = |best: &mut Vec<T>| {
        best.sort_by(|a, b| order(b, a));
        best.truncate(limit);
    };
    let mut is_cut = false;
    for value in values {
        // Once the list was cut, what is not above its last cannot come in.
        if is_cut && order(&value, &best[limit - 1]).is_le() {
            continue;
        }
        best.push(value);
        if best.len() >= limit * 2 + 64 {
            cut(&mut best);
            is_cut = true;
        }
    }
    cut(&mut best);
    best
}
