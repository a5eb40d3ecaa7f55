//! Lists, errors and failures of tools without what the server was given, and without what acts
//! unseen: models and people read them.

use std::borrow::Cow;

use serde_json::Value;
use trove_core::{
    Json,
    aside::apart,
    content::{escape_controls, escape_in_json},
    resource::Listing,
    source::Reply,
};

use super::secrets::Secrets;

/// From so many bytes on masking runs on a thread of its own: it takes longer than reading them.
const APART_FROM: usize = 16 * 1024;

fn work<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes < APART_FROM { work() } else { apart(work) }
}

/// Masks what a server lists. An entry whose name holds a secret is left out, because no client
/// could ask for it by another name.
pub(super) fn mask(listing: &mut Listing, secrets: &Secrets) {
    let bytes: usize = listing.resources.iter().map(|one| one.entry.as_bytes().len()).sum();
    let mut left_out = 0;
    work(bytes, || {
        let left_out = &mut left_out;
        listing.resources.retain_mut(|it| stays(&mut it.entry, "uri", secrets, left_out));
        listing.templates.retain_mut(|it| stays(&mut it.entry, "uriTemplate", secrets, left_out));
        listing.skills.retain_mut(|it| stays(&mut it.entry, "uri", secrets, left_out));
        listing.tools.retain_mut(|it| stays(&mut it.entry, "name", secrets, left_out));
        listing.prompts.retain_mut(|it| stays(&mut it.entry, "name", secrets, left_out));
    });
    if left_out > 0 {
        let why =
            format!("{left_out} entries left out: a secret of the server stands in their URI");
        listing.omissions.push(why);
    }
}

fn stays(entry: &mut Json, key: &str, secrets: &Secrets, left_out: &mut usize) -> bool {
    let Some(masked) = secrets.hide_in_entry(entry) else { return true };
    if masked.get_str(key) != entry.get_str(key) {
        *left_out += 1;
        return false;
    }
    *entry = masked;
    true
}

/// The data of an error with all that acts unseen written out.
fn seen(data: Json) -> Json {
    let is_plain =
        |text: &str| !text.contains("\\u") && matches!(escape_in_json(text), Cow::Borrowed(_));
    if is_plain(data.as_str()) {
        return data;
    }
    let Ok(mut value) = data.to::<Value>() else { return Json::empty_object() };
    write_out(&mut value);
    Json::of(&value)
}

fn write_out(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => *text = escape_controls(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(write_out),
        Value::Object(members) => {
            for (name, mut member) in std::mem::take(members) {
                write_out(&mut member);
                members.insert(escape_controls(&name).into_owned(), member);
            }
        }
    }
}

/// The data of an error without secrets.
pub(super) fn data(data: Json, secrets: &Secrets) -> Json {
    let masked = work(data.as_bytes().len(), || secrets.hide_in_json(&data));
    seen(masked.unwrap_or(data))
}

/// The text of a failed tool counts as an error, though it comes as an answer.
pub(super) fn failure(reply: Reply, secrets: &Secrets) -> Reply {
    let has_failed = reply.body.get("isError").is_some_and(|flag| flag.as_str() == "true");
    if !has_failed {
        return reply;
    }
    let masked = work(reply.body.as_bytes().len(), || secrets.hide_in_json(&reply.body));
    match masked {
        Some(body) => Reply { body, ..reply },
        None => reply,
    }
}
