//! The door for clients of the oldest transport: off unless opened, guarded like the others.

use serde_json::{Value, json};

use crate::kit::{Folder, LIMIT, Trove, within};

/// The events of a stream, as pairs of a name and the data.
struct Stream {
    response: reqwest::Response,
    text: String,
}

impl Stream {
    async fn open(url: &str) -> Stream {
        let response = reqwest::get(url).await.expect("Trove answers");
        assert_eq!(response.status(), 200);
        Stream { response, text: String::new() }
    }

    async fn next(&mut self) -> (String, String) {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let line = |key: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(key));
                    line.unwrap_or_default().to_owned()
                };
                let found = (line("event: "), line("data: "));
                self.text = rest.to_owned();
                return found;
            }
            let chunk = within(LIMIT, "an event", self.response.chunk()).await;
            let chunk = chunk.expect("the stream is whole").expect("the stream goes on");
            self.text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }

    async fn message(&mut self) -> Value {
        let (name, data) = self.next().await;
        assert_eq!(name, "message");
        serde_json::from_str(&data).expect("a message is JSON")
    }
}

async fn post(url: &str, message: Value) -> u16 {
    let sent = reqwest::Client::new().post(url).json(&message).send().await;
    sent.expect("Trove answers").status().as_u16()
}

#[tokio::test]
async fn there_is_no_door_at_sse_unless_it_is_opened() {
    let trove = Trove::start("").await;
    for path in ["sse", "messages?sessionId=1"] {
        let url = trove.url.replace("mcp", path);
        let status = reqwest::get(&url).await.expect("Trove answers").status();
        assert_eq!(status, 404, "{path}");
    }
}

#[tokio::test]
async fn answers_come_on_the_stream_of_whoever_asks() {
    let trove = Trove::start("http.sse = true\n").await;
    let mut stream = Stream::open(&trove.url.replace("mcp", "sse")).await;
    let (name, place) = stream.next().await;
    assert_eq!(name, "endpoint");
    let url = trove.url.replace("/mcp", &place);
    let ask = |id: u32, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    assert_eq!(post(&url, ask(1, "tools/list", json!({}))).await, 202);
    assert!(stream.message().await["error"]["message"].to_string().contains("initialize"));
    let hello = json!({
        "protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": { "name": "old", "version": "1" },
    });
    assert_eq!(post(&url, ask(2, "initialize", hello)).await, 202);
    let greeted = stream.message().await;
    assert_eq!(greeted["result"]["serverInfo"]["name"], "trove", "{greeted}");
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(post(&url, initialized).await, 202);
    let read = ask(3, "resources/read", json!({ "uri": "info://health" }));
    assert_eq!(post(&url, read).await, 202);
    let answer = stream.message().await;
    assert_eq!((&answer["id"], answer["result"]["contents"].is_array()), (&json!(3), true));
    assert_eq!(post(&trove.url.replace("mcp", "messages?sessionId=none"), json!({})).await, 404);
    let broken = reqwest::Client::new().post(&url).body("{").send().await.expect("an answer");
    assert_eq!(broken.status(), 400);
    // A client that hangs up has no stream any more.
    drop(stream);
    crate::kit::until("the stream to be forgotten", async || {
        post(&url, ask(4, "ping", json!({}))).await == 404
    })
    .await;
}

#[tokio::test]
async fn who_shows_no_token_is_turned_away_there_too() {
    let folder = Folder::with("http.sse = true\n");
    let trove = Trove::start_with(&folder, &["serve", "--stdio", "--http", "127.0.0.1:0"]).await;
    let url = trove.url.replace("mcp", "sse");
    assert_eq!(reqwest::get(&url).await.expect("Trove answers").status(), 401);
    let messages = trove.url.replace("mcp", "messages?sessionId=1");
    assert_eq!(post(&messages, json!({})).await, 401);
}
