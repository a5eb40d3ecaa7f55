//! The settings of one folder.

use std::path::PathBuf;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use trove_core::{SourceId, source::Indexing};

use crate::rules::own_rules;

/// One folder of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderSettings {
    /// Its name among the servers.
    pub id: SourceId,
    /// Where it lies, absolute.
    pub path: PathBuf,
    /// Rules on what is left out, a line each as in a `.gitignore`; they win over all others.
    pub ignore: Vec<String>,
    /// The files that are served, as globs; all if there is none.
    pub include: Vec<String>,
    /// How much of it search may look into.
    pub index: Indexing,
}

/// Why a folder cannot be served as it is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFolder {
    /// A glob of `include` makes no sense.
    #[error("`{glob}` is no glob: {why}")]
    Include {
        /// The glob.
        glob: String,
        /// The fault.
        why: String,
    },
    /// A line of `ignore` makes no sense.
    #[error("`{line}` is no rule of a .gitignore: {why}")]
    Ignore {
        /// The line.
        line: String,
        /// The fault.
        why: String,
    },
}

impl FolderSettings {
    /// Whether its rules can be understood.
    pub fn check(&self) -> Result<(), BadFolder> {
        own_rules(&self.ignore)?;
        self.included().map(drop)
    }

    /// The globs of `include`; `None` if every file is meant.
    pub(crate) fn included(&self) -> Result<Option<GlobSet>, BadFolder> {
        if self.include.is_empty() {
            return Ok(None);
        }
        let mut globs = GlobSetBuilder::new();
        for glob in &self.include {
            let bad = |error: globset::Error| BadFolder::Include {
                glob: glob.clone(),
                why: error.kind().to_string(),
            };
            globs.add(GlobBuilder::new(glob).literal_separator(true).build().map_err(bad)?);
        }
        let bad = |error: globset::Error| BadFolder::Include {
            glob: self.include.join(", "),
            why: error.kind().to_string(),
        };
        globs.build().map(Some).map_err(bad)
    }
}
