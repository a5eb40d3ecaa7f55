//! Which texts are to be looked at again, and why.
//!
//! A text is doubted if something happened at its Source after it was read, and it is due if it
//! was believed for long enough. This file only judges; it never asks a Source anything.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use super::{
    entry::Skip,
    record::{Record, State},
};
use crate::source_id::SourceId;

/// Which texts of a Source are doubted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// All of them.
    All,
    /// Texts without a date: a listing that came just now vouches for the others.
    Undated,
}

/// Why a text should be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It was never read.
    Unread,
    /// Its Source told that it changed.
    Told,
    /// Something happened that may have changed it.
    Doubted,
    /// It was believed for as long as it may be.
    Due,
}

/// Since when the texts of a Source are doubted, in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Since {
    all: i64,
    undated: i64,
}

const NEVER: Since = Since { all: i64::MIN, undated: i64::MIN };

/// The doubts that were cast on each Source.
#[derive(Debug, Default)]
pub(super) struct Doubts(RwLock<HashMap<SourceId, Since>>);

impl Doubts {
    /// Casts doubt on texts that were read until now.
    pub(super) fn cast(&self, source: &SourceId, doubt: Doubt, now: i64) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let since = all.entry(source.clone()).or_insert(NEVER);
        match doubt {
            Doubt::All => (since.all, since.undated) = (now, now),
            Doubt::Undated => since.undated = now,
        }
    }

    /// The moment to note for a read of a Source that begins now: after any doubt that was cast
    /// before, even in the same millisecond.
    pub(super) fn moment_of_read(&self, source: &SourceId, now: i64) -> i64 {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let since = all.get(source).unwrap_or(&NEVER);
        if since.undated == now { now + 1 } else { now }
    }

    /// Forgets a Source.
    pub(super) fn forget(&self, source: &SourceId) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(source);
    }

    /// Judges texts of these Sources at this moment.
    pub(super) fn judge(&self, sources: &[SourceId], now: i64) -> Judge {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let since = sources.iter().map(|source| all.get(source).copied().unwrap_or(NEVER));
        Judge { now, since: since.collect() }
    }
}

/// Judges texts at one moment.
pub(super) struct Judge {
    now: i64,
    /// By the number of a Source.
    since: Vec<Since>,
}

impl Judge {
    /// Why a text should be read now; `None` if it may be believed.
    pub(super) fn reason(&self, record: &Record) -> Option<Reason> {
        match record.state {
            State::MetadataOnly => return None,
            State::Wanted => return Some(Reason::Unread),
            State::Stale => return Some(Reason::Told),
            State::Indexed | State::Skipped(_) => {}
        }
        if self.is_doubted(record) && record.state != State::Skipped(Skip::Forbidden) {
            return Some(Reason::Doubted);
        }
        // A look in the future tells that the clock was put back; one millisecond is no future.
        let is_due = self.now >= record.due_at() || self.now + 1 < record.looked_at;
        is_due.then_some(Reason::Due)
    }

    fn is_doubted(&self, record: &Record) -> bool {
        let since = self.since.get(usize::from(record.source)).unwrap_or(&NEVER);
        let since = if record.modified().is_some() { since.all } else { since.undated };
        // A doubt in the future tells that the clock was put back; all texts are due then.
        record.looked_at <= since && since <= self.now
    }
}
