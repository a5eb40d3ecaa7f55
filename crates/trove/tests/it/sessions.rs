//! Trove is killed and started again, and its clients go on: with their sessions, cursors,
//! subscriptions and unfinished requests.

use std::sync::Arc;

use reqwest::Client as Http;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kit::client::Kind;
use crate::kit::toy::{config, whole};
use crate::kit::{Folder, Trove, until};
use crate::peers::drivers::{self, Client, Target};
use crate::peers::processes::free_port;
use trove_testkit::proxy::{Network, Proxy};

const LIST_CHANGED: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// A Trove that is always at one port.
struct Place {
    folder: Arc<Folder>,
    address: String,
    http: Http,
}

impl Place {
    fn of(folder: Arc<Folder>) -> Place {
        let address = format!("127.0.0.1:{}", free_port());
        // A connection that a killed Trove leaves behind must not be used again.
        let http = Http::builder().pool_max_idle_per_host(0).build().expect("a client");
        Place { folder, address, http }
    }

    /// Dropping it is `kill -9`.
    async fn start(&self) -> Trove {
        let args = ["serve", "--http", &self.address, "--no-auth"];
        Trove::start_with(&self.folder, &args).await
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Begins a legacy session.
    async fn begin(&self) -> String {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "it", "version": "1" } });
        let answer = self.post(None, "initialize", params).await;
        answer.headers()["mcp-session-id"].to_str().expect("an id").to_owned()
    }

    /// The status with which a request of a session is answered.
    async fn ping(&self, session: &str) -> u16 {
        self.post(Some(session), "ping", json!({})).await.status().as_u16()
    }

    async fn post(&self, session: Option<&str>, method: &str, params: Value) -> reqwest::Response {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let post = self.http.post(self.url()).header("Content-Type", "application/json");
        let post = match session {
            Some(session) => post.header("Mcp-Session-Id", session),
            None => post,
        };
        post.body(body.to_string()).send().await.expect("trove answers")
    }
}

/// The place of a toy with more resources than a page holds.
fn of_a_toy() -> Place {
    Place::of(Folder::with(&config(&[whole("one", "--era legacy --resources 1500")])))
}

#[tokio::test]
async fn a_client_goes_on_after_a_kill_and_a_restart() {
    let place = of_a_toy();
    let trove = place.start().await;
    trove.ready(&["one"]).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    client.follow(&["toy://counter"]).await;
    let first = client.ask("resources/list", json!({})).await.expect("a page");
    let cursor = first["nextCursor"].clone();
    assert!(cursor.is_string());
    drop(trove);

    let trove = place.start().await;
    trove.ready(&["one"]).await;
    let second = client.ask("resources/list", json!({ "cursor": cursor })).await;
    let second = second.expect("the cursor goes on");
    let uris = |page: &Value| -> Vec<String> {
        let entries = page["resources"].as_array().expect("entries").iter();
        entries.map(|entry| entry["uri"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut seen = uris(&first);
    seen.extend(uris(&second));
    for n in 0..1500 {
        let uri = format!("toy://item/{n}");
        assert_eq!(seen.iter().filter(|seen| **seen == uri).count(), 1, "{uri}");
    }
    client.listen_unasked();
    client.hear(LIST_CHANGED).await;
    assert_eq!(client.hear(UPDATED).await["params"]["uri"], "toy://counter", "it may have changed");
    client.call("one_bump", json!({})).await;
    assert_eq!(client.hear(UPDATED).await["params"]["uri"], "toy://counter", "it did change");
}

#[tokio::test]
async fn what_was_ended_stays_ended_and_what_was_watched_no_more_is_not() {
    let place = of_a_toy();
    let trove = place.start().await;
    trove.ready(&["one"]).await;
    let ended = place.begin().await;
    let delete = Http::new().delete(place.url()).header("Mcp-Session-Id", &ended);
    assert_eq!(delete.send().await.expect("trove answers").status(), 204);
    let client = trove.client(Kind::HTTP_LEGACY).await;
    client.follow(&["toy://counter", "toy://pid"]).await;
    client.unfollow(None, &["toy://counter"]).await;
    drop(trove);

    let trove = place.start().await;
    trove.ready(&["one"]).await;
    assert_eq!(place.ping(&ended).await, 404);
    client.listen_unasked();
    assert_eq!(client.hear(UPDATED).await["params"]["uri"], "toy://pid");
    let witness = trove.any_client().await;
    let asked = witness.text("toy://requests").await;
    assert_eq!(crate::kit::toy::count(&asked, "resources/subscribe"), 1, "{asked}");
}

#[tokio::test]
async fn an_unfinished_request_is_finished_after_a_restart() {
    let folder = Folder::with("tools.toolsets = [\"guide\", \"guide_admin\"]\n");
    folder.put("guide/docs/api.md", "# API\n");
    let file = folder.path().join("guide/docs/api.md");
    let place = Place::of(folder);
    let mut params = json!({
        "name": "guide_document_remove",
        "arguments": { "category": "docs", "path": "api", "explicit_action": "REMOVE_DOCUMENT" },
    });
    let trove = place.start().await;
    let client = trove.client_with(json!({ "elicitation": {} }), Kind::HTTP_MODERN).await;
    let asked = client.ask("tools/call", params.clone()).await.expect("a question");
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    drop(trove);

    let _trove = place.start().await;
    params["inputResponses"] =
        json!({ "consent": { "action": "accept", "content": { "confirm": true } } });
    params["requestState"] = asked["requestState"].clone();
    let mut changed = params.clone();
    let state = asked["requestState"].as_str().expect("a state");
    changed["requestState"] = json!(format!("{state}A"));
    let refused = client.ask("tools/call", changed).await.expect_err("it was changed");
    assert_eq!(refused["code"], -32602, "{refused}");
    assert!(file.exists());
    let done = client.ask("tools/call", params).await.expect("the state is taken");
    assert_eq!(done["isError"], false, "{done}");
    assert!(!file.exists());
}

#[tokio::test]
async fn a_thousand_sessions_outlive_a_restart() {
    let place = Place::of(Folder::with(""));
    let trove = place.start().await;
    let mut sessions = Vec::new();
    for _ in 0..1000 {
        sessions.push(place.begin().await);
    }
    drop(trove);
    let _trove = place.start().await;
    for session in &sessions {
        assert_eq!(place.ping(session).await, 200);
    }
    let (first, last) = sessions[0].split_at(40);
    let changed = if last.starts_with('A') { "B" } else { "A" };
    assert_eq!(place.ping(&format!("{first}{changed}{}", &last[1..])).await, 404);
}

/// A configuration with the keys of these files.
fn ring(files: &[&str]) -> String {
    let keys: Vec<String> = files.iter().map(|file| format!("${{file:{file}}}")).collect();
    format!("[keys]\nring = {}\n", json!(keys))
}

fn with_keys(files: &[&str]) -> Place {
    let folder = Folder::with(&ring(files));
    folder.put("a.key", "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0\n");
    folder.put("b.key", "00112233445566778899aabbccddeeff00\n");
    Place::of(folder)
}

#[tokio::test]
async fn a_session_lives_as_long_as_its_key_is_in_the_ring() {
    let place = with_keys(&["a.key"]);
    let trove = place.start().await;
    let session = place.begin().await;
    drop(trove);
    for (files, status) in [(&["b.key", "a.key"][..], 200), (&["b.key"], 404), (&["a.key"], 200)] {
        place.folder.write(&ring(files));
        let _trove = place.start().await;
        assert_eq!(place.ping(&session).await, status, "{files:?}");
    }
    assert!(!place.folder.home().join("keys").exists(), "no key of our own is made beside them");
}

#[tokio::test]
async fn keys_are_rotated_without_a_restart() {
    let place = with_keys(&["a.key"]);
    let trove = place.start().await;
    let before = place.begin().await;
    let reload = async |files: &[&str], told: &str| {
        let from = trove.log.len();
        place.folder.write(&ring(files));
        trove.signal(Signal::HUP);
        let is_told = |line: &Value| line["message"].as_str().is_some_and(|it| it.contains(told));
        trove.log.first(from, is_told, told).await;
    };
    reload(&["b.key", "a.key"], "configuration taken over").await;
    assert_eq!(place.ping(&before).await, 200);
    let after = place.begin().await;
    // A ring that cannot be used changes nothing.
    reload(&["none.key"], "none.key cannot be read").await;
    assert_eq!(place.ping(&before).await, 200);
    reload(&["b.key"], "configuration taken over").await;
    assert_eq!((place.ping(&before).await, place.ping(&after).await), (404, 200));
}

#[tokio::test]
async fn keys_that_cannot_be_used_are_told_before_anything_is_served() {
    for (ring, told) in [
        ("[\"hunter2hunter2\"]", "key 1 of the ring has 14 letters, fewer than 32"),
        ("[\"${file:none.key}\"]", "none.key cannot be read"),
        ("[\"${env:TROVE_NO_SUCH_KEY}\"]", "`TROVE_NO_SUCH_KEY` is not set"),
        ("[\"${file:a.key}\", \"${file:a.key}\"]", "keys 1 and 2 of the ring are the same"),
    ] {
        let folder = Folder::with(&format!("keys.ring = {ring}\n"));
        folder.put("a.key", "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0\n");
        let ran = folder.run(&["serve", "--http", "127.0.0.1:0", "--no-auth"]).await;
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains(told) && !ran.stderr.contains("hunter2"), "{}", ran.stderr);
        let doctor = folder.run(&["doctor"]).await;
        let said = format!("{}{}", doctor.text(), doctor.stderr);
        assert!(said.contains(told) && !said.contains("hunter2"), "{said}");
    }
    // What can be guessed is used, and said to be weak.
    let folder = Folder::with(&format!("keys.ring = [\"{}\"]\n", "ab".repeat(20)));
    let trove = Trove::start_in(&folder).await;
    let is_told = |line: &Value| line["message"].as_str().is_some_and(|it| it.contains("is weak"));
    trove.log.first(0, is_told, "a warning").await;
    let shown = folder.run(&["config", "show"]).await;
    assert!(shown.text().contains("ring = [\"***\"]"), "{}", shown.text());
}

/// A real client lists a page, Trove is killed and started again, and the client goes on in the
/// same session.
async fn check(client: Client) {
    let place = of_a_toy();
    let trove = place.start().await;
    trove.ready(&["one"]).await;
    // Clients give up if they find no one there when they come back, so their connections wait.
    let address = place.address.parse().expect("an address");
    let proxy = Proxy::before(address, Network::Patient).await.expect("a proxy");
    let target = Target::http(proxy.address().port()).once(drivers::Until::Tool("one_bump"));
    let pause = place.folder.path().join("pause");
    let run = tokio::task::spawn_blocking({
        let pause = pause.clone();
        move || drivers::go_on(client, &target, "toy://counter", "one_bump", &pause)
    });
    let is_paused = async || pause.with_extension("begun").exists() || run.is_finished();
    until("the client to pause", is_paused).await;
    drop(trove);
    let trove = place.start().await;
    trove.ready(&["one"]).await;
    std::fs::write(pause.with_extension("over"), "").expect("it can be written");
    let found = run.await.expect("the client goes on");
    // The second generation of the TypeScript client asks for all pages by itself.
    let has_page = found["first"].as_u64() >= Some(1000);
    assert!(has_page && found["second"] == true, "{found}");
    assert_eq!((&found["listChanged"], &found["updated"]), (&json!(true), &json!("toy://counter")));
    // None of them met the second Trove anew.
    let page = Http::new().get(trove.url.replace("/mcp", "/metrics")).send().await;
    let page = page.expect("trove answers").text().await.expect("a page");
    assert!(page.contains("method=\"resources/list\""), "{page}");
    assert!(!page.contains("method=\"initialize\""), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ts_v1_goes_on_after_a_restart() {
    check(Client::TsV1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ts_v2_goes_on_after_a_restart() {
    check(Client::TsV2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn py_mcp_goes_on_after_a_restart() {
    check(Client::PyMcp).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn py_fastmcp_goes_on_after_a_restart() {
    check(Client::PyFastmcp).await;
}
