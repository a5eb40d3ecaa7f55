//! The last readings of resources whose server does not report their changes.
//!
//! Several are read at once, so that one without an answer holds up no other, and each by one
//! read at a time. Keeps the books only: it never asks a server anything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tokio::time::Instant;
use trove_core::uri::LocalUri;

use super::{
    subscriptions::is_late,
    watching::{InForce, Wanted},
};

/// How many resources are read at once.
const AT_ONCE: usize = 8;

/// Everything that is known of the resources of one server.
pub(super) struct Polled {
    wanted: Wanted,
    /// The digest last read; `None` as long as it could not be read.
    seen: BTreeMap<LocalUri, Option<u64>>,
    under_way: BTreeSet<LocalUri>,
    /// URIs not looked at yet, and since when each is wanted.
    open: BTreeMap<LocalUri, Instant>,
    queue: VecDeque<LocalUri>,
    /// Watched already before this connection, so a change may have been missed.
    had: BTreeSet<LocalUri>,
    /// When this connection began to be looked at.
    began: Instant,
}

impl Polled {
    pub(super) fn new(had: BTreeSet<LocalUri>) -> Polled {
        Polled {
            wanted: Wanted::default(),
            seen: BTreeMap::new(),
            under_way: BTreeSet::new(),
            open: BTreeMap::new(),
            queue: VecDeque::new(),
            had,
            began: Instant::now(),
        }
    }

    /// Takes over what is wanted now, and says how far that is in force.
    pub(super) fn take_over(&mut self, wanted: Wanted, now: Instant) -> InForce {
        self.wanted = wanted;
        let uris = &self.wanted.uris;
        self.seen.retain(|uri, _| uris.contains_key(uri));
        self.open.retain(|uri, _| uris.contains_key(uri));
        for uri in uris.keys() {
            if !self.seen.contains_key(uri) && !self.open.contains_key(uri) {
                self.open.insert(uri.clone(), now);
                // A new watch is not kept waiting for all the others.
                self.queue.push_front(uri.clone());
            }
        }
        let open = self.open.keys().cloned().collect();
        let (revision, heard_since) = (self.wanted.revision, Some(self.began));
        InForce { revision, refused: BTreeMap::new(), open, heard_since }
    }

    /// Whether all of this round is being read or was, and there is anything for another.
    pub(super) fn is_through(&self) -> bool {
        self.queue.is_empty() && !self.wanted.uris.is_empty()
    }

    /// Begins to read everything once more.
    pub(super) fn begin_round(&mut self) {
        self.queue = self.wanted.uris.keys().cloned().collect();
    }

    /// The URI to read next, if there is a place for it.
    pub(super) fn next(&mut self) -> Option<LocalUri> {
        while self.under_way.len() < AT_ONCE {
            let uri = self.queue.pop_front()?;
            if self.wanted.uris.contains_key(&uri) && self.under_way.insert(uri.clone()) {
                return Some(uri);
            }
        }
        None
    }

    /// Takes note of a reading, `None` where it failed. True if the resource changed since its
    /// changes were promised.
    pub(super) fn note(
        &mut self,
        uri: &LocalUri,
        digest: Option<u64>,
        in_force: &mut InForce,
        now: Instant,
    ) -> bool {
        self.under_way.remove(uri);
        if !self.wanted.uris.contains_key(uri) {
            return false;
        }
        let since = self.open.remove(uri);
        in_force.open.remove(uri);
        let was_missed = self.had.remove(uri);
        // One that cannot be read for another reason than its absence has not changed.
        let Some(digest) = digest else {
            self.seen.entry(uri.clone()).or_default();
            return was_missed;
        };
        let differs = match self.seen.insert(uri.clone(), Some(digest)) {
            Some(Some(before)) => before != digest,
            // Its contents at the time of the promise are unknown.
            Some(None) => true,
            None => since.is_some_and(|since| is_late(since, now)),
        };
        was_missed || differs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(uris: &[&str]) -> Wanted {
        let mut wanted = Wanted::default();
        for uri in uris {
            wanted.insert(LocalUri::new(*uri));
        }
        wanted
    }

    #[tokio::test(start_paused = true)]
    async fn what_never_answers_is_read_once_while_others_go_on() {
        let (now, [good, bad]) = (Instant::now(), ["a:good", "a:bad"].map(LocalUri::new));
        let mut polled = Polled::new(BTreeSet::new());
        let mut in_force = polled.take_over(wanted(&["a:good", "a:bad"]), now);
        assert_eq!(std::iter::from_fn(|| polled.next()).count(), 2);
        assert!(!polled.note(&good, Some(1), &mut in_force, now));
        assert_eq!(in_force.open, BTreeSet::from([bad.clone()]));
        for digest in 2..5 {
            assert!(polled.is_through());
            polled.begin_round();
            assert_eq!(polled.next(), Some(good.clone()));
            assert_eq!(polled.next(), None);
            assert!(polled.note(&good, Some(digest), &mut in_force, now));
            assert!(!polled.note(&good, Some(digest), &mut in_force, now));
        }
        // Long after it was promised: its contents at that time are unknown.
        tokio::time::advance(std::time::Duration::from_secs(30)).await;
        assert!(polled.note(&bad, Some(1), &mut in_force, Instant::now()));
        assert!(in_force.open.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_could_not_be_read_at_first_is_told_once_it_can_be() {
        let (now, uri) = (Instant::now(), LocalUri::new("a:1"));
        let mut polled = Polled::new(BTreeSet::new());
        let mut in_force = polled.take_over(wanted(&["a:1"]), now);
        let mut read = |digest| polled.note(&uri, digest, &mut in_force, now);
        let told = [None, Some(1), None, Some(1), Some(2)].map(&mut read);
        assert_eq!(told, [false, true, false, false, true]);
    }
}
