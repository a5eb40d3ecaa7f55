//! The HTTP door: its callers, and its answers to those that break the protocol.

use std::os::unix::fs::PermissionsExt as _;

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::kit::client::{Door, Kind, MODERN};
use crate::kit::toy::toy;
use crate::kit::{Folder, Trove};

/// A POST to the door with nothing but its type.
fn post(trove: &Trove) -> RequestBuilder {
    Client::new().post(&trove.url).header("Content-Type", "application/json")
}

/// A modern request for the list, correct in every way.
fn listing() -> Value {
    modern("resources/list", json!({}))
}

fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A modern request with the headers that repeat it.
fn headed(trove: &Trove, method: &str) -> RequestBuilder {
    post(trove).header("MCP-Protocol-Version", MODERN).header("Mcp-Method", method)
}

async fn send(request: RequestBuilder, body: &Value) -> Response {
    request.body(body.to_string()).send().await.expect("trove answers")
}

/// The status and the code of the error that a request is answered with.
async fn refusal(request: RequestBuilder, body: &Value) -> (u16, i64) {
    let answer = send(request, body).await;
    let status = answer.status().as_u16();
    let text = answer.text().await.expect("a body");
    let body: Value =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{status} {e}: {text}"));
    (status, body["error"]["code"].as_i64().unwrap_or_default())
}

#[tokio::test]
async fn t20_a_request_under_a_foreign_name_is_refused() {
    let trove = Trove::start("").await;
    for host in ["evil.test", "evil.test:80", "localhost.evil.test", "192.168.0.1"] {
        let request = headed(&trove, "resources/list").header("Host", host);
        assert_eq!(send(request, &listing()).await.status(), 403, "{host}");
    }
    for host in ["localhost", "127.0.0.1:1", "[::1]"] {
        let request = headed(&trove, "resources/list").header("Host", host);
        assert_eq!(send(request, &listing()).await.status(), 200, "{host}");
    }
}

#[tokio::test]
async fn t20_a_request_from_a_foreign_page_is_refused() {
    let trove = Trove::start("").await;
    for origin in ["http://evil.test", "https://localhost.evil.test", "null", "file://"] {
        let request = headed(&trove, "resources/list").header("Origin", origin);
        assert_eq!(send(request, &listing()).await.status(), 403, "{origin}");
    }
    for origin in ["http://localhost:3000", "http://127.0.0.1"] {
        let request = headed(&trove, "resources/list").header("Origin", origin);
        assert_eq!(send(request, &listing()).await.status(), 200, "{origin}");
    }
}

#[tokio::test]
async fn t21_only_who_knows_the_token_is_let_in_and_only_its_owner_can_read_it() {
    let folder = Folder::with("");
    let trove = Trove::start_with(&folder, &["serve", "--http", "127.0.0.1:0"]).await;
    let request = || headed(&trove, "resources/list");
    let answer = send(request(), &listing()).await;
    assert_eq!(answer.status(), 401);
    assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    assert_eq!(send(request().bearer_auth("wrong"), &listing()).await.status(), 401);

    let file = folder.home().join("token");
    let token = std::fs::read_to_string(&file).expect("there is a token");
    assert_eq!(send(request().bearer_auth(token.trim()), &listing()).await.status(), 200);
    let mode = std::fs::metadata(&file).expect("there is a token").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let metrics = trove.url.replace("/mcp", "/metrics");
    let http = Client::new();
    for stream in [http.get(&trove.url), http.delete(&trove.url), http.get(&metrics)] {
        assert_eq!(stream.send().await.expect("trove answers").status(), 401);
    }
}

#[tokio::test]
async fn the_token_stays_the_same_over_a_restart() {
    let folder = Folder::with("");
    let token = async || {
        let _trove = Trove::start_with(&folder, &["serve", "--http", "127.0.0.1:0"]).await;
        std::fs::read_to_string(folder.home().join("token")).expect("there is a token")
    };
    assert_eq!(token().await, token().await);
}

#[tokio::test]
async fn a_session_lives_from_initialize_to_delete() {
    let trove = Trove::start("").await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(send(post(&trove), &ping).await.status(), 400, "a session is needed");
    let unknown = post(&trove).header("Mcp-Session-Id", "0123456789abcdef");
    assert_eq!(send(unknown, &ping).await.status(), 404);

    // A modern request has none, even if it brings one from another era.
    let stray = headed(&trove, "resources/list").header("Mcp-Session-Id", "0123456789abcdef");
    assert_eq!(send(stray, &listing()).await.status(), 200);

    let client = trove.client(Kind::HTTP_LEGACY).await;
    let session = client.session().expect("a legacy client has a session");
    let own = || post(&trove).header("Mcp-Session-Id", session);
    assert_eq!(send(own(), &ping).await.status(), 200);
    let delete = || Client::new().delete(&trove.url).header("Mcp-Session-Id", session).send();
    assert!(delete().await.expect("trove answers").status().is_success());
    assert_eq!(send(own(), &ping).await.status(), 404, "the session has ended");
    assert_eq!(delete().await.expect("trove answers").status(), 404);
}

#[tokio::test]
async fn two_sessions_do_not_hear_each_other() {
    let trove = Trove::with(&[toy("one", "").set("expose = \"all\"")]).await;
    let (first, second) =
        (trove.client(Kind::HTTP_LEGACY).await, trove.client(Kind::HTTP_LEGACY).await);
    assert_ne!(first.session(), second.session());
    first.follow(&["toy://counter"]).await;
    second.call("one_bump", json!({})).await;
    first.hear("notifications/resources/updated").await;
    second.call("one_add_resource", json!({ "uri": "toy://added" })).await;
    second.hear("notifications/resources/list_changed").await;
    assert!(second.heard_since(0, "notifications/resources/updated").is_empty());
}

#[tokio::test]
async fn t09_clients_that_number_their_requests_alike_get_their_own_answers() {
    let trove = Trove::with(&[toy("one", "--resources 50")]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..50 {
        let uri = format!("toy://item/{n}");
        let body = modern("resources/read", json!({ "uri": uri }));
        let request = headed(&trove, "resources/read").header("Mcp-Name", &uri);
        tasks.spawn(async move {
            for _ in 0..200 {
                let request = request.try_clone().expect("a request without a stream");
                let answer: Value = send(request, &body).await.json().await.expect("an answer");
                assert_eq!(answer["id"], 1);
                assert_eq!(answer["result"]["contents"][0]["text"], format!("one|{uri}|"));
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("each has its own answer");
    }
}

#[tokio::test]
async fn a_stream_needs_a_session_and_a_new_one_takes_over() {
    let trove = Trove::start("").await;
    let get = || Client::new().get(&trove.url).header("Accept", "text/event-stream");
    let status =
        async |request: RequestBuilder| request.send().await.expect("trove answers").status();
    assert_eq!(status(get()).await, 405);
    assert_eq!(status(get().header("Mcp-Session-Id", "unknown")).await, 404);
    assert_eq!(status(Client::new().put(&trove.url)).await, 405);

    let client = trove.client(Kind::HTTP_LEGACY).await;
    let session = client.session().expect("a legacy client has a session");
    let open = async || get().header("Mcp-Session-Id", session).send().await.expect("a stream");
    let mut first = open().await;
    assert_eq!(open().await.status(), 200);
    while first.chunk().await.expect("the first stream ends well").is_some() {}
    let head = Client::new().head(&trove.url).header("Mcp-Session-Id", session);
    assert_eq!(status(head).await, 405);
    assert!(client.ask("ping", json!({})).await.is_ok(), "asking for the head ends no session");
}

#[tokio::test]
async fn a_body_that_is_too_large_or_no_message_is_refused() {
    let trove = Trove::start("").await;
    let large = post(&trove).body(vec![b' '; 5 * 1024 * 1024]).send().await;
    assert_eq!(large.expect("trove answers").status(), 413);
    let typeless = Client::new().post(&trove.url).body(listing().to_string()).send().await;
    assert_eq!(typeless.expect("trove answers").status(), 415);
    for (body, code) in [("{\"jsonrpc\":", -32700), ("hello", -32700), ("17", -32600)] {
        let answer = post(&trove).body(body).send().await.expect("trove answers");
        assert_eq!(answer.status(), 400, "{body}");
        let error: Value = answer.json().await.expect("the refusal is JSON");
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(code), &Value::Null));
    }
}

#[tokio::test]
async fn a_batch_is_answered_in_the_version_that_has_batches() {
    let trove = Trove::with(&[toy("one", "")]).await;
    let client = trove.older_client(Door::Http, "2025-03-26").await;
    let batch = json!([
        { "jsonrpc": "2.0", "id": "a", "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } },
        { "jsonrpc": "2.0", "id": "b", "method": "resources/read", "params": { "uri": "toy://pid" } },
    ]);
    let session = client.session().expect("a legacy client has a session");
    let answer = send(post(&trove).header("Mcp-Session-Id", session), &batch).await;
    assert_eq!(answer.status(), 200);
    let answers: Value = answer.json().await.expect("the answers are JSON");
    assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");
    assert_eq!((&answers[0]["id"], &answers[0]["result"]), (&json!("a"), &json!({})));
    assert_eq!(answers[1]["id"], "b");
    assert!(answers[1]["result"]["contents"][0]["text"].is_string(), "{answers}");
}

#[tokio::test]
async fn a_version_that_nobody_speaks_is_refused_in_a_session_too() {
    let trove = Trove::with(&[toy("one", "")]).await;
    let client = trove.older_client(Door::Http, "2025-11-25").await;
    let session = client.session().expect("a legacy client has a session");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let own = |version: &str| {
        post(&trove).header("Mcp-Session-Id", session).header("MCP-Protocol-Version", version)
    };
    for (version, status) in [("1999-01-01", 400), ("", 400), ("2025-11-25", 200)] {
        assert_eq!(send(own(version), &ping).await.status(), status, "{version}");
    }
}

#[tokio::test]
async fn headers_that_do_not_repeat_the_body_are_refused() {
    const MISMATCH: (u16, i64) = (400, -32020);
    let trove = Trove::with(&[toy("one", "")]).await;
    let version = |value: &str| post(&trove).header("MCP-Protocol-Version", value);
    let list = listing();
    let unversioned = post(&trove).header("Mcp-Method", "resources/list");
    assert_eq!(refusal(unversioned, &list).await, MISMATCH);
    let other = version("2025-11-25").header("Mcp-Method", "resources/list");
    assert_eq!(refusal(other, &list).await, MISMATCH);
    assert_eq!(refusal(version(MODERN), &list).await, MISMATCH);
    assert_eq!(refusal(headed(&trove, "tools/list"), &list).await, MISMATCH);

    let read = modern("resources/read", json!({ "uri": "toy://pid" }));
    let reading = || headed(&trove, "resources/read");
    assert_eq!(refusal(reading(), &read).await, MISMATCH);
    assert_eq!(refusal(reading().header("Mcp-Name", "toy://other"), &read).await, MISMATCH);
    assert_eq!(refusal(reading().header("Mcp-Name", "=?base64?%?="), &read).await, MISMATCH);
    let right = reading().header("Mcp-Name", "=?base64?dG95Oi8vcGlk?=");
    assert_eq!(send(right, &read).await.status(), 200, "a name may always be base64");
}

#[tokio::test]
async fn a_modern_request_that_lacks_what_each_must_carry_is_refused() {
    let trove = Trove::start("").await;
    let request = || headed(&trove, "resources/list");
    let mut bare = listing();
    bare["params"] = json!({});
    assert_eq!(refusal(request(), &bare).await, (400, -32602));
    let mut partial = listing();
    partial["params"]["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": MODERN });
    assert_eq!(refusal(request(), &partial).await, (400, -32602));
}

#[tokio::test]
async fn t39_an_unknown_version_is_refused_and_the_known_ones_are_named() {
    let trove = Trove::start("").await;
    let mut list = listing();
    list["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let request = post(&trove).header("MCP-Protocol-Version", "2099-01-01");
    let answer = send(request.header("Mcp-Method", "resources/list"), &list).await;
    assert_eq!(answer.status(), 400);
    let body: Value = answer.json().await.expect("the refusal is JSON");
    assert_eq!(body["error"]["code"], -32022);
    assert_eq!(body["error"]["data"]["requested"], "2099-01-01");
    let supported = body["error"]["data"]["supported"].as_array().expect("versions");
    assert!(supported.contains(&json!(MODERN)), "{body}");
}

#[tokio::test]
async fn an_unknown_method_is_not_found_and_a_notification_is_accepted() {
    let trove = Trove::start("").await;
    for method in ["no/such/method", "ping", "tasks/list", "logging/setLevel"] {
        let unknown = modern(method, json!({}));
        assert_eq!(refusal(headed(&trove, method), &unknown).await, (404, -32601), "{method}");
    }
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/whatever" });
    assert_eq!(send(post(&trove), &notification).await.status(), 202);
    let elsewhere = trove.url.replace("/mcp", "/elsewhere");
    let answer = Client::new().get(elsewhere).send().await.expect("trove answers");
    assert_eq!(answer.status(), 404);
}

#[tokio::test]
async fn a_legacy_client_is_told_of_unknown_methods_in_its_own_way() {
    let trove = Trove::start("").await;
    for kind in [Kind::HTTP_LEGACY, Kind::STDIO_LEGACY] {
        let client = trove.client(kind).await;
        for method in ["no/such/method", "server/discovery", "tasks/list"] {
            let error = client.ask(method, json!({})).await.expect_err("there is no such method");
            assert_eq!(error["code"], -32601, "{kind:?} {method}");
        }
    }
}

#[tokio::test]
async fn t08_a_malformed_line_on_stdio_is_answered_and_the_next_one_works() {
    let trove = Trove::start("").await;
    let client = trove.client(Kind::STDIO_LEGACY).await;
    for (line, code) in [("nonsense", -32700), ("{\"id\":null,\"method\":\"ping\"}", -32600)] {
        let from = client.transcript.len();
        trove.write(line).await;
        let is_error = |message: &Value| message["error"].is_object() && message["id"].is_null();
        let (_, answer) = client.transcript.first(from, is_error, "the refusal").await;
        assert_eq!(answer.json["error"]["code"], code, "{line}");
    }
    client.ask("ping", json!({})).await.expect("the next line is read as ever");
}

#[tokio::test]
async fn prometheus_reads_what_every_door_counted_if_it_is_let_in() {
    let trove = Trove::with(&[toy("one", "").set("expose = \"all\"")]).await;
    for kind in [Kind::STDIO_MODERN, Kind::HTTP_MODERN] {
        let client = trove.client(kind).await;
        client.ask("resources/templates/list", json!({})).await.expect("a list");
        client.ask("made/up", json!({})).await.expect_err("no such method");
        client.call("one_echo", json!({ "text": "hi" })).await;
        client.call("get_resource", json!({ "uri": "no such thing" })).await;
    }
    let page = || Client::new().get(trove.url.replace("/mcp", "/metrics"));
    let answer = page().send().await.expect("trove answers");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.text().await.expect("a body");
    for line in [
        "# TYPE trove_requests_total counter",
        "trove_requests_total{method=\"resources/templates/list\",outcome=\"ok\"} 2",
        "trove_requests_total{method=\"other\",outcome=\"error\"} 2",
        "trove_request_duration_seconds_count{method=\"resources/templates/list\"} 2",
        "trove_tool_calls_total{tool=\"one_echo\",outcome=\"ok\"} 2",
        "trove_tool_calls_total{tool=\"get_resource\",outcome=\"error\"} 2",
        "trove_source_up{source=\"one\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    // An author of a dashboard finds each of them described.
    let described = include_str!("../../../../docs/metrics.md");
    for name in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        // Some stand there as an ending of the one before them.
        let ending = name.splitn(3, '_').nth(2).map(|ending| format!("`_{ending}`"));
        let is_described = described.contains(&format!("`{name}`"))
            || ending.is_some_and(|ending| described.contains(&ending));
        assert!(is_described, "{name} is not in docs/metrics.md");
    }
    let foreign = page().header("Host", "evil.test").send().await.expect("trove answers");
    assert_eq!(foreign.status(), 403);
}
