//! How texts grow old: when they are looked at again, and what a look costs.

use std::{
    sync::atomic::{AtomicI64, AtomicUsize, Ordering},
    time::{Duration, SystemTime},
};

use super::*;

/// What time it is in these tests, in milliseconds since 1970. Each moves it on only.
static NOW: AtomicI64 = AtomicI64::new(1_800_000_000_000);

fn now() -> SystemTime {
    let now = u64::try_from(NOW.load(Ordering::Relaxed)).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_millis(now)
}

fn pass(time: Duration) {
    NOW.fetch_add(time.as_millis() as i64, Ordering::Relaxed);
}

/// Counts what it encodes.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Encode for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn dimension(&self) -> usize {
        4
    }

    fn encode(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        self.0.fetch_add(texts.len(), Ordering::Relaxed);
        texts.iter().map(|_| vec![1.0, 0.0, 0.0, 0.0]).collect()
    }
}

fn open(dir: Option<&Path>, encoder: Option<Arc<dyn Encode>>) -> Search {
    let config = Config { now, ..Config::default() };
    Search::open(dir.map(Path::to_owned), config, encoder).unwrap()
}

/// The content of a resource as it is read now.
async fn look(search: &Search, uri: &str, text: &str) {
    search.put_content(entry(uri, "", "").key(), Content::new(text, search.now())).await;
    search.flush().await;
}

/// Which texts are to be looked at again, and why.
fn again(search: &Search) -> Vec<(String, Reason)> {
    let wanting = search.wanting(100, &|_, _, _| true);
    let again = wanting.into_iter().flat_map(|own| own.again);
    again.map(|it| (it.key.local.to_string(), it.reason)).collect()
}

fn opstamp(search: &Search) -> u64 {
    search.shared.store().index.load_metas().unwrap().opstamp
}

#[tokio::test]
async fn an_unchanged_text_is_neither_written_nor_encoded_again() {
    let encoder = Arc::new(Counting::default());
    let search = open(None, Some(encoder.clone()));
    fed(&search, vec![(entry("a:1", "one", ""), "")]).await;
    look(&search, "a:1", "some words").await;
    while search.awaiting_meaning() > 0 {
        tokio::task::yield_now().await;
    }
    let (written, encoded) = (opstamp(&search), encoder.0.load(Ordering::Relaxed));
    for _ in 0..3 {
        search.content_changed(entry("a:1", "", "").key()).await;
        look(&search, "a:1", "some words").await;
    }
    assert_eq!(again(&search), [], "each was a look");
    assert_eq!(opstamp(&search), written);
    // Nor is the meaning of a text another one on another day.
    let dated = Entry { modified: Some(7), size: Some(9), ..entry("a:1", "one", "") };
    search.apply(Change { put: vec![dated], removed: vec![] }).await;
    look(&search, "a:1", "some words").await;
    assert_eq!((search.awaiting_meaning(), again(&search)), (0, vec![]));
    assert_eq!(encoder.0.load(Ordering::Relaxed), encoded);
    look(&search, "a:1", "other words").await;
    assert!(opstamp(&search) > written, "what changed is written");
    while search.awaiting_meaning() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(encoder.0.load(Ordering::Relaxed), encoded + 1, "and encoded, once");
}

#[tokio::test]
async fn a_text_is_due_after_its_interval_and_says_so() {
    let search = open(None, None);
    fed(&search, vec![(entry("a:1", "one", ""), "")]).await;
    look(&search, "a:1", "some words").await;
    let hit = || search.find(&Query::terms(["words"]), &Everything).unwrap().hits.remove(0);
    let mut interval = FIRST_INTERVAL;
    for _ in 0..12 {
        assert_eq!(hit().as_of, Some(search.now() / 1000));
        pass(interval - Duration::from_millis(1));
        assert_eq!((again(&search), hit().is_text_old), (vec![], false), "{interval:?}");
        pass(Duration::from_millis(1));
        assert_eq!(again(&search), [("a:1".to_owned(), Reason::Due)], "{interval:?}");
        assert!(hit().is_text_old);
        look(&search, "a:1", "some words").await;
        interval = (interval * 2).min(MAX_INTERVAL);
    }
    look(&search, "a:1", "other words").await;
    pass(MAX_INTERVAL / 4);
    assert_eq!(again(&search), [("a:1".to_owned(), Reason::Due)], "what changed is due sooner");
}

#[tokio::test]
async fn what_was_looked_at_when_outlives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let looked_at = {
        let search = open(Some(dir.path()), None);
        fed(&search, vec![(entry("a:1", "one", ""), "")]).await;
        look(&search, "a:1", "some words").await;
        pass(FIRST_INTERVAL);
        look(&search, "a:1", "some words").await;
        search.shutdown();
        search.now()
    };
    pass(FIRST_INTERVAL);
    let search = open(Some(dir.path()), None);
    let hits = search.find(&Query::terms(["words"]), &Everything).unwrap();
    assert_eq!(hits.hits[0].as_of, Some(looked_at / 1000));
    assert_eq!(again(&search), [], "its interval has grown");
    search.cast_doubt(&source("docs"), Doubt::Undated);
    assert_eq!(again(&search), [("a:1".to_owned(), Reason::Doubted)]);
    search.shutdown();
    drop(search);
    // A file that is cut off is no reason not to begin.
    let path = dir.path().join("0").join("looks");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let search = open(Some(dir.path()), None);
    check_terms(&search, &["words"], &["a:1"]);
}

#[tokio::test]
async fn an_answer_that_was_overtaken_does_not_bring_the_old_text_back() {
    let search = open(None, None);
    fed(&search, vec![(entry("a:1", "one", ""), "")]).await;
    let key = entry("a:1", "", "").key();
    let asked_first = search.now();
    pass(Duration::from_millis(10));
    look(&search, "a:1", "new words").await;
    search.put_passing(key, Content::new("old words", asked_first)).await;
    search.flush().await;
    check_terms(&search, &["old"], &[]);
    check_terms(&search, &["new"], &["a:1"]);
}

#[tokio::test]
async fn what_passes_is_taken_in_only_where_it_is_looked_after() {
    let search = open(None, None);
    let listed = Entry { depth: Depth::Metadata, ..entry("a:listed", "two", "") };
    search.apply(Change { put: vec![entry("a:1", "one", ""), listed], removed: vec![] }).await;
    let of_ann = |text: &str| {
        let owner = Some(Arc::from("ann"));
        Content { owner, ..Content::new(text, search.now()) }
    };
    search.put_passing(entry("a:1", "", "").key(), of_ann("secret")).await;
    for uri in ["a:listed", "a:unknown"] {
        search.put_passing(entry(uri, "", "").key(), Content::new("words", search.now())).await;
    }
    search.flush().await;
    check_terms(&search, &["words"], &[]);
    let found = |word| search.find(&Query::terms([word]), &Owned("ann")).unwrap().total;
    assert_eq!(found("secret"), 0, "nobody reads it again as this owner");
    search.put_content(entry("a:1", "", "").key(), of_ann("old secret")).await;
    search.put_passing(entry("a:1", "", "").key(), of_ann("new secret")).await;
    search.flush().await;
    assert_eq!((found("old"), found("new")), (0, 1));
}

#[tokio::test]
async fn of_what_is_old_the_surest_to_have_changed_comes_first() {
    let search = open(None, None);
    let all = ["a:1", "a:2", "a:3", "a:4"];
    fed(&search, all.iter().map(|uri| (entry(uri, uri, ""), "")).collect()).await;
    for uri in all {
        look(&search, uri, "words").await;
        pass(Duration::from_millis(1));
    }
    let since = search.now();
    pass(Duration::from_secs(1));
    look(&search, "a:4", "words").await;
    search.shared.doubts.cast(&source("docs"), Doubt::All, since);
    for _ in 0..3 {
        search.note_use(&entry("a:3", "", "").key());
    }
    search.content_changed(entry("a:1", "", "").key()).await;
    search.flush().await;
    let order: Vec<String> = again(&search).into_iter().map(|(uri, _)| uri).collect();
    assert_eq!(order, ["a:1", "a:3", "a:2"], "told, then the most used; a:4 was looked at since");
    let oldest = search.wanting(1, &|_, _, _| true).remove(0).oldest;
    assert_eq!(oldest.map(|it| it.key.local.to_string()).as_deref(), Some("a:1"));
}

#[tokio::test]
async fn a_full_index_keeps_the_texts_it_has() {
    let config = Config { max_index_bytes: 1, now, ..Config::default() };
    let search = Search::open(None, config, None).unwrap();
    search.apply(Change { put: vec![entry("a:1", "one", "")], removed: vec![] }).await;
    search.put_content(entry("a:1", "", "").key(), Content::new("words", search.now())).await;
    search.flush().await;
    check_terms(&search, &["words"], &["a:1"]);
    look(&search, "a:1", "words").await;
    look(&search, "a:1", "newer words").await;
    check_terms(&search, &["newer"], &["a:1"]);
}
