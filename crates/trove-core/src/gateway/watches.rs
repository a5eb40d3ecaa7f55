//! How many callers watch each resource: its Source is told of the first and the last.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::{AskError, Gateway, resources::Watched};
use crate::{
    access::Standing,
    caller::Caller,
    source::{Source as _, SourceId},
    uri::LocalUri,
};

/// The most resources watched at once, unless configured.
pub const MAX_WATCHES: usize = 10_000;

/// What a caller may be told of a watched resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Everything that its owner tells.
    All,
    /// That it changed, when this number does.
    When(u64),
    /// Nothing: it is hidden from the caller by now.
    None,
}

impl Gateway {
    /// What the caller may be told of a change at `uri`. A resource that joins others
    /// changes for a caller only where something does that he may read.
    pub fn news(&self, caller: &Caller, source: &SourceId, uri: &LocalUri) -> News {
        let rules = self.rules();
        let has_rules = !rules.access().policy.is_empty();
        if let Some(knowledge) = self.knowledge().filter(|knowledge| knowledge.id() == source) {
            return match has_rules || self.picks_of(caller).is_some() {
                true => News::When(knowledge.state(self.sight_of_guide(caller), uri.as_str())),
                false => News::All,
            };
        }
        match rules.standing(caller, source.as_str(), uri.as_str()).0 {
            Standing::Open => News::All,
            Standing::Shown | Standing::Hidden => News::None,
        }
    }
}

pub(super) struct Watches {
    limit: usize,
    counts: Mutex<HashMap<Watched, u32>>,
}

impl Watches {
    /// None yet, and never more than `limit`.
    pub(super) fn within(limit: usize) -> Watches {
        Watches { limit, counts: Mutex::default() }
    }

    /// Counts one more watcher.
    pub(super) fn hold(&self, watched: &Watched) -> Result<(), AskError> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= self.limit && !counts.contains_key(watched) {
            return Err(AskError::TooManyWatches { limit: self.limit });
        }
        *counts.entry(watched.clone()).or_default() += 1;
        Ok(())
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
