//! The tables of names and of words: which of them tell what of a failure.
//!
//! The tables are text, one pattern a line: `names.txt`, `weak_names.txt`, `words.txt`. They are
//! written from how such texts look; `tests/corpus/failures` judges them.

use std::sync::LazyLock;

use regex::bytes::RegexSet;

/// The reason for which there is no answer, as a text tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Absent,
    Passing,
    WhoAreYou,
    NotAllowed,
    BadArgument,
    OwnFault,
}

impl Sign {
    fn parse(name: &str) -> Option<Sign> {
        let sign = match name {
            "absent" => Sign::Absent,
            "passing" => Sign::Passing,
            "who-are-you" => Sign::WhoAreYou,
            "not-allowed" => Sign::NotAllowed,
            "bad-argument" => Sign::BadArgument,
            "own-fault" => Sign::OwnFault,
            _ => return None,
        };
        Some(sign)
    }
}

/// Names of errors, as words: `ThrottlingException` is `throttling exception`.
pub(super) static NAMES: LazyLock<Table> = LazyLock::new(|| Table::of(include_str!("names.txt")));
/// Names that decide where words say nothing.
pub(super) static WEAK_NAMES: LazyLock<Table> =
    LazyLock::new(|| Table::of(include_str!("weak_names.txt")));
/// Words.
pub(super) static WORDS: LazyLock<Table> = LazyLock::new(|| Table::of(include_str!("words.txt")));

/// The patterns of a table, compiled into one set that is tried in linear time.
pub(super) struct Table {
    set: RegexSet,
    signs: Vec<Sign>,
}

impl Table {
    fn of(text: &str) -> Table {
        let mut patterns = Vec::new();
        let mut signs = Vec::new();
        let mut sign = None;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("== ") {
                sign = Sign::parse(name);
            } else if !line.is_empty() && !line.starts_with('#') {
                // Without Unicode the set is small.
                patterns.push(format!("(?-u){line}"));
                signs.push(sign.expect("each pattern of our tables stands below a sign"));
            }
        }
        let set = RegexSet::new(patterns).expect("the patterns of our tables compile");
        Table { set, signs }
    }

    /// The first row that fits, and its sign.
    pub(super) fn row_of(&self, text: &str) -> Option<(usize, Sign)> {
        let row = self.set.matches(text.as_bytes()).iter().next()?;
        Some((row, self.signs[row]))
    }

    /// The sign of the first row that fits.
    pub(super) fn sign_of(&self, text: &str) -> Option<Sign> {
        self.row_of(text).map(|(_, sign)| sign)
    }
}
