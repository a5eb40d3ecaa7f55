//! Every resource in the index, in memory and in few bytes each.
//!
//! The facts that a filter needs are here, so that a document that matches is admitted or not
//! without reading the index. It is filled from the index at start and is never written by itself:
//! the index is the only memory.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use super::{
    doubt::{Judge, Reason},
    entry::{Entry, EntryRef, Key, Pending, Wanting},
    interval::Finding,
    record::{Kept, NO_TYPE, Record, State, Tally, private_version, record, slot_of, urgency},
    top::{Top, top_by},
};
use crate::{
    source_id::SourceId,
    uri::{LocalUri, PublicUri},
};

/// How many resources search knows at most.
pub const MAX_ENTRIES: usize = 4_000_000;
/// How many types are told apart; the rest count as unknown.
const MAX_TYPES: usize = 4096;
/// The id at a free place; the first id is greater.
const NO_ID: u64 = 0;
/// How many Sources are told apart.
const MAX_SOURCES: usize = u16::MAX as usize;

/// Every resource in the index.
#[derive(Debug, Default)]
pub(super) struct Roster {
    records: Vec<Option<Record>>,
    /// The id of each, by place: of many at once it is asked whether they are there.
    ids: Vec<u64>,
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

    /// Whether there is a resource with an id.
    pub(super) fn has(&self, id: u64) -> bool {
        self.ids.get(slot_of(id)) == Some(&id)
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

    /// The type that is listed, not one that was found.
    pub(super) fn listed_type_of(&self, record: &Record) -> Option<&str> {
        self.type_of(record).filter(|_| !record.is_type_found)
    }

    /// Notes the type of what a resource holds, where none is listed; tells whether it is new.
    pub(super) fn note_type(&mut self, id: u64, mime: &str) -> bool {
        let mime = self.number_type(mime);
        let Some(record) = self.get_mut(id) else { return false };
        let is_new = record.mime != mime && (record.mime == NO_TYPE || record.is_type_found);
        if is_new {
            (record.mime, record.is_type_found) = (mime, true);
        }
        is_new
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
        let found = old.as_ref().filter(|old| mime == NO_TYPE && old.is_type_found);
        let found = found.map(|old| old.mime);
        let mut record = record(entry, source, found.unwrap_or(mime), id, old.as_ref(), kept);
        record.is_type_found |= found.is_some();
        self.tallies[usize::from(source)].count(record.state, 1);
        self.described += usize::from(record.is_described);
        let slot = slot_of(id);
        if slot >= self.records.len() {
            self.records.resize_with(slot + 1, || None);
            self.ids.resize(slot + 1, NO_ID);
        }
        if let Err(hash) = place {
            self.places.insert(hash, slot as u32);
        }
        self.generation = self.generation.max((id >> 32) as u32);
        self.records[slot] = Some(record);
        self.ids[slot] = id;
        Some(id)
    }

    /// Takes a resource out; gives its id.
    pub(super) fn remove(&mut self, source: &SourceId, local: &str) -> Option<u64> {
        let number = *self.source_numbers.get(source)?;
        let slot = self.probe(number, local).ok()?;
        let record = self.records[slot].take()?;
        self.ids[slot] = NO_ID;
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

    /// Whether a content of one owner is known.
    pub(super) fn has_private(&self, id: u64, owner: u64) -> bool {
        self.private.contains_key(&(id, owner))
    }

    /// Compares a content with the known one, for all callers (owner 0) or for one owner.
    pub(super) fn compare(&self, id: u64, owner: u64, hash: u64) -> Finding {
        let known = match owner {
            0 => self.get(id).filter(|it| it.state.has_content()).map(|it| it.content_hash),
            _ => self.private.get(&(id, owner)).copied(),
        };
        match known {
            None => Finding::First,
            Some(known) if known == hash => Finding::Same,
            Some(_) => Finding::Changed,
        }
    }

    /// Notes the content of a resource.
    pub(super) fn put_hash(&mut self, id: u64, owner: u64, hash: u64) {
        if owner != 0 {
            self.put_private(id, owner, hash);
            return;
        }
        if let Some(record) = self.get_mut(id) {
            record.content_hash = hash;
        }
        self.set_state(id, State::Indexed);
    }

    /// Forgets contents that the state of a resource does not allow: the one for all callers, and
    /// if none may be read, those of single owners.
    pub(super) fn forget_content(&mut self, id: u64) {
        let Some(record) = self.get_mut(id) else { return };
        record.content_hash = 0;
        if record.state == State::MetadataOnly {
            self.remove_private(id);
        }
    }

    /// Forgets every content of a resource that belongs to one owner.
    fn remove_private(&mut self, id: u64) {
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

    /// The resources whose content is not what it should be, as far as that is known for sure:
    /// it was never read, or its Source told that it changed. The most wanted first.
    pub(super) fn pending(&self, limit: usize) -> Vec<Pending> {
        let wanted = self.iter().filter(|record| record.state.wants_reading());
        let chosen = top_by(wanted, limit, |a, b| urgency(a).total_cmp(&urgency(b)));
        let reason = |record: &Record| match record.state {
            State::Stale => Reason::Told,
            _ => Reason::Unread,
        };
        chosen.into_iter().map(|record| self.pending_of(record, reason(record))).collect()
    }

    /// The resources that should be read of each Source now, as far as `may` allows; at most
    /// `limit` of each kind.
    pub(super) fn wanting(
        &self,
        judge: &Judge,
        limit: usize,
        may: &dyn Fn(&SourceId, &str, Reason) -> bool,
    ) -> Vec<Wanting> {
        let mut by_source: BTreeMap<u16, Chosen<'_>> = BTreeMap::new();
        for record in self.iter() {
            let Some(reason) = judge.reason(record) else { continue };
            if may(self.source_of(record), &record.local, reason) {
                let chosen = by_source.entry(record.source).or_insert_with(|| Chosen::of(limit));
                chosen.push(record, reason);
            }
        }
        let finished = by_source.into_iter().map(|(number, chosen)| {
            let source = self.sources[usize::from(number)].clone();
            chosen.into_wanting(self, source)
        });
        finished.collect()
    }

    /// A resource as one who reads it needs it.
    pub(super) fn pending_of(&self, record: &Record, reason: Reason) -> Pending {
        Pending {
            key: self.key_of(record),
            public: PublicUri::from(record.public()),
            mime: self.listed_type_of(record).map(str::to_owned),
            size: record.size(),
            has_text: record.has_text(),
            reason,
        }
    }

    /// Collects the free places, after filling from an index.
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

/// The resources of one Source that are chosen to be read.
struct Chosen<'a> {
    unread: Top<&'a Record>,
    again: Top<(&'a Record, Reason)>,
    oldest: Option<(&'a Record, Reason)>,
}

impl<'a> Chosen<'a> {
    fn of(limit: usize) -> Chosen<'a> {
        Chosen { unread: Top::of(limit), again: Top::of(limit), oldest: None }
    }

    fn push(&mut self, record: &'a Record, reason: Reason) {
        if reason == Reason::Unread {
            return self.unread.push(record, &by_urgency);
        }
        self.again.push((record, reason), &by_reason);
        if self.oldest.is_none_or(|(oldest, _)| record.looked_at < oldest.looked_at) {
            self.oldest = Some((record, reason));
        }
    }

    fn into_wanting(self, roster: &Roster, source: SourceId) -> Wanting {
        let unread = self.unread.into_sorted(&by_urgency).into_iter();
        let again = self.again.into_sorted(&by_reason).into_iter();
        Wanting {
            source,
            unread: unread.map(|record| roster.pending_of(record, Reason::Unread)).collect(),
            again: again.map(|(record, reason)| roster.pending_of(record, reason)).collect(),
            oldest: self.oldest.map(|(record, reason)| roster.pending_of(record, reason)),
        }
    }
}

fn by_urgency(a: &&Record, b: &&Record) -> Ordering {
    urgency(a).total_cmp(&urgency(b))
}

/// Resources that surely changed come first, then those that may have, then old ones.
fn by_reason(a: &(&Record, Reason), b: &(&Record, Reason)) -> Ordering {
    let weight = |reason: Reason| match reason {
        Reason::Told => 3,
        Reason::Doubted => 2,
        Reason::Due | Reason::Unread => 1,
    };
    weight(a.1).cmp(&weight(b.1)).then_with(|| by_urgency(&a.0, &b.0))
}
