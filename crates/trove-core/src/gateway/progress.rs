//! How far the index has come, for those who would rather wait than miss something.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;

use super::Gateway;
use crate::{catalogue::Snapshot, search::Search};

/// How often a waiter looks again.
const LOOK: Duration = Duration::from_millis(10);
/// A round that began before the waiter looked may have missed something; the one after
/// it has not.
const ROUNDS: u64 = 2;

/// The progress of the crawler.
#[derive(Default)]
pub(super) struct Progress {
    /// The Snapshot that the index was last fed with.
    fed: ArcSwapOption<Snapshot>,
    /// How often nothing was left to read.
    rests: AtomicU64,
}

impl Progress {
    pub(super) fn note_fed(&self, snapshot: Arc<Snapshot>) {
        self.fed.store(Some(snapshot));
    }

    pub(super) fn note_rest(&self) {
        self.rests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_fed_with(&self, snapshot: &Arc<Snapshot>) -> bool {
        self.fed.load().as_ref().is_some_and(|fed| Arc::ptr_eq(fed, snapshot))
    }

    fn rests(&self) -> u64 {
        self.rests.load(Ordering::Relaxed)
    }
}

impl Gateway {
    /// Waits until there is an index and all that is listed now can be found in it by name.
    /// Set a deadline: there may never be one.
    pub async fn fed(&self) -> Arc<Search> {
        loop {
            if let Some(search) = self.search()
                && self.progress.is_fed_with(&self.snapshot().await)
            {
                search.flush().await;
                return search.clone();
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until every text was read since something happened that may have changed it. Set a
    /// deadline: where there are many texts, they are read at an even pace.
    pub async fn looked_again(&self) {
        let search = self.fed().await;
        while search.is_doubtful() {
            tokio::time::sleep(LOOK).await;
        }
        search.flush().await;
    }

    /// Waits until all contents that can be read now can be found. Set a deadline.
    pub async fn crawled(&self) {
        let search = self.fed().await;
        let began = self.progress.rests();
        let is_done = || search.pending(1).is_empty() || self.progress.rests() >= began + ROUNDS;
        while !is_done() {
            tokio::time::sleep(LOOK).await;
        }
        search.flush().await;
    }
}
