//! Meaning, by an encoder that knows a few topics.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
    mpsc::{Receiver, Sender, channel},
};

use super::*;

/// Puts texts near each other that share a topic.
struct Topics;

impl Encode for Topics {
    fn name(&self) -> &str {
        "topics"
    }

    fn dimension(&self) -> usize {
        3
    }

    fn encode(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let topics = [["car", "vehicle", "automobile"], ["cat", "feline", "kitten"]];
        let has = |text: &str, words: &[&str]| {
            f32::from(u8::from(words.iter().any(|word| text.to_lowercase().contains(word))))
        };
        let vector = |text: &&str| vec![has(text, &topics[0]), has(text, &topics[1]), 0.1];
        texts.iter().map(vector).collect()
    }
}

async fn with_meaning(dir: Option<&Path>) -> Search {
    let encoder: Arc<dyn Encode> = Arc::new(Topics);
    let search = Search::open(dir.map(Path::to_owned), Config::default(), Some(encoder)).unwrap();
    let mut entries = vec![
        (entry("a:car", "automobile.md", ""), "The automobile is repaired."),
        (entry("a:cat", "kitten.md", ""), "A kitten sleeps."),
    ];
    let others: Vec<String> = (0..30).map(|n| format!("o:{n}")).collect();
    entries.extend(others.iter().map(|uri| (entry(uri, "other", ""), "about nothing")));
    fed(&search, entries).await;
    while search.awaiting_meaning() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    search
}

#[tokio::test]
async fn meaning_finds_what_words_do_not() {
    let search = with_meaning(None).await;
    let query = Query { threshold: 0.0, ..Query::text("vehicle") };
    let hits = search.find(&query, &Everything).unwrap();
    assert_eq!(uris(&hits)[0], "a:car");
    assert!(hits.hits[0].why.contains(&Why::Meaning));
    assert!(hits.hits[0].preview.as_ref().unwrap().contains("repaired"));
    let without = Query { is_semantic: false, ..query.clone() };
    assert_eq!(search.find(&without, &Everything).unwrap().total, 0);
    let hidden = search.find(&query, &Hiding("a:car")).unwrap();
    assert!(!uris(&hidden).contains(&"a:car"));
    let signs = Query { threshold: 0.0, ..Query::text("\"?\"") };
    assert_eq!(search.find(&signs, &Everything).unwrap().total, 0, "signs mean nothing");
    // Terms filter, unless nothing holds them.
    let hits = search.find(&Query::terms(["automobile"]), &Everything).unwrap();
    assert_eq!((uris(&hits), hits.is_relaxed), (vec!["a:car"], false));
    let hits = search.find(&Query::terms(["feline"]), &Everything).unwrap();
    assert!(hits.is_relaxed);
    assert_eq!(uris(&hits)[0], "a:cat");
}

#[tokio::test]
async fn vectors_are_not_computed_twice() {
    let dir = tempfile::tempdir().unwrap();
    with_meaning(Some(dir.path())).await.shutdown();
    struct Never;
    impl Encode for Never {
        fn name(&self) -> &str {
            "topics"
        }
        fn dimension(&self) -> usize {
            3
        }
        fn encode(&self, texts: &[&str]) -> Vec<Vec<f32>> {
            assert_eq!(texts, ["vehicle"], "only the question is encoded");
            vec![vec![1.0, 0.0, 0.1]]
        }
    }
    let search =
        Search::open(Some(dir.path().to_owned()), Config::default(), Some(Arc::new(Never)))
            .unwrap();
    assert_eq!(search.awaiting_meaning(), 0);
    let query = Query { threshold: 0.0, ..Query::text("vehicle") };
    assert_eq!(uris(&search.find(&query, &Everything).unwrap())[0], "a:car");
}

/// Counts what it encodes; the first time it waits until it is let go.
struct Held {
    texts: AtomicUsize,
    begun: Sender<()>,
    let_go: Mutex<Receiver<()>>,
}

impl Encode for Held {
    fn name(&self) -> &str {
        "held"
    }
    fn dimension(&self) -> usize {
        1
    }
    fn encode(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        if self.texts.fetch_add(texts.len(), Ordering::SeqCst) == 0 {
            self.begun.send(()).unwrap();
            self.let_go.lock().unwrap().recv().unwrap();
        }
        vec![vec![1.0]; texts.len()]
    }
}

#[tokio::test]
async fn a_pause_loses_nothing_of_a_long_text() {
    let (begun, has_begun) = channel();
    let (go, let_go) = channel();
    let held = Arc::new(Held { texts: AtomicUsize::new(0), begun, let_go: let_go.into() });
    let search = Search::open(None, Config::default(), Some(held.clone())).unwrap();
    let long = "Words that follow one another for a long time. ".repeat(400);
    search.pause_meaning(true);
    fed(&search, vec![(entry("a:long", "long.md", ""), long.as_str())]).await;
    assert!(search.is_meaning_busy(), "it has something to do, and waits");
    search.pause_meaning(false);
    has_begun.recv().unwrap();
    search.pause_meaning(true);
    go.send(()).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let before = held.texts.load(Ordering::SeqCst);
    assert_eq!(search.status().vectors, 0, "not done yet");
    search.pause_meaning(false);
    while search.awaiting_meaning() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let (all, vectors) = (held.texts.load(Ordering::SeqCst), search.status().vectors);
    assert!(before < all, "the pause came in the middle");
    assert_eq!(all, vectors, "nothing was encoded twice");
}
