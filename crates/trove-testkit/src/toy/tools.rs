//! The tools and the prompt.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::dispatch::{Answer, Exchange};
use super::peer::lock;
use super::state::{Change, Toy};
use super::wire::{RpcError, quote};
use super::{content, played};

/// A tool: name, description, and the one argument it takes with its JSON type.
type Tool = (&'static str, &'static str, Option<(&'static str, &'static str)>);

const TOOLS: [Tool; 7] = [
    ("echo", "Returns its text, and its arguments as they were spelled.", Some(("text", "string"))),
    ("bump", "Adds one to the counter resource and tells its subscribers.", None),
    ("link", "Returns links to resources and an embedded one.", None),
    ("slow", "Answers after that many milliseconds, with progress.", Some(("ms", "integer"))),
    ("add_resource", "Adds a resource to the list.", Some(("uri", "string"))),
    ("remove_resource", "Removes a resource from the list.", Some(("uri", "string"))),
    ("env", "Returns the server's environment as JSON.", None),
];

/// The one prompt.
const PROMPT: &str = "summarize";

/// The result of `tools/list`.
pub(super) fn list(toy: &Toy) -> String {
    if let Some(played) = &toy.played {
        return played::list(played);
    }
    let tools: Vec<Value> = TOOLS
        .iter()
        .map(|(name, description, argument)| {
            let schema = match argument {
                Some((key, kind)) => {
                    json!({ "type": "object", "properties": { *key: { "type": kind } }, "required": [key] })
                }
                None => json!({ "type": "object", "properties": {} }),
            };
            json!({ "name": name, "description": description, "inputSchema": schema })
        })
        .collect();
    json!({ "tools": tools }).to_string()
}

/// Runs one tool.
pub(super) async fn call(exchange: &Exchange) -> Result<Answer, RpcError> {
    let (toy, params) = (&exchange.toy, &exchange.params);
    let argument = |key: &str| params["arguments"][key].as_str().unwrap_or_default();
    let options = &toy.options;
    if let Some(played) = &toy.played {
        return Ok(Answer::Result(played::call(played, params)));
    }
    let result = match params["name"].as_str().unwrap_or_default() {
        "echo" => with_structure(argument("text"), &raw_arguments(exchange)),
        "bump" => {
            let count = toy.counter.fetch_add(1, Ordering::Relaxed) + 1;
            toy.announce(Change::Resource(&content::own(options, "counter"))).await;
            text(&count.to_string())
        }
        "link" => links(exchange),
        "slow" => {
            if !exchange.linger(params["arguments"]["ms"].as_u64().unwrap_or(0)).await {
                return Ok(Answer::Nothing);
            }
            text("done")
        }
        "add_resource" => {
            let entry = content::entry(options, argument("uri"), "added", "text/plain");
            lock(&toy.entries).push(entry);
            toy.announce(Change::ResourceList).await;
            text("added")
        }
        "remove_resource" => {
            lock(&toy.entries).retain(|entry| entry.uri != argument("uri"));
            toy.announce(Change::ResourceList).await;
            text("removed")
        }
        "env" => {
            let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
            let env: BTreeMap<String, String> =
                std::env::vars_os().map(|(key, value)| (lossy(key), lossy(value))).collect();
            let env = json!(env).to_string();
            with_structure(&env, &env)
        }
        name => return Err(RpcError::invalid_params(format!("no tool {name}"))),
    };
    Ok(Answer::Result(result))
}

fn text(text: &str) -> String {
    format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, quote(text))
}

fn with_structure(text: &str, structured: &str) -> String {
    let text = quote(text);
    format!(r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{structured}}}"#)
}

/// The arguments as the client spelled them.
fn raw_arguments(exchange: &Exchange) -> String {
    #[derive(Deserialize)]
    struct Call {
        arguments: Box<RawValue>,
    }
    let raw = exchange.incoming.params.as_ref().map_or("null", |raw| raw.get());
    serde_json::from_str::<Call>(raw)
        .map_or_else(|_| "{}".to_owned(), |call| call.arguments.get().to_owned())
}

/// A link to a listed resource, an embedded one, and a link to one that is readable but not listed.
fn links(exchange: &Exchange) -> String {
    let (counter, pid, unlisted) =
        (own(exchange, "counter"), own(exchange, "pid"), own(exchange, "unlisted"));
    let embedded = exchange.toy.read(&pid).unwrap_or_default();
    let (counter, unlisted) = (quote(&counter), quote(&unlisted));
    format!(
        r#"{{"content":[{{"type":"resource_link","uri":{counter},"name":"counter","x-kept":1.0}},{{"type":"resource","resource":{embedded}}},{{"type":"resource_link","uri":{unlisted},"name":"unlisted"}}]}}"#
    )
}

fn own(exchange: &Exchange, path: &str) -> String {
    content::own(&exchange.toy.options, path)
}

/// The result of `prompts/list`.
pub(super) fn list_prompts() -> String {
    let topic = json!({ "name": "topic", "description": "What to write about", "required": true });
    let prompt =
        json!({ "name": PROMPT, "description": "Summarizes the counter", "arguments": [topic] });
    json!({ "prompts": [prompt] }).to_string()
}

/// The result of `prompts/get`.
pub(super) fn get_prompt(exchange: &Exchange) -> Result<Answer, RpcError> {
    let params = &exchange.params;
    if params["name"] != PROMPT {
        return Err(RpcError::invalid_params("no such prompt"));
    }
    let topic = params["arguments"]["topic"]
        .as_str()
        .ok_or_else(|| RpcError::invalid_params("topic is required"))?;
    let embedded = exchange.toy.read(&own(exchange, "counter")).unwrap_or_default();
    let text = quote(&format!("{}|Summarize with regard to {topic}.", exchange.toy.options.name));
    Ok(Answer::Result(format!(
        r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":{text}}}}},{{"role":"user","content":{{"type":"resource","resource":{embedded}}}}}]}}"#
    )))
}
