//! Faults of our own: a panic is one failed request, and an end is orderly.

use std::sync::Arc;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio_util::sync::CancellationToken;
use trove_core::tools::{Settings, Tools};
use trove_mcp::bounds::Bounds;
use trove_mcp::server::{Guard, Identity, Server, router, serve, serve_stdio};
use trove_testkit::{fake_source::FakeSource, gateway_box::GatewayBox};

use crate::kit::client::Kind;
use crate::kit::toy::toy;
use crate::kit::{LIMIT, Trove, within};

fn read(id: u64, uri: &str) -> String {
    let params = json!({ "uri": uri, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": params }).to_string()
}

/// A server over a Source that panics when `doc:boom` is read.
async fn fragile() -> (Arc<FakeSource>, Arc<Server>) {
    let source = Arc::new(FakeSource::new("srv", &["doc:1", "doc:boom"]));
    source.panic_at("doc:boom");
    let gateway = GatewayBox::with(&[&source]).await.gateway;
    let tools = Tools::new(gateway.clone(), Settings::default());
    (source, Server::new(gateway, tools))
}

#[tokio::test]
async fn t47_a_panic_on_stdio_is_one_error_and_the_next_request_is_answered() {
    let (_source, server) = fragile().await;
    let (client, ours) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(ours);
    tokio::spawn(serve_stdio(server, input, output, CancellationToken::new()));
    let (from, mut to) = tokio::io::split(client);
    let mut lines = BufReader::new(from).lines();
    for (id, uri) in [(1, "doc:boom"), (2, "doc:1"), (3, "doc:boom"), (4, "doc:1")] {
        to.write_all(format!("{}\n", read(id, uri)).as_bytes()).await.expect("it reads");
        let line = within(LIMIT, "an answer", lines.next_line()).await;
        let answer: Value =
            serde_json::from_str(&line.expect("a line").expect("a line")).expect("JSON");
        check(&answer, id, uri);
    }
}

#[tokio::test]
async fn t47_a_panic_over_http_is_one_error_and_the_next_request_is_answered() {
    let (_source, server) = fragile().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let stop = CancellationToken::new();
    let router = router(server, Guard::new(Identity::None, address), stop.clone());
    tokio::spawn(async move { serve(listener, router, &Bounds::default(), stop).await });
    let http = reqwest::Client::new();
    for (id, uri) in [(1, "doc:boom"), (2, "doc:1")] {
        let request = http.post(format!("http://{address}/mcp"));
        let request = request
            .header("Content-Type", "application/json")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "resources/read")
            .header("Mcp-Name", uri);
        let answer = request.body(read(id, uri)).send().await.expect("it answers");
        check(&answer.json().await.expect("JSON"), id, uri);
    }
}

#[track_caller]
fn check(answer: &Value, id: u64, uri: &str) {
    assert_eq!(answer["id"], id);
    if uri == "doc:boom" {
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("fault of Trove's own"), "{answer}");
        assert!(!message.contains("told to panic"), "what panicked is for the log alone");
    } else {
        assert_eq!(answer["result"]["contents"][0]["text"], format!("srv|{uri}"), "{answer}");
    }
}

#[tokio::test]
async fn what_is_under_way_is_finished_when_trove_is_asked_to_end() {
    for kind in [Kind::HTTP_MODERN, Kind::HTTP_LEGACY, Kind::STDIO_LEGACY] {
        let mut trove = Trove::with(&[toy("one", "")]).await;
        let client = trove.client(kind).await;
        let params = json!({ "uri": "toy://slow/1500" }).to_string();
        let call = client.send("resources/read", &params, None).await;
        // Asked behind it, answered before it: the slow read is under way.
        client.text("toy://pid").await;
        trove.signal(Signal::TERM);
        let result = client.answer(call).await.expect("it is finished");
        assert!(result["contents"][0]["text"].as_str().is_some_and(|t| t.starts_with("one|")));
        assert!(trove.ended().await.success(), "{kind:?}");
    }
}

#[tokio::test]
async fn what_takes_too_long_does_not_keep_trove_from_ending() {
    let mut trove = Trove::with(&[toy("one", "")]).await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    let params = json!({ "uri": "toy://slow/600000" }).to_string();
    let _call = client.send("resources/read", &params, None).await;
    client.text("toy://pid").await;
    trove.signal(Signal::TERM);
    assert!(within(LIMIT, "the end", trove.ended()).await.success());
}
