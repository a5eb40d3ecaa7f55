//! Every client meets every server, whichever eras and transports they speak.

use serde_json::{Value, json};

use crate::kit::client::{Client, Door, Era, Kind};
use crate::kit::toy::{Remote, Toy, config, count, toy, whole};
use crate::kit::{Folder, Trove, is_ready};

const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// A server to meet: its id, which is also its scheme, its arguments, and the version
/// that is to be agreed on with it.
struct Row {
    id: String,
    args: String,
    version: &'static str,
}

/// One server of each legacy version.
fn legacy_rows() -> Vec<Row> {
    let row = |version: &'static str| {
        let id = format!("v{version}");
        Row { args: format!("--era legacy --version {version} --scheme {id}"), id, version }
    };
    LEGACY.map(row).into()
}

fn row(id: &str, era: &str, version: &'static str) -> Row {
    Row { id: id.to_owned(), args: format!("--era {era} --scheme {id}"), version }
}

fn all_rows() -> Vec<Row> {
    let mut rows = legacy_rows();
    rows.push(row("modern", "modern", "2026-07-28"));
    rows.push(row("both", "both", "2026-07-28"));
    rows
}

/// Meets every server with every kind of client.
async fn check_all(rows: &[Row], toys: &[Toy]) {
    let trove = Trove::with(toys).await;
    for row in rows {
        let source = trove.source(&row.id, is_ready).await;
        assert_eq!(source["protocol"], row.version, "{}", row.id);
    }
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        for row in rows {
            check_resources(&client, &row.id).await;
            check_not_found(&client, &row.id).await;
            check_features(&client, &row.id).await;
        }
    }
}

async fn check_resources(client: &Client, id: &str) {
    let pid = format!("{id}://pid");
    assert!(client.uris().await.contains(&pid), "{pid} by {:?}", client.kind);
    assert!(client.text(&pid).await.starts_with(&format!("{id}|{pid}|")));
    let templates = client.list("resources/templates/list", "resourceTemplates").await;
    let template = format!("{id}://slow/{{ms}}");
    assert!(templates.iter().any(|entry| entry["uriTemplate"] == template), "{template}");
    let filled = format!("{id}://slow/0");
    assert!(client.text(&filled).await.starts_with(&format!("{id}|{filled}|")));
}

async fn check_not_found(client: &Client, id: &str) {
    let uri = format!("{id}://there-is-no-such-thing");
    let error = client.read(&uri).await.expect_err("there is no such thing");
    let code = if client.kind.era == Era::Modern { -32602 } else { -32002 };
    assert_eq!(error["code"], code, "{uri} by {:?}: {error}", client.kind);
    assert_eq!(error["data"]["uri"], uri, "{:?}: {error}", client.kind);
}

async fn check_features(client: &Client, id: &str) {
    // All the servers have this template, so its name is qualified.
    let reference = json!({ "type": "ref/resource", "uri": format!("{id}+note://{{id}}") });
    let params = json!({ "ref": reference, "argument": { "name": "id", "value": "al" } });
    let result = client.ask("completion/complete", params).await.expect("a completion");
    assert_eq!(result["completion"]["values"], json!(["alpha", "alps"]), "{id}");

    let tools = client.list("tools/list", "tools").await;
    let name = format!("{id}_echo");
    assert!(tools.iter().any(|tool| tool["name"] == name), "{name} in {tools:?}");
    let echoed = client.call(&name, json!({ "text": "hello" })).await;
    assert_eq!(echoed["content"][0]["text"], "hello");

    let name = format!("{id}_summarize");
    let prompts = client.list("prompts/list", "prompts").await;
    assert!(prompts.iter().any(|prompt| prompt["name"] == name), "{name} in {prompts:?}");
    let params = json!({ "name": name, "arguments": { "topic": "birds" } });
    let prompt = client.ask("prompts/get", params).await.expect("a prompt");
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap_or_default();
    assert_eq!(text, format!("{id}|Summarize with regard to birds."));
    assert_eq!(prompt["messages"][1]["content"]["resource"]["uri"], format!("{id}://counter"));
}

#[tokio::test]
async fn t39_every_client_meets_every_server_on_stdio() {
    let rows = all_rows();
    let toys: Vec<Toy> = rows.iter().map(|row| whole(&row.id, &row.args)).collect();
    check_all(&rows, &toys).await;
}

#[tokio::test]
async fn t39_every_client_meets_every_server_on_streamable_http() {
    let rows = all_rows();
    let mut remotes = Vec::new();
    for row in &rows {
        remotes.push(Remote::http(&row.id, &row.args).await);
    }
    let toys: Vec<Toy> = remotes.iter().map(|one| one.toy().set("expose = \"all\"")).collect();
    check_all(&rows, &toys).await;
}

#[tokio::test]
async fn t39_every_client_meets_every_server_on_the_older_transport() {
    // The transport is one of the legacy era, even if the server could speak another elsewhere.
    let rows = legacy_rows();
    let mut remotes = Vec::new();
    for row in &rows {
        remotes.push(Remote::sse(&row.id, &row.args).await);
    }
    let toys: Vec<Toy> = remotes.iter().map(|one| one.toy().set("expose = \"all\"")).collect();
    check_all(&rows, &toys).await;
}

#[tokio::test]
async fn a_client_of_any_legacy_version_is_met_in_its_own() {
    let trove = Trove::with(&[toy("one", "")]).await;
    for version in LEGACY {
        let client = trove.older_client(Door::Http, version).await;
        assert!(client.text("toy://pid").await.starts_with("one|"), "{version}");
    }
    for version in LEGACY {
        let own = Trove::with(&[toy("one", "")]).await;
        let client = own.older_client(Door::Stdio, version).await;
        assert!(client.text("toy://pid").await.starts_with("one|"), "{version}");
    }
}

#[tokio::test]
async fn a_legacy_client_of_an_unknown_version_is_offered_the_newest_legacy_one() {
    let trove = Trove::start("").await;
    let client = trove.client(Kind::STDIO_MODERN).await;
    let id = json!("first");
    let params = json!({ "protocolVersion": "1999-01-01", "capabilities": {},
        "clientInfo": { "name": "it", "version": "1" } });
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params });
    trove.write(&request.to_string()).await;
    let is_answer = |message: &Value| message["id"] == id;
    let (_, answer) = client.transcript.first(0, is_answer, "the answer").await;
    assert_eq!(answer.json["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn discovery_names_every_version_and_what_is_offered() {
    let trove = Trove::with(&[whole("one", "")]).await;
    for kind in [Kind::STDIO_MODERN, Kind::HTTP_MODERN] {
        let client = trove.client(kind).await;
        let result = client.ask("server/discover", json!({})).await.expect("a discovery");
        let versions = result["supportedVersions"].as_array().expect("versions");
        assert!(versions.contains(&json!("2026-07-28")), "{versions:?}");
        let offered = &result["capabilities"];
        assert_eq!(offered["resources"], json!({ "subscribe": true, "listChanged": true }));
        assert!(offered["tools"].is_object() && offered["prompts"].is_object(), "{offered}");
        assert_eq!(result["resultType"], "complete");
    }
}

#[tokio::test]
async fn the_era_can_be_set() {
    let toys = [
        toy("old", "--scheme old").set("protocol = \"legacy\""),
        toy("new", "--scheme new").set("protocol = \"modern\""),
    ];
    let trove = Trove::with(&toys).await;
    let client = trove.any_client().await;
    let old = client.text("old://requests").await;
    assert_eq!((count(&old, "server/discover"), count(&old, "initialize")), (0, 1));
    let new = client.text("new://requests").await;
    assert_eq!((count(&new, "server/discover"), count(&new, "initialize")), (1, 0));
}

#[tokio::test]
async fn a_server_that_does_not_speak_the_set_era_is_reported() {
    let toys = [
        toy("old", "--era legacy").set("protocol = \"modern\""),
        toy("new", "--era modern").set("protocol = \"legacy\""),
    ];
    let trove = Trove::start(&config(&toys)).await;
    for id in ["old", "new"] {
        let source = trove.source(id, |source| source["failures"] != 0).await;
        let error = source["last_error"].as_str().unwrap_or_default();
        assert!(error.contains("method not found"), "{id}: {error}");
    }
}

#[tokio::test]
async fn a_server_that_ignores_what_it_does_not_know_is_met_all_the_same() {
    let args = "--era legacy --fault ignore-unknown";
    let remotes = [Remote::http("http", args).await, Remote::sse("sse", args).await];
    let [http, sse] = remotes.each_ref().map(Remote::toy);
    let trove = Trove::with(&[toy("stdio", args), http, sse]).await;
    let client = trove.any_client().await;
    for id in ["stdio", "http", "sse"] {
        assert!(client.text(&format!("{id}+toy://pid")).await.starts_with(&format!("{id}|")));
    }
}

#[tokio::test]
async fn one_that_ignores_the_first_greeting_is_met_though_it_is_given_little_time() {
    let toys = [toy("stdio", "--era legacy --fault ignore-unknown")];
    let trove = Trove::start(&format!("limits.startup_timeout_ms = 3000\n{}", config(&toys))).await;
    trove.ready(&["stdio"]).await;
    assert!(trove.any_client().await.text("stdio+toy://pid").await.starts_with("stdio|"));
}

#[tokio::test]
async fn the_era_of_a_server_is_remembered_over_a_restart() {
    let toys = [toy("old", "--era legacy --scheme old"), toy("new", "--scheme new")];
    let folder = Folder::with(&config(&toys));
    let requests = async || {
        let trove = Trove::start_in(&folder).await;
        trove.ready(&["old", "new"]).await;
        let client = trove.any_client().await;
        (client.text("old://requests").await, client.text("new://requests").await)
    };
    let (old, new) = requests().await;
    assert_eq!((count(&old, "server/discover"), count(&old, "initialize")), (1, 1));
    assert_eq!((count(&new, "server/discover"), count(&new, "initialize")), (1, 0));
    let (old, new) = requests().await;
    assert_eq!((count(&old, "server/discover"), count(&old, "initialize")), (0, 1));
    assert_eq!((count(&new, "server/discover"), count(&new, "initialize")), (1, 0));
}

#[tokio::test]
async fn a_server_that_was_gone_for_a_while_is_met_as_it_was_before() {
    let mut remote = Remote::http("one", "--era legacy").await;
    let trove = Trove::with(&[remote.toy()]).await;
    remote.stop();
    let source = trove.source("one", |source| source["failures"].as_u64() >= Some(2)).await;
    assert!(
        source["last_error"].as_str().is_some_and(|e| e.contains("cannot connect")),
        "{source}"
    );
    remote.start_again().await;
    trove.ready(&["one"]).await;
    let requests = trove.any_client().await.text("toy://requests").await;
    assert_eq!((count(&requests, "server/discover"), count(&requests, "initialize")), (0, 1));
}

#[tokio::test]
async fn a_server_that_changed_its_era_is_met_again() {
    let folder = Folder::with(&config(&[toy("one", "--era legacy")]));
    Trove::start_in(&folder).await.ready(&["one"]).await;
    folder.write(&config(&[toy("one", "--era modern")]));
    let trove = Trove::start_in(&folder).await;
    assert_eq!(trove.source("one", is_ready).await["protocol"], "2026-07-28");
}

#[tokio::test]
async fn a_server_may_answer_in_batches() {
    const ARGS: &str = "--era legacy --version 2025-03-26 --resources 3 --fault batch";
    // Before other messages the answer comes in a stream.
    let streamed = format!("{ARGS} --fault wrongid");
    let remotes = [
        Remote::http("body", &format!("{ARGS} --scheme body")).await,
        Remote::http("stream", &format!("{streamed} --scheme stream")).await,
        Remote::sse("sse", &format!("{ARGS} --scheme sse")).await,
    ];
    let mut toys: Vec<Toy> = remotes.iter().map(Remote::toy).collect();
    toys.push(toy("stdio", &format!("{ARGS} --scheme stdio")));
    let trove = Trove::with(&toys).await;
    let client = trove.any_client().await;
    for toy in &toys {
        let id = toy.id();
        assert!(
            client.text(&format!("{id}://item/1")).await.starts_with(&format!("{id}|")),
            "{id}"
        );
    }
}

#[tokio::test]
async fn a_server_that_forgets_sessions_or_hangs_up_first_is_read_all_the_same() {
    let faults = ["forget=404", "forget=400", "hangup"];
    let mut remotes = Vec::new();
    for (n, fault) in faults.iter().enumerate() {
        let args = format!("--era legacy --resources 3 --scheme s{n} --fault {fault}");
        remotes.push(Remote::http(&format!("far{n}"), &args).await);
    }
    let toys: Vec<_> = remotes.iter().map(Remote::toy).collect();
    let trove = Trove::with(&toys).await;
    let client = trove.any_client().await;
    for (n, fault) in faults.iter().enumerate() {
        for item in [0, 1, 2, 0] {
            let text = client.text(&format!("s{n}://item/{item}")).await;
            assert!(text.starts_with(&format!("far{n}|s{n}://item/{item}|")), "{fault}: {text}");
        }
    }
}
