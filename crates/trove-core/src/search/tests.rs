//! Search as its users see it.

mod aging;
mod kept;
mod meaning;

use std::{
    collections::HashSet,
    fs,
    path::Path,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use super::*;
use crate::{source_id::SourceId, uri::PublicUri};

fn source(id: &str) -> SourceId {
    SourceId::new(id).unwrap()
}

fn entry(uri: &str, name: &str, description: &str) -> Entry {
    let mut entry = Entry::new(source("docs"), uri, name);
    entry.description = (!description.is_empty()).then(|| description.to_owned());
    entry
}

fn content(text: &str) -> Content {
    Content::new(text, 1000)
}

fn memory() -> Search {
    Search::open(None, Config::default(), None).unwrap()
}

async fn fed(search: &Search, entries: Vec<(Entry, &str)>) {
    let put = entries.iter().map(|(entry, _)| entry.clone()).collect();
    search.apply(Change { put, removed: Vec::new() }).await;
    for (entry, text) in entries {
        if !text.is_empty() {
            search.put_content(entry.key(), content(text)).await;
        }
    }
    search.flush().await;
}

async fn of(entries: Vec<(Entry, &str)>) -> Search {
    let search = memory();
    fed(&search, entries).await;
    search
}

fn uris(hits: &Hits) -> Vec<&str> {
    hits.hits.iter().map(|hit| hit.public.as_str()).collect()
}

#[track_caller]
fn check_terms(search: &Search, terms: &[&str], expected: &[&str]) {
    let hits = search.find(&Query::terms(terms.iter().copied()), &Everything).unwrap();
    let (found, expected): (HashSet<_>, HashSet<_>) =
        (uris(&hits).into_iter().collect(), expected.iter().copied().collect());
    assert_eq!(found, expected, "{terms:?}");
    assert_eq!(hits.total, expected.len());
}

async fn small() -> Search {
    of(vec![
        (
            entry("file:///src/http_server.rs", "http_server.rs", "The web server"),
            "pub fn parseRequestLine() {}\n// reads request lines and limits their rate",
        ),
        (
            entry("file:///docs/limits.md", "limits.md", "Rate limiting of requests"),
            "# Rate limits\nEvery client may send 100 requests a minute.",
        ),
        (entry("file:///logs/app.log", "app.log", ""), "ERROR disk full on node7"),
        (entry("memo:insights", "Insights", "Notes about sales"), ""),
    ])
    .await
}

#[tokio::test]
async fn the_best_few_are_near_misses_where_nothing_passes_the_threshold() {
    let search = small().await;
    let strict = Query::text("rate of gollywobbling zanzibarian quantumfoo cadets abroad");
    let hits = search.find(&strict, &Everything).unwrap();
    assert!(hits.hits.is_empty() && hits.below_threshold > 0, "{hits:?}");
    let lenient = Query { near_misses: 1, ..strict.clone() };
    let near = search.find(&lenient, &Everything).unwrap();
    let all = search.find(&Query { threshold: 0.0, ..strict }, &Everything).unwrap();
    assert_eq!(uris(&near), uris(&all)[..1], "the best by rank");
    assert!(near.hits[0].is_near_miss && !all.hits[0].is_near_miss);
    assert_eq!((near.total, near.next_offset), (0, None));
    let sure = Query { near_misses: 4, ..Query::text("rate limiting of requests") };
    let hits = search.find(&sure, &Everything).unwrap();
    assert!(!hits.hits[0].is_near_miss);
    assert_eq!(hits.total, hits.hits.iter().filter(|hit| !hit.is_near_miss).count());
    let off = Query { near_misses: 4, ..Query::text("tax returns") };
    assert!(search.find(&off, &Everything).unwrap().hits.is_empty());
}

/// Whoever looks for something again and again does not keep what is new from being found.
#[tokio::test]
async fn what_is_new_is_written_while_somebody_searches() {
    /// Sees everything, but not before it is told to go on.
    struct Held(Mutex<(mpsc::Sender<()>, mpsc::Receiver<()>)>);
    impl Sight for Held {
        fn of_source(&self, _source: &SourceId) -> Seen {
            let (held, go) = &*self.0.lock().unwrap();
            held.send(()).unwrap();
            let _ = go.recv();
            Seen::All
        }
        fn sees(&self, _entry: EntryRef<'_>) -> bool {
            true
        }
    }
    let search = Arc::new(memory());
    let put = vec![entry("file:///docs/limits.md", "limits.md", "")];
    search.apply(Change { put, removed: Vec::new() }).await;
    while search.status().entries == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let ((held, is_held), (go, goes)) = (mpsc::channel(), mpsc::channel::<()>());
    let (asked, sight) = (search.clone(), Held(Mutex::new((held, goes))));
    let asking = std::thread::spawn(move || asked.find(&Query::terms(["limits"]), &sight).unwrap());
    is_held.recv().unwrap();
    let written = tokio::time::timeout(Duration::from_secs(20), search.flush()).await;
    drop(go);
    asking.join().unwrap();
    written.expect("it is written while the other one still looks");
    check_terms(&search, &["limits"], &["file:///docs/limits.md"]);
}

#[tokio::test]
async fn all_terms_must_hold_wherever_they_stand() {
    let search = small().await;
    check_terms(
        &search,
        &["rate", "requests"],
        &["file:///src/http_server.rs", "file:///docs/limits.md"],
    );
    check_terms(&search, &["disk", "node7"], &["file:///logs/app.log"]);
    check_terms(&search, &["disk", "rate"], &[]);
    check_terms(&search, &["sales notes"], &["memo:insights"]);
}

#[tokio::test]
async fn identifiers_are_found_whole_and_by_their_parts() {
    let search = small().await;
    for term in ["parseRequestLine", "parse_request_line", "request line", "PARSEREQUESTLINE"] {
        check_terms(&search, &[term], &["file:///src/http_server.rs"]);
    }
    check_terms(&search, &["node 7"], &["file:///logs/app.log"]);
}

#[tokio::test]
async fn a_phrase_must_stand_together() {
    let search = small().await;
    check_terms(&search, &["\"rate limits\""], &["file:///docs/limits.md"]);
    for both in ["\"rate limits\" minute", "minute \"rate limits\"", "\"rate limits\" \"a minute\""]
    {
        check_terms(&search, &[both], &["file:///docs/limits.md"]);
    }
    for wrong in ["\"limits rate\" minute", "\"rate limits\" disk"] {
        check_terms(&search, &[wrong], &[]);
    }
    check_terms(&search, &["\"limits rate\""], &[]);
}

#[tokio::test]
async fn a_scope_says_where_terms_must_stand() {
    let search = small().await;
    let check = |scope, term: &str, expected: &[&str]| {
        let query = Query { scope, ..Query::terms([term]) };
        assert_eq!(uris(&search.find(&query, &Everything).unwrap()), expected, "{scope:?} {term}");
    };
    check(Scope::Name, "limits", &["file:///docs/limits.md"]);
    check(Scope::Description, "limiting", &["file:///docs/limits.md"]);
    check(Scope::Content, "sales", &[]);
    check(Scope::Content, "minute", &["file:///docs/limits.md"]);
}

#[tokio::test]
async fn misspelt_words_are_found_when_asked_for_and_ranked() {
    let search = of(vec![
        (entry("a:1", "one", ""), "configuration of the gateway"),
        (entry("a:2", "two", ""), "configurable, a configuration configuration configuration"),
        (entry("a:3", "three", ""), "nothing of the kind"),
    ])
    .await;
    let plain = Query::terms(["confguration"]);
    assert_eq!(search.find(&plain, &Everything).unwrap().total, 0);
    let fuzzy = Query { is_fuzzy: true, ..plain };
    let hits = search.find(&fuzzy, &Everything).unwrap();
    assert_eq!(hits.total, 2);
    assert_eq!(uris(&hits)[0], "a:2", "more of it comes first");
    assert!(hits.hits.iter().all(|hit| !hit.highlights.is_empty()));
    // Three letters are too few to guess.
    let short = Query { is_fuzzy: true, ..Query::terms(["knd"]) };
    assert_eq!(search.find(&short, &Everything).unwrap().total, 0);
    let swapped = Query { is_fuzzy: true, ..Query::terms(["gatewya"]) };
    assert_eq!(uris(&search.find(&swapped, &Everything).unwrap()), ["a:1"]);
}

#[tokio::test]
async fn dates_servers_and_types_narrow_the_answer() {
    let mut dated = entry("a:old", "old report", "");
    dated.modified = Some(1_000);
    dated.mime = Some("text/markdown; charset=utf-8".to_owned());
    let mut other = Entry::new(source("other"), "a:new", "new report");
    other.modified = Some(2_000);
    other.mime = Some("application/json".to_owned());
    let search =
        of(vec![(dated, ""), (other, ""), (entry("a:none", "undated report", ""), "")]).await;
    let check = |query: Query, expected: &[&str]| {
        let hits = search.find(&query, &Everything).unwrap();
        let found: HashSet<_> = uris(&hits).into_iter().collect();
        assert_eq!(found, expected.iter().copied().collect::<HashSet<_>>(), "{query:?}");
        assert_eq!(hits.total, expected.len());
    };
    let all = || Query::terms(["report"]);
    check(all(), &["a:old", "a:new", "a:none"]);
    check(Query { after: Some(1_500), ..all() }, &["a:new"]);
    check(Query { before: Some(1_500), ..all() }, &["a:old"]);
    check(Query { after: Some(1_000), before: Some(2_000), ..all() }, &["a:old", "a:new"]);
    check(Query { sources: vec![source("other")], ..all() }, &["a:new"]);
    check(Query { content_types: vec!["text/*".to_owned()], ..all() }, &["a:old"]);
    check(Query { content_types: vec!["text/markdown".to_owned()], ..all() }, &["a:old"]);
    check(Query { content_types: vec!["image/*".to_owned()], ..all() }, &[]);
    check(Query { after: Some(1_500), ..Query::everything() }, &["a:new"]);
}

struct Hiding(&'static str);

impl Sight for Hiding {
    fn sees(&self, entry: EntryRef<'_>) -> bool {
        entry.public != self.0
    }
}

#[tokio::test]
async fn what_a_caller_may_not_read_he_cannot_find_or_count() {
    let entries =
        (0..50).map(|n| (entry(&format!("a:{n}"), &format!("report {n}"), ""), "secret plan"));
    let search = of(entries.collect()).await;
    for query in [Query::terms(["secret"]), Query::everything(), Query::text("report")] {
        let query = Query { max_results: 10, threshold: 0.0, ..query };
        let all = search.find(&query, &Everything).unwrap();
        let some = search.find(&query, &Hiding("a:7")).unwrap();
        assert_eq!((all.total, some.total), (50, 49), "{query:?}");
        assert_eq!(some.hits.len(), 10, "the limit comes after");
        let deep = Query { max_results: 100, ..query };
        assert!(!uris(&search.find(&deep, &Hiding("a:7")).unwrap()).contains(&"a:7"));
    }
    assert_eq!(search.coverage(&Hiding("a:7")).indexed, 49);
    let exact = search.find(&Query::text("a:7"), &Hiding("a:7")).unwrap();
    assert!(!uris(&exact).contains(&"a:7"));
}

struct Owned(&'static str);

impl Sight for Owned {
    fn owner(&self) -> Option<&str> {
        Some(self.0)
    }

    fn sees(&self, _: EntryRef<'_>) -> bool {
        true
    }
}

#[tokio::test]
async fn private_contents_are_found_by_their_owner_only() {
    let search = of(vec![(entry("a:1", "inbox", ""), "")]).await;
    let key = entry("a:1", "inbox", "").key();
    let private = Content { owner: Some(Arc::from("ann")), ..content("salary of everybody") };
    search.put_content(key.clone(), private).await;
    search.put_content(key, content("public words")).await;
    search.flush().await;
    let found =
        |term: &str, sight: &dyn Sight| search.find(&Query::terms([term]), sight).unwrap().total;
    assert_eq!(found("salary", &Everything), 0);
    assert_eq!(found("salary", &Owned("bob")), 0);
    assert_eq!(found("salary", &Owned("ann")), 1);
    assert_eq!(found("public", &Owned("ann")), 1);
    assert_eq!(found("inbox", &Owned("ann")), 1, "one resource is one result");
    // What is listed changes; the private content stays private and stays.
    search.apply(Change { put: vec![entry("a:1", "mailbox", "")], removed: vec![] }).await;
    search.flush().await;
    assert_eq!(found("salary", &Everything), 0);
    assert_eq!(found("mailbox salary", &Owned("ann")), 1);
}

#[tokio::test]
async fn an_exact_name_symbol_or_uri_comes_first() {
    let mut entries = vec![
        (entry("file:///a/deploy.md", "deploy.md", ""), "how to ship"),
        (entry("file:///a/code.rs", "code.rs", ""), "fn rollOut() {}\n"),
    ];
    let noise: Vec<(Entry, String)> = (0..30)
        .map(|n| {
            (
                entry(&format!("n:{n}"), &format!("deploy deploy notes {n}"), "deploy deploy"),
                "deploy rollout rollOut deploy ".repeat(20),
            )
        })
        .collect();
    entries.extend(noise.iter().map(|(entry, text)| (entry.clone(), text.as_str())));
    let search = of(entries).await;
    let first = |text: &str| {
        let hits = search.find(&Query::text(text), &Everything).unwrap();
        assert!(hits.hits[0].score > 0.9, "{text}: {}", hits.hits[0].score);
        hits.hits[0].public.clone()
    };
    assert_eq!(first("deploy.md"), PublicUri::from("file:///a/deploy.md"));
    assert_eq!(first("deploy"), PublicUri::from("file:///a/deploy.md"));
    assert_eq!(first("file:///a/DEPLOY.md"), PublicUri::from("file:///a/deploy.md"));
    assert_eq!(first("rollOut"), PublicUri::from("file:///a/code.rs"));
}

#[tokio::test]
async fn without_a_question_the_important_new_and_used_come_first() {
    let mut important = entry("a:important", "x", "");
    important.priority = 1.0;
    let mut new = entry("a:new", "x", "");
    new.modified = Some(900_000_000);
    let search = of(vec![
        (entry("a:plain", "x", ""), ""),
        (new, ""),
        (important, ""),
        (entry("a:used", "x", ""), ""),
    ])
    .await;
    for _ in 0..50 {
        search.note_use(&entry("a:used", "", "").key());
    }
    let query = Query { now: 900_000_100, max_results: 3, ..Query::everything() };
    let hits = search.find(&query, &Everything).unwrap();
    assert_eq!(hits.total, 4);
    assert_eq!(hits.next_offset, Some(3));
    assert_ne!(uris(&hits)[2], "a:plain");
    let rest = search.find(&Query { offset: 3, ..query }, &Everything).unwrap();
    assert_eq!(uris(&rest), ["a:plain"]);
    assert_eq!(rest.next_offset, None);
}

#[tokio::test]
async fn a_snippet_shows_the_match_and_where_it_is() {
    let text = format!(
        "{}\nthe rollback of the migration failed\n{}",
        "intro words\n".repeat(200),
        "outro\n".repeat(50)
    );
    let search = of(vec![(entry("a:1", "notes.txt", ""), text.as_str())]).await;
    let hits = search.find(&Query::terms(["rollback", "migration"]), &Everything).unwrap();
    let hit = &hits.hits[0];
    assert_eq!(hit.matched_terms, ["rollback", "migration"]);
    let found = hit.highlights.iter().find(|found| found.field == "content").unwrap();
    let offset = found.offset.unwrap();
    assert_eq!(&text[offset..offset + found.snippet.len()], found.snippet);
    assert!(found.snippet.contains("rollback of the migration"));
    assert!(hit.preview.as_ref().unwrap().contains("rollback of the migration"));
    assert_eq!(hit.why, [Why::Content]);
}

#[tokio::test]
async fn a_long_content_is_found_to_its_end() {
    let text = format!("{}the needle at the end", "hay in the stack\n".repeat(40_000));
    let search = of(vec![(entry("a:1", "hay.txt", ""), text.as_str())]).await;
    let hits = search.find(&Query::terms(["needle"]), &Everything).unwrap();
    assert_eq!(hits.total, 1);
    let found = &hits.hits[0].highlights[0];
    assert!(text[found.offset.unwrap()..].starts_with(&found.snippet));
    let hits = search.find(&Query::terms(["hay", "stack"]), &Everything).unwrap();
    assert_eq!((hits.total, hits.hits.len()), (1, 1), "one resource is one result");
}

#[tokio::test]
async fn wrong_questions_are_refused_with_a_reason() {
    let search = small().await;
    let check = |query: Query, expected: &str| {
        let error = search.find(&query, &Everything).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(Query::text("x".repeat(100_000)), "more than 16384");
    check(Query::terms(vec!["a"; 33]), "more than 32");
    for open in ["\"open", "\"rate limits\" and \"open"] {
        check(Query::terms([open]), "closing");
    }
    check(Query::terms(["..."]), "no word");
    check(Query { after: Some(2), before: Some(1), ..Query::everything() }, "swap");
    check(Query { content_types: vec!["markdown".to_owned()], ..Query::everything() }, "text/*");
    check(Query { max_results: 101, ..Query::everything() }, "more than 100");
    check(Query { offset: 1_000_000, ..Query::everything() }, "narrow");
}

#[tokio::test]
async fn odd_questions_are_answered() {
    let search = small().await;
    for text in [
        "",
        " ",
        "\"",
        "\"\"",
        "the",
        "a OR b AND",
        "*",
        "[0 TO 9]",
        "🦀",
        "\u{0}",
        "field:x",
        "日本語",
    ] {
        search.find(&Query::text(text), &Everything).unwrap();
    }
    search.find(&Query::terms(["the"]), &Everything).unwrap();
}

#[tokio::test]
async fn a_question_without_a_word_finds_nothing() {
    let search = small().await;
    for text in ["\"", "\"\"", "\" \"", "???", "-", "( )"] {
        let hits = search.find(&Query::text(text), &Everything).unwrap();
        assert_eq!((uris(&hits), hits.total), (Vec::new(), 0), "{text}");
    }
    assert_eq!(search.find(&Query::text(" "), &Everything).unwrap().total, 4, "no question at all");
}

#[tokio::test]
async fn other_scripts_are_found() {
    let search = of(vec![
        (entry("a:1", "ja", ""), "東京都の天気予報"),
        (entry("a:2", "fr", ""), "Les cafés de l'été"),
        (entry("a:3", "ru", ""), "Отчёт о продажах"),
    ])
    .await;
    check_terms(&search, &["天気"], &["a:1"]);
    check_terms(&search, &["cafes"], &["a:2"]);
    check_terms(&search, &["ete"], &["a:2"]);
    check_terms(&search, &["продажах"], &["a:3"]);
}

#[tokio::test]
async fn changes_reach_the_index() {
    let search = small().await;
    let mut renamed = entry("file:///docs/limits.md", "quotas.md", "Quotas");
    renamed.title = Some("Bandwidth".to_owned());
    search
        .apply(Change {
            put: vec![renamed.clone()],
            removed: vec![entry("memo:insights", "", "").key()],
        })
        .await;
    search.flush().await;
    check_terms(&search, &["sales"], &[]);
    check_terms(&search, &["bandwidth", "minute"], &["file:///docs/limits.md"]);
    search.put_content(renamed.key(), content("entirely different")).await;
    search.flush().await;
    check_terms(&search, &["minute"], &[]);
    check_terms(&search, &["different"], &["file:///docs/limits.md"]);
    search.remove_source(source("docs")).await;
    search.flush().await;
    assert_eq!(search.find(&Query::everything(), &Everything).unwrap().total, 0);
    check_terms(&search, &["different"], &[]);
}

#[tokio::test]
async fn a_whole_listing_replaces_what_was_known() {
    let search = memory();
    let list = |uris: &[&str]| SourceListing {
        source: source("docs"),
        entries: uris.iter().map(|uri| entry(uri, uri, "")).collect(),
    };
    search.replace_source(list(&["a:1", "a:2"])).await;
    search.replace_source(list(&["a:2", "a:3"])).await;
    search.flush().await;
    let hits = search.find(&Query::everything(), &Everything).unwrap();
    let mut found = uris(&hits);
    found.sort_unstable();
    assert_eq!(found, ["a:2", "a:3"]);
}

#[tokio::test]
async fn it_knows_which_contents_it_lacks() {
    let search = memory();
    let mut first = entry("a:first", "x", "");
    first.priority = 0.9;
    let listed = Entry { depth: Depth::Metadata, ..entry("a:listed", "x", "") };
    let put = vec![entry("a:1", "x", ""), first.clone(), listed, entry("a:bin", "x", "")];
    search.apply(Change { put, removed: vec![] }).await;
    search.flush().await;
    let pending = |limit| -> Vec<String> {
        search.pending(limit).iter().map(|it| it.public.as_str().to_owned()).collect()
    };
    assert_eq!(pending(10).len(), 3);
    assert_eq!(pending(1), ["a:first"]);
    search.put_content(first.key(), content("text")).await;
    search.skip_content(entry("a:bin", "", "").key(), Skip::Binary).await;
    search.flush().await;
    assert_eq!(pending(10), ["a:1"]);
    let coverage = search.coverage(&Everything);
    assert_eq!((coverage.indexed, coverage.indexable, coverage.skipped[&Skip::Binary]), (1, 2, 1));
    search.content_changed(first.key()).await;
    first.modified = Some(5);
    search.flush().await;
    assert_eq!(pending(10), ["a:first", "a:1"]);
    check_terms(&search, &["text"], &["a:first"]);
}
