//! Which answers are too old, because their Source has said that something changed.
//!
//! Every fetch notes the number of the moment at which it began; an invalidation raises
//! the number below which answers are not believed. So an answer that was already on
//! its way when the change was announced is never believed, wherever it is by then.
//!
//! Changes come from the log of all changes, which is read up to its end before each question.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
};

use parking_lot::{Mutex, MutexGuard};
use tracing::debug;

use crate::{
    changes::{Change, Reader},
    content::shown_uri,
    source_id::SourceId,
    uri::LocalUri,
};

/// How many changed resources are remembered for each Source; past that, everything of
/// the Source is taken to have changed.
const MAX_CHANGED: usize = 4096;
/// How many of the names that hold a changed resource are looked at.
const MAX_HOLDERS: usize = 16;

#[derive(Default)]
pub(super) struct Floors {
    state: Mutex<State>,
    // Two URIs with one hash cost each other a fetch, and nothing else.
    hasher: RandomState,
}

#[derive(Default)]
struct State {
    now: u64,
    /// Answers from before this are not believed, from any Source.
    everything: u64,
    /// The log of changes, at the place up to which it was read.
    changes: Option<Reader>,
    // As many as there are Sources in the configuration.
    sources: HashMap<SourceId, Floor>,
}

#[derive(Default)]
struct Floor {
    all: u64,
    resources: HashMap<u64, u64>,
}

impl Floors {
    pub(super) fn fed_by(changes: Reader) -> Floors {
        let state = State { changes: Some(changes), ..State::default() };
        Floors { state: Mutex::new(state), hasher: RandomState::new() }
    }

    /// The number of this moment.
    pub(super) fn now(&self) -> u64 {
        self.state().now
    }

    /// Whether an answer whose fetch began at `began` is still believed.
    pub(super) fn allow(&self, source: &SourceId, uri: &LocalUri, began: u64) -> bool {
        let hash = self.hasher.hash_one(uri.as_str());
        let state = self.state();
        if began < state.everything {
            return false;
        }
        let Some(floor) = state.sources.get(source) else { return true };
        began >= floor.all && floor.resources.get(&hash).is_none_or(|changed| began >= *changed)
    }

    /// Everything of a Source may have changed.
    pub(super) fn raise_all(&self, source: &SourceId) {
        self.state().raise_all(source);
    }

    /// One resource has changed.
    pub(super) fn raise(&self, source: &SourceId, uri: &LocalUri) {
        self.state().raise(source, self.hasher.hash_one(uri.as_str()));
    }

    /// The state, in line with all changes up to now.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        while let Some(change) = state.changes.as_mut().and_then(Reader::take) {
            self.apply(change, &mut state);
        }
        state
    }

    fn apply(&self, change: Change, state: &mut State) {
        match change {
            Change::Updated { source, uri } => {
                let uri = uri.as_str();
                debug!(%source, uri = %shown_uri(uri), "a change is told to the cache");
                state.raise(&source, self.hasher.hash_one(uri));
                // A folder that holds it may have changed with it.
                for holder in holders(uri) {
                    state.raise(&source, self.hasher.hash_one(holder));
                }
            }
            Change::Doubted(source) => {
                debug!(%source, "a change of anything is told to the cache");
                state.raise_all(&source);
            }
            Change::Missed => {
                debug!("changes were missed: the cache begins anew");
                state.now += 1;
                state.everything = state.now;
                state.sources.clear();
            }
            Change::Lists(_) | Change::Rules | Change::Log { .. } | Change::Listed => {}
        }
    }
}

impl State {
    fn raise_all(&mut self, source: &SourceId) {
        self.now += 1;
        let floor = Floor { all: self.now, resources: HashMap::new() };
        self.sources.insert(source.clone(), floor);
    }

    fn raise(&mut self, source: &SourceId, hash: u64) {
        self.now += 1;
        let floor = self.sources.entry(source.clone()).or_default();
        if floor.resources.len() >= MAX_CHANGED && !floor.resources.contains_key(&hash) {
            floor.all = self.now;
            floor.resources.clear();
        } else {
            floor.resources.insert(hash, self.now);
        }
    }
}

/// The names that hold what `uri` names, the nearest first, e.g. `x://a/` and `x://a` of `x://a/b`.
fn holders(uri: &str) -> impl Iterator<Item = &str> {
    let path = uri.find("://").map_or(0, |at| at + "://".len());
    let slashes = uri.bytes().enumerate().skip(path).filter(|(_, byte)| *byte == b'/');
    let mut slashes: Vec<usize> = slashes.map(|(at, _)| at).collect();
    slashes.reverse();
    slashes.into_iter().take(MAX_HOLDERS).flat_map(|at| [&uri[..=at], &uri[..at]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Changes;

    #[test]
    fn a_cache_that_missed_changes_believes_no_answer_from_before() {
        let changes = Changes::default();
        let floors = Floors::fed_by(changes.reader_of_all());
        let (a, b) = (SourceId::new("a").unwrap(), SourceId::new("b").unwrap());
        let (whole, part) = (LocalUri::from("x://h/d"), LocalUri::from("x://h/d/e"));
        let began = floors.now();
        changes.note(Change::Updated { source: a.clone(), uri: part });
        assert!(!floors.allow(&a, &whole, began), "what holds it changed with it");
        assert!(floors.allow(&b, &whole, began));
        let began = floors.now();
        for _ in 0..5000 {
            changes.note(Change::Updated { source: a.clone(), uri: LocalUri::from("y") });
        }
        assert!(!floors.allow(&b, &whole, began));
        assert!(floors.allow(&b, &whole, floors.now()));
    }

    #[test]
    fn past_the_bound_the_whole_source_is_taken_to_have_changed() {
        let floors = Floors::default();
        let (noisy, quiet) = (SourceId::new("noisy").unwrap(), SourceId::new("quiet").unwrap());
        let began = floors.now();
        for n in 0..MAX_CHANGED {
            floors.raise(&noisy, &LocalUri::new(format!("x:{n}")));
        }
        let other = LocalUri::from("x:other");
        assert!(floors.allow(&noisy, &other, began));
        floors.raise(&noisy, &LocalUri::from("x:one-more"));
        assert!(!floors.allow(&noisy, &other, began));
        assert!(floors.allow(&quiet, &other, began));
        assert!(floors.allow(&noisy, &other, floors.now()));
    }
}
