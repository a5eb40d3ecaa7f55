//! Strings of JSON: their values, how long those are, and how a text becomes one.

use std::{borrow::Cow, ops::Range};

use memchr::memchr;

use crate::scan::{Blocks, Escapes, Scanner, escape, is_plain, marks_in, ones, places};

/// The value of a JSON string, e.g. `a/b` of `"a\/b"`.
pub fn string(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if is_plain(inner.as_bytes()) {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(text).ok().map(Cow::Owned)
}

/// A part of the value of a JSON string.
#[derive(Debug, PartialEq, Eq)]
pub struct StringPart<'a> {
    /// Its spelling between the quotes, e.g. `\n`.
    pub written: &'a str,
    /// Which bytes of the value it is.
    pub meant: Range<usize>,
}

/// These bytes of the value of a JSON string, as far as there are so many, without making it; both
/// ends move back to the beginning of the character they fall into. Nothing where a character
/// before the end is written as a number. The string must be part of a text that is JSON.
pub fn string_part(text: &str, meant: Range<usize>) -> Option<StringPart<'_>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut places = Places { inner, counted: 0, escapes: 0 };
    let start = places.of(meant.start)?;
    let begins = start - places.escapes;
    let end = places.of(meant.end)?;
    let written = inner.get(start..end)?;
    Some(StringPart { written, meant: begins..end - places.escapes })
}

/// Follows what a string means along what is written.
struct Places<'a> {
    inner: &'a str,
    /// Up to here escapes were counted.
    counted: usize,
    /// How many escapes came before; each means one byte less than is written.
    escapes: usize,
}

impl Places<'_> {
    /// Where the character is written that this byte belongs to; no earlier one can be asked for.
    fn of(&mut self, meant: usize) -> Option<usize> {
        self.pass_blocks(meant)?;
        let bytes = self.inner.as_bytes();
        loop {
            // With every escape before it, the character is written one byte later.
            let written = meant.saturating_add(self.escapes);
            let rest = bytes.get(self.counted..written.min(bytes.len())).unwrap_or_default();
            let Some(step) = memchr(b'\\', rest) else {
                return Some(self.inner.floor_char_boundary(written));
            };
            let at = self.counted + step;
            if escape(bytes, at) != Ok(2) {
                return None;
            }
            self.escapes += 1;
            self.counted = at + 2;
        }
    }

    /// Passes over the blocks that this byte comes after.
    fn pass_blocks(&mut self, meant: usize) -> Option<()> {
        let rest = self.inner.as_bytes().get(self.counted..).unwrap_or_default();
        let mut escapes = Escapes::default();
        for block in Blocks::of(rest) {
            let is_begun = escapes.is_begun;
            let escaped = escapes.next(places(&block, b'\\'));
            let end = self.counted + block.len();
            let before = self.escapes + escaped.count_ones() as usize;
            if end - before > meant {
                // An escape that has begun is not counted yet.
                self.counted -= usize::from(is_begun);
                break;
            }
            if escaped & places(&block, b'u') != 0 {
                return None;
            }
            (self.counted, self.escapes) = (end, before);
        }
        Some(())
    }
}

/// How many bytes the value of a JSON string has, e.g. 2 for `"é"`, without making it. `None` if
/// [`string`] gives none. The string must be part of a text that is JSON.
pub fn string_len(text: &str) -> Option<usize> {
    let text = text.trim();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    if let Some(meant) = Scanner::new(text).string().ok()?.meant {
        return Some(meant);
    }
    let unit = |at: usize| {
        let digits = std::str::from_utf8(inner.get(at..at + 6)?.strip_prefix(b"\\u")?).ok()?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut at, mut len) = (0, 0);
    while let Some(step) = memchr(b'\\', &inner[at..]) {
        at += step;
        // The spelling of one character here, and the character it stands for.
        let (written, meant) = match unit(at) {
            None => (2, 1),
            Some(0..0x80) => (6, 1),
            Some(0x80..0x800) => (6, 2),
            Some(0xd800..0xdc00) if matches!(unit(at + 6), Some(0xdc00..0xe000)) => (12, 4),
            Some(0xd800..0xe000) => return None,
            Some(_) => (6, 3),
        };
        at += written;
        len += step + meant;
    }
    Some(len + inner.len() - at)
}

/// A string as JSON, e.g. `"a\\b"` for `a\b`.
pub fn quote(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    push_quoted(&mut text, value);
    text
}

/// Adds a string as JSON.
pub fn push_quoted(out: &mut String, value: &str) {
    out.push('"');
    push_escapes(out, value);
    out.push('"');
}

/// Adds the text between the quotes. Text that needs no escape is copied in runs. Text that is
/// escaped already, as in JSON that is quoted once more, is copied by pairs.
pub fn push_escapes(out: &mut String, value: &str) {
    let bytes = value.as_bytes();
    let mut blocks = Blocks::of(bytes);
    let (mut seen, mut from) = (0, 0);
    while let Some(block) = blocks.next() {
        let marks = marks_in(&block);
        for at in ones(marks).map(|place| seen + place) {
            // The second half of a pair.
            if at < from {
                continue;
            }
            out.push_str(&value[from..at]);
            from = at + push_mark(out, &bytes[at..]);
        }
        seen += block.len();
        if marks == 0 {
            seen += blocks.pass_plain();
        }
    }
    out.push_str(&value[from..]);
}

/// Adds what stands for the first byte, or for a pair; how many bytes that were.
fn push_mark(out: &mut String, bytes: &[u8]) -> usize {
    match bytes {
        [b'\\', b'"', ..] => out.push_str(r#"\\\""#),
        [b'\\', b'\\', ..] => out.push_str(r"\\\\"),
        [byte, ..] => {
            push_escaped(out, *byte);
            return 1;
        }
        [] => return 0,
    }
    2
}

fn push_escaped(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0c => out.push_str("\\f"),
        _ => {
            let hex = |digit: u8| char::from(b"0123456789abcdef"[usize::from(digit)]);
            out.push_str("\\u00");
            out.push(hex(byte >> 4));
            out.push(hex(byte & 15));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::is_json;

    #[test]
    fn every_character_is_quoted_as_others_do() {
        let all: String = ('\0'..='\u{2ff}').chain(['\u{2028}', '\u{10ffff}']).collect();
        for start in 0..40 {
            let text: String = "x".repeat(start) + &all + &"\\".repeat(start);
            assert_eq!(quote(&text), serde_json::to_string(&text).unwrap());
        }
    }

    proptest! {
        #[test]
        fn the_length_of_a_string_is_known_without_making_it(
            parts in prop::collection::vec(prop::sample::select(vec![
                "a", "é", "漢", "😀", r"\n", r"\\", r#"\""#, r"\/", r"\u0041", r"\u00e9", r"\u6f22",
                r"\ud83d\ude00", r"\ud83d", r"\ude00", r"\uD83D\u0041",
            ]), 0..150),
        ) {
            let literal = format!("\"{}\"", parts.concat());
            prop_assert!(is_json(&literal));
            prop_assert_eq!(string_len(&literal), string(&literal).map(|text| text.len()));
            prop_assert_eq!(quote(&literal), serde_json::to_string(&literal).unwrap());
        }

        #[test]
        fn a_part_of_a_string_is_found_where_it_is_written(
            parts in prop::collection::vec(prop_oneof![
                400 => prop::sample::select(vec![
                    "a", "u", "é", "漢", "😀", r"\n", r"\\", r#"\""#, "some words",
                ]),
                1 => Just(r"\u0041"),
            ], 0..500),
            start in 0_usize..900,
            len in 0_usize..900,
        ) {
            let literal = format!("\"{}\"", parts.concat());
            let whole = string(&literal).unwrap();
            let (begin, end) = (whole.floor_char_boundary(start), whole.floor_char_boundary(start + len));
            match string_part(&literal, start..start + len) {
                Some(part) => {
                    prop_assert_eq!(part.meant, begin..end);
                    let made = format!("\"{}\"", part.written);
                    prop_assert_eq!(string(&made).unwrap(), &whole[begin..end]);
                }
                None => prop_assert!(parts.contains(&r"\u0041")),
            }
        }

        #[test]
        fn so_is_that_of_a_long_one_with_few_kinds_of_escapes(
            parts in prop::collection::vec(prop::sample::select(vec![
                "a", "u", "é", r"\n", r"\\", r#"\""#, "some words without any",
            ]), 0..400),
        ) {
            let literal = format!("\"{}\"", parts.concat());
            prop_assert_eq!(string_len(&literal), string(&literal).map(|text| text.len()));
        }

        #[test]
        fn texts_short_and_long_are_quoted_as_others_quote_them(
            text in "[a-zé \"\\\\]{0,20}(\n|\u{1})?[a-zé \"\\\\]{0,600}",
        ) {
            prop_assert_eq!(quote(&text), serde_json::to_string(&text).unwrap());
        }
    }
}
