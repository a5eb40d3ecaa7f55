//! A change behind a rule is told to no caller who may not see it.

use std::sync::Arc;

use serde_json::json;

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{config, whole};
use crate::kit::{Folder, Trove, until};

const LISTS: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// The user who started Trove may see everything, a caller over HTTP may not.
fn hushed(rules: &[&str], more: &str) -> String {
    let mut text = format!("{more}\n[auth]\nlocal_roles = [\"owner\"]\n");
    for rule in rules {
        let rule = format!("match = \"{rule}\"\nroles = [\"owner\"]\nvisible = false\n");
        text.push_str(&format!("[[policy]]\n{rule}"));
    }
    text
}

fn guide(rules: &[&str]) -> Arc<Folder> {
    let folder = Folder::with(&hushed(rules, ""));
    folder.put("guide/lang/rust.md", "# Rust\n");
    folder.put("guide/lang/secret.md", "# Secret\n");
    folder.put("guide/docs/api.md", "# API\n");
    let skill = "---\nname: hush\ndescription: Hushes\n---\nBe quiet about xylophones.\n";
    folder.put("guide/skills/hush/SKILL.md", skill);
    folder
}

/// The owner, who started Trove, and a guest. Both come when everything of `scheme` is there.
async fn owner_and_guest(trove: &Trove, kind: Kind, scheme: &str) -> (Client, Client) {
    let owner = trove.client(Kind::STDIO_MODERN).await;
    let is_listed = async || owner.uris().await.iter().any(|uri| uri.starts_with(scheme));
    until("the lists", is_listed).await;
    (owner, trove.client(kind).await)
}

async fn heard_uris(client: &Client, from: usize) -> Vec<String> {
    let all = client.heard_since(from, UPDATED);
    all.iter().map(|m| m["params"]["uri"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_hidden_document_changes_in_silence() {
    let folder = guide(&["guide://*/lang/secret*"]);
    let trove = Trove::start_in(&folder).await;
    let joined = ["guide://category/lang", "guide://help"];
    for kind in [Kind::HTTP_LEGACY, Kind::HTTP_MODERN] {
        let (owner, guest) = owner_and_guest(&trove, kind, "guide://document").await;
        let own = ["guide://document/lang/secret.md", "guide://category/lang", "guide://help"];
        let (hers, his) = (owner.follow(&own).await, guest.follow(&joined).await);
        let from = guest.transcript.len();
        // Edited, joined by another, left by it.
        folder.put("guide/lang/secret.md", &format!("# Secret of {kind:?}\n"));
        owner.hear(LISTS).await;
        folder.put("guide/lang/secret-too.md", "# Another\n");
        owner.hear(LISTS).await;
        std::fs::remove_file(folder.path().join("guide/lang/secret-too.md")).expect("a file");
        owner.hear(LISTS).await;
        // The guest is told of changes that it may see, and of no others.
        folder.put("guide/lang/rust.md", &format!("# Rust of {kind:?}\n"));
        owner.hear(LISTS).await;
        let has = async |method: &str| !guest.heard_since(from, method).is_empty();
        until("both to be told", async || has(LISTS).await && has(UPDATED).await).await;
        assert_eq!(guest.heard_since(from, LISTS).len(), 1, "{kind:?}");
        assert_eq!(heard_uris(&guest, from).await, ["guide://category/lang"], "{kind:?}");
        owner.unfollow(hers, &own).await;
        guest.unfollow(his, &joined).await;
    }
}

#[tokio::test]
async fn a_hidden_resource_of_a_server_comes_in_silence() {
    let text = hushed(&["toy://hidden*"], "") + &config(&[whole("one", "")]);
    let trove = Trove::start(&text).await;
    trove.ready(&["one"]).await;
    for kind in [Kind::HTTP_LEGACY, Kind::HTTP_MODERN] {
        let (owner, guest) = owner_and_guest(&trove, kind, "toy://").await;
        let (hers, his) = (owner.follow(&[]).await, guest.follow(&[]).await);
        let from = guest.transcript.len();
        for n in 0..3 {
            let uri = format!("toy://hidden/{kind:?}/{n}");
            owner.call("one_add_resource", json!({ "uri": uri })).await;
            owner.hear(LISTS).await;
        }
        let uri = format!("toy://open/{kind:?}");
        owner.call("one_add_resource", json!({ "uri": uri })).await;
        owner.hear(LISTS).await;
        guest.hear(LISTS).await;
        let uris = guest.uris().await;
        assert!(uris.contains(&uri) && !uris.iter().any(|uri| uri.contains("hidden")), "{uris:?}");
        assert_eq!(guest.heard_since(from, LISTS).len(), 1, "{kind:?}");
        owner.unfollow(hers, &[]).await;
        guest.unfollow(his, &[]).await;
    }
}

#[tokio::test]
async fn other_rules_are_told_to_those_for_whom_they_change_something() {
    let folder = guide(&["guide://*/lang/secret*"]);
    let trove = Trove::start_in(&folder).await;
    let (owner, guest) = owner_and_guest(&trove, Kind::HTTP_MODERN, "guide://document").await;
    let (_hers, _his) = (owner.follow(&[]).await, guest.follow(&[]).await);
    let from = owner.transcript.len();
    folder.write(&hushed(&["guide://*/lang/secret*", "guide://*/docs*"], ""));
    guest.hear(LISTS).await;
    assert!(!guest.uris().await.iter().any(|uri| uri.contains("docs")));
    folder.put("guide/lang/rust.md", "# Other\n");
    owner.hear(LISTS).await;
    guest.hear(LISTS).await;
    assert_eq!(owner.heard_since(from, LISTS).len(), 1, "she sees what she saw");
}

#[tokio::test]
async fn a_rule_on_a_document_holds_for_the_skill_it_is_part_of_and_for_search() {
    let folder = guide(&["guide://document/skills/hush*"]);
    let trove = Trove::start_in(&folder).await;
    let (owner, guest) = owner_and_guest(&trove, Kind::HTTP_MODERN, "skill://").await;
    let found = async |client: &Client| {
        let found = client.call("search_resources", json!({ "searchTerms": ["Hushes"] })).await;
        found["structuredContent"].to_string().contains("SKILL.md")
    };
    until("the skill to be indexed", async || found(&owner).await).await;
    assert!(!found(&guest).await);
    let uri = "skill://guide/skills/hush/SKILL.md";
    assert!(owner.text(uri).await.contains("xylophones"));
    guest.read(uri).await.expect_err("it is hidden");
    for (method, params) in [
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": uri })),
        ("resources/directory/read", json!({ "uri": "skill://guide/skills/hush" })),
        ("resources/list", json!({})),
        ("tools/call", json!({ "name": "resource_summary", "arguments": {} })),
        ("tools/call", json!({ "name": "get_resource", "arguments": {} })),
        ("tools/call", json!({ "name": "get_resource", "arguments": { "uri": "guide://help" } })),
        (
            "tools/call",
            json!({ "name": "guide_get_content", "arguments": { "expression": "skills" } }),
        ),
        ("prompts/get", json!({ "name": "guide", "arguments": { "arg1": "skills" } })),
    ] {
        let told = async |client: &Client| match client.ask(method, params.clone()).await {
            Ok(answer) => answer.to_string(),
            Err(error) => error.to_string(),
        };
        let (hers, his) = (told(&owner).await, told(&guest).await);
        assert!(hers.contains("SKILL.md") || hers.contains("xylophones"), "{method}: {hers}");
        let his = his.replace(uri, "what was asked for");
        assert!(!his.contains("SKILL.md") && !his.contains("xylophones"), "{method}: {his}");
    }
}
