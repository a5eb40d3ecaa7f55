//! A refused caller over HTTP leaves a line in the audit log, and a flood of them few. A change
//! that a command makes by itself leaves one too.

use std::sync::Arc;

use reqwest::{Client, RequestBuilder};
use rustix::process::Signal;
use serde_json::{Value, json};
use trove_testkit::authority::Authority;

use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove, until};

fn text(folder: &Folder) -> String {
    std::fs::read_to_string(folder.home().join("audit.jsonl")).unwrap_or_default()
}

/// The lines of this action, without when they were written.
fn lines(folder: &Folder, action: &str) -> Vec<Value> {
    let all = text(folder);
    let parsed = all.lines().map(|line| serde_json::from_str(line).expect("a line is JSON"));
    let mut of: Vec<Value> = parsed.filter(|line: &Value| line["action"] == action).collect();
    for line in &mut of {
        let at = line.as_object_mut().expect("an object").remove("at");
        assert!(at.is_some_and(|at| at.as_str().map(str::len) == Some(24)), "{line}");
    }
    of
}

fn refused(error: &str, more: &Value) -> Value {
    let mut line = json!({
        "door": "http", "via": "native", "action": "enter", "outcome": "refused", "error": error,
    });
    let members = more.as_object().expect("an object").clone();
    line.as_object_mut().expect("an object").extend(members);
    line
}

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.expect("trove answers").status().as_u16()
}

async fn serving(folder: &Arc<Folder>) -> Trove {
    Trove::start_with(folder, &["serve", "--http", "127.0.0.1:0"]).await
}

#[tokio::test]
async fn who_is_not_let_in_is_written_down_at_once_and_a_flood_of_them_is_counted() {
    let folder = Folder::with("");
    let mut trove = serving(&folder).await;
    let http = Client::new();
    let wrong = || http.post(&trove.url).bearer_auth("hunter-guessed").body("{}");
    assert_eq!(status(wrong()).await, 401);
    until("the first to be written", async || !lines(&folder, "enter").is_empty()).await;
    for _ in 0..300 {
        assert_eq!(status(wrong()).await, 401);
    }
    let token = std::fs::read_to_string(folder.home().join("token")).expect("there is a token");
    let stranger = || http.post(&trove.url).bearer_auth(token.trim());
    assert_eq!(status(stranger().header("Host", "hunter.example")).await, 403);
    let page = trove.url.replace("/mcp", "/api/overview");
    for origin in ["https://hunter.example", "null"] {
        assert_eq!(status(http.get(&page).header("Origin", origin)).await, 403);
    }
    let session = trove.url.replace("/mcp", "/api/session");
    let given = http.post(session).header("Content-Type", "application/json");
    assert_eq!(status(given.body(r#"{"token":"hunter-guessed"}"#)).await, 401);
    trove.signal(Signal::TERM);
    assert!(trove.ended().await.success());
    let expected = [
        refused("Unauthenticated", &json!({ "target": "/mcp" })),
        refused("Forbidden", &json!({ "target": "/mcp" })),
        refused("Forbidden", &json!({ "times": 2 })),
        refused("Unauthenticated", &json!({ "times": 301 })),
    ];
    assert_eq!(lines(&folder, "enter"), expected);
    let all = text(&folder);
    assert!(!all.contains("hunter") && !all.contains(token.trim()), "no secret and no bait: {all}");
}

#[tokio::test]
async fn callers_with_names_are_named_when_they_are_held_back() {
    let authority = Authority::start().await.expect("an authority can be started");
    let folder = Folder::with(&format!(
        "http.auth = \"jwt\"\nauth.issuer = \"{}\"\nauth.required_scopes = [\"use\"]\n\
         limits.requests_per_second = 1\nlimits.burst = 1\n",
        authority.issuer()
    ));
    let mut trove = serving(&folder).await;
    let signed = |who: &str, scope: &str| {
        let mut claims = authority.claims(who, &trove.url);
        claims["scope"] = json!(scope);
        authority.sign(&claims)
    };
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    let ask = |token: &str| {
        let post = Client::new().post(&trove.url).header("Content-Type", "application/json");
        post.bearer_auth(token).body(ping.to_string())
    };
    assert_eq!(status(ask(&signed("ann", "other"))).await, 403);
    let bob = signed("bob", "use");
    // However slow this machine is, one of them comes too early.
    until("one request too many", async || status(ask(&bob)).await == 429).await;
    let figures = Client::new().get(trove.url.replace("/mcp", "/metrics"));
    assert_eq!(status(figures.bearer_auth(&bob)).await, 403);
    trove.signal(Signal::TERM);
    assert!(trove.ended().await.success());
    let expected = [
        refused("Forbidden", &json!({ "target": "/mcp", "principal": "ann" })),
        refused("TooManyRequests", &json!({ "target": "/mcp", "principal": "bob" })),
        refused("Forbidden", &json!({ "target": "/metrics", "principal": "bob" })),
    ];
    assert_eq!(lines(&folder, "enter"), expected);
}

#[tokio::test]
async fn what_the_command_line_changes_by_itself_is_written_down() {
    let folder = Folder::project(&config(&[toy("fs", "--resources 1")]));
    let run = async |args: &[&str]| folder.run(args).await.code;
    assert_eq!(run(&["flag", "set", "beta", "hunter-value"]).await, Some(0));
    assert_eq!(run(&["flag", "set", "beta", "true", "--project", "here"]).await, Some(0));
    assert_eq!(run(&["flag", "set", "content-format", "html"]).await, Some(1));
    assert_eq!(run(&["flag", "get", "beta"]).await, Some(0));
    assert_eq!(run(&["flag", "unset", "beta"]).await, Some(0));
    assert_eq!(run(&["approve", "fs"]).await, Some(0));
    assert_eq!(run(&["approve", "fs"]).await, Some(0), "there is nothing left to approve");
    let line = |action: &str, target: &str, outcome: &str| {
        json!({
            "door": "command line", "via": "cli", "client": "trove-cli",
            "action": action, "target": target, "outcome": outcome,
        })
    };
    let mut wrong = line("set_flag", "content-format", "failed");
    wrong["error"] = json!("InvalidArguments");
    let set = [line("set_flag", "beta", "done"), line("set_flag", "here/beta", "done"), wrong];
    assert_eq!(lines(&folder, "set_flag"), set);
    assert_eq!(lines(&folder, "unset_flag"), [line("unset_flag", "beta", "done")]);
    assert_eq!(lines(&folder, "approve"), [line("approve", "fs", "done")]);
    assert_eq!(text(&folder).lines().count(), 5, "looking changes nothing");
    assert!(!text(&folder).contains("hunter"), "values are not written");
}

#[tokio::test]
async fn without_an_audit_log_commands_leave_none() {
    let folder = Folder::with("[audit]\nenabled = false\n");
    assert_eq!(folder.run(&["flag", "set", "beta", "true"]).await.code, Some(0));
    assert!(!folder.home().join("audit.jsonl").exists());
}
