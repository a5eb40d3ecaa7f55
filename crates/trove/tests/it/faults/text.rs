//! The words of a server can do nothing but be read.

use serde_json::{Value, json};

use crate::kit::Trove;
use crate::kit::toy::{toy, whole};

/// Characters that act without being seen, of each kind that the toy sends.
const ACTING: [char; 11] = [
    '\u{1b}',
    '\u{7}',
    '\u{9b}',
    '\u{202e}',
    '\u{2066}',
    '\u{200b}',
    '\u{feff}',
    '\u{e0041}',
    '\u{e007f}',
    '\u{0}',
    '\u{8}',
];

#[track_caller]
fn assert_tame(text: &str, what: &str) {
    let acting = text.chars().find(|c| ACTING.contains(c));
    assert_eq!(acting, None, "{what}: {text:?}");
}

/// All text blocks of a tool's result, as a model reads them.
fn blocks(result: &Value) -> String {
    let content = result["content"].as_array().expect("a result has content");
    content.iter().filter_map(|block| block["text"].as_str()).collect()
}

/// Contents are not among these: they are given byte for byte, in a frame.
#[tokio::test]
async fn t18_what_models_are_shown_of_a_servers_words_acts_on_nothing() {
    let evil = toy("evil", "--resources 3 --fault eviltext").set("index = \"content\"");
    let trove = Trove::with(&[evil]).await;
    let client = trove.any_client().await;
    for (tool, arguments) in [
        ("get_resource", json!({})),
        ("get_resource", json!({ "uri": "toy://item/404" })),
        ("discover_resources", json!({})),
        ("search_resources", json!({ "searchTerms": ["item"] })),
        ("discover_resources", json!({ "query": "item", "includeContent": true })),
        ("resource_summary", json!({})),
        ("health_check", json!({})),
    ] {
        let result = client.call(tool, arguments.clone()).await;
        assert_tame(&blocks(&result), &format!("{tool} {arguments}"));
    }
}

#[tokio::test]
async fn t18_a_forged_end_of_the_frame_is_not_the_end() {
    let trove = Trove::with(&[toy("evil", "--resources 1 --fault eviltext")]).await;
    let client = trove.any_client().await;
    let mut frames = Vec::new();
    for _ in 0..2 {
        let result = client.call("get_resource", json!({ "uri": "toy://item/0" })).await;
        let text = blocks(&result);
        let end = text.trim_end().lines().last().unwrap_or_default().to_owned();
        assert!(text.contains("</untrusted>"), "the data is whole: {text}");
        assert_eq!(text.matches(&end).count(), 1, "the end is not in the data: {text}");
        frames.push(end);
    }
    assert_ne!(frames[0], frames[1], "each call has a mark of its own");
}

#[tokio::test]
async fn t18_no_command_prints_what_steers_a_terminal() {
    let trove = Trove::with(&[whole("evil", "--resources 2 --fault eviltext")]).await;
    for command in [
        &["ls"][..],
        &["status"],
        &["doctor"],
        &["find", "item"],
        &["search", "item"],
        &["read", "toy://item/404"],
    ] {
        let ran = trove.folder.run(command).await;
        assert_tame(&String::from_utf8_lossy(&ran.stdout), &format!("{command:?}"));
        // The log of a terminal is coloured by us.
        let ours = ran.stderr.replace("\u{1b}[", "");
        assert_tame(&ours, &format!("{command:?} stderr"));
    }
}

#[tokio::test]
async fn t61_no_command_prints_json_or_logs_that_steer_a_terminal() {
    let trove = Trove::with(&[whole("evil", "--resources 2 --fault eviltext")]).await;
    let mut seen = false;
    for command in [
        &["ls", "--json"][..],
        &["status", "--json"],
        &["doctor", "--json"],
        &["find", "item", "--json"],
        &["search", "item", "--json"],
        &["read", "toy://item/0", "--json"],
        &["read", "toy://item/404", "--json"],
        &["approve", "--json"],
        &["logs", "--json"],
        &["summary", "--json"],
    ] {
        let ran = trove.folder.run(command).await;
        let text = String::from_utf8_lossy(&ran.stdout);
        assert_tame(&text, &format!("{command:?}"));
        let value = serde_json::from_str::<Value>(&text);
        assert!(value.is_ok() || command[0] == "logs", "{command:?}: {text}");
        seen |= value.is_ok_and(|value| has_acting(&value));
        let ours = ran.stderr.replace("\u{1b}[", "");
        assert_tame(&ours, &format!("{command:?} stderr"));
    }
    assert!(seen, "the values are what the server said");
    for heard in trove.log.since(0) {
        assert_tame(&heard.text, "the log");
    }
}

/// Whether some text in it holds what acts unseen.
fn has_acting(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(ACTING),
        Value::Array(all) => all.iter().any(has_acting),
        Value::Object(all) => all.iter().any(|(key, one)| key.contains(ACTING) || has_acting(one)),
        _ => false,
    }
}
