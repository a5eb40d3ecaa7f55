//! Finds the words of a text and where their parts lie.

use std::ops::Range;

use super::letters::{Kind, is_combining, is_unspaced, is_word_letter, kind};

/// One word of a text and where its parts lie; reused from word to word.
#[derive(Debug, Default)]
pub(super) struct Word {
    /// Where the whole lies.
    pub(super) span: Range<usize>,
    /// Where its parts lie: one for a plain word.
    pub(super) parts: Vec<Range<usize>>,
    /// Its script has no spaces, so that it stands for itself and is not stemmed.
    pub(super) is_unspaced: bool,
}

/// The words of a text, one after the other.
#[derive(Debug)]
pub(super) struct Words<'t> {
    text: &'t str,
    at: usize,
    /// Where the next pair of an unspaced run begins, if within one.
    run_end: usize,
}

impl<'t> Words<'t> {
    pub(super) fn of(text: &'t str) -> Words<'t> {
        Words { text, at: 0, run_end: 0 }
    }

    /// Puts the next word into `word`; false when there is none.
    pub(super) fn read(&mut self, word: &mut Word) -> bool {
        word.parts.clear();
        if self.at < self.run_end && self.read_pair(word) {
            return true;
        }
        let rest = &self.text[self.at..];
        let Some(start) = rest.find(is_word_letter) else { return false };
        let start = self.at + start;
        if let Some(len) = plain_word_len(&self.text.as_bytes()[start..]) {
            self.at = start + len;
            word.is_unspaced = false;
            word.span = start..start + len;
            word.parts.push(word.span.clone());
            return true;
        }
        let first = self.text[start..].chars().next().unwrap_or(' ');
        if is_unspaced(first) {
            let run = &self.text[start..];
            let len = run.find(|c: char| !is_unspaced(c)).unwrap_or(run.len());
            self.at = start;
            self.run_end = start + len;
            return self.read_first_pair(word);
        }
        let run = &self.text[start..];
        let len = run.find(|c: char| !is_word_letter(c) || is_unspaced(c)).unwrap_or(run.len());
        self.at = start + len;
        word.is_unspaced = false;
        word.span = start..start + len;
        cut(self.text, word);
        true
    }

    /// The first pair of an unspaced run, or its only letter.
    fn read_first_pair(&mut self, word: &mut Word) -> bool {
        if self.read_pair(word) {
            return true;
        }
        let end = self.run_end;
        set_unspaced(word, self.at..end);
        self.at = end;
        true
    }

    /// The two letters at hand; false at the last letter of the run.
    fn read_pair(&mut self, word: &mut Word) -> bool {
        let run = &self.text[self.at..self.run_end];
        let mut starts = run.char_indices().map(|(at, _)| at);
        let (_, Some(second)) = (starts.next(), starts.next()) else { return false };
        let end = starts.next().unwrap_or(run.len());
        set_unspaced(word, self.at..self.at + end);
        // After the last pair nothing of the run is left to pair.
        self.at = if end == run.len() { self.run_end } else { self.at + second };
        true
    }
}

/// How long a word is of plain small letters, but for the first: most words are, and
/// need no cutting.
fn plain_word_len(bytes: &[u8]) -> Option<usize> {
    let first = usize::from(bytes.first()?.is_ascii_uppercase());
    let len = first + bytes[first..].iter().take_while(|b| b.is_ascii_lowercase()).count();
    let is_plain = len > first
        && bytes.get(len).is_none_or(|b| b.is_ascii() && !b.is_ascii_alphanumeric() && *b != b'_');
    is_plain.then_some(len)
}

fn set_unspaced(word: &mut Word, span: Range<usize>) {
    word.is_unspaced = true;
    word.parts.clear();
    word.parts.push(span.clone());
    word.span = span;
}

/// Finds the parts of a word, e.g. `HTTP` and `Server` of `HTTPServer`.
fn cut(text: &str, word: &mut Word) {
    let span = word.span.clone();
    let mut start = span.start;
    let mut before = Kind::Joint;
    let mut upper_at = span.start;
    for (at, c) in text[span.clone()].char_indices().map(|(at, c)| (span.start + at, c)) {
        // An accent that stands alone belongs to the letter before it.
        let now = if is_combining(c) { before } else { kind(c) };
        match (before, now) {
            (_, Kind::Joint) => {
                push_part(word, start..at);
                start = at + c.len_utf8();
            }
            (Kind::Lower, Kind::Upper)
            | (Kind::Lower | Kind::Upper, Kind::Digit)
            | (Kind::Digit, Kind::Lower | Kind::Upper) => {
                push_part(word, start..at);
                start = at;
            }
            // The last capital before small letters begins the next word: HTTP|Server.
            (Kind::Upper, Kind::Lower) if upper_at > start => {
                push_part(word, start..upper_at);
                start = upper_at;
            }
            _ => {}
        }
        if now == Kind::Upper {
            upper_at = at;
        }
        before = now;
    }
    push_part(word, start..span.end);
    trim(text, word);
}

fn push_part(word: &mut Word, part: Range<usize>) {
    if !part.is_empty() {
        word.parts.push(part);
    }
}

/// Takes `_` from both ends of the whole, e.g. `init` of `__init__`.
fn trim(text: &str, word: &mut Word) {
    if let (Some(first), Some(last)) = (word.parts.first(), word.parts.last()) {
        word.span = first.start..last.end;
    } else {
        word.span = word.span.start..word.span.start;
    }
    debug_assert!(text.is_char_boundary(word.span.start) && text.is_char_boundary(word.span.end));
}
