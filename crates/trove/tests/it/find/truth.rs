//! Search never states what is no longer true, with a real server that says nothing of changes.

use std::sync::Arc;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{found, searched};
use crate::kit::client::Client;
use crate::kit::toy::config;
use crate::kit::{Folder, Trove, until};
use crate::peers::drivers::{node, npm_script};
use crate::web::api;

/// A folder with the memory server, whose tools are passed through, and what it remembers.
fn memory() -> Arc<Folder> {
    let folder = Folder::empty();
    let script = npm_script("server-memory/dist/index.js");
    let graph = folder.path().join("graph.jsonl");
    folder.write(&format!(
        "[servers.memory]\ncommand = {:?}\nargs = [{:?}]\nenv = {{ MEMORY_FILE_PATH = {:?} }}\nexpose = \"all\"\nrecipe = \"off\"\n",
        node(),
        script,
        graph
    ));
    remember(&folder, "wrote his first zebrafinch");
    folder
}

/// Writes to the server's file, as another client of it would.
fn remember(folder: &Folder, observation: &str) {
    let entity = json!({ "type": "entity", "name": "Ann", "entityType": "person",
                         "observations": [observation] });
    folder.put("graph.jsonl", &format!("{entity}\n"));
}

async fn hits(client: &Client, word: &str) -> Vec<Value> {
    let asked = json!({ "searchTerms": [word], "searchScope": "content", "semantic": false });
    let answer = found(client, "search_resources", asked).await;
    answer["resources"].as_array().cloned().unwrap_or_default()
}

async fn becomes(client: &Client, new: &str, old: &str) {
    until(&format!("{new} to be found"), async || !hits(client, new).await.is_empty()).await;
    assert!(hits(client, old).await.is_empty(), "{old} is no longer true");
}

#[tokio::test]
async fn what_is_written_with_a_tool_or_behind_our_back_is_found_and_the_old_is_not() {
    let folder = memory();
    let mut trove = Trove::start_in(&folder).await;
    trove.ready(&["memory"]).await;
    let client = trove.any_client().await;
    until("the first text", async || !hits(&client, "zebrafinch").await.is_empty()).await;
    let as_of = hits(&client, "zebrafinch").await[0]["asOf"].clone();
    assert!(as_of.as_str().is_some_and(|date| date.ends_with('Z')), "{as_of}");

    let hit = api(&trove, "search?q=zebrafinch").await["hits"][0].clone();
    assert!(hit["as_of"].is_u64() && hit["preview_stale"].is_boolean(), "on the page too: {hit}");

    // By a tool of the server that Trove passes through.
    let deletions =
        json!([{ "entityName": "Ann", "observations": ["wrote his first zebrafinch"] }]);
    client.call("memory_delete_observations", json!({ "deletions": deletions })).await;
    let added = json!([{ "entityName": "Ann", "contents": ["keeps a quokka"] }]);
    client.call("memory_add_observations", json!({ "observations": added })).await;
    becomes(&client, "quokka", "zebrafinch").await;

    // By another client of the server; the first to read it through Trove brings it along.
    remember(&folder, "keeps an axolotl");
    assert!(client.text("memory://knowledge-graph").await.contains("axolotl"));
    becomes(&client, "axolotl", "quokka").await;

    // While Trove was not there.
    trove.signal(Signal::TERM);
    trove.ended().await;
    remember(&folder, "keeps a capybara");
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    becomes(&client, "capybara", "axolotl").await;
    drop(trove);

    // And on the command line, which starts the server for itself.
    remember(&folder, "keeps a pangolin");
    let ran = folder.run(&["find", "pangolin", "--json", "--wait", "20"]).await;
    let first = &ran.json()["resources"][0];
    assert_eq!(first["uri"], "memory://knowledge-graph", "{ran:?}");
    assert_eq!(first["previewStale"], Value::Null, "{ran:?}");
}

#[tokio::test]
async fn a_text_that_may_have_changed_is_marked_until_its_server_is_there_again() {
    let folder = Folder::with(&config(&[searched("one", "--bare --resources 3 --size 200")]));
    let mut trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    super::indexed(&trove).await;
    trove.signal(Signal::TERM);
    trove.ended().await;
    folder.write(&config(&[searched("one", "--bare --fault hang:init")]));
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    until("the kept texts", async || hits(&client, "lazy").await.len() == 3).await;
    until("them to be marked", async || {
        hits(&client, "lazy").await.iter().all(|hit| hit["previewStale"] == true)
    })
    .await;
    assert!(hits(&client, "lazy").await.iter().all(|hit| hit["asOf"].is_string()));
}
