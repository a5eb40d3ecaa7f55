//! Puts public names wherever a Source's answer carries its own.
//!
//! Only the places the protocol gives to URIs are touched: what a tool computed
//! (`structuredContent`, text) is data and stays as it is.

use super::snapshot::Snapshot;
use crate::{
    json::{Json, Object, edit_items},
    source::SourceId,
};

/// The result of a read: `contents[].uri`; nothing if it has no such list.
pub fn contents(snapshot: &Snapshot, source: &SourceId, result: &Json) -> Option<Json> {
    let stays = |item: &Object<'_>| {
        !item.is_given_twice("uri")
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
            let content = message.get("content")?;
            let edited = if content.trim_start().starts_with('[') {
                edit_items(content, |b| block(snapshot, source, b))?
            } else {
                block(snapshot, source, content)?
            };
            message.set("content", edited);
            Some(message.to_text())
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
    match edit(found) {
        Some(edited) => object.set(key, edited),
        // The one that was looked at is the one that is passed on.
        None if object.is_given_twice(key) => object.set(key, found),
        None => return result.clone(),
    }
    object.to_json()
}

fn rename_uri(snapshot: &Snapshot, source: &SourceId, item: &str) -> Option<String> {
    let mut object = Object::parse(item)?;
    let uri = object.get_str("uri")?.into_owned();
    match snapshot.public_name(source, &uri) {
        Some(public) => object.set_str("uri", public.as_str()),
        None if object.is_given_twice("uri") => object.set_str("uri", &uri),
        None => return None,
    }
    Some(object.to_text())
}

/// A content block: a link, or an embedded resource.
fn block(snapshot: &Snapshot, source: &SourceId, block: &str) -> Option<String> {
    let mut object = Object::parse(block)?;
    match &*object.get_str("type")? {
        "resource_link" => rename_uri(snapshot, source, block),
        "resource" => {
            let resource = rename_uri(snapshot, source, object.get("resource")?)?;
            object.set("resource", resource);
            Some(object.to_text())
        }
        _ => None,
    }
}

fn rename_skill(snapshot: &Snapshot, source: &SourceId, entry: &str) -> Option<String> {
    let mut object = Object::parse(entry)?;
    if let Some(public) = object.get_str("uri").and_then(|uri| snapshot.public_name(source, &uri)) {
        object.set_str("uri", public.as_str());
    }
    let resources = object
        .get("resources")
        .and_then(|array| edit_items(array, |item| rename_uri(snapshot, source, item)));
    if let Some(resources) = resources {
        object.set("resources", resources);
    }
    object.is_edited().then(|| object.to_text())
}
