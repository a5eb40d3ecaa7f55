//! The memory of one resource.

use std::{hash::BuildHasher as _, time::Duration};

use super::{
    entry::{Coverage, Depth, Entry, Skip},
    interval::{self, Believed, FIRST_INTERVAL, Finding, Look},
};

/// The number of a type that is not known.
pub(super) const NO_TYPE: u16 = u16::MAX;
const NO_DATE: i64 = i64::MIN;
const NO_SIZE: u64 = u64::MAX;
/// An answer that was overtaken came within this time; one that seems older tells that the clock
/// was put back.
const MAX_OVERTAKEN_MS: i64 = 60_000;

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

    /// Whether it is to be read.
    pub(super) fn wants_reading(self) -> bool {
        matches!(self, State::Wanted | State::Stale)
    }

    pub(super) fn has_content(self) -> bool {
        matches!(self, State::Indexed | State::Stale)
    }
}

/// One resource.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// Its place in the low half, how often places were given in the high half. An id is never
    /// given twice, so that a document of a resource that is gone finds no other.
    pub(super) id: u64,
    pub(super) local: Box<str>,
    /// Its public name where it differs.
    pub(super) public: Option<Box<str>>,
    pub(super) listed_hash: u64,
    /// Differs when something does that its vectors are made of, beside its text.
    pub(super) shown_hash: u64,
    pub(super) content_hash: u64,
    /// When its text was last read, in milliseconds since 1970; 0 if it never was.
    pub(super) looked_at: i64,
    /// How long it is believed after that.
    pub(super) interval_ms: u32,
    /// Changes with any content that belongs to one owner.
    pub(super) private_hash: u64,
    modified: i64,
    size: u64,
    pub(super) priority: f32,
    pub(super) uses: f32,
    pub(super) source: u16,
    pub(super) mime: u16,
    pub(super) state: State,
    pub(super) is_described: bool,
    /// Its type is not listed but was found in its content.
    pub(super) is_type_found: bool,
}

impl Record {
    pub(super) fn modified(&self) -> Option<i64> {
        (self.modified != NO_DATE).then_some(self.modified)
    }

    pub(super) fn size(&self) -> Option<u64> {
        (self.size != NO_SIZE).then_some(self.size)
    }

    /// Whether any text of it is indexed, for all callers or for one owner.
    pub(super) fn has_text(&self) -> bool {
        self.state.has_content() || self.private_hash != 0
    }

    /// When its text is to be looked at again.
    pub(super) fn due_at(&self) -> i64 {
        self.looked_at.saturating_add(i64::from(self.interval_ms))
    }

    /// Whether a text that was asked for at a moment is older than the one that is known.
    pub(super) fn has_overtaken(&self, asked_at: i64) -> bool {
        asked_at < self.looked_at && self.looked_at - asked_at < MAX_OVERTAKEN_MS
    }

    /// Notes a look at its text.
    pub(super) fn note_look(&mut self, at: i64, finding: Finding, believed: &Believed) {
        let passed = u64::try_from(at.saturating_sub(self.looked_at)).unwrap_or(0);
        let look = Look {
            finding,
            before: Duration::from_millis(u64::from(self.interval_ms)),
            passed: Duration::from_millis(passed),
            is_dated: self.modified().is_some(),
        };
        self.interval_ms = in_ms(interval::next(look, believed));
        self.looked_at = at;
    }

    pub(super) fn public(&self) -> &str {
        self.public.as_deref().unwrap_or(&self.local)
    }

    /// The part of its state that the index keeps.
    pub(super) fn flags(&self) -> u64 {
        u64::from(self.state.number())
            | u64::from(self.is_described) << 8
            | u64::from(self.is_type_found) << 9
    }

    /// Whether flags tell of a description.
    pub(super) fn is_described_by(flags: u64) -> bool {
        flags >> 8 & 1 == 1
    }

    /// Whether flags tell of a type that was found.
    pub(super) fn is_type_found_by(flags: u64) -> bool {
        flags >> 9 & 1 == 1
    }

    /// Whether a content is known of it that its state does not let it hold.
    pub(super) fn is_unheld(&self) -> bool {
        let is_shared = !self.state.has_content() && self.content_hash != 0;
        is_shared || (self.state == State::MetadataOnly && self.private_hash != 0)
    }

    /// Changes whenever anything does that its vectors are made of: not with a new date.
    pub(super) fn version(&self) -> u64 {
        version_of(self.shown_hash, self.content_hash) ^ self.private_hash
    }
}

/// The version of a resource as its shared document tells it.
pub(super) fn version_of(shown_hash: u64, content_hash: u64) -> u64 {
    shown_hash ^ content_hash.rotate_left(17)
}

/// The number that a private content adds to the version of its resource.
pub(super) fn private_version(owner: u64, hash: u64) -> u64 {
    self::hash(&(owner, hash))
}

/// The place in an id.
pub(super) fn slot_of(id: u64) -> usize {
    (id & u64::from(u32::MAX)) as usize
}

/// The facts that are kept of a resource beside the listed ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub(super) id: u64,
    pub(super) listed_hash: u64,
    pub(super) shown_hash: u64,
    pub(super) content_hash: u64,
    pub(super) looked_at: i64,
    pub(super) state: State,
    pub(super) is_described: bool,
    pub(super) is_type_found: bool,
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
    /// Counts one more, or one less.
    pub(super) fn count(&mut self, state: State, by: isize) {
        let add = |n: &mut usize| *n = n.saturating_add_signed(by);
        add(&mut self.entries);
        match state {
            State::MetadataOnly => {}
            State::Wanted => add(&mut self.indexable),
            State::Indexed | State::Stale => {
                add(&mut self.indexable);
                add(&mut self.indexed);
            }
            State::Skipped(skip) => {
                add(&mut self.skipped[skip as usize]);
                // A content that there is no room for is still missing.
                if skip == Skip::IndexFull {
                    add(&mut self.indexable);
                }
            }
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

pub(super) fn record(
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
        shown_hash: kept.map_or_else(|| shown_of(entry), |kept| kept.shown_hash),
        content_hash: kept.map(|k| k.content_hash).or(old.map(|o| o.content_hash)).unwrap_or(0),
        looked_at: kept.map(|k| k.looked_at).or(old.map(|o| o.looked_at)).unwrap_or(0),
        interval_ms: old.map_or(in_ms(FIRST_INTERVAL), |old| old.interval_ms),
        private_hash: old.map_or(0, |old| old.private_hash),
        modified: entry.modified.unwrap_or(NO_DATE),
        size: entry.size.unwrap_or(NO_SIZE),
        priority: if entry.priority.is_finite() { entry.priority.clamp(0.0, 1.0) } else { 0.0 },
        uses: old.map_or(0.0, |old| old.uses),
        source,
        mime,
        state,
        is_described: kept.map_or(entry.description.is_some(), |kept| kept.is_described),
        is_type_found: kept.is_some_and(|kept| kept.is_type_found),
    }
}

/// The state of the content when a resource is listed anew.
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

fn in_ms(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
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

fn shown_of(entry: &Entry) -> u64 {
    shown_hash(&entry.name, entry.title.as_deref(), entry.description.as_deref())
}

/// Differs when a name, a title or a description does.
pub(super) fn shown_hash(name: &str, title: Option<&str>, description: Option<&str>) -> u64 {
    hash(&(name, title, description))
}

/// A hash that is alike in every run of this program, so that it can be kept.
pub(super) fn hash(value: &impl std::hash::Hash) -> u64 {
    std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(value)
}

/// How much a resource is wanted: used ones first, then important ones, then new ones.
pub(super) fn urgency(record: &Record) -> f64 {
    /// About a year; older resources differ little.
    const YEAR: f64 = 31_557_600.0;
    let age_term = record.modified().map_or(0.0, |at| (at as f64 / YEAR).clamp(0.0, 1000.0));
    f64::from(record.uses).min(1e6) * 1e6 + f64::from(record.priority) * 1e4 + age_term
}
