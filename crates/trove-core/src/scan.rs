//! Finds where JSON values begin and end, quickly and without trusting the text.
//!
//! Most of a message is one long string: a document, or a blob in base64. Its end is
//! looked for many bytes at a time, so that looking into a message costs little more than reading it
//! from memory. Everything is checked on the way: what passes here is JSON.

use memchr::{memchr, memchr2_iter};

/// The deepest nesting that is followed.
const MAX_DEPTH: usize = 100_000;

/// Walks over one text.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The text passed here before, so that only its structure is looked for.
    is_valid: bool,
}

/// The text is not JSON from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotJson;

type Scan<T> = Result<T, NotJson>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0, is_valid: false }
    }

    /// A scanner of a text that is known to be JSON.
    pub(crate) fn of_valid(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0, is_valid: true }
    }

    /// Steps over `byte` if it comes next, blanks aside.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Whether nothing but blanks is left.
    pub(crate) fn is_done(&mut self) -> bool {
        self.peek().is_none()
    }

    /// What comes next, blanks aside.
    pub(crate) fn rest(&mut self) -> &'a str {
        self.blanks();
        &self.text[self.at..]
    }

    /// How much is left.
    pub(crate) fn rest_len(&self) -> usize {
        self.text.len() - self.at
    }

    /// The text of the next value.
    pub(crate) fn value(&mut self) -> Scan<&'a str> {
        self.blanks();
        let start = self.at;
        // True for an object, false for an array; nesting needs no call stack.
        let mut open: Vec<bool> = Vec::new();
        loop {
            match self.peek().ok_or(NotJson)? {
                b'{' => self.open(&mut open, true)?,
                b'[' => self.open(&mut open, false)?,
                b'"' => drop(self.string()?),
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => self.number()?,
            }
            // An empty object or array is a whole value already.
            let is_begun = matches!(self.before(), Some(b'{' | b'[')) && !open.is_empty();
            if is_begun && self.begins(&open)? {
                continue;
            }
            if !self.close(&mut open)? {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    /// The text of the next string, quotes included.
    pub(crate) fn string(&mut self) -> Scan<&'a str> {
        self.blanks();
        let start = self.at;
        let bytes = self.text.as_bytes();
        if bytes.get(start) != Some(&b'"') {
            return Err(NotJson);
        }
        let end = match self.is_valid {
            true => end_of_valid_string(bytes, start + 1)?,
            false => end_of_string(bytes, start + 1)?,
        };
        self.at = end;
        Ok(&self.text[start..end])
    }

    fn blanks(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t'));
        self.at += blanks.count();
    }

    fn peek(&mut self) -> Option<u8> {
        self.blanks();
        self.text.as_bytes().get(self.at).copied()
    }

    fn before(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at.checked_sub(1)?).copied()
    }

    fn open(&mut self, open: &mut Vec<bool>, is_object: bool) -> Scan<()> {
        self.at += 1;
        open.push(is_object);
        if open.len() > MAX_DEPTH { Err(NotJson) } else { Ok(()) }
    }

    /// After an opening bracket: true if a value follows, false if it closes at once.
    fn begins(&mut self, open: &[bool]) -> Scan<bool> {
        let is_object = open.last() == Some(&true);
        if self.peek() == Some(if is_object { b'}' } else { b']' }) {
            return Ok(false);
        }
        if is_object {
            self.key()?;
        }
        Ok(true)
    }

    /// After a value: closes what ends here; true if another value follows.
    fn close(&mut self, open: &mut Vec<bool>) -> Scan<bool> {
        while let Some(&is_object) = open.last() {
            match (self.peek().ok_or(NotJson)?, is_object) {
                (b'}', true) | (b']', false) => {
                    self.at += 1;
                    open.pop();
                }
                (b',', _) => {
                    self.at += 1;
                    if is_object {
                        self.key()?;
                    }
                    return Ok(true);
                }
                _ => return Err(NotJson),
            }
        }
        Ok(false)
    }

    fn key(&mut self) -> Scan<()> {
        self.string()?;
        if self.take(b':') { Ok(()) } else { Err(NotJson) }
    }

    fn word(&mut self, word: &str) -> Scan<()> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        Err(NotJson)
    }

    fn number(&mut self) -> Scan<()> {
        let bytes = self.text.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut at = self.at + usize::from(bytes.get(self.at) == Some(&b'-'));
        let whole = digits(at);
        if whole == 0 || (whole > 1 && bytes[at] == b'0') {
            return Err(NotJson);
        }
        at += whole;
        if bytes.get(at) == Some(&b'.') {
            let fraction = digits(at + 1);
            if fraction == 0 {
                return Err(NotJson);
            }
            at += 1 + fraction;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            let exponent = digits(at);
            if exponent == 0 {
                return Err(NotJson);
            }
            at += exponent;
        }
        self.at = at;
        Ok(())
    }
}

/// Where a string ends whose contents begin at `start`, everything in it checked.
fn end_of_string(bytes: &[u8], start: usize) -> Scan<usize> {
    let near = bytes.len().min(start.saturating_add(NEAR));
    match end_among(bytes, start, ToEscape::from(&bytes[..near], start)) {
        // Most strings are short.
        Ok(end) => Ok(end),
        Err(_) if near == bytes.len() => Err(NotJson),
        Err(_) => {
            let quotes = memchr2_iter(b'"', b'\\', &bytes[start..]).map(|at| start + at);
            let end = end_among(bytes, start, quotes)?;
            if has_controls(&bytes[start..end]) { Err(NotJson) } else { Ok(end) }
        }
    }
}

/// So far a string is looked through for everything at once.
const NEAR: usize = 64;

/// Whether any byte is a control character.
pub(crate) fn has_controls(bytes: &[u8]) -> bool {
    let is_any = |part: &[u8]| part.iter().fold(false, |any, byte| any | (*byte < 0x20));
    bytes.chunks(1024).any(is_any)
}

/// Where a string ends, by the places of what may not stand in it as it is.
fn end_among(bytes: &[u8], start: usize, places: impl Iterator<Item = usize>) -> Scan<usize> {
    let mut checked = start;
    for at in places {
        // The second half of an escape.
        if at < checked {
            continue;
        }
        match bytes[at] {
            b'"' => return Ok(at + 1),
            b'\\' => checked = at + escape(&bytes[at..])?,
            _ => return Err(NotJson),
        }
    }
    Err(NotJson)
}

/// Where a string ends that was checked before: at the first quote that is not escaped.
fn end_of_valid_string(bytes: &[u8], start: usize) -> Scan<usize> {
    let mut at = start;
    loop {
        at += memchr(b'"', bytes.get(at..).ok_or(NotJson)?).ok_or(NotJson)?;
        let backslashes = bytes[start..at].iter().rev().take_while(|b| **b == b'\\').count();
        at += 1;
        if backslashes.is_multiple_of(2) {
            return Ok(at);
        }
    }
}

/// The places of the bytes that may not stand in a JSON string as they are, in order.
pub(crate) struct ToEscape<'a> {
    bytes: &'a [u8],
    /// Where the bytes begin that were not looked at.
    next: usize,
    /// Where the stretch ends that is known to have one.
    stretch_end: usize,
    /// Where those begin that were looked at last.
    base: usize,
    /// The highest bit of every byte among those that is one of them.
    found: u64,
}

/// How many bytes are passed over together where there is none: few enough that most lines
/// of a text have such stretches.
const STRETCH: usize = 32;
const WORD: usize = 8;

impl ToEscape<'_> {
    pub(crate) fn from(bytes: &[u8], start: usize) -> ToEscape<'_> {
        ToEscape { bytes, next: start, stretch_end: start, base: start, found: 0 }
    }

    /// Looks at the bytes that come next; false when there are no more.
    fn look(&mut self) -> bool {
        let mut rest = self.bytes.get(self.next..).unwrap_or_default();
        if self.next >= self.stretch_end {
            while let Some((stretch, after)) = rest.split_first_chunk::<STRETCH>() {
                if stretch.iter().fold(0, |any, byte| any | u8::from(needs_escape(*byte))) != 0 {
                    break;
                }
                rest = after;
            }
            self.stretch_end = self.bytes.len() - rest.len() + STRETCH;
        }
        self.base = self.bytes.len() - rest.len();
        let (word, count) = match rest.first_chunk::<WORD>() {
            Some(word) => (*word, WORD),
            None => (padded(rest), rest.len()),
        };
        self.next = self.base + count;
        self.found = to_escape(u64::from_le_bytes(word));
        count > 0
    }
}

/// The last few bytes as a word.
fn padded(rest: &[u8]) -> [u8; WORD] {
    let mut word = [b' '; WORD];
    word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    word
}

impl Iterator for ToEscape<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            if !self.look() {
                return None;
            }
        }
        let at = self.base + self.found.trailing_zeros() as usize / 8;
        self.found &= self.found - 1;
        Some(at)
    }
}

fn needs_escape(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// The highest bit of every byte of a word that needs an escape.
fn to_escape(word: u64) -> u64 {
    const EACH: u64 = u64::from_ne_bytes([1; WORD]);
    const LOW: u64 = EACH * 0x7f;
    // Of every byte that is zero, and of no other.
    let zero = |word: u64| !(((word & LOW) + LOW) | word | LOW);
    zero(word & (EACH * 0xe0)) | zero(word ^ (EACH * 0x22)) | zero(word ^ (EACH * 0x5c))
}

/// The length of the escape that begins here. Lone surrogates are let through, as
/// peers write them and readers replace them.
fn escape(bytes: &[u8]) -> Scan<usize> {
    match bytes.get(1).ok_or(NotJson)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(2),
        b'u' => {
            let hex = bytes.get(2..6).ok_or(NotJson)?;
            if hex.iter().all(u8::is_ascii_hexdigit) { Ok(6) } else { Err(NotJson) }
        }
        _ => Err(NotJson),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    fn is_json(text: &str) -> bool {
        let mut scanner = Scanner::new(text);
        scanner.value().is_ok() && scanner.is_done()
    }

    #[test]
    fn what_is_json_passes_and_what_is_not_does_not() {
        for good in [
            "{}",
            "[]",
            " [ ] ",
            "{\"a\":{}}",
            "[[],{}]",
            "0",
            "-0",
            "1.5e-7",
            "1E5",
            "\"\"",
            "\"\\u00e9\\n\\\"\"",
            "null",
            "true",
            "[1,2 , 3]",
            "{\"a\":1,\"a\":[{}]}",
            "\"é\"",
        ] {
            assert!(is_json(good), "{good}");
        }
        for bad in [
            "",
            "{",
            "[",
            "]",
            "{]",
            "[}",
            "{\"a\"}",
            "{\"a\":}",
            "[1,]",
            "{\"a\":1,}",
            "[,]",
            "01",
            "1.",
            ".5",
            "-",
            "1e",
            "+1",
            "nul",
            "tru",
            "\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\n\"",
            "{a:1}",
            "'a'",
            "1 2",
            "[1 2]",
            "{\"a\" 1}",
            "{1:2}",
            "NaN",
            "[[]",
            "\u{feff}{}",
        ] {
            assert!(!is_json(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_serde_json(text in "[\\[\\]{}:,\"\\\\ntrue0-9.eE+a \\u{1}é]{0,24}") {
            let expect = serde_json::from_str::<IgnoredAny>(&text).is_ok();
            prop_assert_eq!(is_json(&text), expect, "{:?}", text);
        }

        #[test]
        fn it_agrees_on_strings_short_and_long(text in "[a-zé]{0,120}(\\\\[nu\"\\\\x]|\u{1}|é){0,3}[a-z0]{0,120}\"?") {
            let text = format!("\"{text}\"");
            let expect = serde_json::from_str::<IgnoredAny>(&text).is_ok();
            prop_assert_eq!(is_json(&text), expect, "{:?}", text);
        }

        #[test]
        fn any_value_written_by_serde_json_is_found_whole(depth in 0usize..6, text in "(.|\\\\|\"|\n){0,60}", n in any::<f64>()) {
            let mut value = serde_json::json!({ "k": text, "n": n, "e": [], "o": {} });
            for _ in 0..depth {
                value = serde_json::json!([value, { "x": value }]);
            }
            let written = format!(" {value} ,rest");
            let mut scanner = Scanner::new(&written);
            let whole = value.to_string();
            prop_assert_eq!(scanner.value(), Ok(whole.as_str()));
            prop_assert!(scanner.take(b','));
        }
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let deep = format!("{}{}", "[".repeat(90_000), "]".repeat(90_000));
        assert!(is_json(&deep));
        assert!(!is_json(&"[".repeat(200_000)));
    }
}
