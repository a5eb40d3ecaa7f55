//! Updates that come while a client's wish to hear of them is still on its way.
//!
//! A server may report a change right behind its promise to do so, before the client counts as
//! one that watches. Such a report is kept until the wish is settled; it never waits longer.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;
use trove_core::{catalogue::Change, gateway::Watched};

/// How many updates are kept; beyond that all that is watched counts as changed.
const MAX_KEPT: usize = 256;

/// The wishes of one client that are on their way.
#[derive(Default)]
pub(super) struct Wishes {
    under_way: AtomicUsize,
    settled: Notify,
}

impl Wishes {
    /// Counts one as under way until it is dropped, with its request or by its end.
    pub(super) fn begin(&self) -> Wish<'_> {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        Wish(self)
    }

    pub(super) fn are_under_way(&self) -> bool {
        self.under_way.load(Ordering::SeqCst) > 0
    }

    /// Waits until one that was under way no longer is.
    pub(super) async fn settled(&self) {
        self.settled.notified().await;
    }
}

pub(super) struct Wish<'a>(&'a Wishes);

impl Drop for Wish<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
        self.0.settled.notify_one();
    }
}

/// Updates for which no wish is known yet.
#[derive(Default)]
pub(super) struct Early {
    kept: BTreeSet<Watched>,
    is_cut: bool,
}

impl Early {
    pub(super) fn keep(&mut self, change: Change) {
        if let Change::Updated { source, uri } = change {
            self.is_cut |= self.kept.len() >= MAX_KEPT;
            if !self.is_cut {
                self.kept.insert((source, uri));
            }
        }
    }

    /// Some were missed: the kept ones are not all there were.
    pub(super) fn lose(&mut self) {
        self.is_cut = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty() && !self.is_cut
    }

    /// The updates that were kept; `None` if some were lost. Updates for wishes that
    /// `are_under_way` are lost with them then.
    pub(super) fn take(&mut self, are_under_way: bool) -> Option<Vec<Change>> {
        let Early { kept, is_cut } = std::mem::take(self);
        self.is_cut = is_cut && are_under_way;
        let changes = kept.into_iter().map(|(source, uri)| Change::Updated { source, uri });
        (!is_cut).then(|| changes.collect())
    }
}

#[cfg(test)]
mod tests {
    use trove_core::SourceId;

    use super::*;

    fn update(n: usize) -> Change {
        let source = SourceId::new("a").expect("a valid id");
        Change::Updated { source, uri: format!("x:{n}").as_str().into() }
    }

    #[tokio::test]
    async fn a_wish_that_is_taken_back_is_settled_too() {
        let wishes = Wishes::default();
        let wish = wishes.begin();
        assert!(wishes.are_under_way());
        drop(wish);
        wishes.settled().await;
        assert!(!wishes.are_under_way());
    }

    #[test]
    fn a_flood_of_updates_is_not_kept_but_not_forgotten_either() {
        let mut early = Early::default();
        for _ in 0..3 {
            early.keep(update(1));
        }
        assert_eq!(early.take(true).map(|kept| kept.len()), Some(1));
        (0..=MAX_KEPT).for_each(|n| early.keep(update(n)));
        assert!(
            early.take(true).is_none() && !early.is_empty(),
            "another wish may be for one of them"
        );
        assert!(early.take(false).is_none() && early.is_empty());
        early.lose();
        assert!(early.take(false).is_none());
    }
}
