//! Entries of lists with a member of a wrong type, such as `"mimeType": null`, or with a member that
//! is there twice, at any depth.
//!
//! A client that reads lists into types would refuse the whole page for it, with all that
//! other servers have on it. Of two members of one name, clients read another than we do. So the
//! member is left out, and that is reported; every other entry stays as it was written.

use std::borrow::Cow;

use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use trove_core::json::{Json, Object, items, quote, string};

/// The entries of which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entries {
    /// Resources, templates and skills.
    Resources,
    Tools,
    Prompts,
}

/// The shape that a value must have for every client to read it.
enum Shape {
    Text,
    Word(&'static [&'static str]),
    Flag,
    /// A number of bytes.
    Size,
    /// Between nothing and all.
    Share,
    Moment,
    /// An object with these members, as far as it has them.
    Object(&'static [Member]),
    List(&'static Shape),
    /// An object of schemas, by name. One may be `true`, which is the same as an empty object, and
    /// not every client knows it.
    Schemas,
}

struct Member {
    key: &'static str,
    shape: Shape,
    is_required: bool,
}

const fn may(key: &'static str, shape: Shape) -> Member {
    Member { key, shape, is_required: false }
}

const fn must(key: &'static str, shape: Shape) -> Member {
    Member { key, shape, is_required: true }
}

/// The largest whole number that all clients read as it is.
const MAX_SIZE: f64 = (1u64 << 53) as f64;

const ANY_OBJECT: Shape = Shape::Object(&[]);
const WORDS: Shape = Shape::List(&Shape::Text);
const ICONS: Shape = Shape::List(&Shape::Object(&[
    must("src", Shape::Text),
    may("mimeType", Shape::Text),
    may("sizes", WORDS),
    may("theme", Shape::Word(&["light", "dark"])),
]));

const RESOURCE: Shape = Shape::Object(&[
    may("title", Shape::Text),
    may("description", Shape::Text),
    may("mimeType", Shape::Text),
    may("size", Shape::Size),
    may(
        "annotations",
        Shape::Object(&[
            may("audience", Shape::List(&Shape::Word(&["user", "assistant"]))),
            may("priority", Shape::Share),
            may("lastModified", Shape::Moment),
        ]),
    ),
    may("icons", ICONS),
    may("_meta", ANY_OBJECT),
]);

const TOOL: Shape = Shape::Object(&[
    may("title", Shape::Text),
    may("description", Shape::Text),
    may("inputSchema", SCHEMA),
    may("outputSchema", SCHEMA),
    may(
        "annotations",
        Shape::Object(&[
            may("title", Shape::Text),
            may("readOnlyHint", Shape::Flag),
            may("destructiveHint", Shape::Flag),
            may("idempotentHint", Shape::Flag),
            may("openWorldHint", Shape::Flag),
        ]),
    ),
    may(
        "execution",
        Shape::Object(&[may("taskSupport", Shape::Word(&["forbidden", "optional", "required"]))]),
    ),
    may("icons", ICONS),
    may("_meta", ANY_OBJECT),
]);

/// The members of a schema that clients look at; only validators need the rest.
const SCHEMA: Shape = Shape::Object(&[may("properties", Shape::Schemas), may("required", WORDS)]);

const PROMPT: Shape = Shape::Object(&[
    may("title", Shape::Text),
    may("description", Shape::Text),
    may(
        "arguments",
        Shape::List(&Shape::Object(&[
            must("name", Shape::Text),
            may("title", Shape::Text),
            may("description", Shape::Text),
            may("required", Shape::Flag),
        ])),
    ),
    may("icons", ICONS),
    may("_meta", ANY_OBJECT),
]);

/// A value as every client can read it: as it is, changed, or not at all.
type Fit<'a> = Option<Cow<'a, str>>;

impl Shape {
    fn fit<'a>(&self, value: &'a str) -> Fit<'a> {
        let value = value.trim();
        let fits = match self {
            Shape::Text => value.starts_with('"'),
            Shape::Word(words) => string(value).is_some_and(|word| words.contains(&&*word)),
            Shape::Flag => matches!(value, "true" | "false"),
            Shape::Size => value
                .parse()
                .is_ok_and(|size: f64| size.fract() == 0.0 && (0.0..=MAX_SIZE).contains(&size)),
            Shape::Share => value.parse().is_ok_and(|share: f64| (0.0..=1.0).contains(&share)),
            Shape::Moment => {
                string(value).is_some_and(|moment| OffsetDateTime::parse(&moment, &Rfc3339).is_ok())
            }
            Shape::Object(members) => return fit_object(value, members),
            Shape::List(shape) => return fit_list(value, shape),
            Shape::Schemas => return fit_schemas(value),
        };
        fits.then_some(Cow::Borrowed(value))
    }
}

/// Members that do not fit are left out; without one that it must have an object is none.
fn fit_object<'a>(value: &'a str, members: &[Member]) -> Fit<'a> {
    let is_object = value.starts_with('{');
    if !is_object || members.is_empty() {
        return is_object.then_some(Cow::Borrowed(value));
    }
    let mut object = Object::parse(value)?;
    mend(&mut object, members)?;
    Some(if object.is_edited() { object.to_text().into() } else { value.into() })
}

fn mend(object: &mut Object<'_>, members: &[Member]) -> Option<()> {
    object.keep_first();
    for Member { key, shape, is_required } in members {
        let Some(value) = object.get_original(key) else {
            if *is_required {
                return None;
            }
            continue;
        };
        match shape.fit(value) {
            Some(Cow::Borrowed(_)) => {}
            Some(Cow::Owned(changed)) => object.set(key, changed),
            None if *is_required => return None,
            None => drop(object.remove(key)),
        }
    }
    Some(())
}

fn fit_schemas(value: &str) -> Fit<'_> {
    let mut schemas = Object::parse(value)?;
    schemas.keep_first();
    if !schemas.is_edited() && schemas.iter().all(|(_, schema)| schema.starts_with('{')) {
        return Some(Cow::Borrowed(value));
    }
    let any =
        |schema: &'_ str| if schema.starts_with('{') { schema.to_owned() } else { "{}".to_owned() };
    let members = schemas.iter().map(|(name, schema)| format!("{}:{}", quote(name), any(schema)));
    Some(format!("{{{}}}", members.collect::<Vec<_>>().join(",")).into())
}

/// Elements that do not fit are left out.
fn fit_list<'a>(value: &'a str, shape: &Shape) -> Fit<'a> {
    let items = items(value)?;
    let fitting: Vec<Cow<'_, str>> = items.iter().filter_map(|item| shape.fit(item)).collect();
    let is_whole = fitting.len() == items.len();
    if is_whole && fitting.iter().all(|item| matches!(item, Cow::Borrowed(_))) {
        return Some(Cow::Borrowed(value));
    }
    Some(format!("[{}]", fitting.join(",")).into())
}

/// The entry as every client can read it, if it is not that already.
pub(super) fn mended(entry: &Json, of: Entries) -> Option<Json> {
    let mut object = entry.object()?;
    let shape = match of {
        Entries::Resources => &RESOURCE,
        Entries::Tools => &TOOL,
        Entries::Prompts => &PROMPT,
    };
    if let Shape::Object(members) = shape {
        mend(&mut object, members)?;
    }
    if of == Entries::Tools {
        take_an_object(&mut object);
    }
    object.is_edited().then(|| object.to_json())
}

/// A tool takes an object, if only an empty one, and must say so in one word.
fn take_an_object(tool: &mut Object<'_>) {
    let mut schema = tool.get("inputSchema").and_then(Object::parse).unwrap_or_default();
    if schema.get_str("type").as_deref() != Some("object") {
        schema.set_str("type", "object");
        let schema = schema.to_text();
        tool.set("inputSchema", schema);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, of: Entries, expect: Option<&str>) {
        let entry = Json::parse(entry.to_owned()).expect("as the test made it");
        let mended = mended(&entry, of);
        assert_eq!(mended.as_ref().map(Json::as_str), expect, "{}", entry.as_str());
    }

    #[test]
    fn only_what_no_type_fits_is_left_out() {
        let fine = concat!(
            r#"{"uri":"x:1","name":"a","size":12e1,"odd":null,"annotations":{"priority":1,"#,
            r#""audience":["user"],"lastModified":"2025-01-12T15:00:58+01:00","more":[null]},"#,
            r#""icons":[{"src":"data:,","sizes":["any"],"theme":"dark","x":0}]}"#,
        );
        check(fine, Entries::Resources, None);
        check(
            r#"{"uri":"x:1","mimeType":null,"description":5,"size":"12","name":"a","odd":null}"#,
            Entries::Resources,
            Some(r#"{"uri":"x:1","name":"a","odd":null}"#),
        );
        check(r#"{"name":"p","arguments":null}"#, Entries::Prompts, Some(r#"{"name":"p"}"#));
    }

    #[test]
    fn members_of_members_are_looked_at_too() {
        for (odd, left) in [
            (
                r#""annotations":{"audience":["system","user"]}"#,
                r#""annotations":{"audience":["user"]}"#,
            ),
            (r#""annotations":{"audience":"user","x":1}"#, r#""annotations":{"x":1}"#),
            (r#""annotations":{"priority":"high","lastModified":123}"#, r#""annotations":{}"#),
            (r#""annotations":{"priority":5}"#, r#""annotations":{}"#),
            (r#""annotations":{"lastModified":"2025-01-12 15:00"}"#, r#""annotations":{}"#),
            (
                r#""icons":["a.png",{},{"src":"b.png","sizes":"48x48"}]"#,
                r#""icons":[{"src":"b.png"}]"#,
            ),
            (
                r#""icons":[{"src":"b.png","mimeType":null,"theme":"auto"}]"#,
                r#""icons":[{"src":"b.png"}]"#,
            ),
            (r#""size":12.5,"title":"t""#, r#""title":"t""#),
            (r#""size":1e300,"title":"t""#, r#""title":"t""#),
            (r#""size":-1,"title":"t""#, r#""title":"t""#),
        ] {
            let entry = |member: &str| format!(r#"{{"uri":"x:1","name":"a",{member}}}"#);
            check(&entry(odd), Entries::Resources, Some(&entry(left)));
        }
        check(
            r#"{"name":"p","arguments":["a",{"description":"x"},{"name":"b","required":"yes"}]}"#,
            Entries::Prompts,
            Some(r#"{"name":"p","arguments":[{"name":"b"}]}"#),
        );
        check(
            r#"{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes","title":5},"execution":{"taskSupport":"maybe"}}"#,
            Entries::Tools,
            Some(r#"{"name":"t","inputSchema":{"type":"object"},"annotations":{},"execution":{}}"#),
        );
    }

    #[test]
    fn t08_of_members_that_are_there_twice_clients_get_the_one_that_was_read() {
        check(
            r#"{"uri":"x:1","name":"a","uri":"guide://help","annotations":{"priority":1,"priority":0}}"#,
            Entries::Resources,
            Some(r#"{"uri":"x:1","name":"a","annotations":{"priority":1}}"#),
        );
        check(
            r#"{"name":"p","n\u0061me":"q","arguments":[{"name":"a","name":"b"}]}"#,
            Entries::Prompts,
            Some(r#"{"name":"p","arguments":[{"name":"a"}]}"#),
        );
        check(
            r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":{},"a":{"x":1}}}}"#,
            Entries::Tools,
            Some(r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":{}}}}"#),
        );
    }

    #[test]
    fn a_tool_takes_an_object() {
        check(
            r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":true,"b":{"x":1}}}}"#,
            Entries::Tools,
            Some(
                r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":{},"b":{"x":1}}}}"#,
            ),
        );
        let plain = r#"{"name":"t","inputSchema":{"type":"object"}}"#;
        for broken in [
            r#"{"name":"t"}"#,
            r#"{"name":"t","inputSchema":null}"#,
            r#"{"name":"t","inputSchema":{}}"#,
            r#"{"name":"t","inputSchema":{"type":"string"}}"#,
            r#"{"name":"t","inputSchema":{"type":["object","null"]}}"#,
            r#"{"name":"t","inputSchema":{"type":"object","properties":null,"required":"a"}}"#,
            r#"{"name":"t","inputSchema":{"type":"object","properties":[]}}"#,
        ] {
            check(broken, Entries::Tools, Some(plain));
        }
    }
}
