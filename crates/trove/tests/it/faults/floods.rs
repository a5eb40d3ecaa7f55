//! Servers that send unasked messages without end.

use std::fs;

use serde_json::Value;

use crate::kit::client::Kind;
use crate::kit::toy::{Remote, Toy, config, toy};
use crate::kit::{Trove, is_ready, until};

/// A small budget, so that a flood is seen for what it is at once.
const LIMITS: &str = "[limits]\nunasked_bytes = 400000\nunasked_bytes_per_second = 50000\n";
/// A budget that a flood has used up at once, and that it could overdraw for a long time.
const SLOW: &str = "[limits]\nunasked_bytes = 4000000\nunasked_bytes_per_second = 10000\n";

fn is_cut_off(source: &Value) -> bool {
    source["state"] == "cut-off"
}

fn with(limits: &str, toys: &[Toy]) -> String {
    format!("{limits}\n{}", config(toys))
}

#[tokio::test]
async fn t51_a_server_that_floods_is_cut_off_and_served_again_once_it_behaves() {
    let folder = tempfile::tempdir().expect("a folder");
    let goes_on = folder.path().join("goes-on");
    fs::write(&goes_on, "").expect("the file can be written");
    let mut toys = vec![toy("well", "--scheme well")];
    let kinds = [
        ("list-changed", "notifications"),
        ("ping", "requests to us"),
        ("answers", "answers to requests"),
        ("noise", "no messages"),
        ("blank", "blank lines"),
        ("line", "no messages"),
        ("stderr", "stderr"),
    ];
    for (kind, _) in kinds {
        let args = ["--flood-while", goes_on.to_str().expect("a name of ours")];
        let flooder = toy(kind, &format!("--scheme {kind} --flood {kind}"));
        toys.push(flooder.with_args(&args));
    }
    let trove = Trove::start(&with(LIMITS, &toys)).await;
    for (kind, words) in kinds {
        let cut = trove.source(kind, is_cut_off).await;
        let error = cut["last_error"].as_str().unwrap_or_default();
        assert!(error.contains("cut off") && error.contains(words), "{kind}: {error}");
        assert!(error.contains("limits.unasked_bytes"), "{kind}: {error}");
    }
    for kind in Kind::ALL {
        assert!(trove.client(kind).await.text("well://pid").await.starts_with("well|"));
    }
    // Requests for it say so as well, and so does the doctor.
    let client = trove.any_client().await;
    let refused = client.read("ping+ping://pid").await.expect_err("it was cut off");
    assert!(refused.to_string().contains("cut off"), "{refused}");
    fs::remove_file(&goes_on).expect("it was written");
    // Asked for, it is tried again after a while.
    for (kind, _) in kinds {
        // Qualified, for some were cut off before they had listed anything.
        let uri = format!("{kind}+{kind}://pid");
        let back = async || client.read(&uri).await.is_ok();
        until("the server to be served again", back).await;
        trove.source(kind, is_ready).await;
    }
}

#[tokio::test]
async fn t51_a_server_that_floods_over_http_or_sse_is_cut_off() {
    let remotes = [
        ("legacy", Remote::http("legacy", "--scheme l --era legacy --flood comments").await),
        ("modern", Remote::http("modern", "--scheme m --flood progress").await),
        ("fields", Remote::http("fields", "--scheme f --era legacy --flood fields").await),
        ("sse", Remote::sse("sse", "--scheme s --flood ping").await),
        ("blank", Remote::sse("blank", "--scheme b --flood blank").await),
    ];
    let mut toys: Vec<Toy> = remotes.iter().map(|(_, remote)| remote.toy()).collect();
    toys.push(toy("well", "--scheme well"));
    let trove = Trove::start(&with(LIMITS, &toys)).await;
    for (id, _) in &remotes {
        let cut = trove.source(id, is_cut_off).await;
        assert!(cut["last_error"].to_string().contains("cut off"), "{cut}");
    }
    assert!(trove.any_client().await.text("well://pid").await.starts_with("well|"));
}

#[tokio::test]
async fn t51_a_server_that_is_slowed_says_so_and_still_answers() {
    // Its answers come by another way than its flood.
    let toys = [toy("loud", "--scheme loud --flood stderr"), toy("well", "--scheme well")];
    let trove = Trove::start(&with(SLOW, &toys)).await;
    let is_slowed = |source: &Value| is_ready(source) && !source["warning"].is_null();
    let slowed = trove.source("loud", is_slowed).await;
    assert!(slowed["warning"].to_string().contains("reads it slowly"), "{slowed}");
    let client = trove.any_client().await;
    for (uri, name) in [("well://pid", "well|"), ("loud://pid", "loud|")] {
        assert!(client.text(uri).await.starts_with(name));
    }
}
