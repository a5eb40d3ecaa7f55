//! Answers and errors in the words of the client's era.

use trove_core::{
    Failure, Json,
    gateway::{AskError, ListAnswer},
    json::{Object, items, quote},
    resource::{Freshness, Scope},
    source::{Reply, SourceError},
};

use super::server_info;
use crate::{
    era::{Version, meta},
    payload::Payload,
    wire::{Outcome, RpcError, code},
};

/// Where a modern result names the upstream that made it.
const UPSTREAM_INFO: &str = "trove/serverInfo";
/// Where a list names the Sources whose part of it is only a memory.
const STALE: &str = "trove/stale";

/// Whether a result may be kept by the client, so that it must say for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    Cacheable,
    OnceOnly,
}

/// A page of a list under `key`.
pub(crate) fn list(key: &'static str, answer: &ListAnswer, version: Version) -> Json {
    let entries = &answer.page.entries;
    let size: usize = entries.iter().map(|entry| entry.as_bytes().len() + 1).sum();
    let mut array = String::with_capacity(size + 2);
    array.push('[');
    for (n, entry) in entries.iter().enumerate() {
        if n > 0 {
            array.push(',');
        }
        let changed = (key == "tools" && !version.is_modern()).then(|| legacy_tool(entry));
        array.push_str(changed.flatten().as_ref().unwrap_or(entry).as_str());
    }
    array.push(']');
    let mut object = Object::new();
    object.set(key, array);
    if let Some(next) = &answer.page.next {
        object.set_str("nextCursor", next);
    }
    let stale = answer.snapshot.stale();
    if !stale.is_empty() {
        let ids: Vec<String> = stale.iter().map(|id| quote(id.as_str())).collect();
        object.set("_meta", format!("{{\"{STALE}\":[{}]}}", ids.join(",")));
    }
    if version.is_modern() {
        modernise(&mut object, Keeping::Cacheable, Some(answer.snapshot.freshness()));
    }
    object.to_json()
}

/// A tool as clients of older eras can read it: without an output schema of another type than
/// `object`. `None` if it is so already.
fn legacy_tool(entry: &Json) -> Option<Json> {
    let schema = entry.get("outputSchema")?;
    if schema.get_str("type").as_deref() == Some("object") {
        return None;
    }
    let mut entry = entry.object()?;
    entry.remove("outputSchema");
    Some(entry.to_json())
}

/// The result of a tool for such clients, without a structured content that is no object. It is
/// given as a text where there is no other.
pub(crate) fn legacy_result(reply: Reply) -> Reply {
    let given = reply.body.get("structuredContent");
    let Some(given) = given.filter(|given| !given.as_str().starts_with('{')) else { return reply };
    let Some(mut object) = reply.body.object() else { return reply };
    object.remove("structuredContent");
    if object.get("content").and_then(items).is_none_or(|blocks| blocks.is_empty()) {
        let text = quote(given.as_str());
        object.set("content", format!("[{{\"type\":\"text\",\"text\":{text}}}]"));
    }
    let body = object.to_json();
    Reply { body, ..reply }
}

/// A Source's answer.
pub(crate) fn reply(reply: Reply, keeping: Keeping, version: Version) -> Outcome {
    if !version.is_modern() {
        return legacy_reply(reply);
    }
    let malformed = || RpcError::new(code::INTERNAL_ERROR, "the server's result was no object");
    let mut object = reply.body.object().ok_or_else(malformed)?;
    let keeping = if reply.needs_input { Keeping::OnceOnly } else { keeping };
    modernise(&mut object, keeping, reply.freshness);
    Ok(Payload::of(&object, &reply.body))
}

fn legacy_reply(reply: Reply) -> Outcome {
    if reply.needs_input {
        return Err(RpcError::new(
            code::INTERNAL_ERROR,
            "the server needs input that this protocol version cannot ask for; use a client of 2026-07-28",
        ));
    }
    if !reply.is_annotated {
        return Ok(reply.body.into());
    }
    let Some(mut object) = reply.body.object() else { return Ok(reply.body.into()) };
    for key in ["resultType", "ttlMs", "cacheScope"] {
        object.remove(key);
    }
    let own = object.get("_meta").and_then(|text| {
        let mut all = Object::parse(text)?;
        all.remove(meta::SERVER_INFO)?;
        Some(if all.is_empty() { None } else { Some(all.to_text()) })
    });
    match own {
        Some(Some(text)) => object.set("_meta", text),
        Some(None) => drop(object.remove("_meta")),
        None => {}
    }
    Ok(Payload::of(&object, &reply.body))
}

/// The members that every modern result has.
pub(crate) fn modernise(object: &mut Object<'_>, keeping: Keeping, freshness: Option<Freshness>) {
    if object.get("resultType").is_none() {
        object.set("resultType", "\"complete\"");
    }
    if keeping == Keeping::Cacheable {
        let freshness = freshness.unwrap_or_default();
        // Larger than any clock: some clients read numbers as doubles.
        let ttl = freshness.ttl_ms.min(1 << 52);
        object.set("ttlMs", ttl.to_string());
        let scope = match freshness.scope {
            Scope::Public => "\"public\"",
            Scope::Private => "\"private\"",
        };
        object.set("cacheScope", scope);
    }
    let text = object.get("_meta").unwrap_or("{}").to_owned();
    let mut all = Object::parse(&text).unwrap_or_default();
    if let Some(upstream) = all.remove(meta::SERVER_INFO) {
        all.set(UPSTREAM_INFO, upstream);
    }
    all.set(meta::SERVER_INFO, server_info());
    let all = all.to_text();
    object.set("_meta", all);
}

/// Why a question got no answer. A server's own error keeps its number and its words.
pub(crate) fn error(error: AskError, version: Version) -> RpcError {
    match error {
        AskError::Source { uri, error: SourceError::Refused { code, message, data }, .. } => {
            refused(RpcError { code, message, data }, uri.as_ref().map(|u| u.as_str()), version)
        }
        error => {
            let failure = Failure::from(error);
            let mut data = serde_json::Map::new();
            data.extend(failure.subject().map(|uri| ("uri".to_owned(), uri.as_str().into())));
            let more = failure.more().iter();
            data.extend(more.map(|(key, value)| ((*key).to_owned(), value.clone())));
            let told = of_class(&failure, version);
            if data.is_empty() { told } else { told.with_data(Json::of(&data)) }
        }
    }
}

/// Why a prompt of ours gave nothing.
pub(crate) fn failure(failure: &Failure, masked: bool, version: Version) -> RpcError {
    of_class(failure, version).with_data(failure.to_json(masked))
}

fn of_class(failure: &Failure, version: Version) -> RpcError {
    let code = failure.class().rpc(version.is_modern());
    RpcError::new(code, failure.message().to_owned())
}

/// A server's own error: its words, with the number and the name our client knows.
fn refused(mut error: RpcError, uri: Option<&str>, version: Version) -> RpcError {
    if error.code == code::URL_ELICITATION && version.is_modern() {
        error.code = code::INTERNAL_ERROR;
    }
    let Some(uri) = uri else { return error };
    let named = error.data.as_ref().and_then(|data| {
        let mut data = data.object()?;
        data.get_str("uri")?;
        data.set_str("uri", uri);
        Some(data.to_json())
    });
    let is_named = named.is_some();
    match (error.code, version.is_modern()) {
        (code::RESOURCE_NOT_FOUND, true) => {
            error.code = code::INVALID_PARAMS;
            error.data = named.or_else(|| Some(Json::of(&serde_json::json!({ "uri": uri }))));
        }
        // With a `uri` in its data this is how 2026-07-28 says that nothing is there.
        (code::INVALID_PARAMS, false) if is_named => {
            error.code = code::RESOURCE_NOT_FOUND;
            error.data = named;
        }
        _ if is_named => error.data = named,
        _ => {}
    }
    error
}

#[cfg(test)]
mod tests {
    use trove_core::{PublicUri, SourceId};

    use super::*;

    #[test]
    fn older_clients_are_told_of_structured_objects_only() {
        let json = |text: &str| Json::parse(text.to_owned()).expect("as the test made it");
        let tool = |more: &str| json(&format!(r#"{{"name":"t","inputSchema":{{}}{more}}}"#));
        for fine in [r#""#, r#","outputSchema":{"type":"object"}"#] {
            assert!(legacy_tool(&tool(fine)).is_none(), "{fine}");
        }
        for new in [r#","outputSchema":{"type":"array"}"#, r#","outputSchema":{}"#] {
            assert_eq!(legacy_tool(&tool(new)), Some(tool("")), "{new}");
        }
        let result = |more: &str| Reply::plain(json(&format!(r#"{{"content":[1]{more}}}"#)));
        for (given, left) in [
            (r#","structuredContent":{"a":1}"#, r#","structuredContent":{"a":1}"#),
            (r#","structuredContent":[1,2]"#, ""),
            ("", ""),
        ] {
            assert_eq!(legacy_result(result(given)).body, result(left).body, "{given}");
        }
        for nothing_else in
            [r#"{"content":[],"structuredContent":["a"]}"#, r#"{"structuredContent":["a"]}"#]
        {
            let given = legacy_result(Reply::plain(json(nothing_else))).body;
            assert_eq!(given.as_str(), r#"{"content":[{"type":"text","text":"[\"a\"]"}]}"#);
        }
    }

    #[test]
    fn a_read_that_failed_names_what_was_asked_for() {
        let uri = PublicUri::new("file:///huge.md");
        let source_id = SourceId::new("files").expect("a valid id");
        let too_large = SourceError::TooLarge { limit: 16 };
        let failed = AskError::Source { source_id, uri: Some(uri.clone()), error: too_large };
        let data = error(failed, Version::MODERN).data.expect("data");
        assert_eq!(data.get_str("uri").as_deref(), Some(uri.as_str()));
        assert_eq!(data.get_str("source").as_deref(), Some("files"));
    }
}
