//! `trove bench`: a person measures their own servers.

use serde_json::json;

use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove};

#[tokio::test]
async fn every_server_is_measured_directly_and_through_trove() {
    let toys = [
        toy("one", "--bare --resources 12"),
        toy("two", "--bare --resources 3 --ttl-ms 60000 --scheme two"),
    ];
    let folder = Folder::with(&config(&toys));
    let ran = folder.run(&["bench", "--json", "--reads", "8", "--concurrency", "2"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    assert_eq!((&report["reads"], &report["concurrency"]), (&json!(8), &json!(2)));
    let servers = report["servers"].as_array().expect("servers");
    assert_eq!(servers.len(), 2, "{report}");
    for (server, (id, resources)) in servers.iter().zip([("one", 12), ("two", 3)]) {
        assert_eq!((&server["id"], &server["resources"]), (&json!(id), &json!(resources)));
        assert!(server["list_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{server}");
        let read = &server["read"];
        assert_eq!((&read["sampled"], &read["unreadable"]), (&json!(resources), &json!(0)));
        assert!(read["bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{server}");
        for way in ["direct", "through"] {
            assert_eq!(read[way]["failed"], 0, "{server}");
            for figure in ["p50_ms", "p95_ms", "per_second"] {
                assert!(
                    read[way][figure].as_f64().is_some_and(|n| n > 0.0),
                    "{way} {figure}: {server}"
                );
            }
        }
    }
    // Answers that may be kept are kept, and said to be.
    assert_eq!(servers[0]["read"]["cached"], 0.0, "{report}");
    assert!(servers[1]["read"]["cached"].as_f64().is_some_and(|share| share > 0.5), "{report}");
    assert!(report["list"]["resources"].as_u64().is_some_and(|all| all >= 15), "{report}");
    // Nothing is kept: no index, no audit, no listing.
    for kept in ["index", "audit.jsonl", "catalogue", "eras.json"] {
        assert!(!folder.home().join(kept).exists(), "{kept} was written");
    }
}

#[tokio::test]
async fn no_more_is_asked_of_a_server_than_was_said() {
    // Each way asks once for its resource, and then twice four times; the tenth read would be too much.
    let folder = Folder::with(&config(&[toy("one", "--bare --resources 1 --fault crash:after=9")]));
    let ran = folder.run(&["bench", "--json", "--reads", "4"]).await;
    let read = &ran.json()["servers"][0]["read"];
    assert_eq!((&read["direct"]["failed"], &read["through"]["failed"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn trouble_of_one_server_is_told_and_the_others_are_measured() {
    let toys = [
        toy("fine", "--bare --resources 2 --scheme fine"),
        toy("mute", "--bare --resources 2 --scheme mute --fault error:read"),
        toy("gone", "--fault crash:init"),
    ];
    let folder = Folder::with(&config(&toys));
    let ran = folder.run(&["bench", "--reads", "4"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line = |start: &str| ran.text().lines().find(|line| line.starts_with(start));
    assert!(line("fine ").is_some_and(|line| !line.contains('–')), "{ran:?}");
    for id in ["mute", "gone"] {
        assert!(line(&format!("{id} ")).is_some_and(|line| line.contains('–')), "{ran:?}");
        assert!(line(&format!("note: {id}: ")).is_some(), "{ran:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_measured_at_all_has_its_exit_code() {
    let folder = Folder::with(&config(&[toy("gone", "--fault crash:init")]));
    let ran = folder.run(&["bench", "--json"]).await;
    assert_eq!((ran.code, &ran.json()["success"]), (Some(4), &json!(false)), "{ran:?}");
    assert!(ran.text().contains("trove doctor"), "{ran:?}");
    let ran = folder.run(&["bench", "--json", "nobody"]).await;
    assert_eq!((ran.code, &ran.json()["error"]), (Some(1), &json!("InvalidArguments")), "{ran:?}");
    let ran = Folder::with("").run(&["bench", "--json"]).await;
    assert_eq!((ran.code, &ran.json()["error"]), (Some(2), &json!("Config")), "{ran:?}");
}

#[tokio::test]
async fn a_trove_that_runs_is_left_alone() {
    let trove = Trove::with(&[toy("one", "--bare --resources 2")]).await;
    let pid = trove.source("one", crate::kit::is_ready).await["pid"].clone();
    let ran = trove.folder.run(&["bench", "--reads", "4", "one"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(trove.source("one", crate::kit::is_ready).await["pid"], pid);
}

#[tokio::test]
async fn what_is_not_approved_is_not_started() {
    let folder = Folder::project(&config(&[toy("one", "--bare --resources 2")]));
    let ran = folder.run(&["bench", "--json"]).await;
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.text().contains("trove approve --config") && ran.text().contains(" one`"),
        "{ran:?}"
    );
    let ran = folder.run(&["bench", "--json", "--yes", "--reads", "4"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
