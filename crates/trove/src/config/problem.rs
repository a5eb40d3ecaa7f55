//! The problems of a configuration: place, fault and remedy.
//!
//! Problems are gathered, never thrown: a reader reports and goes on, so that the user sees all
//! of them at once. No message repeats a value, which may be a secret.

use std::{
    fmt::{self, Write as _},
    path::PathBuf,
};

use serde::{Serialize, Serializer};

use super::tree::At;

/// How bad a [`Problem`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The wish cannot be fulfilled.
    Error,
    /// It can be done, but hardly as it was meant.
    Warning,
    /// Something was decided that the user may want to know.
    Note,
}

/// One thing to know about a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The file, as the user would name it; `None`: a flag or the environment.
    #[serde(serialize_with = "as_shown")]
    pub file: Option<PathBuf>,
    /// The line, from one.
    pub line: Option<u32>,
    /// The character in the line, from one.
    pub column: Option<u32>,
    /// The fault.
    pub message: String,
    /// The next step.
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
            if let (Some(line), Some(column)) = (self.line, self.column) {
                write!(f, "{line}:{column}:")?;
            }
            f.write_char(' ')?;
        }
        write!(f, "{}: {}\n  hint: {}", self.severity, self.message, self.hint)
    }
}

/// Paths need not be UTF-8; JSON must be.
fn as_shown<S: Serializer>(file: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    file.as_ref().map(|file| file.display().to_string()).serialize(serializer)
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// The problems of one file, as they are found.
pub(super) struct Problems {
    file: Option<PathBuf>,
    found: Vec<Problem>,
}

impl Problems {
    /// Of a file, named as the user would; or of flags and environment alone.
    pub(super) fn of(file: Option<PathBuf>) -> Problems {
        Problems { file, found: Vec::new() }
    }

    pub(super) fn error(&mut self, at: At, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Severity::Error, at, message.into(), hint.into());
    }

    pub(super) fn warning(&mut self, at: At, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Severity::Warning, at, message.into(), hint.into());
    }

    pub(super) fn note(&mut self, at: At, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Severity::Note, at, message.into(), hint.into());
    }

    /// An error of the file as a whole.
    pub(super) fn unreadable(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        let problem = outside(Severity::Error, message.into(), hint.into());
        self.found.push(Problem { file: self.file.clone(), ..problem });
    }

    /// An error of a flag or the environment.
    pub(super) fn error_outside(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.found.push(outside(Severity::Error, message.into(), hint.into()));
    }

    /// Something amiss with a flag or the environment.
    pub(super) fn warning_outside(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.found.push(outside(Severity::Warning, message.into(), hint.into()));
    }

    pub(super) fn errors(&self) -> usize {
        self.found.iter().filter(|problem| problem.severity == Severity::Error).count()
    }

    /// All of them, in the order of the file.
    pub(super) fn into_sorted(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|problem| (problem.line, problem.column));
        self.found
    }

    fn add(&mut self, severity: Severity, at: At, message: String, hint: String) {
        let (line, column) = (Some(at.line), Some(at.column));
        let file = self.file.clone();
        self.found.push(Problem { file, line, column, ..outside(severity, message, hint) });
    }
}

fn outside(severity: Severity, message: String, hint: String) -> Problem {
    let (message, hint) = (printable(&message), printable(&hint));
    Problem { severity, file: None, line: None, column: None, message, hint }
}

/// Keys come from files we do not trust: none may move the terminal's cursor.
fn printable(text: &str) -> String {
    trove_core::content::escape_line(text).into_owned()
}

/// The hint for a name that is none of the `known`, e.g. a near one: did you mean `servers`?
pub(super) fn suggestion(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", listed(known)),
    }
}

/// `a`, `b`, `c`
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let near_enough = (name.chars().count() / 3).max(1);
    let measured = known.iter().map(|candidate| (distance(name, candidate), *candidate));
    let (far, candidate) = measured.min_by_key(|(far, _)| *far)?;
    (far <= near_enough).then_some(candidate)
}

/// How many letters must be added, dropped or replaced (Levenshtein), case aside, e.g. 1 from
/// `sever` to `Server`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[row.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_if_it_is_near() {
        let known = ["command", "args", "url"];
        assert_eq!(suggestion("comand", &known), "did you mean `command`?");
        assert_eq!(suggestion("URL", &known), "did you mean `url`?");
        assert_eq!(suggestion("uri", &known), "did you mean `url`?");
        assert_eq!(suggestion("serverUrl", &known), "known: `command`, `args`, `url`");
    }

    #[test]
    fn a_problem_reads_like_a_compiler_message() {
        let mut problems = Problems::of(Some("trove.toml".into()));
        problems.warning(At { line: 12, column: 3 }, "one\u{1b}[2J", "two");
        problems.unreadable("it is a folder", "name a file");
        problems.error_outside("no", "yes");
        let shown: Vec<String> = problems.into_sorted().iter().map(Problem::to_string).collect();
        assert_eq!(
            shown,
            [
                "trove.toml: error: it is a folder\n  hint: name a file",
                "error: no\n  hint: yes",
                "trove.toml:12:3: warning: one\\u{1b}[2J\n  hint: two",
            ]
        );
    }
}
