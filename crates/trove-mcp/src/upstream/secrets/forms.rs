//! Secrets in every form in which programs print them.
//!
//! A server may quote a secret as it is, or escaped for JSON, a URL or a page. It may also write
//! hexadecimal digits, or Base64 amid other bytes. So the text is unescaped step by step. Each step
//! is searched for the secret and its encoded forms, and each find is masked where it stands. The
//! work grows with the length of the text, not with the number of secrets.

use std::{borrow::Cow, ops::Range};

use aho_corasick::AhoCorasick;
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};

use serde_json::Value;
use trove_core::Json;

use super::{MASK, MIN_SECRET};

/// A long secret is sought in pieces of so many bytes.
const PIECE_BYTES: usize = 96;
/// The most bytes of all secrets of one server that are sought.
const MAX_SOUGHT_BYTES: usize = 128 * 1024;
/// How often a text is unescaped: JSON in JSON in a URL is as far as programs go.
const MAX_STEPS: usize = 3;
/// So much of a text is unescaped at a time.
const WINDOW_BYTES: usize = 64 * 1024;
/// So much of a window is looked at again with the next: more than an escaped piece takes.
const OVERLAP_BYTES: usize = 8 * 1024;

/// The byte strings to seek for one or more secrets.
#[derive(Debug, Default)]
pub(super) struct Needles {
    automaton: Option<AhoCorasick>,
    /// Which needles are Base64, by number.
    is_base64: Vec<bool>,
}

impl Needles {
    /// For these secrets; shorter ones come first where there are too many.
    pub(super) fn of<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Needles {
        let mut secrets: Vec<&str> = secrets.into_iter().collect();
        secrets.sort_by_key(|secret| secret.len());
        let mut all: Vec<(Vec<u8>, bool)> = Vec::new();
        let mut room = MAX_SOUGHT_BYTES;
        for piece in secrets.iter().flat_map(|secret| pieces(secret)) {
            let Some(left) = room.checked_sub(piece.len()) else { break };
            room = left;
            add_forms(piece, &mut all);
        }
        let (needles, is_base64): (Vec<Vec<u8>>, Vec<bool>) = all.into_iter().unzip();
        // It fails only if it is larger than memory can be, which the bound above excludes.
        let automaton = AhoCorasick::new(&needles).ok().filter(|_| !needles.is_empty());
        Needles { automaton, is_base64 }
    }

    /// The text with three stars in the place of every secret, e.g. `Bearer ***`.
    pub(super) fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        masked(text, self.places(text))
    }

    /// The first `most` bytes of a text with three stars in the place of every secret.
    pub(super) fn hide_in_beginning<'a>(&self, text: &'a str, most: usize) -> Cow<'a, str> {
        let shown = &text[..text.floor_char_boundary(most)];
        // The cut may halve a secret. So more is searched than is shown.
        let searched = &text[..text.floor_char_boundary(most + OVERLAP_BYTES)];
        let mut found = self.places(searched);
        found.retain(|place| place.start < shown.len());
        for place in &mut found {
            place.end = place.end.min(shown.len());
        }
        masked(shown, found)
    }

    /// Where secrets stand in a text.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let Some(automaton) = &self.automaton else { return found };
        let mut from = 0;
        loop {
            let end = text.len().min(from + WINDOW_BYTES);
            self.search_window(automaton, &text.as_bytes()[from..end], from, &mut found);
            if end == text.len() {
                return found;
            }
            from = end - OVERLAP_BYTES;
        }
    }

    /// A value without secrets, if it has any.
    pub(super) fn hide_in_json(&self, json: &Json) -> Option<Json> {
        let Cow::Owned(text) = self.hide(json.as_str()) else { return None };
        if let Ok(hidden) = Json::parse(text) {
            return Some(hidden);
        }
        // Three stars in a string leave it a string; elsewhere they are no JSON.
        let Ok(mut value) = json.to::<Value>() else { return Some(Json::empty_object()) };
        self.hide_in_strings(&mut value);
        Some(Json::of(&value))
    }

    fn hide_in_strings(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::String(text) => *text = self.hide(text).into_owned(),
            Value::Number(number) => {
                if let Cow::Owned(hidden) = self.hide(&number.to_string()) {
                    *value = Value::String(hidden);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_strings(item)),
            Value::Object(members) => {
                for (name, mut member) in std::mem::take(members) {
                    self.hide_in_strings(&mut member);
                    members.insert(self.hide(&name).into_owned(), member);
                }
            }
        }
    }

    /// Searches a part of a text, and all that it is the escaped or encoded form of.
    fn search_window(
        &self,
        automaton: &AhoCorasick,
        bytes: &[u8],
        offset: usize,
        found: &mut Vec<Range<usize>>,
    ) {
        self.search_deep(automaton, &View::of(bytes), MAX_STEPS, offset, found);
    }

    /// Each step takes the whole of what is left, and there are few.
    fn search_deep(
        &self,
        automaton: &AhoCorasick,
        view: &View,
        steps: usize,
        offset: usize,
        found: &mut Vec<Range<usize>>,
    ) {
        self.search(automaton, view, offset, found);
        let seen = view.without(unseen);
        if seen.bytes.len() < view.bytes.len() {
            self.search(automaton, &seen, offset, found);
        }
        // Encoders break long lines.
        self.search(automaton, &seen.without(blank), offset, found);
        if steps == 0 {
            return;
        }
        let unescaped = view.unescaped();
        for next in [unescaped, view.of_base64(), view.of_hex()].into_iter().flatten() {
            self.search_deep(automaton, &next, steps - 1, offset, found);
        }
    }

    fn search(
        &self,
        automaton: &AhoCorasick,
        view: &View,
        offset: usize,
        found: &mut Vec<Range<usize>>,
    ) {
        for hit in automaton.find_overlapping_iter(&view.bytes) {
            let (mut start, mut end) = (hit.start(), hit.end());
            if self.is_base64[hit.pattern().as_usize()] {
                // The letters beside it hold bits of the secret, too.
                start -= usize::from(start > 0 && view.goes_on(start - 1));
                end += usize::from(end < view.bytes.len() && view.goes_on(end - 1));
            }
            let place = offset + view.places[start].0..offset + view.places[end - 1].1;
            match found.last_mut() {
                Some(last) if last.start <= place.start && place.start <= last.end => {
                    last.end = last.end.max(place.end);
                }
                _ => found.push(place),
            }
        }
    }
}

/// The lines of a secret, long ones cut. Pieces too short to be told from a word are left out.
fn pieces(secret: &str) -> impl Iterator<Item = &[u8]> {
    let lines = secret.lines().map(str::as_bytes);
    lines.flat_map(|line| line.chunks(PIECE_BYTES)).filter(|piece| piece.len() >= MIN_SECRET)
}

/// A piece as it is, and encoded.
fn add_forms(piece: &[u8], all: &mut Vec<(Vec<u8>, bool)>) {
    all.push((piece.to_vec(), false));
    if piece.contains(&b' ') {
        let form_encoded = piece.iter().map(|byte| if *byte == b' ' { b'+' } else { *byte });
        all.push((form_encoded.collect(), false));
    }
    let digits = trove_core::hex(piece);
    all.push((digits.to_uppercase().into_bytes(), false));
    all.push((digits.into_bytes(), false));
    // The number of bytes before it decides where among the letters its bits begin.
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(piece);
        let whole = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
        for encoded in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            all.push((encoded.as_bytes()[whole.clone()].to_vec(), true));
        }
    }
}

fn is_base64_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_=".contains(&byte)
}

/// Puts the mask over these places of a text.
fn masked(text: &str, mut found: Vec<Range<usize>>) -> Cow<'_, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_by_key(|place| place.start);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (nth, place) in found.into_iter().enumerate() {
        let (start, end) = (text.floor_char_boundary(place.start), ceiling(text, place.end));
        // Places that touch share their stars.
        if start > done || nth == 0 {
            out.push_str(&text[done..start]);
            out.push_str(MASK);
        }
        done = done.max(end);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

fn ceiling(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The bytes that a text decodes to, and the place in the text of each of them.
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    pub(super) places: Vec<Place>,
}

/// Where in the text something is written: its first byte, and the one behind its last.
pub(super) type Place = (usize, usize);

impl View {
    fn of(bytes: &[u8]) -> View {
        let places = (0..bytes.len()).map(|at| (at, at + 1)).collect();
        View { bytes: bytes.to_vec(), places }
    }

    /// Whether the byte and the next are letters of the same word of Base64.
    fn goes_on(&self, at: usize) -> bool {
        let are_letters = self.bytes[at..at + 2].iter().all(|byte| is_base64_letter(*byte));
        are_letters && self.places[at].1 == self.places[at + 1].0
    }

    pub(super) fn empty() -> View {
        View { bytes: Vec::new(), places: Vec::new() }
    }

    pub(super) fn push(&mut self, byte: u8, place: Place) {
        self.bytes.push(byte);
        self.places.push(place);
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
        self.places.truncate(length);
    }

    /// Without parts of it; `length_of` says how long one is that a text begins with.
    fn without(&self, length_of: impl Fn(&[u8]) -> usize) -> View {
        let mut left = View::empty();
        let mut at = 0;
        while at < self.bytes.len() {
            let length = length_of(&self.bytes[at..]);
            if length == 0 {
                left.push(self.bytes[at], self.places[at]);
            }
            at += length.max(1);
        }
        left
    }

    /// One step back: its escapes replaced by their meaning. `None` if it has none.
    fn unescaped(&self) -> Option<View> {
        let mut unescaped = View::empty();
        let mut rest = &self.bytes[..];
        let mut at = 0;
        while let Some(first) = rest.first() {
            let (length, escaped) = match escape(rest) {
                Some((length, escaped)) => (length, escaped),
                None => (1, Escaped::Byte(*first)),
            };
            let place = (self.places[at].0, self.places[at + length - 1].1);
            let mut buffer = [0; 4];
            let bytes = match escaped {
                Escaped::Byte(byte) => {
                    buffer[0] = byte;
                    &buffer[..1]
                }
                Escaped::Char(letter) => letter.encode_utf8(&mut buffer).as_bytes(),
            };
            for byte in bytes {
                unescaped.bytes.push(*byte);
                unescaped.places.push(place);
            }
            rest = &rest[length..];
            at += length;
        }
        (unescaped.bytes.len() < self.bytes.len()).then_some(unescaped)
    }
}

/// How many bytes at the beginning of a text are a blank.
fn blank(text: &[u8]) -> usize {
    usize::from(text.first().is_some_and(u8::is_ascii_whitespace))
}

/// How many bytes at the beginning of a text are not seen, e.g. a control, a terminal's colour, or
/// a character without width.
fn unseen(text: &[u8]) -> usize {
    match text {
        [0x1b, b'[', rest @ ..] => {
            let params = rest.iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
            (2 + params + 1).min(text.len())
        }
        [b'\t' | b'\n' | b'\r', ..] => 0,
        [0..=0x1f | 0x7f, ..] => 1,
        [0xc2, 0x80..=0x9f | 0xad, ..] => 2,
        [0xe2, 0x80, 0x8b..=0x8f | 0xa8..=0xae, ..]
        | [0xe2, 0x81, 0xa0..=0xaf, ..]
        | [0xe1, 0xa0, 0x8b..=0x8f, ..]
        | [0xef, 0xbb, 0xbf, ..]
        | [0xef, 0xb8, 0x80..=0x8f, ..] => 3,
        [0xf3, 0xa0, 0x80..=0xbf, _, ..] => 4,
        _ => 0,
    }
}

enum Escaped {
    Byte(u8),
    Char(char),
}

/// The escape that a text begins with: its length and its meaning, e.g. 3 and `/` for `%2F`.
fn escape(text: &[u8]) -> Option<(usize, Escaped)> {
    match text.first()? {
        b'%' => Some((3, Escaped::Byte(byte_of(text.get(1..3)?)?))),
        b'\\' => backslash(text),
        b'&' => entity(text),
        _ => None,
    }
}

fn backslash(text: &[u8]) -> Option<(usize, Escaped)> {
    let byte = |byte| Some((2, Escaped::Byte(byte)));
    match text.get(1)? {
        b'n' => byte(b'\n'),
        b'r' => byte(b'\r'),
        b't' => byte(b'\t'),
        b'b' => byte(8),
        b'f' => byte(12),
        plain @ (b'"' | b'\'' | b'/' | b'\\') => byte(*plain),
        b'x' => Some((4, Escaped::Byte(byte_of(text.get(2..4)?)?))),
        b'u' => {
            let unit = number(text.get(2..6)?)?;
            let Some(letter) = char::from_u32(unit) else { return surrogates(text, unit) };
            Some((6, Escaped::Char(letter)))
        }
        _ => None,
    }
}

/// Two escapes that stand for one letter, e.g. `\ud83d\ude00`.
fn surrogates(text: &[u8], high: u32) -> Option<(usize, Escaped)> {
    let low = number(text.get(6..12)?.strip_prefix(b"\\u")?)?;
    let units = [u16::try_from(high).ok()?, u16::try_from(low).ok()?];
    let letter = char::decode_utf16(units).next()?.ok()?;
    Some((12, Escaped::Char(letter)))
}

fn entity(text: &[u8]) -> Option<(usize, Escaped)> {
    const LONGEST: usize = 10;
    let end = text.iter().take(LONGEST).position(|byte| *byte == b';')?;
    let letter = match &text[1..end] {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits)?)?,
        [b'#', digits @ ..] => {
            let digits = str::from_utf8(digits).ok()?;
            char::from_u32(digits.parse().ok()?)?
        }
        _ => return None,
    };
    Some((end + 1, Escaped::Char(letter)))
}

fn byte_of(digits: &[u8]) -> Option<u8> {
    u8::try_from(number(digits)?).ok()
}

/// A number in hexadecimal digits, without a sign.
fn number(digits: &[u8]) -> Option<u32> {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "hunter2/?ü \"quoted\"+more~ÿÿ";

    #[track_caller]
    fn is_hidden(text: &str) {
        let needles = Needles::of([SECRET]);
        let hidden = needles.hide(text);
        assert!(hidden.contains(MASK), "{text} became {hidden}");
        assert!(hidden.starts_with("before ") && hidden.ends_with(" after"), "{hidden}");
        assert!(hidden.len() <= "before ***** after".len() + 8, "{text} became {hidden}");
    }

    fn percent(text: &str, is_plain: impl Fn(u8) -> bool) -> String {
        let one = |byte: u8| {
            if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        };
        text.bytes().map(one).collect()
    }

    #[test]
    fn t62_a_secret_is_hidden_in_every_form_programs_print() {
        let quoted = serde_json::to_string(SECRET).unwrap();
        let json = quoted.trim_matches('"');
        let json_in_json = serde_json::to_string(json).unwrap();
        let ascii: String = SECRET.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let all = percent(SECRET, |_| false);
        let html = SECRET.replace('"', "&quot;").replace('ü', "&#252;").replace('ÿ', "&#xff;");
        let lines = STANDARD
            .encode(SECRET.repeat(3))
            .as_bytes()
            .chunks(20)
            .map(|line| str::from_utf8(line).unwrap())
            .collect::<Vec<_>>()
            .join("\n");
        let pairs = SECRET.bytes().map(|byte| format!("{byte:02x}"));
        let colons = pairs.collect::<Vec<_>>().join(":");
        for form in [
            SECRET,
            json,
            json_in_json.trim_matches('"'),
            &ascii,
            &ascii.to_uppercase().replace("\\U", "\\u"),
            &all,
            &all.to_lowercase(),
            &percent(&all, |byte| byte != b'%'),
            &percent(SECRET, |byte| byte.is_ascii_alphanumeric()),
            &percent(SECRET, |byte| byte.is_ascii_alphanumeric() || byte == b' ').replace(' ', "+"),
            &html,
            &trove_core::hex(SECRET.as_bytes()),
            &trove_core::hex(SECRET.as_bytes()).to_uppercase(),
            &STANDARD.encode(SECRET),
            &URL_SAFE.encode(SECRET),
            &percent(&STANDARD.encode(SECRET), |byte| byte.is_ascii_alphanumeric()),
            &STANDARD.encode(STANDARD.encode(SECRET)),
            &trove_core::hex(STANDARD.encode(SECRET).as_bytes()),
            &STANDARD.encode(trove_core::hex(SECRET.as_bytes())),
            &STANDARD.encode(&all),
            &colons,
            &SECRET.replace("ter", "\u{200b}t\u{1b}[31mer"),
        ] {
            is_hidden(&format!("before {form} after"));
        }
        let hidden = Needles::of([SECRET]);
        assert_eq!(hidden.hide(&lines).replace(MASK, "").trim_end_matches('=').trim(), "");
    }

    #[test]
    fn t62_a_long_secret_is_hidden_line_by_line_and_wherever_it_is_cut() {
        let line =
            |n: u8| format!("{n:02}MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ{n:02}");
        let key: String = (0..40).map(|n| line(n) + "\n").collect();
        let long = "0123456789abcdef".repeat(64);
        let needles = Needles::of([key.as_str(), long.as_str()]);
        assert_eq!(needles.hide(&format!("its line: {}", line(7))), "its line: ***");
        assert_eq!(needles.hide(&format!("<{long}>")), "<***>");
        let quoted = serde_json::to_string(&key).unwrap();
        assert_eq!(needles.hide(&quoted).replace(MASK, "").replace("\\n", ""), "\"\"");
    }

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        let needles = Needles::of(["hunter2", "short", ""]);
        for text in ["", "hunter", "100 % sure \\u00zz &nbsp; %zz \\", "日本語", "short"] {
            assert!(matches!(needles.hide(text), Cow::Borrowed(same) if same == text), "{text}");
        }
        assert!(matches!(Needles::of([]).hide("hunter2"), Cow::Borrowed(_)));
    }

    #[test]
    fn words_between_two_secrets_stay() {
        let (token, argument) = ("canary-0f31-token", "canary-77aa-argument");
        let needles = Needles::of([token, argument]);
        let encoded = STANDARD.encode(format!("me:{token}"));
        let text = format!("I am {token} or {encoded} or {argument}, they said");
        let hidden = needles.hide(&text);
        assert_eq!(hidden, "I am *** or bWU***= or ***, they said");
    }

    #[test]
    fn a_secret_at_the_edge_of_a_window_is_found() {
        let needles = Needles::of(["hunter2-and-more"]);
        for before in WINDOW_BYTES - 20..WINDOW_BYTES + 5 {
            let text = format!("{}hunter2-and-more{}", ".".repeat(before), ".".repeat(99));
            assert_eq!(needles.hide(&text).len(), before + MASK.len() + 99, "{before}");
        }
    }

    proptest! {
        #[test]
        fn t62_base64_amid_other_bytes_hides_the_secret(
            before in proptest::collection::vec(any::<u8>(), 0..9),
            secret in "[ -~]{6,40}",
            after in proptest::collection::vec(any::<u8>(), 0..9),
        ) {
            let whole = [&before[..], secret.as_bytes(), &after[..]].concat();
            let needles = Needles::of([secret.as_str()]);
            for encoded in [STANDARD.encode(&whole), URL_SAFE.encode(&whole)] {
                let hidden = needles.hide(&encoded);
                // No letter is left that the secret alone decides.
                let kept = hidden.replace(MASK, "").len();
                prop_assert!(kept <= (before.len() * 8).div_ceil(6) + (after.len() * 8).div_ceil(6) + 4);
                prop_assert!(hidden.contains(MASK));
            }
        }

        #[test]
        fn any_text_can_be_searched(text in any::<String>(), secret in any::<String>()) {
            let hidden = Needles::of([secret.as_str()]).hide(&text).into_owned();
            let is_sought = secret.len() >= MIN_SECRET && !secret.contains(['\n', '\r']);
            prop_assert!(!is_sought || !hidden.contains(&secret) || MASK.contains(&secret));
        }
    }
}
