//! Servers that are odd in one way: what they promise is kept, and what they do not is not
//! promised for them.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{config, toy, whole};
use crate::kit::{Folder, Trove, until};

const SERVER: &str = include_str!("odd.py");
const UPDATED: &str = "notifications/resources/updated";

/// Trove before the odd server.
async fn begun(mode: &str) -> (Arc<Folder>, Trove) {
    let entry = format!(
        "[servers.odd]\ncommand = \"python3\"\nargs = [\"odd.py\", \"{mode}\", \"asked.log\"]\ncwd = \".\"\n"
    );
    let folder = Folder::with(&entry);
    folder.put("odd.py", SERVER);
    let trove = Trove::start_in(&folder).await;
    (folder, trove)
}

/// The same, once its resources are there.
async fn odd(mode: &str) -> (Arc<Folder>, Trove) {
    let (folder, trove) = begun(mode).await;
    trove.ready(&["odd"]).await;
    (folder, trove)
}

/// How often the server was asked this.
fn asked(folder: &Folder, what: &str) -> usize {
    let log = std::fs::read_to_string(folder.path().join("asked.log")).unwrap_or_default();
    log.lines().filter(|line| line.contains(what)).count()
}

async fn subscribe(client: &Client) -> Result<Value, Value> {
    client.ask("resources/subscribe", json!({ "uri": "odd://0" })).await
}

#[tokio::test]
async fn a_server_that_rests_from_listening_is_told_at_once_of_a_new_wish() {
    let (folder, trove) = odd("ends-listening").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    // From then on it is listened to once a minute.
    until("six streams", async || asked(&folder, "subscriptions/listen") >= 6).await;
    subscribe(&client).await.expect("it is watched");
    let told = asked(&folder, "\"resourceSubscriptions\": [\"odd://0\"]");
    assert_eq!(told, 1, "the server knows it before the client does");
    client.hear(UPDATED).await;
}

#[tokio::test]
async fn nobody_is_told_that_something_is_watched_which_the_server_refuses() {
    let (folder, trove) = odd("refuses-slowly").await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(trove.client(Kind::HTTP_LEGACY).await);
    }
    let all = futures_util::future::join_all(clients.iter().map(subscribe)).await;
    for outcome in all {
        let error = outcome.expect_err("the server refuses");
        assert!(error["message"].as_str().is_some_and(|m| m.contains("warming up")), "{error}");
    }
    assert!(asked(&folder, "resources/subscribe") >= 1);
}

#[tokio::test]
async fn what_a_server_refused_for_a_while_can_be_watched_later() {
    let (_folder, trove) = odd("refuses-once").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    subscribe(&client).await.expect_err("it warms up");
    subscribe(&client).await.expect("it is warm");
}

#[tokio::test]
async fn pages_that_are_counted_are_all_read() {
    let (folder, trove) = odd("counts-pages").await;
    let client = trove.any_client().await;
    for page in 0..4 {
        assert_eq!(client.text(&format!("odd://{page}")).await, "odd");
    }
    assert_eq!(client.uris().await.iter().filter(|uri| uri.starts_with("odd:")).count(), 4);
    assert!(asked(&folder, "{\"cursor\": 3}") >= 1, "as the server wrote it");
}

#[tokio::test]
async fn behind_another_entry_is_another_server_with_an_era_of_its_own() {
    let folder = Folder::with(&config(&[toy("one", "--era modern")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    drop(trove);
    // It does not answer what it does not know, so it would never answer as the other did.
    folder.write(&config(&[toy("one", "--era legacy --fault ignore-unknown")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
}

#[tokio::test]
async fn a_level_of_logs_reaches_servers_that_come_later_and_is_the_lowest_that_is_wanted() {
    let (folder, trove) = begun("comes-late").await;
    let first = trove.client(Kind::HTTP_LEGACY).await;
    let second = trove.client(Kind::STDIO_LEGACY).await;
    for (client, level) in [(&first, "debug"), (&second, "error")] {
        client.ask("logging/setLevel", json!({ "level": level })).await.expect("a level");
    }
    until("the level", async || asked(&folder, "logging/setLevel {\"level\": \"debug\"}") >= 1)
        .await;
    assert_eq!(asked(&folder, "\"level\": \"error\""), 0);
}

#[tokio::test]
async fn a_tool_that_two_servers_have_under_one_name_is_nobodys() {
    let bare = |id: &str| whole(id, "").set("tool_prefix = \"\"");
    let trove = Trove::with(&[bare("a"), bare("b")]).await;
    let client = trove.any_client().await;
    let listed = client.ask("tools/list", json!({})).await.expect("a list");
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|t| t["name"].as_str())
        .collect();
    assert!(names.contains(&"a_bump") && names.contains(&"b_bump"), "{names:?}");
    assert!(!names.contains(&"bump"), "{names:?}");
    client.ask("tools/call", json!({ "name": "bump" })).await.expect_err("it is nobody's");
}
