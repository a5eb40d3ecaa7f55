//! The name of a project: flags and parts of the guide may be chosen for it.

use std::{fmt, sync::Arc};

/// The longest name of a project; long enough for a path, which some clients give.
pub const MAX_PROJECT_NAME_BYTES: usize = 1024;

/// The name of a project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectName(Arc<str>);

/// Why a text names no project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no name of a project; use 1 to {MAX_PROJECT_NAME_BYTES} bytes without control characters, and no blank at either end"
)]
pub struct BadProjectName;

impl ProjectName {
    /// Takes a name, if it is one.
    pub fn new(name: &str) -> Result<ProjectName, BadProjectName> {
        let fits = (1..=MAX_PROJECT_NAME_BYTES).contains(&name.len());
        let is_plain = name.trim() == name && !name.chars().any(char::is_control);
        if fits && is_plain { Ok(ProjectName(name.into())) } else { Err(BadProjectName) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_any_short_text_without_surprises() {
        for good in ["trove", "My project", "/home/ann/src/trove", "é"] {
            assert_eq!(ProjectName::new(good).unwrap().as_str(), good);
        }
        for bad in ["", " a", "a ", "a\nb", "a\u{1b}[2J", &"x".repeat(1025)] {
            ProjectName::new(bad).expect_err(bad);
        }
    }
}
