//! Questions that come while the search index is still being opened.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::time::Instant;
use trove_core::{
    Caller, Gateway,
    access::audit::{Audit, AuditConfig},
    gateway::{FindError, Index, Opening, Parts},
    search::{Config, Query, Search},
};
use trove_testkit::gateway_box::GatewayBox;

async fn ask(gateway: &Gateway) -> Result<usize, FindError> {
    let found = gateway.find(&Caller::local(), Query::terms(["anything"])).await;
    found.map(|found| found.hits.total)
}

/// A gateway whose index is being opened.
async fn opening() -> (GatewayBox, Opening) {
    let (index, opening) = Index::opening();
    (GatewayBox::of(Parts { index, ..Parts::new("test") }, &[]).await, opening)
}

#[tokio::test]
async fn a_question_waits_for_the_index_that_is_being_opened() {
    let (with, opening) = opening().await;
    let gateway = with.gateway.clone();
    let asking = tokio::spawn(async move { ask(&gateway).await });
    tokio::task::yield_now().await;
    opening.adopt(Search::open(None, Config::default(), None).expect("an index in memory"));
    assert_eq!(asking.await.expect("it ends").expect("there is an index"), 0);
}

#[tokio::test]
async fn an_index_that_cannot_be_opened_is_not_waited_for() {
    let (with, opening) = opening().await;
    let gateway: Arc<Gateway> = with.gateway.clone();
    let asking = tokio::spawn(async move { ask(&gateway).await });
    tokio::task::yield_now().await;
    drop(opening);
    assert!(matches!(asking.await.expect("it ends"), Err(FindError::NoIndex)));
    assert!(matches!(ask(&with.gateway).await, Err(FindError::NoIndex)), "nor by the next one");
}

#[tokio::test(start_paused = true)]
async fn an_index_that_takes_long_to_open_is_said_to() {
    let (with, _opening) = opening().await;
    assert!(matches!(ask(&with.gateway).await, Err(FindError::Opening)));
}

#[tokio::test(start_paused = true)]
async fn questions_wait_but_once_for_what_earlier_runs_remembered() {
    // No one says that all servers were attached: their memories may take for ever.
    let gateway = Gateway::new(Parts::new("test")).await;
    let began = Instant::now();
    for _ in 0..9 {
        gateway.snapshot().await;
    }
    assert!(began.elapsed() <= Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_search_without_an_index_leaves_a_line_in_the_audit_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("audit.jsonl");
    let audit = Audit::start(AuditConfig::in_file(&file));
    let with = GatewayBox::of(Parts { audit, ..Parts::new("test") }, &[]).await;
    assert!(ask(&with.gateway).await.is_err());
    let written = async {
        loop {
            let lines = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some(line) = lines.lines().next() {
                return serde_json::from_str::<Value>(line).expect("a line of JSON");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let line = tokio::time::timeout(Duration::from_secs(20), written).await.expect("a line");
    assert_eq!((&line["action"], &line["outcome"]), (&"find".into(), &"failed".into()), "{line}");
}
