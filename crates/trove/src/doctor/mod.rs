//! Finds the faults of this installation, and the remedy of each.
//!
//! Every check gives findings and changes nothing. A finding says what is so and how to mend it;
//! none repeats a secret.

mod folders;
mod guide;
mod kept;
mod machine;
mod running;
mod servers;
mod trial;

use serde::Serialize;

pub(crate) use folders::{check_folders, check_served};
pub(crate) use guide::check_guide;
pub(crate) use kept::check_kept;
pub(crate) use machine::{check_clients, check_http, check_secrecy, check_state};
pub(crate) use running::check_running;
pub(crate) use servers::check_servers;
pub(crate) use trial::{check_ends, check_trials, settle};

use crate::config::{Loaded, Problem, Severity};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// Something does not work until it is mended.
    Error,
    /// Something works, but hardly as it was meant.
    Warning,
    /// Something the user may want to know.
    Note,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    /// The area: `config`, `server`, `names`, `guide`, `http`, `state` or `client`.
    pub(crate) area: &'static str,
    /// Which one of them.
    pub(crate) subject: String,
    pub(crate) message: String,
    /// How to mend it.
    pub(crate) fix: String,
    /// The last words of a server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) last_words: Vec<String>,
}

impl Finding {
    fn new(
        level: Level,
        (area, subject): (&'static str, &str),
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Finding {
        let (subject, message, fix) = (subject.to_owned(), message.into(), fix.into());
        Finding { level, area, subject, message, fix, last_words: Vec::new() }
    }
}

/// Findings of the configuration about itself, apart from those that another check tells better.
pub(crate) fn check_config(loaded: &Loaded, said: &[Finding]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if loaded.origin.is_none() {
        let message = "there is no configuration, so there are no servers";
        let fix = "run `trove import`, or write a trove.toml";
        findings.push(Finding::new(Level::Note, ("config", "trove.toml"), message, fix));
    }
    let is_said = |problem: &Problem| said.iter().any(|finding| finding.message == problem.message);
    for problem in loaded.problems.iter().filter(|problem| !is_said(problem)) {
        let level = match problem.severity {
            // An error in another client's file costs only the entry it stands in.
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warning,
            Severity::Note => Level::Note,
        };
        let file = problem.file.as_ref().map(|file| file.display().to_string());
        let subject = match (file, problem.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file,
            (None, _) => "environment".to_owned(),
        };
        findings.push(Finding::new(level, ("config", &subject), &problem.message, &problem.hint));
    }
    findings
}
