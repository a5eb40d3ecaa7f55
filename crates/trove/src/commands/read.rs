//! `trove read`: the bytes of one resource.

use std::io::Write as _;

use base64::Engine as _;
use serde_json::Value;
use trove_core::{
    Caller, Json, PublicUri,
    json::{Object, items},
    source::Ask,
    status::State,
};

use super::{Failed, exit, once, settle};
use crate::{
    app::App,
    cli::{Global, Read},
};

pub(super) fn read(global: &Global, read: &Read) -> Result<(), Failed> {
    let uri = PublicUri::new(read.uri.trim());
    let bytes = once(global, async |app| {
        let gateway = &app.gateway;
        // No need to wait for every server when the owner of this one is there.
        settle(app, read.wait, async || {
            let route = gateway.snapshot().await.route(uri.as_str());
            route.is_ok_and(|route| {
                gateway.board().of(route.source.id()).is_some_and(|s| s.state == State::Ready)
            })
        })
        .await;
        if read.wait.output.json {
            return bridged(app, read).await;
        }
        raw(&gateway.read(&Caller::local(), &uri, Ask::default()).await?.reply.body)
    })?;
    // A reader that has seen enough, such as `head`, is no fault.
    let _ = std::io::stdout().write_all(&bytes);
    Ok(())
}

/// The object that `get_resource` gives.
async fn bridged(app: &App, read: &Read) -> Result<Vec<u8>, Failed> {
    let mut arguments = serde_json::Map::new();
    arguments.insert("uri".into(), read.uri.as_str().into());
    let mut give = |key: &str, value: Option<Value>| {
        arguments.extend(value.map(|value| (key.to_owned(), value)));
    };
    give("maxSize", read.max_size.map(Value::from));
    give("offset", read.offset.map(Value::from));
    give("grep", read.grep.clone().map(Value::from));
    give("format", read.format.clone().map(Value::from));
    let object = super::call_tool(app, "get_resource", &arguments.into()).await?;
    let mut text = object.as_bytes().to_vec();
    text.push(b'\n');
    Ok(text)
}

/// The contents as they are: text as text, binary decoded, several one after another.
fn raw(result: &Json) -> Result<Vec<u8>, Failed> {
    let malformed = |what: &str| {
        Failed::new(exit::SOURCE, "ResourceExecutionError", format!("the server's answer {what}"))
    };
    let object = Object::parse(result.as_str()).ok_or_else(|| malformed("is no object"))?;
    let contents =
        object.get("contents").and_then(items).ok_or_else(|| malformed("has no contents"))?;
    let mut bytes = Vec::new();
    for content in contents {
        let content = Object::parse(content).ok_or_else(|| malformed("has a malformed content"))?;
        if let Some(text) = content.get_str("text") {
            bytes.extend_from_slice(text.as_bytes());
        } else if let Some(blob) = content.get_str("blob") {
            let decoded = base64::engine::general_purpose::STANDARD.decode(blob.as_bytes());
            bytes.extend(decoded.map_err(|_| malformed("has a blob that is not base64"))?);
        }
    }
    Ok(bytes)
}
