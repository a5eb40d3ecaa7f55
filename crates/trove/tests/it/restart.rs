//! Lists from before a restart are served at once after it, and said to be a memory.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kit::client::Kind;
use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove, is_ready, until};

/// A folder in which Trove has run once and listed three resources.
async fn lived_in() -> Arc<Folder> {
    let folder = Folder::with(&config(&[toy("one", "--bare --resources 3")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    until("the list to be kept", async || {
        let memories = std::fs::read_dir(folder.home().join("catalogue"));
        memories.is_ok_and(|all| all.flatten().any(|one| one.path().join("one.listing").is_file()))
    })
    .await;
    folder
}

async fn check_remembered(fault: &str) {
    let folder = lived_in().await;
    folder.write(&config(&[toy("one", &format!("--bare --resources 3 --fault {fault}"))]));
    let trove = Trove::start_in(&folder).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let result = client.ask("resources/list", json!({})).await.expect("a list");
        let listed = result["resources"].as_array().expect("resources").iter();
        let uris: Vec<&str> = listed.filter_map(|entry| entry["uri"].as_str()).collect();
        assert!(uris.contains(&"toy://item/2"), "{kind:?} of {fault}: {uris:?}");
        assert_eq!(result["_meta"]["trove/stale"], json!(["one"]), "{kind:?} of {fault}");
    }
    let source = trove.source("one", |_| true).await;
    assert!(source["stale_seconds"].is_u64(), "{source}");
    assert_eq!(source["resources"], 3);
    assert_eq!(trove.health().await["status"], "degraded");
}

#[tokio::test]
async fn the_list_of_a_server_that_hangs_is_remembered() {
    check_remembered("hang:init").await;
}

#[tokio::test]
async fn the_list_of_a_server_that_is_late_is_remembered() {
    check_remembered("delay:init=30000").await;
}

#[tokio::test]
async fn the_list_of_a_server_that_crashes_is_remembered() {
    check_remembered("crash:init").await;
}

#[tokio::test]
async fn a_remembered_resource_that_cannot_be_read_says_why() {
    let folder = lived_in().await;
    folder.write(&config(&[toy("one", "--fault crash:init")]));
    let trove = Trove::start_in(&folder).await;
    trove.source("one", |source| source["failures"] != 0).await;
    let error = trove.any_client().await.read("toy://item/0").await.expect_err("it is gone");
    assert_eq!(
        error["data"],
        json!({ "source": "one", "retryable": true, "uri": "toy://item/0" }),
        "{error}"
    );
    assert!(error["message"].as_str().unwrap_or_default().contains("not connected"), "{error}");
}

#[tokio::test]
async fn a_list_is_no_memory_any_more_once_its_server_has_answered() {
    let folder = lived_in().await;
    folder.write(&config(&[toy("one", "--bare --resources 4")]));
    let trove = Trove::start_in(&folder).await;
    let source = trove.source("one", is_ready).await;
    assert_eq!(source["resources"], 4);
    let client = trove.any_client().await;
    let result = client.ask("resources/list", json!({})).await.expect("a list");
    assert_eq!(result["_meta"]["trove/stale"], Value::Null);
    assert!(client.uris().await.contains(&"toy://item/3".to_owned()));
}

#[tokio::test]
async fn a_server_that_is_no_longer_configured_is_not_remembered() {
    let folder = lived_in().await;
    folder.write(&config(&[toy("other", "--scheme other --bare --resources 1")]));
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    trove.ready(&["other"]).await;
    let listed = client.uris().await;
    assert!(listed.iter().all(|uri| !uri.starts_with("toy://")), "{listed:?}");
    client.read("toy://item/0").await.expect_err("nobody serves it");
}

#[tokio::test]
async fn what_servers_gave_is_kept_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::with(&config(&[toy("one", "--resources 3")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let mode = |name: &str| {
        let place = folder.home().join(name);
        std::fs::metadata(&place).map_or(0, |data| data.permissions().mode() & 0o777)
    };
    for name in ["", "catalogue", "index"] {
        assert_eq!(mode(name), 0o700, "{name:?}");
    }
}

#[tokio::test]
async fn what_is_asked_for_before_the_first_list_is_there_is_answered_with_it() {
    let toys =
        [toy("one", "--resources 3 --fault delay:init=800"), toy("mute", "--fault hang:init")];
    let trove = Trove::start(&config(&toys)).await;
    let client = trove.any_client().await;
    let call = json!({ "name": "get_resource", "arguments": { "uri": "toy://item/2" } });
    let (native, bridged) =
        tokio::join!(client.text("toy://item/2"), client.ask("tools/call", call));
    let bridged = bridged.expect("a result");
    assert_eq!(bridged["isError"], false, "{bridged}");
    assert_eq!(bridged["structuredContent"]["data"], native.as_str(), "{bridged}");
    // One has not been listed, so the name may be one of its own.
    let call = json!({ "name": "get_resource", "arguments": { "uri": "nowhere://x" } });
    let failure = client.ask("tools/call", call).await.expect("a result");
    assert_eq!(failure["structuredContent"]["retryable"], true, "{failure}");
    let actions = failure["structuredContent"]["suggested_actions"].to_string();
    assert!(actions.contains("Not every server has been listed yet"), "{actions}");
}
