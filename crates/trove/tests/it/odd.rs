//! Servers that are odd in one way: their promises are kept, and no others are made for them.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{config, toy, whole};
use crate::kit::{Folder, Trove, until};

const SERVER: &str = include_str!("odd.py");
const UPDATED: &str = "notifications/resources/updated";

/// Trove before the odd server.
async fn begun(mode: &str) -> (Arc<Folder>, Trove) {
    begun_with(mode, "").await
}

/// Starts it with more in its entry.
async fn begun_with(mode: &str, more: &str) -> (Arc<Folder>, Trove) {
    let entry = format!(
        "[servers.odd]\ncommand = \"python3\"\nargs = [\"odd.py\", \"{mode}\", \"asked.log\"]\ncwd = \".\"\nexpose = \"all\"\n{more}"
    );
    let folder = Folder::with(&entry);
    folder.put("odd.py", SERVER);
    let trove = Trove::start_in(&folder).await;
    (folder, trove)
}

/// Starts it and waits until its resources are there.
async fn odd(mode: &str) -> (Arc<Folder>, Trove) {
    odd_as(mode, "").await
}

/// Starts it with more in its entry, and waits for its resources.
async fn odd_as(mode: &str, more: &str) -> (Arc<Folder>, Trove) {
    let (folder, trove) = begun_with(mode, more).await;
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
async fn what_changed_while_a_server_did_not_listen_is_told_once_it_does() {
    let (folder, trove) = odd("listens-badly").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    subscribe(&client).await.expect("it is watched");
    let streams = || asked(&folder, "\"resourceSubscriptions\": [\"odd://0\"]");
    client.hear(UPDATED).await;
    assert!(streams() >= 3, "not while the server refuses to report");
    client.hear(UPDATED).await;
    assert_eq!(streams(), 4, "what it left out it is asked for again");
}

#[tokio::test]
async fn what_changed_between_two_streams_is_told() {
    let (_folder, trove) = odd("one-stream").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    subscribe(&client).await.expect("it is watched");
    assert_eq!(client.hear(UPDATED).await["params"]["uri"], "odd://0");
    client.ask("resources/subscribe", json!({ "uri": "odd://1" })).await.expect("it is watched");
    let mut told = Vec::new();
    while told.len() < 2 {
        told.push(client.hear(UPDATED).await["params"]["uri"].clone());
    }
    assert!(told.contains(&json!("odd://0")), "{told:?}");
}

#[tokio::test]
async fn a_server_with_one_place_for_a_stream_reports_on_what_is_watched_later() {
    let (folder, trove) = odd("one-place").await;
    until("a stream", async || asked(&folder, "subscriptions/listen") >= 1).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    subscribe(&client).await.expect("it is watched");
    assert_eq!(client.hear(UPDATED).await["params"]["uri"], "odd://0");
}

#[tokio::test]
async fn a_server_that_never_reports_is_not_promised_for() {
    let (_folder, trove) = odd("never-listens").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    let error = subscribe(&client).await.expect_err("nobody would hear of it");
    assert_eq!(error["code"], -32601, "{error}");
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

const POLL: &str = "watch = \"poll\"\npoll_interval_ms = 100\nindex = \"off\"\n";

#[tokio::test]
async fn a_resource_that_does_not_answer_holds_up_the_notice_of_no_other() {
    for (more, method) in [("", "resources/subscribe"), (POLL, "resources/read")] {
        let (folder, trove) = begun_with("leaves-one-unanswered", more).await;
        trove.ready(&["odd"]).await;
        let (first, second) =
            (trove.client(Kind::HTTP_LEGACY).await, trove.client(Kind::HTTP_LEGACY).await);
        let others = async {
            let hangs = format!("{method} {{\"uri\": \"odd://0\"");
            until("the first to wait", async || asked(&folder, &hangs) >= 1).await;
            let watched = second.ask("resources/subscribe", json!({ "uri": "odd://1" })).await;
            watched.expect("it is watched");
            assert_eq!(second.hear(UPDATED).await["params"]["uri"], "odd://1");
        };
        tokio::select! {
            _ = subscribe(&first) => panic!("the others were held up"),
            () = others => {}
        }
    }
}

#[tokio::test]
async fn a_server_that_only_promises_to_report_is_read_now_and_then_if_told_so() {
    let (folder, trove) = begun_with("says-nothing", POLL).await;
    trove.ready(&["odd"]).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    subscribe(&client).await.expect("it is watched");
    assert_eq!(client.hear(UPDATED).await["params"]["uri"], "odd://0");
    until("it to be asked too", async || asked(&folder, "resources/subscribe") == 1).await;
}

#[tokio::test]
async fn what_was_promised_while_a_server_was_away_is_kept_though_it_cannot_report() {
    let (folder, trove) = begun("comes-late-and-mute").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    let watched = client.ask("resources/subscribe", json!({ "uri": "odd+odd://0" })).await;
    watched.expect("it may be watched");
    for _ in 0..2 {
        assert_eq!(client.hear(UPDATED).await["params"]["uri"], "odd+odd://0");
    }
    assert_eq!(asked(&folder, "resources/subscribe"), 0);
    client.ask("resources/subscribe", json!({ "uri": "odd://1" })).await.expect_err("it cannot");
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
async fn a_list_that_breaks_off_is_read_again_and_costs_nothing_that_is_known() {
    let (folder, trove) = odd("breaks-off").await;
    let client = trove.any_client().await;
    let count = async || client.uris().await.iter().filter(|uri| uri.starts_with("odd:")).count();
    let has_omission = |source: &Value| source["omissions"].to_string().contains("page 2 failed");
    trove.source("odd", has_omission).await;
    assert_eq!(count().await, 1, "what was read is there");
    folder.put("whole", "");
    until("the whole list", async || count().await == 2).await;
    // It says that its list changed, and then breaks off again.
    std::fs::remove_file(folder.path().join("whole")).expect("it was there");
    client.text("odd://0").await;
    trove.source("odd", has_omission).await;
    assert_eq!(count().await, 2, "the last list stands");
    let tries = asked(&folder, "resources/list {}");
    until("another try", async || asked(&folder, "resources/list {}") > tries).await;
}

#[tokio::test]
async fn t08_of_members_that_are_there_twice_every_client_gets_the_same() {
    let (_folder, trove) = odd("says-twice").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    let listed = client.ask("resources/list", json!({})).await.expect("a list");
    let entries = listed["resources"].as_array().expect("a list");
    let uris: Vec<&Value> = entries.iter().map(|entry| &entry["uri"]).collect();
    let guides = uris.iter().filter(|uri| **uri == "guide://help").count();
    assert!(guides <= 1 && uris.contains(&&json!("odd://0")), "{listed}");
    assert_eq!(client.text("odd://0").await, "harmless");
    let call = json!({ "name": "get_resource", "arguments": { "uri": "odd://0" } });
    let bridged = client.ask("tools/call", call).await.expect("an answer").to_string();
    assert!(bridged.contains("harmless") && !bridged.contains("the guide"), "{bridged}");
}

#[tokio::test]
async fn of_a_server_that_talks_without_end_a_beginning_without_secrets_is_shown() {
    let token = "canary-0f31-token";
    let entry = format!("env = {{ API_TOKEN = \"{token}\" }}\n");
    let (_folder, trove) = odd_as("talks-long", &entry).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    let error = client.ask("resources/read", json!({ "uri": "odd://0" })).await;
    let error = error.expect_err("it refuses").to_string();
    assert!(error.len() < 20_000, "{} bytes", error.len());
    assert!(error.contains("***") && !error.contains("canary"), "{error}");
    let health = trove.health().await.to_string();
    assert!(health.contains("nnnn") && health.len() < 20_000, "{} bytes", health.len());
}

#[tokio::test]
async fn t62_no_secret_is_told_in_lists_log_messages_or_failures_of_tools() {
    let token = "canary-0f31-token";
    let entry = format!("env = {{ API_TOKEN = \"{token}\" }}\n");
    let (_folder, trove) = odd_as("tells-secrets", &entry).await;
    let client = trove.client(Kind::STDIO_LEGACY).await;
    client.ask("logging/setLevel", json!({ "level": "debug" })).await.expect("a level");
    let call = json!({ "name": "odd_grow", "arguments": {} });
    let failed = client.ask("tools/call", call).await.expect("an answer").to_string();
    assert!(failed.contains("failed by ***"), "{failed}");
    let logged = client.hear("notifications/message").await.to_string();
    assert!(logged.contains("by ***"), "{logged}");
    let mut told = vec![failed, logged, trove.health().await.to_string()];
    for list in ["resources/list", "tools/list"] {
        let listed = client.ask(list, json!({})).await.expect("a list").to_string();
        assert!(listed.contains("by ***"), "{listed}");
        told.push(listed);
    }
    let call = json!({ "name": "get_resource", "arguments": {} });
    told.push(client.ask("tools/call", call).await.expect("a list").to_string());
    assert!(told.iter().all(|text| !text.contains("canary")), "{told:?}");
    let left_out = "1 entries left out: a secret";
    assert!(told[2].contains(left_out), "what cannot be named is said to be left out: {}", told[2]);
}

#[tokio::test]
async fn the_schema_of_a_tool_is_as_its_server_wrote_it_or_flat_where_asked_for() {
    let schema = async |more: &str| {
        let (_folder, trove) = odd_as("grows", more).await;
        let client = trove.any_client().await;
        let tools = client.list("tools/list", "tools").await;
        let tool = tools.iter().find(|tool| tool["name"] == "odd_grow").expect("the tool");
        tool["inputSchema"].clone()
    };
    assert_eq!(schema("").await["properties"]["by"]["$ref"], "#/$defs/n");
    let flat = json!({ "type": "object", "properties": { "by": { "type": "integer" } } });
    assert_eq!(schema("schemas = \"flat\"\n").await, flat);
}

#[tokio::test]
async fn what_a_tool_adds_is_listed_though_its_server_says_nothing_of_it() {
    let (_folder, trove) = odd("grows").await;
    let client = trove.any_client().await;
    client.call("odd_grow", json!({})).await;
    until("what was added", async || client.uris().await.contains(&"odd://1".to_owned())).await;
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
async fn nothing_that_one_server_gave_is_given_as_that_of_another() {
    let folder = Folder::with(&config(&[toy("one", "--ttl-ms 3600000 --resources 3")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let client = trove.any_client().await;
    assert!(client.uris().await.contains(&"toy://item/0".to_owned()));
    client.text("toy://item/0").await;
    // The other does not answer, while Trove runs and after a restart.
    folder.write("[servers.one]\ncommand = \"sleep\"\nargs = [\"1000\"]\n");
    let is_gone = async || !client.uris().await.iter().any(|uri| uri.starts_with("toy:"));
    until("another list", is_gone).await;
    client.read("toy://item/0").await.expect_err("it is not that of the other");
    drop(trove);
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    assert!(!client.uris().await.iter().any(|uri| uri.starts_with("toy:")));
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
