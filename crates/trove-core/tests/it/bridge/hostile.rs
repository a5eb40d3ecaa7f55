//! Input made to hurt: a clear failure, and bounded work.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use trove_core::SourceError;
use trove_testkit::fake_source::FakeSource;

use super::{Bridge, nobody, source, text_of};

/// Far more than any of this takes, far less than what unbounded work would.
const PATIENCE: Duration = Duration::from_secs(60);

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("the work is bounded")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_search_that_takes_long_holds_up_nobody_and_comes_to_an_end() {
    let srv = source("srv", &["docs://log"]);
    let line = format!("{}\n", "ab".repeat(200));
    srv.give_text("docs://log", "text/plain", &line.repeat(25_000));
    let bridge = Arc::new(Bridge::over(&[&srv]).await);
    // On a worker, as the requests of a door are.
    let searcher = bridge.clone();
    let search = tokio::spawn(async move {
        let pattern = "(?:[ab]{0,50}[ac]{0,50}){50}[0-9]{2}";
        searcher.failure(json!({ "uri": "docs://log", "grep": pattern })).await
    });
    let other = bridge.clone();
    let others = tokio::spawn(async move {
        for _ in 0..20 {
            other.ok(json!({})).await;
            tokio::task::yield_now().await;
        }
    });
    within(others).await.expect("it ends");
    assert!(!search.is_finished(), "the others waited for the search");
    let failure = within(search).await.expect("it ends");
    assert_eq!(
        (&failure["error"], &failure["field"]),
        (&json!("InvalidArguments"), &json!("grep"))
    );
    assert!(text_of(&failure["message"]).contains("was given up after"), "{failure}");
}

#[tokio::test]
async fn a_uri_that_cannot_be_one_is_refused_in_few_words() {
    let srv = FakeSource::new("srv", &["docs://a"]).with_templates(&["docs://{id}/{+path}"]);
    srv.fail_others(SourceError::NotFound);
    let bridge = Bridge::over(&[&Arc::new(srv)]).await;
    let huge = format!("docs://{}", "x".repeat(1024 * 1024));
    let long = format!("docs://{}", "x/../".repeat(3000));
    for uri in [
        huge.as_str(),
        &long,
        "docs://a\0b",
        "docs://\u{1b}[31m",
        "docs://x/%ff%fe",
        "docs://x/..%2f..%2fetc",
        "docs://x/%2e%2e/",
        "\u{202e}",
        "://",
        "+",
        "srv+",
        "%",
        "{}",
        "docs:",
        "a b c",
    ] {
        let failure = within(bridge.failure(json!({ "uri": uri }))).await;
        let class = text_of(&failure["error"]);
        let is_clear =
            ["InvalidURI", "InvalidTemplateVariable", "MissingTemplateVariable", "NotFound"]
                .contains(&class);
        assert!(is_clear, "{:.60}: {failure}", uri);
        assert!(
            failure.to_string().len() < 8 * 1024,
            "{:.60}: {} bytes",
            uri,
            failure.to_string().len()
        );
        let text = failure.to_string();
        assert!(
            !text.contains("\\u0000") && !text.contains('\u{202e}') && !text.contains("\\u001b"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn t24_thousands_of_templates_cost_little() {
    let mut texts: Vec<String> =
        (0..3000).map(|n| format!("bomb://{{a{n}}}{{+b}}{{c*}}/{{d}}")).collect();
    let monster: String = (0..60).map(|n| format!("{{+v{n}}}")).collect();
    texts.extend((0..300).map(|n| format!("bomb://{monster}/{n}")));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let srv = FakeSource::new("srv", &["bomb://listed"]).with_templates(&texts);
    srv.fail_others(SourceError::NotFound);
    let other = FakeSource::new("other", &["bomb://two"]).with_templates(&["bomb://{x}{+y}"]);
    other.fail_others(SourceError::NotFound);
    let bridge = Bridge::over(&[&Arc::new(srv), &Arc::new(other)]).await;
    let long = format!("srv+bomb://{}", "a/".repeat(1900));
    for uri in [long.as_str(), "srv+bomb://", "bomb://x y", "bomb://{+b}", "srv+bomb://a/../b"] {
        let failure = within(bridge.failure(json!({ "uri": uri }))).await;
        assert!(failure.to_string().len() < 64 * 1024, "{}", failure.to_string().len());
    }
    let found = within(bridge.object_for(&nobody(), json!({}))).await;
    assert!(found["shown"].as_u64() > Some(10) && found["cursor"].is_string(), "{found}");
}

#[tokio::test]
async fn t24_names_of_any_length_stay_within_an_answer() {
    let srv = source("srv", &[]);
    for n in 0..150 {
        srv.add_entry(&json!({
            "uri": format!("long://{n}/{}", "x".repeat(15_000)),
            "name": "n".repeat(100_000), "mimeType": "m".repeat(100_000),
        }));
    }
    srv.add_entry(
        &json!({ "uri": "long://a", "name": "n".repeat(100_000), "mimeType": "m".repeat(100_000) }),
    );
    let many = source("many", &[]);
    for n in 0..2000 {
        many.add(&format!("scheme{n}://x"));
    }
    let bridge = Bridge::over(&[&srv, &many]).await;
    let object = bridge.ok(json!({})).await;
    assert!(object.to_string().len() < 300 * 1024, "{}", object.to_string().len());
    assert_eq!((&object["category_count"], &object["total"]), (&json!(2004), &json!(2159)));
    let read = bridge.ok(json!({ "uri": "long://a" })).await;
    assert!(read.to_string().len() < 4096, "{}", read.to_string().len());
    let failure = bridge.failure(json!({ "uri": "lnog://b" })).await;
    assert!(failure.to_string().len() < 64 * 1024, "{}", failure.to_string().len());
    // Nothing is lost for all that.
    let mut cursor = object["cursor"].clone();
    let mut seen = object["shown"].as_u64().unwrap();
    while cursor.is_string() {
        let page = bridge.ok(json!({ "cursor": cursor })).await;
        seen += page["shown"].as_u64().unwrap();
        cursor = page.get("cursor").cloned().unwrap_or(Value::Null);
    }
    assert_eq!(seen, 2159);
}

#[tokio::test]
async fn the_nearest_of_very_many_are_found_in_time() {
    let srv = source("srv", &[]);
    for n in 0..30_000 {
        srv.add(&format!("near://{:0200}/{n}", n));
    }
    let bridge = Bridge::over(&[&srv]).await;
    let asked = format!("naer://{:0200}/777", 777);
    let failure = within(bridge.failure(json!({ "uri": asked }))).await;
    assert_eq!(failure["valid_uris"].as_array().unwrap().len(), 10);
    assert_eq!(failure["total"], 30_008);
}

#[tokio::test]
async fn arguments_of_the_wrong_shape_are_refused_by_name() {
    let bridge = Bridge::over(&[]).await;
    for (arguments, field) in [
        (json!({ "uri": ["a"] }), "uri"),
        (json!({ "uri": "info://health", "offset": -1 }), "offset"),
        (json!({ "uri": "info://health", "maxSize": 1e30 }), "maxSize"),
        (json!({ "uri": "info://health", "format": "xml" }), "format"),
        (json!({ "uri": "info://health", "nonsense": { "deep": "x".repeat(10_000) } }), "nonsense"),
    ] {
        let failure = bridge.failure(arguments).await;
        assert_eq!(
            (&failure["error"], &failure["field"]),
            (&json!("InvalidArguments"), &json!(field))
        );
        assert!(failure.to_string().len() < 1000, "{failure}");
    }
}
