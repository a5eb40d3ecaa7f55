//! Questions that come while the search index is still being opened.

use std::sync::Arc;

use trove_core::{
    Caller, Gateway,
    gateway::FindError,
    search::{Config, Query, Search},
};
use trove_testkit::gateway_box::GatewayBox;

async fn ask(gateway: &Gateway) -> Result<usize, FindError> {
    let found = gateway.find(&Caller::local(), Query::terms(["anything"])).await;
    found.map(|found| found.hits.total)
}

#[tokio::test]
async fn a_question_waits_for_the_index_that_is_being_opened() {
    let with = GatewayBox::with(&[]).await;
    let opening = with.gateway.open_search();
    let gateway = with.gateway.clone();
    let asking = tokio::spawn(async move { ask(&gateway).await });
    tokio::task::yield_now().await;
    opening.adopt(Search::open(None, Config::default(), None).expect("an index in memory"));
    assert_eq!(asking.await.expect("it ends").expect("there is an index"), 0);
}

#[tokio::test]
async fn an_index_that_cannot_be_opened_is_not_waited_for() {
    let with = GatewayBox::with(&[]).await;
    let opening = with.gateway.open_search();
    let gateway: Arc<Gateway> = with.gateway.clone();
    let asking = tokio::spawn(async move { ask(&gateway).await });
    tokio::task::yield_now().await;
    drop(opening);
    assert!(matches!(asking.await.expect("it ends"), Err(FindError::NoIndex)));
    assert!(matches!(ask(&with.gateway).await, Err(FindError::NoIndex)), "nor by the next one");
}

#[tokio::test(start_paused = true)]
async fn an_index_that_takes_long_to_open_is_said_to() {
    let with = GatewayBox::with(&[]).await;
    let _opening = with.gateway.open_search();
    assert!(matches!(ask(&with.gateway).await, Err(FindError::Opening)));
}
