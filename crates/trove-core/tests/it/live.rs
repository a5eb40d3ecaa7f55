//! Servers that search by themselves, asked beside the index: one that is slow, fails or floods
//! costs its own hits only, is named, and leaves its line in the audit log.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;
use trove_core::{
    Caller, Json, SourceError,
    access::{
        Access, Policy, Rule,
        audit::{Audit, AuditConfig},
    },
    gateway::Parts,
    search::{Config, Search},
    source::Ask,
    tools::{Settings, Tools, Toolset},
};
use trove_testkit::{
    fake_source::{FakeSearch, FakeSource},
    gateway_box::GatewayBox,
};

/// A gateway with an index in memory, an audit log, and its tools.
struct Finder {
    gateway: GatewayBox,
    tools: Arc<Tools>,
    folder: tempfile::TempDir,
}

impl Finder {
    async fn over(sources: &[&Arc<FakeSource>]) -> Finder {
        let folder = tempfile::tempdir().expect("a folder");
        let audit = Audit::start(AuditConfig::in_file(file_in(folder.path())));
        let search = Search::open(None, Config::default(), None).expect("an index in memory");
        let parts = Parts { index: Arc::new(search).into(), audit, ..Parts::new("test") };
        let gateway = GatewayBox::of(parts, sources).await;
        let settings = Settings { toolsets: vec![Toolset::Resources], ..Settings::default() };
        let tools = Tools::new(gateway.gateway.clone(), settings);
        Finder { gateway, tools, folder }
    }

    async fn ask(&self, query: &str, wait_ms: u64) -> Value {
        let arguments = json!({ "query": query, "liveWaitMs": wait_ms, "relevanceThreshold": 0.0 });
        let (caller, arguments) = (Caller::local(), Json::of(&arguments));
        let asked =
            self.tools.call(&caller, "discover_resources", Some(&arguments), Ask::default());
        let reply = asked.await.expect("an answer");
        let answer: Value = serde_json::from_str(reply.body.as_str()).expect("JSON");
        answer["structuredContent"].clone()
    }

    /// The lines of the audit log about live searches, once all are written.
    async fn settled(&self) -> Vec<(String, String)> {
        self.gateway.gateway.shutdown().await;
        let log = std::fs::read_to_string(file_in(self.folder.path())).expect("the log");
        let lines = log.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
        let live = lines.filter(|line: &Value| line["action"] == "live_search");
        let mut settled: Vec<(String, String)> = live
            .map(|line| {
                let error = line["error"].as_str().unwrap_or("done");
                assert_eq!(line["source"], line["target"], "{line}");
                (line["source"].as_str().expect("a source").to_owned(), error.to_owned())
            })
            .collect();
        settled.sort();
        settled
    }
}

fn file_in(folder: &Path) -> std::path::PathBuf {
    folder.join("audit.jsonl")
}

fn source(id: &str, search: FakeSearch) -> Arc<FakeSource> {
    Arc::new(FakeSource::new(id, &[&format!("{id}://harbour")]).searching(search))
}

fn uris(found: &Value) -> Vec<&str> {
    let hits = found["resources"].as_array().unwrap_or_else(|| panic!("no hits: {found}"));
    hits.iter().filter_map(|hit| hit["uri"].as_str()).collect()
}

/// The servers that gave no answer.
fn silent(found: &Value) -> Vec<(&str, &str)> {
    let errors = found["liveErrors"].as_array().map(Vec::as_slice).unwrap_or_default();
    errors.iter().filter_map(error_of).collect()
}

fn error_of(error: &Value) -> Option<(&str, &str)> {
    Some((error["server"].as_str()?, error["error"].as_str()?))
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_or_fails_costs_its_own_hits_and_is_named_written_down_and_counted() {
    let good = source("good", FakeSearch::finds(&[("good://far", "Zeppelin hangar")]));
    let slow = source("slow", FakeSearch::Hangs);
    let bad = source("bad", FakeSearch::Fails(SourceError::TooLarge { limit: 1000 }));
    let broken = source("broken", FakeSearch::Panics);
    let finder = Finder::over(&[&good, &slow, &bad, &broken]).await;
    let began = Instant::now();
    let found = finder.ask("Zeppelin hangar", 250).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(uris(&found).contains(&"good://far"), "{found}");
    assert_eq!(
        silent(&found),
        [
            ("bad", "the answer is larger than the limit of 1000 bytes"),
            ("broken", "malformed answer: its own search broke off"),
            ("slow", "no answer within 250ms"),
        ],
        "{found}"
    );
    let figures = finder.gateway.gateway.figures();
    for line in [
        "trove_source_requests_total{source=\"good\",outcome=\"ok\"} 1",
        "trove_source_requests_total{source=\"slow\",outcome=\"error\"} 1",
        "trove_failures_total{class=\"too_large\"} 1",
        "trove_failures_total{class=\"resource_execution_error\"} 2",
    ] {
        assert!(figures.lines().any(|one| one == line), "{line} is not in\n{figures}");
    }
    // The log is written by a thread, which takes real time.
    tokio::time::resume();
    let settled = finder.settled().await;
    let settled: Vec<(&str, &str)> =
        settled.iter().map(|(id, how)| (id.as_str(), how.as_str())).collect();
    let failed = "ResourceExecutionError";
    assert_eq!(
        settled,
        [("bad", "TooLarge"), ("broken", failed), ("good", "done"), ("slow", failed)]
    );
}

#[tokio::test]
async fn a_flood_of_hits_is_cut_and_leaves_room_for_our_own() {
    let many: Vec<(String, String)> =
        (0..5000).map(|n| (format!("flood://{n}"), format!("harbour {n}"))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let flood = source("flood", FakeSearch::finds(&many));
    let long = "harbour ".repeat(100_000);
    let endless = source("endless", FakeSearch::finds(&[("endless://1", &long), (&long, "x")]));
    let finder = Finder::over(&[&flood, &endless]).await;
    let found = finder.ask("harbour", 10_000).await;
    let live = found["resources"].as_array().expect("results").iter();
    let live: Vec<&Value> = live.filter(|hit| hit["live"] == true).collect();
    assert_eq!(live.len(), 11, "ten of the flood, and one whose URI is not endless");
    assert!(found.to_string().len() < 50_000, "{}", found.to_string().len());
}

#[tokio::test]
async fn what_is_hidden_is_not_found_by_the_server_either() {
    let hits = [("one://open", "Zeppelin"), ("one://secret/1", "Zeppelin")];
    let one = source("one", FakeSearch::finds(&hits));
    let finder = Finder::over(&[&one]).await;
    let rule = Rule::new("one://secret/*", vec!["admin".to_owned()], false).expect("a pattern");
    let policy = Policy::new(vec![rule]);
    finder.gateway.gateway.set_access(Access { policy, ..Access::default() });
    let found = finder.ask("Zeppelin", 10_000).await;
    assert_eq!(uris(&found), ["one://open"], "{found}");
}

#[tokio::test]
async fn a_server_that_was_asked_too_often_is_named_and_not_asked() {
    let one = source("one", FakeSearch::finds(&[("one://far", "Zeppelin")]));
    let finder = Finder::over(&[&one]).await;
    for _ in 0..30 {
        assert_eq!(silent(&finder.ask("Zeppelin", 10_000).await), []);
    }
    let found = finder.ask("Zeppelin", 10_000).await;
    let why = "its own search was asked too often; ask again in a minute";
    assert_eq!(silent(&found), [("one", why)]);
    assert!(!uris(&found).contains(&"one://far"), "{found}");
    let busy = "trove_failures_total{class=\"busy\"} 1";
    assert!(finder.gateway.gateway.figures().lines().any(|line| line == busy));
}
