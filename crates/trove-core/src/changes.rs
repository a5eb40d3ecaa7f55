//! One numbered log of everything that changes: cache, search and doors read it.
//!
//! Each change has a number, and each reader its place. The log is bounded: a reader that falls
//! behind is told once to look at everything again. Logs of servers have a bound of their own,
//! so that a server that writes much makes no reader miss a change.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::{json::Json, resource::ListsChanged, source_id::SourceId, uri::LocalUri};

/// How many changes are kept for readers that are behind.
const MAX_CHANGES: usize = 1024;
/// How many log messages of servers are kept besides.
const MAX_LOGS: usize = 1024;

/// One entry of the log.
#[derive(Debug, Clone)]
pub enum Change {
    /// Lists differ.
    Lists(ListsChanged),
    /// A watched resource changed.
    Updated {
        /// Its owner.
        source: SourceId,
        /// Its name there.
        uri: LocalUri,
    },
    /// Other rules are in force on who sees what.
    Rules,
    /// A Source wrote a log message; an object.
    Log {
        /// Who wrote it.
        source: SourceId,
        /// Its own words.
        message: Json,
    },
    /// Any answer of a Source may be another one now.
    Doubted(SourceId),
    /// A Source was listed, or the Snapshot is another. Only the last one is kept.
    Listed,
    /// Changes were missed: everything may be another now.
    Missed,
}

impl Change {
    /// Whether clients may want to hear of it.
    fn is_for_clients(&self) -> bool {
        !matches!(self, Change::Doubted(_) | Change::Listed)
    }
}

/// The log: the end that is written to. Readers end when it is dropped.
#[derive(Debug)]
pub struct Changes {
    log: Arc<Log>,
    /// Wakes readers; it holds the number of the last change.
    last: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Log {
    /// The number of the last change, to be looked at without the lock.
    last: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    changes: Ring,
    logs: Ring,
    /// The number of the last [`Change::Listed`].
    listed: u64,
}

/// Numbered changes, oldest first.
#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<(u64, Change)>,
    /// The number of the last one that was forgotten.
    forgotten: u64,
}

impl Ring {
    fn push(&mut self, number: u64, change: Change, most: usize) {
        if self.entries.len() >= most
            && let Some((forgotten, _)) = self.entries.pop_front()
        {
            self.forgotten = forgotten;
        }
        self.entries.push_back((number, change));
    }

    /// The first one behind a number.
    fn after(&self, seen: u64) -> Option<&(u64, Change)> {
        self.entries.get(self.entries.partition_point(|(number, _)| *number <= seen))
    }
}

impl Default for Changes {
    fn default() -> Changes {
        Changes { log: Arc::default(), last: watch::Sender::new(0) }
    }
}

impl Changes {
    /// Writes a change down and gives its number.
    pub fn note(&self, change: Change) -> u64 {
        let mut kept = self.log.kept();
        let number = self.log.last.load(Ordering::Relaxed) + 1;
        match change {
            Change::Listed => kept.listed = number,
            Change::Log { .. } => kept.logs.push(number, change, MAX_LOGS),
            _ => kept.changes.push(number, change, MAX_CHANGES),
        }
        self.log.last.store(number, Ordering::Release);
        drop(kept);
        // Two writers may come here in either order; the number only grows.
        self.last.send_if_modified(|last| {
            let is_newer = number > *last;
            *last = number.max(*last);
            is_newer
        });
        number
    }

    /// A reader of what clients may want to hear, from now on.
    pub fn reader(&self) -> Reader {
        self.reader_of(false)
    }

    /// A reader of everything, from now on.
    pub fn reader_of_all(&self) -> Reader {
        self.reader_of(true)
    }

    fn reader_of(&self, hears_all: bool) -> Reader {
        let more = self.last.subscribe();
        let seen = self.log.last.load(Ordering::Acquire);
        Reader { log: self.log.clone(), more, seen, hears_all }
    }
}

impl Log {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock()
    }
}

/// Reads the log in order.
#[derive(Debug)]
pub struct Reader {
    log: Arc<Log>,
    more: watch::Receiver<u64>,
    /// The number of the last change that was read.
    seen: u64,
    hears_all: bool,
}

/// There is no change to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoChange {
    /// None has come yet.
    #[error("there is no change yet")]
    Yet,
    /// The gateway has ended; none will come.
    #[error("there will be no more changes")]
    Ever,
}

impl Reader {
    /// The next change, once there is one.
    pub async fn recv(&mut self) -> Result<Change, NoChange> {
        loop {
            // Marked before the look: a change that comes during it wakes us again.
            let last = *self.more.borrow_and_update();
            if let Some(change) = self.take() {
                return Ok(change);
            }
            if last <= self.seen {
                self.more.changed().await.map_err(|_| NoChange::Ever)?;
            }
        }
    }

    /// The next change, if there is one by now.
    pub fn try_recv(&mut self) -> Result<Change, NoChange> {
        match self.take() {
            Some(change) => Ok(change),
            None if self.more.has_changed().is_err() => Err(NoChange::Ever),
            None => Err(NoChange::Yet),
        }
    }

    /// The number of the last change that was read.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The next change by now.
    pub fn take(&mut self) -> Option<Change> {
        while self.seen < self.log.last.load(Ordering::Acquire) {
            let Some(change) = self.step() else { continue };
            if self.hears_all || change.is_for_clients() {
                return Some(change);
            }
        }
        None
    }

    /// Goes on by one change; `None` if the rest was forgotten without loss.
    fn step(&mut self) -> Option<Change> {
        let kept = self.log.kept();
        let last = self.log.last.load(Ordering::Acquire);
        if kept.changes.forgotten > self.seen {
            self.seen = last;
            return Some(Change::Missed);
        }
        let written = [kept.changes.after(self.seen), kept.logs.after(self.seen)];
        let first = written.into_iter().flatten().min_by_key(|(number, _)| *number);
        let (number, change) = match first {
            Some((number, _)) if self.seen < kept.listed && kept.listed < *number => {
                (kept.listed, Change::Listed)
            }
            Some((number, change)) => (*number, change.clone()),
            None if self.seen < kept.listed => (kept.listed, Change::Listed),
            None => {
                self.seen = last;
                return None;
            }
        };
        self.seen = number;
        Some(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(n: usize) -> Change {
        Change::Updated { source: id("a"), uri: LocalUri::new(format!("x:{n}")) }
    }

    fn id(id: &str) -> SourceId {
        SourceId::new(id).unwrap()
    }

    fn log() -> Change {
        Change::Log { source: id("a"), message: Json::empty_object() }
    }

    fn shown(change: &Change) -> String {
        match change {
            Change::Updated { uri, .. } => uri.to_string(),
            other => format!("{other:?}"),
        }
    }

    fn read(reader: &mut Reader) -> Vec<String> {
        std::iter::from_fn(|| reader.take()).map(|change| shown(&change)).collect()
    }

    #[test]
    fn every_reader_reads_in_the_order_of_the_numbers() {
        let changes = Changes::default();
        let (mut clients, mut all) = (changes.reader(), changes.reader_of_all());
        changes.note(Change::Listed);
        for change in [updated(1), log(), Change::Doubted(id("b")), Change::Listed, updated(2)] {
            changes.note(change);
        }
        assert_eq!(changes.note(Change::Rules), 7);
        let read_by_all = read(&mut all);
        assert_eq!(read_by_all.len(), 6, "only the last of two listings is told: {read_by_all:?}");
        assert_eq!(read_by_all[3..], ["Listed", "x:2", "Rules"]);
        let read_by_clients = read(&mut clients);
        assert_eq!(read_by_clients[0], "x:1");
        assert!(read_by_clients[1].starts_with("Log"), "{read_by_clients:?}");
        assert_eq!(read_by_clients[2..], ["x:2", "Rules"]);
        assert_eq!((clients.seen(), all.seen()), (7, 7));
        assert_eq!(clients.try_recv().unwrap_err(), NoChange::Yet);
        drop(changes);
        assert_eq!(clients.try_recv().unwrap_err(), NoChange::Ever);
    }

    #[test]
    fn a_reader_that_falls_behind_is_told_once_to_look_at_everything() {
        let changes = Changes::default();
        let mut reader = changes.reader();
        for n in 0..=MAX_CHANGES {
            changes.note(updated(n));
        }
        assert_eq!(read(&mut reader), ["Missed"]);
        changes.note(updated(7));
        assert_eq!(read(&mut reader), ["x:7"]);
    }

    #[test]
    fn a_server_that_writes_much_makes_no_reader_miss_a_change() {
        let changes = Changes::default();
        let mut reader = changes.reader();
        changes.note(updated(1));
        for _ in 0..MAX_LOGS * 3 {
            changes.note(log());
        }
        changes.note(updated(2));
        let read = read(&mut reader);
        assert_eq!(read.len(), MAX_LOGS + 2);
        assert_eq!((read[0].as_str(), read[MAX_LOGS + 1].as_str()), ("x:1", "x:2"));
    }

    #[tokio::test]
    async fn a_waiting_reader_is_woken_by_each_change() {
        let changes = Arc::new(Changes::default());
        let mut reader = changes.reader();
        let writer = {
            let changes = changes.clone();
            tokio::spawn(async move {
                for n in 0..500 {
                    changes.note(if n % 2 == 0 { updated(n) } else { Change::Listed });
                    if n % 7 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        };
        drop(changes);
        let mut read = Vec::new();
        while let Ok(change) = reader.recv().await {
            read.push(shown(&change));
        }
        writer.await.unwrap();
        let expected: Vec<String> = (0..250).map(|n| format!("x:{}", n * 2)).collect();
        assert_eq!(read, expected);
    }
}
