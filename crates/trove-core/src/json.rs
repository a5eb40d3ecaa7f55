//! JSON kept as its writer wrote it.
//!
//! A gateway that parses into types loses what the types do not know: unknown
//! members, the order of keys, `1.0` against `1`. So values travel as text, and an
//! edit touches only the members it names. Nothing here builds a tree.

mod depth;
mod places;
mod portable;
mod strings;
mod twice;
mod writer;

use std::{borrow::Cow, fmt, mem, sync::Arc};

use bytes::Bytes;
use bytestring::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use self::places::place_in;
pub use self::{
    depth::is_deeper,
    portable::is_portable,
    strings::{StringPart, push_escapes, push_quoted, quote, string, string_len, string_part},
    writer::Writer,
};
use crate::scan::{Literal, LongValues, Scanner};

/// One JSON value as text; cheap to clone, always valid.
#[derive(Clone)]
pub struct Json {
    text: ByteString,
    /// The long values in it, so that no reader walks over them again.
    long: Option<Arc<LongValues>>,
}

/// The text was not JSON, or not what it was read as.
#[derive(Debug, thiserror::Error)]
#[error("not JSON of the expected shape")]
pub struct BadJson;

impl Json {
    /// Checks that `text` is one JSON value.
    pub fn parse(text: impl Into<Bytes>) -> Result<Json, BadJson> {
        let text = ByteString::try_from(text.into()).map_err(|_| BadJson)?;
        let mut scanner = Scanner::noting(&text);
        if scanner.value().is_err() || !scanner.is_done() {
            return Err(BadJson);
        }
        let long = scanner.noted();
        Ok(Json::knowing(text, long))
    }

    /// The JSON of a value of ours.
    pub fn of(value: &impl Serialize) -> Json {
        let text = serde_json::to_string(value);
        Json::valid(text.expect("values of ours have string keys and serialise").into())
    }

    /// A text that was put together from values that are valid.
    pub(crate) fn written(text: String) -> Json {
        debug_assert!(is_json(&text), "not JSON: {text}");
        Json::valid(text.into())
    }

    fn valid(text: ByteString) -> Json {
        Json { text, long: None }
    }

    fn knowing(text: ByteString, long: LongValues) -> Json {
        Json { text, long: (!long.is_empty()).then(|| Arc::new(long)) }
    }

    /// A part of this value that is a value itself, sharing its memory: `part` must point into it.
    pub fn part(&self, part: &str) -> Json {
        let text = self.text.slice_ref(part);
        match (&self.long, place_in(&self.text, part)) {
            (Some(long), Some(place)) => Json::knowing(text, long.within(&place)),
            _ => Json::valid(text),
        }
    }

    /// A copy that shares memory with nothing larger than itself.
    pub fn compact(&self) -> Json {
        Json { text: ByteString::from(self.as_str().to_owned()), long: self.long.clone() }
    }

    pub fn empty_object() -> Json {
        Json::valid(ByteString::from_static("{}"))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn as_bytes(&self) -> &Bytes {
        self.text.as_bytes()
    }

    /// Reads the value as a type of ours.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Result<T, BadJson> {
        serde_json::from_str(&self.text).map_err(|_| BadJson)
    }

    /// Its members, or nothing if it is not an object.
    pub fn object(&self) -> Option<Object<'_>> {
        Object::next(&mut self.scanner())
    }

    /// The member `key` of an object.
    pub fn get(&self, key: &str) -> Option<Json> {
        self.find(key).map(|value| self.part(value))
    }

    /// The member `key` of an object, if it is a string.
    pub fn get_str(&self, key: &str) -> Option<String> {
        string(self.find(key)?).map(Cow::into_owned)
    }

    /// The text of the member `key` of an object; members behind it are not looked at.
    pub(crate) fn find(&self, key: &str) -> Option<&str> {
        let mut scanner = self.scanner();
        let mut is_next = scanner.take(b'{');
        while is_next {
            let is_it = key_of(scanner.string().ok()?) == key;
            scanner.take(b':');
            let value = scanner.value().ok()?;
            if is_it {
                return Some(value);
            }
            is_next = scanner.take(b',');
        }
        None
    }

    /// The objects of an array that is a member of this object, each with its text, read in one go.
    /// `None` if there is no such array, or if its key is there twice. An item that is no object
    /// comes as text.
    pub fn objects_in(&self, key: &str) -> Option<Vec<(&str, Option<Object<'_>>)>> {
        let mut scanner = self.scanner();
        let mut found = None;
        let mut is_next = scanner.take(b'{');
        while is_next {
            let is_it = key_of(scanner.string().ok()?) == key;
            scanner.take(b':');
            match is_it {
                true if found.is_some() => return None,
                true => found = Some(objects(&mut scanner)?),
                false => drop(scanner.value().ok()?),
            }
            is_next = scanner.take(b',');
        }
        found
    }

    /// How many bytes a string in it means, as [`string_len`] says: `part` must point into it.
    pub fn string_len(&self, part: &str) -> Option<usize> {
        let place = place_in(&self.text, part)?;
        let known = self.long.as_ref().and_then(|long| long.at(place.start)?.meant);
        known.or_else(|| string_len(part))
    }

    fn scanner(&self) -> Scanner<'_> {
        Scanner::knowing(&self.text, self.long.as_deref())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.text == other.text
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Contents are not for logs; a size is enough to tell values apart.
        write!(f, "Json({} bytes)", self.text.len())
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
        let mut scanner = Scanner::new(text);
        Object::next(&mut scanner).filter(|_| scanner.is_done())
    }

    /// An object with its members, read in one go; `None` if `text` is not an object.
    pub fn with_json(text: &'a ByteString) -> Option<(Json, Object<'a>)> {
        let mut scanner = Scanner::noting(text);
        let object = Object::next(&mut scanner).filter(|_| scanner.is_done())?;
        Some((Json::knowing(text.clone(), scanner.noted()), object))
    }

    /// The object that comes next.
    fn next(scanner: &mut Scanner<'a>) -> Option<Object<'a>> {
        let mut members = Vec::new();
        if !scanner.take(b'{') {
            return None;
        }
        if !scanner.take(b'}') {
            loop {
                let key = key_of(scanner.string().ok()?);
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

    /// Sets a member: in its place if it is there, else at the end. Others of the same key go.
    pub fn set(&mut self, key: &'static str, value: impl Into<Cow<'a, str>>) {
        self.edited = true;
        let Some(at) = self.members.iter().position(|(k, _)| k == key) else {
            return self.members.push((Cow::Borrowed(key), value.into()));
        };
        self.members[at].1 = value.into();
        self.drop_after(at, key);
    }

    /// Removes members of that key behind a place.
    fn drop_after(&mut self, place: usize, key: &str) {
        let mut at = 0;
        self.members.retain(|(k, _)| {
            at += 1;
            at - 1 <= place || k != key
        });
    }

    /// Sets a member to a string.
    pub fn set_str(&mut self, key: &'static str, value: &str) {
        self.set(key, quote(value));
    }

    /// Removes a member, however often it is there, and gives its text.
    pub fn remove(&mut self, key: &str) -> Option<Cow<'a, str>> {
        let at = self.members.iter().position(|(k, _)| k == key)?;
        self.edited = true;
        self.drop_after(at, key);
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

    /// The object as text, in pieces that stand one after another: values of `whole` that are at
    /// least so long are shared with it, the rest is written.
    pub fn to_pieces(&self, whole: &Json, least: usize) -> Vec<Bytes> {
        let (mut pieces, mut text) = (Vec::new(), String::from("{"));
        for (n, (key, value)) in self.members.iter().enumerate() {
            if n > 0 {
                text.push(',');
            }
            push_quoted(&mut text, key);
            text.push(':');
            if value.len() >= least && place_in(&whole.text, value).is_some() {
                pieces.extend([
                    mem::take(&mut text).into(),
                    whole.text.slice_ref(value).into_bytes(),
                ]);
            } else {
                text.push_str(value);
            }
        }
        text.push('}');
        pieces.push(text.into());
        pieces
    }

    /// The object as a value.
    pub fn to_json(&self) -> Json {
        Json::valid(self.to_text().into())
    }
}

impl Default for Object<'_> {
    fn default() -> Self {
        Object::new()
    }
}

/// A key. One that is no Unicode, such as half of a surrogate pair, must not take the others with
/// it: no caller asks for such a key.
fn key_of(literal: Literal<'_>) -> Cow<'_, str> {
    let inner = &literal.text[1..literal.text.len() - 1];
    if literal.is_plain() {
        Cow::Borrowed(inner)
    } else {
        string(literal.text).unwrap_or_else(|| inner.replace('\\', "\u{fffd}").into())
    }
}

fn objects<'a>(scanner: &mut Scanner<'a>) -> Option<Vec<(&'a str, Option<Object<'a>>)>> {
    let mut found = Vec::new();
    if !scanner.take(b'[') {
        return None;
    }
    while !scanner.take(b']') {
        let rest = scanner.rest();
        let object = if rest.starts_with('{') {
            Some(Object::next(scanner)?)
        } else {
            scanner.value().ok().map(|_| None)?
        };
        found.push((&rest[..rest.len() - scanner.rest_len()], object));
        scanner.take(b',');
    }
    Some(found)
}

/// The items of an array, or nothing if `text` is not an array.
pub fn items(text: &str) -> Option<Vec<&str>> {
    let mut scanner = Scanner::new(text);
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

/// Edits the items of an array; `None` if no item changed.
pub fn edit_items(text: &str, mut edit: impl FnMut(&str) -> Option<String>) -> Option<String> {
    let items = items(text)?;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_members_that_are_there_twice_none_is_left_behind() {
        let text = r#"{"a":1,"b":2,"a":3,"c":4,"a":5}"#;
        let mut object = Object::parse(text).unwrap();
        assert!(object.is_given_twice("a") && !object.is_given_twice("b"));
        object.set("a", "0");
        assert_eq!(object.to_text(), r#"{"a":0,"b":2,"c":4}"#);
        let mut object = Object::parse(text).unwrap();
        assert_eq!(object.remove("a").as_deref(), Some("1"));
        assert_eq!(object.to_text(), r#"{"b":2,"c":4}"#);
    }

    #[test]
    fn a_key_that_is_no_unicode_hides_no_other() {
        let json = Json::parse(r#"{"\ud800":1,"contents":[{"\ud800":2,"uri":"a:b"}]}"#).unwrap();
        let items = json.objects_in("contents").unwrap();
        assert_eq!(items[0].1.as_ref().unwrap().get_str("uri").unwrap(), "a:b");
        assert_eq!(json.object().unwrap().iter().count(), 2);
    }

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
    fn in_pieces_it_is_the_same_and_what_is_long_is_not_copied() {
        let long = "x".repeat(50);
        let body =
            Json::parse(format!(r#"{{"ttlMs":1, "contents":["{long}"],"n":{{}} }}"#)).unwrap();
        let mut object = body.object().unwrap();
        object.remove("ttlMs");
        object.set("ours", quote(&"y".repeat(60)));
        let pieces = object.to_pieces(&body, 40);
        assert_eq!(pieces.concat(), object.to_text().into_bytes());
        assert_eq!(pieces.len(), 3);
        let at = body.as_str().find("[\"").unwrap();
        assert_eq!(pieces[1].as_ptr(), body.as_bytes()[at..].as_ptr());
        assert_eq!(object.to_pieces(&body, 100).len(), 1);
        assert_eq!(Object::new().to_pieces(&body, 1).concat(), b"{}");
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
        let json = Json::parse(text).unwrap();
        let found = json.objects_in("contents").unwrap();
        let texts: Vec<&str> = found.iter().map(|(text, _)| *text).collect();
        assert_eq!(texts, [r#"{"a":"]"}"#, "5", "{}"]);
        let are_objects: Vec<bool> = found.iter().map(|(_, object)| object.is_some()).collect();
        assert_eq!(are_objects, [true, false, true]);
        assert_eq!(found[0].1.as_ref().unwrap().get_str("a").unwrap(), "]");
        let empty = Json::parse(r#"{"contents":[]}"#).unwrap();
        assert!(empty.objects_in("contents").unwrap().is_empty());
        let twice = r#"{"contents":[],"a":1,"contents":[]}"#;
        for none in ["{}", "[]", r#"{"contents":{}}"#, r#"{"other":[]}"#, twice] {
            assert!(Json::parse(none).unwrap().objects_in("contents").is_none(), "{none}");
        }
    }

    proptest! {
        #[test]
        fn what_is_known_of_long_values_changes_nothing(
            strings in prop::collection::vec((0_usize..900, prop::sample::select(vec![
                "", "é", r"\n", r#"\""#, r"\\\\", r"\u00e9", r"\ud83d\ude00", r"\ud83d",
            ])), 1..24),
        ) {
            let strings = strings.iter().map(|(len, part)| format!("\"{part}{}{part}\"", "x".repeat(*len)));
            let items: Vec<String> = strings.map(|one| format!(" {{\"k\": {one} , \"n\":[1,{one}]}}")).collect();
            let text = format!(r#"{{"before":{{}},"all":[{}] ,"after":"x"}}"#, items.join(" ,"));
            let whole = Json::parse(text.clone()).unwrap();
            prop_assert!(whole.object().unwrap().iter().eq(Object::parse(&text).unwrap().iter()));
            for json in [whole.clone(), whole.compact(), Object::with_json(&text.into()).unwrap().0] {
                let all = json.get("all").unwrap();
                prop_assert_eq!(all.as_str(), format!("[{}]", items.join(" ,")));
                let found = json.objects_in("all").unwrap();
                prop_assert_eq!(found.len(), items.len());
                for ((item, object), expect) in found.iter().zip(&items) {
                    prop_assert_eq!(*item, expect.trim());
                    let (ours, plain) = (object.as_ref().unwrap(), Object::parse(item).unwrap());
                    prop_assert!(ours.iter().eq(plain.iter()));
                    let literal = ours.get_original("k").unwrap();
                    prop_assert_eq!(json.string_len(literal), string_len(literal));
                    prop_assert_eq!(string_len(literal), string(literal).map(|text| text.len()));
                    prop_assert_eq!(json.part(item).get_str("k"), plain.get_str("k").map(Cow::into_owned));
                }
            }
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
