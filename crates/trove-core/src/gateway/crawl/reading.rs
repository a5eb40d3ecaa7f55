//! Which contents are read for the index now, and which next.
//!
//! A few at a time, fewer from one Source, and each server at an even pace. So a slow or dead
//! server holds up no other: its contents stay behind while those of others are read.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::atomic::Ordering,
    time::Duration,
};

use tokio::{
    task::{Id, JoinSet},
    time::Instant,
};

use super::{Crawler, MAX_YIELD, Outcome, pace::Paces};
use crate::{
    aside::apart,
    gateway::Gateway,
    search::{Key, MAX_INTERVAL, Pending, Reason, Skip, Wanting},
    source::SourceId,
    status::State,
    uri::LocalUri,
};

/// How many contents are read from one Source at a time.
const PER_SOURCE: usize = 2;
/// How many of one Source are chosen at a time, of each kind: enough until the next choice.
const CHOSEN: usize = 64;
/// How long to rest when there is nothing to read.
pub(super) const REST: Duration = Duration::from_millis(500);
/// How long to wait until the index has noted what it was given.
const NOTING: Duration = Duration::from_millis(10);
/// How long to wait before choosing anew while something is read or waits to be read.
const CHOOSE_AGAIN: Duration = Duration::from_millis(250);
/// How long to wait before choosing anew at the least: to choose is to look at every resource.
const MIN_CHOOSE_AGAIN: Duration = Duration::from_millis(50);
/// How long a content, or a Source, that failed is left alone. For a content that is indexed this
/// doubles with each failure.
const LEAVE_ALONE: Duration = Duration::from_secs(30);
/// How often a content that was never read may fail before it is given up.
const MAX_FAILURES: u32 = 3;
/// So many failures in a row, and it is the Source that fails.
const FAILURES_IN_A_ROW: u32 = 3;
/// How many failing contents are remembered; others are only held back with their Source.
const MAX_FAILING: usize = 10_000;

/// The reads under way, and those that must wait.
#[derive(Default)]
pub(super) struct Reading {
    tasks: JoinSet<Outcome>,
    /// The content that each task reads.
    under_way: HashMap<Id, Pending>,
    chosen: BTreeMap<SourceId, Chosen>,
    chosen_at: Option<Instant>,
    paces: Paces,
    failures: HashMap<Key, Failures>,
    /// How often a Source failed in a row, and until when it is left alone.
    sources: HashMap<SourceId, Failures>,
}

/// The contents of one Source chosen to be read next.
struct Chosen {
    /// It lies on this machine, so reading costs no message and keeps no pace.
    is_local: bool,
    unread: VecDeque<Pending>,
    again: VecDeque<Pending>,
    oldest: Option<Pending>,
}

impl Chosen {
    fn of(wanting: Wanting, is_local: bool) -> Chosen {
        Chosen {
            is_local,
            unread: wanting.unread.into(),
            again: wanting.again.into(),
            oldest: wanting.oldest,
        }
    }

    /// The next to be looked at again.
    fn take_again(&mut self, is_turn_of_oldest: bool) -> Option<Pending> {
        let oldest = if is_turn_of_oldest { self.oldest.take() } else { None };
        let Some(oldest) = oldest else {
            let next = self.again.pop_front()?;
            // It may be the oldest as well, and is looked at once.
            self.oldest.take_if(|oldest| oldest.key == next.key);
            return Some(next);
        };
        self.again.retain(|it| it.key != oldest.key);
        Some(oldest)
    }

    fn is_empty(&self) -> bool {
        self.unread.is_empty() && self.again.is_empty()
    }
}

/// How often something failed.
struct Failures {
    count: u32,
    until: Option<Instant>,
}

impl Failures {
    const NONE: Failures = Failures { count: 0, until: None };

    fn is_waiting(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| until > now)
    }
}

/// The next step.
enum Next {
    Read(Pending),
    Wait(Duration),
}

impl Reading {
    /// Forgets what was chosen and what failed: the index begins anew, or by other rules.
    pub(super) fn forget(&mut self) {
        self.chosen.clear();
        self.chosen_at = None;
        self.failures.clear();
    }

    pub(super) fn forget_source(&mut self, source: &SourceId) {
        self.chosen.remove(source);
        self.paces.forget(source);
        self.sources.remove(source);
        self.failures.retain(|key, _| key.source != *source);
    }

    /// The next that is read, if any is being read.
    pub(super) async fn next(&mut self) -> Option<(Pending, Outcome)> {
        let (id, outcome) = match self.tasks.join_next_with_id().await? {
            Ok((id, outcome)) => (id, outcome),
            // A fault of ours; the content counts as not readable now.
            Err(broken) => (broken.id(), Outcome::Failed),
        };
        self.under_way.remove(&id).map(|read| (read, outcome))
    }

    /// Whether a content may be chosen: it is not being read, and did not fail just now.
    fn may_choose(&self, source: &SourceId, local: &str, now: Instant) -> bool {
        let is_read =
            |read: &Pending| read.key.source == *source && read.key.local.as_str() == local;
        if self.under_way.values().any(is_read) {
            return false;
        }
        // A key is made only where some failed: this is asked of every resource that is wanted.
        if self.failures.is_empty() {
            return true;
        }
        let key = Key { source: source.clone(), local: LocalUri::from(local) };
        !self.failures.get(&key).is_some_and(|failures| failures.is_waiting(now))
    }

    fn is_left_alone(&self, source: &SourceId, now: Instant) -> bool {
        self.sources.get(source).is_some_and(|failures| failures.is_waiting(now))
    }

    /// Takes the next content that may be read now, or says how long none may be.
    fn take_chosen(&mut self, now: Instant) -> Next {
        let mut wait = REST;
        for (source, chosen) in &mut self.chosen {
            let own = self.under_way.values().filter(|read| read.key.source == *source);
            let is_waiting = self.sources.get(source).is_some_and(|it| it.is_waiting(now));
            if own.count() >= PER_SOURCE || is_waiting {
                continue;
            }
            let pace = self.paces.of(source);
            if chosen.is_local {
                let next = chosen.unread.pop_front().or_else(|| chosen.again.pop_front());
                match next {
                    Some(pending) => return Next::Read(pending),
                    None => continue,
                }
            }
            if !chosen.again.is_empty() {
                let at = pace.next_revisit(now);
                if at <= now
                    && let Some(pending) = chosen.take_again(pace.is_turn_of_oldest())
                {
                    pace.note_revisit(now);
                    return Next::Read(pending);
                }
                wait = wait.min(at.saturating_duration_since(now));
            }
            if !chosen.unread.is_empty() {
                let at = pace.next_read(now);
                if at <= now
                    && let Some(pending) = chosen.unread.pop_front()
                {
                    pace.note_read(now);
                    return Next::Read(pending);
                }
                wait = wait.min(at.saturating_duration_since(now));
            }
        }
        Next::Wait(wait)
    }

    /// Whether nothing is read, or waits to be read, that is sure to be missing.
    fn is_caught_up(&self) -> bool {
        let is_sure = |it: &Pending| matches!(it.reason, Reason::Unread | Reason::Told);
        let mut chosen = self.chosen.values().flat_map(|own| own.unread.iter().chain(&own.again));
        !chosen.any(is_sure) && !self.under_way.values().any(is_sure)
    }

    /// Notes a failure; true when the content is to be given up.
    fn note_failure(&mut self, read: &Pending) -> bool {
        let now = Instant::now();
        let source = self.sources.entry(read.key.source.clone()).or_insert(Failures::NONE);
        source.count += 1;
        if source.count >= FAILURES_IN_A_ROW {
            *source = Failures { count: 0, until: Some(now + LEAVE_ALONE) };
        }
        let has_room = self.failures.len() < MAX_FAILING;
        let count = self.failures.get(&read.key).map_or(0, |failures| failures.count) + 1;
        // A text that is indexed stays: its server is away, or busy. It tells its age.
        if !read.has_text && count >= MAX_FAILURES {
            self.failures.remove(&read.key);
            return true;
        }
        if has_room || count > 1 {
            let doublings = if read.has_text { count.min(16) - 1 } else { 0 };
            let alone = (LEAVE_ALONE * 2u32.pow(doublings)).min(MAX_INTERVAL);
            self.failures.insert(read.key.clone(), Failures { count, until: Some(now + alone) });
        }
        false
    }

    fn note_success(&mut self, key: &Key) {
        self.failures.remove(key);
        self.sources.remove(&key.source);
    }
}

impl Crawler {
    /// Begins to read the contents that are wanted most, as many as may be; gives how long to
    /// wait before looking again.
    pub(super) fn start_reading(&mut self) -> Duration {
        let now = Instant::now();
        if now < self.settled {
            return self.settled - now;
        }
        let mut rest = self.choose(now);
        let parallel = self.gateway.crawl_settings.parallel.load(Ordering::Relaxed).max(1);
        while self.reading.tasks.len() < parallel {
            match self.reading.take_chosen(now) {
                Next::Read(pending) => self.begin(pending),
                Next::Wait(wait) => {
                    rest = rest.min(wait);
                    break;
                }
            }
        }
        rest
    }

    fn begin(&mut self, pending: Pending) {
        let (gateway, search, read) = (self.gateway.clone(), self.search.clone(), pending.clone());
        let task = self.reading.tasks.spawn(async move {
            gateway.stand_aside(MAX_YIELD).await;
            gateway.read_for_index(&search, &pending).await
        });
        self.reading.under_way.insert(task.id(), read);
    }

    /// Chooses anew if it is time for that; gives how long it is until the next time.
    fn choose(&mut self, now: Instant) -> Duration {
        let is_empty = self.reading.chosen.values().all(Chosen::is_empty);
        let is_idle = self.reading.tasks.is_empty() && is_empty;
        let least = if is_idle { MIN_CHOOSE_AGAIN } else { CHOOSE_AGAIN };
        let next = self.reading.chosen_at.map_or(now, |at| at + least);
        if next > now {
            return next - now;
        }
        // A content read a moment ago still looks wanted until the index has noted it.
        if self.search.has_queued() {
            return NOTING;
        }
        let (gateway, reading) = (&self.gateway, &self.reading);
        let open = gateway.sources_to_read();
        let may = |source: &SourceId, local: &str, reason: Reason| {
            open.contains(source)
                && !reading.is_left_alone(source, now)
                && reading.may_choose(source, local, now)
                && !(reason == Reason::Due && gateway.is_told_of(source, local))
        };
        // It looks at every resource, and may wait for the one who writes them down.
        let wanting = apart(|| self.search.wanting(CHOSEN, &may));
        let local = gateway.local_sources();
        let mut chosen = BTreeMap::new();
        for own in wanting {
            let (source, is_local) = (own.source.clone(), local.contains(&own.source));
            chosen.insert(source, Chosen::of(own, is_local));
        }
        self.reading.chosen = chosen;
        self.reading.chosen_at = Some(now);
        if self.reading.is_caught_up() {
            self.gateway.progress.note_rest();
        }
        if self.reading.chosen.is_empty() { REST } else { CHOOSE_AGAIN }
    }

    /// Gives the index what was read.
    pub(super) async fn take(&mut self, read: Pending, outcome: Outcome) {
        let key = read.key.clone();
        match outcome {
            Outcome::Content(content) => {
                self.reading.note_success(&key);
                let is_private = content.owner.is_some();
                self.search.put_content(key.clone(), content).await;
                if is_private {
                    // It has no text for all callers: it is not wanted again.
                    self.search.skip_content(key, Skip::Private).await;
                }
            }
            Outcome::Skip(skip) => {
                self.reading.note_success(&key);
                self.search.skip_content(key, skip).await;
            }
            Outcome::Failed => self.take_failure(&read).await,
            // Its Source is there, and says no every time: its indexed text goes.
            Outcome::Refused => self.take_failure(&Pending { has_text: false, ..read }).await,
        }
    }
}

impl Crawler {
    async fn take_failure(&mut self, read: &Pending) {
        if self.reading.note_failure(read) {
            self.search.skip_content(read.key.clone(), Skip::Unreadable).await;
        }
    }
}

impl Gateway {
    /// The Sources that can be read now.
    fn sources_to_read(&self) -> HashSet<SourceId> {
        let all = self.board.all().into_iter();
        all.filter(|(_, status)| status.state == State::Ready).map(|(id, _)| id).collect()
    }

    /// The Sources that lie on this machine.
    fn local_sources(&self) -> HashSet<SourceId> {
        let snapshot = self.current();
        let members = snapshot.members().iter();
        members.filter(|one| one.source.is_local()).map(|one| one.source.id().clone()).collect()
    }

    /// Whether its Source promised to tell of changes, so that no look by the clock is needed.
    fn is_told_of(&self, source: &SourceId, local: &str) -> bool {
        self.watches.has(source, local)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::crawl::pace::{READS_A_SECOND, REVISITS_A_SECOND};

    fn pending(source: &str, n: usize, reason: Reason) -> Pending {
        let key = Key {
            source: SourceId::normalise(source),
            local: format!("doc://{n}").as_str().into(),
        };
        let has_text = reason != Reason::Unread;
        Pending { public: "x".into(), mime: None, size: None, has_text, reason, key }
    }

    #[test]
    fn what_is_oldest_and_wanted_most_is_looked_at_once() {
        let (one, two) = (pending("srv", 1, Reason::Due), pending("srv", 2, Reason::Due));
        for is_turn_of_oldest in [false, true] {
            let mut chosen = Chosen {
                is_local: false,
                unread: VecDeque::new(),
                again: VecDeque::from([one.clone(), two.clone()]),
                oldest: Some(one.clone()),
            };
            assert_eq!(chosen.take_again(is_turn_of_oldest), Some(one.clone()));
            assert_eq!(chosen.take_again(true), Some(two.clone()));
            assert!(chosen.is_empty() && chosen.oldest.is_none());
        }
    }

    fn choose(reading: &mut Reading, source: &str, unread: usize, again: usize) {
        let of = |reason, count| (0..count).map(|n| pending(source, n, reason)).collect();
        let chosen = Chosen {
            is_local: false,
            unread: of(Reason::Unread, unread),
            again: of(Reason::Due, again),
            oldest: None,
        };
        reading.chosen.insert(SourceId::normalise(source), chosen);
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_hangs_or_fails_leaves_room_for_the_others() {
        let mut reading = Reading::default();
        choose(&mut reading, "slow", 5, 0);
        choose(&mut reading, "good", 1, 0);
        let mut started = Vec::new();
        for _ in 0..10 {
            while let Next::Read(pending) = reading.take_chosen(Instant::now()) {
                let task = reading.tasks.spawn(std::future::pending());
                started.push(pending.key.source.to_string());
                reading.under_way.insert(task.id(), pending);
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        started.sort();
        assert_eq!(started, ["good", "slow", "slow"]);
        reading.under_way.clear();
        for n in 0..3 {
            assert!(!reading.note_failure(&pending("slow", n, Reason::Unread)));
        }
        assert!(matches!(reading.take_chosen(Instant::now()), Next::Wait(_)), "it is left alone");
        tokio::time::advance(LEAVE_ALONE).await;
        assert!(matches!(reading.take_chosen(Instant::now()), Next::Read(_)), "for a while");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_is_read_at_an_even_pace() {
        let mut reading = Reading::default();
        choose(&mut reading, "one", 1000, 1000);
        let (began, mut reads, mut revisits) = (Instant::now(), 0, 0);
        while began.elapsed() < Duration::from_secs(2) {
            match reading.take_chosen(Instant::now()) {
                Next::Read(pending) if pending.has_text => revisits += 1,
                Next::Read(_) => reads += 1,
                Next::Wait(wait) => tokio::time::advance(wait).await,
            }
            let passed = began.elapsed().as_millis() as u32;
            let allowed = |a_second: u32| passed * a_second / 1000 + 1;
            assert!(reads + revisits <= allowed(READS_A_SECOND), "no burst");
            assert!(revisits <= allowed(REVISITS_A_SECOND), "nor of what is looked at again");
        }
        assert_eq!((reads + revisits, revisits), (2 * READS_A_SECOND, 2 * REVISITS_A_SECOND));
    }

    #[test]
    fn a_content_is_given_up_after_some_failures_in_a_row_unless_it_is_indexed() {
        let mut reading = Reading::default();
        let unread = pending("one", 1, Reason::Unread);
        assert!(!reading.note_failure(&unread));
        reading.note_success(&unread.key);
        assert!(!reading.note_failure(&unread) && !reading.note_failure(&unread));
        assert!(reading.note_failure(&unread));
        let indexed = pending("one", 2, Reason::Due);
        for _ in 0..100 {
            assert!(!reading.note_failure(&indexed), "a server that is away is still found");
        }
    }
}
