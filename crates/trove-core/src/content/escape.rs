//! Makes unseen characters of a text visible.
//!
//! Names, descriptions, errors and previews come from servers that may be hostile. A control
//! character moves the cursor of a terminal, a bidi mark turns `gpj.exe` round. Tag characters and
//! selectors carry words that only a model reads.

use std::{borrow::Cow, fmt::Write as _};

/// The text with every control, bidi, zero-width and tag character escaped, e.g. as `\u{202e}`.
/// Line feeds and tabs stay; a carriage return before a line feed goes.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    escape(text, |c| matches!(c, '\n' | '\t'))
}

/// As [`escape_controls`] for one line: line feeds and tabs are written out too, e.g. as `\n`.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// The text as one line for a reader. Line ends, tabs and other blanks that are controls become one
/// space each run; other unseen characters are written out.
///
/// Example: `"a\n\n\tb\u{1b}"` becomes `a b\u{1b}`, its last character in letters.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_blank_control) {
        return escape_line(text);
    }
    let mut line = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_blank_control) {
        let before = rest[..at].trim_end();
        line.push_str(before);
        rest = rest[at..].trim_start();
        if !line.is_empty() && !rest.is_empty() {
            line.push(' ');
        }
    }
    line.push_str(rest);
    Cow::Owned(escape_line(&line).into_owned())
}

fn is_blank_control(c: char) -> bool {
    c.is_whitespace() && is_unseen(None, c)
}

/// A URI fit to be shown: unseen characters in it are percent-encoded, e.g. `x://a%1Bb`.
/// [`meant_uri`] gives the URI back.
pub fn shown_uri(uri: &str) -> Cow<'_, str> {
    let is_seen = |c: &char| !is_unseen(Some('a'), *c);
    if uri.chars().all(|c| is_seen(&c)) {
        return Cow::Borrowed(uri);
    }
    let mut shown = String::with_capacity(uri.len() + 16);
    for c in uri.chars() {
        if is_seen(&c) {
            shown.push(c);
            continue;
        }
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            // Writing to a text cannot go wrong.
            let _ = write!(shown, "%{byte:02X}");
        }
    }
    Cow::Owned(shown)
}

/// The URI that [`shown_uri`] shows so, e.g. with an escape character for `%1B`; `None` if it has
/// no unseen character.
pub fn meant_uri(shown: &str) -> Option<String> {
    let mut meant = String::with_capacity(shown.len());
    let mut rest = shown;
    let mut has_unseen = false;
    while let Some(at) = rest.find('%') {
        meant.push_str(&rest[..at]);
        rest = &rest[at..];
        match unseen_at(rest) {
            Some((c, len)) => {
                meant.push(c);
                rest = &rest[len..];
                has_unseen = true;
            }
            None => {
                meant.push('%');
                rest = &rest[1..];
            }
        }
    }
    meant.push_str(rest);
    has_unseen.then_some(meant)
}

/// The unseen character at the start of a text in escapes, e.g. of `%E2%80%AE`, and their length.
fn unseen_at(text: &str) -> Option<(char, usize)> {
    let mut bytes = Vec::with_capacity(4);
    while bytes.len() < 4 {
        let at = bytes.len() * 3;
        let digits = text.get(at..at + 3)?.strip_prefix('%')?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        let c = std::str::from_utf8(&bytes).ok().and_then(|text| text.chars().next());
        if let Some(c) = c {
            return is_unseen(Some('a'), c).then_some((c, at + 3));
        }
    }
    None
}

/// A JSON text with unseen characters as escapes, e.g. `\u202e`: it stands for the same value.
pub fn escape_in_json(text: &str) -> Cow<'_, str> {
    let acts = |before: Option<char>, c: char| !c.is_ascii_whitespace() && is_unseen(before, c);
    let mut out = String::new();
    let mut kept = 0;
    let mut before = None;
    for (at, c) in text.char_indices() {
        if acts(before, c) {
            out.push_str(&text[kept..at]);
            kept = at + c.len_utf8();
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        before = Some(c);
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

fn escape(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let acts = |before: Option<char>, c: char| !stays(c) && is_unseen(before, c);
    let mut before = None;
    let first = text.char_indices().find(|(_, c)| {
        let found = acts(before, *c);
        before = Some(*c);
        found
    });
    let Some((first, _)) = first else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    let mut before = text[..first].chars().next_back();
    let mut rest = text[first..].chars().peekable();
    while let Some(c) = rest.next() {
        let ends_line = c == '\r' && rest.peek() == Some(&'\n') && stays('\n');
        if acts(before, c) && !ends_line {
            // `\n` is shorter than `\u{a}`, and everything else has no short form.
            out.extend(c.escape_default());
        } else if !ends_line {
            out.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

/// Whether a character acts, or says something, without being seen.
fn is_unseen(before: Option<char>, c: char) -> bool {
    match c {
        ' '..='~' => false,
        // One selector after a visible character picks between two looks of it; more of
        // them spell hidden bytes.
        '\u{fe0e}' | '\u{fe0f}' => {
            before.is_none_or(|b| b.is_ascii_whitespace() || is_unseen(None, b))
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(escape_controls(text), expect);
    }

    #[test]
    fn what_could_act_unseen_is_written_out() {
        check("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m");
        check("a\u{202e}gpj.exe", "a\\u{202e}gpj.exe");
        check("pay\u{200b}pal", "pay\\u{200b}pal");
        check("hi\u{e0068}\u{e0069}", "hi\\u{e0068}\\u{e0069}");
        check("\u{feff}x\u{7f}\u{9b}y\0", "\\u{feff}x\\u{7f}\\u{9b}y\\u{0}");
        check("one\u{2028}two", "one\\u{2028}two");
        check("over\rwritten", "over\\rwritten");
    }

    #[test]
    fn a_line_for_readers_has_no_line_ends_and_ordinary_text_is_left_alone() {
        for (text, line) in [
            ("# Title\r\n\r\n\tbody  of\u{2028}text\n", "# Title body  of text"),
            ("\n\n a\u{85}b\u{1b}\n", "a b\\u{1b}"),
            ("\t\n", ""),
            ("two  blanks ", "two  blanks "),
        ] {
            assert_eq!(one_line(text), line);
        }
        assert!(matches!(one_line("日本語 text"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_uri_is_shown_without_controls_and_can_be_read_back() {
        for (uri, shown) in [
            ("x://a\u{1b}b", "x://a%1Bb"),
            ("x://a%1Bb\u{202e}", "x://a%1Bb%E2%80%AE"),
            ("x://é%20%zz%", "x://é%20%zz%"),
        ] {
            assert_eq!(shown_uri(uri), shown);
        }
        assert_eq!(
            meant_uri("x://a%1Bb%20c%E2%80%AE").as_deref(),
            Some("x://a\u{1b}b%20c\u{202e}")
        );
        for plain in ["x://é%20%zz%", "%", "%E2%80", "%é1", "%+1", "x"] {
            assert_eq!(meant_uri(plain), None, "{plain}");
        }
    }

    #[test]
    fn t61_json_stays_the_same_value() {
        let value = serde_json::json!({ "a\u{202e}b": "x\u{9b}y\u{e0041}\u{7f}\u{200b} \n\t é 日本 \u{1b}" });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let escaped = escape_in_json(&text);
            let is_seen = |c: char| c.is_ascii_whitespace() || !is_unseen(Some('a'), c);
            assert!(escaped.chars().all(is_seen), "{escaped}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        }
        assert!(matches!(escape_in_json("{\"a\": 1}\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn ordinary_text_in_any_language_is_left_alone() {
        for text in
            ["", "plain", "Zażółć gęślą", "日本語", "שלום", "مرحبا", "two\n\tlines", "❤\u{fe0f} 1️⃣"]
        {
            assert!(matches!(escape_controls(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn selectors_in_a_row_are_hidden_bytes() {
        check("😀\u{fe0f}\u{fe0f}", "😀\u{fe0f}\\u{fe0f}");
        check("😀\u{e0100}", "😀\\u{e0100}");
        check("\u{fe0f}", "\\u{fe0f}");
    }

    #[test]
    fn lines_end_in_one_way() {
        check("a\r\nb\n", "a\nb\n");
        assert_eq!(escape_line("a\r\nb\tc"), "a\\r\\nb\\tc");
    }

    proptest! {
        #[test]
        fn nothing_unseen_is_left(text in any::<String>()) {
            let escaped = escape_line(&text);
            let mut before = None;
            for c in escaped.chars() {
                prop_assert!(!is_unseen(before, c));
                before = Some(c);
            }
            prop_assert_eq!(escape_line(&escaped), escaped.as_ref());
        }
    }
}
