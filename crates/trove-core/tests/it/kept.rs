//! Answers that may be kept are kept, for whom they may be, until they may not.

use std::sync::{Arc, atomic::Ordering};

use trove_core::{
    Caller, Source as _,
    caller::Door,
    resource::{Freshness, ListsChanged, Scope},
    source::{Ask, SourceEvent},
};
use trove_testkit::{fake_source::FakeSource, gateway_box::GatewayBox};

const LONG: u64 = 60_000;

async fn with(freshness: Option<Freshness>) -> (GatewayBox, Arc<FakeSource>) {
    let source = Arc::new(FakeSource::new("srv", &["doc:1", "doc:2"]));
    if let Some(freshness) = freshness {
        source.say_freshness(freshness);
    }
    (GatewayBox::with(&[&source]).await, source)
}

fn of(principal: &str) -> Caller {
    Caller { principal: Some(principal.into()), ..Caller::behind(Door::Http) }
}

/// Reads as somebody; how often the Source has been asked by then, and whether the answer was kept.
async fn read(gateway: &GatewayBox, source: &FakeSource, caller: &Caller) -> (usize, bool) {
    let reading = gateway.gateway.read(caller, &"doc:1".into(), Ask::default()).await;
    let reading = reading.expect("it reads");
    (source.reads.load(Ordering::Relaxed), reading.hit)
}

#[tokio::test]
async fn a_source_that_says_nothing_is_always_asked() {
    let (gateway, source) = with(None).await;
    for n in 1..4 {
        assert_eq!(read(&gateway, &source, &of("ada")).await, (n, false));
    }
}

#[tokio::test]
async fn t29_where_changes_are_told_of_an_answer_serves_until_one_is() {
    let (gateway, source) = with(None).await;
    assert_eq!(read(&gateway, &source, &of("ada")).await, (1, false));
    source.tell_changes();
    assert_eq!(read(&gateway, &source, &of("ada")).await, (2, false), "from now on");
    assert_eq!(read(&gateway, &source, &of("ada")).await, (2, true));
    assert_eq!(read(&gateway, &source, &of("bob")).await, (3, false), "nobody said it is for all");
    gateway.gateway.feed().report(source.id(), SourceEvent::Updated("doc:1".into())).await;
    while read(&gateway, &source, &of("ada")).await.1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(read(&gateway, &source, &of("ada")).await, (4, true));
}

#[tokio::test]
async fn t29_a_public_answer_serves_everybody_until_its_source_says_it_changed() {
    let (gateway, source) = with(Some(Freshness { ttl_ms: LONG, scope: Scope::Public })).await;
    // The first answer tells that answers may be kept; the second is.
    assert_eq!(read(&gateway, &source, &of("ada")).await, (1, false));
    assert_eq!(read(&gateway, &source, &of("ada")).await, (2, false));
    assert_eq!(read(&gateway, &source, &of("bob")).await, (2, true));
    let events = [
        SourceEvent::Updated("doc:1".into()),
        SourceEvent::ListsChanged(ListsChanged::ALL),
        // A part of it.
        SourceEvent::Updated("doc:1/part/2".into()),
    ];
    for (n, event) in events.into_iter().enumerate() {
        gateway.gateway.feed().report(source.id(), event).await;
        while read(&gateway, &source, &of("bob")).await.1 {
            tokio::task::yield_now().await;
        }
        assert_eq!(read(&gateway, &source, &of("ada")).await, (n + 3, true));
    }
}

#[tokio::test]
async fn t28_a_private_answer_never_reaches_another_caller() {
    let (gateway, source) = with(Some(Freshness { ttl_ms: LONG, scope: Scope::Private })).await;
    read(&gateway, &source, &of("ada")).await;
    assert_eq!(read(&gateway, &source, &of("ada")).await, (2, false));
    assert_eq!(read(&gateway, &source, &of("ada")).await, (2, true));
    assert_eq!(read(&gateway, &source, &of("bob")).await, (3, false));
    let nobody = Caller::behind(Door::Http);
    assert_eq!(read(&gateway, &source, &nobody).await, (4, false));
}

#[tokio::test]
async fn t29_a_kept_answer_stands_in_for_a_source_that_fails_and_says_so() {
    let (gateway, source) = with(Some(Freshness { ttl_ms: 1, scope: Scope::Public })).await;
    read(&gateway, &source, &of("ada")).await;
    read(&gateway, &source, &of("ada")).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    source.take_down(true);
    let reading = gateway.gateway.read(&of("ada"), &"doc:1".into(), Ask::default()).await;
    assert!(reading.expect("the kept answer").stale);
    let other = gateway.gateway.read(&of("ada"), &"doc:2".into(), Ask::default()).await;
    assert!(other.is_err());
}

#[tokio::test]
async fn t29_what_was_kept_is_asked_for_again_after_a_tool_that_may_write() {
    let source = FakeSource::new("srv", &["doc:1"]).with_tools(&["write"]);
    let source = Arc::new(source.with_reading_tool("look"));
    let gateway = GatewayBox::with(&[&source]).await;
    source.tell_changes();
    assert_eq!(read(&gateway, &source, &of("ada")).await, (1, false));
    gateway.call_tool("srv_look").await;
    assert_eq!(read(&gateway, &source, &of("ada")).await, (1, true));
    gateway.call_tool("srv_write").await;
    assert_eq!(read(&gateway, &source, &of("ada")).await, (2, false));
    assert_eq!(read(&gateway, &source, &of("ada")).await, (2, true));
}
