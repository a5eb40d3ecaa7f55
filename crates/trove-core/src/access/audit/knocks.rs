//! Callers who were not let in, without letting them fill the disk.
//!
//! Being turned away takes no permission, so it can happen as often as the machine can say no. A
//! line for each would push the acts of others out of the files, which are bounded. A kind is how
//! the caller was refused, and who he is, if that is known. The first of a kind is written at once:
//! it may be the only one. Those of the minute after it are counted and become one line with their
//! number. A flood costs two lines a minute.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::Mutex;

use super::{Entry, Outcome};
use crate::{
    caller::{Caller, Via},
    failure::Class,
};

/// How long refusals of one kind are counted before they are written as one line.
pub(super) const COUNTING: Duration = Duration::from_secs(60);
/// How many kinds are told apart at a time; callers on top of that count together, without
/// their names.
pub(super) const MAX_KINDS: usize = 64;

/// The action that a door writes for a caller it turned away.
const ACTION: &str = "enter";

/// A caller who was not let in.
#[derive(Debug, Clone, Copy)]
pub struct Knock<'a> {
    /// The caller, as far as the door found out.
    pub caller: &'a Caller,
    /// The place, in words of our own.
    pub place: &'static str,
    pub class: Class,
}

/// The refusals that are counted now, by kind.
#[derive(Default)]
pub(super) struct Knocks(Mutex<BTreeMap<Kind, Counted>>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    class: Class,
    door: &'static str,
    principal: Option<Arc<str>>,
}

struct Counted {
    since: Instant,
    /// Without the first, which was written at once.
    count: u64,
    last: SystemTime,
}

impl Knocks {
    /// Counts one; the entry it returns is to be written at once.
    pub(super) fn note(&self, knock: Knock<'_>, now: Instant, at: SystemTime) -> Option<Entry> {
        let mut kinds = self.0.lock();
        let door = knock.caller.door.as_str();
        let mut kind = Kind { class: knock.class, door, principal: knock.caller.principal.clone() };
        if kinds.len() >= MAX_KINDS && !kinds.contains_key(&kind) {
            kind.principal = None;
        }
        if let Some(counted) = kinds.get_mut(&kind) {
            counted.count += 1;
            counted.last = at;
            return None;
        }
        let entry = Entry { target: Some(knock.place.to_owned()), ..kind.entry(at) };
        kinds.insert(kind, Counted { since: now, count: 0, last: at });
        Some(entry)
    }

    /// Those whose minute is over.
    pub(super) fn due(&self, now: Instant) -> Vec<Entry> {
        self.take(|counted| now.saturating_duration_since(counted.since) >= COUNTING)
    }

    pub(super) fn all(&self) -> Vec<Entry> {
        self.take(|_| true)
    }

    fn take(&self, is_over: impl Fn(&Counted) -> bool) -> Vec<Entry> {
        let mut kinds = self.0.lock();
        let over = kinds.extract_if(.., |_, counted| is_over(counted));
        let more = over.filter(|(_, counted)| counted.count > 0);
        more.map(|(kind, counted)| Entry { times: counted.count, ..kind.entry(counted.last) })
            .collect()
    }
}

impl Kind {
    fn entry(&self, at: SystemTime) -> Entry {
        Entry {
            principal: self.principal.clone(),
            outcome: Outcome::Failed(self.class),
            ..Entry::new(at, self.door, Via::Native, ACTION)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Door;

    const AT: SystemTime = SystemTime::UNIX_EPOCH;

    fn named(name: &str) -> Caller {
        Caller { principal: Some(name.into()), ..Caller::behind(Door::Http) }
    }

    fn knock<'a>(caller: &'a Caller, class: Class) -> Knock<'a> {
        Knock { caller, place: "/mcp", class }
    }

    #[test]
    fn the_first_is_written_at_once_and_a_flood_is_one_line_a_minute() {
        let (knocks, start) = (Knocks::default(), Instant::now());
        let nobody = Caller::behind(Door::Http);
        let first = knocks.note(knock(&nobody, Class::Unauthenticated), start, AT).unwrap();
        assert_eq!((first.target.as_deref(), first.times), (Some("/mcp"), 1));
        for _ in 0..100_000 {
            assert!(knocks.note(knock(&nobody, Class::Unauthenticated), start, AT).is_none());
        }
        assert!(knocks.due(start + COUNTING / 2).is_empty());
        let due = knocks.due(start + COUNTING);
        assert_eq!(due.iter().map(|entry| entry.times).collect::<Vec<_>>(), [100_000]);
        assert!(knocks.due(start + COUNTING * 2).is_empty(), "it is told once");
        assert!(knocks.note(knock(&nobody, Class::Unauthenticated), start, AT).is_some());
    }

    #[test]
    fn refusals_of_other_kinds_are_told_apart() {
        let (knocks, start) = (Knocks::default(), Instant::now());
        let (ann, bob) = (named("ann"), named("bob"));
        for (caller, class) in
            [(&ann, Class::Forbidden), (&bob, Class::Forbidden), (&ann, Class::TooManyRequests)]
        {
            let entry = knocks.note(knock(caller, class), start, AT).unwrap();
            assert_eq!(entry.outcome, Outcome::Failed(class));
            assert_eq!(entry.principal.as_deref(), caller.principal.as_deref());
        }
        assert!(knocks.all().is_empty(), "each was written at once");
    }

    #[test]
    fn callers_without_number_count_together() {
        let (knocks, start) = (Knocks::default(), Instant::now());
        let mut written = 0;
        for n in 0..10_000 {
            let caller = named(&format!("p{n}"));
            written +=
                usize::from(knocks.note(knock(&caller, Class::Forbidden), start, AT).is_some());
        }
        assert_eq!(written, MAX_KINDS + 1);
        let rest: Vec<_> = knocks.all().into_iter().map(|e| (e.principal, e.times)).collect();
        assert_eq!(rest, [(None, 10_000 - written as u64)]);
    }
}
