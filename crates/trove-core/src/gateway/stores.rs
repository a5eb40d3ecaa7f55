//! The health of the stores on disk; from memory, so that a disk that hangs delays no caller.
//!
//! Only in words of our own: the system's words about a file name its place.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Gateway;
use crate::{
    about::StoreHealth,
    flags::store::StoreError,
    search::{Opened, Place, Status},
};

/// Files on which others keep an eye, and say how they are.
#[derive(Debug, Default)]
pub(super) struct Watched {
    is_state_gone: AtomicBool,
    is_configuration_refused: AtomicBool,
}

impl Gateway {
    /// Says whether the state folder is there.
    pub fn note_state_folder(&self, is_there: bool) {
        self.watched_files.is_state_gone.store(!is_there, Ordering::Relaxed);
    }

    /// Says whether the configuration on the disk is the one in force.
    pub fn note_configuration(&self, is_in_force: bool) {
        self.watched_files.is_configuration_refused.store(!is_in_force, Ordering::Relaxed);
    }

    /// Every store, by name.
    pub(super) fn stores(&self) -> Vec<StoreHealth> {
        let mut stores = vec![self.audit_health(), self.flags_health(), self.index_store_health()];
        let watched = &self.watched_files;
        if watched.is_state_gone.load(Ordering::Relaxed) {
            let problem =
                "the state folder went away, so nothing is written; put it back, or restart Trove";
            let gone = StoreHealth::new("state", "failing");
            stores.push(StoreHealth { problem: Some(problem), ..gone });
        }
        if watched.is_configuration_refused.load(Ordering::Relaxed) {
            let problem = "the changed file has errors or names no servers, so the old one stays in force; `trove config check` and the log say more";
            let refused = StoreHealth::new("configuration", "failing");
            stores.push(StoreHealth { problem: Some(problem), ..refused });
        }
        stores
    }

    fn audit_health(&self) -> StoreHealth {
        let audit = &self.audit;
        if !audit.is_on() {
            return StoreHealth::new("audit", "off");
        }
        let lost = audit.dropped();
        let (state, problem) = match (audit.is_failing(), lost) {
            (true, 0) => {
                ("failing", Some("it cannot be written; entries wait, while there is room"))
            }
            (true, _) => ("failing", Some("it cannot be written, and entries were lost")),
            (false, 0) => ("ok", None),
            (false, _) => ("failing", Some("entries came faster than they could be written")),
        };
        StoreHealth { problem, lost: Some(lost), ..StoreHealth::new("audit", state) }
    }

    fn flags_health(&self) -> StoreHealth {
        let Some(flags) = self.flags() else { return StoreHealth::new("flags", "off") };
        let Some(trouble) = flags.trouble() else { return StoreHealth::new("flags", "ok") };
        let problem = match trouble {
            StoreError::Damaged { .. } => "it is damaged; `trove flag list` says what to do",
            StoreError::Newer { .. } => "a newer Trove made it",
            StoreError::ReadOnly { .. } => "it cannot be written",
            StoreError::Full { .. } => "the disk is full",
            StoreError::Gone { .. } => {
                "its file or folder went away; put it back, or restart Trove"
            }
            StoreError::Busy { .. } => "another process keeps it to itself",
            _ => "it cannot be used; the log says why",
        };
        StoreHealth { problem: Some(problem), ..StoreHealth::new("flags", "failing") }
    }

    fn index_store_health(&self) -> StoreHealth {
        let status = self.search().map(|search| search.status());
        let (state, problem) = match status {
            None => ("off", None),
            Some(Status { place: Place::Memory, .. }) => {
                ("memory", Some("its folder cannot be used; it is built anew at each start"))
            }
            Some(Status { opened: Opened::Rebuilt { .. }, .. }) => {
                ("rebuilt", Some("what was kept could not be used; the log says why"))
            }
            Some(_) => ("ok", None),
        };
        StoreHealth { problem, ..StoreHealth::new("index", state) }
    }
}
