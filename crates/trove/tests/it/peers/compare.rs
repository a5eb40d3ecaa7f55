//! Decides whether a client saw the same through Trove as at the server itself.
//!
//! Equal means equal: every field of every item, every byte of every content. The
//! allowances are few, and each is a rule of the gateway or a habit of one server.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::servers::{SERVER_ID, Server};

/// Schemes Trove serves itself. An upstream's resources under one of them are listed
/// under qualified names.
const OWN_SCHEMES: [&str; 5] = ["info", "config", "auth", "guide", "skill"];

/// The words of server-everything before the time of day.
const CLOCK: &str = " created at ";
/// How much of that text in base64 comes before the time of day.
const BLOB_BEFORE_CLOCK: usize = 48;

/// The name under which Trove offers an upstream's URI or template.
pub(crate) fn public_name(local: &str) -> String {
    if is_own(local) { format!("{SERVER_ID}+{local}") } else { local.to_owned() }
}

fn is_own(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, _)| OWN_SCHEMES.contains(&scheme))
}

#[track_caller]
pub(crate) fn assert_same(server: &Server, straight: &Value, through: &Value) {
    for (list, key) in [("resources", "uri"), ("templates", "uriTemplate")] {
        let expected = by_name(&straight[list], key, public_name);
        let mut found = by_name(&through[list], key, str::to_owned);
        found.retain(|name, _| !is_own(name));
        assert_equal_maps(list, &expected, &found);
    }
    let listed = straight["resources"].as_array().map_or(0, Vec::len);
    assert!(listed >= server.least_resources, "the server itself lists {listed} resources only");

    let expected = reads(&straight["reads"], public_name, server.is_fickle);
    let mut found = reads(&through["reads"], str::to_owned, server.is_fickle);
    found.retain(|name, _| !is_own(name));
    assert_equal_maps("reads", &expected, &found);
}

/// Compares name by name, so that a failure shows one item and not two whole lists.
#[track_caller]
fn assert_equal_maps(
    what: &str,
    expected: &BTreeMap<String, Value>,
    found: &BTreeMap<String, Value>,
) {
    let names = |map: &BTreeMap<String, Value>| map.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(expected), names(found), "{what}: straight (left) and through Trove (right)");
    for (name, value) in expected {
        assert_eq!(
            value, &found[name],
            "{what}: {name}: straight (left) and through Trove (right)"
        );
    }
}

/// The items of a list by their public name. Order is the gateway's own.
fn by_name(list: &Value, key: &str, name: impl Fn(&str) -> String) -> BTreeMap<String, Value> {
    let items = list.as_array().expect("a driver prints its lists as arrays");
    let named = items.iter().map(|item| {
        let public = name(item[key].as_str().expect("a listed item has a name"));
        let mut item = item.clone();
        item[key] = Value::from(public.clone());
        (public, item)
    });
    let map: BTreeMap<_, _> = named.collect();
    assert_eq!(map.len(), items.len(), "a name is listed twice");
    map
}

fn reads(reads: &Value, name: impl Fn(&str) -> String, is_fickle: bool) -> BTreeMap<String, Value> {
    let reads = reads.as_object().expect("a driver prints its reads as an object");
    let one =
        |(uri, result): (&String, &Value)| (name(uri), outcome(uri, result, &name, is_fickle));
    reads.iter().map(one).collect()
}

/// The outcome of one read: of contents everything, of an error its number.
fn outcome(uri: &str, result: &Value, name: &impl Fn(&str) -> String, is_fickle: bool) -> Value {
    let Some(contents) = result["contents"].as_array() else {
        return Value::from(error_number(&result["error"]["code"]));
    };
    let is_clocked = uri.starts_with("demo://resource/dynamic/");
    let parts = contents.iter().map(|part| {
        let mut part = part.as_object().expect("a part of contents is an object").clone();
        if let Some(uri) = part.get("uri").and_then(Value::as_str).map(name) {
            part.insert("uri".to_owned(), Value::from(uri));
        }
        if is_clocked {
            forget_time_of_day(&mut part);
        }
        if is_fickle {
            forget_text(&mut part);
        }
        Value::from(part)
    });
    parts.collect()
}

/// The two eras have different numbers for what is not there.
fn error_number(code: &Value) -> Option<i64> {
    match code.as_i64() {
        Some(-32002) => Some(-32602),
        code => code,
    }
}

fn forget_time_of_day(part: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = part.get_mut("text") {
        let end = text.find(CLOCK).expect("the text tells when it was made");
        text.truncate(end);
    }
    if let Some(Value::String(blob)) = part.get_mut("blob") {
        assert!(blob.len() > BLOB_BEFORE_CLOCK, "the blob tells when it was made");
        blob.truncate(BLOB_BEFORE_CLOCK);
    }
}

fn forget_text(part: &mut Map<String, Value>) {
    if let Some(text) = part.get_mut("text") {
        *text = Value::from("");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lost_byte_is_a_difference_and_a_translated_number_is_none() {
        let name = |uri: &str| uri.to_owned();
        let read = |result: Value| outcome("a:b", &result, &name, false);
        assert_ne!(
            read(json!({"contents": [{"uri": "a:b", "text": "x\r\n"}]})),
            read(json!({"contents": [{"uri": "a:b", "text": "x\n"}]})),
        );
        assert_eq!(
            read(json!({"error": {"code": -32002, "message": "gone"}})),
            read(json!({"error": {"code": -32602, "message": "no source serves a:b"}})),
        );
    }

    #[test]
    fn an_upstream_under_a_scheme_of_ours_is_expected_under_its_qualified_name() {
        assert_eq!(public_name("auth://status"), "peer+auth://status");
        assert_eq!(
            public_name("guide://{collection}/{document}"),
            "peer+guide://{collection}/{document}"
        );
        assert_eq!(public_name("memory://knowledge-graph"), "memory://knowledge-graph");
    }
}
