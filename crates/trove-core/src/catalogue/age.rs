//! How long a listing is believed before its Source is listed again.
//!
//! Nothing is listed again that nobody wants to see: it is looked at when somebody lists or
//! searches. Whoever lists waits for it a moment, and hears of what is new if it comes later.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::resource::Freshness;

/// How long, where the Source does not say, and does not tell when its lists change.
pub(super) const SILENT: Duration = Duration::from_secs(10);
/// The same, where it does.
const ANNOUNCING: Duration = Duration::from_secs(300);
/// The most of its time that a Source spends on listings: one part of so many.
const SHARE: u32 = 20;

/// How old a listing is; shared by the writer and the Snapshots that hold it. Nothing is known
/// of a memory.
#[derive(Debug, Default)]
pub struct Age(Mutex<Option<Listed>>);

#[derive(Debug)]
struct Listed {
    came: Instant,
    took: Duration,
    /// Something was done that may have changed the lists.
    is_doubted: bool,
}

impl Age {
    /// It came now, and took so long.
    pub(super) fn renew(&self, took: Duration) {
        *self.listed() = Some(Listed { came: Instant::now(), took, is_doubted: false });
    }

    /// Something was done that may have changed the lists.
    pub(super) fn doubt(&self) {
        if let Some(listed) = &mut *self.listed() {
            listed.is_doubted = true;
        }
    }

    /// Whether the Source is to be listed again.
    pub(super) fn is_over(&self, said: Freshness, announces: bool) -> bool {
        let listed = self.listed();
        let Some(Listed { came, took, is_doubted }) = &*listed else { return false };
        let lifetime = match said.ttl_ms {
            _ if *is_doubted => Duration::ZERO,
            0 if announces => ANNOUNCING,
            0 => SILENT,
            ttl_ms => Duration::from_millis(ttl_ms),
        };
        came.elapsed() >= lifetime.max(*took * SHARE)
    }

    /// What is left of the time for which it may be believed.
    pub(super) fn remaining(&self, said: Freshness) -> Freshness {
        let age = self.listed().as_ref().map_or(Duration::MAX, |listed| listed.came.elapsed());
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        Freshness { ttl_ms: said.ttl_ms.saturating_sub(age), ..said }
    }

    fn listed(&self) -> MutexGuard<'_, Option<Listed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert!(!age.is_over(said(1), false) && doubted.is_over(said(60_000), true));
        tokio::time::advance(SILENT).await;
        assert!(age.is_over(said(0), false) && !age.is_over(said(0), true));
        assert!(age.is_over(said(9_000), true) && !age.is_over(said(60_000), false));
        tokio::time::advance(ANNOUNCING).await;
        assert!(age.is_over(said(0), true) && !slow.is_over(said(0), true));
        assert!(!memory.is_over(said(0), false));
        let left = |age: &Age| age.remaining(said(400_000)).ttl_ms;
        assert_eq!((left(&age), left(&memory)), (90_000, 0));
    }
}
