//! The room of the log, shared by callers.
//!
//! The files are bounded. So a caller that asks fast enough could push the lines of others out of
//! them, or fill the queue before a slow disk. Each caller may take at most as much as all callers
//! leave free: the first half of the room, the next a quarter, and so on. The room it took becomes
//! free again in the course of days. Past its share a caller's entries are counted, and become one
//! line for each kind with their number.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::Mutex;

use super::{Entry, MAX_WAITING, Outcome};
use crate::caller::Via;

/// How long entries of one kind are counted before they are written as one line.
pub(super) const COUNTING: Duration = Duration::from_secs(10);
/// How many callers are told apart at a time; those on top of that share one place.
const MAX_CALLERS: usize = 256;
/// How many kinds are counted at a time; those on top of that count together.
const MAX_KINDS: usize = 256;
/// In this time half of the room becomes free again.
const HALF_FREE: Duration = Duration::from_secs(24 * 60 * 60);
/// A log with less room is shared as if it had so much, or a share would be a few lines.
const LEAST_ROOM: u64 = 256 * 1024;
/// About what a line takes beside its names.
const LINE_BYTES: usize = 160;

/// Who takes room: the door and the name, not what a client calls itself.
type Who = (&'static str, Option<Arc<str>>);

/// The room that each caller has taken.
pub(super) struct Shares {
    room: f64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    callers: BTreeMap<Who, Share>,
    freed_at: Option<Instant>,
    counted: BTreeMap<Kind, Counted>,
}

/// The room that one caller has taken.
#[derive(Default)]
struct Share {
    bytes: f64,
    /// Lines in the queue, as far as they were put there since it was last emptied.
    lines: usize,
    emptied: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    who: Who,
    via: &'static str,
    action: &'static str,
    outcome: Outcome,
}

struct Counted {
    since: Instant,
    count: u64,
    last: Entry,
}

/// How full the queue is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    /// Entries in it.
    pub(super) waiting: usize,
    /// How often it was empty.
    pub(super) emptied: u64,
}

impl Shares {
    /// Of so many bytes in all files.
    pub(super) fn of(room: u64) -> Shares {
        Shares { room: room.max(LEAST_ROOM) as f64, inner: Mutex::default() }
    }

    /// Gives an entry back that may be written as it is; counts any other.
    pub(super) fn admit(&self, entry: Entry, queue: Queue, now: Instant) -> Option<Entry> {
        let mut inner = self.inner.lock();
        inner.free(self.room, now);
        let taken: f64 = inner.callers.values().map(|share| share.bytes).sum();
        let bytes = bytes_of(&entry);
        let who = inner.place_of((entry.door, entry.principal.clone()));
        let share = inner.callers.entry(who.clone()).or_default();
        if share.emptied != queue.emptied {
            (share.emptied, share.lines) = (queue.emptied, 0);
        }
        let is_log_fair = share.bytes + bytes <= self.room - taken;
        let is_queue_fair = share.lines <= MAX_WAITING.saturating_sub(queue.waiting);
        if is_log_fair && is_queue_fair {
            share.bytes += bytes;
            share.lines += 1;
            return Some(entry);
        }
        inner.count(who, entry, now);
        None
    }

    /// The counts whose time is over, each as an entry.
    pub(super) fn due(&self, now: Instant) -> Vec<Entry> {
        self.take(|counted| now.saturating_duration_since(counted.since) >= COUNTING)
    }

    /// All counts.
    pub(super) fn all(&self) -> Vec<Entry> {
        self.take(|_| true)
    }

    fn take(&self, is_over: impl Fn(&Counted) -> bool) -> Vec<Entry> {
        let mut inner = self.inner.lock();
        let over = inner.counted.extract_if(.., |_, counted| is_over(counted));
        over.map(|(_, counted)| Entry { times: counted.count, ..counted.last }).collect()
    }
}

impl Inner {
    /// Frees what the time since the last call frees, in equal parts.
    fn free(&mut self, room: f64, now: Instant) {
        let since = self.freed_at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.freed_at = Some(now);
        let takers = self.callers.values().filter(|share| share.bytes > 0.0).count();
        let freed = room / 2.0 * since.as_secs_f64() / HALF_FREE.as_secs_f64();
        for share in self.callers.values_mut() {
            share.bytes = (share.bytes - freed / takers.max(1) as f64).max(0.0);
        }
    }

    /// The place of a caller: its own while there are few, else one for all further ones.
    fn place_of(&mut self, who: Who) -> Who {
        if self.callers.contains_key(&who) {
            return who;
        }
        if self.callers.len() >= MAX_CALLERS {
            self.callers.retain(|_, share| share.bytes > 0.0);
        }
        if self.callers.len() >= MAX_CALLERS { (who.0, None) } else { who }
    }

    fn count(&mut self, who: Who, entry: Entry, now: Instant) {
        let mut kind =
            Kind { who, via: entry.via.as_str(), action: entry.action, outcome: entry.outcome };
        let mut last = Entry {
            principal: kind.who.1.clone(),
            outcome: entry.outcome,
            ..Entry::new(entry.at, entry.door, entry.via, entry.action)
        };
        if self.counted.len() >= MAX_KINDS && !self.counted.contains_key(&kind) {
            last = Entry::new(entry.at, entry.door, Via::Native, OTHERS);
            kind =
                Kind { who: (entry.door, None), via: "", action: OTHERS, outcome: Outcome::Done };
        }
        let counted = self.counted.entry(kind).or_insert(Counted {
            since: now,
            count: 0,
            last: last.clone(),
        });
        counted.count += entry.times;
        counted.last.at = last.at.max(counted.last.at).max(SystemTime::UNIX_EPOCH);
    }
}

/// The name for actions that are not told apart any more.
const OTHERS: &str = "others";

fn bytes_of(entry: &Entry) -> f64 {
    let name = |name: &Option<Arc<str>>| name.as_ref().map_or(0, |name| name.len());
    let target = entry.target.as_ref().map_or(0, String::len).min(super::line::MAX_TARGET_BYTES);
    let names = name(&entry.client) + name(&entry.principal);
    (LINE_BYTES + target + names.min(2 * super::line::MAX_NAME_BYTES)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: Queue = Queue { waiting: 0, emptied: 0 };

    fn by(name: &str, target: &str) -> Entry {
        let entry = Entry::new(SystemTime::UNIX_EPOCH, "http", Via::Native, "read");
        Entry { principal: Some(name.into()), target: Some(target.to_owned()), ..entry }
    }

    /// How many of so many entries are written as they are.
    fn written(shares: &Shares, name: &str, count: usize, now: Instant) -> usize {
        let is_written = |n: &usize| {
            let queue = Queue { waiting: 0, emptied: *n as u64 };
            shares.admit(by(name, &format!("doc://{n}")), queue, now).is_some()
        };
        (0..count).filter(is_written).count()
    }

    #[test]
    fn t60_one_caller_takes_half_of_the_room_and_others_go_on() {
        let (room, now) = (16 << 20, Instant::now());
        let shares = Shares::of(room);
        let flood = written(&shares, "mallory", 200_000, now);
        assert!(flood * LINE_BYTES <= room as usize / 2 && flood > 40_000, "{flood}");
        assert_eq!(written(&shares, "ann", 1000, now), 1000, "whoever is modest is not counted");
        let second = written(&shares, "trudy", 200_000, now);
        assert!(second < flood * 6 / 10 && second > 10_000, "{second}");
        assert_eq!(written(&shares, "bob", 1000, now), 1000);
        let counts: Vec<(String, u64)> = shares
            .all()
            .into_iter()
            .map(|entry| (entry.principal.unwrap().to_string(), entry.times))
            .collect();
        let rest = |taken: usize| 200_000 - taken as u64;
        assert_eq!(
            counts,
            [("mallory".to_owned(), rest(flood)), ("trudy".to_owned(), rest(second))]
        );
    }

    #[test]
    fn t60_what_was_taken_becomes_free_in_days_whatever_the_number_of_callers() {
        let (room, start) = (16 << 20, Instant::now());
        let shares = Shares::of(room);
        for name in ["a", "b", "c", "d"] {
            written(&shares, name, 200_000, start);
        }
        let later = start + HALF_FREE;
        let again: usize =
            ["a", "b", "c", "d"].iter().map(|name| written(&shares, name, 200_000, later)).sum();
        assert!(again > 1000 && again * LINE_BYTES <= room as usize / 2, "{again}");
    }

    #[test]
    fn t60_one_caller_takes_half_of_the_queue_while_the_disk_is_slow() {
        let (shares, now) = (Shares::of(1 << 30), Instant::now());
        let mut waiting = 0;
        let mut put = |name: &str| {
            let queue = Queue { waiting, emptied: 0 };
            let is_in = shares.admit(by(name, "doc://a"), queue, now).is_some();
            waiting += usize::from(is_in);
            is_in
        };
        let flood = (0..3 * MAX_WAITING).filter(|_| put("mallory")).count();
        assert!(flood <= MAX_WAITING / 2 + 1, "{flood}");
        assert!((0..100).all(|_| put("ann")));
        // Once the queue was emptied there is room again.
        let emptied = Queue { waiting: 0, emptied: 1 };
        assert!(shares.admit(by("mallory", "doc://b"), emptied, now).is_some());
    }

    #[test]
    fn callers_and_kinds_without_number_take_a_bounded_place() {
        let (shares, now) = (Shares::of(0), Instant::now());
        let mut written = 0;
        for n in 0..20_000_u64 {
            let entry = by(&format!("p{n}"), &"x".repeat(3000));
            written += u64::from(shares.admit(entry, EMPTY, now).is_some());
        }
        let inner = shares.inner.lock();
        assert!(inner.callers.len() <= MAX_CALLERS + 1 && inner.counted.len() <= MAX_KINDS + 1);
        let counted: u64 = inner.counted.values().map(|counted| counted.count).sum();
        assert_eq!(counted + written, 20_000, "none is lost");
    }
}
