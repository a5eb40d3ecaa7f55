//! How fast one server is read for the index: evenly, and never faster than a named rate.
//!
//! Reads that were missed are not made up for: after a pause the next one waits its time too.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use crate::source::SourceId;

/// At most so many contents a second are read from one server.
pub const READS_A_SECOND: u32 = 50;
/// Of these, at most so many are looked at again.
pub const REVISITS_A_SECOND: u32 = 5;
/// One of so many revisits goes to the text that was looked at longest ago.
const OLDEST_OF: u32 = 4;

/// The least time between two reads of one server.
const BETWEEN_READS: Duration = Duration::from_millis(1000 / READS_A_SECOND as u64);
const BETWEEN_REVISITS: Duration = Duration::from_millis(1000 / REVISITS_A_SECOND as u64);

/// The pace at which one server is read.
#[derive(Debug, Default)]
pub(super) struct Pace {
    read_at: Option<Instant>,
    revisited_at: Option<Instant>,
    revisits: u32,
}

impl Pace {
    /// When something may be read that was never read.
    pub(super) fn next_read(&self, now: Instant) -> Instant {
        self.read_at.map_or(now, |at| at + BETWEEN_READS)
    }

    /// When something may be looked at again.
    pub(super) fn next_revisit(&self, now: Instant) -> Instant {
        let revisit = self.revisited_at.map_or(now, |at| at + BETWEEN_REVISITS);
        revisit.max(self.next_read(now))
    }

    /// Whether it is the turn of the text that was looked at longest ago.
    pub(super) fn is_turn_of_oldest(&self) -> bool {
        self.revisits % OLDEST_OF == OLDEST_OF - 1
    }

    pub(super) fn note_read(&mut self, now: Instant) {
        self.read_at = Some(now);
    }

    pub(super) fn note_revisit(&mut self, now: Instant) {
        self.note_read(now);
        self.revisited_at = Some(now);
        self.revisits = self.revisits.wrapping_add(1);
    }
}

/// The pace of each server.
#[derive(Debug, Default)]
pub(super) struct Paces(HashMap<SourceId, Pace>);

impl Paces {
    pub(super) fn of(&mut self, source: &SourceId) -> &mut Pace {
        self.0.entry(source.clone()).or_default()
    }

    /// Forgets a server.
    pub(super) fn forget(&mut self, source: &SourceId) {
        self.0.remove(source);
    }
}
