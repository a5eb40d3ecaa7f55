//! Absurd questions: each is answered or refused with a reason.

use serde_json::{Value, json};

use super::{BREAD, found, indexed, library, uris};
use crate::kit::Trove;

fn questions() -> Vec<(&'static str, Value)> {
    let long = "x".repeat(100 * 1024);
    let words = "word ".repeat(20 * 1024);
    let many: Vec<String> = (0..100_000).map(|n| format!("t{n}")).collect();
    let combining = format!("e{}", "\u{301}".repeat(8000));
    let joined = "👩‍👩‍👧‍👦".repeat(600);
    let quotes = "\"".repeat(8001);
    vec![
        ("discover_resources", json!({ "query": long })),
        ("discover_resources", json!({ "query": words })),
        ("search_resources", json!({ "searchTerms": [long] })),
        ("search_resources", json!({ "searchTerms": many })),
        ("search_resources", json!({ "searchTerms": [] })),
        ("search_resources", json!({ "searchTerms": [""] })),
        ("search_resources", json!({ "searchTerms": ["\"open"] })),
        ("search_resources", json!({ "searchTerms": ["(a+)+$", "[", "*", "?"] })),
        ("search_resources", json!({ "searchTerms": "not a list" })),
        ("search_resources", json!({ "searchTerms": ["x"], "searchScope": "everywhere" })),
        ("search_resources", json!({ "searchTerms": ["x"], "maxResults": 1_000_000 })),
        ("search_resources", json!({ "searchTerms": ["x"], "cursor": "99999999999999999999" })),
        ("search_resources", json!({ "searchTerms": ["x"], "cursor": "4999" })),
        ("search_resources", json!({ "searchTerms": ["x"], "dateRange": { "since": "now" } })),
        ("search_resources", json!({ "searchTerms": [combining], "fuzzyMatch": true })),
        ("search_resources", json!({ "searchTerms": [joined], "fuzzyMatch": true })),
        (
            "search_resources",
            json!({ "searchTerms": ["aaaaaaaaaaaaaaaaaaaa*"], "fuzzyMatch": true }),
        ),
        ("discover_resources", json!({ "query": "(a|a)*b .* {1,9999}" })),
        ("discover_resources", json!({ "query": quotes })),
        ("discover_resources", json!({ "query": "\u{202e}\u{0}\u{feff} AND OR NOT name:x ^2 ~" })),
        ("discover_resources", json!({ "query": "x", "contentTypes": ["*/*/*", "nonsense"] })),
        ("discover_resources", json!({ "query": "x", "relevanceThreshold": 7 })),
        ("discover_resources", json!({ "query": { "a": 1 } })),
    ]
}

#[tokio::test]
async fn every_question_is_answered_or_refused_with_a_reason() {
    let trove = Trove::start_in(&library("")).await;
    indexed(&trove).await;
    let client = trove.any_client().await;
    for (tool, arguments) in questions() {
        let shown: String = arguments.to_string().chars().take(80).collect();
        let answer = found(&client, tool, arguments).await;
        if answer["success"] == true {
            assert!(answer["resources"].is_array(), "{tool} {shown}: {answer}");
            continue;
        }
        assert_eq!(answer["error"], "InvalidArguments", "{tool} {shown}: {answer}");
        let text = answer.to_string();
        assert!(text.len() < 4096, "{tool} {shown}: a refusal of {} bytes", text.len());
        assert!(answer["suggested_actions"][0].is_string(), "{tool} {shown}: {answer}");
    }
    // And it goes on as before.
    let answer =
        found(&client, "search_resources", json!({ "searchTerms": ["zanzibarian"] })).await;
    assert!(uris(&answer).contains(&BREAD), "{answer}");
}

#[tokio::test]
async fn what_must_be_refused_is_refused_in_words_that_help() {
    let trove = Trove::start_in(&library("")).await;
    indexed(&trove).await;
    let client = trove.any_client().await;
    let many: Vec<String> = (0..100_000).map(|n| format!("t{n}")).collect();
    for (tool, arguments, hint) in [
        ("search_resources", json!({ "searchTerms": [] }), "at least one"),
        ("search_resources", json!({ "searchTerms": many }), "32"),
        ("discover_resources", json!({ "query": "x".repeat(100 * 1024) }), "16384"),
        ("search_resources", json!({ "searchTerms": ["\"open"] }), "quote"),
        (
            "search_resources",
            json!({ "searchTerms": ["x"], "dateRange": { "since": "a" } }),
            "after",
        ),
    ] {
        let answer = found(&client, tool, arguments).await;
        assert_eq!(answer["success"], false, "{hint}: {answer}");
        assert!(answer.to_string().contains(hint), "{hint}: {answer}");
    }
}
