//! Trove's words about itself follow its rules: each rule, tool, module list and setting that is
//! changed is seen to change. (Limits: see `limits`.)

use serde_json::{Value, json};

use crate::kit::client::MODERN;
use crate::kit::toy::toy;
use crate::kit::{Folder, Trove, until};

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
async fn tools_of_each_server_are_published_where_they_are_offered() {
    let toys = crate::kit::toy::config(&[toy("one", "")]);
    let trove =
        Trove::start(&format!("tools.toolsets = [\"health\", \"per_server\"]\n{toys}")).await;
    trove.ready(&["one"]).await;
    let client = trove.any_client().await;
    let listed = client.list("tools/list", "tools").await;
    let names: Vec<&str> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"one_list_resources"), "{names:?}");
    let said: Value =
        serde_json::from_str(&client.text("info://capabilities").await).expect("JSON");
    let said: Vec<&str> = said["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|t| t["name"].as_str())
        .collect();
    assert_eq!(said, names);
    let settings: Value =
        serde_json::from_str(&client.text("config://server").await).expect("JSON");
    assert_eq!(settings["toolsets"], json!(["health", "per_server"]));
    for name in names {
        let text = client.text(&format!("info://tools/{name}")).await;
        assert!(text.starts_with("# ") && text.contains("## Examples"), "{name}: {text}");
    }
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

#[tokio::test]
async fn doors_are_published_as_they_are_open_and_toolsets_as_they_are_offered() {
    let closed = document("", "config://server").await;
    for door in [0, 1] {
        assert_eq!(closed["transport"][door]["open"], false, "a command opens no door: {closed}");
    }
    let trove = Trove::start("").await;
    let client = trove.any_client().await;
    let server = async || -> Value {
        serde_json::from_str(&client.text("config://server").await).expect("JSON")
    };
    assert_eq!(server().await["transport"][0]["open"], true);
    assert_eq!(server().await["transport"][1]["open"], true);
    // Those of the guide are offered where there is one.
    assert_eq!(server().await["toolsets"], json!(["resources", "health"]));
    trove.folder.put("guide/lang/rust.md", "# Rust\n");
    let all = json!(["resources", "health", "guide", "flags"]);
    until("the guide to be seen", async || server().await["toolsets"] == all).await;
    let prompts = client.list("prompts/list", "prompts").await;
    let capabilities: Value =
        serde_json::from_str(&client.text("info://capabilities").await).expect("JSON");
    let names = |list: &Value| -> Vec<Value> {
        list.as_array().into_iter().flatten().map(|one| one["name"].clone()).collect()
    };
    assert!(!prompts.is_empty());
    assert_eq!(names(&capabilities["prompts"]), names(&Value::Array(prompts)));
}

#[tokio::test]
async fn what_needs_a_restart_is_published_as_it_holds_until_then_and_said() {
    let trove = Trove::start("limits.list_pages = 77\ntools.mask_error_details = false\n").await;
    let client = trove.any_client().await;
    let read =
        async |uri: &str| -> Value { serde_json::from_str(&client.text(uri).await).expect("JSON") };
    assert_eq!(read("config://security").await["limits"]["max_list_pages"], 77);
    trove.folder.write("limits.list_pages = 99\ntools.mask_error_details = true\n");
    until("the new file to be in force", async || {
        read("config://server").await["mask_error_details"] == true
    })
    .await;
    assert_eq!(read("config://security").await["limits"]["max_list_pages"], 77, "not yet 99");
    let is_said = |line: &Value| {
        line["fields"]["sections"] == "limits" || line.to_string().contains("restart only")
    };
    trove.log.first(0, is_said, "which sections wait").await;
}

#[tokio::test]
async fn whoever_has_the_token_is_told_that_it_was_taken() {
    let folder = Folder::with("");
    let trove = Trove::start_with(&folder, &["serve", "--http", "127.0.0.1:0"]).await;
    let token = std::fs::read_to_string(folder.home().join("token")).expect("there is a token");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "uri": "auth://status", "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
    let post = reqwest::Client::new().post(&trove.url).header("Content-Type", "application/json");
    let post = post.header("MCP-Protocol-Version", MODERN).header("Mcp-Method", "resources/read");
    let post = post.header("Mcp-Name", "auth://status").bearer_auth(token.trim());
    let answer: Value =
        post.body(body.to_string()).send().await.expect("an answer").json().await.expect("JSON");
    let text = answer["result"]["contents"][0]["text"].as_str().expect("a text");
    let status: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!((&status["authenticated"], &status["door"]), (&json!(true), &json!("http")));
    assert!(status["principal"].is_null() && status["roles"] == json!([]), "{status}");
}
