//! Finds where JSON values begin and end, quickly and without trusting the text.
//!
//! Most of a message is one long string: a document, or a blob in base64. Its end is looked for
//! many bytes at a time, so that a look into a message costs little more than reading it from
//! memory. Everything is checked on the way: a text that passes here is JSON.

mod long;
mod marks;

use self::marks::{Seen, below};

pub(crate) use self::{
    long::{LongValue, LongValues},
    marks::{Blocks, Escapes, is_plain, marks_in, ones, places},
};

/// The deepest nesting that is followed.
const MAX_DEPTH: usize = 100_000;

/// Walks over one text.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    long: Long<'a>,
}

/// How a scanner treats long values.
enum Long<'a> {
    /// It walks over them.
    Walked,
    /// It walks over them, and notes them for others.
    Noted(LongValues),
    /// It passes over those that were noted.
    Known(&'a LongValues),
}

/// An object or array that has begun.
struct Open {
    is_object: bool,
    start: usize,
}

/// A string as it is written.
pub(crate) struct Literal<'a> {
    /// Quotes included.
    pub(crate) text: &'a str,
    /// How many bytes it means, unless that cannot be told without making it.
    pub(crate) meant: Option<usize>,
}

impl Literal<'_> {
    /// Whether it means what stands between the quotes: nothing is escaped.
    pub(crate) fn is_plain(&self) -> bool {
        self.meant == Some(self.text.len() - 2)
    }
}

/// The text is not JSON from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotJson;

type Scan<T> = Result<T, NotJson>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0, long: Long::Walked }
    }

    /// One that notes the long values it walks over.
    pub(crate) fn noting(text: &'a str) -> Scanner<'a> {
        Scanner { long: Long::Noted(LongValues::default()), ..Scanner::new(text) }
    }

    /// One that knows the long values of the text.
    pub(crate) fn knowing(text: &'a str, long: Option<&'a LongValues>) -> Scanner<'a> {
        Scanner { long: long.map_or(Long::Walked, Long::Known), ..Scanner::new(text) }
    }

    /// The long values that were noted.
    pub(crate) fn noted(self) -> LongValues {
        match self.long {
            Long::Noted(long) => long,
            Long::Walked | Long::Known(_) => LongValues::default(),
        }
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

    /// The rest of the text after any blanks.
    pub(crate) fn rest(&mut self) -> &'a str {
        self.peek();
        &self.text[self.at..]
    }

    /// How much is left.
    pub(crate) fn rest_len(&self) -> usize {
        self.text.len() - self.at
    }

    /// The text of the next value.
    pub(crate) fn value(&mut self) -> Scan<&'a str> {
        if self.peek() == Some(b'"') {
            return self.string().map(|literal| literal.text);
        }
        let start = self.at;
        if let Some(known) = self.known() {
            self.at = known.place.end;
            return Ok(&self.text[start..self.at]);
        }
        // Nesting needs no call stack.
        let mut open: Vec<Open> = Vec::new();
        loop {
            match self.peek().ok_or(NotJson)? {
                b'{' => self.open(&mut open, true)?,
                b'[' => self.open(&mut open, false)?,
                b'"' => {
                    self.string()?;
                }
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

    /// The next string.
    pub(crate) fn string(&mut self) -> Scan<Literal<'a>> {
        if self.peek() != Some(b'"') {
            return Err(NotJson);
        }
        let start = self.at;
        let (end, meant) = match self.known() {
            Some(known) => (known.place.end, known.meant),
            None => end_of_string(self.text.as_bytes(), start + 1)?,
        };
        if let Long::Noted(long) = &mut self.long {
            long.note(start..end, meant);
        }
        self.at = end;
        Ok(Literal { text: &self.text[start..end], meant })
    }

    /// The long value that begins here, if it is known.
    fn known(&self) -> Option<&'a LongValue> {
        match self.long {
            Long::Known(long) => long.at(self.at),
            Long::Walked | Long::Noted(_) => None,
        }
    }

    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                next => return next.copied(),
            }
        }
    }

    fn before(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at.checked_sub(1)?).copied()
    }

    fn open(&mut self, open: &mut Vec<Open>, is_object: bool) -> Scan<()> {
        open.push(Open { is_object, start: self.at });
        self.at += 1;
        if open.len() > MAX_DEPTH { Err(NotJson) } else { Ok(()) }
    }

    /// After an opening bracket: true if a value follows, false if it closes at once.
    fn begins(&mut self, open: &[Open]) -> Scan<bool> {
        let is_object = open.last().is_some_and(|open| open.is_object);
        if self.peek() == Some(if is_object { b'}' } else { b']' }) {
            return Ok(false);
        }
        if is_object {
            self.key()?;
        }
        Ok(true)
    }

    /// After a value: closes what ends here; true if another value follows.
    fn close(&mut self, open: &mut Vec<Open>) -> Scan<bool> {
        while let Some(&Open { is_object, start }) = open.last() {
            match (self.peek().ok_or(NotJson)?, is_object) {
                (b'}', true) | (b']', false) => {
                    self.at += 1;
                    open.pop();
                    if let Long::Noted(long) = &mut self.long {
                        long.note(start..self.at, None);
                    }
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

/// Where a string that begins at `start` ends, everything in it checked, and how many bytes it
/// means. The latter only if no character of it is written as a number.
fn end_of_string(bytes: &[u8], start: usize) -> Scan<(usize, Option<usize>)> {
    // Most strings are short and plain.
    if let Some(len) = marks::short_end(&bytes[start..]) {
        return Ok((start + len + 1, Some(len)));
    }
    let (mut blocks, mut escapes) = (Blocks::of(&bytes[start..]), Escapes::default());
    let (mut at, mut count, mut has_numbers) = (start, 0_usize, false);
    while let Some(block) = blocks.next() {
        let seen = Seen::in_block(&block);
        let escaped = escapes.next(seen.backslashes);
        let end = (seen.quotes & !escaped).trailing_zeros() as usize;
        if seen.has_controls && block[..end].iter().any(|byte| *byte < b' ') {
            return Err(NotJson);
        }
        let escaped = escaped & below(end);
        count += escaped.count_ones() as usize;
        // Quotes and backslashes may be escaped; other escaped letters are checked.
        for place in ones(escaped & !seen.quotes & !seen.backslashes) {
            has_numbers |= escape(bytes, at + place - 1)? > 2;
        }
        at += end;
        if end < block.len() {
            return Ok((at + 1, (!has_numbers).then_some(at - start - count)));
        }
        // Where a block has no mark, the next ones often have none either, as in base64.
        if seen.backslashes == 0 {
            at += blocks.pass_plain();
        }
    }
    Err(NotJson)
}

/// The length of the escape that begins at `at`.
#[inline]
pub(crate) fn escape(bytes: &[u8], at: usize) -> Scan<usize> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
        _ => number_escape(bytes, at),
    }
}

/// The length of one that gives a character by its number. Lone surrogates are let through, as
/// peers write them and readers replace them.
#[inline(never)]
fn number_escape(bytes: &[u8], at: usize) -> Scan<usize> {
    let digits = bytes.get(at + 1..at + 6).and_then(|escape| escape.strip_prefix(b"u"));
    let is_number = digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    if is_number { Ok(6) } else { Err(NotJson) }
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
        fn it_agrees_on_strings_short_and_long(text in "[a-zé]{0,120}(\\\\[nu\"\\\\x]|\u{1}|\u{7f}|é){0,3}[a-z0]{0,120}\"?") {
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
