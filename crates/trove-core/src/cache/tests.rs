//! The rules of the cache, with the clock stopped.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use proptest::prelude::*;
use tokio::{
    sync::{Notify, oneshot},
    time::advance,
};

use super::*;
use crate::{
    json::Json,
    resource::{Freshness, Scope},
    source::Told,
};

const UNSAID: Policy = Policy { public_ttl: None, told: None };
const PUBLIC: Policy = Policy { public_ttl: Some(Duration::from_secs(300)), told: None };

fn cache() -> Cache {
    Cache::new(Config {
        max_bytes: 1 << 20,
        max_entry_bytes: 64 << 10,
        stale_for: Duration::from_secs(600),
        now: || SystemTime::UNIX_EPOCH,
    })
}

fn source() -> SourceId {
    SourceId::new("s").unwrap()
}

fn key(uri: &str, who: &str) -> Key {
    Key { source: source(), uri: uri.into(), audience: Audience::Only(who.into()) }
}

fn says(text: &str, freshness: Option<(u64, Scope)>) -> Reply {
    let freshness = freshness.map(|(ttl_ms, scope)| Freshness { ttl_ms, scope });
    Reply { freshness, ..Reply::plain(Json::of(&text)) }
}

fn public(text: &str) -> Reply {
    says(text, Some((60_000, Scope::Public)))
}

fn private(text: &str) -> Reply {
    says(text, Some((60_000, Scope::Private)))
}

fn down() -> SourceError {
    SourceError::Unavailable(crate::source::Outage::passing("connecting"))
}

/// Asks for `uri` as `who`, where the Source would answer `reply`.
async fn ask_as(
    cache: &Cache,
    (uri, who): (&str, &str),
    policy: Policy,
    reply: Result<Reply, SourceError>,
) -> Result<Cached, SourceError> {
    cache.get_or_fetch(key(uri, who), policy, || async { reply }).await
}

async fn ask(cache: &Cache, reply: Result<Reply, SourceError>) -> Result<Cached, SourceError> {
    ask_as(cache, ("x:1", "me"), UNSAID, reply).await
}

#[track_caller]
fn text(cached: &Cached) -> String {
    cached.reply.body.to::<String>().unwrap()
}

/// What the second of two questions is answered, where the Source says `first`, then `second`.
async fn second_answer(policy: Policy, first: Reply, second: &str) -> String {
    let cache = cache();
    ask_as(&cache, ("x:1", "me"), policy, Ok(first)).await.unwrap();
    text(&ask_as(&cache, ("x:1", "me"), policy, Ok(public(second))).await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_believed_for_as_long_as_its_source_says() {
    let cache = cache();
    assert!(!ask(&cache, Ok(public("old"))).await.unwrap().hit);
    advance(Duration::from_millis(59_999)).await;
    let kept = ask(&cache, Ok(public("new"))).await.unwrap();
    assert_eq!((text(&kept).as_str(), kept.hit, kept.stale), ("old", true, false));
    assert_eq!(kept.age, Duration::from_millis(59_999));
    assert_eq!(kept.reply.freshness.unwrap().ttl_ms, 1, "what is left is passed on");
    advance(Duration::from_millis(1)).await;
    let fetched = ask(&cache, Ok(public("new"))).await.unwrap();
    assert_eq!((text(&fetched).as_str(), fetched.hit), ("new", false));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_that_must_not_be() {
    assert_eq!(second_answer(UNSAID, says("old", None), "new").await, "new");
    assert_eq!(second_answer(UNSAID, says("old", Some((0, Scope::Public))), "new").await, "new");
    assert_eq!(second_answer(PUBLIC, says("old", Some((0, Scope::Public))), "new").await, "new");
    let asking = Reply { needs_input: true, ..public("old") };
    assert_eq!(second_answer(PUBLIC, asking, "new").await, "new");
    let large = "x".repeat(70_000);
    assert_eq!(second_answer(PUBLIC, public(&large), "new").await, "new");
    assert_eq!(second_answer(UNSAID, private("old"), "new").await, "old");
}

#[tokio::test(start_paused = true)]
async fn where_a_source_says_nothing_configuration_may() {
    let cache = cache();
    ask_as(&cache, ("x:1", "me"), PUBLIC, Ok(says("old", None))).await.unwrap();
    let other = ask_as(&cache, ("x:1", "you"), PUBLIC, Err(down())).await.unwrap();
    assert_eq!((text(&other).as_str(), other.hit), ("old", true));
    assert_eq!(other.reply.freshness, None, "we promise nothing in the name of a Source");
    advance(Duration::from_secs(300)).await;
    let later = ask_as(&cache, ("x:1", "you"), PUBLIC, Ok(says("new", None))).await.unwrap();
    assert_eq!(text(&later), "new");
}

#[tokio::test(start_paused = true)]
async fn t28_what_is_private_is_shown_to_nobody_else() {
    let cache = cache();
    ask_as(&cache, ("x:1", "me"), PUBLIC, Ok(private("mine"))).await.unwrap();
    let other = ask_as(&cache, ("x:1", "you"), PUBLIC, Ok(private("yours"))).await.unwrap();
    assert_eq!((text(&other).as_str(), other.hit), ("yours", false));
    assert!(ask_as(&cache, ("x:1", "they"), PUBLIC, Err(down())).await.is_err());
    let mine = ask_as(&cache, ("x:1", "me"), PUBLIC, Ok(private("new"))).await.unwrap();
    assert_eq!((text(&mine).as_str(), mine.hit), ("mine", true));

    ask_as(&cache, ("x:2", "me"), UNSAID, Ok(public("ours"))).await.unwrap();
    let other = ask_as(&cache, ("x:2", "you"), UNSAID, Err(down())).await.unwrap();
    assert_eq!(text(&other), "ours");
}

#[tokio::test(start_paused = true)]
async fn t28_what_becomes_private_is_taken_from_the_others() {
    let cache = cache();
    ask(&cache, Ok(public("ours"))).await.unwrap();
    advance(Duration::from_secs(61)).await;
    ask(&cache, Ok(private("mine"))).await.unwrap();
    assert!(ask_as(&cache, ("x:1", "you"), UNSAID, Err(down())).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn t29_a_change_is_believed_at_once() {
    let cache = cache();
    for uri in ["x:1", "x:2"] {
        ask_as(&cache, (uri, "me"), UNSAID, Ok(public("old"))).await.unwrap();
    }
    cache.invalidate(&source(), &"x:1".into());
    assert_eq!(text(&ask(&cache, Ok(public("new"))).await.unwrap()), "new");
    let other = ask_as(&cache, ("x:2", "me"), UNSAID, Ok(public("new"))).await.unwrap();
    assert_eq!(text(&other), "old");
    cache.invalidate_source(&source());
    for uri in ["x:1", "x:2"] {
        let after = ask_as(&cache, (uri, "me"), UNSAID, Ok(public("newest"))).await.unwrap();
        assert_eq!(text(&after), "newest");
    }
    cache.invalidate_source(&source());
    assert!(ask(&cache, Err(down())).await.is_err(), "what changed does not stand in");
}

#[tokio::test(start_paused = true)]
async fn when_a_source_fails_its_last_answer_stands_in_for_a_while() {
    let cache = cache();
    ask(&cache, Ok(public("old"))).await.unwrap();
    advance(Duration::from_secs(659)).await;
    let stale = ask(&cache, Err(down())).await.unwrap();
    assert_eq!((text(&stale).as_str(), stale.hit, stale.stale), ("old", true, true));
    assert_eq!(stale.reply.freshness.unwrap().ttl_ms, 0);
    assert_eq!(cache.stats().stale, 1);
    advance(Duration::from_secs(1)).await;
    assert!(ask(&cache, Err(down())).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_a_source_refuses_it_refuses() {
    let cache = cache();
    ask(&cache, Ok(public("old"))).await.unwrap();
    advance(Duration::from_secs(61)).await;
    assert!(matches!(ask(&cache, Err(SourceError::NotFound)).await, Err(SourceError::NotFound)));
    assert!(ask(&cache, Err(down())).await.is_err(), "nor does the old answer come back");
}

#[tokio::test(start_paused = true)]
async fn t29_what_changes_are_told_of_is_believed_until_then() {
    let cache = cache();
    let (since, unsaid) = (Instant::now(), |text: &str| Ok(says(text, None)));
    let told = |wish| Policy { told: Some(Told { wish, since }), ..UNSAID };
    let ask =
        async |policy, reply| text(&ask_as(&cache, ("x:1", "me"), policy, reply).await.unwrap());
    assert_eq!(ask(told(1), unsaid("old")).await, "old");
    advance(Duration::from_secs(3600)).await;
    assert_eq!(ask(told(1), unsaid("new")).await, "old", "no change was told");
    cache.invalidate(&source(), &"x:1".into());
    assert_eq!(ask(told(1), unsaid("new")).await, "new");
    assert_eq!(ask(told(2), unsaid("newer")).await, "newer", "a change may have been missed");
    assert_eq!(ask(UNSAID, unsaid("newest")).await, "newest", "nothing is told any more");
    assert_eq!(ask(told(2), unsaid("last")).await, "last", "it was fetched while nothing was told");
    // The time that a server states outweighs its reports.
    let unkept = says("0", Some((0, Scope::Public)));
    cache.invalidate(&source(), &"x:1".into());
    assert_eq!(ask(told(2), Ok(unkept)).await, "0");
    assert_eq!(ask(told(2), unsaid("1")).await, "1");
}

#[tokio::test(start_paused = true)]
async fn what_is_fetched_anew_answers_the_next_question() {
    let cache = cache();
    let fetched = cache.fetch_anew(key("x:1", "me"), PUBLIC, async { Ok(says("one", None)) }).await;
    assert_eq!(fetched.unwrap().reply.body.to::<String>().unwrap(), "one");
    let asked = ask_as(&cache, ("x:1", "you"), PUBLIC, Err(down())).await.unwrap();
    assert_eq!((text(&asked).as_str(), asked.hit), ("one", true));
    let again = cache.fetch_anew(key("x:1", "me"), PUBLIC, async { Ok(says("two", None)) }).await;
    assert!(again.is_ok());
    let asked = ask_as(&cache, ("x:1", "you"), PUBLIC, Err(down())).await.unwrap();
    assert_eq!(text(&asked), "two");
    assert_eq!((cache.stats().hits, cache.stats().misses), (2, 0));
}

/// A fetch that waits to be let go, and tells whether it was dropped.
struct Held {
    go: oneshot::Sender<Result<Reply, SourceError>>,
    begun: Arc<Notify>,
    dropped: Arc<AtomicUsize>,
    asking: tokio::task::JoinHandle<Result<Cached, SourceError>>,
}

struct CountsDrop(Arc<AtomicUsize>);

impl Drop for CountsDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

async fn hold(cache: &Cache, who: &str, policy: Policy) -> Held {
    let (go, gone) = oneshot::channel();
    let begun = Arc::new(Notify::new());
    let dropped = Arc::new(AtomicUsize::new(0));
    let (cache, key) = (cache.clone(), key("x:1", who));
    let (signal, guard) = (begun.clone(), CountsDrop(dropped.clone()));
    let fetch = move || async move {
        let _guard = guard;
        signal.notify_one();
        gone.await.unwrap()
    };
    let asking = tokio::spawn(async move { cache.get_or_fetch(key, policy, fetch).await });
    begun.notified().await;
    Held { go, begun, dropped, asking }
}

/// Asks while a fetch is held; the Source would answer `reply` if it were asked again.
async fn join(
    cache: &Cache,
    who: &str,
    policy: Policy,
    reply: Reply,
) -> tokio::task::JoinHandle<Result<Cached, SourceError>> {
    let (joined, misses) = (cache.stats().joined, cache.stats().misses);
    let asking = {
        let (cache, key) = (cache.clone(), key("x:1", who));
        tokio::spawn(async move { cache.get_or_fetch(key, policy, || async { Ok(reply) }).await })
    };
    while cache.stats().joined == joined && cache.stats().misses == misses {
        tokio::task::yield_now().await;
    }
    asking
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_at_once_cause_one_fetch() {
    let cache = cache();
    let held = hold(&cache, "me", UNSAID).await;
    let others = [
        join(&cache, "me", UNSAID, public("again")).await,
        join(&cache, "me", UNSAID, public("again")).await,
    ];
    held.go.send(Ok(public("once"))).unwrap();
    assert_eq!(text(&held.asking.await.unwrap().unwrap()), "once");
    for other in others {
        let cached = other.await.unwrap().unwrap();
        assert_eq!((text(&cached).as_str(), cached.hit), ("once", false));
    }
    let stats = cache.stats();
    assert_eq!((stats.misses, stats.joined, stats.fetching), (1, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn one_who_leaves_does_not_end_the_fetch_for_others() {
    let cache = cache();
    let held = hold(&cache, "me", UNSAID).await;
    let other = join(&cache, "me", UNSAID, public("again")).await;
    held.asking.abort();
    assert!(held.asking.await.unwrap_err().is_cancelled());
    assert_eq!(held.dropped.load(Relaxed), 0);
    held.go.send(Ok(public("once"))).unwrap();
    assert_eq!(text(&other.await.unwrap().unwrap()), "once");
    assert!(ask(&cache, Err(down())).await.unwrap().hit);
}

#[tokio::test(start_paused = true)]
async fn when_all_have_left_the_fetch_is_cancelled() {
    let cache = cache();
    let held = hold(&cache, "me", UNSAID).await;
    let other = join(&cache, "me", UNSAID, public("again")).await;
    for asking in [held.asking, other] {
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
    }
    assert_eq!(held.dropped.load(Relaxed), 1);
    assert_eq!(cache.stats().fetching, 0);
    assert_eq!(text(&ask(&cache, Ok(public("anew"))).await.unwrap()), "anew");
}

#[tokio::test(start_paused = true)]
async fn an_error_goes_to_all_who_wait_and_is_not_kept() {
    let cache = cache();
    let held = hold(&cache, "me", UNSAID).await;
    let other = join(&cache, "me", UNSAID, public("again")).await;
    held.go.send(Err(SourceError::Lost)).unwrap();
    assert!(matches!(held.asking.await.unwrap(), Err(SourceError::Lost)));
    assert!(matches!(other.await.unwrap(), Err(SourceError::Lost)));
    assert_eq!(text(&ask(&cache, Ok(public("fine"))).await.unwrap()), "fine");
}

#[tokio::test(start_paused = true)]
async fn t29_an_answer_on_its_way_when_the_change_was_told_is_not_kept() {
    let cache = cache();
    let held = hold(&cache, "me", UNSAID).await;
    cache.invalidate(&source(), &"x:1".into());
    // Who asks after the change does not wait for the answer of before.
    let after = join(&cache, "me", UNSAID, public("new")).await;
    assert_eq!(text(&after.await.unwrap().unwrap()), "new");
    held.go.send(Ok(public("old"))).unwrap();
    assert_eq!(text(&held.asking.await.unwrap().unwrap()), "old");
    assert_eq!(text(&ask(&cache, Err(down())).await.unwrap()), "new");
    assert_eq!(cache.stats().fetching, 0);
}

#[tokio::test(start_paused = true)]
async fn a_fetch_for_all_whose_answer_is_private_serves_only_the_one_who_asked() {
    let cache = cache();
    let held = hold(&cache, "me", PUBLIC).await;
    let other = join(&cache, "you", PUBLIC, private("yours")).await;
    held.go.send(Ok(private("mine"))).unwrap();
    assert_eq!(text(&held.asking.await.unwrap().unwrap()), "mine");
    assert_eq!(text(&other.await.unwrap().unwrap()), "yours");
}

#[tokio::test(start_paused = true)]
async fn what_needs_input_goes_to_the_one_who_asked() {
    let cache = cache();
    let held = hold(&cache, "me", UNSAID).await;
    let other = join(&cache, "me", UNSAID, public("own")).await;
    held.go.send(Ok(Reply { needs_input: true, ..public("who are you?") })).unwrap();
    assert!(held.asking.await.unwrap().unwrap().reply.needs_input);
    assert_eq!(text(&other.await.unwrap().unwrap()), "own");
    drop(held.begun);
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_stays_within_its_bytes() {
    let cache = cache();
    for n in 0..200 {
        let reply = Ok(public(&"x".repeat(20_000)));
        ask_as(&cache, (&format!("x:{n}"), "me"), UNSAID, reply).await.unwrap();
    }
    let stats = cache.stats();
    assert!(stats.bytes <= 1 << 20 && stats.bytes > 500_000, "{stats:?}");
    assert!(stats.evictions >= 140, "{stats:?}");
    assert_eq!(stats.misses, 200);
}

#[tokio::test(start_paused = true)]
async fn no_source_can_make_an_answer_eternal() {
    let cache = cache();
    ask(&cache, Ok(says("old", Some((u64::MAX, Scope::Public))))).await.unwrap();
    advance(MAX_TTL).await;
    let cached = ask(&cache, Ok(public("new"))).await.unwrap();
    assert_eq!((text(&cached).as_str(), cached.fetched_at), ("new", SystemTime::UNIX_EPOCH));
}

#[tokio::test(start_paused = true)]
async fn t36_a_clock_that_jumps_makes_no_answer_older_or_younger() {
    static HOURS: AtomicUsize = AtomicUsize::new(500_000);
    let now = || SystemTime::UNIX_EPOCH + Duration::from_secs(3600 * HOURS.load(Relaxed) as u64);
    let cache = Cache::new(Config {
        max_bytes: 1 << 20,
        max_entry_bytes: 64 << 10,
        stale_for: Duration::from_secs(600),
        now,
    });
    ask(&cache, Ok(public("old"))).await.unwrap();
    for hours in [0, 1, 499_999, 900_000, 500_000] {
        HOURS.store(hours, Relaxed);
        advance(Duration::from_secs(5)).await;
        let kept = ask(&cache, Ok(public("new"))).await.unwrap();
        assert_eq!((text(&kept).as_str(), kept.hit), ("old", true), "at hour {hours}");
    }
    advance(Duration::from_secs(36)).await;
    assert_eq!(text(&ask(&cache, Ok(public("new"))).await.unwrap()), "new");
}

/// What may happen to two resources that two people read.
#[derive(Debug, Clone)]
enum Event {
    Read { uri: usize, who: usize },
    Change { uri: usize },
    ChangeAll,
    Pass { seconds: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..2_usize, 0..2_usize).prop_map(|(uri, who)| Event::Read { uri, who }),
        1 => (0..2_usize).prop_map(|uri| Event::Change { uri }),
        1 => Just(Event::ChangeAll),
        1 => (1..50_u64).prop_map(|seconds| Event::Pass { seconds }),
    ]
}

proptest! {
    #[test]
    fn t48_nobody_reads_what_is_known_to_have_changed(events in prop::collection::vec(event(), 1..60)) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        let versions = Arc::new(Mutex::new([0_u32; 2]));
        let wrong = runtime.block_on(run(events, versions));
        prop_assert_eq!(wrong, None);
    }
}

/// Plays the events; gives the first read that was answered with an older version.
async fn run(events: Vec<Event>, versions: Arc<Mutex<[u32; 2]>>) -> Option<usize> {
    let cache = cache();
    for (n, event) in events.into_iter().enumerate() {
        match event {
            Event::Read { uri, who } => {
                let source = versions.clone();
                let fetch =
                    move || async move { Ok(public(&source.lock().unwrap()[uri].to_string())) };
                let key = key(["x:0", "x:1"][uri], ["me", "you"][who]);
                let cached = cache.get_or_fetch(key, UNSAID, fetch).await.unwrap();
                if text(&cached) != versions.lock().unwrap()[uri].to_string() {
                    return Some(n);
                }
            }
            Event::Change { uri } => {
                versions.lock().unwrap()[uri] += 1;
                cache.invalidate(&source(), &["x:0", "x:1"][uri].into());
            }
            Event::ChangeAll => {
                versions.lock().unwrap().iter_mut().for_each(|version| *version += 1);
                cache.invalidate_source(&source());
            }
            Event::Pass { seconds } => advance(Duration::from_secs(seconds)).await,
        }
    }
    None
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t48_threads_that_read_while_things_change_see_every_change_that_was_told() {
    const CHANGES: u64 = 500;
    let cache = cache();
    let (version, told) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let readers: Vec<_> = ["me", "me", "you"]
        .into_iter()
        .map(|who| {
            let (cache, version, told) = (cache.clone(), version.clone(), told.clone());
            tokio::spawn(async move {
                loop {
                    let known = told.load(Ordering::SeqCst);
                    let version = version.clone();
                    let fetch = move || async move {
                        let seen = version.load(Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        Ok(public(&seen.to_string()))
                    };
                    let cached = cache.get_or_fetch(key("x:1", who), PUBLIC, fetch).await;
                    let seen: u64 = text(&cached.unwrap()).parse().unwrap();
                    assert!(seen >= known, "read {seen} after being told of {known}");
                    if known == CHANGES {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for change in 1..=CHANGES {
        version.store(change, Ordering::SeqCst);
        match change % 7 {
            0 => cache.invalidate_source(&source()),
            _ => cache.invalidate(&source(), &"x:1".into()),
        }
        told.store(change, Ordering::SeqCst);
        tokio::task::yield_now().await;
    }
    for reader in readers {
        reader.await.unwrap();
    }
    assert_eq!(cache.stats().fetching, 0);
}
