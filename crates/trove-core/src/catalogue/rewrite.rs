//! Puts public names wherever a Source's answer carries its own.
//!
//! Only the places the protocol gives to URIs are touched: the output of a tool
//! (`structuredContent`, text) is data and stays as it is. Of a member that is there twice only the
//! first is passed on, which is the one that rules and readers of ours looked at.

use std::borrow::Cow;

use super::snapshot::Snapshot;
use crate::{
    json::{Json, Object, edit_items},
    source::SourceId,
};

/// The result of a read: `contents[].uri`; `None` if it has no such list.
pub fn contents(snapshot: &Snapshot, source: &SourceId, result: &Json) -> Option<Json> {
    let stays = |item: &Object<'_>| {
        item.any_given_twice().is_none()
            && item.get_str("uri").is_none_or(|uri| snapshot.public_name(source, &uri).is_none())
    };
    // Almost always nothing is renamed; then nothing more is looked at.
    let items = result.objects_in("contents");
    if items.is_some_and(|items| items.iter().all(|(_, item)| item.as_ref().is_none_or(stays))) {
        return Some(result.clone());
    }
    let is_list = |list: &str| list.trim_start().starts_with('[');
    result.object()?.get_original("contents").filter(|list| is_list(list))?;
    Some(edit_member(result, "contents", |array| {
        edit_items(array, |item| rename_uri(snapshot, source, item))
    }))
}

/// The result of a tool call: `content[]`.
pub fn tool_result(snapshot: &Snapshot, source: &SourceId, result: &Json) -> Json {
    edit_member(result, "content", |array| edit_items(array, |b| block(snapshot, source, b)))
}

/// A filled prompt: `messages[].content`, one block or several.
pub fn prompt_result(snapshot: &Snapshot, source: &SourceId, result: &Json) -> Json {
    edit_member(result, "messages", |messages| {
        edit_items(messages, |message| {
            let mut message = Object::parse(message)?;
            message.keep_first();
            let content = message.get("content")?;
            let edited = if content.trim_start().starts_with('[') {
                edit_items(content, |b| block(snapshot, source, b))
            } else {
                block(snapshot, source, content)
            };
            if let Some(edited) = edited {
                message.set("content", edited);
            }
            message.is_edited().then(|| message.to_text())
        })
    })
}

/// The members of a directory: `resources[].uri`.
pub fn directory(snapshot: &Snapshot, source: &SourceId, result: &Json) -> Json {
    edit_member(result, "resources", |array| {
        edit_items(array, |item| rename_uri(snapshot, source, item))
    })
}

/// One skill: its `uri` and `resources[].uri`.
pub fn skill(snapshot: &Snapshot, source: &SourceId, entry: &Json) -> Json {
    rename_skill(snapshot, source, entry.as_str())
        .and_then(|text| Json::parse(text).ok())
        .unwrap_or_else(|| entry.clone())
}

/// The description of one skill: an entry under `skill`, or the entry itself.
pub fn skill_result(snapshot: &Snapshot, source: &SourceId, result: &Json) -> Json {
    let nested = edit_member(result, "skill", |entry| rename_skill(snapshot, source, entry));
    skill(snapshot, source, &nested)
}

fn edit_member(
    result: &Json,
    key: &'static str,
    edit: impl FnOnce(&str) -> Option<String>,
) -> Json {
    let Some(mut object) = result.object() else { return result.clone() };
    let Some(found) = object.get_original(key) else { return result.clone() };
    if let Some(edited) = edit(found) {
        object.set(key, edited);
    }
    object.keep_first();
    if object.is_edited() { object.to_json() } else { result.clone() }
}

fn rename_uri(snapshot: &Snapshot, source: &SourceId, item: &str) -> Option<String> {
    let mut object = Object::parse(item)?;
    object.keep_first();
    name_uri(snapshot, source, &mut object);
    object.is_edited().then(|| object.to_text())
}

fn name_uri(snapshot: &Snapshot, source: &SourceId, object: &mut Object<'_>) {
    if let Some(public) = object.get_str("uri").and_then(|uri| snapshot.public_name(source, &uri)) {
        object.set_str("uri", public.as_str());
    }
}

/// A content block: a link, or an embedded resource.
fn block(snapshot: &Snapshot, source: &SourceId, block: &str) -> Option<String> {
    let mut object = Object::parse(block)?;
    object.keep_first();
    let kind = object.get_str("type").map(Cow::into_owned);
    match kind.as_deref() {
        Some("resource_link") => name_uri(snapshot, source, &mut object),
        Some("resource") => {
            let resource = object.get("resource");
            if let Some(resource) = resource.and_then(|text| rename_uri(snapshot, source, text)) {
                object.set("resource", resource);
            }
        }
        Some(_) | None => {}
    }
    object.is_edited().then(|| object.to_text())
}

fn rename_skill(snapshot: &Snapshot, source: &SourceId, entry: &str) -> Option<String> {
    let mut object = Object::parse(entry)?;
    object.keep_first();
    name_uri(snapshot, source, &mut object);
    let resources = object
        .get("resources")
        .and_then(|array| edit_items(array, |item| rename_uri(snapshot, source, item)));
    if let Some(resources) = resources {
        object.set("resources", resources);
    }
    object.is_edited().then(|| object.to_text())
}
