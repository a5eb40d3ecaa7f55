//! Finds the secrets that a server was trusted with in the texts it writes about itself.
//!
//! Servers quote: a refused header in an error, a whole environment in a crash. An answer is passed
//! on as it is. An error, a state, a name, a log message or a line of stderr has these values taken
//! out: people, models and logs read it.

mod decode;
mod entry;
mod forms;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, collections::BTreeSet};

use entry::Found;
use forms::Needles;
use parking_lot::RwLock;
use trove_core::Json;

use super::{config::Reach, variables::Scope};

/// Shorter values are words that could stand anywhere.
const MIN_SECRET: usize = 6;
/// The most values of one server.
const MAX_SECRETS: usize = 256;
/// The text that stands in their place.
const MASK: &str = "***";

/// The secrets of one server.
#[derive(Debug, Default)]
pub struct Secrets(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Those of its entry.
    written: Found,
    /// Those that an issuer granted for it.
    granted: BTreeSet<String>,
    needles: Needles,
    sure: Needles,
}

impl Known {
    fn seek(&mut self) {
        let all = self.written.all.iter().chain(&self.granted);
        self.needles = Needles::of(all.map(String::as_str));
        let sure = self.written.sure.iter().chain(&self.granted);
        self.sure = Needles::of(sure.map(String::as_str));
    }
}

impl Secrets {
    /// Those of an entry, as they are now.
    pub fn of(reach: &Reach, scope: &dyn Scope) -> Secrets {
        let secrets = Secrets::default();
        secrets.learn(reach, scope);
        secrets
    }

    /// Learns those of an entry, as they are now.
    pub(crate) fn learn(&self, reach: &Reach, scope: &dyn Scope) {
        let Found { all, sure } = entry::secrets(reach, scope);
        let mut known = self.0.write();
        known.written = Found { all: bounded(all), sure: bounded(sure) };
        known.seek();
    }

    /// Learns tokens that were granted for the server, in the place of those before.
    pub(crate) fn learn_granted<'a>(&self, tokens: impl IntoIterator<Item = &'a str>) {
        let granted = bounded(tokens.into_iter().map(str::to_owned).collect());
        let mut known = self.0.write();
        if known.granted != granted {
            known.granted = granted;
            known.seek();
        }
    }

    /// The text without them.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.read().needles.hide(text)
    }

    /// A value without them, if it has any.
    pub(crate) fn hide_in_json(&self, json: &Json) -> Option<Json> {
        self.0.read().needles.hide_in_json(json)
    }

    /// An entry of a list without what is surely secret, if it has any of that.
    pub(crate) fn hide_in_entry(&self, entry: &Json) -> Option<Json> {
        self.0.read().sure.hide_in_json(entry)
    }

    /// The beginning of the text without them, so many bytes at the most. Only that is looked at.
    pub(crate) fn hide_in_beginning(&self, text: &str, most: usize) -> String {
        let known = self.0.read();
        let hidden = known.needles.hide_in_beginning(text, most);
        if text.len() <= most { hidden.into_owned() } else { format!("{hidden}…") }
    }
}

/// The beginning of a text, so many letters at the most.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((at, _)) => without_last_word(&text[..at]),
        None => text,
    }
}

/// A text that was cut at its end, without its last word: that may be half a secret.
pub(super) fn without_last_word(cut: &str) -> &str {
    cut.rfind(is_between_words).map_or("", |at| &cut[..at])
}

/// A text that was cut at its beginning, without its first word.
pub(super) fn without_first_word(cut: &str) -> &str {
    cut.find(is_between_words).map_or("", |at| &cut[at..])
}

fn is_between_words(letter: char) -> bool {
    letter.is_whitespace() || "\"'<>()[]{},;".contains(letter)
}

/// A text without these secrets.
pub(crate) fn hide_all<'a>(secrets: impl IntoIterator<Item = &'a str>, text: &str) -> String {
    Needles::of(secrets).hide(text).into_owned()
}

fn bounded(found: BTreeSet<String>) -> BTreeSet<String> {
    found.into_iter().filter(|value| value.len() >= MIN_SECRET).take(MAX_SECRETS).collect()
}
