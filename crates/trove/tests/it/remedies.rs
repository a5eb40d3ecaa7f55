//! Each thing that a failure suggests works when it is done as it is written.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use clap::Parser as _;
use serde_json::{Value, json};
use trove::cli::Cli;
use trove_core::{
    Caller, Class, Json, SourceError, SourceId,
    access::{Access, Policy, Rule},
    caller::Door,
    gateway::Parts,
    search::{Config, Search},
    source::{Ask, Outage, Why},
    tools::{Settings, Tools, Toolset},
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

/// A question that fails: the tool and its arguments.
type Question = (&'static str, Value);

/// Questions that fail in a class. The compiler asks for those of a class that is new.
fn questions(class: Class) -> Vec<Question> {
    let read = |uri: &str| ("get_resource", json!({ "uri": uri }));
    match class {
        Class::InvalidUri => vec![read("docs://intr"), read("zzz"), read("docs://a\u{1}")],
        Class::MissingTemplateVariable => vec![read("note://"), read("other://")],
        Class::InvalidTemplateVariable => vec![read("note://{id}"), read("note://a b")],
        Class::Unauthorized => {
            vec![read("rule://keys"), read("docs://refused"), read("docs://login")]
        }
        Class::ResourceExecutionError => vec![
            read("docs://broken"),
            read("docs://slow"),
            read("docs://program"),
            read("waiting+docs://a"),
            ("get_resource", json!({ "server": "waiting", "uri": "docs://a" })),
        ],
        Class::NotFound => vec![read("note://none")],
        Class::AmbiguousUri => vec![read("twin://1")],
        Class::TooLarge => vec![read("docs://huge")],
        Class::Busy => vec![read("docs://busy")],
        Class::Cancelled => vec![read("docs://back")],
        Class::InvalidArguments => vec![
            ("get_resource", json!({ "uri": "docs://intro", "grep": "(" })),
            ("get_resource", json!({ "grep": "x" })),
            ("get_resource", json!({ "no_such": 1 })),
        ],
        // This Trove has no interpreter.
        Class::InternalError => vec![("run_code", json!({ "code": "1" }))],
        // These take a guide, and an interpreter; see `changes`.
        Class::ConsentRequired | Class::Conflict | Class::StorageError | Class::CodeError => {
            Vec::new()
        }
        Class::TooManyWatches
        | Class::Unauthenticated
        | Class::Forbidden
        | Class::TooManyRequests
        | Class::Config
        | Class::Approvals
        | Class::Client
        | Class::Store
        | Class::Unreachable
        | Class::Lost
        | Class::Output
        | Class::Runtime => {
            assert!(!class.is_of_tools(), "{class:?}");
            Vec::new()
        }
    }
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
    let search = Search::open(None, Config::default(), None).expect("an index in memory");
    let parts = Parts { index: Arc::new(search).into(), ..Parts::new("test") };
    let gateway = GatewayBox::of(parts, &sources.iter().collect::<Vec<_>>()).await;
    let board = gateway.gateway.board();
    let waiting = SourceId::new("waiting").expect("an id");
    board.name_configuration(std::path::Path::new("/srv/trove.toml"));
    board.add(&waiting, "stdio");
    board.update(&waiting, |status| {
        status.last_error = Some(Outage::new(Why::Unapproved, "waiting for approval"));
    });
    let rule = Rule::new("rule://*", vec!["admin".to_owned()], true).expect("a pattern");
    let world = World { tools: Tools::new(gateway.gateway.clone(), settings()) };
    let mut seen = BTreeSet::new();
    for withholds_causes in [false, true] {
        let policy = Policy::new(vec![rule.clone()]);
        gateway.gateway.set_access(Access { policy, withholds_causes, ..Access::default() });
        let asked = Class::all()
            .flat_map(|class| questions(class).into_iter().map(move |question| (class, question)));
        for (class, (tool, question)) in asked {
            let failure = world.call(tool, &question).await;
            assert_eq!(failure["error"], class.as_str(), "{question}: {failure}");
            seen.insert(class);
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
    seen.extend(changes().await);
    let all: BTreeSet<Class> = Class::all().filter(|class| class.is_of_tools()).collect();
    assert_eq!(seen, all);
}

fn settings() -> Settings {
    let toolsets = vec![Toolset::Resources, Toolset::Health, Toolset::Code];
    Settings { toolsets, ..Settings::default() }
}

/// Something that fails, what its advice says, and the call of a reader who followed it.
struct Change {
    class: Class,
    asks: Question,
    advises: &'static str,
    /// The first step, by hand.
    mend: fn(&Folder),
    then: Question,
}

/// Failing changes of a guide, and programs: how they fail, and what helps.
fn failing_changes() -> Vec<Change> {
    let nothing = |_: &Folder| {};
    let remove = json!({ "category": "lang", "path": "rust" });
    let word = json!({ "category": "lang", "path": "rust", "explicit_action": "REMOVE_DOCUMENT" });
    let document = json!({ "category": "lang", "path": "deep/go", "text": "# Go" });
    let change = |advises, tool, asks: Value, then: Value| Change {
        class: Class::Conflict,
        asks: (tool, asks),
        advises,
        mend: nothing,
        then: (tool, then),
    };
    vec![
        change(
            "choose another name",
            "guide_category_add",
            json!({ "name": "lang", "description": "x" }),
            json!({ "name": "other", "description": "x" }),
        ),
        change(
            "choose another name",
            "guide_document_add",
            json!({ "category": "lang", "path": "rust", "text": "x" }),
            json!({ "category": "lang", "path": "rust2", "text": "x" }),
        ),
        Change {
            class: Class::ConsentRequired,
            asks: ("guide_document_remove", remove),
            advises: "call again with explicit_action \"REMOVE_DOCUMENT\"",
            mend: nothing,
            then: ("guide_document_remove", word),
        },
        Change {
            class: Class::StorageError,
            asks: ("guide_document_add", document.clone()),
            advises: "Mend what the message names, then try again.",
            mend: |folder| {
                let file = folder.path().join("guide/lang/deep");
                std::fs::remove_file(file).expect("it is in the way");
            },
            then: ("guide_document_add", document),
        },
        Change {
            class: Class::CodeError,
            asks: ("run_code", json!({ "code": "x = 1\ny = x / 0" })),
            advises: "Correct the program at that line and run it again.",
            mend: nothing,
            then: ("run_code", json!({ "code": "x = 1\ny = x / 1" })),
        },
    ]
}

/// Carries out the advice on failures of what changes a guide, and of programs; gives their classes.
async fn changes() -> BTreeSet<Class> {
    let folder = Folder::with(
        "[code]\nenabled = true\n[guide.categories.lang]\n\
         [tools]\ntoolsets = [\"resources\", \"guide\", \"guide_admin\", \"code\"]\n",
    );
    folder.put("guide/lang/rust.md", "# Rust\n");
    folder.put("guide/lang/deep", "no folder");
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    let mut seen = BTreeSet::new();
    for Change { class, asks: (tool, asks), advises, mend, then: (then, arguments) } in
        failing_changes()
    {
        let failure = client.call(tool, asks).await["structuredContent"].clone();
        assert_eq!(failure["error"], class.as_str(), "{failure}");
        let mut actions = failure["suggested_actions"].as_array().into_iter().flatten();
        let is_advised = actions.any(|one| one.as_str().is_some_and(|it| it.contains(advises)));
        assert!(is_advised, "{failure}");
        if class == Class::StorageError {
            assert!(failure["message"].to_string().contains("lang/deep"), "{failure}");
        }
        mend(&folder);
        let done = client.call(then, arguments).await;
        assert_eq!(done["structuredContent"]["success"], true, "{done}");
        seen.insert(class);
    }
    seen
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
