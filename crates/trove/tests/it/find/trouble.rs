//! One server is dead, one slow, one huge: the others are found, and the answer says what
//! may be missing.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::{BREAD, found, library, searched, uris};
use crate::kit::client::Client;
use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove, until};

#[tokio::test]
async fn a_dead_a_slow_and_a_huge_server_cost_the_others_nothing() {
    let folder: std::sync::Arc<Folder> = library("");
    let toys = [
        searched("one", "--bare --resources 3 --scheme one"),
        searched("dead", "--fault crash:init --scheme dead"),
        searched("slow", "--fault delay:list=120000 --scheme slow"),
        toy("huge", "--bare --resources 20000 --page-size 1000 --scheme huge"),
    ];
    folder.write(&config(&toys));
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    let asked = json!({ "searchTerms": ["zanzibarian"] });
    until("what answers to be found", async || {
        uris(&found(&client, "search_resources", asked.clone()).await).contains(&BREAD)
    })
    .await;
    let answer = when_listed(&client, "slow", asked).await;
    let why_dead = why(&answer, "dead").expect("it is named");
    assert!(!why_dead.is_empty(), "{answer}");
    assert_eq!(answer["complete"], false, "{answer}");
    assert!(answer["coverage"]["indexable"].is_u64(), "{answer}");
    let asked = json!({ "searchTerms": ["19999"], "servers": ["huge"] });
    until("the huge one to be found too", async || {
        uris(&found(&client, "search_resources", asked.clone()).await) == ["huge://item/19999"]
    })
    .await;
    let answer = found(&client, "discover_resources", json!({ "servers": ["huge"] })).await;
    assert_eq!(answer["totalFound"], 20_000, "{answer}");
    assert_eq!(answer["errors"], Value::Null, "of the servers that were asked for");
}

/// The answer once a server is connected and its list asked for.
async fn when_listed(client: &Client, server: &str, asked: Value) -> Value {
    let answer = RefCell::new(Value::Null);
    until("its list to be asked for", async || {
        let now = found(client, "search_resources", asked.clone()).await;
        // Named from the first answer on, for any reason that keeps it.
        let is_listed = why(&now, server).expect("it is named") == "its list is still being read";
        answer.replace(now);
        is_listed
    })
    .await;
    answer.into_inner()
}

/// The error of a server in an answer.
fn why<'a>(answer: &'a Value, server: &str) -> Option<&'a str> {
    let mut errors = answer["errors"].as_array()?.iter();
    errors.find(|error| error["server"] == server)?["error"].as_str()
}

#[tokio::test]
async fn a_server_that_reads_for_ever_holds_up_no_other() {
    let toys = [
        searched("a-slow", "--bare --resources 500 --fault delay:read=3600000 --scheme slow"),
        searched("b-good", "--bare --resources 80 --size 200 --scheme good"),
    ];
    let trove = Trove::start(&config(&toys)).await;
    trove.ready(&["a-slow", "b-good"]).await;
    let client = trove.any_client().await;
    let asked = json!({ "searchTerms": ["lazy", "dog"], "searchScope": "content" });
    until("all contents of the good one to be found", async || {
        let answer = found(&client, "search_resources", asked.clone()).await;
        answer["success"] == true && answer["totalFound"] == 80
    })
    .await;
}

#[tokio::test]
async fn contents_that_cannot_be_read_are_said_to_be_missing() {
    let toys = [searched("bad", "--bare --resources 4 --fault error:read --scheme bad")];
    let trove = Trove::start(&config(&toys)).await;
    trove.ready(&["bad"]).await;
    let client = trove.any_client().await;
    let asked = json!({ "searchTerms": ["item"], "servers": ["bad"] });
    until("them to be given up", async || {
        let answer = found(&client, "search_resources", asked.clone()).await;
        // Their names are still found.
        answer["success"] == true
            && answer["coverage"]["skipped"]["unreadable"] == 4
            && answer["totalFound"] == 4
    })
    .await;
}
