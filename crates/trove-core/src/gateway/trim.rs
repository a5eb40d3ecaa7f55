//! Takes out of answers the parts that are closed to the caller: a Source may put more into one
//! than was asked for.
//!
//! Works on answers of other Sources, under the names they use. Our own Sources know themselves
//! which parts they may show to a caller.

use std::borrow::Cow;

use super::{Action, Gateway, Named};
use crate::{
    access::Standing,
    caller::Caller,
    catalogue::Snapshot,
    json::{Json, Object, edit_items, items},
    source::SourceId,
};

/// The answer of a Source.
pub(super) struct Replied<'a> {
    pub(super) id: &'a SourceId,
    pub(super) body: &'a Json,
}

impl Gateway {
    /// The contents of a read as far as the caller may read them; `None` if all are closed.
    pub(super) fn readable(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        id: &SourceId,
        body: &Json,
    ) -> Option<Json> {
        let rules = self.rules();
        if rules.access().policy.is_empty() {
            return Some(body.clone());
        }
        let standing = |uri: &str| rules.standing(caller, Named::given(snapshot, id, uri)).0;
        let Some(left) = readable(body, standing) else { return Some(body.clone()) };
        let is_empty = left.objects_in("contents").is_some_and(|all| all.is_empty());
        if is_empty { None } else { Some(left) }
    }

    /// The answer of an action, without the parts that the caller may not know or read.
    pub(super) fn without_hidden(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        action: Action,
        reply: &Replied<'_>,
    ) -> Json {
        let Replied { id, body } = *reply;
        let rules = self.rules();
        if rules.access().policy.is_empty() {
            return body.clone();
        }
        let standing = |uri: &str| rules.standing(caller, Named::given(snapshot, id, uri)).0;
        let is_hidden = |uri: &str| standing(uri) == Standing::Hidden;
        let trimmed = match action {
            Action::ReadDirectory => without_hidden(body, is_hidden),
            Action::GetSkill => body.get("skill").and_then(|skill| {
                let trimmed = without_hidden(&skill, is_hidden)?;
                let mut object = body.object()?;
                object.set("skill", trimmed.as_str());
                Some(object.to_json())
            }),
            Action::CallTool => without(body, "content", |block| is_closed(block, &standing)),
            Action::GetPrompt => {
                let is_closed = |message: &Object<'_>| {
                    message.get("content").is_some_and(|content| {
                        Object::parse(content).is_some_and(|block| is_closed(&block, &standing))
                    })
                };
                let body = without_blocks(body, &standing);
                without(body.as_ref(), "messages", is_closed).or(match body {
                    Cow::Owned(body) => Some(body),
                    Cow::Borrowed(_) => None,
                })
            }
        };
        trimmed.unwrap_or_else(|| body.clone())
    }
}

/// The contents that are open; `None` if all of them are.
fn readable(body: &Json, standing: impl Fn(&str) -> Standing) -> Option<Json> {
    let is_closed = |content: &Object<'_>| {
        let uri = content.get_str("uri");
        uri.is_some_and(|uri| standing(&uri) != Standing::Open)
    };
    // Almost always nothing is; what is known of long values then spares them another look.
    let contents = body.objects_in("contents");
    let stays = |content: &Option<Object<'_>>| content.as_ref().is_none_or(|it| !is_closed(it));
    if contents.is_some_and(|all| all.iter().all(|(_, content)| stays(content))) {
        return None;
    }
    without(body, "contents", is_closed)
}

/// Messages whose content is a list of blocks, without those that are closed.
fn without_blocks<'a>(body: &'a Json, standing: &impl Fn(&str) -> Standing) -> Cow<'a, Json> {
    let edited = body.get("messages").and_then(|messages| {
        edit_items(messages.as_str(), |message| {
            let mut message = Object::parse(message)?;
            let blocks = without_items(message.get_original("content")?, |block| {
                is_closed(block, standing)
            })?;
            message.set("content", blocks);
            Some(message.to_text())
        })
    });
    let whole = edited.and_then(|messages| {
        let mut object = body.object()?;
        object.set("messages", messages);
        Some(object.to_json())
    });
    whole.map_or(Cow::Borrowed(body), Cow::Owned)
}

/// Whether a block leads to what may not be known, or holds what may not be read.
fn is_closed(block: &Object<'_>, standing: &impl Fn(&str) -> Standing) -> bool {
    let is_link = block.get_str("type").is_some_and(|kind| kind == "resource_link");
    let link = block.get_str("uri").filter(|_| is_link);
    let held = block.get("resource").and_then(Object::parse);
    let held = held.as_ref().and_then(|resource| resource.get_str("uri"));
    link.is_some_and(|uri| standing(&uri) == Standing::Hidden)
        || held.is_some_and(|uri| standing(&uri) != Standing::Open)
}

/// The entry of a skill, or the members of a directory, without hidden ones; `None` if none is
/// hidden.
pub(super) fn without_hidden(entry: &Json, is_hidden: impl Fn(&str) -> bool) -> Option<Json> {
    without(entry, "resources", |member| member.get_str("uri").is_some_and(|uri| is_hidden(&uri)))
}

/// An object without some of the objects in the list that is its member `key`; `None` if all of
/// them stay.
fn without(body: &Json, key: &'static str, goes: impl Fn(&Object<'_>) -> bool) -> Option<Json> {
    let mut object = body.object()?;
    let left = without_items(object.get_original(key)?, goes)?;
    object.set(key, left);
    Some(object.to_json())
}

fn without_items(list: &str, goes: impl Fn(&Object<'_>) -> bool) -> Option<String> {
    let all = items(list)?;
    let stays = |item: &&&str| Object::parse(item).is_none_or(|object| !goes(&object));
    let left: Vec<&str> = all.iter().filter(stays).copied().collect();
    (left.len() < all.len()).then(|| format!("[{}]", left.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(uri: &str) -> Standing {
        match uri.split(':').next() {
            Some("hidden") => Standing::Hidden,
            Some("shown") => Standing::Shown,
            _ => Standing::Open,
        }
    }

    #[test]
    fn a_result_leads_to_nothing_hidden_and_holds_nothing_closed() {
        let link = |uri: &str| format!(r#"{{"type":"resource_link","uri":"{uri}","name":"n"}}"#);
        let held = |uri: &str| format!(r#"{{"type":"resource","resource":{{"uri":"{uri}"}}}}"#);
        let text = r#"{"type":"text","text":"hidden:1"}"#.to_owned();
        let stays = [link("open:1"), link("shown:1"), held("open:1"), text];
        let goes = [link("hidden:1"), held("hidden:1"), held("shown:1")];
        let list = |blocks: &[String]| format!("[{}]", blocks.join(","));
        let all = list(&[&stays[..], &goes[..]].concat());
        let left = without_items(&all, |block| is_closed(block, &standing));
        assert_eq!(left, Some(list(&stays)));
        let message = |content: &str| format!(r#"{{"role":"user","content":{content}}}"#);
        let prompt = |content: &str| format!(r#"{{"messages":[{}]}}"#, message(content));
        let body = Json::parse(prompt(&all)).unwrap();
        assert_eq!(without_blocks(&body, &standing).as_str(), prompt(&list(&stays)));
    }
}
