//! Names of servers that have not been listed yet.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};
use trove_core::{
    Caller, Json, Source as _,
    access::{Access, Policy, Rule},
    gateway::{Action, AskError},
    source::{Ask, SourceEvent},
    status::State,
};
use trove_testkit::{
    fake_source::FakeSource,
    gateway_box::{Asks as _, GatewayBox},
};

/// A gateway with one Source that is listed and one that is being started.
async fn with_late(late: &Arc<FakeSource>) -> GatewayBox {
    let early = Arc::new(FakeSource::new("early", &["note:early"]));
    let gateway = GatewayBox::with(&[&early]).await;
    let board = gateway.gateway.board();
    board.add(late.id(), "fake");
    board.update(late.id(), |status| status.state = State::Connecting);
    gateway.gateway.feed().attach(late.clone()).await;
    gateway
}

/// The Source answers now.
async fn arrive(gateway: &GatewayBox, late: &FakeSource) {
    gateway.gateway.board().update(late.id(), |status| status.state = State::Ready);
    gateway.gateway.feed().report(late.id(), SourceEvent::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn a_name_of_a_server_that_is_being_started_is_waited_for() {
    let late = Arc::new(FakeSource::new("late", &["doc:late"]).with_tools(&["greet"]));
    let gateway = with_late(&late).await;
    let arguments = Json::parse(r#"{"name":"late_greet"}"#).unwrap();
    let (caller, began) = (Caller::local(), Instant::now());
    let (read, called, ()) = tokio::join!(
        gateway.read("doc:late"),
        gateway.gateway.act(&caller, Action::CallTool, &arguments, Ask::default()),
        async {
            sleep(Duration::from_secs(1)).await;
            arrive(&gateway, &late).await;
        },
    );
    assert_eq!(read.unwrap(), "late|doc:late");
    called.unwrap();
    assert!(began.elapsed() < Duration::from_millis(1500));
}

#[tokio::test(start_paused = true)]
async fn what_is_known_does_not_wait_for_it() {
    let late = Arc::new(FakeSource::new("late", &["doc:late"]));
    let gateway = with_late(&late).await;
    let began = Instant::now();
    assert_eq!(gateway.read("note:early").await.unwrap(), "early|note:early");
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_serves_is_told_as_soon_as_all_have_been_listed() {
    let late = Arc::new(FakeSource::new("late", &["doc:late"]));
    let gateway = with_late(&late).await;
    let began = Instant::now();
    let (read, ()) = tokio::join!(gateway.read("other:nowhere"), async {
        sleep(Duration::from_secs(1)).await;
        arrive(&gateway, &late).await;
    });
    assert_eq!(read.unwrap_err().to_string(), "Invalid URI scheme: no source serves other:nowhere");
    assert!(began.elapsed() < Duration::from_millis(1500));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_long_is_waited_for_once_and_then_spoken_of() {
    let late = Arc::new(FakeSource::new("late", &["doc:late"]));
    let gateway = with_late(&late).await;
    let began = Instant::now();
    let error = gateway.read("doc:late").await.unwrap_err();
    assert!(matches!(error, AskError::NotFound { awaits_lists: true, .. }), "{error}");
    assert!(error.to_string().contains("not every server has been listed yet"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(4));
    let again = Instant::now();
    gateway.read("doc:late").await.unwrap_err();
    assert_eq!(again.elapsed(), Duration::ZERO, "its first moments are over");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_nothing_and_is_started_again_was_listed() {
    let late = Arc::new(FakeSource::new("late", &[]));
    let gateway = with_late(&late).await;
    arrive(&gateway, &late).await;
    gateway.settle().await;
    gateway.gateway.board().update(late.id(), |status| status.state = State::Connecting);
    let began = Instant::now();
    let error = gateway.read("other:nowhere").await.unwrap_err();
    assert!(matches!(error, AskError::NotFound { awaits_lists: false, .. }), "{error}");
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_is_hidden_of_our_own_is_not_told_by_the_time_it_takes() {
    let late = Arc::new(FakeSource::new("late", &["doc:late"]));
    let gateway = with_late(&late).await;
    let rule = Rule::new("info://health", vec!["admin".to_owned()], false).unwrap();
    let policy = Policy::new(vec![rule]);
    gateway.gateway.set_access(Access { policy, ..Access::default() });
    let began = Instant::now();
    for uri in ["info://health", "info://tools/none"] {
        gateway.read(uri).await.unwrap_err();
        assert_eq!(began.elapsed(), Duration::ZERO, "{uri}");
    }
}
