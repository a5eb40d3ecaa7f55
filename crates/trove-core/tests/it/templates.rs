//! Templates: the most specific fits, and a tie is not settled silently.

use std::sync::Arc;

use trove_core::gateway::AskError;
use trove_testkit::{fake_source::FakeSource, gateway_box::GatewayBox};

fn source(id: &str, templates: &[&str]) -> Arc<FakeSource> {
    Arc::new(FakeSource::new(id, &[]).with_templates(templates))
}

#[tokio::test]
async fn a_filled_template_reaches_its_owner() {
    let a = source("a", &["note://{id}"]);
    let b = source("b", &["repo://{owner}/{repo}/contents{/path*}"]);
    let gateway = GatewayBox::with(&[&a, &b]).await;
    assert_eq!(gateway.read("note://7").await.unwrap(), "a|note://7");
    assert_eq!(
        gateway.read("repo://x/y/contents/src/lib.rs").await.unwrap(),
        "b|repo://x/y/contents/src/lib.rs"
    );
}

#[tokio::test]
async fn the_most_specific_template_wins() {
    let a = source("a", &["file:///{+path}"]);
    let b = source("b", &["file:///logs/{name}"]);
    let gateway = GatewayBox::with(&[&a, &b]).await;
    assert_eq!(gateway.read("file:///logs/today").await.unwrap(), "b|file:///logs/today");
    assert_eq!(gateway.read("file:///logs/today/x").await.unwrap(), "a|file:///logs/today/x");
}

#[tokio::test]
async fn the_same_template_of_two_servers_is_listed_twice_and_ambiguous_bare() {
    let a = source("a", &["note://{id}"]);
    let b = source("b", &["note://{id}"]);
    let gateway = GatewayBox::with(&[&a, &b]).await;
    let snapshot = gateway.gateway.snapshot().await;
    let names: Vec<&str> = snapshot.templates().iter().map(|t| t.public.as_str()).collect();
    assert_eq!(
        names,
        ["info://tools/{name}", "info://prompts/{name}", "a+note://{id}", "b+note://{id}"]
    );
    assert!(
        matches!(gateway.read("note://7").await, Err(AskError::Ambiguous { candidates, .. }) if candidates.len() == 2)
    );
    assert_eq!(gateway.read("b+note://7").await.unwrap(), "b|note://7");
}

#[tokio::test]
async fn a_listed_resource_comes_before_any_template() {
    let a = Arc::new(FakeSource::new("a", &["note://7"]));
    let b = source("b", &["note://{id}"]);
    let gateway = GatewayBox::with(&[&a, &b]).await;
    assert_eq!(gateway.read("note://7").await.unwrap(), "a|note://7");
    assert_eq!(gateway.read("note://8").await.unwrap(), "b|note://8");
}

#[tokio::test]
async fn a_template_that_might_be_any_uri_is_listed_by_the_name_it_is_read_by() {
    let a = source("a", &["{+anything}", "{scheme}://fixed"]);
    let gateway = GatewayBox::with(&[&a]).await;
    let snapshot = gateway.gateway.snapshot().await;
    let names: Vec<&str> = snapshot.templates().iter().map(|t| t.public.as_str()).collect();
    assert_eq!(
        names,
        ["info://tools/{name}", "info://prompts/{name}", "a+{+anything}", "a+{scheme}://fixed"]
    );
    assert_eq!(gateway.read("a+memo:7").await.unwrap(), "a|memo:7");
    assert!(matches!(gateway.read("memo:7").await, Err(AskError::NotFound { .. })));
}

#[tokio::test]
async fn t16_a_server_cannot_catch_our_own_schemes_with_a_template() {
    let a = source("a", &["info://{x}", "{+anything}"]);
    let gateway = GatewayBox::with(&[&a]).await;
    assert!(gateway.read("info://health").await.unwrap().contains("uptime"));
    assert_eq!(gateway.read("a+info://other").await.unwrap(), "a|info://other");
    assert!(matches!(gateway.read("info://other").await, Err(AskError::NotFound { .. })));
}
