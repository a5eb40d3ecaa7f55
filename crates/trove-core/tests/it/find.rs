//! Finding resources over fake Sources: by name, description and content, and only what
//! whoever asks may read.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use trove_core::{
    Caller, Json, PublicUri, Source as _, SourceError, SourceId,
    access::{Access, Policy, Rule},
    caller::{Door, Roles},
    gateway::{IndexRule, IndexRules, Parts},
    resource::{Freshness, Scope},
    search::{self, Config, Encode, Entry, Search},
    source::{Ask, Indexing, Outage, SourceEvent},
    status::State,
    tools::{Settings, Tools, Toolset},
};
use trove_testkit::{fake_source::FakeSource, gateway_box::GatewayBox};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A gateway with an index in memory, and its tools.
struct Finder {
    gateway: GatewayBox,
    tools: Arc<Tools>,
    stop: CancellationToken,
}

impl Drop for Finder {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Finder {
    /// Over these Sources, once all their contents were read.
    async fn over(sources: &[&Arc<FakeSource>]) -> Finder {
        let search = Search::open(None, Config::default(), None).expect("an index in memory");
        Finder::with(Arc::new(search), sources).await
    }

    async fn with(search: Arc<Search>, sources: &[&Arc<FakeSource>]) -> Finder {
        let parts = Parts { index: search.into(), ..Parts::new("test") };
        let gateway = GatewayBox::of(parts, sources).await;
        let toolsets = vec![Toolset::Resources, Toolset::PerServer];
        let settings = Settings { toolsets, ..Settings::default() };
        let tools = Tools::new(gateway.gateway.clone(), settings);
        let stop = CancellationToken::new();
        tokio::spawn(gateway.gateway.clone().crawl(stop.clone()));
        let finder = Finder { gateway, tools, stop };
        finder.crawled().await;
        finder
    }

    async fn crawled(&self) {
        let crawled = self.gateway.gateway.crawled();
        tokio::time::timeout(PATIENCE, crawled).await.expect("the index is fed in time");
    }

    async fn until(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let waiting = async {
            while !is_so().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what}"));
    }

    async fn call(&self, caller: &Caller, tool: &str, arguments: Value) -> Value {
        let arguments = Json::of(&arguments);
        let reply = self.tools.call(caller, tool, Some(&arguments), Ask::default()).await;
        let result: Value =
            serde_json::from_str(reply.expect("a tool").body.as_str()).expect("JSON");
        result["structuredContent"].clone()
    }

    /// What `search_resources` gives for one term.
    async fn search(&self, caller: &Caller, term: &str) -> Value {
        self.call(caller, "search_resources", json!({ "searchTerms": [term] })).await
    }

    async fn uris(&self, term: &str) -> Vec<String> {
        uris(&self.search(&Caller::local(), term).await)
    }

    fn hide(&self, pattern: &str) {
        let rule = Rule::new(pattern, vec!["admin".to_owned()], false).expect("a pattern");
        let policy = Policy::new(vec![rule]);
        self.gateway.gateway.set_access(Access { policy, ..Access::default() });
    }
}

fn uris(answer: &Value) -> Vec<String> {
    let hits = answer["resources"].as_array().unwrap_or_else(|| panic!("no hits: {answer}"));
    hits.iter().filter_map(|hit| hit["uri"].as_str().map(str::to_owned)).collect()
}

fn library() -> FakeSource {
    let source = FakeSource::new("lib", &[]);
    source.add_entry(&json!({
        "uri": "docs://bees", "name": "Beekeeping", "description": "On hives and nectar",
        "mimeType": "text/plain", "annotations": { "lastModified": "2026-03-01T00:00:00Z" },
    }));
    source
        .add_entry(&json!({ "uri": "docs://boats", "name": "Sailing", "mimeType": "text/plain" }));
    source.give_text("docs://bees", "text/plain", "A queen lays quantumfoo eggs.");
    source.give_text("docs://boats", "text/plain", "Reef the mainsail early.");
    source
}

#[tokio::test]
async fn a_resource_is_found_by_name_description_and_content() {
    let finder = Finder::over(&[&Arc::new(library())]).await;
    for (term, why) in
        [("beekeeping", "name"), ("nectar", "description"), ("quantumfoo", "content")]
    {
        let answer = finder.search(&Caller::local(), term).await;
        assert_eq!(uris(&answer), ["docs://bees"], "{term}");
        assert!(answer["resources"][0]["why"].to_string().contains(why), "{term}: {answer}");
        assert_eq!(answer["complete"], true, "{answer}");
    }
    let query = json!({ "query": "mainsail", "includeContent": true });
    let answer = finder.call(&Caller::local(), "discover_resources", query).await;
    assert_eq!(uris(&answer)[0], "docs://boats");
    let preview = answer["resources"][0]["contentPreview"].as_str();
    assert!(preview.is_some_and(|text| text.contains("mainsail")), "{answer}");
}

#[tokio::test]
async fn a_type_that_no_server_names_is_told_by_what_was_read() {
    let source = library();
    for (uri, text) in [("docs://plain", "Knots and splices."), ("docs://json", "{\"knots\": 1}")] {
        source.add_entry(&json!({ "uri": uri, "name": uri }));
        let contents = json!({ "contents": [{ "uri": uri, "text": text }] });
        source.give(uri, contents.to_string());
    }
    source.add_entry(&json!({ "uri": "docs://unread", "name": "unread" }));
    source.fail("docs://unread", SourceError::NotFound);
    let finder = Finder::over(&[&Arc::new(source)]).await;
    let of_type = async |wanted: &str| {
        let asked = json!({ "contentTypes": [wanted], "servers": ["lib"] });
        let mut found = uris(&finder.call(&Caller::local(), "discover_resources", asked).await);
        found.sort();
        found
    };
    assert_eq!(of_type("text/plain").await, ["docs://bees", "docs://boats", "docs://plain"]);
    assert_eq!(of_type("application/*").await, ["docs://json"]);
    assert_eq!(of_type("*/*").await.len(), 5, "what has no type too");
    let summary = finder.call(&Caller::local(), "resource_summary", json!({})).await;
    let by_type = &summary["summary"]["resourcesByType"];
    assert_eq!((&by_type["text/plain"], &by_type["unknown"]), (&json!(3), &json!(1)), "{by_type}");
}

#[tokio::test]
async fn what_is_hidden_is_neither_found_nor_counted() {
    let finder = Finder::over(&[&Arc::new(library())]).await;
    let nobody = Caller::behind(Door::Http);
    let before = finder.search(&nobody, "quantumfoo").await;
    assert_eq!(before["totalFound"], 1);
    finder.hide("docs://bees");
    let after = finder.search(&nobody, "quantumfoo").await;
    assert_eq!((&after["totalFound"], &after["resources"]), (&json!(0), &json!([])), "{after}");
    let indexed = |answer: &Value| answer["coverage"]["indexed"].as_u64();
    assert_eq!(indexed(&after), indexed(&before).map(|n| n - 1));
    let health = finder.gateway.gateway.health(&nobody).index;
    assert_eq!((health.entries, health.vectors, health.bytes), (None, None, None));
    let roles = Roles::new(["admin".to_owned()]);
    let admin = Caller { roles, ..Caller::behind(Door::Http) };
    assert_eq!(uris(&finder.search(&admin, "quantumfoo").await), ["docs://bees"]);
}

#[tokio::test]
async fn t28_private_contents_are_found_by_their_owner_alone() {
    let source = library();
    source.say_freshness(Freshness { ttl_ms: 60_000, scope: Scope::Private });
    let finder = Finder::over(&[&Arc::new(source)]).await;
    assert_eq!(finder.uris("quantumfoo").await, ["docs://bees"]);
    let other = Caller { principal: Some("eve".into()), ..Caller::behind(Door::Http) };
    let answer = finder.search(&other, "quantumfoo").await;
    assert_eq!(answer["totalFound"], 0, "{answer}");
    // What it is called is no secret.
    assert_eq!(uris(&finder.search(&other, "beekeeping").await), ["docs://bees"]);
}

#[tokio::test]
async fn what_a_source_listed_is_found_while_it_is_down_and_said_to_be_old() {
    let source = Arc::new(library());
    let finder = Finder::over(&[&source]).await;
    finder.gateway.gateway.board().update(source.id(), |status| {
        status.state = State::Backoff;
        status.last_error = Some(Outage::passing("it crashed"));
    });
    let answer = finder.search(&Caller::local(), "quantumfoo").await;
    assert_eq!(answer["resources"][0]["stale"], true, "{answer}");
    assert_eq!(answer["errors"], json!([{ "server": "lib", "error": "it crashed" }]));
    assert_eq!(answer["complete"], false);
}

#[tokio::test]
async fn what_still_starts_is_named_and_keeps_the_index_from_being_ready() {
    let finder = Finder::over(&[&Arc::new(library())]).await;
    let gateway = &finder.gateway.gateway;
    let state = || gateway.health(&Caller::local()).index;
    finder.until("the index to be ready", async || state().state == "ready").await;
    let late = SourceId::new("late").expect("an id");
    gateway.board().add(&late, "stdio");
    gateway.board().update(&late, |status| status.state = State::Connecting);
    assert_eq!((state().state, state().waits_for), ("indexing", vec!["late".to_owned()]));
    for (tool, asked) in [
        ("search_resources", json!({ "searchTerms": ["quantumfoo"] })),
        ("discover_resources", json!({ "query": "quantumfoo" })),
        ("discover_resources", json!({})),
        ("get_resource", json!({})),
    ] {
        let answer = finder.call(&Caller::local(), tool, asked).await;
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(message.contains("starting: `late`"), "{tool}: {answer}");
        assert!(message.contains("Ask again in a few seconds"), "{tool}: {answer}");
        assert_ne!(answer["complete"], true, "{tool}: {answer}");
    }
    // One that failed is waited for no longer.
    gateway.board().update(&late, |status| status.state = State::Backoff);
    assert_eq!((state().state, state().waits_for), ("ready", Vec::new()));
    let answer = finder.search(&Caller::local(), "quantumfoo").await;
    assert_eq!(answer["message"], Value::Null, "{answer}");
}

#[tokio::test]
async fn private_contents_that_are_indexed_count_for_their_owner() {
    let source = library();
    source.say_freshness(Freshness { ttl_ms: 60_000, scope: Scope::Private });
    let finder = Finder::over(&[&Arc::new(source)]).await;
    let coverage = async |caller: &Caller| {
        let answer = finder.search(caller, "quantumfoo").await;
        answer["coverage"].clone()
    };
    let own = coverage(&Caller::local()).await;
    assert_eq!(own, json!({ "indexed": 2, "indexable": 2, "skipped": {} }));
    let other = Caller { principal: Some("eve".into()), ..Caller::behind(Door::Http) };
    let others = coverage(&other).await;
    assert_eq!(others, json!({ "indexed": 0, "indexable": 0, "skipped": { "private": 2 } }));
}

#[tokio::test]
async fn a_summary_shows_servers_without_resources_and_why() {
    let empty = Arc::new(FakeSource::new("empty", &[]));
    let templates = Arc::new(FakeSource::new("forms", &[]).with_templates(&["form://{id}"]));
    let finder = Finder::over(&[&Arc::new(library()), &empty, &templates]).await;
    let board = finder.gateway.gateway.board();
    for (id, state, why) in [
        ("broken", State::Backoff, Some("there is no program\u{1b} nowhere")),
        ("late", State::Connecting, None),
    ] {
        let id = SourceId::new(id).expect("an id");
        board.add(&id, "stdio");
        board.update(&id, |status| {
            status.state = state;
            status.last_error = why.map(Outage::passing);
        });
    }
    let answer = finder.call(&Caller::local(), "resource_summary", json!({})).await;
    assert_eq!(
        answer["serversWithoutResources"],
        json!([
            { "server": "broken", "why": "there is no program\\u{1b} nowhere" },
            { "server": "empty", "why": "lists no resource that you may read" },
            { "server": "forms", "why": "lists no resource that you may read; it has 1 template" },
            { "server": "late", "why": "still starting; ask again in a few seconds" },
        ])
    );
    let by_server = &answer["summary"]["resourcesByServer"];
    assert_eq!((&by_server["empty"], &by_server["lib"]), (&json!(0), &json!(2)), "{answer}");
}

#[tokio::test]
async fn the_summary_of_a_large_catalogue_is_small_and_says_what_it_leaves_out() {
    let large = FakeSource::new("large", &[]);
    for n in 0..5000 {
        large.add_entry(&json!({
            "uri": format!("file:///projects/area-{}/reports/{n}.md", n % 7),
            "name": format!("Report {n}"), "mimeType": format!("application/x-kind-{}", n % 300),
        }));
    }
    let gateway = GatewayBox::with(&[&Arc::new(large), &Arc::new(library())]).await;
    let toolsets = vec![Toolset::Resources];
    let tools = Tools::new(gateway.gateway.clone(), Settings { toolsets, ..Settings::default() });
    for group_by in ["server", "type", "none"] {
        let asked = Json::of(&json!({ "groupBy": group_by, "includeStats": true }));
        let reply =
            tools.call(&Caller::local(), "resource_summary", Some(&asked), Ask::default()).await;
        let body = reply.expect("a tool").body;
        assert!(body.as_str().len() <= 12_000, "{group_by}: {}", body.as_str().len());
        let result: Value = serde_json::from_str(body.as_str()).expect("JSON");
        let answer = &result["structuredContent"];
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let summary = &answer["summary"];
        let types = summary["resourcesByType"].as_object().expect("counts").len() as u64;
        assert!(types + count(&summary["typesLeftOut"]) > 300, "every type is counted: {summary}");
        let groups = answer["resourceGroups"].as_array().expect("groups");
        let mut told = 0;
        for group in groups {
            let shown = group["resources"].as_array().expect("resources").len() as u64;
            assert_eq!(shown + count(&group["more"]), count(&group["total"]), "{group}");
            told += shown;
        }
        let is_whole = group_by != "type";
        assert!(told >= if is_whole { 10 } else { 1 }, "{answer}");
        assert_eq!(answer["groupsLeftOut"].is_null(), is_whole, "{group_by}: {answer}");
    }
}

#[tokio::test]
async fn what_was_read_for_the_index_answers_the_first_reader() {
    let source = Arc::new(library());
    source.tell_changes();
    let finder = Finder::over(&[&source]).await;
    let reads = source.reads.load(Ordering::Relaxed);
    let bees = PublicUri::new("docs://bees".to_owned());
    let reading = finder.gateway.gateway.read(&Caller::local(), &bees, Ask::default()).await;
    assert!(reading.expect("it reads").hit);
    assert_eq!(source.reads.load(Ordering::Relaxed), reads, "the server was not asked again");
}

#[tokio::test]
async fn the_number_of_missing_vectors_is_told() {
    let encoder: Arc<dyn Encode> = Arc::new(Topics);
    let search = Search::open(None, Config::default(), Some(encoder)).expect("an index in memory");
    let search = Arc::new(search);
    search.pause_meaning(true);
    let finder = Finder::with(search.clone(), &[&Arc::new(library())]).await;
    let missing = || finder.gateway.gateway.health(&Caller::local()).index.vectors_missing;
    // Texts are encoded meanwhile, so both are asked until they agree.
    finder.until("the number", async || missing() == Some(search.awaiting_meaning())).await;
    finder.until("vectors", async || missing() == Some(0)).await;
    finder.hide("docs://bees");
    let nobody = Caller::behind(Door::Http);
    assert_eq!(finder.gateway.gateway.health(&nobody).index.vectors_missing, None);
}

#[tokio::test]
async fn a_server_decides_how_much_of_it_is_searched() {
    let metadata = Arc::new(library().indexed_as(Indexing::Metadata));
    let finder = Finder::over(&[&metadata]).await;
    assert_eq!(finder.uris("beekeeping").await, ["docs://bees"]);
    assert!(finder.uris("quantumfoo").await.is_empty());
    assert_eq!(metadata.reads.load(std::sync::atomic::Ordering::Relaxed), 0, "nothing is read");
    let off = Arc::new(library().indexed_as(Indexing::Off));
    let finder = Finder::over(&[&off]).await;
    assert!(finder.uris("beekeeping").await.is_empty());
}

#[tokio::test]
async fn a_rule_decides_how_much_is_searched_by_uri_and_a_new_one_holds_at_once() {
    let source = Arc::new(library());
    let finder = Finder::over(&[&source]).await;
    let settings = &finder.gateway.gateway.crawl_settings;
    let rule = |pattern, indexing| IndexRule::new(pattern, indexing).expect("a pattern");
    settings.set_rules(IndexRules::new(vec![
        rule("lib+docs://boats", Indexing::Metadata),
        rule("docs://b*", Indexing::Off),
    ]));
    finder.until("bees to be gone", async || finder.uris("beekeeping").await.is_empty()).await;
    assert!(finder.uris("quantumfoo").await.is_empty());
    finder.until("contents to be gone", async || finder.uris("mainsail").await.is_empty()).await;
    assert_eq!(finder.uris("sailing").await, ["docs://boats"], "its name is still known");
    settings.set_rules(IndexRules::default());
    finder.until("all of it", async || finder.uris("quantumfoo").await == ["docs://bees"]).await;
    finder.until("all of it", async || finder.uris("mainsail").await == ["docs://boats"]).await;
}

#[tokio::test]
async fn what_a_read_would_change_is_never_read_unasked() {
    let source = FakeSource::new("shop", &[]);
    let entry = |uri: &str, annotations: Value| json!({ "uri": uri, "name": "Cart", "mimeType": "text/plain", "annotations": annotations });
    source.add_entry(&entry("shop://next-ticket", json!({ "readOnlyHint": false })));
    source.add_entry(&entry("shop://purge", json!({ "destructiveHint": true })));
    source.add_entry(&entry("shop://catalogue", json!({ "readOnlyHint": true, "priority": 0.9 })));
    let source = Arc::new(source);
    let finder = Finder::over(&[&source]).await;
    assert_eq!(source.reads.load(Ordering::Relaxed), 1, "only what is safe to read is read");
    let mut all = finder.uris("cart").await;
    all.sort();
    assert_eq!(all, ["shop://catalogue", "shop://next-ticket", "shop://purge"], "all are named");
}

#[tokio::test]
async fn a_content_is_read_again_when_its_time_is_over() {
    let source = Arc::new(library());
    source.say_freshness(Freshness { ttl_ms: 50, scope: Scope::Public });
    let finder = Finder::over(&[&source]).await;
    let settings = &finder.gateway.gateway.crawl_settings;
    // Nobody said that it changed.
    source.give_text("docs://bees", "text/plain", "A queen lays zanzibarian eggs.");
    let reads = || source.reads.load(Ordering::Relaxed);
    assert_eq!(reads(), 2, "each was read once, and not again before a minute is over");
    settings.reread_after_ms.store(50, Ordering::Relaxed);
    // What was read before keeps the time it was given then.
    let feed = finder.gateway.gateway.feed();
    feed.report(source.id(), SourceEvent::Updated("docs://boats".into())).await;
    finder.until("another round", async || reads() > 3).await;
    source.give_text("docs://boats", "text/plain", "Hoist the gollywobbler.");
    finder.until("new words", async || finder.uris("gollywobbler").await == ["docs://boats"]).await;
    assert!(finder.uris("mainsail").await.is_empty());
}

#[tokio::test]
async fn what_the_index_still_has_of_a_server_that_left_is_not_found() {
    let finder = Finder::over(&[&Arc::new(library())]).await;
    let search = finder.gateway.gateway.search().expect("an index").clone();
    let old = Entry::new(SourceId::new("old").expect("an id"), "old://x", "Beekeeping of old");
    search.apply(search::Change { put: vec![old], removed: Vec::new() }).await;
    search.flush().await;
    assert_eq!(finder.uris("beekeeping").await, ["docs://bees"]);
    let answer = finder.search(&Caller::local(), "beekeeping").await;
    assert_eq!(answer["totalFound"], 1, "{answer}");
}

#[tokio::test]
async fn figures_tell_how_far_the_index_is_behind() {
    let source = Arc::new(library());
    source.fail("docs://boats", SourceError::Lost);
    let finder = Finder::over(&[&source]).await;
    let figure = |name: &str| {
        let page = finder.gateway.gateway.figures();
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse::<u64>().ok()).unwrap_or_else(|| panic!("{name}: {page}"))
    };
    let own = |name: &str| figure(&format!("trove_index_{name}"));
    assert_eq!((own("lag"), own("indexable") - own("indexed")), (1, 1), "one cannot be read");
    assert!(own("entries") >= 2 && own("bytes") > 0);
    assert_eq!((own("vectors"), own("meaning_lag"), own("queued_kib")), (0, 0, 0));
    source.give_text("docs://boats", "text/plain", "Reef the mainsail early.");
    let feed = finder.gateway.gateway.feed();
    feed.report(source.id(), SourceEvent::Updated("docs://bees".into())).await;
    finder.crawled().await;
    let read = PublicUri::new("docs://bees".to_owned());
    finder.gateway.gateway.read(&Caller::local(), &read, Ask::default()).await.expect("a read");
    finder
        .until("the read to be counted", async || {
            let page = finder.gateway.gateway.figures();
            page.contains("trove_resource_reads{uri=\"docs://bees\"} 1")
        })
        .await;
}

#[tokio::test]
async fn a_content_that_changed_is_found_by_its_new_words() {
    let source = Arc::new(library());
    let finder = Finder::over(&[&source]).await;
    source.give_text("docs://bees", "text/plain", "A queen lays zanzibarian eggs.");
    let feed = finder.gateway.gateway.feed();
    feed.report(source.id(), SourceEvent::Updated("docs://bees".into())).await;
    let changed = async {
        while finder.uris("zanzibarian").await.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, changed).await.expect("the new words");
    assert!(finder.uris("quantumfoo").await.is_empty());
}

#[tokio::test]
async fn a_name_that_leads_nowhere_is_answered_with_what_it_may_have_meant() {
    let source = library();
    for n in 0..60 {
        source.add(&format!("hr://holiday/{n}"));
    }
    let named =
        json!({ "uri": "kb://0417", "name": "Parental leave rules", "mimeType": "text/plain" });
    source.add_entry(&named);
    source.fail_others(SourceError::NotFound);
    let finder = Finder::over(&[&Arc::new(source)]).await;
    let asked = json!({ "uri": "hr://holiday/parental-leave-rules" });
    let ask = async |caller: &Caller| {
        let answer = finder.call(caller, "get_resource", asked.clone()).await;
        assert_eq!(answer["error"], "InvalidURI", "{answer}");
        let names = answer["valid_uris"].as_array().cloned().unwrap_or_default();
        assert_eq!(names.len(), 10, "{answer}");
        names
    };
    let names = ask(&Caller::local()).await;
    assert!(names.contains(&json!("kb://0417")), "by its words: {names:?}");
    assert!(names[0].as_str().is_some_and(|uri| uri.starts_with("hr://holiday/")), "{names:?}");
    finder.hide("kb://*");
    assert!(!ask(&Caller::behind(Door::Http)).await.contains(&json!("kb://0417")));
}

#[tokio::test]
async fn the_best_are_shown_as_near_misses_unless_a_threshold_is_named() {
    let finder = Finder::over(&[&Arc::new(library())]).await;
    let discover = async |more: Value| {
        let mut asked = json!({ "query": "reef knots taught to gollywobbling zanzibarian cadets" });
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        finder.call(&Caller::local(), "discover_resources", asked).await
    };
    let answer = discover(json!({})).await;
    assert_eq!(uris(&answer), ["docs://boats"], "{answer}");
    let hit = &answer["resources"][0];
    assert_eq!(hit["nearMiss"], true, "{answer}");
    assert!(hit["relevanceScore"].as_f64() < Some(0.3), "{answer}");
    assert_eq!(answer["totalFound"], 0, "a near miss is not counted: {answer}");
    assert!(answer["message"].as_str().is_some_and(|text| text.contains("nearest")), "{answer}");
    let strict = discover(json!({ "relevanceThreshold": 0.3 })).await;
    assert_eq!((&strict["resources"], &strict["totalFound"]), (&json!([]), &json!(0)), "{strict}");
    let all = discover(json!({ "relevanceThreshold": 0 })).await;
    assert_eq!(
        (uris(&all)[0].as_str(), &all["resources"][0]["nearMiss"]),
        ("docs://boats", &Value::Null)
    );
    let sure =
        finder.call(&Caller::local(), "discover_resources", json!({ "query": "mainsail" })).await;
    assert_eq!(sure["resources"][0]["nearMiss"], Value::Null, "{sure}");
    let nothing = json!({ "query": "tax returns of gollywobbling cadets" });
    let nothing = finder.call(&Caller::local(), "discover_resources", nothing).await;
    assert_eq!(nothing["resources"], json!([]), "what has nothing in common is no near miss");
}

/// Many resources of the same word, and a finder over them.
async fn gazetteers(count: usize) -> Finder {
    let source = FakeSource::new("many", &[]);
    for n in 0..count {
        let entry = json!({ "uri": format!("doc://{n}"), "name": format!("Gazetteer {n}") });
        source.add_entry(&entry);
    }
    Finder::over(&[&Arc::new(source.indexed_as(Indexing::Metadata))]).await
}

/// Every page of an answer, by following its cursor.
async fn pages(finder: &Finder, tool: &str, mut asked: Value) -> Vec<Value> {
    let mut pages = Vec::new();
    loop {
        let answer = finder.call(&Caller::local(), tool, asked.clone()).await;
        let cursor = answer["cursor"].clone();
        pages.push(answer);
        if cursor.is_null() {
            return pages;
        }
        asked["cursor"] = cursor;
    }
}

#[tokio::test]
async fn a_cursor_goes_on_without_a_gap_or_a_repeat() {
    let finder = gazetteers(450).await;
    for (tool, asked) in [
        ("search_resources", json!({ "searchTerms": ["gazetteer"], "maxResults": 70 })),
        ("discover_resources", json!({ "query": "gazetteer", "maxResults": 70 })),
        ("discover_resources", json!({ "servers": ["many"], "maxResults": 100 })),
    ] {
        let pages = pages(&finder, tool, asked).await;
        let mut all: Vec<String> = pages.iter().flat_map(uris).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 450, "{tool}");
        let last = pages.last().expect("a page");
        assert_eq!((&last["totalFound"], &last["complete"]), (&json!(450), &json!(true)), "{tool}");
        for page in &pages {
            let is_sure = page["complete"] == true;
            assert!(!(is_sure && page["totalIsAtLeast"] == true), "{tool}: {page}");
            assert!(!(is_sure && page["cursor"].is_string()), "{tool}: {page}");
        }
    }
}

#[tokio::test]
async fn what_lies_beyond_the_last_page_is_not_called_complete() {
    let finder = gazetteers(5_010).await;
    for (tool, asked) in [
        ("discover_resources", json!({ "query": "gazetteer" })),
        ("search_resources", json!({ "searchTerms": ["gazetteer"] })),
    ] {
        let mut asked = asked;
        (asked["maxResults"], asked["cursor"]) = (json!(70), json!("4970"));
        let last = finder.call(&Caller::local(), tool, asked).await;
        assert_eq!(uris(&last).len(), 30, "{tool}: {last}");
        assert_eq!((&last["complete"], &last["cursor"]), (&json!(false), &Value::Null), "{tool}");
    }
}

/// Knows of boats and of wombats; all else is a third thing to it.
struct Topics;

impl Encode for Topics {
    fn name(&self) -> &str {
        "topics"
    }

    fn dimension(&self) -> usize {
        3
    }

    fn encode(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let vector = |text: &&str| match text {
            text if text.contains("mainsail") || text.contains("yacht") => vec![1.0, 0.0, 0.0],
            text if text.contains("wombat") => vec![0.0, 1.0, 0.0],
            _ => vec![0.0, 0.0, 1.0],
        };
        texts.iter().map(vector).collect()
    }
}

#[tokio::test]
async fn an_answer_says_truly_that_no_resource_holds_all_the_terms() {
    let encoder: Arc<dyn Encode> = Arc::new(Topics);
    let search = Search::open(None, Config::default(), Some(encoder)).expect("an index in memory");
    let search = Arc::new(search);
    let finder = Finder::with(search.clone(), &[&Arc::new(library())]).await;
    finder.until("vectors", async || search.awaiting_meaning() == 0).await;
    for (asked, found, says) in [
        (json!({ "searchTerms": ["mainsail"] }), 1, None),
        (json!({ "searchTerms": ["yacht"] }), 1, Some("near in meaning.")),
        (json!({ "searchTerms": ["wombat"] }), 0, Some("none is near in meaning")),
        (json!({ "searchTerms": ["wombat"], "semantic": false }), 0, Some("fewer or other terms")),
        (
            json!({ "searchTerms": ["eggs"], "semantic": false, "before": "2020-01-01" }),
            0,
            Some("within `before`"),
        ),
        (
            json!({ "searchTerms": ["yacht"], "servers": ["lib"] }),
            1,
            Some("No resource within `servers` holds all the terms; these are near in meaning."),
        ),
    ] {
        let answer = finder.call(&Caller::local(), "search_resources", asked.clone()).await;
        assert_eq!(uris(&answer).len(), found, "{asked}: {answer}");
        let message = answer["message"].as_str();
        assert_eq!(message.is_some(), says.is_some(), "{asked}: {answer}");
        let (message, says) = (message.unwrap_or_default(), says.unwrap_or_default());
        assert!(message.contains(says), "{asked}: {answer}");
        assert_eq!(
            message.contains("these are near"),
            !message.is_empty() && found > 0,
            "{answer}"
        );
    }
}

#[tokio::test]
async fn words_that_are_passed_over_are_named() {
    let finder = Finder::over(&[&Arc::new(library())]).await;
    for (terms, named) in [
        (json!(["to", "eggs"]), "passed over: `to`."),
        (json!(["\"not To be\""]), "passed over: `not`, `to`, `be`."),
    ] {
        let asked = json!({ "searchTerms": terms });
        let answer = finder.call(&Caller::local(), "search_resources", asked).await;
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(message.ends_with(named), "{terms}: {answer}");
    }
    let asked = json!({ "searchTerms": ["eggs"] });
    let answer = finder.call(&Caller::local(), "search_resources", asked).await;
    assert_eq!(answer["message"], Value::Null, "{answer}");
}

#[tokio::test]
async fn a_wrong_question_is_refused_with_what_would_be_right() {
    let finder = Finder::over(&[&Arc::new(library())]).await;
    for (arguments, hint) in [
        (json!({ "searchTerms": ["x"], "after": "yesterday" }), "2026-11-01"),
        (json!({ "searchTerms": ["x"], "dateRange": "2026/11" }), "2026-11-01/2026-11-30"),
        (json!({ "searchTerms": ["x"], "dateRange": { "after": 5 } }), "must be a string, not 5"),
        (json!({ "searchTerms": ["x"], "dateRange": "..", "after": "2026-01-01" }), "one of them"),
        (json!({ "searchTerms": ["x"], "cursor": "abc" }), "cursor"),
    ] {
        let answer = finder.call(&Caller::local(), "search_resources", arguments.clone()).await;
        assert_eq!(answer["success"], false, "{arguments}: {answer}");
        assert_eq!(answer["error"], "InvalidArguments", "{arguments}: {answer}");
        assert!(answer.to_string().contains(hint), "{arguments}: {answer}");
    }
    let asked = json!({ "searchTerms": ["eggs"], "after": "2026-02-01", "before": "2026-03-01" });
    let answer = finder.call(&Caller::local(), "search_resources", asked).await;
    assert_eq!(uris(&answer), ["docs://bees"], "the last day counts");
}

#[tokio::test]
async fn a_wrong_server_is_a_hint_and_everything_is_searched() {
    let other = Arc::new(FakeSource::new("library-two", &["two://eggs"]));
    let finder = Finder::over(&[&Arc::new(library()), &other]).await;
    let ask = async |tool: &str, mut asked: Value, servers: Value| {
        asked["servers"] = servers;
        finder.call(&Caller::local(), tool, asked).await
    };
    let (search, discover) = (json!({ "searchTerms": ["eggs"] }), json!({ "query": "eggs" }));
    for (tool, asked) in [("search_resources", search.clone()), ("discover_resources", discover)] {
        let answer = ask(tool, asked, json!(["library-tow", "No such!"])).await;
        let mut found = uris(&answer);
        found.sort();
        assert_eq!(found, ["docs://bees", "two://eggs"], "{answer}");
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(message.contains("no server `library-tow`, `No such!`"), "{answer}");
        assert!(message.contains("near: `library-two`"), "{answer}");
        assert!(message.contains("All servers were searched"), "{answer}");
    }
    let answer = ask("search_resources", search, json!(["nope", "library-two"])).await;
    assert_eq!(
        (uris(&answer), &answer["serversSearched"]),
        (vec!["two://eggs".to_owned()], &json!(["library-two"]))
    );
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(message.contains("Only these were searched: `library-two`"), "{answer}");
}

#[tokio::test]
async fn a_question_with_dates_says_how_many_undated_resources_it_left_out() {
    let source = library();
    source.add_entry(&json!({ "uri": "docs://more", "name": "Eggs and hives" }));
    source.add_entry(&json!({ "uri": "secret://eggs", "name": "Eggs and hives" }));
    let finder = Finder::over(&[&Arc::new(source)]).await;
    let nobody = Caller::behind(Door::Http);
    for dates in [
        json!({ "after": "2026-02-01" }),
        json!({ "dateRange": "2026-02-01/2026-03-01" }),
        json!({ "date_range": { "after": "2026-02-01", "before": null } }),
    ] {
        let mut asked = json!({ "searchTerms": ["hives"] });
        asked.as_object_mut().unwrap().extend(dates.as_object().unwrap().clone());
        let answer = finder.call(&nobody, "search_resources", asked).await;
        assert_eq!(uris(&answer), ["docs://bees"], "{dates}: {answer}");
        assert_eq!(answer["undatedLeftOut"], 2, "{dates}: {answer}");
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(message.contains("2 resources without a date"), "{dates}: {answer}");
    }
    finder.hide("secret://*");
    let asked = json!({ "searchTerms": ["hives"], "before": "2020-01-01" });
    let answer = finder.call(&nobody, "search_resources", asked).await;
    assert_eq!((&answer["undatedLeftOut"], &answer["totalFound"]), (&json!(1), &json!(0)));
    let undated = finder.search(&nobody, "hives").await;
    assert_eq!(undated["undatedLeftOut"], Value::Null, "{undated}");
}

#[tokio::test]
async fn without_a_question_the_best_of_every_server_are_recommended_with_a_reason() {
    let (many, few) = (FakeSource::new("aaa", &[]), FakeSource::new("zzz", &["z://1", "z://2"]));
    for n in 0..50 {
        many.add(&format!("a://{n}"));
    }
    many.add_entry(&json!({
        "uri": "a://vital", "name": "vital", "annotations": { "priority": 1.0 },
    }));
    let tomorrow = "2100-01-01T00:00:00Z";
    few.add_entry(&json!({
        "uri": "z://new", "name": "new", "annotations": { "lastModified": tomorrow },
    }));
    few.add_entry(&json!({
        "uri": "z://old", "name": "old", "annotations": { "lastModified": "2001-01-01T00:00:00Z" },
    }));
    let finder = Finder::over(&[&Arc::new(many), &Arc::new(few)]).await;
    for _ in 0..3 {
        let used = PublicUri::new("a://7".to_owned());
        finder.gateway.gateway.read(&Caller::local(), &used, Ask::default()).await.expect("a read");
    }
    let ask = async || {
        finder.call(&Caller::local(), "discover_resources", json!({ "maxResults": 7 })).await
    };
    // A use is not noted while the index is written.
    finder.until("a use to be noted", async || ask().await.to_string().contains("used")).await;
    let answer = ask().await;
    let found = uris(&answer);
    let why = |uri: &str| {
        let all = answer["resources"].as_array().expect("hits");
        let hit =
            all.iter().find(|hit| hit["uri"] == uri).unwrap_or_else(|| panic!("{uri}: {answer}"));
        hit["why"].clone()
    };
    assert_eq!(why("a://vital"), json!(["important"]));
    assert_eq!(why("z://new"), json!(["recent"]));
    assert_eq!(why("a://7"), json!(["used"]));
    // An old date is no reason.
    assert_eq!(why("z://old"), json!(["server"]));
    assert!(found.iter().filter(|uri| uri.starts_with("z://")).count() >= 2, "{found:?}");
    assert!(!found.iter().any(|uri| uri.starts_with("info://")), "{found:?}");
}

#[tokio::test]
async fn no_member_of_a_hit_holds_a_control_and_a_preview_is_short() {
    let source = FakeSource::new("odd", &[]);
    source.add_entry(&json!({
        "uri": "odd://a", "name": "Odd\nname", "description": "Some\u{1b}thing\r\nelse",
        "mimeType": "text/odd\u{7}\n",
    }));
    let text = format!("{}\tthe wombat\u{8}\n\n{}", "line one\r\n".repeat(50), "more\n".repeat(99));
    let contents = json!({ "contents": [{ "uri": "odd://a", "text": text }] });
    source.give("odd://a", contents.to_string());
    let finder = Finder::over(&[&Arc::new(source)]).await;
    for (tool, asked) in [
        ("discover_resources", json!({ "query": "wombat", "includeContent": true })),
        ("discover_resources", json!({ "includeContent": true, "servers": ["odd"] })),
        ("search_resources", json!({ "searchTerms": ["wombat"] })),
        ("resource_summary", json!({ "includeStats": true, "groupBy": "type" })),
    ] {
        let answer = finder.call(&Caller::local(), tool, asked).await;
        let shown = answer.to_string();
        // As JSON writes a control, and as a text would that writes a line end out.
        for sign in ["\\u00", "\\n", "\\r", "\\t", "\\b"] {
            assert!(!shown.contains(sign), "{tool}: {sign} in {shown}");
        }
        assert!(shown.contains("odd://a"), "{tool}: {shown}");
        for hit in answer["resources"].as_array().into_iter().flatten() {
            let snippet = hit["highlights"][0]["snippet"].as_str();
            let preview = hit["contentPreview"].as_str().or(snippet).expect("a piece");
            let escapes = preview.matches("\\u{8}").count() * 4;
            assert!(preview.chars().count() - escapes <= 200, "{tool}: {preview}");
        }
    }
}

/// The URIs of a list by categories.
fn listed(answer: &Value) -> Vec<&str> {
    let all = answer["data"].as_object().unwrap_or_else(|| panic!("no list: {answer}"));
    let entries = all.values().flat_map(|entries| entries.as_array().expect("entries"));
    entries.filter_map(|entry| entry["uri"].as_str()).collect()
}

#[tokio::test]
async fn a_server_has_tools_of_its_own_where_they_are_wanted() {
    let finder = Finder::over(&[&Arc::new(library().with_templates(&["t://{x}"]))]).await;
    let all = finder.call(&Caller::local(), "lib_list_resources", json!({})).await;
    assert_eq!(listed(&all), ["docs://bees", "docs://boats", "t://{x}"]);
    let read = json!({ "uri": "docs://boats" });
    let read = finder.call(&Caller::local(), "lib_read_resource", read).await;
    assert!(read.to_string().contains("Reef the mainsail"), "{read}");
    let part = json!({ "uri": "docs://boats", "offset": 5, "maxSize": 3 });
    let part = finder.call(&Caller::local(), "lib_read_resource", part).await;
    assert_eq!((&part["data"], &part["metadata"]["next_offset"]), (&json!("the"), &json!(8)));
    finder.hide("docs://bees");
    let nobody = Caller::behind(Door::Http);
    let seen = finder.call(&nobody, "lib_list_resources", json!({})).await;
    assert_eq!(listed(&seen), ["docs://boats", "t://{x}"]);
}

#[tokio::test]
async fn a_list_of_one_server_keeps_to_what_holds_for_lists() {
    let source = FakeSource::new("lib", &[]);
    for n in 0..300 {
        source.add(&format!("docs://{n:03}"));
    }
    source.add_entry(&json!({ "uri": "odd://a", "name": "red\u{1b}[31m" }));
    let finder = Finder::over(&[&Arc::new(source)]).await;
    let list =
        async |arguments| finder.call(&Caller::local(), "lib_list_resources", arguments).await;
    let first = list(json!({})).await;
    assert!(first["nonce"].is_string() && !first.to_string().contains("\\u001b"), "{first}");
    let mut seen: HashSet<String> = listed(&first).into_iter().map(str::to_owned).collect();
    let mut cursor = first["cursor"].clone();
    while !cursor.is_null() {
        let next = list(json!({ "cursor": cursor })).await;
        seen.extend(listed(&next).into_iter().map(str::to_owned));
        cursor = next["cursor"].clone();
    }
    assert_eq!(seen.len(), 301);
    for cursor in ["-1", "200", "99999999999999999999999"] {
        let refused = list(json!({ "cursor": cursor })).await;
        assert_eq!(
            (&refused["error"], &refused["field"]),
            (&json!("InvalidArguments"), &json!("cursor"))
        );
    }
    let short = list(json!({ "maxSize": 600 })).await;
    assert!((1..40).contains(&listed(&short).len()), "{short}");
}

#[tokio::test]
async fn only_servers_with_something_to_look_through_count_as_searched() {
    let (lib, away) = (Arc::new(library()), Arc::new(FakeSource::new("away", &[])));
    let finder = Finder::over(&[&lib, &away]).await;
    let searched = async || {
        let answer = finder.search(&Caller::local(), "quantumfoo").await;
        answer["serversSearched"].to_string()
    };
    assert!(searched().await.contains("\"away\""), "it is there, and has nothing");
    for state in [State::Connecting, State::Backoff] {
        for source in [&lib, &away] {
            let board = finder.gateway.gateway.board();
            board.update(source.id(), |status| status.state = state);
        }
        let searched = searched().await;
        assert!(searched.contains("\"lib\"") && !searched.contains("away"), "{searched}");
    }
}

#[tokio::test]
async fn a_summary_shows_the_most_useful_of_each_group_and_nothing_that_is_not_known() {
    let many = FakeSource::new("many", &[]);
    for n in 0..30 {
        many.add(&format!("a://{n}"));
    }
    many.add_entry(&json!({
        "uri": "a://vital", "name": "vital", "annotations": { "priority": 1.0 },
    }));
    let finder = Finder::over(&[&Arc::new(many)]).await;
    let asked = json!({ "includeStats": true });
    let answer = finder.call(&Caller::local(), "resource_summary", asked).await;
    let groups = answer["resourceGroups"].as_array().expect("groups");
    let group = groups.iter().find(|group| group["groupName"] == "many").expect("a group");
    let shown: Vec<&str> = group["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["uri"].as_str())
        .collect();
    assert_eq!((shown.len(), &shown[..2]), (10, &["a://vital", "a://0"][..]), "{group}");
    assert!(!answer.to_string().contains("null"), "{answer}");
    assert!(answer["summary"]["stats"].get("largest").is_none(), "{answer}");
}
