//! The limits of the HTTP door, at the edge and past it.

use std::time::Duration;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trove_testkit::authority::Authority;

use crate::kit::client::{Kind, MODERN};
use crate::kit::toy::toy;
use crate::kit::{Folder, LIMIT, Trove, until, within};

fn modern(url: &str, method: &str, mut params: Value) -> RequestBuilder {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let post = Client::new().post(url).header("Content-Type", "application/json");
    let post = post.header("MCP-Protocol-Version", MODERN).header("Mcp-Method", method);
    post.body(body.to_string())
}

async fn listed(url: &str) -> Response {
    modern(url, "resources/list", json!({})).send().await.expect("trove answers")
}

/// The address behind a URL.
fn address(trove: &Trove) -> String {
    trove.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned()
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let trove = Trove::start("limits.requests_per_second = 1\nlimits.burst = 3").await;
    for _ in 0..3 {
        assert_eq!(listed(&trove.url).await.status(), 200);
    }
    // The bucket fills by one a second; a slow machine may need a few more to empty it.
    let mut refused = None;
    for _ in 0..50 {
        let answer = listed(&trove.url).await;
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("the limit is reached");
    assert_eq!(refused.headers()["retry-after"], "1");
    let body: Value = refused.json().await.expect("a JSON-RPC error");
    assert_eq!((&body["id"], &body["error"]["code"]), (&json!(7), &json!(-32004)), "{body}");
    let wait = body["error"]["data"]["retryAfterMs"].as_u64().expect("a hint");
    assert!((1..=1000).contains(&wait), "{wait}");
    crate::kit::until("it is served again", async || listed(&trove.url).await.status() == 200)
        .await;
}

#[tokio::test]
async fn t38_one_caller_at_the_limit_does_not_cost_another() {
    let authority = Authority::start().await.expect("an authority can be started");
    let issuer = authority.issuer();
    let folder = Folder::with(&format!(
        "http.auth = \"jwt\"\nauth.issuer = \"{issuer}\"\nlimits.requests_per_second = 1\nlimits.burst = 2"
    ));
    let trove = Trove::start_with(&folder, &["serve", "--http", "127.0.0.1:0"]).await;
    let asked = async |who: &str| {
        let token = authority.sign(&authority.claims(who, &trove.url));
        let request = modern(&trove.url, "resources/list", json!({})).bearer_auth(token);
        request.send().await.expect("trove answers").status().as_u16()
    };
    let mut last = 200;
    for _ in 0..50 {
        last = asked("ann").await;
        if last == 429 {
            break;
        }
    }
    assert_eq!(last, 429);
    assert_eq!(asked("bob").await, 200);
}

#[tokio::test]
async fn only_so_many_requests_of_a_caller_are_under_way() {
    let config = format!(
        "limits.concurrent_requests = 1\n{}",
        crate::kit::toy::config(&[toy("one", "").set("expose = \"all\"")])
    );
    let trove = Trove::start(&config).await;
    trove.source("one", crate::kit::is_ready).await;
    let address = address(&trove);
    // A request whose body does not come holds the only place.
    let mut slow = TcpStream::connect(&address).await.expect("a connection");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    );
    slow.write_all(head.as_bytes()).await.expect("it is read");
    crate::kit::until("the place to be taken", async || {
        listed(&trove.url).await.status() == StatusCode::TOO_MANY_REQUESTS
    })
    .await;
    drop(slow);
    crate::kit::until("the place to be free", async || listed(&trove.url).await.status() == 200)
        .await;
}

#[tokio::test]
async fn streams_of_a_caller_are_counted_and_free_again_when_closed() {
    let trove = Trove::start("limits.streams = 1").await;
    let params = || json!({ "notifications": { "resourcesListChanged": true } });
    let open = async || {
        let request = modern(&trove.url, "subscriptions/listen", params());
        request.header("Accept", "text/event-stream").send().await.expect("trove answers")
    };
    let first = open().await;
    assert_eq!(first.status(), 200);
    assert_eq!(open().await.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(listed(&trove.url).await.status(), 200, "requests have places of their own");
    drop(first);
    crate::kit::until("the place to be free", async || open().await.status() == 200).await;
}

#[tokio::test]
async fn a_message_at_the_limit_is_read_and_one_byte_more_is_refused() {
    let trove = Trove::start("limits.request_bytes = 2048").await;
    let body = |length: usize| {
        let start = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"a\":\"";
        let end = "\"}}";
        format!("{start}{}{end}", "a".repeat(length - start.len() - end.len()))
    };
    let status = async |length: usize| {
        let post = Client::new().post(&trove.url).header("Content-Type", "application/json");
        post.body(body(length)).send().await.expect("trove answers").status().as_u16()
    };
    assert_eq!(status(2048).await, 202);
    assert_eq!(status(2049).await, 413);
}

#[tokio::test]
async fn t38_a_head_that_does_not_come_to_its_end_closes_the_connection_and_an_idle_one_stays() {
    let trove = Trove::start("limits.header_timeout_ms = 300").await;
    let address = address(&trove);
    let mut idle = TcpStream::connect(&address).await.expect("a connection");
    let mut slow = TcpStream::connect(&address).await.expect("a connection");
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").await.expect("it is read");
    let mut rest = Vec::new();
    // Closed, with or without a last word.
    let _ = within(LIMIT, "the slow one to be closed", slow.read_to_end(&mut rest)).await;
    let mut drip = TcpStream::connect(&address).await.expect("a connection");
    within(LIMIT, "the dripping one to be closed", async {
        while drip.write_all(b"G").await.is_ok() {
            let mut byte = [0; 1];
            let look = tokio::time::timeout(Duration::from_millis(20), drip.read(&mut byte)).await;
            if matches!(look, Ok(Ok(0) | Err(_))) {
                break;
            }
        }
    })
    .await;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
    for _ in 0..2 {
        idle.write_all(request.as_bytes()).await.expect("an idle connection is still open");
        let mut answer = vec![0; 15];
        within(LIMIT, "an answer", idle.read_exact(&mut answer)).await.expect("an answer");
        assert_eq!(answer, b"HTTP/1.1 200 OK");
        // The rest of the answer, and a pause longer than a head may take.
        let mut rest = vec![0; 4096];
        let _ = tokio::time::timeout(Duration::from_millis(600), async {
            while idle.read(&mut rest).await.is_ok_and(|n| n > 0) {}
        })
        .await;
    }
}

#[tokio::test]
async fn t38_the_time_of_a_head_begins_when_the_answer_before_it_has_been_read() {
    const SIZE: usize = 20 * 1024 * 1024;
    let toys =
        crate::kit::toy::config(&[toy("one", &format!("--size {SIZE} --bare --resources 1"))]);
    let trove = Trove::start(&format!("limits.header_timeout_ms = 300\n{toys}")).await;
    let address = address(&trove);
    let mut stream = TcpStream::connect(&address).await.expect("a connection");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {
        "uri": "toy://item/0",
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let body = body.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {MODERN}\r\n\
         Mcp-Method: resources/read\r\nMcp-Name: toy://item/0\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("it is read");
    let mut answers = vec![0; 1];
    within(LIMIT, "an answer", stream.read_exact(&mut answers)).await.expect("an answer");
    stream.write_all(b"GET /healthz HTTP/1.1\r\nConnection: close\r\nHo").await.expect("read");
    // Longer than a head may take; the answer is under way and not read.
    tokio::time::sleep(Duration::from_millis(900)).await;
    stream.write_all(format!("st: {address}\r\n\r\n").as_bytes()).await.expect("it is read");
    within(LIMIT, "both answers", stream.read_to_end(&mut answers)).await.expect("both answers");
    let text = String::from_utf8_lossy(&answers);
    assert!(text.len() > SIZE, "{text}");
    assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 2);
}

#[tokio::test]
async fn t38_a_body_that_does_not_come_is_given_up() {
    let trove = Trove::start("limits.body_timeout_ms = 200").await;
    let address = address(&trove);
    let mut slow = TcpStream::connect(&address).await.expect("a connection");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    );
    slow.write_all(head.as_bytes()).await.expect("it is read");
    let mut answer = vec![0; 12];
    within(LIMIT, "an answer", slow.read_exact(&mut answer)).await.expect("an answer");
    assert_eq!(answer, b"HTTP/1.1 408");
}

/// Sends the beginning of a body that is longer, and leaves the connection open.
async fn begin_body(address: &str, sent: usize, length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("it is read");
    // A client that is refused meanwhile may close the connection.
    let _ = stream.write_all(" ".repeat(sent).as_bytes()).await;
    stream
}

#[tokio::test]
async fn t54_bodies_beyond_memory_are_refused_and_told_when_to_come_back() {
    const SENT: usize = 50_000;
    const LENGTH: usize = 60_000;
    const CLIENTS: usize = 40;
    // Beyond the free beginning of each there is room for two.
    let trove = Trove::start("limits.request_bytes = 60000\nlimits.body_bytes = 70000").await;
    let address = address(&trove);
    let mut open = Vec::new();
    for _ in 0..CLIENTS {
        open.push(begin_body(&address, SENT, LENGTH).await);
    }
    // A client that is let in gets no answer: the door waits for the rest of its body.
    let reading = open.into_iter().map(async |mut stream| {
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer.to_lowercase()
    });
    let mut answers: FuturesUnordered<_> = reading.collect();
    for _ in 2..CLIENTS {
        let answer = within(LIMIT, "all but two are refused", answers.next()).await;
        let answer = answer.unwrap_or_default();
        // A client that is still sending may see the connection closed and nothing else.
        let is_told = answer.starts_with("http/1.1 503") && answer.contains("retry-after: 1");
        assert!(is_told || answer.is_empty(), "{answer}");
    }
    // Small requests are served all the while, and large ones when there is room again.
    assert_eq!(listed(&trove.url).await.status(), 200);
    drop(answers);
    let padded = json!({ "padding": "x".repeat(SENT) });
    let is_served = async || {
        let answer = modern(&trove.url, "resources/list", padded.clone()).send().await;
        answer.is_ok_and(|answer| answer.status() == 200)
    };
    until("there is room again", is_served).await;
}

#[tokio::test]
async fn t38_one_connection_too_many_is_told_so_and_the_others_go_on() {
    let trove = Trove::start("limits.connections = 2").await;
    let address = address(&trove);
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let ask = async |stream: &mut TcpStream| {
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = vec![0; 12];
        match within(LIMIT, "an answer", stream.read_exact(&mut answer)).await {
            Ok(_) => String::from_utf8_lossy(&answer).into_owned(),
            Err(_) => "closed".to_owned(),
        }
    };
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(&address).await.expect("a connection");
        assert_eq!(ask(&mut stream).await, "HTTP/1.1 200");
        held.push(stream);
    }
    let mut third = TcpStream::connect(&address).await.expect("a connection");
    let answer = ask(&mut third).await;
    assert!(answer == "HTTP/1.1 503" || answer == "closed", "{answer}");
    drop(held.pop());
    crate::kit::until("a connection to be free", async || {
        let mut again = TcpStream::connect(&address).await.expect("a connection");
        ask(&mut again).await == "HTTP/1.1 200"
    })
    .await;
}

#[tokio::test]
async fn a_list_is_cut_at_its_limit_and_says_so() {
    let toys = crate::kit::toy::config(&[toy("one", "--bare --resources 30 --page-size 10")]);
    let trove = Trove::start(&format!("limits.list_entries = 20\n{toys}")).await;
    let source = trove.source("one", crate::kit::is_ready).await;
    let said = source.to_string();
    assert!(said.contains("more than 20 entries"), "{said}");
    assert!(source["warning"].to_string().contains("was cut"), "{said}");
}

#[tokio::test]
async fn a_client_watches_no_more_than_it_may() {
    let toys = crate::kit::toy::config(&[toy("one", "")]);
    let trove = Trove::start(&format!("limits.watches_per_client = 1\n{toys}")).await;
    trove.ready(&["one"]).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    let watch = async |uri: &str| client.ask("resources/subscribe", json!({ "uri": uri })).await;
    watch("toy://requests").await.expect("one may be watched");
    let error = watch("toy://pid").await.expect_err("two may not");
    assert!(error["message"].as_str().is_some_and(|text| text.contains('1')), "{error}");
}

/// Everything that `config://security` says of limits follows the file.
#[tokio::test]
async fn every_limit_that_is_set_is_published() {
    let keys = [
        ("requests_per_second", 50, "/rate_limits/requests_per_second"),
        ("burst", 51, "/rate_limits/burst"),
        ("concurrent_requests", 52, "/rate_limits/concurrent_requests_per_caller"),
        ("streams", 53, "/rate_limits/streams_per_caller"),
        ("connections", 54, "/limits/max_connections"),
        ("header_timeout_ms", 55_000, "/limits/max_header_seconds"),
        ("body_timeout_ms", 56_000, "/limits/max_body_seconds"),
        ("request_bytes", 57_000, "/limits/max_request_bytes"),
        ("body_bytes", 82_000, "/limits/max_body_bytes"),
        ("message_bytes", 58_000, "/max_resource_bytes"),
        ("list_pages", 59, "/limits/max_list_pages"),
        ("list_entries", 60, "/limits/max_list_entries"),
        ("list_timeout_ms", 61_000, "/limits/max_list_seconds"),
        ("waiting_requests", 62, "/rate_limits/waiting_requests_per_source"),
        ("sessions", 63, "/rate_limits/sessions"),
        ("sessions_per_caller", 64, "/rate_limits/sessions_per_caller"),
        ("session_idle_ms", 65_000, "/limits/session_idle_seconds"),
        ("session_ms", 84_000, "/limits/max_session_seconds"),
        ("request_state_ms", 81_000, "/limits/max_request_state_seconds"),
        ("watches_per_client", 66, "/rate_limits/subscriptions_per_client"),
        ("watches", 67, "/limits/max_watches"),
        ("list_bytes", 68_000, "/limits/max_list_bytes"),
        ("templates", 69, "/limits/max_templates_per_source"),
        ("template_bytes", 70, "/limits/max_template_bytes"),
        ("uri_bytes", 71, "/limits/max_uri_bytes"),
        ("json_depth", 72, "/limits/max_json_depth"),
        ("pattern_bytes", 73, "/limits/max_pattern_bytes"),
        ("compiled_pattern_bytes", 74_000, "/limits/max_compiled_pattern_bytes"),
        ("cache_bytes", 75_000, "/limits/max_cache_bytes"),
        ("cached_answer_bytes", 76_000, "/limits/max_cached_answer_bytes"),
        ("index_bytes", 77_000, "/limits/max_index_bytes"),
        ("children", 78, "/limits/max_children"),
        ("unasked_bytes", 82_000, "/limits/max_unasked_bytes"),
        ("unasked_bytes_per_second", 83_000, "/limits/max_unasked_bytes_per_second"),
        ("startup_timeout_ms", 79_000, "/limits/max_startup_seconds"),
        ("stdio_requests", 80, "/rate_limits/concurrent_requests_per_connection"),
    ];
    let security = async |config: &str| -> Value {
        let ran = Folder::with(config).run(&["read", "config://security"]).await;
        ran.json()
    };
    let usual = security("").await;
    let written: Vec<String> =
        keys.iter().map(|(key, value, _)| format!("limits.{key} = {value}")).collect();
    let changed = security(&written.join("\n")).await;
    let schema = Folder::empty().run(&["config", "schema"]).await.json();
    let known = schema["$defs"]["Limits"]["properties"].as_object().expect("the keys of [limits]");
    let missing: Vec<&String> =
        known.keys().filter(|known| keys.iter().all(|(key, ..)| key != known)).collect();
    assert!(missing.is_empty(), "no key goes without being published: {missing:?}");
    for (key, value, place) in keys {
        let expected = if key.ends_with("_ms") { value / 1000 } else { value };
        assert_eq!(changed.pointer(place), Some(&json!(expected)), "{key}");
        assert_ne!(usual.pointer(place), changed.pointer(place), "{key}");
    }
}

#[tokio::test]
async fn who_begins_too_many_sessions_puts_aside_one_of_his_own() {
    let authority = Authority::start().await.expect("an authority can be started");
    let issuer = authority.issuer();
    let folder = Folder::with(&format!(
        "http.auth = \"jwt\"\nauth.issuer = \"{issuer}\"\nlimits.sessions_per_caller = 2"
    ));
    let trove = Trove::start_with(&folder, &["serve", "--http", "127.0.0.1:0"]).await;
    let post = async |who: &str, session: Option<&str>, body: Value| {
        let token = authority.sign(&authority.claims(who, &trove.url));
        let post = Client::new().post(&trove.url).header("Content-Type", "application/json");
        let post = match session {
            Some(session) => post.header("Mcp-Session-Id", session),
            None => post,
        };
        post.bearer_auth(token).body(body.to_string()).send().await.expect("trove answers")
    };
    let begin = async |who: &str| {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "it", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let answer = post(who, None, body).await;
        answer.headers()["mcp-session-id"].to_str().expect("an id").to_owned()
    };
    let lives = async |who: &str, session: &str| {
        let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
        post(who, Some(session), ping).await.status() == 200
    };
    let listen = async |who: &str, session: &str| {
        let token = authority.sign(&authority.claims(who, &trove.url));
        let get = Client::new().get(&trove.url).header("Mcp-Session-Id", session);
        get.bearer_auth(token).send().await.expect("trove answers")
    };
    let others = begin("bob").await;
    let first = begin("ann").await;
    let second = begin("ann").await;
    assert!(lives("ann", &first).await && lives("ann", &second).await, "two are allowed");
    let third = begin("ann").await;
    assert!(lives("ann", &first).await && lives("ann", &third).await, "they take turns");
    let _streams = [listen("ann", &first).await, listen("ann", &second).await];
    assert!(!lives("ann", &third).await, "both places are taken");
    assert!(lives("bob", &others).await, "and nobody else's are");
}
