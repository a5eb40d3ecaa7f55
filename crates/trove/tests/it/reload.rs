//! A changed configuration is taken over while clients stay connected.

use serde_json::Value;

use crate::kit::client::Kind;
use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove, until};

const LISTS: &str = "notifications/resources/list_changed";

fn server(id: &str, resources: usize) -> crate::kit::toy::Toy {
    toy(id, &format!("--scheme {id} --resources {resources}"))
}

#[tokio::test]
async fn an_added_server_appears_and_the_others_are_left_alone() {
    let folder = Folder::with(&config(&[server("kept", 1)]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["kept"]).await;
    let client = trove.any_client().await;
    let pid = client.text("kept://pid").await;
    let _following = client.follow(&[]).await;

    folder.write(&config(&[server("kept", 1), server("added", 1)]));
    client.hear(LISTS).await;
    trove.ready(&["added"]).await;
    assert!(client.text("added://item/0").await.starts_with("added|"));
    assert_eq!(client.text("kept://pid").await, pid);
}

#[tokio::test]
async fn a_removed_server_disappears_with_all_it_listed() {
    let folder = Folder::with(&config(&[server("kept", 1), server("removed", 1)]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["kept", "removed"]).await;
    for kind in [Kind::STDIO_LEGACY, Kind::HTTP_MODERN] {
        folder.write(&config(&[server("kept", 1), server("removed", 1)]));
        trove.ready(&["removed"]).await;
        let client = trove.client(kind).await;
        let _following = client.follow(&[]).await;
        let pid = client.text("kept://pid").await;

        folder.write(&config(&[server("kept", 1)]));
        client.hear(LISTS).await;
        until("it to be gone", async || {
            !client.uris().await.iter().any(|uri| uri.starts_with("removed"))
        })
        .await;
        client.read("removed://pid").await.expect_err("nobody serves it");
        let health = trove.health().await;
        let mut sources = health["sources"].as_array().expect("sources").iter();
        assert!(!sources.any(|source| source["id"] == "removed"), "{health}");
        assert_eq!(client.text("kept://pid").await, pid);
    }
}

#[tokio::test]
async fn a_changed_server_is_restarted_and_only_that_one() {
    let folder = Folder::with(&config(&[server("kept", 1), server("changed", 1)]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["kept", "changed"]).await;
    let client = trove.client(Kind::STDIO_LEGACY).await;
    let (kept, changed) = (client.text("kept://pid").await, client.text("changed://pid").await);

    folder.write(&config(&[server("kept", 1), server("changed", 2)]));
    client.hear(LISTS).await;
    until("the new list", async || client.uris().await.contains(&"changed://item/1".into())).await;
    assert_ne!(client.text("changed://pid").await, changed);
    assert_eq!(client.text("kept://pid").await, kept);
}

#[tokio::test]
async fn what_is_new_waits_for_the_end_of_no_other() {
    let stubborn = |id: &str| toy(id, &format!("--scheme {id} --bare --fault ignore-sigterm"));
    let ids = ["first", "second", "third"];
    let folder = Folder::with(&config(&ids.map(stubborn)));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&ids).await;
    folder.write(&config(&[server("new", 1)]));
    trove.ready(&["new"]).await;
    let left = async || {
        let health = trove.health().await;
        let sources = health["sources"].as_array().expect("sources").iter();
        sources.filter(|one| ids.iter().any(|id| one["id"] == *id)).count()
    };
    assert_eq!(left().await, ids.len(), "they are still ending");
    until("all to be gone", async || left().await == 0).await;
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_a_mended_one_is_taken_over() {
    let folder = Folder::with(&config(&[server("kept", 1)]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["kept"]).await;
    let client = trove.any_client().await;
    let pid = client.text("kept://pid").await;
    let listed = client.uris().await;
    for broken in ["[servers.kept", "[servers.kept]\n", "surprise = 1\n"] {
        let from = trove.log.len();
        folder.write(broken);
        let refused = |line: &Value| {
            let message = line["message"].as_str().unwrap_or_default();
            line["level"] == "WARN" && message.contains("nothing was changed")
        };
        trove.log.first(from, refused, "the refusal in the log").await;
        assert_eq!(client.uris().await, listed, "{broken}");
        assert_eq!(client.text("kept://pid").await, pid, "{broken}");
    }
    folder.write(&config(&[server("kept", 1), server("added", 1)]));
    trove.ready(&["added"]).await;
    assert_eq!(client.text("kept://pid").await, pid);
}

#[tokio::test]
async fn what_is_watched_stays_watched_when_its_server_is_changed() {
    let counting = |resources| server("one", resources).set("expose = \"all\"");
    let folder = Folder::with(&config(&[counting(1)]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let client = trove.any_client().await;
    let _following = client.follow(&["one://counter"]).await;
    let pid = client.text("one://pid").await;

    folder.write(&config(&[counting(2)]));
    until("the server to be restarted", async || {
        // In the moment of the change it may be away.
        let now = client.read("one://pid").await;
        now.is_ok_and(|now| now["contents"][0]["text"] != pid.as_str())
    })
    .await;
    // A client that watches is told at once, because a change may have been missed.
    client.hear("notifications/resources/updated").await;
    let before = client.heard_since(0, "notifications/resources/updated").len();
    client.call("one_bump", serde_json::json!({})).await;
    until("the change to be heard of", async || {
        client.heard_since(0, "notifications/resources/updated").len() > before
    })
    .await;
}

#[tokio::test]
async fn a_change_behind_a_link_is_taken_over_too() {
    let folder = Folder::with("");
    let file = folder.path().join("trove.toml");
    let real = folder.path().join("kept-elsewhere/real.toml");
    folder.put("kept-elsewhere/real.toml", &config(&[server("kept", 1)]));
    std::fs::remove_file(&file).expect("a file");
    std::os::unix::fs::symlink(&real, &file).expect("a link");
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["kept"]).await;
    std::fs::write(&real, config(&[server("kept", 1), server("added", 1)])).expect("a write");
    trove.ready(&["added"]).await;

    // As a folder of settings is replaced as a whole.
    std::fs::remove_dir_all(real.parent().expect("a folder")).expect("it goes");
    folder.put("kept-elsewhere/real.toml", &config(&[server("other", 1)]));
    trove.ready(&["other"]).await;
}
