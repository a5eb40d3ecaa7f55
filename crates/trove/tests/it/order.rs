//! Requests that a client sends in one go begin in the order in which it sent them.

use serde_json::{Value, json};

use crate::kit::client::{Client, Door, Kind};
use crate::kit::toy::{count, whole};
use crate::kit::{Trove, until};

const UPDATED: &str = "notifications/resources/updated";
const LISTS: &str = "notifications/resources/list_changed";

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

async fn answer(client: &Client, from: usize, id: u64) -> Value {
    let is_it = move |message: &Value| message["id"] == id;
    client.transcript.first(from, is_it, &format!("the answer to {id}")).await.1.json.clone()
}

#[tokio::test]
async fn calls_reach_their_server_in_the_order_they_were_sent() {
    let trove = Trove::with(&[whole("one", "")]).await;
    let client = trove.client(Kind::STDIO_LEGACY).await;
    let from = client.transcript.len();
    let bump = json!({ "name": "one_bump", "arguments": {} });
    let calls: Vec<String> = (1..=40).map(|n| request(5000 + n, "tools/call", &bump)).collect();
    trove.write(&calls.join("\n")).await;
    for n in 1..=40 {
        let given = answer(&client, from, 5000 + n).await;
        assert_eq!(given["result"]["content"][0]["text"], n.to_string(), "{given}");
    }
}

#[tokio::test]
async fn a_resource_is_watched_or_not_as_was_said_last() {
    let trove = Trove::with(&[whole("one", "")]).await;
    let client = trove.client(Kind::STDIO_LEGACY).await;
    let uri = json!({ "uri": "toy://counter" });
    let (on, off) = ("resources/subscribe", "resources/unsubscribe");
    for (n, (first, second, hears)) in (1..).zip([(on, off, false), (off, on, true)]) {
        let from = client.transcript.len();
        trove
            .write(&[request(6000 + n, first, &uri), request(7000 + n, second, &uri)].join("\n"))
            .await;
        answer(&client, from, 7000 + n).await;
        client.call("one_bump", json!({})).await;
        client.call("one_add_resource", json!({ "uri": format!("toy://added-{n}") })).await;
        client.hear(LISTS).await;
        let heard = client.heard_since(from, UPDATED);
        assert_eq!(!heard.is_empty(), hears, "{first}, then {second}: {heard:?}");
    }
}

#[tokio::test]
async fn a_batch_is_answered_as_one_once_all_is_there() {
    let trove = Trove::with(&[whole("one", "--fault delay:read=100")]).await;
    let client = trove.older_client(Door::Stdio, "2025-03-26").await;
    let from = client.transcript.len();
    let batch = json!([
        { "jsonrpc": "2.0", "id": "a", "method": "resources/read", "params": { "uri": "toy://pid" } },
        { "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } },
        { "jsonrpc": "2.0", "id": "b", "method": "ping" },
        { "jsonrpc": "2.0", "id": "c", "method": "nothing" },
    ]);
    trove.write(&batch.to_string()).await;
    let answers =
        client.transcript.first(from, Value::is_array, "the answers").await.1.json.clone();
    let ids: Vec<&Value> = answers.as_array().expect("an array").iter().map(|a| &a["id"]).collect();
    assert_eq!(ids, ["a", "b", "c"], "{answers}");
    assert!(answers[0]["result"]["contents"][0]["text"].is_string(), "{answers}");
    assert_eq!(answers[2]["error"]["code"], -32601, "{answers}");
}

#[tokio::test]
async fn what_is_taken_back_at_once_is_taken_back() {
    let trove = Trove::with(&[whole("one", "--era legacy")]).await;
    let cancelled = async |client: &Client| {
        count(&client.text("toy://requests").await, "notifications/cancelled")
    };
    for (n, kind) in (1..).zip([Kind::STDIO_LEGACY, Kind::STDIO_MODERN]) {
        let client = trove.client(kind).await;
        let id = 8000 + n;
        let mut params = json!({ "uri": "toy://slow/60000" });
        if kind == Kind::STDIO_MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let cancel = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id },
        });
        trove.write(&format!("{}\n{cancel}", request(id, "resources/read", &params))).await;
        until("the server to be told", async || cancelled(&client).await == n).await;
    }
}
