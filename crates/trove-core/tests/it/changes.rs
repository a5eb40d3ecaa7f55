//! Changes: seen, coalesced, told; failures keep what was known.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use trove_core::{
    Caller, Json, Source as _,
    catalogue::{Change, List},
    gateway::ListAnswer,
    resource::ListsChanged,
    source::SourceEvent,
};
use trove_testkit::{
    fake_source::FakeSource,
    gateway_box::{Asks as _, GatewayBox},
};

fn lists() -> SourceEvent {
    SourceEvent::ListsChanged(ListsChanged { resources: true, ..ListsChanged::default() })
}

#[tokio::test(start_paused = true)]
async fn t10_a_flood_of_changes_becomes_one_listing_a_second() {
    let a = Arc::new(FakeSource::new("a", &["doc:1"]));
    let gateway = GatewayBox::with(&[&a]).await;
    let before = a.listings.load(Ordering::Relaxed);
    a.add("doc:2");
    for _ in 0..500 {
        gateway.gateway.feed().report(a.id(), lists()).await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(gateway.names().await, ["doc:1", "doc:2"]);
    let listings = a.listings.load(Ordering::Relaxed) - before;
    assert!((1..=3).contains(&listings), "{listings}");
}

#[tokio::test(start_paused = true)]
async fn t52_a_long_list_that_changes_at_each_look_is_listed_less_often() {
    let uris: Vec<String> = (0..10_000).map(|n| format!("tiny:{n}")).collect();
    let uris: Vec<&str> = uris.iter().map(String::as_str).collect();
    let long = Arc::new(FakeSource::new("long", &uris));
    let short = Arc::new(FakeSource::new("short", &["doc:1"]));
    let gateway = GatewayBox::with(&[&long, &short]).await;
    let listings = || [&long, &short].map(|source| source.listings.load(Ordering::Relaxed));
    let before = listings();
    // Each looks different whenever it is looked at, and says so all the time.
    for n in 0..300 {
        for source in [&long, &short] {
            source.add(&format!("new:{n}"));
            gateway.gateway.feed().report(source.id(), lists()).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let after = listings();
    let [of_long, of_short] = [after[0] - before[0], after[1] - before[1]];
    // For 10,000 entries of its own two seconds of rest, and a tenth for all there are.
    assert!((12..=16).contains(&of_long), "{of_long} in half a minute");
    assert!(of_short >= 25, "{of_short} in half a minute: a short one is looked at each second");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let names = gateway.names().await;
    assert!(names.contains(&"long+new:299".to_owned()) || names.contains(&"new:299".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_failing_listing_keeps_the_last_one_and_marks_it_stale() {
    let a = Arc::new(FakeSource::new("a", &["doc:1"]));
    let b = Arc::new(FakeSource::new("b", &["doc:2"]));
    let gateway = GatewayBox::with(&[&a, &b]).await;
    a.fail_listing(true);
    gateway.gateway.feed().report(a.id(), lists()).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(gateway.names().await, ["doc:1", "doc:2"]);
    let snapshot = gateway.gateway.snapshot().await;
    assert_eq!(snapshot.stale(), [a.id()]);
    a.fail_listing(false);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(gateway.gateway.snapshot().await.stale().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_source_that_does_not_speak_up_is_listed_again_when_somebody_wants_to_see() {
    let silent = Arc::new(FakeSource::new("silent", &["doc:1"]).silent());
    let speaking = Arc::new(FakeSource::new("speaking", &["doc:a"]));
    let gateway = GatewayBox::with(&[&silent, &speaking]).await;
    let listings = || [&silent, &speaking].map(|source| source.listings.load(Ordering::Relaxed));
    let before = listings();
    silent.add("doc:2");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(listings(), before, "nobody asked");
    let caller = Caller::local();
    let look = || gateway.gateway.list(&caller, List::Resources, None);
    let text = |page: ListAnswer| page.page.entries.iter().map(Json::as_str).collect::<String>();
    assert!(text(look().await.unwrap()).contains("doc:2"), "whoever asks gets what is new");
    assert_eq!(listings(), [before[0] + 1, before[1]]);
    look().await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(listings()[0], before[0] + 1, "it is new");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_hangs_while_it_is_listed_again_holds_up_a_list_for_a_moment_and_once() {
    let hangs = Arc::new(FakeSource::new("hangs", &["doc:1"]).silent());
    let gateway = GatewayBox::with(&[&hangs]).await;
    hangs.take_for_listings(Duration::from_secs(3600));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let caller = Caller::local();
    let began = tokio::time::Instant::now();
    for _ in 0..3 {
        let answer = gateway.gateway.list(&caller, List::Resources, None).await.unwrap();
        assert!(answer.page.entries.iter().any(|entry| entry.as_str().contains("doc:1")));
    }
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_detached_source_takes_only_its_own_resources_away() {
    let a = Arc::new(FakeSource::new("a", &["doc:1"]));
    let b = Arc::new(FakeSource::new("b", &["doc:1", "doc:2"]));
    let gateway = GatewayBox::with(&[&a, &b]).await;
    assert_eq!(gateway.names().await, ["a+doc:1", "b+doc:1", "doc:2"]);
    gateway.gateway.feed().detach(a.id().clone()).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(gateway.names().await, ["doc:1", "doc:2"]);
}

#[tokio::test(start_paused = true)]
async fn listeners_hear_of_lists_that_differ_and_of_nothing_else() {
    let a = Arc::new(FakeSource::new("a", &["doc:1"]));
    let gateway = GatewayBox::with(&[&a]).await;
    let mut changes = gateway.gateway.changes();
    gateway.gateway.feed().report(a.id(), SourceEvent::Ready).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(changes.try_recv().is_err());
    a.add("doc:2");
    gateway.gateway.feed().report(a.id(), SourceEvent::Ready).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(matches!(
        changes.try_recv(),
        Ok(Change::Lists(ListsChanged { resources: true, tools: false, .. }))
    ));
}

#[tokio::test]
async fn a_source_is_told_of_every_watcher_and_of_the_end_of_the_last() {
    let a = Arc::new(FakeSource::new("a", &["doc:1"]));
    let gateway = GatewayBox::with(&[&a]).await;
    let caller = Caller::local();
    let first = gateway.gateway.watch(&caller, &"doc:1".into()).await.unwrap();
    let second = gateway.gateway.watch(&caller, &"a+doc:1".into()).await.unwrap();
    assert_eq!(first, second);
    gateway.gateway.unwatch(&first);
    assert_eq!(*a.watches.lock().unwrap(), ["+doc:1", "+doc:1"]);
    gateway.gateway.unwatch(&second);
    assert_eq!(*a.watches.lock().unwrap(), ["+doc:1", "+doc:1", "-doc:1"]);
}

#[tokio::test(start_paused = true)]
async fn who_goes_before_the_source_has_promised_to_report_is_no_watcher() {
    let a = Arc::new(FakeSource::new("a", &["doc:1"]));
    let gateway = GatewayBox::with(&[&a]).await;
    let (caller, uri) = (Caller::local(), "doc:1".into());
    a.take_for_watching(Duration::from_secs(3600));
    let watch = gateway.gateway.watch(&caller, &uri);
    let gone = tokio::time::timeout(Duration::from_secs(1), watch).await;
    assert!(gone.is_err() && *a.watches.lock().unwrap() == ["+doc:1", "-doc:1"]);
    a.take_for_watching(Duration::ZERO);
    let watched = gateway.gateway.watch(&caller, &uri).await.unwrap();
    gateway.gateway.unwatch(&watched);
    assert_eq!(a.watches.lock().unwrap()[2..], ["+doc:1", "-doc:1"]);
}

#[tokio::test(start_paused = true)]
async fn a_source_whose_lists_always_break_off_is_listed_again_as_soon_as_it_says_so() {
    let a = Arc::new(FakeSource::new("a", &["doc:1", "doc:2"]));
    let gateway = GatewayBox::with(&[&a]).await;
    a.break_off_listing(true);
    gateway.gateway.feed().report(a.id(), lists()).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    for event in [lists(), SourceEvent::Ready] {
        let uri = format!("doc:{}", a.listings.load(Ordering::Relaxed));
        a.add(&uri);
        gateway.gateway.feed().report(a.id(), event).await;
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert!(gateway.names().await.contains(&uri), "{uri}");
    }
    // That it is ready counts as a new beginning.
    let before = a.listings.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(a.listings.load(Ordering::Relaxed) > before);
}

#[tokio::test(start_paused = true)]
async fn who_lists_after_a_tool_sees_what_it_did() {
    let a = Arc::new(FakeSource::new("a", &["doc:0"]).silent().with_tools(&["add"]));
    let gateway = GatewayBox::with(&[&a]).await;
    let caller = Caller::local();
    for n in 1..5 {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let uri = format!("doc:{n}");
        a.add(&uri);
        gateway.call_tool("a_add").await;
        let look = || gateway.gateway.list(&caller, List::Resources, None);
        for page in futures_util::future::join_all([look(), look(), look()]).await {
            let entries = page.unwrap().page.entries;
            assert!(entries.iter().any(|entry| entry.as_str().contains(&uri)), "{uri}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_whose_lists_take_long_is_not_listed_all_the_time_for_its_tools() {
    let a = Arc::new(FakeSource::new("a", &["doc:0"]).silent().with_tools(&["add"]));
    let gateway = GatewayBox::with(&[&a]).await;
    a.take_for_listings(Duration::from_secs(30));
    let before = a.listings.load(Ordering::Relaxed);
    for n in 0..360 {
        gateway.call_tool("a_add").await;
        a.add(&format!("doc:{}", n + 1));
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    let listings = a.listings.load(Ordering::Relaxed) - before;
    assert!((4..=8).contains(&listings), "{listings} in an hour");
    tokio::time::sleep(Duration::from_secs(700)).await;
    assert_eq!(gateway.names().await.len(), 361, "the last one is not forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_slow_source_does_not_slow_another() {
    let slow = Arc::new(FakeSource::new("slow", &["s:1"]));
    let fast = Arc::new(FakeSource::new("fast", &["f:1"]));
    let gateway = GatewayBox::with(&[&slow, &fast]).await;
    slow.take_for_reads(Duration::from_secs(3600));
    let began = tokio::time::Instant::now();
    let (slow_read, fast_read) =
        tokio::join!(tokio::time::timeout(Duration::from_secs(10), gateway.read("s:1")), async {
            let text = gateway.read("f:1").await.unwrap();
            (text, began.elapsed())
        },);
    assert!(slow_read.is_err());
    assert_eq!(fast_read.0, "fast|f:1");
    assert!(fast_read.1 < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn t47_a_source_whose_listing_panics_is_listed_again_and_costs_nobody_else() {
    let (a, b) =
        (Arc::new(FakeSource::new("a", &["doc:1"])), Arc::new(FakeSource::new("b", &["doc:2"])));
    let gateway = GatewayBox::with(&[&a, &b]).await;
    a.panic_listing(true);
    b.add("doc:3");
    for source in [&a, &b] {
        gateway.gateway.feed().report(source.id(), lists()).await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(gateway.names().await, ["doc:1", "doc:2", "doc:3"]);
    assert_eq!(gateway.gateway.snapshot().await.stale(), [a.id()]);
    a.panic_listing(false);
    a.add("doc:4");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(gateway.names().await, ["doc:1", "doc:4", "doc:2", "doc:3"]);
}
