//! The audit log of the program: every way of asking leaves a line, and no contents do.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove, until};

fn lines(folder: &Arc<Folder>, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.home().join(file)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// The line that is so, once it is written.
async fn line(folder: &Arc<Folder>, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    until(what, async || lines(folder, "audit.jsonl").iter().any(&is_so)).await;
    lines(folder, "audit.jsonl").into_iter().find(|line| is_so(line)).expect("it was there")
}

#[tokio::test]
async fn every_way_of_asking_leaves_who_what_when_and_how_it_ended() {
    let text = format!(
        "[audit]\ndigests = true\n[[policy]]\nmatch = \"toy://item/1\"\nroles = [\"admin\"]\n{}",
        config(&[toy("one", "--resources 3 --ttl-ms 60000")])
    );
    let folder = Folder::with(&text);
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    // The first answer tells that answers of this server may be kept.
    for _ in 0..3 {
        client.text("toy://item/0").await;
    }
    client.ask("resources/read", json!({ "uri": "toy://item/1" })).await.expect_err("closed");
    client.ask("resources/read", json!({ "uri": "no://such" })).await.expect_err("not there");
    client.call("get_resource", json!({ "uri": "toy://item/2" })).await;
    client.call("discover_resources", json!({ "query": "hunter-asked" })).await;
    let over_stdio = trove.client(Kind::STDIO_LEGACY).await;
    over_stdio.text("toy://item/2").await;

    let is = |via: &'static str, outcome: &'static str, target: &'static str| {
        move |line: &Value| {
            line["via"] == via && line["outcome"] == outcome && line["target"] == target
        }
    };
    let read = line(&folder, "a read", is("native", "done", "toy://item/0")).await;
    assert_eq!((&read["door"], &read["action"]), (&json!("http"), &json!("read")), "{read}");
    assert_eq!((&read["source"], &read["client"]), (&json!("one"), &json!("it")), "{read}");
    assert!(read["bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{read}");
    assert_eq!(read["sha256"].as_str().map(str::len), Some(64), "{read}");
    assert_eq!(read["at"].as_str().map(str::len), Some(24), "{read}");
    assert!(read["ms"].is_number() && read["cache"] == "miss", "{read}");
    line(&folder, "a hit", |line| line["cache"] == "hit" && line["target"] == "toy://item/0").await;
    let closed = line(&folder, "a refusal", is("native", "refused", "toy://item/1")).await;
    assert_eq!(closed["error"], "Unauthorized");
    let absent = line(&folder, "a failure", is("native", "failed", "no://such")).await;
    assert_eq!(absent["error"], "InvalidURI");
    line(&folder, "the bridge", is("bridge", "done", "toy://item/2")).await;
    line(&folder, "a search", |line| line["via"] == "search" && line["outcome"] == "done").await;
    line(&folder, "stdio", |line| line["door"] == "stdio" && line["target"] == "toy://item/2")
        .await;
    drop(trove);

    let ran = folder.run(&["read", "toy://item/0"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    line(&folder, "the command line", is("cli", "done", "toy://item/0")).await;
    let all = std::fs::read_to_string(folder.home().join("audit.jsonl")).expect("an audit");
    assert!(!all.contains(ran.text().trim()), "contents are not written");
    assert!(!all.contains("hunter-asked"), "questions are not written");
}

#[tokio::test]
async fn a_full_file_is_put_aside_and_only_so_many_are_kept() {
    let folder = Folder::with("[audit]\nmax_file_bytes = 4096\nkept_files = 2\n");
    let mut trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    until("three files to be full", async || {
        for _ in 0..20 {
            client.text("auth://status").await;
        }
        folder.home().join("audit.jsonl.2").exists()
    })
    .await;
    for _ in 0..60 {
        client.text("auth://status").await;
    }
    // Until it has ended, a file may be on its way to its next name.
    trove.signal(rustix::process::Signal::TERM);
    trove.ended().await;
    assert!(!folder.home().join("audit.jsonl.3").exists());
    for file in ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"] {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = std::fs::metadata(folder.home().join(file)).expect("a file");
        assert!(metadata.len() <= 4096 + 1024, "{file} has {} bytes", metadata.len());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{file}");
    }
    assert!(!lines(&folder, "audit.jsonl.1").is_empty());
}

/// The lines of this action, once there are any.
async fn lines_of(folder: &Arc<Folder>, action: &str) -> Vec<Value> {
    line(folder, action, |line| line["action"] == action).await;
    let all = lines(folder, "audit.jsonl").into_iter();
    all.filter(|line| line["action"] == action).collect()
}

/// Does one of everything that a client can do.
async fn do_everything(client: &Client) {
    let ask = async |method: &str, params: Value| client.ask(method, params).await;
    let uri = |uri: &str| json!({ "uri": uri });
    ask("resources/list", json!({})).await.expect("a list");
    ask("resources/templates/list", json!({})).await.expect("a list");
    ask("prompts/list", json!({ "cursor": "nonsense" })).await.expect_err("no cursor of ours");
    ask("resources/subscribe", uri("toy://pid")).await.expect("it is watched");
    ask("resources/subscribe", uri("toy://requests")).await.expect_err("one too many");
    ask("resources/unsubscribe", uri("toy://pid")).await.expect("it is not watched");
    ask("logging/setLevel", json!({ "level": "error" })).await.expect("a level");
    let argument = json!({ "name": "id", "value": "al" });
    let template = json!({ "type": "ref/resource", "uri": "note://{id}" });
    ask("completion/complete", json!({ "ref": template, "argument": argument })).await.expect("ok");
    ask("prompts/get", json!({ "name": "guide", "arguments": { "arg1": ":status" } }))
        .await
        .expect("a prompt of ours");
    let flag = json!({ "name": "content-format", "value": "plain" });
    client.call("guide_set_feature_flag", flag).await;
    let document = json!({ "category": "lang", "path": "new.md", "text": "hunter-written" });
    client.call("guide_document_add", document).await;
    let unasked = json!({ "category": "lang", "path": "new.md" });
    client.call("guide_document_remove", unasked).await;
    client.call("health_check", json!({})).await;
    client.call("get_resource", json!({ "uri": "toy://item/1" })).await;
    client.call("get_resource", json!({ "offset": -1 })).await;
}

#[tokio::test]
async fn every_action_of_a_caller_leaves_one_line() {
    let text = format!(
        "[tools]\ntoolsets = [\"resources\", \"health\", \"guide\", \"guide_admin\", \"flags\"]\n\
         [bridge]\nmode = \"always\"\n[limits]\nwatches_per_client = 1\n{}",
        config(&[toy("one", "--resources 3").set("expose = \"all\"")])
    );
    let folder = Folder::with(&text);
    folder.put("guide/lang/rust.md", "# Rust\n");
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    do_everything(&client).await;
    let modern = trove.client(Kind::HTTP_MODERN).await;
    let _stream = modern.listen(json!({ "resourcesListChanged": true })).await;

    let check = async |action: &str, expected: &[(&str, &str, &str)]| {
        until(action, async || lines_of(&folder, action).await.len() >= expected.len()).await;
        let found = lines_of(&folder, action).await;
        let word = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let found: Vec<_> =
            found.iter().map(|l| (word(l, "target"), word(l, "outcome"), word(l, "via"))).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(t, o, v)| (t.to_string(), o.to_string(), v.to_string()))
            .collect();
        assert_eq!(found, expected, "{action}");
    };
    let native = |target: &'static str, outcome: &'static str| (target, outcome, "native");
    let bridge = |target: &'static str, outcome: &'static str| (target, outcome, "bridge");
    check(
        "list",
        &[native("resources", "done"), native("templates", "done"), native("prompts", "failed")],
    )
    .await;
    check("subscribe", &[native("toy://pid", "done"), native("toy://requests", "refused")]).await;
    check("unsubscribe", &[native("toy://pid", "done")]).await;
    check("set_log_level", &[native("error", "done")]).await;
    check("complete", &[native("note://{id}", "done")]).await;
    check("get_prompt", &[bridge("guide", "done")]).await;
    check("listen", &[native("", "done")]).await;
    check(
        "call_tool",
        &[
            bridge("set_feature_flag content-format", "done"),
            bridge("document_add lang/new.md", "done"),
            bridge("document_remove lang/new.md", "refused"),
            bridge("health_check", "done"),
            bridge("get_resource", "failed"),
        ],
    )
    .await;
    let reads = lines_of(&folder, "read").await;
    let of_item = reads.iter().filter(|line| line["target"] == "toy://item/1");
    assert_eq!(of_item.count(), 1, "a read by a tool is one line, not two: {reads:?}");
    let all = std::fs::read_to_string(folder.home().join("audit.jsonl")).expect("an audit");
    assert!(!all.contains("hunter-written"), "contents are not written");
    assert!(!all.contains("plain"), "values are not written");
}

#[tokio::test]
async fn the_page_and_the_command_line_leave_lines_too() {
    let folder = Folder::with(&config(&[toy("one", "--resources 3")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let is = |door: &'static str, via: &'static str, action: &'static str| {
        move |line: &Value| line["door"] == door && line["via"] == via && line["action"] == action
    };
    folder.run(&["ls"]).await;
    line(&folder, "a list", is("command line", "cli", "list")).await;
    folder.run(&["read", "toy://item/1"]).await;
    line(&folder, "a read", is("command line", "cli", "read")).await;
    folder.run(&["search", "item"]).await;
    line(&folder, "a search", is("command line", "cli", "find")).await;
    let page = trove.url.replace("/mcp", "/api/resources");
    let answer = reqwest::get(&page).await.expect("trove answers");
    assert_eq!(answer.status(), 200, "{page}");
    line(&folder, "the page", is("http", "web", "list")).await;
}
