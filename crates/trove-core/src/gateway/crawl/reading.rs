//! Which contents are read for the index now, and which next.
//!
//! A few at a time and fewer from one Source, so that one that is slow or dead holds up
//! nobody else: what it has stays behind while the others are read.

use std::{
    collections::{HashMap, VecDeque},
    sync::atomic::Ordering,
    time::Duration,
};

use tokio::{
    task::{Id, JoinSet},
    time::Instant,
};

use super::{Crawler, MAX_YIELD, Outcome};
use crate::{
    search::{Key, Pending, Skip},
    source::SourceId,
    uri::LocalUri,
};

/// How many contents are read from one Source at a time.
const PER_SOURCE: usize = 2;
/// How many are chosen at a time.
const CHOSEN: usize = 64;
/// How long to rest when there is nothing to read.
pub(super) const REST: Duration = Duration::from_millis(500);
/// How long to wait until the index has noted what it was given.
const NOTING: Duration = Duration::from_millis(10);
/// How long to wait before choosing anew while those that may be read are all being read.
const CHOOSE_AGAIN: Duration = Duration::from_millis(250);
/// How long a content, or a Source, that failed is left alone.
const LEAVE_ALONE: Duration = Duration::from_secs(30);
/// How often a content may fail before it is given up.
const MAX_FAILURES: u32 = 3;
/// So many failures in a row, and it is the Source that fails.
const FAILURES_IN_A_ROW: u32 = 3;

/// What is being read, and what must wait.
#[derive(Default)]
pub(super) struct Reading {
    tasks: JoinSet<Outcome>,
    /// What each task reads.
    keys: HashMap<Id, Key>,
    /// What was chosen to be read next, the most wanted first.
    chosen: VecDeque<Pending>,
    chosen_at: Option<Instant>,
    failures: HashMap<Key, Failures>,
    /// How often a Source failed in a row, and until when it is left alone.
    sources: HashMap<SourceId, Failures>,
}

/// How often something failed.
struct Failures {
    count: u32,
    until: Option<Instant>,
}

impl Reading {
    /// Whether nothing is being read.
    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Forgets what was chosen and what failed: the index begins anew, or by other rules.
    pub(super) fn forget(&mut self) {
        self.chosen.clear();
        self.failures.clear();
    }

    /// The next that is read, if any is being read.
    pub(super) async fn next(&mut self) -> Option<(Key, Outcome)> {
        let (id, outcome) = match self.tasks.join_next_with_id().await? {
            Ok((id, outcome)) => (id, outcome),
            // A fault of ours; what was read then counts as not readable now.
            Err(broken) => (broken.id(), Outcome::Failed),
        };
        self.keys.remove(&id).map(|key| (key, outcome))
    }

    fn may_start(&self, source: &SourceId, local: &str, now: Instant) -> bool {
        let is_waiting = |failures: &Failures| failures.until.is_some_and(|until| until > now);
        let own = self.keys.values().filter(|reading| reading.source == *source);
        // Asked of every resource that is wanted: a key is made only where some failed.
        let has_failed = || {
            let key = Key { source: source.clone(), local: LocalUri::from(local) };
            self.failures.get(&key).is_some_and(is_waiting)
        };
        !self.sources.get(source).is_some_and(is_waiting)
            && own.clone().count() < PER_SOURCE
            && own.clone().all(|reading| reading.local.as_str() != local)
            && (self.failures.is_empty() || !has_failed())
    }

    fn take_chosen(&mut self, now: Instant) -> Option<Pending> {
        let may_start = |it: &Pending| self.may_start(&it.key.source, it.key.local.as_str(), now);
        let at = self.chosen.iter().position(may_start)?;
        self.chosen.remove(at)
    }

    /// Notes a failure; true when the content is to be given up.
    fn note_failure(&mut self, key: &Key) -> bool {
        let until = Some(Instant::now() + LEAVE_ALONE);
        let none = || Failures { count: 0, until: None };
        let source = self.sources.entry(key.source.clone()).or_insert_with(none);
        source.count += 1;
        if source.count >= FAILURES_IN_A_ROW {
            *source = Failures { count: 0, until };
        }
        let own = self.failures.entry(key.clone()).or_insert_with(none);
        *own = Failures { count: own.count + 1, until };
        let is_over = own.count >= MAX_FAILURES;
        if is_over {
            self.failures.remove(key);
        }
        is_over
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
        let parallel = self.gateway.crawl_settings.parallel.load(Ordering::Relaxed).max(1);
        while self.reading.tasks.len() < parallel {
            let Some(pending) = self.reading.take_chosen(now) else {
                // What was read a moment ago still looks wanted until the index has noted it.
                if self.search.has_queued() {
                    return NOTING;
                }
                if self.choose(now) {
                    continue;
                }
                return REST;
            };
            let (gateway, key) = (self.gateway.clone(), pending.key.clone());
            let task = self.reading.tasks.spawn(async move {
                gateway.stand_aside(MAX_YIELD).await;
                gateway.read_for_index(&pending).await
            });
            self.reading.keys.insert(task.id(), key);
        }
        REST
    }

    /// Chooses anew; true when something can be read now.
    fn choose(&mut self, now: Instant) -> bool {
        let reading = &self.reading;
        let is_recent = reading.chosen_at.is_some_and(|at| now < at + CHOOSE_AGAIN);
        if is_recent && !reading.is_idle() {
            return false;
        }
        let may_start = |source: &SourceId, local: &str| reading.may_start(source, local, now);
        let chosen = self.search.pending_if(CHOSEN, &may_start);
        self.reading.chosen_at = Some(now);
        self.reading.chosen = chosen.into();
        !self.reading.chosen.is_empty()
    }

    /// Gives the index what was read.
    pub(super) async fn take(&mut self, key: Key, outcome: Outcome) {
        match outcome {
            Outcome::Content(content, said) => {
                self.reading.note_success(&key);
                if let Some(holds) = self.gateway.holds_for(&key.source, said) {
                    self.due.note(&key, Instant::now(), holds);
                }
                let is_private = content.owner.is_some();
                self.search.put_content(key.clone(), content).await;
                if is_private {
                    // There is nothing in it for everybody: it is not wanted again.
                    self.search.skip_content(key, Skip::Private).await;
                }
            }
            Outcome::Skip(skip) => {
                self.reading.note_success(&key);
                self.search.skip_content(key, skip).await;
            }
            Outcome::Failed => {
                if self.reading.note_failure(&key) {
                    self.search.skip_content(key, Skip::Unreadable).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(source: &str, n: usize) -> Pending {
        let key = Key {
            source: SourceId::normalise(source),
            local: format!("doc://{n}").as_str().into(),
        };
        Pending { public: "x".into(), mime: None, size: None, indexed_at: None, key }
    }

    #[tokio::test]
    async fn a_source_that_hangs_or_fails_leaves_room_for_the_others() {
        let mut reading = Reading::default();
        for n in 0..5 {
            reading.chosen.push_back(pending("slow", n));
        }
        reading.chosen.push_back(pending("good", 0));
        let now = Instant::now();
        let mut started = Vec::new();
        while let Some(pending) = reading.take_chosen(now) {
            let task = reading.tasks.spawn(std::future::pending());
            reading.keys.insert(task.id(), pending.key.clone());
            started.push(pending.key.source.to_string());
        }
        assert_eq!(started, ["slow", "slow", "good"]);
        reading.keys.clear();
        for n in 0..3 {
            assert!(!reading.note_failure(&pending("slow", n).key));
        }
        assert!(reading.take_chosen(Instant::now()).is_none(), "it is left alone");
        let later = Instant::now() + LEAVE_ALONE;
        assert!(reading.take_chosen(later).is_some(), "for a while");
    }

    #[test]
    fn a_content_is_given_up_after_some_failures_in_a_row() {
        let mut reading = Reading::default();
        let key = pending("one", 1).key;
        assert!(!reading.note_failure(&key));
        reading.note_success(&key);
        assert!(!reading.note_failure(&key) && !reading.note_failure(&key));
        assert!(reading.note_failure(&key));
    }
}
