//! When contents are to be read again because what was read is not believed any more.
//!
//! Only a Source that says how long an answer holds is visited again by the clock, and never
//! more often than it can bear: one with many contents waits longer between two rounds.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use crate::{search::Key, source::SourceId, uri::LocalUri};

/// How many contents are read again by the clock; the rest only when they are said to have
/// changed.
const MAX_DUE: usize = 200_000;
/// A Source is read again at most about this often.
const PACE: Duration = Duration::from_millis(500);

/// What is to be read again, and when.
#[derive(Debug, Default)]
pub(super) struct Due {
    of: HashMap<SourceId, HashMap<LocalUri, Instant>>,
    count: usize,
    /// Nothing is due before.
    next: Option<Instant>,
}

impl Due {
    /// Notes that a content was read now and holds for so long.
    pub(super) fn note(&mut self, key: &Key, now: Instant, holds: Duration) {
        let own = self.of.entry(key.source.clone()).or_default();
        let is_new = !own.contains_key(&key.local);
        if is_new && self.count >= MAX_DUE {
            return;
        }
        let at = now + holds.max(PACE * u32::try_from(own.len()).unwrap_or(u32::MAX));
        own.insert(key.local.clone(), at);
        self.count += usize::from(is_new);
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// Takes out what is due.
    pub(super) fn take(&mut self, now: Instant) -> Vec<Key> {
        if self.next.is_none_or(|next| next > now) {
            return Vec::new();
        }
        let mut due = Vec::new();
        for (source, own) in &mut self.of {
            let ripe = own.extract_if(|_, at| *at <= now);
            due.extend(ripe.map(|(local, _)| Key { source: source.clone(), local }));
        }
        self.count -= due.len();
        self.next = self.of.values().flat_map(HashMap::values).min().copied();
        due
    }

    /// Forgets a Source.
    pub(super) fn forget(&mut self, source: &SourceId) {
        self.count -= self.of.remove(source).map_or(0, |own| own.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> Key {
        Key { source: SourceId::normalise("s"), local: format!("doc://{n}").as_str().into() }
    }

    #[test]
    fn what_holds_no_longer_is_due_once() {
        let (mut due, now) = (Due::default(), Instant::now());
        due.note(&key(1), now, Duration::from_secs(10));
        due.note(&key(2), now, Duration::from_secs(60));
        assert!(due.take(now + Duration::from_secs(9)).is_empty());
        assert_eq!(due.take(now + Duration::from_secs(10)), [key(1)]);
        assert!(due.take(now + Duration::from_secs(59)).is_empty());
        assert_eq!(due.take(now + Duration::from_secs(60)), [key(2)]);
        assert!(due.take(now + Duration::from_secs(600)).is_empty());
    }

    #[test]
    fn a_source_with_much_is_not_read_faster_than_its_pace() {
        let (mut due, now) = (Due::default(), Instant::now());
        for n in 0..1000 {
            due.note(&key(n), now, Duration::from_secs(1));
        }
        let within = due.take(now + Duration::from_secs(10)).len();
        assert!(within <= 21, "{within} in ten seconds");
        due.forget(&key(0).source);
        assert!(due.take(now + Duration::from_secs(100_000)).is_empty());
    }
}
