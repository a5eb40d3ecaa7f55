//! Compares files by what they say, so that an edit can be trusted before it is kept.

use serde_json::Value as Json;

use crate::config::tree::{Entry, Node, Value};

/// Whether a node says the same as a value.
pub(super) fn says(node: &Node, value: &Json) -> bool {
    match (&node.value, value) {
        (Value::Null, Json::Null) => true,
        (Value::Bool(a), Json::Bool(b)) => a == b,
        (Value::Integer(a), Json::Number(b)) => b.as_i64() == Some(*a),
        (Value::Float(a), Json::Number(b)) => b.as_f64() == Some(*a),
        (Value::Text(a), Json::String(b)) => a == b,
        (Value::List(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| says(a, b))
        }
        (Value::Map(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, (key, value))| a.key == *key && says(&a.node, value))
        }
        _ => false,
    }
}

/// Whether two trees agree in content and order, apart from `path`. Members on the way to `path`
/// may be absent or empty.
pub(super) fn same_but_at(a: &Node, b: &Node, path: &[&str]) -> bool {
    let Some((key, deeper)) = path.split_first() else { return true };
    if !is_map_or_nothing(a) || !is_map_or_nothing(b) {
        return false;
    }
    let others = |node: &Node| -> Vec<Entry> {
        node.entries().iter().filter(|entry| entry.key != *key).cloned().collect()
    };
    let (a_others, b_others) = (others(a), others(b));
    if a_others.len() != b_others.len() {
        return false;
    }
    let is_same = |(a, b): (&Entry, &Entry)| a.key == b.key && same(&a.node, &b.node);
    a_others.iter().zip(&b_others).all(is_same)
        && match (a.get(key), b.get(key)) {
            (Some(a), Some(b)) => same_but_at(a, b, deeper),
            (Some(only), None) | (None, Some(only)) => {
                deeper.is_empty() || same_but_at(only, &nothing(), deeper)
            }
            (None, None) => true,
        }
}

/// Whether two nodes say the same.
pub(super) fn same(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Value::Null, Value::Null) | (Value::Date, Value::Date) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Integer(a), Value::Integer(b)) => a == b,
        // Bits, so that what is no number is itself.
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| a.key == b.key && same(&a.node, &b.node))
        }
        _ => false,
    }
}

fn is_map_or_nothing(node: &Node) -> bool {
    matches!(node.value, Value::Map(_) | Value::Null)
}

fn nothing() -> Node {
    Node { at: crate::config::tree::TOP, value: Value::Null }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::tree::parse;

    #[track_caller]
    fn check(a: &str, b: &str, expect: bool) {
        let tree = |text: &str| parse(text, Path::new("x.json")).unwrap().1;
        assert_eq!(same_but_at(&tree(a), &tree(b), &["s", "us"]), expect, "{a} against {b}");
    }

    #[test]
    fn only_the_one_place_may_differ() {
        check(r#"{"a": 1}"#, r#"{"a": 1, "s": {"us": {}}}"#, true);
        check(r#"{"s": {"x": 1, "us": 1}}"#, r#"{"s": {"us": 2, "x": 1}}"#, true);
        check(r#"{"s": {"us": 1}}"#, r#"{"s": {}}"#, true);
        check(r#"{"a": 1}"#, r#"{"a": 2, "s": {"us": {}}}"#, false);
        check(r#"{"a": 1}"#, r#"{"a": 1.0}"#, false);
        check(r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#, false);
        check(r#"{"s": {"x": 1}}"#, r#"{"s": {"us": 1}}"#, false);
        check(r#"{"s": 5}"#, r#"{"s": {"us": 1}}"#, false);
        check(r#"{}"#, r#"{"s": {"us": 1, "x": 1}}"#, false);
    }
}
