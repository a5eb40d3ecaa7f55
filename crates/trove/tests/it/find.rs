//! Finding resources with the real program: through every door, over restarts, beside servers that
//! misbehave, and with absurd questions.

mod hostile;
mod kept;
mod proof;
pub(crate) mod tasks;
mod trouble;
mod truth;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{Toy, config, toy};
use crate::kit::{Folder, Trove, until};

/// A toy whose contents are searched too.
fn searched(id: &str, args: &str) -> Toy {
    toy(id, args).set("index = \"content\"")
}

/// A folder with three documents and one server.
fn library(rest: &str) -> Arc<Folder> {
    let toys = [searched("one", "--bare --resources 3 --scheme one")];
    let folder = Folder::with(&format!("{}{rest}", config(&toys)));
    folder.put(
        "guide/ops/retries.md",
        "# Retry policy\n\nA failed payment is tried again after 30 seconds, five times at most.\n",
    );
    folder.put("guide/ops/ports.md", "# Ports\n\nThe billing service listens on port 8443.\n");
    folder.put("guide/kitchen/bread.md", "# Bread\n\nLet the zanzibarian dough rest overnight.\n");
    folder
}

async fn found(client: &Client, tool: &str, arguments: Value) -> Value {
    client.call(tool, arguments).await["structuredContent"].clone()
}

#[track_caller]
fn uris(answer: &Value) -> Vec<&str> {
    let hits = answer["resources"].as_array().unwrap_or_else(|| panic!("no hits: {answer}"));
    hits.iter().filter_map(|hit| hit["uri"].as_str()).collect()
}

/// The URIs in one order, without regard to rank.
#[track_caller]
fn sorted(answer: &Value) -> Vec<&str> {
    let mut uris = uris(answer);
    uris.sort_unstable();
    uris
}

/// Returns once all contents that can be read are indexed.
async fn indexed(trove: &Trove) {
    until("everything to be indexed", async || {
        let index = &trove.health().await["index"];
        index["state"] == "ready" && index["indexable"].as_u64() > Some(0)
    })
    .await;
}

const BREAD: &str = "guide://document/kitchen/bread.md";
const RETRIES: &str = "guide://document/ops/retries.md";
const PORTS: &str = "guide://document/ops/ports.md";

#[tokio::test]
async fn every_door_finds_by_name_and_by_content() {
    let trove = Trove::start_in(&library("")).await;
    trove.ready(&["one"]).await;
    indexed(&trove).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let arguments = json!({ "searchTerms": ["zanzibarian", "\"rest overnight\""] });
        let answer = found(&client, "search_resources", arguments).await;
        // Once, and not again as a part of its category.
        assert_eq!(sorted(&answer), [BREAD], "{kind:?}: {answer}");
        let snippet = answer["resources"][0]["highlights"].to_string();
        assert!(snippet.contains("dough"), "{kind:?}: {snippet}");
        let arguments = json!({ "query": "port of the billing service", "includeContent": true });
        let answer = found(&client, "discover_resources", arguments).await;
        assert_eq!(uris(&answer)[0], PORTS, "{kind:?}: {answer}");
        assert!(answer["resources"][0]["contentPreview"].as_str().unwrap().contains("8443"));
        let answer = found(&client, "resource_summary", json!({ "includeStats": true })).await;
        let summary = &answer["summary"];
        assert_eq!(summary["resourcesByServer"]["one"], 3, "{kind:?}: {answer}");
        assert!(summary["stats"]["coverage"]["indexed"].as_u64() > Some(3), "{answer}");
    }
}

#[tokio::test]
async fn the_command_line_prints_what_the_tools_give() {
    let folder = library("");
    let ran = folder.run(&["search", "zanzibarian", "--json", "--wait", "20"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(sorted(&ran.json()), [BREAD]);
    let ran = folder.run(&["find", "retry", "policy", "--preview", "--wait", "20"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let first = ran.text().lines().next().unwrap_or_default();
    assert!(first.contains(RETRIES), "{ran:?}");
    assert!(ran.text().contains("30 seconds"), "{ran:?}");
    let ran = folder.run(&["summary", "--stats", "--wait", "20"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.text().contains("one") && ran.text().contains("indexed: "), "{ran:?}");
}

/// Texts indexed while open stay hidden later, also where a category, a collection or the help
/// holds them.
#[tokio::test]
async fn a_rule_that_comes_later_hides_what_was_indexed_before() {
    let groups = "[guide.collections.food]\nmembers = [\"kitchen\"]\n";
    let folder = library(groups);
    let find = ["find", "zanzibarian", "dough", "--preview", "--threshold", "0", "--wait", "20"];
    let before = folder.run(&find).await;
    assert!(before.text().contains(BREAD), "{before:?}");
    let config = std::fs::read_to_string(folder.config()).expect("the configuration");
    let rule =
        "[[policy]]\nmatch = \"guide://document/kitchen/*\"\nroles = [\"cook\"]\nvisible = false\n";
    folder.write(&format!("{config}\n{rule}"));
    let after = folder.run(&find).await;
    assert!(after.text().contains("guide://category/kitchen"), "{after:?}");
    for word in ["Zanzibarian", "zanzibarian", "overnight", "bread.md"] {
        assert!(!after.text().contains(word), "{word}: {after:?}");
    }
}

/// Meaning is part of the program: a text that shares no word is found.
#[tokio::test]
async fn what_is_meant_is_found_in_other_words() {
    let trove = Trove::start_in(&library("")).await;
    indexed(&trove).await;
    let client = trove.any_client().await;
    let asked = json!({ "query": "how often do we attempt a charge that did not go through" });
    until("meanings to be known", async || {
        let answer = found(&client, "discover_resources", asked.clone()).await;
        uris(&answer).first() == Some(&RETRIES)
    })
    .await;
}

#[tokio::test]
async fn what_is_hidden_is_neither_found_nor_counted_nor_shown() {
    let rule = "\n[[policy]]\nmatch = \"guide://**/kitchen**\"\nroles = [\"cook\"]\nvisible = false\n\
                [auth]\nlocal_roles = [\"cook\"]\n";
    let trove = Trove::start_in(&library(rule)).await;
    indexed(&trove).await;
    let (local, remote) =
        (trove.client(Kind::STDIO_MODERN).await, trove.client(Kind::HTTP_MODERN).await);
    // By name: the content of what not everybody may read is never indexed.
    let named = json!({ "searchTerms": ["bread"] });
    let answer = found(&local, "search_resources", named.clone()).await;
    assert!(uris(&answer).contains(&BREAD), "{answer}");
    for (tool, arguments) in [
        ("search_resources", named),
        ("search_resources", json!({ "searchTerms": ["zanzibarian"], "semantic": false })),
        ("discover_resources", json!({ "query": "bread dough", "includeContent": true })),
        ("discover_resources", json!({ "maxResults": 100, "includeContent": true })),
        ("resource_summary", json!({ "includeStats": true })),
    ] {
        let answer = found(&remote, tool, arguments).await.to_string();
        assert!(!answer.contains("kitchen") && !answer.contains("dough"), "{tool}: {answer}");
    }
    let all = |answer: Value| answer["summary"]["totalResources"].as_u64();
    let seen = all(found(&remote, "resource_summary", json!({})).await);
    assert!(seen < all(found(&local, "resource_summary", json!({})).await));
}
