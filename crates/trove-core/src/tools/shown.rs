//! Rows that a tool shows: no text in them acts unseen, and no member is null.
//!
//! Every tool that lists passes its rows through here, so that a new member needs no thought.

use serde_json::{Map, Value};

use crate::content::{one_line, shown_uri};

/// Puts every text of a value, and every name of a member, on one line without characters that
/// act unseen. A `uri` stays one that can be asked for.
pub(super) fn tidy(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(one_line(&text).into_owned()),
        Value::Array(all) => all.into_iter().map(tidy).collect(),
        Value::Object(members) => Value::Object(tidy_members(members)),
        other => other,
    }
}

/// An object without members that say nothing: they are absent, not null.
pub(super) fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.retain(|_, member| !member.is_null());
    }
    value
}

fn tidy_members(members: Map<String, Value>) -> Map<String, Value> {
    let mut tidied = Map::with_capacity(members.len());
    for (name, value) in members {
        let value = match value {
            Value::Null => continue,
            Value::String(uri) if name == "uri" => Value::String(shown_uri(&uri).into_owned()),
            other => tidy(other),
        };
        tidied.insert(one_line(&name).into_owned(), value);
    }
    tidied
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_member_at_any_depth_keeps_a_control() {
        let row = json!({
            "none": null, "uri": "x://a\u{1b}", "mimeType": "text/\u{7}plain\n", "n": 1,
            "highlights": [{ "snippet": "one\ntwo" }], "by\u{0}type": { "a\tb": "c\u{9b}" },
        });
        let tidied = tidy(row);
        assert_eq!(
            tidied,
            json!({
                "uri": "x://a%1B", "mimeType": "text/\\u{7}plain", "n": 1,
                "highlights": [{ "snippet": "one two" }],
                "by\\u{0}type": { "a b": "c\\u{9b}" },
            })
        );
    }
}
