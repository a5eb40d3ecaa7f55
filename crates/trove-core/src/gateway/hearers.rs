//! How much of servers' logs clients want to hear.
//!
//! Servers are shared, so they log at the lowest level that any client wants. Each client is told
//! only the messages of its own level and above.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicU8, Ordering},
};

/// The levels that clients want, as ranks, the lowest saying most; each for as long as its
/// client is there.
#[derive(Default)]
pub(super) struct Hearers(Mutex<Vec<Weak<AtomicU8>>>);

impl Hearers {
    /// The lowest that is wanted, this one among them.
    pub(super) fn lowest_with(&self, level: &Arc<AtomicU8>) -> u8 {
        let mut hearers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hearers.retain(|hearer| hearer.strong_count() > 0);
        if !hearers.iter().any(|hearer| std::ptr::eq(hearer.as_ptr(), Arc::as_ptr(level))) {
            hearers.push(Arc::downgrade(level));
        }
        let levels = hearers.iter().filter_map(Weak::upgrade);
        levels.map(|level| level.load(Ordering::Relaxed)).min().unwrap_or_default()
    }
}
