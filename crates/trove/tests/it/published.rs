//! What Trove says of itself follows what holds: each rule, tool, module list and setting that
//! is changed is seen to change. (Limits: see `limits`.)

use serde_json::{Value, json};

use crate::kit::toy::toy;
use crate::kit::{Folder, Trove};

async fn document(config: &str, uri: &str) -> Value {
    Folder::with(config).run(&["read", uri]).await.json()
}

/// One setting, where it shows, and what it shows there.
#[track_caller]
fn differs(before: &Value, after: &Value, place: &str, expected: Value) {
    assert_eq!(after.pointer(place), Some(&expected), "{place}");
    assert_ne!(before.pointer(place), after.pointer(place), "{place}");
}

#[tokio::test]
async fn a_rule_that_is_added_is_published_to_those_who_may_know_it() {
    let rule = "[[policy]]\nmatch = \"secret://*\"\nroles = [\"ops\"]\n";
    let before = document("", "config://security").await;
    let after = document(rule, "config://security").await;
    let shown = json!([{ "pattern": "secret://*", "roles": ["ops"] }]);
    differs(&before, &after, "/policy_rules", shown.clone());
    let hidden = document(&format!("{rule}visible = false\n"), "config://security").await;
    assert_eq!(hidden["policy_rules"], json!([]));
    let known = format!("auth.local_roles = [\"ops\"]\n{rule}visible = false\n");
    assert_eq!(document(&known, "config://security").await["policy_rules"], shown);
    let standing = document(rule, "auth://status").await;
    assert_eq!(standing["out_of_reach"], shown);
    assert_eq!(document(&known, "auth://status").await["roles"], json!(["ops"]));
}

#[tokio::test]
async fn tools_are_published_as_they_are_offered() {
    let names = async |config: &str| -> Vec<String> {
        let document = document(config, "info://capabilities").await;
        let tools = document["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    };
    let few = names("tools.toolsets = [\"health\"]\nbridge.mode = \"never\"").await;
    assert_eq!(few, ["health_check"]);
    let more =
        names("tools.toolsets = [\"resources\", \"health\"]\nbridge.mode = \"always\"").await;
    assert!(
        more.len() > few.len() && more.iter().any(|name| name == "search_resources"),
        "{more:?}"
    );
    let trove = Trove::with(&[toy("one", "").set("expose = \"all\"")]).await;
    let theirs = trove.any_client().await.text("info://capabilities").await;
    assert!(theirs.contains("\"one_echo\""), "{theirs}");
    let before = document("", "config://server").await;
    let after = document("tools.toolsets = [\"health\"]", "config://server").await;
    differs(&before, &after, "/toolsets", json!(["health"]));
}

#[tokio::test]
async fn settings_are_published_as_they_hold() {
    let before = (document("", "config://server").await, document("", "config://security").await);
    let changed = "tools.mask_error_details = true\ndiscovery.cache_ttl_ms = 1234\ndiscovery.semantic = false\n\
                   http.auth = \"none\"\nbridge.max_answer_bytes = 2048\nhttp.allowed_origins = [\"https://a.example\"]\n\
                   [servers.slow]\nurl = \"http://127.0.0.1:9/mcp\"\ntimeout_ms = 77000\n";
    let server = document(changed, "config://server").await;
    differs(&before.0, &server, "/mask_error_details", json!(true));
    differs(&before.0, &server, "/cache/default_ttl_ms", json!(1234));
    differs(&before.0, &server, "/search/semantic", json!(false));
    differs(&before.0, &server, "/transport/1/auth", json!("none"));
    let security = document(changed, "config://security").await;
    differs(&before.1, &security, "/auth_required", json!(false));
    differs(&before.1, &security, "/max_response_bytes", json!(2048));
    differs(&before.1, &security, "/allowed_origins", json!(["https://a.example"]));
    differs(&before.1, &security, "/request_timeout_seconds", json!(77));
    let kept = "[audit]\nmax_file_bytes = 5000\nkept_files = 3\n[limits]\ncache_bytes = 9000\n\
                cached_answer_bytes = 900\n";
    let audited = document(kept, "config://security").await;
    differs(&before.1, &audited, "/limits/max_audit_file_bytes", json!(5000));
    differs(&before.1, &audited, "/limits/max_audit_files", json!(3));
    let cached = document(kept, "config://server").await;
    differs(&before.0, &cached, "/cache/max_bytes", json!(9000));
    differs(&before.0, &cached, "/cache/max_entry_bytes", json!(900));
    // Nothing can be run, so nothing is allowed.
    assert_eq!(security["allowed_modules"], json!([]));
    assert_eq!(security["blocked_modules"], json!(["*"]));
    assert_eq!(security["dangerous_builtins"], json!(["*"]));
    assert_eq!(
        (&security["code_size_bytes"], &security["memory_limit_mb"]),
        (&json!(0), &json!(0))
    );
}
