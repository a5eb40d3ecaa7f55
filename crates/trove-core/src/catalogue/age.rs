//! How long a listing is believed before its Source is listed again.
//!
//! A Source is listed again only when a client lists or searches. The client waits for it a moment,
//! and is told of news that come later.

use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::resource::Freshness;

/// How long, where the Source does not say, and does not tell when its lists change.
const SILENT: Duration = Duration::from_secs(10);
/// How long, where the Source tells when its lists change.
const ANNOUNCING: Duration = Duration::from_secs(300);
/// The most of its time that a Source spends on listings: one part of so many.
pub(super) const SHARE: u32 = 20;
/// How long callers do not wait for a Source that did not come in time.
const LATE: Duration = Duration::from_secs(10);

/// How old a listing is; shared by the writer and the Snapshots that hold it. Nothing is known
/// of a memory.
#[derive(Debug, Default)]
pub struct Age(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    listed: Option<Listed>,
    /// Something was done that may have changed the lists.
    is_doubted: bool,
    /// It was done after they were last asked for.
    is_doubted_anew: bool,
    /// A caller waited for it in vain.
    late: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Listed {
    came: Instant,
    took: Duration,
}

impl Age {
    /// It is asked for now.
    pub(super) fn begin(&self) {
        self.known().is_doubted_anew = false;
    }

    /// It came now, and took so long.
    pub(super) fn renew(&self, took: Duration) {
        let mut known = self.known();
        known.listed = Some(Listed { came: Instant::now(), took });
        known.late = None;
        known.is_doubted = known.is_doubted_anew;
    }

    /// Something was done that may have changed the lists.
    pub(super) fn doubt(&self) {
        let mut known = self.known();
        (known.is_doubted, known.is_doubted_anew) = (true, true);
    }

    pub(super) fn is_doubted(&self) -> bool {
        self.known().is_doubted
    }

    /// A caller waited for it in vain.
    pub(super) fn note_late(&self) {
        self.known().late = Some(Instant::now());
    }

    /// Whether a caller waited for it in vain just now.
    pub(super) fn is_late(&self) -> bool {
        self.known().late.is_some_and(|late| late.elapsed() < LATE)
    }

    /// When it came; `None` if it is a memory of an earlier run.
    pub fn listed_at(&self) -> Option<SystemTime> {
        let listed = self.known().listed?;
        SystemTime::now().checked_sub(listed.came.elapsed())
    }

    /// Whether the Source is to be listed again.
    pub(super) fn is_over(&self, said: Freshness, announces: bool) -> bool {
        self.left(said, announces).is_some_and(|left| left.is_zero())
    }

    /// How long it is until the Source is to be listed again.
    pub(super) fn left(&self, said: Freshness, announces: bool) -> Option<Duration> {
        let known = self.known();
        let Listed { came, took } = known.listed?;
        let lifetime = match said.ttl_ms {
            // A Source that tells of changes is asked all the same: not all keep to that.
            _ if known.is_doubted && announces => SILENT,
            _ if known.is_doubted => Duration::ZERO,
            0 if announces => ANNOUNCING,
            0 => SILENT,
            ttl_ms => Duration::from_millis(ttl_ms),
        };
        Some(lifetime.max(took * SHARE).saturating_sub(came.elapsed()))
    }

    /// The rest of the time for which it may be believed.
    pub(super) fn remaining(&self, said: Freshness) -> Freshness {
        let age = self.known().listed.map_or(Duration::MAX, |listed| listed.came.elapsed());
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        Freshness { ttl_ms: said.ttl_ms.saturating_sub(age), ..said }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Scope;

    #[tokio::test(start_paused = true)]
    async fn a_listing_is_believed_as_long_as_its_source_says_or_is_known_to_speak_up() {
        let said = |ttl_ms| Freshness { ttl_ms, scope: Scope::Public };
        let [age, doubted, slow, memory] = [(); 4].map(|()| Age::default());
        age.renew(Duration::ZERO);
        doubted.renew(Duration::ZERO);
        doubted.doubt();
        slow.renew(Duration::from_secs(60));
        assert!(!age.is_over(said(1), false) && doubted.is_over(said(60_000), false));
        assert_eq!(doubted.left(said(60_000), true), Some(SILENT));
        tokio::time::advance(SILENT).await;
        assert!(age.is_over(said(0), false) && !age.is_over(said(0), true));
        assert!(age.is_over(said(9_000), true) && !age.is_over(said(60_000), false));
        tokio::time::advance(ANNOUNCING).await;
        assert!(age.is_over(said(0), true) && !slow.is_over(said(0), true));
        assert!(!memory.is_over(said(0), false));
        let left = |age: &Age| age.remaining(said(400_000)).ttl_ms;
        assert_eq!((left(&age), left(&memory)), (90_000, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_done_while_a_listing_is_on_its_way_is_doubted_still() {
        let (age, said) = (Age::default(), Freshness { ttl_ms: 60_000, scope: Scope::Public });
        age.renew(Duration::ZERO);
        age.doubt();
        age.begin();
        assert!(age.is_over(said, false), "whoever lists waits for it");
        age.renew(Duration::from_secs(1));
        assert!(!age.is_doubted());
        age.begin();
        age.doubt();
        age.renew(Duration::from_secs(1));
        assert_eq!(age.left(said, false), Some(Duration::from_secs(1) * SHARE));
    }
}
