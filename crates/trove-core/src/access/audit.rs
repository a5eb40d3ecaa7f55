//! The audit log: who asked for what, when, through which door, and how it ended.
//!
//! Append-only JSON lines in a file that its owner alone may read, rotated by size. Contents and
//! questions are never written, only their size and, if so set, a digest of the contents. Recording
//! never waits: entries without room are dropped and counted, and the log tells the count.
//!
//! An entry is in the file a moment after it was recorded, together with its neighbours. From then
//! on it survives the end of the process. `kill -9` loses the entries of the last 25 ms, and never
//! more than the queue and one batch hold. docs/security.md says so, too.
//!
//! Callers share the room: entries of one that asks very often are counted, so that they do not
//! push out those of others.

mod knocks;
mod line;
mod log;
mod share;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{caller::Via, failure::Class, source_id::SourceId};
pub use knocks::Knock;
use knocks::Knocks;
use log::Log;
use share::{Queue, Shares};
use writer::{Message, Writer};

/// The most entries that wait to be written.
pub const MAX_WAITING: usize = 8192;
/// The most bytes that wait to be digested; entries on top are written without a digest.
pub const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;
/// So many entries or bytes are not left waiting for neighbours.
const ENOUGH_WAITING: usize = MAX_WAITING / 4;
const ENOUGH_WAITING_BYTES: usize = MAX_WAITING_BYTES / 64;
/// How large a file grows, unless configured, before the next is begun.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// How many full files are kept, unless configured.
pub const KEPT_FILES: usize = 8;
/// How long the end waits for what is not written yet.
const MAX_CLOSING: Duration = Duration::from_secs(5);

/// Where the log is kept, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditConfig {
    /// The file; full ones stand beside it as `FILE.1`, `FILE.2`, the newest first.
    pub file: PathBuf,
    /// How large a file grows before the next is begun.
    pub max_file_bytes: u64,
    /// How many full files are kept.
    pub kept_files: usize,
    /// Whether lines tell a digest of what was given. Where the processor does not help with
    /// it, it costs more than all else that is done to give a long content.
    pub has_digests: bool,
}

impl AuditConfig {
    /// In this file, within the usual bounds.
    pub fn in_file(file: impl Into<PathBuf>) -> AuditConfig {
        let file = file.into();
        let (max_file_bytes, kept_files) = (MAX_FILE_BYTES, KEPT_FILES);
        AuditConfig { file, max_file_bytes, kept_files, has_digests: false }
    }
}

/// One thing that was asked, and how it ended.
#[derive(Debug, Clone)]
pub struct Entry {
    /// When it ended.
    pub at: SystemTime,
    /// The door it came through, e.g. `stdio` or `http`.
    pub door: &'static str,
    /// In which way it was asked.
    pub via: Via,
    /// The name that the client gives itself.
    pub client: Option<Arc<str>>,
    /// Who asks, where that is known.
    pub principal: Option<Arc<str>>,
    /// The action, e.g. `read`, `list` or `search`.
    pub action: &'static str,
    /// With which resource or by which name.
    pub target: Option<String>,
    /// The Source that was asked.
    pub source: Option<SourceId>,
    pub outcome: Outcome,
    /// The contents that were given; only their length and digest are written.
    pub given: Option<Bytes>,
    /// Where that came from.
    pub cache: Option<Cache>,
    pub took: Option<Duration>,
    /// How many times the same happened.
    pub times: u64,
}

impl Entry {
    /// Something that was done and about which no more is said yet.
    pub fn new(at: SystemTime, door: &'static str, via: Via, action: &'static str) -> Entry {
        Entry {
            at,
            door,
            via,
            action,
            client: None,
            principal: None,
            target: None,
            source: None,
            outcome: Outcome::Done,
            given: None,
            cache: None,
            took: None,
            times: 1,
        }
    }
}

/// How something ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It was done.
    Done,
    /// It failed, or was not allowed, as the class says.
    Failed(Class),
}

impl Outcome {
    /// The word for it, and its class.
    fn told(self) -> (&'static str, Option<Class>) {
        match self {
            Outcome::Done => ("done", None),
            Outcome::Failed(class) if class.is_refusal() => ("refused", Some(class)),
            Outcome::Failed(class) => ("failed", Some(class)),
        }
    }
}

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// From the cache.
    Hit,
    /// From the Source.
    Miss,
    /// From the cache, though its time was over.
    Stale,
}

/// The audit log.
pub struct Audit(Option<Arc<Open>>);

struct Open {
    entries: SyncSender<Message>,
    state: Arc<State>,
    has_digests: bool,
    thread: Option<std::thread::Thread>,
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

/// The state that the recorders and the writer share.
struct State {
    /// Entries dropped and not yet written as such.
    dropped: AtomicU64,
    /// Entries dropped since the start.
    dropped_in_all: AtomicU64,
    /// Entries that wait to be written.
    waiting: AtomicUsize,
    /// Bytes that wait to be digested.
    waiting_bytes: AtomicUsize,
    /// Entries cannot be written now.
    is_failing: AtomicBool,
    is_closing: AtomicBool,
    /// How often nothing was left waiting.
    emptied: AtomicU64,
    /// Those who were not let in.
    knocks: Knocks,
    /// The room of the log, and what is only counted for want of it.
    shares: Shares,
}

impl State {
    fn sharing(room: u64) -> State {
        State {
            dropped: AtomicU64::default(),
            dropped_in_all: AtomicU64::default(),
            waiting: AtomicUsize::default(),
            waiting_bytes: AtomicUsize::default(),
            is_failing: AtomicBool::default(),
            is_closing: AtomicBool::default(),
            emptied: AtomicU64::default(),
            knocks: Knocks::default(),
            shares: Shares::of(room),
        }
    }

    fn queue(&self) -> Queue {
        let waiting = self.waiting.load(Ordering::Relaxed);
        Queue { waiting, emptied: self.emptied.load(Ordering::Relaxed) }
    }

    fn drop_entries(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
        self.dropped_in_all.fetch_add(count, Ordering::Relaxed);
    }

    /// Whether what waits is worth writing now.
    fn is_enough(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= ENOUGH_WAITING
            || self.waiting_bytes.load(Ordering::Relaxed) >= ENOUGH_WAITING_BYTES
            || self.is_closing.load(Ordering::Acquire)
    }
}

impl Audit {
    /// No log: recording costs nothing.
    pub fn off() -> Audit {
        Audit(None)
    }

    /// Starts a log. A file that cannot be written is said once, also before there is anything
    /// to write, and tried again.
    pub fn start(config: AuditConfig) -> Audit {
        let (entries, waiting) = sync_channel(MAX_WAITING);
        let files = u64::try_from(config.kept_files).unwrap_or(u64::MAX).saturating_add(1);
        let room = config.max_file_bytes.saturating_mul(files);
        let state = Arc::new(State::sharing(room));
        let (end, ended) = oneshot::channel();
        let has_digests = config.has_digests;
        let writer = Writer::new(Log::new(config), state.clone());
        let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(move || {
            writer.run(&waiting);
            // The one who waited may have given up.
            let _ = end.send(());
        });
        // Without a thread there is no receiver, and every entry is counted as dropped.
        state.is_failing.store(thread.is_err(), Ordering::Relaxed);
        let thread = thread.ok().map(|thread| thread.thread().clone());
        let ended = Mutex::new(Some(ended));
        Audit(Some(Arc::new(Open { entries, state, has_digests, thread, ended })))
    }

    /// Whether entries are recorded, so that facts for them are worth gathering.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Records an entry. Never waits, even if the disk hangs.
    pub fn record(&self, entry: Entry) {
        let Some(open) = &self.0 else { return };
        let state = &open.state;
        // A caller that asked for more than its share is counted.
        let Some(entry) = state.shares.admit(entry, state.queue(), Instant::now()) else { return };
        let bytes = entry.given.as_ref().map_or(0, Bytes::len);
        let waiting_bytes = state.waiting_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let message = Message::of(entry, open.has_digests && waiting_bytes <= MAX_WAITING_BYTES);
        let is_held = message.held_bytes();
        state.waiting_bytes.fetch_sub(bytes - is_held, Ordering::Relaxed);
        // Counted first: the writer may take it before we could.
        let waiting = state.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        if open.entries.try_send(message).is_err() {
            state.waiting.fetch_sub(1, Ordering::Relaxed);
            state.waiting_bytes.fetch_sub(is_held, Ordering::Relaxed);
            state.drop_entries(1);
            return;
        }
        if (waiting == ENOUGH_WAITING || is_held >= ENOUGH_WAITING_BYTES)
            && let Some(thread) = &open.thread
        {
            thread.unpark();
        }
    }

    /// Records a caller who was not let in; many of the same kind become one line.
    pub fn turn_away(&self, knock: Knock<'_>) {
        let Some(open) = &self.0 else { return };
        if let Some(entry) = open.state.knocks.note(knock, Instant::now(), SystemTime::now()) {
            self.record(entry);
        }
    }

    /// Whether the log cannot be written now. Entries wait meanwhile, and are dropped only when
    /// there are too many of them.
    pub fn is_failing(&self) -> bool {
        self.0.as_ref().is_some_and(|open| open.state.is_failing.load(Ordering::Relaxed))
    }

    /// How many entries were dropped since the start.
    pub fn dropped(&self) -> u64 {
        self.0.as_ref().map_or(0, |open| open.state.dropped_in_all.load(Ordering::Relaxed))
    }

    /// Writes the waiting entries, and ends. Entries recorded after that are dropped.
    pub async fn close(&self) {
        let Some(open) = &self.0 else { return };
        open.state.is_closing.store(true, Ordering::Release);
        // A full queue keeps the writer awake without being told.
        let _ = open.entries.try_send(Message::Wake);
        if let Some(thread) = &open.thread {
            thread.unpark();
        }
        let ended = open.ended.lock().take();
        if let Some(ended) = ended {
            // A disk that does not answer must not keep the program.
            let _ = tokio::time::timeout(MAX_CLOSING, ended).await;
        }
    }
}
