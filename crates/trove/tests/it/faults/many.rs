//! Many clients, many servers, many resources: each answer is its owner's.

use reqwest::Client;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::kit::Trove;
use crate::kit::client::{Kind, MODERN};
use crate::kit::toy::{Toy, toy};

const SERVERS: usize = 12;
const CLIENTS: usize = 60;
const READS: usize = 40;

#[tokio::test]
async fn t37_many_clients_of_many_servers_each_get_their_own_answers() {
    let make = |n: usize| toy(&format!("s{n}"), &format!("--bare --resources 500 --scheme s{n}"));
    let toys: Vec<Toy> = (0..SERVERS).map(make).collect();
    let trove = Trove::with(&toys).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        let kind = Kind::ALL[2 + number % 2];
        let client = trove.client(kind).await;
        tasks.spawn(async move {
            for turn in 0..READS {
                let (server, item) = ((number + turn) % SERVERS, (number * 31 + turn * 7) % 500);
                let uri = format!("s{server}://item/{item}");
                let text = if turn % 2 == 0 {
                    client.text(&uri).await
                } else {
                    let got = client.call("get_resource", json!({ "uri": uri })).await;
                    got["structuredContent"]["data"].as_str().unwrap_or_default().to_owned()
                };
                assert_eq!(text, format!("s{server}|{uri}|"), "client {number}");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("every client has its answers");
    }
    let health = trove.health().await;
    assert_eq!(health["status"], "ok", "{health}");
}

/// Clients that come all at once, each with a connection of its own, to so many servers.
const CROWD: usize = 1000;
const CROWDED: usize = 50;
/// Of each server.
const RESOURCES: usize = 120;

/// Some systems give a program few descriptors unless it asks.
fn ask_for_descriptors() {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).expect("ours to raise");
}

/// The text that a client of this name reads, natively or by the tool.
async fn read(http: &Client, url: &str, (name, uri): (usize, &str), by_tool: bool) -> String {
    let (method, repeated, mut params) = match by_tool {
        true => {
            let arguments = json!({ "uri": uri });
            (
                "tools/call",
                "get_resource",
                json!({ "name": "get_resource", "arguments": arguments }),
            )
        }
        false => ("resources/read", uri, json!({ "uri": uri })),
    };
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": format!("c{name}"), "version": "1" },
    });
    // They all number their requests alike.
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let post = http.post(url).header("Content-Type", "application/json");
    let post = post.header("MCP-Protocol-Version", MODERN).header("Mcp-Method", method);
    let sent = post.header("Mcp-Name", repeated).body(body.to_string()).send().await;
    let answer: Value = sent.expect("trove answers").json().await.expect("JSON");
    let text = match by_tool {
        true => &answer["result"]["structuredContent"]["data"],
        false => &answer["result"]["contents"][0]["text"],
    };
    text.as_str().unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
}

#[tokio::test]
async fn t37_a_thousand_clients_of_fifty_servers_at_once_each_get_their_own_answers() {
    ask_for_descriptors();
    let make =
        |n: usize| toy(&format!("s{n}"), &format!("--bare --resources {RESOURCES} --scheme s{n}"));
    let toys: Vec<Toy> = (0..CROWDED).map(make).collect();
    let trove = Trove::with(&toys).await;
    let http = Client::new();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..CROWD {
        let (http, url) = (http.clone(), trove.url.clone());
        tasks.spawn(async move {
            for turn in 0..2 {
                let (server, item) = ((number + turn) % CROWDED, (number * 31 + turn) % RESOURCES);
                let uri = format!("s{server}://item/{item}");
                let text = read(&http, &url, (number, &uri), turn == 1).await;
                assert_eq!(text, format!("s{server}|{uri}|"), "client {number}");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("every client has its answers");
    }
    let health = trove.health().await;
    assert_eq!(health["status"], "ok", "{health}");
}
