//! What the user approved, in a file of the state folder that only the user may read.
//!
//! Replaced whole: a reader finds the old or the new one. Whoever changes it holds a lock,
//! so that two who approve at once do not undo each other.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use trove_core::{SourceId, files};

use super::{Calls, Invocation};

/// The name of the file in the state folder.
pub(super) const FILE_NAME: &str = "approvals.json";
/// The most approvals that are kept; the oldest make room.
const MAX_APPROVALS: usize = 10_000;
/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// How long another process may hold the lock.
const MAX_LOCKED: Duration = Duration::from_secs(5);
const LOCK_INTERVAL: Duration = Duration::from_millis(20);
const VERSION: u32 = 1;

/// Why approvals could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApprovalError {
    /// The file is not what it should be.
    #[error("{} is damaged ({detail}); move it away and approve again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The system said no.
    #[error("{} cannot be used: {error}; check the state folder and its permissions", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Another process is changing it, and does not end.
    #[error("another process has been changing {} for {MAX_LOCKED:?}; try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

/// Everything that was approved, oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Approvals {
    version: u32,
    approvals: Vec<Approval>,
}

/// One server that was approved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Approval {
    /// The configuration it stands in.
    pub(crate) file: String,
    /// Its id there.
    pub(crate) server: String,
    /// What the approval is bound to.
    pub(crate) sha256: String,
    /// The same in words, to show what changed.
    pub(crate) invocation: Invocation,
    /// The tools that a recipe was shown to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) calls: Option<Calls>,
}

impl Approvals {
    /// What is kept in the state folder.
    pub(crate) fn load(state: &Path) -> Result<Approvals, ApprovalError> {
        let path = state.join(FILE_NAME);
        let unusable = |error| ApprovalError::Unusable { path: path.clone(), error };
        let text = match files::read_text(&path, MAX_FILE_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Approvals::default());
            }
            Err(error) => return Err(unusable(error)),
        };
        let damaged = |detail: String| ApprovalError::Damaged { path: path.clone(), detail };
        let all: Approvals =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if all.version > VERSION {
            return Err(damaged(format!("version {} is newer than this Trove", all.version)));
        }
        Ok(all)
    }

    /// What was approved for a server of a file.
    pub(crate) fn of(&self, file: &Path, server: &SourceId) -> Option<&Approval> {
        let file = file.display().to_string();
        self.approvals.iter().find(|one| one.file == file && one.server == server.as_str())
    }

    /// Keeps these besides what is kept, each in place of an older one of its server.
    pub(crate) fn add(state: &Path, new: Vec<Approval>) -> Result<(), ApprovalError> {
        let path = state.join(FILE_NAME);
        let unusable = |error| ApprovalError::Unusable { path: path.clone(), error };
        files::make_folder(state).map_err(unusable)?;
        let _lock = lock(state)?;
        let mut all = Approvals::load(state)?;
        all.version = VERSION;
        for approval in new {
            all.approvals
                .retain(|old| (&old.file, &old.server) != (&approval.file, &approval.server));
            all.approvals.push(approval);
        }
        let surplus = all.approvals.len().saturating_sub(MAX_APPROVALS);
        all.approvals.drain(..surplus);
        all.save(&path).map_err(unusable)
    }

    fn save(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        files::replace(path, &text)
    }
}

pub(super) fn lock(state: &Path) -> Result<File, ApprovalError> {
    let path = state.join("approvals.lock");
    let unusable = |error| ApprovalError::Unusable { path: path.clone(), error };
    let file = files::lock_file(&path).map_err(unusable)?;
    let deadline = Instant::now() + MAX_LOCKED;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::Error(error)) => return Err(unusable(error)),
            Err(fs::TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(ApprovalError::Busy { path });
            }
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_INTERVAL),
        }
    }
}
