//! The subscriptions to tell a server of the old eras, URI by URI, and when.
//!
//! Many URIs at once, so that one without an answer holds up no other, and the requests for one
//! URI one after the other. Keeps the books only: it never asks a server anything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tokio::time::Instant;
use trove_core::{SourceError, uri::LocalUri};

use super::{
    backoff,
    watching::{InForce, MAX_WAIT_FOR_ACKNOWLEDGEMENT, Wanted},
};

/// How many requests are under way at once.
pub(super) const AT_ONCE: usize = 16;
/// How many of them may be about what the server refused before.
const AGAIN_AT_ONCE: usize = 4;

/// A refusal to report is no emergency: the first attempts come as late as later ones of a
/// connection.
pub(super) const QUICK_ATTEMPTS: u32 = 3;

/// The next request about one URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Subscribe,
    Unsubscribe,
}

impl Step {
    pub(super) fn method(self) -> &'static str {
        match self {
            Step::Subscribe => "resources/subscribe",
            Step::Unsubscribe => "resources/unsubscribe",
        }
    }
}

/// A refusal, and when to ask again.
struct Refusal {
    error: SourceError,
    attempts: u32,
    again: Instant,
    /// The wish that was refused; a newer one is asked for at once.
    wish: u64,
}

/// Everything that is known of one server's subscriptions.
pub(super) struct Subscriptions {
    wanted: Wanted,
    told: BTreeSet<LocalUri>,
    refused: BTreeMap<LocalUri, Refusal>,
    under_way: BTreeSet<LocalUri>,
    /// Those of them that are asked for because they were refused before.
    again: BTreeSet<LocalUri>,
    /// URIs that the server has not answered yet, and since when each is wanted.
    open: BTreeMap<LocalUri, Instant>,
    /// The URIs to look at next.
    queue: VecDeque<LocalUri>,
    /// Watched already before this connection, so a change may have been missed.
    had: BTreeSet<LocalUri>,
    /// Refused, so that changes are missed until it no longer is.
    unheard: BTreeSet<LocalUri>,
    /// Since when reports are heard without a break.
    pub(super) heard_since: Instant,
}

impl Subscriptions {
    pub(super) fn new(had: BTreeSet<LocalUri>) -> Subscriptions {
        Subscriptions {
            wanted: Wanted::default(),
            told: BTreeSet::new(),
            refused: BTreeMap::new(),
            under_way: BTreeSet::new(),
            again: BTreeSet::new(),
            open: BTreeMap::new(),
            queue: VecDeque::new(),
            had,
            unheard: BTreeSet::new(),
            heard_since: Instant::now(),
        }
    }

    /// Takes over what is wanted now, and says how far that is in force.
    pub(super) fn take_over(&mut self, wanted: Wanted, now: Instant) -> InForce {
        self.wanted = wanted;
        let uris = &self.wanted.uris;
        self.refused.retain(|uri, refusal| uris.get(uri) == Some(&refusal.wish));
        self.unheard.retain(|uri| uris.contains_key(uri));
        self.open.retain(|uri, _| uris.contains_key(uri));
        for uri in uris.keys() {
            if !self.told.contains(uri) && !self.refused.contains_key(uri) {
                self.open.entry(uri.clone()).or_insert(now);
            }
        }
        let unwanted = self.told.iter().filter(|uri| !uris.contains_key(*uri));
        self.queue = unwanted.chain(self.open.keys()).cloned().collect();
        InForce {
            revision: self.wanted.revision,
            refused: self.refused.iter().map(|(uri, r)| (uri.clone(), r.error.clone())).collect(),
            open: self.open.keys().cloned().collect(),
            heard_since: Some(self.heard_since),
        }
    }

    /// The step to take next, if there is a place for it.
    pub(super) fn next(&mut self, now: Instant) -> Option<(LocalUri, Step)> {
        if self.under_way.len() >= AT_ONCE {
            return None;
        }
        while let Some(uri) = self.queue.pop_front() {
            if let Some(step) = self.step(&uri) {
                self.told.remove(&uri);
                self.under_way.insert(uri.clone());
                return Some((uri, step));
            }
        }
        if self.again.len() >= AGAIN_AT_ONCE {
            return None;
        }
        let mut due = self.refused.iter().filter(|(_, refusal)| refusal.again <= now);
        let uri = due.find(|(uri, _)| !self.under_way.contains(*uri))?.0.clone();
        self.again.insert(uri.clone());
        self.under_way.insert(uri.clone());
        Some((uri, Step::Subscribe))
    }

    fn step(&self, uri: &LocalUri) -> Option<Step> {
        if self.under_way.contains(uri) {
            return None;
        }
        match (self.wanted.uris.contains_key(uri), self.told.contains(uri)) {
            (true, false) if !self.refused.contains_key(uri) => Some(Step::Subscribe),
            (false, true) => Some(Step::Unsubscribe),
            _ => None,
        }
    }

    /// When a refused URI is to be asked for again; `None` as long as there is no place for it.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        if self.again.len() >= AGAIN_AT_ONCE || self.under_way.len() >= AT_ONCE {
            return None;
        }
        let resting = self.refused.iter().filter(|(uri, _)| !self.under_way.contains(*uri));
        resting.map(|(_, refusal)| refusal.again).min()
    }

    /// Takes note of an answer; true if a change may have been missed that was promised.
    pub(super) fn note(
        &mut self,
        uri: &LocalUri,
        (step, outcome): (Step, Result<(), SourceError>),
        in_force: &mut InForce,
        now: Instant,
    ) -> bool {
        self.under_way.remove(uri);
        self.again.remove(uri);
        // It may be wanted otherwise by now.
        self.queue.push_back(uri.clone());
        if step == Step::Unsubscribe {
            // One that goes on reporting is not listened to.
            return false;
        }
        let since = self.open.remove(uri);
        in_force.open.remove(uri);
        in_force.refused.remove(uri);
        let attempts = self.refused.remove(uri).map_or(1, |before| before.attempts + 1);
        let was_missed = self.had.remove(uri);
        let Err(error) = outcome else {
            self.told.insert(uri.clone());
            let was_refused = self.unheard.remove(uri);
            return was_missed || was_refused || since.is_some_and(|since| is_late(since, now));
        };
        // A URI still wanted after a refusal, such as one after a restart, is asked for again.
        if let Some(wish) = self.wanted.uris.get(uri).copied() {
            let again = now + backoff::delay(attempts + QUICK_ATTEMPTS);
            in_force.refused.insert(uri.clone(), error.clone());
            self.unheard.insert(uri.clone());
            self.refused.insert(uri.clone(), Refusal { error, attempts, again, wish });
        }
        was_missed
    }

    /// URIs whose changes may have been missed while no report could be heard.
    pub(super) fn heard_of(&self) -> BTreeSet<LocalUri> {
        self.told.union(&self.under_way).cloned().collect()
    }
}

/// Whether a client may have been promised something before the server knew of it.
pub(super) fn is_late(since: Instant, now: Instant) -> bool {
    now - since >= MAX_WAIT_FOR_ACKNOWLEDGEMENT / 2
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The books, and what is wanted and in force.
    struct Case {
        books: Subscriptions,
        wanted: Wanted,
        in_force: InForce,
    }

    impl Case {
        fn new(had: &[&str]) -> Case {
            let had = had.iter().map(|uri| LocalUri::new(*uri)).collect();
            let (wanted, in_force) = <_>::default();
            Case { books: Subscriptions::new(had), wanted, in_force }
        }

        fn want(&mut self, uri: &str) -> u64 {
            let wish = self.wanted.insert(LocalUri::new(uri));
            self.in_force = self.books.take_over(self.wanted.clone(), Instant::now());
            wish
        }

        fn forgo(&mut self, uri: &str) {
            self.wanted.remove(&LocalUri::new(uri));
            self.in_force = self.books.take_over(self.wanted.clone(), Instant::now());
        }

        /// All that is asked now.
        fn asks(&mut self) -> Vec<(String, Step)> {
            std::iter::from_fn(|| self.books.next(Instant::now()))
                .map(|(uri, step)| (uri.as_str().to_owned(), step))
                .collect()
        }

        fn answer(&mut self, uri: &str, step: Step, is_yes: bool) -> bool {
            let no = SourceError::NotOffered { what: "that" };
            let outcome = if is_yes { Ok(()) } else { Err(no) };
            let (uri, now) = (LocalUri::new(uri), Instant::now());
            self.books.note(&uri, (step, outcome), &mut self.in_force, now)
        }

        fn outcome(&self, uri: &str, wish: u64) -> Option<bool> {
            let outcome = self.in_force.outcome(&LocalUri::new(uri), wish);
            outcome.map(|outcome| outcome.is_ok())
        }
    }

    use Step::{Subscribe, Unsubscribe};

    fn asked(uri: &str, step: Step) -> Vec<(String, Step)> {
        vec![(uri.to_owned(), step)]
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_never_answered_holds_up_nothing_else() {
        let mut case = Case::new(&[]);
        let bad = case.want("a:bad");
        assert_eq!(case.asks(), asked("a:bad", Subscribe));
        let good = case.want("a:good");
        assert_eq!(case.asks(), asked("a:good", Subscribe));
        assert!(!case.answer("a:good", Subscribe, true));
        assert_eq!((case.outcome("a:good", good), case.outcome("a:bad", bad)), (Some(true), None));
        // By then a client was told that it is watched.
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!(case.answer("a:bad", Subscribe, true));
    }

    #[tokio::test(start_paused = true)]
    async fn the_requests_for_one_uri_go_one_after_the_other() {
        let mut case = Case::new(&[]);
        case.want("a:1");
        assert_eq!(case.asks(), asked("a:1", Subscribe));
        case.forgo("a:1");
        assert_eq!(case.asks(), []);
        case.answer("a:1", Subscribe, true);
        assert_eq!(case.asks(), asked("a:1", Unsubscribe));
        let wish = case.want("a:1");
        assert_eq!((case.asks(), case.outcome("a:1", wish)), (vec![], None));
        case.answer("a:1", Unsubscribe, true);
        assert_eq!(case.asks(), asked("a:1", Subscribe));
        case.answer("a:1", Subscribe, true);
        assert_eq!(case.outcome("a:1", wish), Some(true));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_is_asked_for_again_and_at_once_if_somebody_newly_wants_it() {
        let mut case = Case::new(&["a:1"]);
        let wish = case.want("a:1");
        assert_eq!(case.asks().len(), 1);
        assert!(case.answer("a:1", Subscribe, false), "it was watched before");
        assert_eq!((case.outcome("a:1", wish), case.asks()), (Some(false), vec![]));
        tokio::time::sleep_until(case.books.wakes_at().expect("it is not given up")).await;
        assert_eq!(case.asks(), asked("a:1", Subscribe));
        assert!(!case.answer("a:1", Subscribe, false), "that is no news");
        let wish = case.want("a:1");
        assert_eq!(case.outcome("a:1", wish), None);
        assert_eq!(case.asks(), asked("a:1", Subscribe));
        assert!(case.answer("a:1", Subscribe, true), "what changed until now nobody was told");
        assert_eq!((case.outcome("a:1", wish), case.books.wakes_at()), (Some(true), None));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_again_and_again_leaves_places_to_others() {
        let mut case = Case::new(&[]);
        let all: Vec<String> = (0..AT_ONCE * 2).map(|n| format!("a:{n}")).collect();
        for uri in &all {
            case.want(uri);
        }
        for _ in 0..2 {
            let first = case.asks();
            assert_eq!(first.len(), AT_ONCE);
            for (uri, step) in first {
                case.answer(&uri, step, false);
            }
        }
        tokio::time::advance(Duration::from_secs(90)).await;
        assert_eq!(case.asks().len(), AGAIN_AT_ONCE);
        assert_eq!(case.books.wakes_at(), None);
        case.want("a:new");
        assert_eq!(case.asks(), asked("a:new", Subscribe));
    }
}
