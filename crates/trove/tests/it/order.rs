//! What a client sends in one go is begun in the order in which it was sent.

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
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
