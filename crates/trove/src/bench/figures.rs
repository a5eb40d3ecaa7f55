//! The measurements, as numbers.

use std::time::Duration;

use serde::Serialize;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) servers: Vec<OfServer>,
    /// All lists together.
    pub(crate) list: Lists,
    /// The number of reads that was asked for.
    pub(crate) reads: usize,
    pub(crate) concurrency: usize,
}

/// One server.
#[derive(Debug, Serialize)]
pub(crate) struct OfServer {
    pub(crate) id: String,
    pub(crate) resources: usize,
    /// The time of its whole list, asked directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) list_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) read: Option<Reads>,
    /// Why something of it could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The reads of one server.
#[derive(Debug, Serialize)]
pub(crate) struct Reads {
    /// How many different resources were read, in turn.
    pub(crate) sampled: usize,
    /// How many of those tried could not be read.
    pub(crate) unreadable: usize,
    /// The mean size of an answer.
    pub(crate) bytes: u64,
    pub(crate) direct: Way,
    pub(crate) through: Way,
    /// The time that Trove adds to the median read; negative where it answers from its cache.
    pub(crate) added_ms: f64,
    /// The share of reads through Trove for which no server was asked.
    pub(crate) cached: f64,
}

/// The reads in one way.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Way {
    /// One at a time.
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    /// Several at once.
    pub(crate) per_second: f64,
    pub(crate) failed: usize,
}

/// Lists of everything.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Lists {
    /// Of all servers that were measured, one after another.
    pub(crate) direct_ms: f64,
    /// By Trove, with what it has of its own.
    pub(crate) through_ms: f64,
    /// How many resources Trove lists.
    pub(crate) resources: usize,
}

/// The times of some reads.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Of those that were answered.
    pub(super) times: Vec<Duration>,
    pub(super) bytes: u64,
    pub(super) failed: usize,
    /// From the first question to the last answer.
    pub(super) took: Duration,
}

impl Tally {
    pub(super) fn add(&mut self, other: Tally) {
        self.times.extend(other.times);
        self.bytes += other.bytes;
        self.failed += other.failed;
        self.took += other.took;
    }

    /// The time within which this share of the reads was answered.
    pub(super) fn within(&self, share: f64) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let rank = (share * times.len() as f64).ceil() as usize;
        times.get(rank.saturating_sub(1)).copied().map_or(0.0, milliseconds)
    }

    fn per_second(&self) -> f64 {
        if self.took.is_zero() { 0.0 } else { self.times.len() as f64 / self.took.as_secs_f64() }
    }
}

impl Way {
    /// `alone`: one at a time; `together`: several at once.
    pub(super) fn of(alone: &Tally, together: &Tally) -> Way {
        Way {
            p50_ms: alone.within(0.5),
            p95_ms: alone.within(0.95),
            per_second: rounded(together.per_second()),
            failed: alone.failed + together.failed,
        }
    }
}

/// Milliseconds to three digits behind the point, e.g. `1.234`.
pub(super) fn milliseconds(time: Duration) -> f64 {
    rounded(time.as_secs_f64() * 1e3)
}

pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(milliseconds: &[u64]) -> Tally {
        let times = milliseconds.iter().map(|&ms| Duration::from_millis(ms)).collect();
        Tally { times, took: Duration::from_secs(2), ..Tally::default() }
    }

    #[test]
    fn a_share_is_that_of_the_slowest_within_it() {
        let all: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(tally(&all).within(0.5), 50.0);
        assert_eq!(tally(&all).within(0.95), 95.0);
        assert_eq!(tally(&[7]).within(0.95), 7.0);
        assert_eq!(tally(&[]).within(0.5), 0.0);
    }

    #[test]
    fn what_failed_counts_as_failed_and_not_as_fast() {
        let mut together = tally(&[1, 1, 1, 1]);
        together.add(Tally { failed: 3, took: Duration::from_secs(2), ..Tally::default() });
        let way = Way::of(&tally(&[2]), &together);
        assert_eq!((way.p50_ms, way.per_second, way.failed), (2.0, 1.0, 3));
        assert_eq!(Way::of(&tally(&[]), &Tally::default()).per_second, 0.0);
    }
}
