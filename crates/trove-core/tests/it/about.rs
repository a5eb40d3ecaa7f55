//! What the gateway says about itself is what holds, to each caller what he may know.

use std::sync::Arc;

use serde_json::Value;
use trove_core::{
    Caller,
    about::{SecuritySettings, ServerSettings},
    access::{
        Access, Policy, Rule,
        audit::{Audit, AuditConfig},
    },
    caller::{Door, Roles},
    gateway::Parts,
    source::Ask,
    tools::{Settings, Tools},
};
use trove_testkit::{
    fake_source::FakeSource,
    gateway_box::{GatewayBox, text_of},
};

/// Every member of a document is in its schema, and every one that must be there is.
fn fits(schema: &Value, root: &Value, document: &Value, place: &str) {
    // What may be left out is itself or null.
    let schema = schema["anyOf"].get(0).unwrap_or(schema);
    let schema = match schema["$ref"].as_str() {
        Some(name) => root.pointer(name.trim_start_matches('#')).expect("a definition"),
        None => schema,
    };
    match document {
        Value::Object(members) => {
            let named = schema["properties"].as_object();
            for (key, value) in members {
                let place = format!("{place}/{key}");
                match named.and_then(|named| named.get(key)) {
                    Some(inner) => fits(inner, root, value, &place),
                    None => assert!(schema["additionalProperties"].is_object(), "{place}"),
                }
            }
            for key in schema["required"].as_array().into_iter().flatten() {
                assert!(members.contains_key(key.as_str().expect("a name")), "{place}/{key}");
            }
        }
        Value::Array(items) => {
            for item in items {
                fits(&schema["items"], root, item, place);
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn what_is_told_fits_the_schemas_that_are_published() {
    let one = Arc::new(FakeSource::new("one", &["doc:1"]));
    let gateway = GatewayBox::with(&[&one]).await;
    let schemas = trove_core::about::schemas();
    for (uri, schema) in schemas.as_object().expect("schemas by URI") {
        let document = told(&gateway, &Caller::local(), uri).await;
        fits(schema, schema, &document, uri);
    }
    assert_eq!(schemas.as_object().map(|all| all.len()), Some(6));
}

async fn told(gateway: &GatewayBox, caller: &Caller, uri: &str) -> Value {
    let read = gateway.gateway.read(caller, &uri.into(), Ask::default()).await;
    serde_json::from_str(&text_of(&read.expect(uri).reply.body)).expect(uri)
}

fn with_roles(roles: &[&str]) -> Caller {
    let roles = Roles::new(roles.iter().map(|role| (*role).to_owned()));
    Caller { roles, principal: Some("ada".into()), ..Caller::behind(Door::Http) }
}

fn rules(rules: &[(&str, bool)]) -> Access {
    let rule = |(pattern, visible): &(&str, bool)| {
        Rule::new(pattern, vec!["admin".into()], *visible).expect("a pattern")
    };
    Access {
        policy: Policy::new(rules.iter().map(rule).collect()),
        local_roles: Roles::new(["writer".to_owned()]),
        ..Access::default()
    }
}

#[tokio::test]
async fn a_caller_is_told_who_he_is_and_what_is_out_of_reach_but_not_what_is_hidden() {
    let gateway = GatewayBox::with(&[]).await;
    gateway.gateway.set_access(rules(&[("shown://*", true), ("hidden://*", false)]));
    let status = told(&gateway, &with_roles(&["reader"]), "auth://status").await;
    assert_eq!(status["principal"], "ada");
    assert_eq!(status["roles"], serde_json::json!(["reader"]));
    assert_eq!(status["out_of_reach"][0]["pattern"], "shown://*");
    assert_eq!(status["out_of_reach"].as_array().map(Vec::len), Some(1));
    let local = told(&gateway, &Caller::local(), "auth://status").await;
    assert_eq!((&local["roles"][0], &local["door"]), (&"writer".into(), &"command line".into()));
    let admin = told(&gateway, &with_roles(&["admin"]), "auth://status").await;
    assert_eq!(admin["out_of_reach"], serde_json::json!([]));
}

#[tokio::test]
async fn published_settings_follow_what_is_in_force() {
    let gateway = GatewayBox::with(&[]).await;
    for limit in [1000, 2000] {
        let security =
            SecuritySettings { max_response_bytes: limit, ..SecuritySettings::default() };
        let server = ServerSettings { mask_error_details: limit > 1000, ..Default::default() };
        gateway.gateway.publish_settings(server, security);
        gateway.gateway.set_cache_ttl(std::time::Duration::from_millis(limit as u64));
        let security = told(&gateway, &Caller::local(), "config://security").await;
        assert_eq!(security["max_response_bytes"], limit);
        let server = told(&gateway, &Caller::local(), "config://server").await;
        assert_eq!(server["mask_error_details"], limit > 1000);
        assert_eq!(server["cache"]["default_ttl_ms"], limit);
        assert_eq!(server["version"], "test");
    }
    gateway.gateway.set_access(rules(&[("a://*", true), ("b://*", false)]));
    let shown = |value: &Value| value["policy_rules"].as_array().map(Vec::len);
    let nobody = told(&gateway, &with_roles(&[]), "config://security").await;
    let admin = told(&gateway, &with_roles(&["admin"]), "config://security").await;
    assert_eq!((shown(&nobody), shown(&admin)), (Some(1), Some(2)));
}

#[tokio::test]
async fn collisions_name_every_way_to_what_collides() {
    let a = Arc::new(FakeSource::new("a", &["x://1", "y://1"]));
    let b = Arc::new(FakeSource::new("b", &["x://1"]));
    let gateway = GatewayBox::with(&[&a, &b]).await;
    let all = told(&gateway, &Caller::local(), "info://collisions").await;
    let expected = serde_json::json!([
        { "uri": "x://1", "kind": "resource", "reached_as": ["a+x://1", "b+x://1"] },
    ]);
    assert_eq!(all["collisions"], expected);
    gateway.gateway.set_access(rules(&[("b+x://*", false)]));
    let all = told(&gateway, &with_roles(&[]), "info://collisions").await;
    assert_eq!(all["collisions"], serde_json::json!([]));
}

#[tokio::test]
async fn hidden_resources_are_not_counted_in_health() {
    let a = Arc::new(FakeSource::new("a", &["x://1", "x://2", "y://1"]));
    let gateway = GatewayBox::with(&[&a]).await;
    gateway.gateway.set_access(rules(&[("x://*", false)]));
    let health = told(&gateway, &with_roles(&[]), "info://health").await;
    assert_eq!(health["sources"][0]["resources"], 1);
    let all = told(&gateway, &with_roles(&["admin"]), "info://health").await;
    assert_eq!(all["sources"][0]["resources"], 3);
    assert_eq!(
        all["resources"].as_u64().zip(health["resources"].as_u64()).map(|(a, b)| a - b),
        Some(2)
    );
}

#[tokio::test]
async fn an_audit_log_that_cannot_be_written_is_said_and_keeps_count_of_what_waits() {
    let one = Arc::new(FakeSource::new("one", &["doc:1"]));
    let nowhere = AuditConfig::in_file("/proc/self/nowhere/audit.jsonl");
    let parts = Parts { audit: Audit::start(nowhere), ..Parts::new("test") };
    let gateway = GatewayBox::of(parts, &[&one]).await.gateway.clone();
    let caller = Caller::local();
    let audit = || {
        let health = gateway.health(&caller);
        let store = health.stores.into_iter().find(|store| store.name == "audit");
        (store.expect("the audit log is a store"), health.status)
    };
    // Nothing was asked yet, and it is known.
    while audit().0.state != "failing" {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let (store, status) = audit();
    assert_eq!((store.lost, status), (Some(0), "degraded"));
    assert!(store.problem.is_some_and(|why| why.contains("cannot be written")), "{store:?}");
    // More than wait for the disk to come back: past its share a caller's entries are counted.
    for _ in 0..20_000 {
        let read = gateway.read(&caller, &"auth://status".into(), Ask::default()).await;
        assert!(read.is_ok(), "no read waits for the log");
    }
    let (store, status) = audit();
    assert_eq!((store.state, store.lost, status), ("failing", Some(0), "degraded"));
}

#[tokio::test]
async fn every_collision_is_listed_with_built_in_names_templates_and_tools() {
    let named = |id: &str, uris: &[&str], template: &str| {
        let source = FakeSource::new(id, uris).with_templates(&[template]);
        Arc::new(source.with_tools(&["draw"]))
    };
    let a = named("a", &["x://1", "info://health"], "note://{id}");
    let b = named("b", &["x://1", "info://tools/get_resource"], "note://{name}");
    // What a template of ours fits is no collision where we have nothing of the name.
    b.add("info://tools/paint");
    b.add("guide://document/zzz/q");
    let gateway = GatewayBox::with(&[&a, &b]).await;
    let _tools = Tools::new(gateway.gateway.clone(), Settings::default());
    let all = told(&gateway, &Caller::local(), "info://collisions").await;
    let all: Vec<String> = all["collisions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| format!("{} {} {}", one["kind"], one["uri"], one["reached_as"]).replace('"', ""))
        .collect();
    let expected = [
        "resource info://health [info://health,a+info://health]",
        "resource info://tools/get_resource [info://tools/get_resource,b+info://tools/get_resource]",
        "resource x://1 [a+x://1,b+x://1]",
        "template note://{id} [a+note://{id},b+note://{name}]",
    ];
    assert_eq!(all, expected);
}

#[tokio::test]
async fn a_uri_under_a_scheme_of_ours_goes_to_the_only_server_that_has_it() {
    let a = FakeSource::new("a", &["auth://keys", "guide://tips", "info://both", "info://health"]);
    let a = Arc::new(a.with_templates(&["config://tenant/{id}"]));
    let b = Arc::new(FakeSource::new("b", &["info://both", "info://tools/paint"]));
    let gateway = GatewayBox::with(&[&a, &b]).await;
    for (uri, text) in [
        ("auth://keys", "a|auth://keys"),
        ("guide://tips", "a|guide://tips"),
        ("config://tenant/5", "a|config://tenant/5"),
        // A template of ours would have it, but there is no such tool.
        ("info://tools/paint", "b|info://tools/paint"),
    ] {
        assert_eq!(gateway.read(uri).await.expect(uri), text);
    }
    assert!(gateway.read("info://health").await.expect("ours").contains("uptime"), "ours first");
    let several = gateway.read("info://both").await.expect_err("two have it").to_string();
    assert!(several.contains("a+info://both"), "{several}");
    assert!(gateway.read("auth://nothing").await.is_err());
    gateway.gateway.set_access(rules(&[("a+auth://*", false)]));
    let (nobody, uri) = (with_roles(&[]), "auth://keys".into());
    let hidden = gateway.gateway.read(&nobody, &uri, Ask::default());
    assert!(hidden.await.is_err(), "what is hidden is not there");
}

#[tokio::test]
async fn the_servers_that_have_a_standing_of_their_own_are_named_in_ours() {
    let a = Arc::new(FakeSource::new("a", &["auth://status", "x://1"]));
    let b = Arc::new(FakeSource::new("b", &["x://2"]));
    let gateway = GatewayBox::with(&[&a, &b]).await;
    let status = told(&gateway, &Caller::local(), "auth://status").await;
    let expected = serde_json::json!([{ "server": "a", "uri": "a+auth://status" }]);
    assert_eq!(status["servers"], expected);
    gateway.gateway.set_access(rules(&[("a+auth://*", false)]));
    let status = told(&gateway, &with_roles(&[]), "auth://status").await;
    assert_eq!(status["servers"], serde_json::json!([]));
}
