//! Search never states what is no longer true: texts are looked at again, at an even pace, and
//! every hit tells its age.

use std::{
    sync::{Arc, OnceLock, atomic::Ordering},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trove_core::{
    Caller, Json, PublicUri, Source as _, SourceError,
    access::{Access, Policy, Rule},
    caller::Roles,
    gateway::{Index, Opening, Parts, READS_A_SECOND, REVISITS_A_SECOND},
    resource::{Freshness, ListsChanged, Scope},
    search::{Config, Doubt, Search},
    source::{Ask, SourceEvent},
    tools::{Settings, Tools},
};
use trove_testkit::{fake_source::FakeSource, gateway_box::GatewayBox};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A gateway whose index is in memory, and its tools.
struct Library {
    gateway: GatewayBox,
    tools: Arc<Tools>,
    stop: CancellationToken,
}

impl Drop for Library {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Library {
    /// Over one Source, once all its contents were read.
    async fn over(source: &Arc<FakeSource>) -> Library {
        let library = Library::with(source, Config::default()).await;
        let crawled = library.gateway.gateway.crawled();
        tokio::time::timeout(PATIENCE, crawled).await.expect("the index is fed in time");
        source.take_asked();
        library
    }

    async fn with(source: &Arc<FakeSource>, config: Config) -> Library {
        let (index, opening) = Index::opening();
        let gateway = GatewayBox::of(Parts { index, ..Parts::new("test") }, &[source]).await;
        Library::open(gateway, opening, config).await
    }

    /// Opens the index of a gateway.
    async fn open(gateway: GatewayBox, opening: Opening, config: Config) -> Library {
        let tools = Tools::new(gateway.gateway.clone(), Settings::default());
        let search = Search::open(None, config, None).expect("an index in memory");
        opening.adopt(search);
        let stop = CancellationToken::new();
        tokio::spawn(gateway.gateway.clone().crawl(stop.clone()));
        Library { gateway, tools, stop }
    }

    /// The hits for one word.
    async fn hits(&self, word: &str) -> Vec<Value> {
        let arguments = Json::of(&json!({ "searchTerms": [word], "semantic": false }));
        let tool = "search_resources";
        let caller = Caller::local();
        let reply = self.tools.call(&caller, tool, Some(&arguments), Ask::default()).await;
        let answer = reply.expect("a tool").body;
        let answer: Value = serde_json::from_str(answer.as_str()).expect("JSON");
        let hits = answer["structuredContent"]["resources"].as_array();
        hits.unwrap_or_else(|| panic!("no hits: {answer}")).clone()
    }

    async fn is_found(&self, word: &str) -> bool {
        !self.hits(word).await.is_empty()
    }

    async fn read(&self, uri: &str) -> bool {
        let uri = PublicUri::new(uri);
        self.gateway.gateway.read(&Caller::local(), &uri, Ask::default()).await.is_ok()
    }

    async fn until(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let waiting = async {
            while !is_so().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what}"));
    }
}

/// Two documents of a server that says nothing of changes.
fn notes() -> FakeSource {
    let source = FakeSource::new("notes", &[]).with_tools(&["write"]).with_reading_tool("look");
    for (uri, text) in [("note://bees", "quantumfoo"), ("note://boats", "mainsail")] {
        source.add_entry(&json!({ "uri": uri, "name": uri, "mimeType": "text/plain" }));
        source.give_text(uri, "text/plain", text);
    }
    source
}

#[tokio::test]
async fn a_text_that_somebody_reads_is_found_by_its_new_words() {
    let source = Arc::new(notes());
    let library = Library::over(&source).await;
    source.give_text("note://bees", "text/plain", "zanzibarian");
    assert!(library.read("note://bees").await);
    library.until("the new word", async || library.is_found("zanzibarian").await).await;
    assert!(!library.is_found("quantumfoo").await);
    assert_eq!(source.take_asked(), ["note://bees"], "read once, by the one who asked");
}

#[tokio::test]
async fn the_index_reads_what_is_kept_and_keeps_what_it_reads() {
    let source = notes();
    source.say_freshness(Freshness { ttl_ms: 3_600_000, scope: Scope::Public });
    // A text without a date would be doubted, as its server was listed after it was kept.
    let annotations = json!({ "lastModified": "2020-01-01T00:00:00Z" });
    source.add_entry(&json!({ "uri": "note://bees", "name": "bees", "annotations": annotations }));
    let source = Arc::new(source);
    let (index, opening) = Index::opening();
    let gateway = GatewayBox::of(Parts { index, ..Parts::new("test") }, &[&source]).await;
    // The first answer tells that answers of this server may be kept, the second is kept.
    for _ in 0..2 {
        gateway.read("note://bees").await.expect("it is there");
    }
    source.take_asked();
    let library = Library::open(gateway, opening, Config::default()).await;
    let crawled = library.gateway.gateway.crawled();
    tokio::time::timeout(PATIENCE, crawled).await.expect("the index is fed in time");
    assert!(library.is_found("quantumfoo").await, "the text that was kept");
    assert_eq!(source.take_asked(), ["note://boats"]);
    assert!(library.read("note://boats").await);
    assert!(source.take_asked().is_empty(), "the read of the index answers a caller");
}

#[tokio::test]
async fn a_text_that_is_refused_to_a_reader_is_looked_at_and_forgotten() {
    let source = Arc::new(notes());
    let library = Library::over(&source).await;
    source.fail("note://bees", SourceError::NotFound);
    assert!(!library.read("note://bees").await);
    library.until("it to be gone", async || !library.is_found("quantumfoo").await).await;
}

#[tokio::test]
async fn a_text_that_not_everybody_may_read_does_not_pass_into_the_index() {
    let source = Arc::new(notes());
    let library = Library::over(&source).await;
    let rule = Rule::new("note://bees", vec!["admin".to_owned()], false).expect("a pattern");
    let policy = Policy::new(vec![rule]);
    let local_roles = Roles::new(["admin".to_owned()]);
    library.gateway.gateway.set_access(Access { policy, local_roles, ..Access::default() });
    source.give_text("note://bees", "text/plain", "zanzibarian");
    assert!(library.read("note://bees").await, "the local user may");
    source.give_text("note://boats", "text/plain", "gollywobbler");
    assert!(library.read("note://boats").await);
    library.until("the other", async || library.is_found("gollywobbler").await).await;
    assert!(!library.is_found("zanzibarian").await);
}

#[tokio::test]
async fn a_private_text_that_its_owner_reads_is_found_by_its_new_words() {
    let source = notes();
    source.say_freshness(Freshness { ttl_ms: 0, scope: Scope::Private });
    let source = Arc::new(source);
    let library = Library::over(&source).await;
    library.until("the old word", async || library.is_found("quantumfoo").await).await;
    source.give_text("note://bees", "text/plain", "zanzibarian");
    assert!(library.read("note://bees").await);
    library.until("the new word", async || library.is_found("zanzibarian").await).await;
    assert!(!library.is_found("quantumfoo").await);
}

#[tokio::test]
async fn a_tool_that_may_write_casts_doubt_and_the_most_used_text_is_looked_at_first() {
    let source = notes();
    for n in 0..6 {
        source.add(&format!("note://{n}"));
    }
    let source = Arc::new(source);
    let library = Library::over(&source).await;
    for _ in 0..3 {
        assert!(library.read("note://4").await);
    }
    source.take_asked();
    source.give_text("note://bees", "text/plain", "zanzibarian");
    library.gateway.call_tool("notes_write").await;
    let hit = &library.hits("quantumfoo").await[0];
    assert_eq!(hit["previewStale"], true, "nobody has looked yet: {hit}");
    library.until("the new word", async || library.is_found("zanzibarian").await).await;
    assert!(!library.is_found("quantumfoo").await);
    assert_eq!(source.take_asked()[0], "note://4", "the most used one first");
    let search = library.gateway.gateway.search().expect("an index");
    library.until("all of them", async || !search.is_doubtful()).await;
    search.flush().await;
    let hit = &library.hits("zanzibarian").await[0];
    assert_eq!(hit["previewStale"], Value::Null, "it was looked at since: {hit}");
}

#[tokio::test]
async fn a_tool_that_only_reads_casts_no_doubt() {
    let source = Arc::new(notes());
    let library = Library::over(&source).await;
    let search = library.gateway.gateway.search().expect("an index");
    library.gateway.call_tool("notes_look").await;
    assert!(!search.is_doubtful());
    library.gateway.call_tool("notes_write").await;
    assert!(search.is_doubtful());
}

#[tokio::test]
async fn a_tool_whose_caller_has_gone_may_have_written_all_the_same() {
    let source = Arc::new(notes());
    let library = Library::over(&source).await;
    source.take_for_reads(PATIENCE);
    let call = library.gateway.call_tool("notes_write");
    assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err(), "it takes long");
    assert!(library.gateway.gateway.search().expect("an index").is_doubtful());
}

#[tokio::test]
async fn a_listing_with_other_tools_alone_casts_no_doubt() {
    let source = Arc::new(notes());
    let library = Library::over(&source).await;
    source.add_reading_tool("more");
    let gateway = &library.gateway.gateway;
    let lists = ListsChanged { tools: true, ..ListsChanged::default() };
    gateway.feed().report(source.id(), SourceEvent::ListsChanged(lists)).await;
    library.until("the tool", async || gateway.current().tool("notes_more").is_some()).await;
    let search = tokio::time::timeout(PATIENCE, gateway.fed()).await.expect("it is fed");
    assert!(!search.is_doubtful());
}

#[tokio::test]
async fn another_listing_casts_doubt_on_texts_without_a_date() {
    let source = notes();
    let dated = json!({ "uri": "note://dated", "name": "dated", "mimeType": "text/plain",
                        "annotations": { "lastModified": "2026-03-01T00:00:00Z" } });
    source.add_entry(&dated);
    let source = Arc::new(source);
    let library = Library::over(&source).await;
    source.give_text("note://bees", "text/plain", "zanzibarian");
    source.add("note://new");
    let feed = library.gateway.gateway.feed();
    let lists = ListsChanged { resources: true, ..ListsChanged::default() };
    feed.report(source.id(), SourceEvent::ListsChanged(lists)).await;
    library.until("the new word", async || library.is_found("zanzibarian").await).await;
    let search = library.gateway.gateway.search().expect("an index");
    library.until("all of them", async || !search.is_doubtful()).await;
    let asked = source.take_asked();
    assert!(!asked.contains(&"note://dated".to_owned()), "its date vouches for it: {asked:?}");
}

#[tokio::test]
async fn a_server_that_is_away_when_it_is_looked_at_is_still_found() {
    let source = Arc::new(notes());
    let library = Library::over(&source).await;
    source.take_down(true);
    let search = library.gateway.gateway.search().expect("an index");
    search.cast_doubt(source.id(), Doubt::All);
    library.until("a look in vain", async || !source.take_asked().is_empty()).await;
    search.flush().await;
    let hits = library.hits("quantumfoo").await;
    assert_eq!(hits[0]["previewStale"], true, "and said to be old: {hits:?}");
}

#[tokio::test]
async fn a_fault_of_a_server_takes_no_text_out_of_the_index() {
    for message in ["database is locked", "boom"] {
        let source = Arc::new(notes());
        let library = Library::over(&source).await;
        let refused =
            SourceError::Refused { code: -32603, message: message.to_owned(), data: None };
        source.fail("note://bees", refused);
        let search = library.gateway.gateway.search().expect("an index");
        search.cast_doubt(source.id(), Doubt::All);
        let bees = "note://bees".to_owned();
        library.until("a look", async || source.take_asked().contains(&bees)).await;
        search.flush().await;
        let hits = library.hits("quantumfoo").await;
        assert_eq!(hits[0]["previewStale"], true, "{message}: {hits:?}");
    }
}

#[tokio::test]
async fn every_hit_tells_how_old_it_is() {
    let source = notes();
    source.add_entry(&json!({ "uri": "note://unread", "name": "bare" }));
    source.fail("note://unread", SourceError::NotFound);
    let library = Library::over(&Arc::new(source)).await;
    for word in ["quantumfoo", "bare"] {
        let hit = &library.hits(word).await[0];
        let as_of = hit["asOf"].as_str().unwrap_or_else(|| panic!("{hit}"));
        let format = &time::format_description::well_known::Rfc3339;
        let as_of = SystemTime::from(time::OffsetDateTime::parse(as_of, format).expect("a date"));
        let age = SystemTime::now().duration_since(as_of).expect("it is past");
        assert!(age < Duration::from_secs(120), "{hit}");
        assert_eq!(hit["previewStale"], Value::Null, "{hit}");
    }
}

/// The paused clock, as the index sees it.
fn paused() -> SystemTime {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let began = *BEGAN.get_or_init(Instant::now);
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + began.elapsed()
}

/// Fails if more reads than allowed fall into any second.
#[track_caller]
fn check_pace(moments: &[Instant], a_second: u32, what: &str) {
    for (n, first) in moments.iter().enumerate() {
        let second = moments[n..].iter().take_while(|at| **at - *first < Duration::from_secs(1));
        let count = second.count();
        assert!(count <= a_second as usize, "{what}: {count} reads in one second");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_is_read_evenly_first_and_again() {
    const COUNT: usize = 120;
    let source = FakeSource::new("many", &[]).with_tools(&["write"]);
    for n in 0..COUNT {
        source.add(&format!("doc://{n}"));
    }
    let source = Arc::new(source);
    let library = Library::with(&source, Config { now: paused, ..Config::default() }).await;
    let reads = || source.reads.load(Ordering::Relaxed);
    let moments = || {
        let mut asked = source.asked.lock().expect("nobody panics with it");
        asked.drain(..).map(|(at, _)| at).collect::<Vec<Instant>>()
    };
    let enough = async |count: usize| {
        while reads() < count {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    enough(COUNT).await;
    check_pace(&moments(), READS_A_SECOND, "first");
    // What happened at the server makes all of it doubtful, at once.
    let before = reads();
    library.gateway.call_tool("many_write").await;
    enough(before + COUNT).await;
    check_pace(&moments(), REVISITS_A_SECOND, "doubted");
    // And nobody says anything: the clock alone.
    let before = reads();
    enough(before + 3 * COUNT).await;
    check_pace(&moments(), REVISITS_A_SECOND, "by the clock");
}
