//! How often one caller may ask over HTTP, and for how much at a time.
//!
//! A caller is the principal that the guard found, or all callers together where they have no
//! names. A caller that asks too much is told when to come back; no other caller notices.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
    state::keyed::HashMapStateStore,
};
use trove_core::Caller;

use crate::bounds::Bounds;

/// The allowance that each caller has left.
pub(crate) struct Limits {
    rate: Option<RateLimiter<Arc<str>, HashMapStateStore<Arc<str>>, DefaultClock>>,
    requests: Arc<Places>,
    streams: Arc<Places>,
}

/// A caller asked too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMuch {
    pub(crate) why: &'static str,
    /// When it is worth asking again.
    pub(crate) retry_after: Duration,
}

/// How long to wait for a place, since the time of the next free one is unknown.
const PLACE_WAIT: Duration = Duration::from_secs(1);

impl Limits {
    pub(crate) fn new(bounds: &Bounds) -> Limits {
        let quota =
            bounds.rate.map(|rate| Quota::per_second(rate.per_second).allow_burst(rate.burst));
        Limits {
            rate: quota.map(RateLimiter::hashmap),
            requests: Places::of(bounds.concurrent_requests),
            streams: Places::of(bounds.streams),
        }
    }

    /// A place for one request; it is free again when dropped.
    pub(crate) fn begin(&self, caller: &Caller) -> Result<Place, TooMuch> {
        let why = "too many requests of yours are under way";
        self.requests.take(caller).ok_or(TooMuch { why, retry_after: PLACE_WAIT })
    }

    /// A place for one stream of changes.
    pub(crate) fn listen(&self, caller: &Caller) -> Result<Place, TooMuch> {
        let why = "too many streams of yours are open";
        self.streams.take(caller).ok_or(TooMuch { why, retry_after: PLACE_WAIT })
    }

    /// Counts one request.
    pub(crate) fn spend(&self, caller: &Caller) -> Result<(), TooMuch> {
        let Some(rate) = &self.rate else { return Ok(()) };
        rate.check_key(&caller.scope()).map_err(|not_yet| TooMuch {
            why: "you ask too often",
            retry_after: not_yet.wait_time_from(DefaultClock::default().now()),
        })
    }

    /// Forgets those who have not asked for a while.
    pub(crate) fn forget_silent(&self) {
        if let Some(rate) = &self.rate {
            rate.retain_recent();
        }
    }
}

impl TooMuch {
    /// Whole seconds, as `Retry-After` has them.
    pub(crate) fn seconds(&self) -> u64 {
        self.retry_after.as_millis().div_ceil(1000).max(1).try_into().unwrap_or(u64::MAX)
    }
}

/// So many things at a time for each caller.
struct Places {
    most: usize,
    taken: Mutex<HashMap<Arc<str>, usize>>,
}

/// One of them.
pub(crate) struct Place {
    places: Arc<Places>,
    caller: Arc<str>,
}

impl Places {
    fn of(most: usize) -> Arc<Places> {
        Arc::new(Places { most, taken: Mutex::default() })
    }

    fn take(self: &Arc<Places>, caller: &Caller) -> Option<Place> {
        let caller = caller.scope();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(caller.clone()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Place { places: self.clone(), caller })
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Place")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use trove_core::caller::Door;

    use super::*;
    use crate::bounds::Rate;

    fn caller(name: &str) -> Caller {
        Caller { principal: Some(name.into()), ..Caller::behind(Door::Http) }
    }

    fn limits(burst: u32, concurrent_requests: usize) -> Limits {
        let number = |n| NonZeroU32::new(n).unwrap();
        let rate = Some(Rate { per_second: number(1), burst: number(burst) });
        Limits::new(&Bounds { rate, concurrent_requests, streams: 1, ..Bounds::default() })
    }

    #[test]
    fn one_request_past_the_burst_is_refused_and_others_do_not_notice() {
        let limits = limits(3, 10);
        for _ in 0..3 {
            limits.spend(&caller("ann")).unwrap();
        }
        let refused = limits.spend(&caller("ann")).unwrap_err();
        assert!(refused.retry_after <= Duration::from_secs(1) && refused.seconds() == 1);
        limits.spend(&caller("bob")).unwrap();
        limits.forget_silent();
        assert!(limits.spend(&caller("ann")).is_err(), "the recent are remembered");
    }

    #[test]
    fn a_place_is_free_again_when_its_request_is_over() {
        let limits = limits(1, 2);
        let first = limits.begin(&caller("ann")).unwrap();
        let _second = limits.begin(&caller("ann")).unwrap();
        assert!(limits.begin(&caller("ann")).is_err());
        let _other = limits.begin(&caller("bob")).unwrap();
        drop(first);
        let third = limits.begin(&caller("ann"));
        assert!(third.is_ok() && limits.begin(&caller("ann")).is_err());
        let _stream = limits.listen(&caller("ann")).unwrap();
        assert!(limits.listen(&caller("ann")).is_err());
    }

    #[test]
    fn who_has_gone_leaves_nothing_behind() {
        let limits = limits(1, 2);
        drop(limits.begin(&caller("ann")).unwrap());
        assert!(limits.requests.taken.lock().unwrap().is_empty());
    }
}
