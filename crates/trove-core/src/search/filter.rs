//! Admits resources: those that the question leaves out, or that the caller may not see, are gone
//! before any count or cut.

use super::{
    entry::{Coverage, Seen, Sight, Skip},
    query::Query,
    record::{Record, State, hash, slot_of},
    roster::Roster,
};

/// Decides about resources for one question.
pub(super) struct Filter<'a> {
    roster: &'a Roster,
    sight: &'a dyn Sight,
    /// By number of the Source.
    sources: Vec<Seen>,
    /// By number of the type; `None` if every type will do.
    types: Option<Vec<bool>>,
    after: i64,
    before: i64,
    is_dated: bool,
    owner: u64,
    /// Whether every document may be found.
    is_open: bool,
    /// The decisions, by place: 0 none yet, 1 no, 2 yes.
    decided: Vec<u8>,
    /// Documents that would be admitted if they had a date.
    undated: Counted,
}

/// Counts resources, each once, by their places.
#[derive(Default)]
pub(super) struct Counted {
    seen: Vec<u64>,
    pub(super) total: usize,
}

impl Counted {
    pub(super) fn add(&mut self, slot: usize) {
        let (word, bit) = (slot / 64, 1 << (slot % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        self.total += usize::from(self.seen[word] & bit == 0);
        self.seen[word] |= bit;
    }
}

impl<'a> Filter<'a> {
    pub(super) fn new(roster: &'a Roster, sight: &'a dyn Sight, query: &Query) -> Filter<'a> {
        let wants = |source| query.sources.is_empty() || query.sources.contains(source);
        let sources = roster.sources.iter();
        let sources = sources
            .map(|source| if wants(source) { sight.of_source(source) } else { Seen::Nothing });
        let sources: Vec<Seen> = sources.collect();
        let takes_all = |wanted: &String| matches!(wanted.trim(), "*" | "*/*");
        let narrows = !query.content_types.is_empty() && !query.content_types.iter().any(takes_all);
        let types = narrows.then(|| {
            roster.types.iter().map(|mime| fits_any(mime, &query.content_types)).collect()
        });
        let needs_asking = sources.contains(&Seen::Some);
        let is_dated = query.after.is_some() || query.before.is_some();
        let sees_all = sources.iter().all(|seen| *seen == Seen::All);
        Filter {
            is_open: sees_all && types.is_none() && !is_dated,
            roster,
            sight,
            sources,
            types,
            after: query.after.unwrap_or(i64::MIN),
            before: query.before.unwrap_or(i64::MAX),
            is_dated,
            owner: sight.owner().map_or(0, owner_number),
            decided: if needs_asking { vec![0; roster.capacity()] } else { Vec::new() },
            undated: Counted::default(),
        }
    }

    /// Whether a document is for all callers or for the asker.
    pub(super) fn admits_owner(&self, owner: u64) -> bool {
        owner == 0 || owner == self.owner
    }

    /// Whether a resource may be found.
    pub(super) fn admits(&mut self, id: u64) -> bool {
        if self.is_open {
            return self.roster.has(id);
        }
        let Some(record) = self.roster.get(id) else { return false };
        self.admits_record(record)
    }

    pub(super) fn admits_record(&mut self, record: &Record) -> bool {
        let is_wanted = self.sources[usize::from(record.source)] != Seen::Nothing;
        if !is_wanted || !self.has_type(record) {
            return false;
        }
        if !self.is_dated {
            return self.is_visible(record);
        }
        match record.modified() {
            Some(at) => at >= self.after && at <= self.before && self.is_visible(record),
            None => {
                if self.is_visible(record) {
                    self.undated.add(slot_of(record.id));
                }
                false
            }
        }
    }

    /// How many resources were passed over because they have no date, of those that may be seen.
    pub(super) fn undated(&self) -> usize {
        self.undated.total
    }

    /// Counts them anew.
    pub(super) fn forget_undated(&mut self) {
        self.undated = Counted::default();
    }

    fn has_type(&self, record: &Record) -> bool {
        let Some(types) = &self.types else { return true };
        types.get(usize::from(record.mime)) == Some(&true)
    }

    fn is_visible(&mut self, record: &Record) -> bool {
        match self.sources[usize::from(record.source)] {
            Seen::All => true,
            Seen::Nothing => false,
            Seen::Some => {
                let slot = slot_of(record.id);
                if self.decided[slot] == 0 {
                    let is_seen = self.sight.sees(self.roster.entry_of(record));
                    self.decided[slot] = 1 + u8::from(is_seen);
                }
                self.decided[slot] == 2
            }
        }
    }

    /// How much of the documents that the caller may see is indexed; filters do not count.
    pub(super) fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::default();
        let mut partly = Vec::new();
        for (number, source) in self.roster.sources.iter().enumerate() {
            match self.sight.of_source(source) {
                Seen::All => self.roster.tallies[number].add_to(&mut coverage),
                Seen::Nothing => {}
                Seen::Some => partly.push(number),
            }
        }
        if !partly.is_empty() {
            for record in self.roster.iter() {
                let is_asked = partly.contains(&usize::from(record.source));
                if is_asked && self.sight.sees(self.roster.entry_of(record)) {
                    record.state.add_to(&mut coverage);
                }
            }
        }
        self.add_private(&mut coverage);
        coverage
    }

    /// Counts the contents that are indexed for the caller alone.
    fn add_private(&self, coverage: &mut Coverage) {
        if !coverage.skipped.contains_key(&Skip::Private) {
            return;
        }
        let own = self.roster.private.keys().filter(|(_, owner)| *owner == self.owner);
        for record in own.filter_map(|(id, _)| self.roster.get(*id)) {
            let is_seen = match self.sight.of_source(self.roster.source_of(record)) {
                Seen::All => true,
                Seen::Nothing => false,
                Seen::Some => self.sight.sees(self.roster.entry_of(record)),
            };
            if is_seen && record.state == State::Skipped(Skip::Private) {
                count_as_indexed(coverage);
            }
        }
    }
}

/// Counts one that was taken for left out as indexed: the asker can find it.
fn count_as_indexed(coverage: &mut Coverage) {
    coverage.indexed += 1;
    coverage.indexable += 1;
    let left_out = coverage.skipped.get_mut(&Skip::Private);
    if let Some(left_out) = left_out {
        *left_out = left_out.saturating_sub(1);
        if *left_out == 0 {
            coverage.skipped.remove(&Skip::Private);
        }
    }
}

/// The number that stands for an owner; never 0.
pub(super) fn owner_number(owner: &str) -> u64 {
    hash(&owner).max(1)
}

fn fits_any(mime: &str, wanted: &[String]) -> bool {
    let plain = mime.split(';').next().unwrap_or_default().trim();
    wanted.iter().any(|wanted| {
        let wanted = wanted.trim().to_ascii_lowercase();
        match wanted.strip_suffix('*') {
            Some(start) => plain.starts_with(start),
            None => plain == wanted || mime == wanted,
        }
    })
}
