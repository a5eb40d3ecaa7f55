//! The answers for a client and its model, to the byte.
//!
//! Every answer here comes from [`Server::answer_as`], the code that answers the client.
//!
//! [`Server::answer_as`]: trove_mcp::server::Server::answer_as

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::StatusCode,
};
use serde_json::{Value, json};
use trove_core::{
    Json,
    json::items,
    tools::{BYTES_PER_TOKEN, CLIENTS_DATE, Client, Takes, client, clients},
};
use trove_mcp::{protocol_versions, server::Pretend};

use super::{
    Web,
    answer::{Answer, json_of, missing, refuse},
    query::Query,
};

/// How much of a text the page draws; the whole can be saved.
const MAX_DRAWN: usize = 256 * 1024;
/// The tool that reads for clients whose model cannot.
const BRIDGE: &str = "get_resource";

/// `GET /api/clients`: every client that is known, and what each would be given.
pub(super) async fn list(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let version = query.get("version").unwrap_or(protocol_versions()[0]);
    let mut shown = Vec::new();
    for client in clients() {
        let tools = ask(&web, client.name, version, "tools/list", None).await?;
        let names = tools.get("result").and_then(|result| result.get("tools"));
        let names = names.map(|tools| names_of(&tools)).unwrap_or_default();
        shown.push(json!({
            "client": client,
            "tools": names,
            "bytes": tools.as_bytes().len(),
            "tokens": tokens(tools.as_bytes().len()),
        }));
    }
    Ok(json_of(&json!({
        "checked": *CLIENTS_DATE,
        "versions": protocol_versions(),
        "version": version,
        "clients": shown,
    })))
}

/// `GET /api/client?name=…`: the messages one client gets when it connects.
pub(super) async fn one(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let name = query.get("name").ok_or_else(|| missing("name"))?;
    let version = query.get("version").unwrap_or(protocol_versions()[0]);
    let greeting = if version == protocol_versions()[0] { "server/discover" } else { "initialize" };
    let mut messages = Vec::new();
    for method in [greeting, "tools/list", "resources/list", "resources/templates/list"] {
        let answer = ask(&web, name, version, method, None).await?;
        let bytes = answer.as_bytes().len();
        let next = answer.get("result").and_then(|result| result.get_str("nextCursor"));
        messages.push(json!({
            "method": method,
            "bytes": bytes,
            "tokens": tokens(bytes),
            "has_more": next.is_some(),
            // As text: the page must not parse and write it anew.
            "answer": answer.as_str(),
        }));
    }
    let known = client(name);
    Ok(json_of(&json!({ "name": name, "client": known, "version": version, "messages": messages })))
}

/// `GET /api/model?uri=…&client=…`: what the client's model gets when it reads.
pub(super) async fn sees(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let uri = query.get("uri").ok_or_else(|| missing("uri"))?;
    let name = query.get("client").unwrap_or("claude-ai");
    let version = query.get("version").unwrap_or(protocol_versions()[0]);
    let known = client(name);
    let (method, params) = match known {
        Some(Client { reads: true, .. }) => ("resources/read", json!({ "uri": uri })),
        Some(_) | None => {
            let mut arguments = json!({ "uri": uri });
            for key in ["offset", "maxSize"] {
                if let Some(number) = query.get(key).and_then(|n| n.parse::<u64>().ok()) {
                    arguments[key] = json!(number);
                }
            }
            if let Some(grep) = query.get("grep") {
                arguments["grep"] = json!(grep);
            }
            ("tools/call", json!({ "name": BRIDGE, "arguments": arguments }))
        }
    };
    let answer = ask(&web, name, version, method, Some(Json::of(&params))).await?;
    let blocks = blocks(&answer);
    let text: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let all = clients().iter().filter(|client| client.reads == (method == "resources/read"));
    let cuts: Vec<Value> = all
        .map(|client| json!({ "client": client.title, "at": cut(&text, client.takes), "takes": client.takes }))
        .collect();
    Ok(json_of(&json!({
        "client": known,
        "name": name,
        "version": version,
        "request": { "method": method, "params": params },
        "ticket": web.held.keep_text("answer.json", answer.as_str()),
        "answer": head(answer.as_str()),
        "error": answer.get("error").and_then(|error| error.get_str("message")),
        "failed": has_failed(&answer),
        "blocks": blocks.iter().map(shown_block).collect::<Vec<_>>(),
        "bytes": answer.as_bytes().len(),
        "text_bytes": text.len(),
        "tokens": tokens(text.len()),
        "cuts": cuts,
    })))
}

async fn ask(
    web: &Web,
    client: &str,
    version: &str,
    method: &str,
    params: Option<Json>,
) -> Result<Json, axum::response::Response> {
    let whom = Pretend { client, version };
    let answer = web.server.answer_as(whom, &web.caller(), method, params).await;
    answer.ok_or_else(|| {
        let message = format!("no protocol version is called {version}");
        refuse(StatusCode::BAD_REQUEST, &message, &["Choose one of those listed."])
    })
}

/// The part of an answer that the model reads: the blocks of a tool, or the contents read.
fn blocks(answer: &Json) -> Vec<Value> {
    let result = answer.get("result");
    let content =
        result.and_then(|result| result.get("content").or_else(|| result.get("contents")));
    content.and_then(|content| content.to::<Vec<Value>>().ok()).unwrap_or_default()
}

/// A block as far as the page draws it; its lengths are those of the whole.
fn shown_block(block: &Value) -> Value {
    let data = block["data"].as_str().or(block["blob"].as_str());
    let text = block["text"].as_str();
    json!({
        "type": block["type"].as_str().unwrap_or("contents"),
        "mime": block["mimeType"],
        "text": text.map(head),
        "bytes": text.map(str::len),
        // The page counts as JavaScript does.
        "length": text.map(|text| text.encode_utf16().count()),
        "data_bytes": data.map(str::len),
    })
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_DRAWN)]
}

fn has_failed(answer: &Json) -> bool {
    let result = answer.get("result");
    let is_error = result.and_then(|result| result.get("isError"));
    answer.get("error").is_some() || is_error.is_some_and(|is_error| is_error.as_str() == "true")
}

fn names_of(tools: &Json) -> Vec<String> {
    let all = items(tools.as_str()).unwrap_or_default();
    all.into_iter().filter_map(|tool| tools.part(tool).get_str("name")).collect()
}

fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// After how many characters a client that takes this much cuts; nothing if it does not.
fn cut(text: &str, takes: Option<Takes>) -> Option<usize> {
    let takes = takes?;
    let bytes = [takes.bytes, takes.tokens.map(|tokens| tokens * BYTES_PER_TOKEN)];
    let lines = takes.lines.and_then(|lines| text.match_indices('\n').nth(lines.checked_sub(1)?));
    let characters = takes.characters.and_then(|n| text.char_indices().nth(n));
    let ends = bytes.into_iter().flatten().filter(|end| *end < text.len());
    let ends = ends.chain(lines.map(|(at, _)| at)).chain(characters.map(|(at, _)| at));
    // The page counts as JavaScript does.
    ends.min().map(|end| text[..text.floor_char_boundary(end)].encode_utf16().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_the_first_limit_is_met() {
        let none = Takes::default();
        let text = "12345678\n".repeat(10);
        assert_eq!(cut(&text, None), None);
        assert_eq!(cut(&text, Some(none)), None);
        assert_eq!(cut(&text, Some(Takes { tokens: Some(5), ..none })), Some(20));
        assert_eq!(cut(&text, Some(Takes { lines: Some(2), bytes: Some(60), ..none })), Some(17));
        assert_eq!(cut(&text, Some(Takes { characters: Some(1000), ..none })), None);
        assert_eq!(cut("😀😀😀", Some(Takes { bytes: Some(9), ..none })), Some(4));
    }
}
