//! Entries of lists with a member of a wrong type, such as `"mimeType": null`.
//!
//! A client that reads lists into types would refuse the whole page for it, with all that
//! other servers have on it. So the member is left out, and that is reported; every other
//! entry stays as it was written.

use trove_core::json::{Json, Object};

/// What a member must be, by the first letter of its JSON.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Object,
    List,
}

/// The members that may be absent.
const MEMBERS: [(&str, Kind); 9] = [
    ("title", Kind::Text),
    ("description", Kind::Text),
    ("mimeType", Kind::Text),
    ("size", Kind::Number),
    ("annotations", Kind::Object),
    ("_meta", Kind::Object),
    ("outputSchema", Kind::Object),
    ("icons", Kind::List),
    ("arguments", Kind::List),
];

impl Kind {
    fn is(self, value: &str) -> bool {
        let first = value.trim_start().bytes().next();
        match self {
            Kind::Text => first == Some(b'"'),
            Kind::Number => first.is_some_and(|byte| byte.is_ascii_digit()),
            Kind::Object => first == Some(b'{'),
            Kind::List => first == Some(b'['),
        }
    }
}

/// The entry as every client can read it, if it is not that already. A tool takes something,
/// if only an empty object.
pub(super) fn mended(entry: &Json, is_tool: bool) -> Option<Json> {
    let mut object = entry.object()?;
    for (key, kind) in MEMBERS {
        if object.get(key).is_some_and(|value| !kind.is(value)) {
            object.remove(key);
        }
    }
    if is_tool && !has_schema(&object) {
        object.set("inputSchema", r#"{"type":"object"}"#);
    }
    object.is_edited().then(|| object.to_json())
}

fn has_schema(tool: &Object<'_>) -> bool {
    tool.get("inputSchema").is_some_and(|schema| Kind::Object.is(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, is_tool: bool, expect: Option<&str>) {
        let entry = Json::parse(entry.to_owned()).expect("as the test made it");
        let mended = mended(&entry, is_tool);
        assert_eq!(mended.as_ref().map(Json::as_str), expect, "{}", entry.as_str());
    }

    #[test]
    fn only_what_no_type_fits_is_left_out() {
        let fine = r#"{"uri":"x:1","name":"a","size":12,"annotations":{"priority":1},"odd":null}"#;
        check(fine, false, None);
        check(
            r#"{"uri":"x:1","mimeType":null,"description":5,"size":"12","name":"a","odd":null}"#,
            false,
            Some(r#"{"uri":"x:1","name":"a","odd":null}"#),
        );
        check(r#"{"name":"p","arguments":null}"#, false, Some(r#"{"name":"p"}"#));
    }

    #[test]
    fn a_tool_takes_an_object() {
        check(r#"{"name":"t","inputSchema":{"type":"object"}}"#, true, None);
        for broken in [r#"{"name":"t"}"#, r#"{"name":"t","inputSchema":null}"#] {
            check(broken, true, Some(r#"{"name":"t","inputSchema":{"type":"object"}}"#));
        }
    }
}
