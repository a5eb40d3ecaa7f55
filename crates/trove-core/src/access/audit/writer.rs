//! The one thread that writes the log.

use std::{
    io,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use tracing::{info, warn};

use super::{Entry, State, line, log::Log};

/// The most that is written at once.
const MAX_BATCH_BYTES: usize = 1024 * 1024;
/// How long an entry waits for neighbours, to be written with them: waking and writing for
/// each of many reads would cost more than the reads' own way through us.
const GATHERING: Duration = Duration::from_millis(25);
/// How often the disk is asked to keep what was written, and a failing one tried again.
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) enum Message {
    Entry {
        entry: Box<Entry>,
        /// The length of what was given, though it may not be held any longer.
        bytes: Option<usize>,
    },
    /// Look whether it is time to end.
    Wake,
}

impl Message {
    /// Of an entry, with or without what was given.
    pub(super) fn of(mut entry: Entry, has_room: bool) -> Message {
        let bytes = entry.given.as_ref().map(Bytes::len);
        if !has_room {
            entry.given = None;
        }
        Message::Entry { entry: Box::new(entry), bytes }
    }

    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Message::Entry { entry, .. } => entry.given.as_ref().map_or(0, Bytes::len),
            Message::Wake => 0,
        }
    }
}

pub(super) struct Writer {
    log: Log,
    state: Arc<State>,
    /// Lines that are not in the file yet.
    pending: Vec<u8>,
    /// When the newest entry was; events of the log itself are dated by it.
    last: SystemTime,
    is_failing: bool,
    /// The disk did not keep what was written.
    is_unkept: bool,
    /// When the disk is to be asked to keep what was written.
    sync_at: Option<Instant>,
}

impl Writer {
    pub(super) fn new(log: Log, state: Arc<State>) -> Writer {
        Writer {
            log,
            state,
            pending: Vec::new(),
            last: SystemTime::UNIX_EPOCH,
            is_failing: false,
            is_unkept: false,
            sync_at: None,
        }
    }

    /// Works until it is told to end or no recorder is left.
    pub(super) fn run(mut self, entries: &Receiver<Message>) {
        // A log that cannot be written shows in the health before there is anything to lose.
        let checked = self.log.check();
        self.note(checked);
        loop {
            let is_over = if self.is_failing {
                // Nothing more is taken in: the queue holds what comes, up to its bound.
                std::thread::park_timeout(INTERVAL);
                false
            } else {
                self.wait(entries)
            };
            self.write(entries);
            // Asked only now: what wakes us for the end may have been taken in just before.
            if is_over || self.state.is_closing.load(Ordering::Acquire) {
                let counted = [self.state.knocks.all(), self.state.shares.all()].concat();
                self.write_all(&counted);
                self.write(entries);
                return self.end(entries);
            }
        }
    }

    /// Waits for one entry, but not for ever; says whether there can be no more.
    fn wait(&mut self, entries: &Receiver<Message>) -> bool {
        match entries.recv_timeout(INTERVAL) {
            Ok(message) => {
                self.take(message);
                self.gather();
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        }
    }

    /// Lets more entries come in, unless there are many or it is time to end.
    fn gather(&self) {
        if !self.state.is_enough() {
            std::thread::park_timeout(GATHERING);
        }
    }

    /// Writes the waiting entries, a batch at a time, until none is left or the disk refuses.
    /// Entries that come meanwhile wait for their neighbours.
    fn write(&mut self, entries: &Receiver<Message>) {
        loop {
            while self.pending.len() < MAX_BATCH_BYTES
                && let Ok(message) = entries.try_recv()
            {
                self.take(message);
            }
            if self.pending.len() < MAX_BATCH_BYTES {
                self.state.emptied.fetch_add(1, Ordering::Relaxed);
            }
            let dropped = self.state.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                line::write_gap(self.last, dropped, &mut self.pending);
            }
            let now = Instant::now();
            let counted = [self.state.knocks.due(now), self.state.shares.due(now)].concat();
            self.write_all(&counted);
            self.sync_in_time();
            if self.pending.is_empty() {
                if self.is_failing {
                    let checked = self.log.check();
                    self.note(checked);
                }
                return;
            }
            let is_more = self.pending.len() >= MAX_BATCH_BYTES;
            let written = self.log.append(&mut self.pending);
            let is_written = written.is_ok();
            self.note(written);
            if is_written {
                self.sync_at.get_or_insert_with(|| Instant::now() + INTERVAL);
            }
            if !is_written || !is_more {
                return;
            }
        }
    }

    /// Takes in how the disk did, and says when that has changed.
    fn note(&mut self, done: io::Result<()>) {
        match &done {
            Err(error) if !self.is_failing => {
                warn!(%error, "the audit log cannot be written; entries are kept while there is room, then dropped and counted");
            }
            Ok(()) if self.is_failing => info!("the audit log is written again"),
            _ => {}
        }
        self.is_failing = done.is_err();
        self.publish();
    }

    fn publish(&self) {
        self.state.is_failing.store(self.is_failing || self.is_unkept, Ordering::Relaxed);
    }

    /// Writes entries that hold nothing to be digested.
    fn write_all(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.last = self.last.max(entry.at);
            line::write(entry, None, None, &mut self.pending);
        }
    }

    fn take(&mut self, message: Message) {
        let held = message.held_bytes();
        if let Message::Entry { entry, bytes } = message {
            self.state.waiting.fetch_sub(1, Ordering::Relaxed);
            self.last = self.last.max(entry.at);
            line::write(&entry, bytes, entry.given.as_ref(), &mut self.pending);
        }
        self.state.waiting_bytes.fetch_sub(held, Ordering::Relaxed);
    }

    fn sync_in_time(&mut self) {
        if self.sync_at.is_some_and(|at| at <= Instant::now()) {
            self.sync_at = None;
            let synced = self.log.sync();
            if let Err(error) = &synced
                && !self.is_unkept
            {
                warn!(%error, "the disk may not keep the audit log");
            }
            self.is_unkept = synced.is_err();
            self.publish();
        }
    }

    fn end(mut self, entries: &Receiver<Message>) {
        if self.is_failing {
            let lines = self.pending.iter().filter(|&&byte| byte == b'\n').count();
            let waiting = entries.try_iter().filter(|m| matches!(m, Message::Entry { .. })).count();
            let lost = lines + waiting;
            warn!(lost, "the audit log could not be written to the end");
        }
        self.sync_at = Some(Instant::now());
        self.sync_in_time();
    }
}
