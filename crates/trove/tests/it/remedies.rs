//! Each thing that a failure suggests works when it is done as it is written.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use clap::Parser as _;
use serde_json::{Value, json};
use trove::cli::Cli;
use trove_core::{
    Caller, Json, SourceError, SourceId,
    access::{Access, Policy, Rule},
    caller::Door,
    source::{Ask, Outage, Why},
    tools::{Settings, Tools},
};
use trove_testkit::{fake_source::FakeSource, gateway_box::GatewayBox};

use crate::kit::toy::{client_file, toy};
use crate::kit::{Folder, Trove, is_ready};

fn refused(code: i64, message: &str) -> SourceError {
    SourceError::Refused { code, message: message.to_owned(), data: None }
}

/// Servers that fail in every way there is, and a resource that can be read.
fn failing() -> Vec<Arc<FakeSource>> {
    let srv = FakeSource::new("srv", &["docs://intro", "twin://1", "note://5", "rule://keys"]);
    let srv = srv.with_templates(&["note://{id}", "other://{id}"]);
    srv.complete_with(&["offered"], Duration::ZERO);
    srv.fail_others(refused(-32002, "Resource not found"));
    for uri in ["docs://intro", "twin://1", "note://5", "rule://keys", "other://offered"] {
        srv.give_text(uri, "text/plain", "here");
    }
    srv.fail("docs://broken", refused(-32603, "boom"));
    srv.fail("note://none", refused(-32002, "Resource not found"));
    srv.fail("docs://refused", refused(401, "no"));
    srv.fail("docs://huge", SourceError::TooLarge { limit: 9 });
    srv.fail("docs://busy", SourceError::Busy { limit: 9 });
    srv.fail("docs://back", refused(-32800, "cancelled"));
    srv.fail("docs://slow", SourceError::TimedOut { waited: Duration::from_secs(9) });
    let outage = Outage::new(Why::AsksWho, "the server asks who you are");
    srv.fail("docs://login", SourceError::Unavailable(outage));
    let outage = Outage::misconfigured("`npx` is not on the PATH; install it");
    srv.fail("docs://program", SourceError::Unavailable(outage));
    let twin = FakeSource::new("twin", &["twin://1"]);
    vec![Arc::new(srv), Arc::new(twin)]
}

/// Questions to `get_resource`, and the class of their failures.
fn questions() -> Vec<(Value, &'static str)> {
    let read = |uri: &str| json!({ "uri": uri });
    vec![
        (read("docs://intr"), "InvalidURI"),
        (read("zzz"), "InvalidURI"),
        (read("docs://a\u{1}"), "InvalidURI"),
        (read("note://"), "MissingTemplateVariable"),
        (read("other://"), "MissingTemplateVariable"),
        (read("note://{id}"), "InvalidTemplateVariable"),
        (read("note://a b"), "InvalidTemplateVariable"),
        (read("rule://keys"), "Unauthorized"),
        (read("docs://refused"), "Unauthorized"),
        (read("docs://login"), "Unauthorized"),
        (read("docs://broken"), "ResourceExecutionError"),
        (read("docs://slow"), "ResourceExecutionError"),
        (read("docs://program"), "ResourceExecutionError"),
        (read("waiting+docs://a"), "ResourceExecutionError"),
        (json!({ "server": "waiting" }), "ResourceExecutionError"),
        (read("note://none"), "NotFound"),
        (read("twin://1"), "AmbiguousURI"),
        (read("docs://huge"), "TooLarge"),
        (read("docs://busy"), "Busy"),
        (read("docs://back"), "Cancelled"),
        (json!({ "uri": "docs://intro", "grep": "(" }), "InvalidArguments"),
        (json!({ "grep": "x" }), "InvalidArguments"),
        (json!({ "no_such": 1 }), "InvalidArguments"),
    ]
}

struct World {
    tools: Arc<Tools>,
}

impl World {
    async fn call(&self, tool: &str, arguments: &Value) -> Value {
        let given = Json::of(arguments);
        let caller = Caller::behind(Door::Http);
        let answer = self.tools.call(&caller, tool, Some(&given), Ask::default()).await;
        let answer = answer.unwrap_or_else(|| panic!("there is no tool {tool}"));
        let answer: Value = serde_json::from_str(answer.body.as_str()).expect("JSON");
        answer["structuredContent"].clone()
    }

    /// Does what one sentence says, as far as a program can.
    async fn carry_out(&self, action: &str) {
        for quoted in action.split('`').skip(1).step_by(2) {
            if quoted.starts_with("trove ") {
                let words = quoted.split_whitespace();
                let parsed = Cli::try_parse_from(words);
                assert!(
                    parsed.is_ok(),
                    "{action}: {}",
                    parsed.err().map(|e| e.to_string()).unwrap_or_default()
                );
            }
        }
        for before in ["Did you mean ", "for example ", "such as "] {
            let Some((_, rest)) = action.split_once(before) else { continue };
            let uri =
                rest.split([' ', ';']).next().unwrap_or_default().trim_end_matches(['.', '?']);
            if uri.contains("://") {
                let read = self.call("get_resource", &json!({ "uri": uri })).await;
                assert_eq!(read["success"], true, "{action}: {read}");
            }
        }
        if action.contains("auth://status") {
            let read = self.call("get_resource", &json!({ "uri": "auth://status" })).await;
            assert_eq!(read["success"], true, "{action}: {read}");
        }
        if let Some((_, rest)) = action.split_once("`server` = \"") {
            let server = rest.split('"').next().unwrap_or_default();
            let listed = self.call("get_resource", &json!({ "server": server })).await;
            assert_eq!(listed["success"], true, "{action}: {listed}");
        }
        for tool in ["get_resource", "health_check", "search_resources", "discover_resources"] {
            if action.contains(tool) {
                let arguments = if tool.starts_with("search") {
                    json!({ "searchTerms": ["a"] })
                } else {
                    json!({})
                };
                let called = self.call(tool, &arguments).await;
                assert_eq!(called["success"], true, "{action}: {called}");
            }
        }
    }
}

#[tokio::test]
async fn what_a_failure_suggests_works_when_it_is_done_literally() {
    let sources = failing();
    let gateway = GatewayBox::with(&sources.iter().collect::<Vec<_>>()).await;
    let board = gateway.gateway.board();
    let waiting = SourceId::new("waiting").expect("an id");
    board.name_configuration(std::path::Path::new("/srv/trove.toml"));
    board.add(&waiting, "stdio");
    board.update(&waiting, |status| {
        status.last_error = Some(Outage::new(Why::Unapproved, "waiting for approval"));
    });
    let rule = Rule::new("rule://*", vec!["admin".to_owned()], true).expect("a pattern");
    let world = World { tools: Tools::new(gateway.gateway.clone(), Settings::default()) };
    let mut classes = BTreeSet::new();
    for withholds_causes in [false, true] {
        let policy = Policy::new(vec![rule.clone()]);
        gateway.gateway.set_access(Access { policy, withholds_causes, ..Access::default() });
        for (question, class) in questions() {
            let failure = world.call("get_resource", &question).await;
            assert_eq!(failure["error"], class, "{question}: {failure}");
            classes.insert(class);
            let actions = failure["suggested_actions"].as_array().expect("actions").clone();
            assert!(!actions.is_empty(), "{failure}");
            for action in actions {
                world.carry_out(action.as_str().expect("a sentence")).await;
            }
            if let Some(example) = failure["example"].as_str() {
                let read = world.call("get_resource", &json!({ "uri": example })).await;
                assert_eq!(read["success"], true, "{failure}");
            }
        }
    }
    assert_eq!(classes.len(), 11, "{classes:?}");
}

/// The words between backticks that are a command of ours.
pub(crate) fn command_in(failure: &Value) -> Vec<String> {
    let text = failure["suggested_actions"].to_string();
    let command = text.split('`').find(|part| part.starts_with("trove "));
    let command = command.unwrap_or_else(|| panic!("no command in {failure}"));
    command.split_whitespace().skip(1).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_server_that_waits_runs_once_the_suggested_command_was_typed() {
    let folder = Folder::empty();
    // Another client's file, which is named: no command finds it by itself.
    folder.put("elsewhere/mcp.json", &client_file(&[toy("quilt", "--resources 1")]));
    let file = folder.path().join("elsewhere/mcp.json");
    let file = file.to_str().expect("a path");
    let serve = ["serve", "--stdio", "--http", "127.0.0.1:0", "--no-auth", "--config", file];
    let trove = Trove::start_with(&folder, &serve).await;
    trove.source("quilt", |source| source["last_error"].is_string()).await;
    let client = trove.any_client().await;
    for uri in ["quilt+toy://item/0", "quilt+toy://item/{n}"] {
        let answer = client.call("get_resource", json!({ "uri": uri })).await;
        let failure = &answer["structuredContent"];
        assert!(failure["message"].to_string().contains("quilt"), "{failure}");
        assert_eq!(command_in(failure), ["approve", "--config", file, "quilt"], "{failure}");
    }
    let answer = client.call("get_resource", json!({ "uri": "quilt+toy://item/0" })).await;
    let typed = command_in(&answer["structuredContent"]);
    let ran = folder.run(&typed.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    trove.source("quilt", is_ready).await;
}

#[tokio::test]
async fn a_project_that_was_only_found_is_approved_by_the_command_it_names() {
    let folder = Folder::project(&crate::kit::toy::config(&[toy("fs", "--resources 1")]));
    let trove = Trove::start_in(&folder).await;
    trove.source("fs", |source| source["last_error"].is_string()).await;
    let client = trove.any_client().await;
    let answer = client.call("get_resource", json!({ "uri": "fs+toy://item/0" })).await;
    let typed = command_in(&answer["structuredContent"]);
    assert!(typed.contains(&"--config".to_owned()), "{typed:?}");
    // From any folder.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let mut command = folder.command();
    let ran = command.args(&typed).current_dir(elsewhere.path()).output().await.expect("it runs");
    assert!(ran.status.success(), "{ran:?}");
    trove.source("fs", is_ready).await;
}
