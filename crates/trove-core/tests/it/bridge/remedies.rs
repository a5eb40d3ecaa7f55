//! Failures whose remedy is in them: the server that is meant, names that are near, examples
//! that exist, and template values that reach no server.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::json;
use trove_core::{
    SourceError, SourceId,
    access::Access,
    gateway::AskError,
    source::{Ask, Outage, Why},
};
use trove_testkit::fake_source::FakeSource;

use super::{
    Bridge,
    failures::{refused, templated},
    nobody, somebody, source, suggests, text_of,
};

#[tokio::test]
async fn a_uri_of_a_server_that_is_not_in_use_names_that_server_and_what_lets_it_run() {
    let bridge = Bridge::over(&[&source("notes", &["x://a", "waiting://a"])]).await;
    let board = bridge.gateway.gateway.board();
    board.name_configuration(Path::new("/home/ann/mcp.json"));
    let waiting = SourceId::new("waiting").unwrap();
    board.add(&waiting, "stdio");
    board.update(&waiting, |status| {
        status.last_error = Some(Outage::new(Why::Unapproved, "waiting for approval"))
    });
    let starting = SourceId::new("starting").unwrap();
    board.add(&starting, "stdio");
    for masked in [false, true] {
        bridge.gateway.gateway.set_access(Access { withholds_causes: masked, ..Access::default() });
        for uri in ["waiting+x://a", "waiting+note://{id}", "waiting+note://5"] {
            let failure = bridge.failure(json!({ "uri": uri })).await;
            assert_eq!(failure["error"], "ResourceExecutionError", "{failure}");
            assert!(text_of(&failure["message"]).starts_with("waiting is not in use"), "{failure}");
            let command = "`trove approve --config /home/ann/mcp.json waiting`";
            assert!(suggests(&failure, command), "{failure}");
            assert!(!failure.to_string().contains("notes"), "no other server: {failure}");
        }
        let failure = bridge.failure(json!({ "uri": "starting+note://{id}" })).await;
        assert!(text_of(&failure["message"]).contains("starting"), "{failure}");
        assert!(!failure.to_string().contains("notes"), "no other server: {failure}");
    }
    let (caller, uri) = (nobody(), "waiting+x://a".into());
    let health = bridge.gateway.gateway.health(&nobody());
    let remedy = health.sources.iter().find_map(|source| source.remedy.clone());
    assert_eq!(remedy.as_deref(), Some("trove approve --config /home/ann/mcp.json waiting"));
    let native = bridge.gateway.gateway.read(&caller, &uri, Ask::default());
    assert!(matches!(native.await, Err(AskError::Source { .. })), "natively too");
    bridge.allow(&[("waiting+x://*", "admin", false)]);
    let hidden = bridge.failure(json!({ "uri": "waiting+x://a" })).await;
    assert_eq!(hidden["error"], "InvalidURI", "{hidden}");
}

#[tokio::test]
async fn a_server_that_asks_for_a_login_is_told_with_the_command_for_it_also_where_causes_are_masked()
 {
    let wiki = source("wiki", &["x://a"]);
    let outage = Outage::new(Why::AsksWho, "the server asks who you are");
    wiki.fail("x://a", SourceError::Unavailable(outage));
    let bridge = Bridge::over(&[&wiki]).await;
    for masked in [false, true] {
        bridge.gateway.gateway.set_access(Access { withholds_causes: masked, ..Access::default() });
        let failure = bridge.failure(json!({ "uri": "x://a" })).await;
        assert_eq!(failure["error"], "Unauthorized", "{failure}");
        assert_eq!(failure["retryable"], false);
        assert!(suggests(&failure, "`trove auth login wiki`"), "{failure}");
    }
}

#[tokio::test]
async fn a_name_is_suggested_only_if_it_is_near_and_may_be_read() {
    let srv = source("srv", &["weather://london", "docs://intro", "admin://keys"]);
    srv.fail_others(refused(-32002, "Resource not found"));
    for uri in ["weather://london", "docs://intro", "admin://keys"] {
        srv.give_text(uri, "text/plain", "here");
    }
    let bridge = Bridge::over(&[&srv]).await;
    for uri in ["weather://berlin", "foo://bar", "docs://outlook", "zzz"] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert!(!suggests(&failure, "Did you mean"), "{uri}: {failure}");
    }
    for (uri, meant) in [
        ("weather://londn", "weather://london"),
        ("wether://london", "weather://london"),
        ("DOCS://Intro", "docs://intro"),
        ("docs/intr", "docs://intro"),
        ("admin://kyes", "admin://keys"),
    ] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert!(suggests(&failure, &format!("Did you mean {meant}?")), "{uri}: {failure}");
        bridge.ok(json!({ "uri": meant })).await;
    }
    bridge.allow(&[("admin://*", "admin", true)]);
    let failure = bridge.failure(json!({ "uri": "admin://kyes" })).await;
    assert!(!failure.to_string().contains("admin://keys"), "{failure}");
    let admin = somebody(&["admin"]);
    let failure = bridge.failure_for(&admin, json!({ "uri": "admin://kyes" })).await;
    assert!(suggests(&failure, "Did you mean admin://keys?"), "{failure}");
}

#[tokio::test]
async fn an_example_is_given_only_if_it_can_be_read() {
    let srv = templated(&["repo://{owner}/{name}", "note://{id}"]);
    srv.complete_with(&["ann"], Duration::ZERO);
    let bridge = Bridge::over(&[&srv]).await;
    // What is offered is not there.
    let failure = bridge.failure(json!({ "uri": "repo:///" })).await;
    assert_eq!(failure.get("example"), None, "{failure}");
    assert!(!failure.to_string().contains("some-"), "{failure}");
    srv.give_text("repo://ann/ann", "text/plain", "there");
    let failure = bridge.failure(json!({ "uri": "repo:///" })).await;
    assert_eq!(failure["example"], "repo://ann/ann", "{failure}");
    bridge.ok(json!({ "uri": failure["example"] })).await;
    // What may not be read is no example.
    bridge.allow(&[("repo://*", "admin", true)]);
    let failure = bridge.failure(json!({ "uri": "note://" })).await;
    assert_eq!(failure.get("example"), None, "{failure}");
}

#[tokio::test]
async fn no_server_is_asked_for_a_template_with_an_empty_or_a_malformed_value() {
    // A server that answers whatever it is asked.
    let srv = Arc::new(FakeSource::new("srv", &["note://1"]).with_templates(&[
        "note://{id}",
        "repo://{owner}/files/{name}",
        "part://{id}.json",
        "tree://{path}",
    ]));
    let bridge = Bridge::over(&[&srv]).await;
    let reads = || srv.reads.load(Ordering::Relaxed);
    for (uri, class) in [
        ("note://", "MissingTemplateVariable"),
        ("srv+note://", "MissingTemplateVariable"),
        ("repo:///files/", "MissingTemplateVariable"),
        ("repo://ann/files/", "MissingTemplateVariable"),
        ("part://.json", "MissingTemplateVariable"),
        ("note://a b", "InvalidTemplateVariable"),
        ("note://%zz", "InvalidTemplateVariable"),
        ("srv+note://<id>", "InvalidTemplateVariable"),
    ] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert_eq!(failure["error"], class, "{uri}: {failure}");
        assert_eq!(reads(), 0, "{uri} was asked for");
        if uri.contains("note") {
            assert_eq!(failure["known_values"], json!(["1"]), "{failure}");
            assert!(suggests(&failure, "note://1"), "{failure}");
        }
        let native = bridge.gateway.gateway.read(&nobody(), &uri.into(), Ask::default()).await;
        assert!(matches!(native, Err(AskError::BadArguments { .. })), "natively too: {uri}");
    }
    // A server may have more than it lists, and take more than its template.
    for uri in ["repo://ann", "repo://ann/files", "tree://a/b", "note://é"] {
        bridge.ok(json!({ "uri": uri })).await;
    }
}
