//! Names: native when unique, qualified always, never picked silently.

use std::sync::Arc;

use proptest::prelude::*;
use trove_core::{
    Caller, Json,
    gateway::{Action, AskError},
    source::Ask,
};
use trove_testkit::{
    fake_source::FakeSource,
    gateway_box::{Asks as _, GatewayBox},
};

fn source(id: &str, uris: &[&str]) -> Arc<FakeSource> {
    Arc::new(FakeSource::new(id, uris))
}

#[tokio::test]
async fn a_name_only_one_source_uses_stays_as_it_is() {
    let a = source("a", &["doc:1", "file:///x"]);
    let b = source("b", &["doc:2"]);
    let gateway = GatewayBox::with(&[&a, &b]).await;
    assert_eq!(gateway.names().await, ["doc:1", "file:///x", "doc:2"]);
    assert_eq!(gateway.read("doc:2").await.unwrap(), "b|doc:2");
}

#[tokio::test]
async fn the_qualified_name_always_works() {
    let a = source("a", &["doc:1"]);
    let gateway = GatewayBox::with(&[&a]).await;
    assert_eq!(gateway.read("a+doc:1").await.unwrap(), "a|doc:1");
}

#[tokio::test]
async fn t15_a_contested_name_is_listed_twice_and_answers_with_the_candidates() {
    let a = source("a", &["doc:1"]);
    let b = source("b", &["doc:1"]);
    let gateway = GatewayBox::with(&[&b, &a]).await;
    assert_eq!(gateway.names().await, ["a+doc:1", "b+doc:1"]);
    assert_eq!(gateway.read("b+doc:1").await.unwrap(), "b|doc:1");
    match gateway.read("doc:1").await {
        Err(AskError::Ambiguous { candidates, .. }) => {
            let names: Vec<&str> = candidates.iter().map(|c| c.as_str()).collect();
            assert_eq!(names, ["a+doc:1", "b+doc:1"]);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_contents_of_a_contested_resource_carry_the_name_that_was_asked_for() {
    let a = source("a", &["doc:1"]);
    let b = source("b", &["doc:1"]);
    let gateway = GatewayBox::with(&[&a, &b]).await;
    let read = gateway.gateway.read(&Caller::local(), &"a+doc:1".into(), Ask::default()).await;
    let body = read.unwrap().reply.body;
    assert!(body.as_str().contains(r#""uri":"a+doc:1""#), "{}", body.as_str());
}

#[tokio::test]
async fn t16_a_server_cannot_take_one_of_our_own_schemes() {
    let a = source("a", &["info://health", "INFO://x", "config://security"]);
    let gateway = GatewayBox::with(&[&a]).await;
    assert_eq!(gateway.names().await, ["a+INFO://x", "a+config://security", "a+info://health"]);
    assert!(gateway.read("info://health").await.unwrap().contains("uptime"));
    assert_eq!(gateway.read("a+info://health").await.unwrap(), "a|info://health");
    assert!(gateway.read("config://security").await.unwrap().contains("policy_rules"));
}

#[tokio::test]
async fn a_builtin_keeps_its_name_against_a_server() {
    let ours = Arc::new(FakeSource::new("skills", &["skill://x/SKILL.md"]).builtin());
    let theirs = source("a", &["skill://x/SKILL.md", "skill://y/SKILL.md"]);
    let gateway = GatewayBox::with(&[&theirs, &ours]).await;
    assert_eq!(
        gateway.names().await,
        ["skill://x/SKILL.md", "a+skill://x/SKILL.md", "skill://y/SKILL.md"]
    );
    assert_eq!(gateway.read("skill://x/SKILL.md").await.unwrap(), "skills|skill://x/SKILL.md");
}

#[tokio::test]
async fn t16_a_native_name_that_looks_qualified_cannot_shadow_another_server() {
    let git = source("git", &["ssh://x"]);
    let evil = source("evil", &["git+ssh://x"]);
    let gateway = GatewayBox::with(&[&git, &evil]).await;
    assert_eq!(gateway.names().await, ["evil+git+ssh://x", "ssh://x"]);
    assert_eq!(gateway.read("git+ssh://x").await.unwrap(), "git|ssh://x");
    assert_eq!(gateway.read("evil+git+ssh://x").await.unwrap(), "evil|git+ssh://x");
}

#[tokio::test]
async fn an_unlisted_uri_goes_to_the_one_source_of_its_scheme() {
    let a = source("a", &["note:1", "both:1"]);
    let b = source("b", &["both:2"]);
    let gateway = GatewayBox::with(&[&a, &b]).await;
    assert_eq!(gateway.read("note:unlisted").await.unwrap(), "a|note:unlisted");
    assert!(matches!(gateway.read("both:unlisted").await, Err(AskError::NotFound { .. })));
    assert!(matches!(gateway.read("other:1").await, Err(AskError::NotFound { .. })));
}

#[tokio::test]
async fn links_in_a_tools_answer_lead_back_to_the_server_that_made_them() {
    let a = Arc::new(FakeSource::new("a", &["doc:1", "doc:2"]).with_tools(&["t"]));
    let b = Arc::new(FakeSource::new("b", &["doc:1"]).with_tools(&["t"]));
    let gateway = GatewayBox::with(&[&a, &b]).await;
    let arguments = Json::parse(r#"{"name":"a_t"}"#).unwrap();
    let reply = gateway
        .gateway
        .act(&Caller::local(), Action::CallTool, &arguments, Ask::default())
        .await
        .unwrap();
    let text = reply.body.as_str();
    assert!(text.contains(r#""uri":"a+doc:1""#) && text.contains(r#""uri":"doc:2""#), "{text}");
}

#[tokio::test]
async fn no_odd_content_keeps_a_name_from_being_made_public() {
    for (odd, renamed) in [
        (r#""contents":[{"uri":"doc:1"},{"\ud800":1},{"uri":"doc:1","uri":"doc:1"}]"#, 2),
        (r#""contents":[{"uri":"doc:1"}],"contents":[{"uri":"doc:1"}]"#, 1),
        (r#""contents":[{"uri":"doc:2"}],"contents":[{"uri":"doc:1"}]"#, 0),
    ] {
        let (a, b) = (source("a", &["doc:1"]), source("b", &["doc:1", "doc:2"]));
        b.give("doc:1", format!("{{{odd}}}"));
        let gateway = GatewayBox::with(&[&a, &b]).await;
        let (caller, uri) = (Caller::local(), "b+doc:1".into());
        let reading = gateway.gateway.read(&caller, &uri, Ask::default()).await.unwrap();
        let text = reading.reply.body.as_str();
        let counts = (text.matches("b+doc:1").count(), text.matches(r#""doc:1""#).count());
        assert_eq!(counts, (renamed, 0), "{odd} became {text}");
        // Where the first is no list, there is none.
        b.give("doc:1", r#"{"contents":{},"contents":[{"uri":"doc:1"}]}"#);
        let reading = gateway.gateway.read(&caller, &uri, Ask::default()).await;
        let error = reading.map(|_| ()).expect_err("it has no contents").to_string();
        assert!(error.contains("no `contents`"), "{error}");
    }
}

fn any_uri() -> impl Strategy<Value = String> {
    prop_oneof![
        "file:///[a-c]{1,2}(%20|%2F| |é)?[a-c]?",
        "memo:[a-c]{1,2}",
        "urn:x:[a-c]{1,2}",
        "ui://[a-c]/[a-c]",
        "skill://[a-c]/SKILL.md(#[a-c])?",
        "(info|config|a|b)(\\+[a-c]{1,2})?://[a-c]",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever servers list: nothing is dropped, no name is given twice, and each name
    /// leads to its owner and to what the owner called it.
    #[test]
    fn t15_every_listed_name_leads_to_its_owner(
        lists in proptest::collection::vec(proptest::collection::btree_set(any_uri(), 0..8), 1..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sources: Vec<Arc<FakeSource>> = lists
                .iter()
                .zip(["a", "b", "c"])
                .map(|(uris, id)| source(id, &uris.iter().map(String::as_str).collect::<Vec<_>>()))
                .collect();
            let gateway = GatewayBox::with(&sources.iter().collect::<Vec<_>>()).await;
            let names = gateway.names().await;
            let total: usize = lists.iter().map(std::collections::BTreeSet::len).sum();
            assert_eq!(names.len(), total);
            let unique: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(unique.len(), total);
            let mut expected: Vec<String> = Vec::new();
            for (uris, id) in lists.iter().zip(["a", "b", "c"]) {
                for uri in uris {
                    expected.push(format!("{id}|{uri}"));
                    assert_eq!(gateway.read(&format!("{id}+{uri}")).await.unwrap(), format!("{id}|{uri}"));
                }
            }
            let mut seen = Vec::new();
            for name in &names {
                seen.push(gateway.read(name).await.unwrap());
            }
            expected.sort();
            seen.sort();
            assert_eq!(seen, expected);
            gateway.gateway.shutdown().await;
        });
    }
}
