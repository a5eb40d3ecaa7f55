//! Flags: named, typed switches that outlive the process.
//!
//! A flag is set for all projects or for one. Reading resolves request → project → settings of the
//! project → global → default, and says where the value came from. Reads are from memory; a change
//! is acknowledged once it is durable ([`store`]). The meaning of a flag is not known here, except
//! that the known ones ([`defs`]) are kept within their rules.

pub mod defs;
mod sqlite;
pub mod store;
mod table;
#[cfg(test)]
mod tests;
mod value;
mod view;
mod writer;

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

pub use sqlite::SqliteStore;
pub use table::{MAX_FLAGS, MAX_FLAGS_BYTES};
pub use value::{
    BadFlagName, BadValue, FlagName, FlagValue, MAX_ELEMENTS, MAX_NAME_CHARS, MAX_TEXT_BYTES,
    MAX_VALUE_BYTES, Plain,
};
pub use view::{Listed, MAX_PATTERN_BYTES, Origin, Resolved, View, Written, check_written};

use crate::project::ProjectName;
use defs::{FlagDef, Scope};
use store::{FlagChange, Level, Opener, StoreError};
use table::Table;
use writer::{Condition, Done, Job, Writer};

/// The most changes that wait to be stored; more wait to wait.
const MAX_WAITING: usize = 4096;
/// How long a change may take until it is stored.
const MAX_STORING: Duration = Duration::from_secs(30);
/// How long a look at the store may take.
const MAX_LOOKING: Duration = Duration::from_secs(10);

/// Why a flag was not read or set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// The name is none.
    #[error(transparent)]
    Name(#[from] BadFlagName),
    /// No flag can hold such a value.
    #[error("`{name}` was not set: {why}")]
    Value {
        /// The flag.
        name: FlagName,
        /// The fault of the value.
        why: BadValue,
    },
    /// This flag cannot hold such a value.
    #[error("`{name}` was not set: it takes {allowed}, and what came is {found}")]
    NotAllowed {
        /// The flag.
        name: FlagName,
        /// The values that are allowed, in words.
        allowed: String,
        /// The type of the value that came.
        found: &'static str,
    },
    /// It may not be set here.
    #[error("`{name}` was not set: it is a flag {}", where_instead(*scope))]
    Scope {
        /// The flag.
        name: FlagName,
        /// Where it may be set.
        scope: Scope,
    },
    /// The pattern of a listing is none.
    #[error(
        "`{pattern}` is no pattern: {why}; use `*`, `?`, `[a-z]` and `{{a,b}}`, as in `content-*`"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The fault of the pattern, in words.
        why: String,
    },
    /// There is no room for one more.
    #[error("there are {limit} flags, or they are too large together; remove some with null first")]
    TooMany {
        /// The most there may be.
        limit: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn where_instead(scope: Scope) -> &'static str {
    match scope {
        Scope::Global => "for all projects at once, so set it globally",
        Scope::Project => "of a project, so set it for one",
        Scope::Both => "of both kinds",
    }
}

/// All flags, and the one way to change them.
pub struct Flags {
    known: &'static [FlagDef],
    table: Arc<watch::Sender<Arc<Table>>>,
    jobs: mpsc::Sender<Job>,
    /// Bounds `jobs` without blocking a thread that waits for a place.
    places: Arc<Semaphore>,
    condition: Arc<Mutex<Condition>>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Flags {
    /// Starts with what the store holds; waits for nothing. A store that cannot be opened
    /// is said in the log and tried again; until then nothing is set and defaults hold.
    pub fn start(opener: Opener, known: &'static [FlagDef]) -> Flags {
        let table = Arc::new(watch::Sender::new(Arc::new(Table::default())));
        let (jobs, waiting) = mpsc::channel();
        let condition = Arc::<Mutex<Condition>>::default();
        let writer = Writer::new(opener, known, table.clone(), condition.clone());
        let thread = std::thread::Builder::new()
            .name("flags".to_owned())
            .spawn(move || writer.run(&waiting))
            // Without a thread `waiting` is gone, and every change is refused as closed.
            .ok();
        let places = Arc::new(Semaphore::new(MAX_WAITING));
        Flags { known, table, jobs, places, condition, thread: Mutex::new(thread) }
    }

    /// The trouble of the store, as far as is known. It answers at once.
    pub fn trouble(&self) -> Option<StoreError> {
        let condition = self.condition.lock();
        condition.unread.clone().or_else(|| condition.unwritten.clone())
    }

    /// The flags that are known, with their types, defaults and meanings.
    pub fn known(&self) -> &'static [FlagDef] {
        self.known
    }

    /// Sets a flag for all projects, or removes it with `null`; gives what it was before.
    pub async fn set_global(
        &self,
        name: &str,
        value: &Value,
    ) -> Result<Option<FlagValue>, FlagError> {
        self.set(Level::Global, name, value).await
    }

    /// Sets a flag for one project, or removes it with `null`; gives what it was before.
    pub async fn set_project(
        &self,
        project: &ProjectName,
        name: &str,
        value: &Value,
    ) -> Result<Option<FlagValue>, FlagError> {
        self.set(Level::Project(project.clone()), name, value).await
    }

    /// The value of a flag for all projects. Projects and defaults do not count.
    pub async fn get_global(&self, name: &str) -> Result<Option<FlagValue>, FlagError> {
        let name = FlagName::new(name)?;
        Ok(self.view(None).await?.global(&name).cloned())
    }

    /// The value of a flag for one project, and where it was decided. `written` holds the values
    /// that the settings give.
    pub async fn get_project(
        &self,
        (project, written): (&ProjectName, &Written),
        name: &str,
    ) -> Result<Option<Resolved>, FlagError> {
        let name = FlagName::new(name)?;
        Ok(self.view(Some(project)).await?.with_settings(written).get(name.as_str()))
    }

    /// The flags set for all projects whose names match, by name.
    pub async fn list_global(&self, pattern: Option<&str>) -> Result<Vec<Listed>, FlagError> {
        self.view(None).await?.list_global(pattern)
    }

    /// The flags that hold for one project and whose names match, by name; defaults too.
    pub async fn list_project(
        &self,
        (project, written): (&ProjectName, &Written),
        pattern: Option<&str>,
    ) -> Result<Vec<Listed>, FlagError> {
        self.view(Some(project)).await?.with_settings(written).list(pattern)
    }

    /// The flags as they are stored now, including changes by other programs.
    pub async fn view(&self, project: Option<&ProjectName>) -> Result<View, FlagError> {
        let look = self.ask(|done, _place| Job::Look { done, _place });
        tokio::time::timeout(MAX_LOOKING, look)
            .await
            .map_err(|_| StoreError::Silent { waited: MAX_LOOKING })??;
        Ok(self.last_seen(project))
    }

    /// The flags as they were last seen: at once, and when the store fails too. A change by
    /// another process is in it within a second.
    pub fn last_seen(&self, project: Option<&ProjectName>) -> View {
        View::new(self.table.borrow().clone(), self.known, project.cloned())
    }

    /// Wakes whenever flags may have changed, here or by another process.
    pub fn changes(&self) -> Changes {
        Changes(self.table.subscribe())
    }

    /// Stores what waits, closes the store and ends its thread.
    pub async fn close(&self) {
        let (done, stopped) = oneshot::channel();
        if self.jobs.send(Job::Stop { done }).is_ok() {
            // A disk that does not answer must not keep the program.
            let _ = tokio::time::timeout(MAX_LOOKING, stopped).await;
        }
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(std::thread::JoinHandle::is_finished) {
            let _ = thread.join();
        }
    }

    async fn set(
        &self,
        level: Level,
        name: &str,
        value: &Value,
    ) -> Result<Option<FlagValue>, FlagError> {
        let change = self.checked(level, FlagName::new(name)?, value)?;
        let store = self.ask(|done, _place| Job::Set { change, done, _place });
        let before = tokio::time::timeout(MAX_STORING, store)
            .await
            .map_err(|_| StoreError::Silent { waited: MAX_STORING })??;
        Ok(before.map(Arc::unwrap_or_clone))
    }

    /// Waits for a place among the jobs, then for the answer.
    async fn ask<T>(
        &self,
        job: impl FnOnce(Done<T>, OwnedSemaphorePermit) -> Job,
    ) -> Result<T, FlagError> {
        let place = self.places.clone().acquire_owned().await;
        let place = place.map_err(|_| StoreError::Closed)?;
        let (done, answer) = oneshot::channel();
        self.jobs.send(job(done, place)).map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Refuses a value that is not allowed before it costs anything. Removing a flag is always
    /// allowed.
    fn checked(
        &self,
        level: Level,
        name: FlagName,
        value: &Value,
    ) -> Result<FlagChange, FlagError> {
        if value.is_null() {
            return Ok(FlagChange { level, name, value: None });
        }
        let value = match FlagValue::from_json(value) {
            Ok(value) => value,
            Err(why) => return Err(FlagError::Value { name, why }),
        };
        if let Some(def) = self.known.iter().find(|def| def.name == name.as_str()) {
            def.check(&name, &value)?;
            let fits = match (&level, def.scope) {
                (Level::Global, Scope::Project) | (Level::Project(_), Scope::Global) => false,
                (Level::Global | Level::Project(_), _) => true,
            };
            if !fits {
                return Err(FlagError::Scope { name, scope: def.scope });
            }
        }
        Ok(FlagChange { level, name, value: Some(value) })
    }
}

/// Tells that flags may have changed.
#[derive(Debug)]
pub struct Changes(watch::Receiver<Arc<Table>>);

impl Changes {
    /// Waits for the next change; `false`: there will be none.
    pub async fn next(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
