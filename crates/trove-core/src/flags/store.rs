//! Where flags are kept: the duties of any store, and why one may fail.
//!
//! A store is used by one thread at a time and may block. It decides nothing: a change has been
//! checked before it is stored, and a flag that is read back is checked again.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::value::{FlagName, FlagValue};
use crate::project::ProjectName;

/// Where a flag is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Level {
    /// For all projects.
    Global,
    /// For one.
    Project(ProjectName),
}

/// One flag set or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagChange {
    pub level: Level,
    pub name: FlagName,
    /// Its new value; `None` removes it.
    pub value: Option<FlagValue>,
}

/// One flag as it lies in a store; whether it makes sense is for the reader to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFlag {
    /// The project; `None` for all of them.
    pub project: Option<String>,
    pub name: String,
    /// The value as JSON text.
    pub value: String,
}

/// Keeps flags. A shared database can be one as well as a file.
pub trait FlagStore: Send {
    /// Everything that is kept, at most `limit` flags.
    fn load(&mut self, limit: usize) -> Result<Vec<StoredFlag>, StoreError>;

    /// Makes all changes, in order, or none. When it returns well they survive the end of
    /// this process and of the machine.
    fn write(&mut self, changes: &[FlagChange]) -> Result<(), StoreError>;

    /// Whether another process changed anything since this was last asked.
    fn was_changed_elsewhere(&mut self) -> Result<bool, StoreError>;
}

/// Opens a store, and opens it again after a failure.
pub type Opener = Box<dyn FnMut() -> Result<Box<dyn FlagStore>, StoreError> + Send>;

/// Why a store did not do what it was asked. Nothing that was kept before is lost by it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The file is no store, or a part of it is unreadable.
    #[error("the store {} is damaged ({detail}); nothing in it was changed. {}", path.display(), repair(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault that was found.
        detail: String,
    },
    /// A later version of the program made it.
    #[error(
        "the store {} has version {version} and this program knows version {known}; \
         use the newer Trove that made it, or name another state folder with TROVE_HOME",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
        /// The newest version we know.
        known: i64,
    },
    /// The file or its folder may not be written.
    #[error(
        "the store {} cannot be written, so the old values stand; \
         let this user write the file and its folder, or name another state folder with TROVE_HOME",
        path.display()
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// There is no room.
    #[error("the disk of {} is full, so the old values stand; make room and try again", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file, or its folder, went away while it was used.
    #[error(
        "the store {} is not there any more, so the old values stand and nothing is written; \
         put its folder back, or restart Trove to begin a new one",
        path.display()
    )]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// Another process kept it to itself for too long.
    #[error(
        "another process has been writing to {} for more than {waited:?}, so the old values stand; try again",
        path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long we waited.
        waited: Duration,
    },
    /// The system said no in another way.
    #[error(
        "the store {} cannot be used: {detail}; check the disk and the folder's permissions",
        path.display()
    )]
    Failing {
        /// The file.
        path: PathBuf,
        /// The words of the system.
        detail: String,
    },
    /// It has been closed.
    #[error("the store is closed, because Trove is stopping")]
    Closed,
    /// It did not answer in time.
    #[error(
        "the store did not answer within {waited:?}; whether the change was kept is not known, so look again"
    )]
    Silent {
        /// How long we waited.
        waited: Duration,
    },
}

impl StoreError {
    /// Whether the open store can go on as if nothing had happened.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, StoreError::Full { .. } | StoreError::Busy { .. })
    }
}

/// The commands to type. Two ways: save the readable part, or begin anew; both keep the old files,
/// with the log that belongs to them.
fn repair(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = quoted(path);
    let old = quoted(&path.with_file_name(format!("damaged-{name}")));
    let saved = quoted(&path.with_file_name("recovered.sql"));
    let aside = format!("mkdir {old} && mv {file}* {old}/");
    format!(
        "Stop Trove, then save what can be saved: `sqlite3 {file} .dump | sed 's/^ROLLBACK.*/COMMIT;/' > {saved} && {aside} && sqlite3 {file} < {saved}`; \
         or begin without flags: `{aside}`"
    )
}

/// The path as a shell takes it, e.g. `'/a b'`.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
