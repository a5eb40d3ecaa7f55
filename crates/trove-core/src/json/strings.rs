//! Strings of JSON: what they say, how long that is, and how a text becomes one.

use std::borrow::Cow;

use memchr::memchr;

use crate::scan::{Marks, Scanner, escape};

/// The value of a JSON string.
pub fn string(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if Marks::from(inner.as_bytes(), 0).next().is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(text).ok().map(Cow::Owned)
}

/// The beginning of the value of a JSON string, of at least so many bytes; nothing where it
/// cannot be told from the beginning alone. The string must be part of a text that is JSON.
pub fn string_start(text: &str, least: usize) -> Option<String> {
    // Most escapes are twice as long as what they stand for; the quote, and a character or an
    // escape that is cut off, come on top.
    let most = least.saturating_mul(2).saturating_add(1 + char::MAX_LEN_UTF8);
    let mut end = text.floor_char_boundary(most.min(text.len().checked_sub(1)?));
    // Every escape is whole, or left out.
    let mut after = 1;
    for at in Marks::from(text.as_bytes().get(..end)?, 1) {
        if at >= after {
            after = at + escape(text.as_bytes(), at).ok()?;
            if after > end {
                end = at;
            }
        }
    }
    let start = serde_json::from_str::<String>(&format!("{}\"", &text[..end])).ok()?;
    (start.len() >= least).then_some(start)
}

/// How many bytes the value of a JSON string has, without making it; nothing where
/// [`string`] gives nothing. The string must be part of a text that is JSON.
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
        // What is written here, and what it stands for.
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

/// A string as JSON.
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

/// Adds what stands between the quotes. What needs no escape is copied in runs, and what is
/// escaped already, as in JSON that is quoted once more, by pairs.
pub fn push_escapes(out: &mut String, value: &str) {
    let bytes = value.as_bytes();
    let mut from = 0;
    for at in Marks::from(bytes, 0) {
        // The second half of a pair.
        if at < from {
            continue;
        }
        out.push_str(&value[from..at]);
        // What needs an escape is one byte long.
        from = at + 1;
        match (bytes[at], bytes.get(from)) {
            (b'\\', Some(b'"')) => out.push_str(r#"\\\""#),
            (b'\\', Some(b'\\')) => out.push_str(r"\\\\"),
            (byte, _) => {
                push_escaped(out, byte);
                continue;
            }
        }
        from += 1;
    }
    out.push_str(&value[from..]);
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
        fn the_beginning_of_a_string_is_made_without_its_end(
            parts in prop::collection::vec(prop::sample::select(vec![
                "a", "é", "漢", "😀", r"\n", r"\\", r#"\""#, r"\u0041", r"\ud83d\ude00", "some words",
            ]), 0..60),
            least in 0_usize..80,
        ) {
            let literal = format!("\"{}\"", parts.concat());
            let whole = string(&literal).unwrap();
            if let Some(start) = string_start(&literal, least) {
                prop_assert!(whole.starts_with(&start) && start.len() >= least);
            }
            let is_short = parts.iter().all(|part| !part.starts_with(r"\u"));
            prop_assert!(!is_short || least > whole.len() || string_start(&literal, least).is_some());
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
