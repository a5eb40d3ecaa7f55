//! Which answers are too old, because their Source has said that something changed.
//!
//! Every fetch notes the number of the moment at which it began; an invalidation raises
//! the number below which answers are not believed. So an answer that was already on
//! its way when the change was announced is never believed, wherever it is by then.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{source_id::SourceId, uri::LocalUri};

/// How many changed resources are remembered for each Source; past that, everything of
/// the Source is taken to have changed.
const MAX_CHANGED: usize = 4096;

#[derive(Default)]
pub(super) struct Floors {
    state: Mutex<State>,
    // Two URIs with one hash cost each other a fetch, and nothing else.
    hasher: RandomState,
}

#[derive(Default)]
struct State {
    now: u64,
    // As many as there are Sources in the configuration.
    sources: HashMap<SourceId, Floor>,
}

#[derive(Default)]
struct Floor {
    all: u64,
    resources: HashMap<u64, u64>,
}

impl Floors {
    /// The number of this moment.
    pub(super) fn now(&self) -> u64 {
        self.state().now
    }

    /// Whether an answer whose fetch began at `began` is still believed.
    pub(super) fn allow(&self, source: &SourceId, uri: &LocalUri, began: u64) -> bool {
        let hash = self.hasher.hash_one(uri);
        let state = self.state();
        let Some(floor) = state.sources.get(source) else { return true };
        began >= floor.all && floor.resources.get(&hash).is_none_or(|changed| began >= *changed)
    }

    /// Everything of a Source may have changed.
    pub(super) fn raise_all(&self, source: &SourceId) {
        let mut state = self.state();
        state.now += 1;
        let floor = Floor { all: state.now, resources: HashMap::new() };
        state.sources.insert(source.clone(), floor);
    }

    /// One resource has changed.
    pub(super) fn raise(&self, source: &SourceId, uri: &LocalUri) {
        let hash = self.hasher.hash_one(uri);
        let mut state = self.state();
        state.now += 1;
        let now = state.now;
        let floor = state.sources.entry(source.clone()).or_default();
        if floor.resources.len() >= MAX_CHANGED && !floor.resources.contains_key(&hash) {
            floor.all = now;
            floor.resources.clear();
        } else {
            floor.resources.insert(hash, now);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
