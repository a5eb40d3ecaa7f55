//! Rules on who may see and read what hold for every question.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use serde_json::{Value, json};
use trove_core::{
    Caller, Gateway, Json,
    access::{Access, Policy, Rule},
    caller::{Door, Roles},
    catalogue::List,
    gateway::{Action, AskError},
    source::Ask,
};
use trove_testkit::{
    fake_source::FakeSource,
    gateway_box::{Asks as _, GatewayBox, text_of},
};

async fn guarded(rules: &[(&str, bool)]) -> (GatewayBox, Arc<FakeSource>) {
    let uris = ["admin://keys", "docs://a", "docs://b"];
    let source = FakeSource::new("srv", &uris).with_templates(&["admin://{id}", "docs://{id}"]);
    let source = Arc::new(source);
    let gateway = GatewayBox::with(&[&source]).await;
    let rule = |(pattern, visible): &(&str, bool)| {
        Rule::new(pattern, vec!["admin".to_owned()], *visible).expect("a pattern")
    };
    gateway.gateway.set_access(Access {
        policy: Policy::new(rules.iter().map(rule).collect()),
        ..Access::default()
    });
    (gateway, source)
}

fn somebody(roles: &[&str]) -> Caller {
    let roles = Roles::new(roles.iter().map(|role| (*role).to_owned()));
    Caller { roles, ..Caller::behind(Door::Http) }
}

async fn listed(gateway: &GatewayBox, caller: &Caller, list: List) -> String {
    let page = gateway.gateway.list(caller, list, None).await.expect("a page").page;
    page.entries.iter().map(Json::as_str).collect()
}

async fn error_of(gateway: &GatewayBox, caller: &Caller, uri: &str) -> AskError {
    let read = gateway.gateway.read(caller, &uri.into(), Ask::default()).await;
    read.map(|_| ()).expect_err(uri)
}

#[tokio::test]
async fn what_is_hidden_is_absent_from_lists_reads_watches_and_completions() {
    let (gateway, _source) = guarded(&[("admin://*", false)]).await;
    let nobody = somebody(&[]);
    for list in [List::Resources, List::Templates] {
        let text = listed(&gateway, &nobody, list).await;
        assert!(text.contains("docs://") && !text.contains("admin://"), "{text}");
    }
    for uri in
        ["admin://keys", "srv+admin://keys", "admin://other", "ADMIN://keys", "srv+ADMIN://keys"]
    {
        let error = error_of(&gateway, &nobody, uri).await;
        assert!(matches!(error, AskError::NotFound { .. }), "{uri}: {error}");
    }
    let absent = error_of(&gateway, &nobody, "absent://keys").await.to_string();
    let hidden = error_of(&gateway, &nobody, "admin://keys").await.to_string();
    assert_eq!(absent.replace("absent", "admin"), hidden);
    let watched = gateway.gateway.watch(&nobody, &"admin://keys".into()).await;
    assert!(matches!(watched, Err(AskError::NotFound { .. })));
    let reference = r#"{"ref":{"type":"ref/resource","uri":"admin://{id}"},"argument":{"name":"id","value":""}}"#;
    let completed =
        gateway.gateway.complete(&nobody, &Json::parse(reference).unwrap(), Ask::default()).await;
    assert!(matches!(completed, Err(AskError::NotFound { .. })));
    // Which of two counts is not agreed on, so neither is passed on.
    for twice in [
        r#"{"ref":{"type":"ref/resource","uri":"docs://{id}","uri":"admin://{id}"}}"#,
        r#"{"ref":{"type":"ref/resource","uri":"docs://{id}"},"ref":{"type":"ref/resource","uri":"admin://{id}"}}"#,
    ] {
        let twice = Json::parse(twice).unwrap();
        let completed = gateway.gateway.complete(&nobody, &twice, Ask::default()).await;
        assert!(matches!(completed, Err(AskError::BadArguments { .. })));
    }
    let twice = Json::parse(r#"{"uri":"docs://a","uri":"admin://keys"}"#).unwrap();
    let read = gateway.gateway.act(&nobody, Action::ReadDirectory, &twice, Ask::default()).await;
    assert!(matches!(read, Err(AskError::BadArguments { .. })));
    let directory = Json::parse(r#"{"uri":"admin://keys"}"#).unwrap();
    let read =
        gateway.gateway.act(&nobody, Action::ReadDirectory, &directory, Ask::default()).await;
    assert!(matches!(read, Err(AskError::NotFound { .. })));
}

#[tokio::test]
async fn what_is_closed_is_not_given_as_a_part_of_something_else() {
    let (gateway, source) = guarded(&[("admin://*", false), ("staff://*", true)]).await;
    let part = |uri: &str| format!(r#"{{"uri":"{uri}","text":"of {uri}"}}"#);
    let parts = ["docs://a", "admin://keys", "staff://plan"].map(part);
    source.give("docs://a", format!(r#"{{"contents":[{}]}}"#, parts.join(",")));
    let uri = "docs://a".into();
    let read = async |caller: &Caller| {
        let reading = gateway.gateway.read(caller, &uri, Ask::default()).await.expect("a read");
        reading.reply.body.as_str().to_owned()
    };
    let given = read(&somebody(&[])).await;
    assert_eq!(given, r#"{"contents":[{"uri":"docs://a","text":"of docs://a"}]}"#);
    let given = read(&somebody(&["admin"])).await;
    assert!(given.contains("of admin://keys") && given.contains("of staff://plan"), "{given}");
}

#[tokio::test]
async fn an_answer_of_which_all_is_closed_is_absent() {
    let (gateway, source) = guarded(&[("admin://*", false)]).await;
    let part = r#"{"uri":"admin://keys","text":"of admin"}"#;
    source.give("docs://a", format!(r#"{{"contents":[{part}]}}"#));
    let error = error_of(&gateway, &somebody(&[]), "docs://a").await;
    assert!(matches!(error, AskError::NotFound { .. }), "{error}");
    let (admin, uri) = (somebody(&["admin"]), "docs://a".into());
    let reading = gateway.gateway.read(&admin, &uri, Ask::default()).await.expect("a read");
    assert!(reading.reply.body.as_str().contains("of admin"));
}

#[tokio::test]
async fn a_completion_tells_nothing_hidden_before_its_other_variables_are_known() {
    let uris = ["docs://l/vault/key", "docs://l/public/aa"];
    let templates = ["docs://{host}/{+path}", "docs://l/{dir}/{file}"];
    let low = Arc::new(FakeSource::new("low", &uris).with_templates(&templates));
    let gateway = GatewayBox::with(&[&low]).await;
    let rule = Rule::new("docs://l/vault/*", vec!["admin".into()], false).unwrap();
    let policy = Policy::new(vec![rule]);
    gateway.gateway.set_access(Access { policy, ..Access::default() });
    let values = ["vault/key", "public/aa", "vault", "public", "key", "aa"];
    low.complete_with(&values, Duration::ZERO);
    let complete = async |template: &str, name: &str, context: Value| {
        let asked = json!({
            "ref": { "type": "ref/resource", "uri": template },
            "argument": { "name": name, "value": "" }, "context": { "arguments": context },
        });
        let (caller, asked) = (somebody(&[]), Json::of(&asked));
        let reply = gateway.gateway.complete(&caller, &asked, Ask::default()).await.unwrap();
        let body: Value = reply.body.to().unwrap();
        body["completion"]["values"].clone()
    };
    assert_eq!(complete(templates[0], "path", json!({})).await, json!(["public/aa"]));
    assert_eq!(complete(templates[1], "file", json!({})).await, json!(["aa"]));
    let dirs = complete(templates[1], "dir", json!({})).await;
    assert_eq!(dirs, json!(["public/aa", "public", "key", "aa"]));
    let files = complete(templates[1], "file", json!({ "dir": "public" })).await;
    assert_eq!(files, json!(["public/aa", "vault", "public", "key", "aa"]));
    let files = complete(templates[1], "file", json!({ "dir": "vault" })).await;
    assert_eq!(files, json!([]));
}

#[tokio::test]
async fn a_completion_does_not_tell_that_a_value_of_it_is_hidden() {
    let srv = FakeSource::new("srv", &[]).with_templates(&["docs://{id}"]);
    let srv = Arc::new(srv);
    let gateway = GatewayBox::with(&[&srv]).await;
    let rule = Rule::new("docs://secret", vec!["admin".into()], false).unwrap();
    let policy = Policy::new(vec![rule]);
    gateway.gateway.set_access(Access { policy, ..Access::default() });
    let complete = async |caller: &Caller, values: &[&str]| {
        srv.complete_with(values, Duration::ZERO);
        let asked = r#"{"ref":{"type":"ref/resource","uri":"docs://{id}"},"argument":{"name":"id","value":""}}"#;
        let asked = Json::parse(asked).unwrap();
        let told = gateway.gateway.complete(caller, &asked, Ask::default()).await;
        told.expect("values").body.as_str().to_owned()
    };
    let nobody = somebody(&[]);
    let with_hidden = complete(&nobody, &["plain", "secret"]).await;
    assert_eq!(with_hidden, complete(&nobody, &["plain"]).await);
    let all = complete(&somebody(&["admin"]), &["plain", "secret"]).await;
    assert!(all.contains("secret") && all.contains("\"total\":2"), "{all}");
}

#[tokio::test]
async fn what_is_shown_is_listed_and_refused_with_the_role_it_takes() {
    let (gateway, _source) = guarded(&[("admin://*", true)]).await;
    let nobody = somebody(&["reader"]);
    assert!(listed(&gateway, &nobody, List::Resources).await.contains("admin://keys"));
    let error = error_of(&gateway, &nobody, "admin://keys").await;
    let AskError::Forbidden { roles, .. } = &error else { panic!("{error}") };
    assert_eq!(roles, &["admin".to_owned()]);
    let admin = somebody(&["admin"]);
    assert!(gateway.gateway.read(&admin, &"admin://keys".into(), Ask::default()).await.is_ok());
}

#[tokio::test]
async fn the_local_user_has_the_roles_of_the_settings_and_no_other_caller_does() {
    let (gateway, _source) = guarded(&[]).await;
    gateway.gateway.set_access(Access {
        policy: Policy::new(vec![Rule::new("admin://*", vec!["admin".into()], false).unwrap()]),
        local_roles: Roles::new(["admin".to_owned()]),
        ..Access::default()
    });
    assert!(gateway.read("admin://keys").await.is_ok());
    let error = error_of(&gateway, &somebody(&[]), "admin://keys").await;
    assert!(matches!(error, AskError::NotFound { .. }));
}

#[tokio::test]
async fn of_several_owners_only_those_count_that_may_be_known() {
    let (a, b) = (FakeSource::new("a", &["x://1"]), FakeSource::new("b", &["x://1"]));
    let (a, b) = (Arc::new(a), Arc::new(b));
    let gateway = GatewayBox::with(&[&a, &b]).await;
    gateway.gateway.set_access(Access {
        policy: Policy::new(vec![Rule::new("b+x://*", vec!["admin".into()], false).unwrap()]),
        ..Access::default()
    });
    assert!(gateway.gateway.read(&somebody(&[]), &"x://1".into(), Ask::default()).await.is_ok());
    let error = error_of(&gateway, &somebody(&["admin"]), "x://1").await;
    assert!(matches!(error, AskError::Ambiguous { .. }));
}

#[tokio::test]
async fn capabilities_tell_each_caller_what_is_there_to_him() {
    let (gateway, _source) = guarded(&[("admin://*", false)]).await;
    for (roles, expected) in [(&[][..], false), (&["admin"][..], true)] {
        let caller = somebody(roles);
        let read =
            gateway.gateway.read(&caller, &"info://capabilities".into(), Ask::default()).await;
        let body = read.unwrap().reply.body;
        let text = text_of(&body);
        assert_eq!(text.contains("admin://"), expected, "{text}");
        let total = Json::parse(text).unwrap().get("resources_total").unwrap();
        let resources = gateway.gateway.list(&caller, List::Resources, None).await.unwrap().page;
        assert_eq!(total.as_str(), resources.entries.len().to_string());
    }
}

/// Rules that let nobody without a role read, or everybody.
fn rules(closed: bool) -> Access {
    let rule = Rule::new("docs://*", vec!["admin".to_owned()], true).expect("a pattern");
    let policy = Policy::new(if closed { vec![rule] } else { Vec::new() });
    Access { policy, ..Access::default() }
}

/// A small history checker: readers ask all the time while one hand opens and closes the door.
/// A read that began after the closing was acknowledged, and ended before the next opening
/// began, must have been refused; and the other way round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t48_no_read_is_served_after_it_was_forbidden() {
    const ROUNDS: usize = 3000;
    let (gateway, _source) = guarded(&[]).await;
    let gateway = gateway.gateway;
    // Even: settled; odd: being changed; `4n + 2`: closed and settled.
    let step = Arc::new(AtomicUsize::new(0));
    let judged = Arc::new(AtomicUsize::new(0));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        readers.spawn(judge(gateway.clone(), step.clone(), judged.clone()));
    }
    for round in 0..ROUNDS {
        let next = rules(round % 2 == 0);
        step.fetch_add(1, SeqCst);
        gateway.set_access(next);
        step.fetch_add(1, SeqCst);
        // It stays so until a read that began since has been judged.
        let before = judged.load(SeqCst);
        while judged.load(SeqCst) == before {
            if let Some(ended) = readers.try_join_next() {
                ended.expect("no reader saw a breach");
            }
            tokio::task::yield_now().await;
        }
    }
    while let Some(ended) = readers.try_join_next() {
        ended.expect("no reader saw a breach");
    }
    assert!(judged.load(SeqCst) >= ROUNDS);
}

/// Reads without end, and judges every read during which nothing changed.
async fn judge(gateway: Arc<Gateway>, step: Arc<AtomicUsize>, judged: Arc<AtomicUsize>) {
    let nobody = somebody(&[]);
    loop {
        let before = step.load(SeqCst);
        let read = gateway.read(&nobody, &"docs://a".into(), Ask::default()).await;
        if before == step.load(SeqCst) && before.is_multiple_of(2) {
            assert_eq!(read.is_err(), before % 4 == 2, "at step {before}");
            judged.fetch_add(1, SeqCst);
        }
        tokio::task::yield_now().await;
    }
}
