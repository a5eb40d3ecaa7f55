//! The index outlives the program, however it ends.

use rustix::process::Signal;
use serde_json::json;

use super::{BREAD, found, indexed, library, searched, uris};
use crate::kit::client::Client;
use crate::kit::toy::config;
use crate::kit::{Folder, Trove, until};

/// The server that is asked, which does not come up again.
fn gone() -> String {
    config(&[searched("one", "--bare --fault hang:init")])
}

#[tokio::test]
async fn contents_are_found_after_a_restart_without_being_read_again() {
    let folder = Folder::with(&config(&[searched("one", "--bare --resources 3 --size 200")]));
    let mut trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    indexed(&trove).await;
    let client = trove.any_client().await;
    let asked = json!({ "searchTerms": ["lazy", "dog"] });
    let answer = found(&client, "search_resources", asked.clone()).await;
    assert_eq!(uris(&answer).len(), 3, "{answer}");
    trove.signal(Signal::TERM);
    trove.ended().await;
    // All it knows now it knows from before: its server does not come up again.
    folder.write(&gone());
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    until("the index to be open", async || {
        let answer = found(&client, "search_resources", asked.clone()).await;
        answer["success"] == true
            && uris(&answer).len() == 3
            && answer["resources"][0]["stale"] == true
    })
    .await;
    let source = trove.source("one", |_| true).await;
    assert_eq!(source["state"], "connecting", "nobody has waited for it");
}

#[tokio::test]
async fn what_was_indexed_of_a_server_that_was_taken_out_is_not_found_any_more() {
    let toys = [
        searched("one", "--bare --resources 3 --size 200 --scheme one"),
        searched("two", "--bare --resources 3 --size 200 --scheme two"),
    ];
    let folder = Folder::with(&config(&toys));
    let mut trove = Trove::start_in(&folder).await;
    trove.ready(&["one", "two"]).await;
    indexed(&trove).await;
    let client = trove.any_client().await;
    let asked = json!({ "searchTerms": ["lazy", "dog"] });
    let answer = found(&client, "search_resources", asked.clone()).await;
    assert_eq!(uris(&answer).len(), 6, "{answer}");
    let entries = async |trove: &Trove| trove.health().await["index"]["entries"].as_u64();
    let before = entries(&trove).await.expect("a number");
    trove.signal(Signal::TERM);
    trove.ended().await;
    folder.write(&config(&toys[..1]));
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    until("the index to be open", async || {
        let answer = found(&client, "search_resources", asked.clone()).await;
        // Never those of the other, from the first answer on.
        assert!(!answer.to_string().contains("two://"), "{answer}");
        answer["success"] == true && uris(&answer).len() == 3
    })
    .await;
    until("what was kept of it to be thrown away", async || {
        entries(&trove).await == Some(before - 3)
    })
    .await;
}

#[tokio::test]
async fn a_kill_while_indexing_costs_only_what_was_not_committed() {
    let many =
        config(&[searched("one", "--bare --resources 600 --size 300 --fault delay:read=15")]);
    let asked = json!({ "searchTerms": ["lazy", "dog"], "searchScope": "content" });
    let folder = Folder::with(&many);
    let mut trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    let count = async |client: &Client| {
        let answer = found(client, "search_resources", asked.clone()).await;
        answer["totalFound"].as_u64().unwrap_or_default()
    };
    // Found texts have been committed.
    until("some contents to be found", async || count(&client).await > 100).await;
    trove.signal(Signal::KILL);
    trove.ended().await;
    // All it finds now it knows from before.
    folder.write(&gone());
    let mut trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    until("them to be found again", async || count(&client).await > 100).await;
    let source = trove.source("one", |_| true).await;
    assert_eq!(source["state"], "connecting", "nobody has waited for it");
    trove.signal(Signal::TERM);
    trove.ended().await;
    // And the rest is read once its server is there.
    folder.write(&many);
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    indexed(&trove).await;
    let client = trove.any_client().await;
    assert_eq!(count(&client).await, 600);
}

#[tokio::test]
async fn a_damaged_index_is_built_anew_and_stops_nobody() {
    let folder = library("");
    let mut trove = Trove::start_in(&folder).await;
    indexed(&trove).await;
    trove.signal(Signal::TERM);
    trove.ended().await;
    let mut harmed = 0;
    let mut folders = vec![folder.home()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).expect("a folder").flatten() {
            let path = entry.path();
            let is_index = path.to_string_lossy().contains("index");
            if path.is_dir() {
                folders.push(path);
            } else if is_index && path.metadata().is_ok_and(|file| file.len() > 64) {
                std::fs::write(&path, b"not what it was").expect("a file can be harmed");
                harmed += 1;
            }
        }
    }
    assert!(harmed > 0, "there is an index on disk");
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    assert!(client.text(BREAD).await.contains("dough"), "reading is not affected");
    indexed(&trove).await;
    until("it to be found again", async || {
        let asked = json!({ "searchTerms": ["zanzibarian"] });
        uris(&found(&client, "search_resources", asked).await).contains(&BREAD)
    })
    .await;
}
