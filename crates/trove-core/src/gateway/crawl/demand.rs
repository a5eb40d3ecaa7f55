//! How much is asked, so that the background can stand aside.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::Instant;

/// How long after a request the background waits.
pub(super) const YIELD: Duration = Duration::from_millis(100);
/// How often the background looks whether a client asks, while it computes.
pub(super) const LOOK: Duration = Duration::from_millis(250);
/// So many requests from one look to the next are more than people make.
const HEAVY: u64 = 250;

/// How much is asked.
#[derive(Debug)]
pub(in crate::gateway) struct Demand {
    since: Instant,
    /// How many requests there were.
    asked: AtomicU64,
    /// When the last one came, in milliseconds.
    last: AtomicU64,
    /// How many there were at the last look, and from the one before to it.
    seen: AtomicU64,
    between: AtomicU64,
}

impl Demand {
    pub(in crate::gateway) fn new() -> Demand {
        Demand {
            since: Instant::now(),
            asked: AtomicU64::new(0),
            last: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            between: AtomicU64::new(0),
        }
    }

    /// Notes a request.
    pub(in crate::gateway) fn note(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(ms, Ordering::Relaxed);
    }

    /// Counts what was asked since the last look.
    pub(super) fn look(&self) {
        let asked = self.asked.load(Ordering::Relaxed);
        let seen = self.seen.swap(asked, Ordering::Relaxed);
        self.between.store(asked - seen, Ordering::Relaxed);
    }

    /// Whether a client asked a moment ago.
    pub(super) fn is_recent(&self) -> bool {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        last > Duration::ZERO && self.since.elapsed().saturating_sub(last) < YIELD
    }

    /// Whether programs ask, and many at once.
    pub(super) fn is_heavy(&self) -> bool {
        self.between.load(Ordering::Relaxed) >= HEAVY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_requests_are_heavy_until_they_end() {
        let demand = Demand::new();
        tokio::time::advance(LOOK).await;
        assert!(!demand.is_recent(), "nobody has asked yet");
        demand.note();
        demand.look();
        assert!(demand.is_recent() && !demand.is_heavy(), "one is not many");
        for _ in 0..HEAVY {
            demand.note();
        }
        demand.look();
        assert!(demand.is_recent() && demand.is_heavy());
        tokio::time::advance(LOOK).await;
        demand.look();
        assert!(!demand.is_recent() && !demand.is_heavy(), "it is over");
    }
}
