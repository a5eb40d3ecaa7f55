//! JSON kept as its writer wrote it.
//!
//! A gateway that parses into types loses what the types do not know: unknown
//! members, the order of keys, `1.0` against `1`. So values travel as text, and an
//! edit touches only the members it names. Nothing here builds a tree.

mod writer;

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use bytestring::ByteString;
use memchr::{memchr, memchr_iter, memchr2, memchr2_iter};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use self::writer::Writer;
use crate::scan::{Scanner, ToEscape, has_controls};

/// One JSON value as text; cheap to clone, always valid.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(ByteString);

/// The text was not JSON, or not what it was read as.
#[derive(Debug, thiserror::Error)]
#[error("not JSON of the expected shape")]
pub struct BadJson;

impl Json {
    /// Checks that `text` is one JSON value.
    pub fn parse(text: impl Into<Bytes>) -> Result<Json, BadJson> {
        let text = ByteString::try_from(text.into()).map_err(|_| BadJson)?;
        if is_json(&text) { Ok(Json(text)) } else { Err(BadJson) }
    }

    /// The JSON of a value of ours.
    pub fn of(value: &impl Serialize) -> Json {
        let text = serde_json::to_string(value);
        Json(text.expect("values of ours have string keys and serialise").into())
    }

    /// A text that was put together from values that are valid.
    pub(crate) fn written(text: String) -> Json {
        debug_assert!(is_json(&text), "not JSON: {text}");
        Json(text.into())
    }

    /// A part of a message that was scanned, sharing its memory: `part` must point into
    /// `whole`.
    pub fn share(whole: &ByteString, part: &str) -> Json {
        Json(whole.slice_ref(part))
    }

    /// A part of this value, sharing its memory: `part` must point into it.
    pub fn part(&self, part: &str) -> Json {
        Json(self.0.slice_ref(part))
    }

    /// A copy that shares memory with nothing larger than itself.
    pub fn compact(&self) -> Json {
        Json(ByteString::from(self.as_str().to_owned()))
    }

    /// The empty object.
    pub fn empty_object() -> Json {
        Json(ByteString::from_static("{}"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text as bytes.
    pub fn as_bytes(&self) -> &Bytes {
        self.0.as_bytes()
    }

    /// Reads the value as a type of ours.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Result<T, BadJson> {
        serde_json::from_str(&self.0).map_err(|_| BadJson)
    }

    /// The member `key` of an object.
    pub fn get(&self, key: &str) -> Option<Json> {
        let object = Object::parse_valid(self.as_str())?;
        object.get(key).map(|value| self.part(value))
    }

    /// The member `key` of an object, if it is a string.
    pub fn get_str(&self, key: &str) -> Option<String> {
        Object::parse_valid(self.as_str())?.get_str(key).map(Cow::into_owned)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Contents are not for logs; a size is enough to tell values apart.
        write!(f, "Json({} bytes)", self.0.len())
    }
}

impl Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_str(self.as_str()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// The members of one object, in order, to look at and to edit.
pub struct Object<'a> {
    members: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    edited: bool,
}

impl<'a> Object<'a> {
    /// The members of `text`, or nothing if it is not an object.
    pub fn parse(text: &'a str) -> Option<Object<'a>> {
        Object::scan(Scanner::new(text))
    }

    /// The same for a text that is known to be JSON, as any part of a [`Json`] is.
    pub fn parse_valid(text: &'a str) -> Option<Object<'a>> {
        Object::scan(Scanner::of_valid(text))
    }

    fn scan(mut scanner: Scanner<'a>) -> Option<Object<'a>> {
        Object::next(&mut scanner).filter(|_| scanner.is_done())
    }

    /// The object that comes next.
    fn next(scanner: &mut Scanner<'a>) -> Option<Object<'a>> {
        let mut members = Vec::new();
        if !scanner.take(b'{') {
            return None;
        }
        if !scanner.take(b'}') {
            loop {
                let key = string(scanner.string().ok()?)?;
                if !scanner.take(b':') {
                    return None;
                }
                members.push((key, Cow::Borrowed(scanner.value().ok()?)));
                if !scanner.take(b',') {
                    break;
                }
            }
            if !scanner.take(b'}') {
                return None;
            }
        }
        Some(Object { members, edited: false })
    }

    /// An object without members.
    pub fn new() -> Object<'static> {
        Object { members: Vec::new(), edited: true }
    }

    /// The text of a member.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.members.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_ref())
    }

    /// The text of a member, borrowed from what was parsed.
    pub fn get_original(&self, key: &str) -> Option<&'a str> {
        self.members.iter().find(|(k, _)| k == key).and_then(|(_, v)| match v {
            Cow::Borrowed(text) => Some(*text),
            Cow::Owned(_) => None,
        })
    }

    /// A member that is a string.
    pub fn get_str(&self, key: &str) -> Option<Cow<'_, str>> {
        string(self.get(key)?)
    }

    /// Sets a member: in its place if it is there, else at the end.
    pub fn set(&mut self, key: &'static str, value: impl Into<Cow<'a, str>>) {
        self.edited = true;
        match self.members.iter_mut().find(|(k, _)| k == key) {
            Some((_, slot)) => *slot = value.into(),
            None => self.members.push((Cow::Borrowed(key), value.into())),
        }
    }

    /// Sets a member to a string.
    pub fn set_str(&mut self, key: &'static str, value: &str) {
        self.set(key, quote(value));
    }

    /// Removes a member and gives its text.
    pub fn remove(&mut self, key: &str) -> Option<Cow<'a, str>> {
        let at = self.members.iter().position(|(k, _)| k == key)?;
        self.edited = true;
        Some(self.members.remove(at).1)
    }

    /// Keeps only the members that `keep` wants.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        let before = self.members.len();
        self.members.retain(|(key, _)| keep(key));
        self.edited |= self.members.len() != before;
    }

    /// All members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether anything was set or removed.
    pub fn is_edited(&self) -> bool {
        self.edited
    }

    /// The object as text.
    pub fn to_text(&self) -> String {
        let size = self.members.iter().map(|(key, value)| key.len() + value.len() + 4);
        let mut text = String::with_capacity(size.sum::<usize>() + 2);
        text.push('{');
        for (n, (key, value)) in self.members.iter().enumerate() {
            if n > 0 {
                text.push(',');
            }
            push_quoted(&mut text, key);
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }

    /// The object as a value.
    pub fn to_json(&self) -> Json {
        Json(self.to_text().into())
    }
}

impl Default for Object<'_> {
    fn default() -> Self {
        Object::new()
    }
}

/// The objects of an array that is a member of an object which is known to be JSON, each with
/// its text, read in one go; nothing where there is no such array. What is no object comes as
/// its text alone.
pub fn objects_in<'a>(text: &'a str, key: &str) -> Option<Vec<(&'a str, Option<Object<'a>>)>> {
    let mut scanner = Scanner::of_valid(text);
    let mut is_next = scanner.take(b'{');
    while is_next {
        let is_it = string(scanner.string().ok()?)? == key;
        scanner.take(b':');
        if is_it {
            return objects(&mut scanner);
        }
        scanner.value().ok()?;
        is_next = scanner.take(b',');
    }
    None
}

fn objects<'a>(scanner: &mut Scanner<'a>) -> Option<Vec<(&'a str, Option<Object<'a>>)>> {
    let mut found = Vec::new();
    if !scanner.take(b'[') {
        return None;
    }
    while !scanner.take(b']') {
        let rest = scanner.rest();
        let object = match rest.starts_with('{') {
            true => Some(Object::next(scanner)?),
            false => scanner.value().ok().map(|_| None)?,
        };
        found.push((&rest[..rest.len() - scanner.rest_len()], object));
        scanner.take(b',');
    }
    Some(found)
}

/// The items of an array, or nothing if `text` is not an array.
pub fn items(text: &str) -> Option<Vec<&str>> {
    scan_items(Scanner::new(text))
}

/// The same for a text that is known to be JSON, as any part of a [`Json`] is.
pub fn items_of_valid(text: &str) -> Option<Vec<&str>> {
    scan_items(Scanner::of_valid(text))
}

fn scan_items(mut scanner: Scanner<'_>) -> Option<Vec<&str>> {
    let mut items = Vec::new();
    if !scanner.take(b'[') {
        return None;
    }
    if !scanner.take(b']') {
        loop {
            items.push(scanner.value().ok()?);
            if !scanner.take(b',') {
                break;
            }
        }
        if !scanner.take(b']') {
            return None;
        }
    }
    scanner.is_done().then_some(items)
}

/// Edits the items of an array that is known to be JSON; nothing if no item changed.
pub fn edit_items(text: &str, mut edit: impl FnMut(&str) -> Option<String>) -> Option<String> {
    let items = items_of_valid(text)?;
    let edited: Vec<Option<String>> = items.iter().map(|item| edit(item)).collect();
    if edited.iter().all(Option::is_none) {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 64);
    out.push('[');
    for (n, (item, new)) in items.iter().zip(&edited).enumerate() {
        if n > 0 {
            out.push(',');
        }
        out.push_str(new.as_deref().unwrap_or(item));
    }
    out.push(']');
    Some(out)
}

/// Whether `text` is one JSON value.
pub fn is_json(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.value().is_ok() && scanner.is_done()
}

/// The value of a JSON string.
pub fn string(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if memchr2(b'\\', b'"', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(text).ok().map(Cow::Owned)
}

/// How many bytes the value of a JSON string has, without making it; nothing where
/// [`string`] gives nothing. The string must be part of a text that is JSON.
pub fn string_len(text: &str) -> Option<usize> {
    let text = text.trim();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    if let Some(escapes) = short_escapes(text.as_bytes()) {
        return Some(inner.len() - escapes);
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

/// How many escapes a JSON string has where each is two bytes long and can be told by its
/// neighbours: no `\u`, and no three backslashes together. Many bytes are compared at once.
fn short_escapes(quoted: &[u8]) -> Option<usize> {
    // So few that what is counted fits into a byte.
    const PART: usize = 128;
    let (inner, after) = (quoted.get(1..)?.split_last()?.1, quoted.get(2..)?);
    let parts = quoted.chunks(PART).zip(inner.chunks(PART)).zip(after.chunks(PART));
    let (mut count, mut is_odd) = (0, false);
    for ((before, inner), after) in parts {
        let (mut all, mut second, mut odd) = (0, 0, 0);
        for ((before, byte), after) in before.iter().zip(inner).zip(after) {
            let here = u8::from(*byte == b'\\');
            let pair = here & u8::from(*before == b'\\');
            all += here;
            second += pair;
            odd |= (here & u8::from(*after == b'u')) | (pair & u8::from(*after == b'\\'));
        }
        count += usize::from(all) - usize::from(second);
        is_odd |= odd != 0;
    }
    (!is_odd).then_some(count)
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
    // What is JSON already has no control characters, or few: then there are two letters to
    // look for, which is faster.
    if bytes.len() >= MANY && !has_controls(bytes) {
        push_at(out, value, memchr2_iter(b'"', b'\\', bytes));
    } else {
        push_at(out, value, ToEscape::from(bytes, 0));
    }
}

/// The same of JSON that is quoted once more. In a JSON string every quote but the outer ones
/// has a backslash before it, so that there is one letter to look for.
pub(crate) fn push_json_escapes(out: &mut String, value: &str) {
    let Some(inner) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) else {
        return push_escapes(out, value);
    };
    out.push_str("\\\"");
    push_at(out, inner, memchr_iter(b'\\', inner.as_bytes()));
    out.push_str("\\\"");
}

/// From so many bytes on it is worth looking which of them are there at all.
const MANY: usize = 256;

/// Pushes a text with escapes at these places, which are all that need one.
fn push_at(out: &mut String, value: &str, places: impl Iterator<Item = usize>) {
    let bytes = value.as_bytes();
    let mut from = 0;
    for at in places {
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

    #[test]
    fn an_edit_touches_only_the_member_it_names() {
        let text = r#"{"size":1.0,"uri":"a:b","x":{"n":1e3, "z":null},"big":123456789012345678901234567890}"#;
        let mut object = Object::parse(text).unwrap();
        object.set_str("uri", "s+a:b");
        assert_eq!(
            object.to_text(),
            r#"{"size":1.0,"uri":"s+a:b","x":{"n":1e3, "z":null},"big":123456789012345678901234567890}"#
        );
    }

    #[test]
    fn what_is_not_an_object_has_no_members() {
        for text in ["[]", "1", "null", "\"x\"", "{", ""] {
            assert!(Object::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn escaped_keys_and_strings_are_read_and_written() {
        let mut object = Object::parse(r#"{"a\"b":"c\nd"}"#).unwrap();
        assert_eq!(object.get_str("a\"b").unwrap(), "c\nd");
        object.set_str("e", "\u{1}\"");
        assert_eq!(object.to_text(), r#"{"a\"b":"c\nd","e":"\u0001\""}"#);
    }

    #[test]
    fn an_array_without_a_change_is_left_alone() {
        assert_eq!(edit_items("[1, 2]", |_| None), None);
        assert_eq!(edit_items("[1, 2,3]", |i| (i == "2").then(|| "9".into())).unwrap(), "[1,9,3]");
    }

    #[test]
    fn every_character_is_quoted_as_others_do() {
        let all: String = ('\0'..='\u{2ff}').chain(['\u{2028}', '\u{10ffff}']).collect();
        for start in 0..40 {
            let text: String = "x".repeat(start) + &all + &"\\".repeat(start);
            assert_eq!(quote(&text), serde_json::to_string(&text).unwrap());
        }
    }

    #[test]
    fn an_object_in_a_string_is_read_back() {
        let object = Object::parse(r#"{"a\"\n":"c\nd\u0001","n":[1, "\""]}"#).unwrap();
        let plain = object.to_text();
        assert_eq!(plain, r#"{"a\"\n":"c\nd\u0001","n":[1, "\""]}"#);
        assert_eq!(string(&quote(&plain)).unwrap(), plain);
        assert_eq!(Object::new().to_text(), "{}");
    }

    #[test]
    fn objects_are_found_where_they_stand() {
        let text = r#"{"x":["contents"], "contents": [ {"a":"]"} , 5,{} ] ,"z":1}"#;
        let found = objects_in(text, "contents").unwrap();
        let texts: Vec<&str> = found.iter().map(|(text, _)| *text).collect();
        assert_eq!(texts, [r#"{"a":"]"}"#, "5", "{}"]);
        let are_objects: Vec<bool> = found.iter().map(|(_, object)| object.is_some()).collect();
        assert_eq!(are_objects, [true, false, true]);
        assert_eq!(found[0].1.as_ref().unwrap().get_str("a").unwrap(), "]");
        assert!(objects_in(r#"{"contents":[]}"#, "contents").unwrap().is_empty());
        for none in ["{}", "[]", r#"{"contents":{}}"#, r#"{"other":[]}"#] {
            assert!(objects_in(none, "contents").is_none(), "{none}");
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
            let mut quoted = String::from('"');
            push_json_escapes(&mut quoted, &literal);
            quoted.push('"');
            prop_assert_eq!(quoted, quote(&literal));
        }

        #[test]
        fn texts_short_and_long_are_quoted_as_others_quote_them(
            text in "[a-zé \"\\\\]{0,20}(\n|\u{1})?[a-zé \"\\\\]{0,600}",
        ) {
            prop_assert_eq!(quote(&text), serde_json::to_string(&text).unwrap());
        }
    }

    #[test]
    fn invalid_text_is_refused() {
        for bytes in [&b"{"[..], b"\"\xff\"", b"1 2", b"", b"NaN"] {
            assert!(Json::parse(bytes.to_vec()).is_err());
        }
    }

    #[test]
    fn t50_fuzz_json_agrees_with_another_parser() {
        trove_fuzz::feed("json", |input| {
            let ours = Json::parse(input.to_vec()).is_ok();
            // It reads no deeper than 128 levels, which we leave to others to limit.
            let is_deep = input.iter().filter(|b| matches!(b, b'[' | b'{')).count() > 100;
            let theirs = serde_json::from_slice::<&RawValue>(input).is_ok();
            assert!(is_deep || ours == theirs, "ours: {ours}, theirs: {theirs}");
            let text = std::str::from_utf8(input).unwrap_or_default();
            let members = Object::parse(text).map(|object| object.members.len().min(9));
            (ours, members, items(text).map(|items| items.len().min(9)))
        });
    }
}
