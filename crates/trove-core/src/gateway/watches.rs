//! How many callers watch each resource: its Source is told of the first and the last.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::{AskError, resources::Watched};

/// The most resources watched at once, unless configured.
pub const MAX_WATCHES: usize = 10_000;

pub(super) struct Watches {
    limit: usize,
    counts: Mutex<HashMap<Watched, u32>>,
}

impl Watches {
    /// None yet, and never more than `limit`.
    pub(super) fn within(limit: usize) -> Watches {
        Watches { limit, counts: Mutex::default() }
    }

    /// Counts one more watcher; true for the first.
    pub(super) fn hold(&self, watched: &Watched) -> Result<bool, AskError> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= self.limit && !counts.contains_key(watched) {
            return Err(AskError::TooManyWatches { limit: self.limit });
        }
        let count = counts.entry(watched.clone()).or_default();
        *count += 1;
        Ok(*count == 1)
    }

    /// Whether anybody watches it.
    pub(super) fn is_held(&self, watched: &Watched) -> bool {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).contains_key(watched)
    }

    /// Counts one watcher less; true for the last.
    pub(super) fn release(&self, watched: &Watched) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(watched) else { return false };
        *count -= 1;
        if *count == 0 {
            counts.remove(watched);
            return true;
        }
        false
    }
}
