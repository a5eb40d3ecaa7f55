//! Circles of gateways: a Trove that has itself among its servers, or another Trove that does.
//!
//! Every running Trove has a mark of its own. In its greetings and lists it tells other Troves, and
//! only them, which marks stand behind it: its own, and those that its servers told. A Trove that
//! finds its own mark behind a server does not use that server. Requests between Troves also carry
//! the marks they came by. One that goes round all the same ends at the first Trove that has seen
//! it.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

use memchr::memmem;
use parking_lot::Mutex;
use trove_core::{
    Json, SourceId,
    json::{Object, items, quote, string},
};

/// Where a Trove says to another which marks stand behind it.
pub(crate) const BEHIND: &str = "trove/behind";
/// Where a request says by which marks it came.
pub(crate) const PATH: &str = "trove/path";
/// The most marks that are believed, of one server or one request.
const MAX_MARKS: usize = 256;
/// The longest mark that is.
const MAX_MARK_BYTES: usize = 64;

/// The words for a server that is part of a circle.
pub(crate) const CIRCLE: &str = "it is this gateway itself, or has it among its own servers: a circle; \
     remove this entry, or the one that leads back";

/// Our own mark, and the marks of the Troves that we have as servers.
#[derive(Debug)]
pub struct Kin {
    mark: String,
    behind: Mutex<BTreeMap<SourceId, Vec<String>>>,
    /// Whether there is any. Few have one, and every request asks.
    has_any: AtomicBool,
}

impl Default for Kin {
    fn default() -> Kin {
        let mark = format!("{:032x}", rand::random::<u128>());
        Kin { mark, behind: Mutex::default(), has_any: AtomicBool::new(false) }
    }
}

impl Kin {
    /// All marks that stand behind us, our own first.
    fn marks(&self) -> Vec<String> {
        let behind = self.behind.lock();
        let mut all = vec![self.mark.clone()];
        all.extend(behind.values().flatten().cloned());
        all.sort_unstable();
        all.dedup();
        all.truncate(MAX_MARKS);
        all
    }

    /// Says in the `_meta` of an answer what stands behind us, if another Trove asks.
    pub(crate) fn tell(&self, client: Option<&str>, answer: Json) -> Json {
        if client != Some(NAME) {
            return answer;
        }
        let Some(mut object) = answer.object() else { return answer };
        let text = object.get("_meta").unwrap_or("{}").to_owned();
        let mut meta = Object::parse(&text).unwrap_or_default();
        meta.set(BEHIND, written(&self.marks()));
        object.set("_meta", meta.to_text());
        object.to_json()
    }

    /// Learns what stands behind a server from its answer; false if we do ourselves.
    pub(crate) fn learn(&self, source: &SourceId, answer: &Object<'_>) -> bool {
        let marks = answer.get("_meta").and_then(Object::parse).map(|meta| read(meta.get(BEHIND)));
        let marks = marks.unwrap_or_default();
        let mut behind = self.behind.lock();
        if marks.contains(&self.mark) {
            behind.remove(source);
            return false;
        }
        if marks.is_empty() {
            behind.remove(source);
        } else {
            behind.insert(source.clone(), marks);
            self.has_any.store(true, Ordering::Release);
        }
        true
    }

    /// Forgets a server that is gone.
    pub(crate) fn forget(&self, source: &SourceId) {
        self.behind.lock().remove(source);
    }

    /// Adds our mark to the way of a request, if it goes to another Trove.
    pub(crate) fn sign(&self, source: &SourceId, meta: &mut Object<'_>) {
        let is_kin =
            self.has_any.load(Ordering::Acquire) && self.behind.lock().contains_key(source);
        if is_kin {
            let mut path = read(meta.get(PATH));
            path.push(self.mark.clone());
            meta.set(PATH, written(&path));
        } else {
            meta.remove(PATH);
        }
    }

    /// Whether a request has been here before, or at more places than there can be.
    pub(crate) fn has_seen(&self, meta: Option<&Json>) -> bool {
        // Almost no request has a way; a search is cheaper than a parse.
        let meta = meta.filter(|meta| memmem::find(meta.as_bytes(), PATH.as_bytes()).is_some());
        let Some(meta) = meta.and_then(|meta| meta.object()) else { return false };
        let path = read(meta.get(PATH));
        path.contains(&self.mark) || path.len() >= MAX_MARKS
    }
}

/// The name of every Trove in its greeting.
pub(crate) const NAME: &str = "trove";

fn read(list: Option<&str>) -> Vec<String> {
    let marks = list.and_then(items).unwrap_or_default();
    let marks = marks.into_iter().filter_map(string).map(|mark| mark.into_owned());
    marks.filter(|mark| mark.len() <= MAX_MARK_BYTES).take(MAX_MARKS).collect()
}

fn written(marks: &[String]) -> String {
    format!("[{}]", marks.iter().map(|mark| quote(mark)).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> SourceId {
        SourceId::new(name).unwrap()
    }

    /// The answer of `one` to `other`, which has it as the server `as_what`.
    fn meets(other: &Kin, one: &Kin, as_what: &str) -> bool {
        let answer = one.tell(Some(NAME), Json::empty_object());
        other.learn(&id(as_what), &answer.object().unwrap())
    }

    #[test]
    fn t45_a_circle_is_found_by_whoever_closes_it_however_long_it_is() {
        let (a, b, c) = (Kin::default(), Kin::default(), Kin::default());
        assert!(!meets(&a, &a, "me"), "itself");
        assert!(meets(&a, &b, "b") && meets(&b, &c, "c"), "a line is none");
        assert!(meets(&a, &b, "b"), "and stays none when it is longer");
        assert!(!meets(&c, &a, "a"), "but its end may not lead to its beginning");
        assert!(meets(&a, &c, "c"), "two ways to the same are no circle");
        b.forget(&id("c"));
        a.forget(&id("c"));
        assert!(meets(&a, &b, "b") && meets(&c, &a, "a"), "it is none any more once it is cut");
    }

    #[test]
    fn t45_a_request_that_comes_round_is_known() {
        let (a, b) = (Kin::default(), Kin::default());
        assert!(meets(&a, &b, "b") && !a.has_seen(None));
        let mut meta = Object::new();
        a.sign(&id("b"), &mut meta);
        let meta = meta.to_json();
        assert!(a.has_seen(Some(&meta)) && !b.has_seen(Some(&meta)));
        let mut elsewhere = meta.object().unwrap();
        a.sign(&id("other"), &mut elsewhere);
        assert_eq!(elsewhere.to_text(), "{}", "servers of others hear nothing of it");
    }

    #[test]
    fn only_another_trove_is_told() {
        let kin = Kin::default();
        let told = kin.tell(Some("claude"), Json::empty_object());
        assert_eq!(told.as_str(), "{}");
        let full = format!("{{\"_meta\":{{\"{BEHIND}\":[\"{}\",7,null]}}}}", "x".repeat(65));
        assert!(kin.learn(&id("odd"), &Object::parse(&full).unwrap()), "nonsense is no circle");
    }
}
