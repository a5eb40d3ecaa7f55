//! The one thread that touches the store.
//!
//! Changes that wait together are stored together, so a thousand cost little more than
//! one. Nothing is acknowledged before it is stored, and nothing is seen in memory before
//! it is acknowledged. Between changes the thread looks whether another process made any.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tracing::{info, warn};

use super::{
    FlagError,
    defs::FlagDef,
    store::{FlagChange, FlagStore, Opener, StoreError},
    table::{MAX_FLAGS, Table},
    value::FlagValue,
};

/// The most changes that are stored together.
const MAX_BATCH: usize = 1024;
/// How often the thread looks for changes by other programs.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// How often a failed store is tried again while no request comes.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The trouble of the store now.
#[derive(Debug, Default)]
pub(super) struct Condition {
    /// It could not be read when it was last looked at.
    pub(super) unread: Option<StoreError>,
    /// It did not take the last change.
    pub(super) unwritten: Option<StoreError>,
}

/// A job for the thread.
pub(super) enum Job {
    /// Store a change and tell what was there before.
    Set { change: FlagChange, done: Done<Option<Arc<FlagValue>>>, _place: OwnedSemaphorePermit },
    /// See that memory holds what the store held when this was asked.
    Look { done: Done<()>, _place: OwnedSemaphorePermit },
    /// End.
    Stop { done: oneshot::Sender<()> },
}

pub(super) type Done<T> = oneshot::Sender<Result<T, FlagError>>;
type Waiting = Vec<(FlagChange, Done<Option<Arc<FlagValue>>>, OwnedSemaphorePermit)>;

pub(super) struct Writer {
    pub(super) opener: Opener,
    pub(super) known: &'static [FlagDef],
    pub(super) table: Arc<watch::Sender<Arc<Table>>>,
    store: Option<Box<dyn FlagStore>>,
    /// The last failure, so that it is logged once and not twice a second.
    trouble: Option<StoreError>,
    /// The last failure again, for callers that ask how the store is doing.
    condition: Arc<Mutex<Condition>>,
    retry_at: Instant,
}

impl Writer {
    pub(super) fn new(
        opener: Opener,
        known: &'static [FlagDef],
        table: Arc<watch::Sender<Arc<Table>>>,
        condition: Arc<Mutex<Condition>>,
    ) -> Writer {
        let (store, trouble, retry_at) = (None, None, Instant::now());
        Writer { opener, known, table, store, trouble, condition, retry_at }
    }

    /// Works until it is told to stop, or until every sender is gone.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            match jobs.recv_timeout(LOOK_INTERVAL) {
                Ok(job) => {
                    if let Some(stopped) = self.serve(job, jobs) {
                        drop(self.store.take());
                        // The caller may have stopped waiting.
                        let _ = stopped.send(());
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.store.is_some() || Instant::now() >= self.retry_at {
                        // It has been said, and asked again it will be said to who asks.
                        let _ = self.look();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Does a job and all that wait behind it; gives who is to be told that we end.
    fn serve(&mut self, first: Job, jobs: &Receiver<Job>) -> Option<oneshot::Sender<()>> {
        let mut sets: Waiting = Vec::new();
        let mut looks = Vec::new();
        let mut stop = None;
        let mut next = Some(first);
        while let Some(job) = next {
            match job {
                Job::Set { change, done, _place } => sets.push((change, done, _place)),
                Job::Look { done, _place } => looks.push((done, _place)),
                Job::Stop { done } => stop = Some(done),
            }
            let is_enough = stop.is_some() || sets.len() + looks.len() >= MAX_BATCH;
            next = if is_enough { None } else { jobs.try_recv().ok() };
        }
        let seen = self.look();
        match &seen {
            Ok(()) => self.store(sets),
            Err(error) => refuse(sets, error),
        }
        for (look, _place) in looks {
            let _ = look.send(seen.clone().map_err(FlagError::Store));
        }
        stop
    }

    /// Opens the store if need be, and reads it if another process changed it.
    fn look(&mut self) -> Result<(), StoreError> {
        let looked = self.try_look();
        self.condition().unread = looked.as_ref().err().cloned();
        match &looked {
            Ok(()) => {
                if self.trouble.take().is_some() {
                    info!("the store of flags can be used again");
                }
            }
            Err(error) => {
                if self.trouble.as_ref() != Some(error) {
                    warn!(%error, "the store of flags cannot be used; the values known stand");
                }
                self.give_up(error);
                self.trouble = Some(error.clone());
            }
        }
        looked
    }

    fn try_look(&mut self) -> Result<(), StoreError> {
        match &mut self.store {
            Some(store) => {
                if store.was_changed_elsewhere()? {
                    self.load()?;
                }
                Ok(())
            }
            None => {
                self.store = Some((self.opener)()?);
                self.load()
            }
        }
    }

    fn load(&mut self) -> Result<(), StoreError> {
        let Some(store) = &mut self.store else { return Ok(()) };
        let table = Table::of(store.load(MAX_FLAGS)?, self.known);
        self.table.send_replace(Arc::new(table));
        Ok(())
    }

    /// Stores the changes that there is room for, all at once. Then shows them and answers all
    /// senders.
    fn store(&mut self, sets: Waiting) {
        if sets.is_empty() {
            return;
        }
        let mut table = Table::clone(&self.table.borrow());
        let mut changes = Vec::with_capacity(sets.len());
        let mut answers = Vec::with_capacity(sets.len());
        for (change, done, place) in sets {
            match table.put(&change) {
                Ok(before) => {
                    changes.push(change);
                    answers.push((before, done, place));
                }
                Err(_) => {
                    let _ = done.send(Err(FlagError::TooMany { limit: MAX_FLAGS }));
                }
            }
        }
        let written = if changes.is_empty() { Ok(()) } else { self.write(&changes) };
        if !changes.is_empty() {
            self.condition().unwritten = written.as_ref().err().cloned();
        }
        if written.is_ok() && !changes.is_empty() {
            self.table.send_replace(Arc::new(table));
            // Another process may have written between our look and our change. Its change comes
            // with the next look if it cannot be read now.
            let _ = self.look();
        }
        for (before, done, _place) in answers {
            let _ = done.send(written.clone().map(|()| before).map_err(FlagError::Store));
        }
    }

    /// Writes; once more with a store opened anew if the open one is of no use any longer.
    fn write(&mut self, changes: &[FlagChange]) -> Result<(), StoreError> {
        let first = self.try_write(changes);
        let Err(error) = first else { return first };
        if error.is_passing() {
            return Err(error);
        }
        self.give_up(&error);
        self.try_look()?;
        self.try_write(changes).inspect_err(|error| self.give_up(error))
    }

    fn try_write(&mut self, changes: &[FlagChange]) -> Result<(), StoreError> {
        self.store.as_mut().ok_or(StoreError::Closed)?.write(changes)
    }

    fn condition(&self) -> parking_lot::MutexGuard<'_, Condition> {
        self.condition.lock()
    }

    fn give_up(&mut self, error: &StoreError) {
        if !error.is_passing() {
            self.store = None;
            self.retry_at = Instant::now() + RETRY_INTERVAL;
        }
    }
}

fn refuse(sets: Waiting, error: &StoreError) {
    for (_, done, _place) in sets {
        let _ = done.send(Err(FlagError::Store(error.clone())));
    }
}
