//! Expected output against what came, with `...` for anything.

use serde_json::Value;

const ANYTHING: &str = "...";

/// Whether lines are as expected. A line of `...` alone stands for any lines, also none.
pub(super) fn lines_match(expected: &[&str], came: &[&str]) -> bool {
    match expected.split_first() {
        None => came.is_empty(),
        Some((first, rest)) if first.trim() == ANYTHING => {
            (0..=came.len()).any(|skipped| lines_match(rest, &came[skipped..]))
        }
        Some((first, rest)) => match came.split_first() {
            Some((line, others)) => text_matches(first, line) && lines_match(rest, others),
            None => false,
        },
    }
}

/// Whether a text is as expected, blanks at its end aside.
pub(super) fn text_matches(expected: &str, came: &str) -> bool {
    let (expected, came) = (expected.trim_end(), came.trim_end());
    let mut parts = expected.split(ANYTHING);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = came.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Where a value is not as expected; `None` if it is. A member called `...` allows others, and so
/// does an entry `"..."` at the end of a list.
pub(super) fn difference(expected: &Value, came: &Value) -> Option<String> {
    match (expected, came) {
        (Value::String(expected), _) if expected == ANYTHING => None,
        (Value::String(expected), Value::String(came)) => {
            (!text_matches(expected, came)).then(|| format!("{came:?} is not {expected:?}"))
        }
        (Value::Object(expected), Value::Object(came)) => {
            let is_open = expected.contains_key(ANYTHING);
            if let Some(more) = came.keys().find(|key| !is_open && !expected.contains_key(*key)) {
                return Some(format!("`{more}` is not expected"));
            }
            let named = expected.iter().filter(|(key, _)| *key != ANYTHING);
            let mut differences = named.filter_map(|(key, value)| {
                let Some(other) = came.get(key) else { return Some(format!("`{key}` is missing")) };
                difference(value, other).map(|why| format!("`{key}`: {why}"))
            });
            differences.next()
        }
        (Value::Array(expected), Value::Array(came)) => {
            let is_open = expected.last().is_some_and(|last| last == ANYTHING);
            let least = expected.len() - usize::from(is_open);
            if came.len() < least || (!is_open && came.len() > least) {
                return Some(format!("{} entries, not {least}", came.len()));
            }
            let mut pairs = expected[..least].iter().zip(came);
            pairs.find_map(|(expected, came)| difference(expected, came))
        }
        (expected, came) => (expected != came).then(|| format!("{came} is not {expected}")),
    }
}

#[test]
fn anything_is_allowed_where_it_says_so_and_nothing_else() {
    let lines = |text: &'static str| text.lines().collect::<Vec<_>>();
    let check = |expected, came| lines_match(&lines(expected), &lines(came));
    assert!(check("a\n...\nz", "a\nb\nc\nz") && check("a\n...\nz", "a\nz"));
    assert!(check("a ... c", "a bb c") && check("...", "") && check("x", "x  "));
    assert!(!check("a\nz", "a\nb\nz") && !check("a ... c", "a bb d") && !check("a", "a\nb"));
    let json = |text: &str| serde_json::from_str::<Value>(text).expect("JSON of a test");
    let same = |a: &str, b: &str| difference(&json(a), &json(b)).is_none();
    assert!(same(r#"{"a":1,"...":0}"#, r#"{"a":1,"b":2}"#) && same(r#"["x","..."]"#, r#"["x",1]"#));
    assert!(!same(r#"{"a":1}"#, r#"{"a":1,"b":2}"#) && !same(r#"{"a":1}"#, r#"{"b":1}"#));
    assert!(!same(r#"["x"]"#, r#"["x",1]"#) && !same(r#""a...""#, r#""b""#));
}
