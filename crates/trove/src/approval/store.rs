//! The user's approvals, in a file of the state folder that only the user may read.
//!
//! Each process that changes it holds a lock, so that two approvals at once do not undo each other.

use std::{path::Path, time::Duration};

use serde::{Deserialize, Serialize};
use trove_core::{
    SourceId,
    files::Home,
    state_file::{Damaged, Form, Lock, StateError, StateFile},
};

use super::{Calls, Invocation};

/// The name of the file in the state folder.
pub(super) const FILE_NAME: &str = "approvals.json";
/// The most approvals that are kept; the oldest make room.
const MAX_APPROVALS: usize = 10_000;
static FORM: Form = Form {
    max_bytes: 64 << 20,
    version: 1,
    damaged: Damaged::Refused("move it away and approve again"),
};
/// How long another process may hold the lock.
const MAX_LOCKED: Duration = Duration::from_secs(5);

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
    /// The digest that the approval is bound to.
    pub(crate) sha256: String,
    /// The command behind it, to show later changes.
    pub(crate) invocation: Invocation,
    /// The tools that a recipe was shown to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) calls: Option<Calls>,
}

impl Approvals {
    /// Reads the approvals from the state folder.
    pub(crate) fn load(state: &Path) -> Result<Approvals, StateError> {
        Ok(file(&Home::at(state)).read_json()?.unwrap_or_default())
    }

    /// The approval of a server of a file.
    pub(crate) fn of(&self, file: &Path, server: &SourceId) -> Option<&Approval> {
        let file = file.display().to_string();
        self.approvals.iter().find(|one| one.file == file && one.server == server.as_str())
    }

    /// Keeps these besides what is kept, each in place of an older one of its server.
    pub(crate) fn add(state: &Path, new: Vec<Approval>) -> Result<(), StateError> {
        let home = Home::at(state);
        let _lock = lock(&home)?;
        let mut all = Approvals::load(state)?;
        all.version = FORM.version;
        for approval in new {
            all.approvals
                .retain(|old| (&old.file, &old.server) != (&approval.file, &approval.server));
            all.approvals.push(approval);
        }
        let surplus = all.approvals.len().saturating_sub(MAX_APPROVALS);
        all.approvals.drain(..surplus);
        file(&home).write_json(&all)
    }
}

fn file(home: &Home) -> StateFile {
    StateFile::inside(home, home.path().join(FILE_NAME), &FORM)
}

pub(super) fn lock(home: &Home) -> Result<Lock, StateError> {
    file(home).lock(MAX_LOCKED)
}
