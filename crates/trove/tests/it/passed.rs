//! Tools of servers that are passed on: which servers pass them, and how they are found where
//! there are too many to list.
//!
//! `passed/tools.tsv` has four hundred tools of ten services that do much the same things, and
//! `passed/questions.tsv` what people ask for, each with the tool that does it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{client_file, config, toy};
use crate::kit::{Folder, Trove, until};

const SERVER: &str = include_str!("passed/server.py");
const TOOLS: &str = include_str!("passed/tools.tsv");
const QUESTIONS: &str = include_str!("passed/questions.tsv");
/// About how many bytes a model counts as a token.
const BYTES_PER_TOKEN: usize = 4;
/// How many tokens twenty servers may cost a client: no more than one does.
const MOST_TOKENS: usize = 2500;

fn services() -> Vec<&'static str> {
    TOOLS.lines().filter_map(|line| line.strip_prefix("# ")).collect()
}

/// A folder with the servers of these services, and what else the configuration says.
fn with_services(services: &[&str], more: &str) -> Arc<Folder> {
    let entry = |service: &&str| {
        format!(
            "[servers.{service}]\ncommand = \"python3\"\nargs = [\"server.py\", \"tools.tsv\", \
             \"{service}\", \"{service}.log\"]\ncwd = \".\"\nexpose = \"all\"\nrecipe = \"off\"\n"
        )
    };
    let entries: String = services.iter().map(entry).collect();
    let folder = Folder::with(&format!("{more}{entries}"));
    folder.put("server.py", SERVER);
    folder.put("tools.tsv", TOOLS);
    folder
}

async fn names(client: &Client) -> BTreeSet<String> {
    let tools = client.list("tools/list", "tools").await;
    tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
}

/// The tokens that the list of tools costs a model.
async fn tokens(client: &Client) -> usize {
    let tools = client.list("tools/list", "tools").await;
    json!(tools).to_string().len() / BYTES_PER_TOKEN
}

/// The calls that a service was asked for, in order.
fn called(folder: &Folder, service: &str) -> Vec<Value> {
    let log = std::fs::read_to_string(folder.path().join(format!("{service}.log")));
    let log = log.unwrap_or_default();
    log.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[tokio::test]
async fn what_was_moved_here_passes_its_tools_on_and_what_stands_beside_trove_does_not() {
    let moved = |id: &str| toy(id, "").set("moved_from = \"cursor\"");
    let toys = [
        moved("moved"),
        moved("beside"),
        toy("written", ""),
        moved("kept").set("expose = \"resources\""),
    ];
    let folder = Folder::with(&config(&toys));
    // Cursor starts Trove, and `beside` too.
    let mut cursor: Value = serde_json::from_str(&client_file(&[toy("beside", "")])).expect("JSON");
    cursor["mcpServers"]["trove"] = json!({ "command": "trove", "args": ["serve", "--stdio"] });
    folder.put("user/.cursor/mcp.json", &cursor.to_string());
    // Zed has `moved`, but no Trove: nobody has it twice there.
    let zed = client_file(&[toy("moved", "")]).replace("mcpServers", "context_servers");
    folder.put("user/.config/zed/settings.json", &zed);
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["moved", "beside", "written", "kept"]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let names = names(&client).await;
        assert!(names.contains("moved_echo"), "{kind:?}: {names:?}");
        for other in ["beside_", "written_", "kept_"] {
            assert!(!names.iter().any(|name| name.starts_with(other)), "{kind:?}: {names:?}");
        }
        let prompts = client.list("prompts/list", "prompts").await;
        assert!(json!(prompts).to_string().contains("moved_summarize"), "{prompts:?}");
    }
    let said = folder.run(&["status"]).await;
    for words in
        ["moved here from cursor", "beside Trove in Cursor", "not moved here", "\"resources\""]
    {
        assert!(said.text().contains(words), "{words}: {said:?}");
    }
    let listed = folder.run(&["list", "--json"]).await.json();
    let passes: Vec<&Value> = listed["servers"]
        .as_array()
        .expect("servers")
        .iter()
        .filter(|one| one["passes_tools"] == true)
        .map(|one| &one["id"])
        .collect();
    assert_eq!(passes, [&json!("moved")]);
    let doctor = folder.run(&["doctor"]).await;
    assert!(doctor.text().contains("stands beside Trove in Cursor"), "{doctor:?}");
}

#[tokio::test]
async fn what_is_imported_passes_its_tools_on() {
    let folder = Folder::empty();
    folder.put("user/.codeium/windsurf/mcp_config.json", &client_file(&[toy("notes", "")]));
    let imported = folder.run(&["import", "--write", "trove.toml"]).await;
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let text = std::fs::read_to_string(folder.config()).expect("it was written");
    assert!(text.contains("moved_from = \"windsurf\""), "{text}");
    let listed = folder.run(&["--config", "trove.toml", "list", "--json"]).await.json();
    assert_eq!(listed["servers"][0]["passes_tools"], true, "{listed}");
    // Once Windsurf has Trove as well, it would have each tool twice.
    let windsurf = ["--config", "trove.toml", "install", "--client", "windsurf"];
    assert_eq!(folder.run(&windsurf).await.code, Some(0));
    let listed = folder.run(&["--config", "trove.toml", "list", "--json"]).await.json();
    assert_eq!(listed["servers"][0]["passes_tools"], false, "{listed}");
}

#[tokio::test]
async fn a_few_tools_are_listed_as_they_are() {
    let folder = with_services(&["linear"], "");
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["linear"]).await;
    for kind in Kind::ALL {
        let names = names(&trove.client(kind).await).await;
        assert!(names.contains("linear_create_issue") && !names.contains("find_tool"), "{names:?}");
    }
}

#[tokio::test]
async fn many_tools_cost_a_client_no_more_than_one_server_and_are_called_all_the_same() {
    let all = services();
    let folder = with_services(&all, "");
    let trove = Trove::start_in(&folder).await;
    trove.ready(&all).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let listed = client.list("tools/list", "tools").await;
        let of = |name: &str| {
            let found = listed.iter().find(|tool| tool["name"] == name);
            found.unwrap_or_else(|| panic!("{name} at {kind:?}")).clone()
        };
        assert!(!json!(listed).to_string().contains("linear_"), "{kind:?}");
        assert!(tokens(&client).await <= MOST_TOKENS, "{} at {kind:?}", tokens(&client).await);
        // A client that asks its person before anything changes can tell one from the other.
        assert_eq!(of("find_tool")["annotations"]["readOnlyHint"], true);
        assert_eq!(of("call_read_only_tool")["annotations"]["readOnlyHint"], true);
        let hints = of("call_tool")["annotations"].clone();
        assert_eq!(
            (&hints["readOnlyHint"], &hints["destructiveHint"]),
            (&json!(false), &json!(true))
        );

        let found = client.call("find_tool", json!({ "query": "slack_post_message" })).await;
        let first = &found["structuredContent"]["tools"][0];
        assert_eq!(
            (&first["name"], &first["call_with"]),
            (&json!("slack_post_message"), &json!("call_tool"))
        );
        assert_eq!(first["inputSchema"]["required"], json!(["channel_id", "text"]), "{first}");
        let arguments = json!({ "channel_id": "c1", "text": "hello" });
        let call = json!({ "name": "slack_post_message", "arguments": arguments });
        let done = client.call("call_tool", call).await;
        assert_eq!(done["content"][0]["text"], "slack did post_message", "{done}");
        assert_eq!(
            called(&folder, "slack").last(),
            Some(&json!({ "name": "post_message", "arguments": arguments }))
        );
        // So does a client that writes its arguments as a text.
        let call = json!({ "name": "slack_get_users", "arguments": "{\"limit\": 3}" });
        let done = client.call("call_read_only_tool", call).await;
        assert_eq!(done["content"][0]["text"], "slack did get_users", "{done}");
        assert_eq!(
            called(&folder, "slack").last().expect("a call")["arguments"],
            json!({ "limit": 3 })
        );
    }
    let audit = std::fs::read_to_string(folder.home().join("audit.jsonl")).expect("the record");
    let line = audit.lines().find(|line| line.contains("slack_post_message")).expect("its call");
    assert!(line.contains("call_tool"), "{line}");
}

#[tokio::test]
async fn a_wrong_name_or_argument_is_told_and_nothing_is_called() {
    let folder = with_services(&["slack", "jira"], "[tools]\nsearch = \"on\"\n");
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["slack", "jira"]).await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    let refused = async |tool: &str, arguments: Value| {
        let answer = client.call(tool, arguments).await;
        assert_eq!(answer["isError"], true, "{answer}");
        answer["structuredContent"].clone()
    };
    let said = refused("call_tool", json!({ "name": "slack_post_mesage" })).await;
    assert_eq!(said["near"][0], "slack_post_message", "{said}");
    let said = refused("call_tool", json!({ "name": "post_message" })).await;
    assert_eq!(said["near"][0], "slack_post_message", "{said}");
    let said = refused("call_tool", json!({ "name": "slack_post_message", "arguments": {} })).await;
    assert!(said["message"].to_string().contains("`channel_id` is missing"), "{said}");
    assert_eq!(said["inputSchema"]["required"], json!(["channel_id", "text"]), "{said}");
    let arguments = json!({ "name": "slack_get_users", "arguments": { "limit": "ten" } });
    let said = refused("call_tool", arguments).await;
    assert!(said["message"].to_string().contains("`limit` must be of type integer"), "{said}");
    // What may change something is not called as if it only read.
    let arguments =
        json!({ "name": "slack_post_message", "arguments": { "channel_id": "c", "text": "x" } });
    let said = refused("call_read_only_tool", arguments).await;
    assert!(said["suggested_actions"].to_string().contains("call_tool"), "{said}");
    assert_eq!(called(&folder, "slack"), Vec::<Value>::new());

    let all = client.call("find_tool", json!({ "server": "jira" })).await;
    let named = all["structuredContent"]["names"]["jira"].as_array().expect("names").len();
    assert_eq!(named, 40, "{all}");
    let said = refused("find_tool", json!({ "server": "jirra" })).await;
    assert_eq!(said["allowed"], json!(["jira", "slack"]), "{said}");
}

#[tokio::test]
async fn a_client_hears_when_tools_are_looked_for_instead_of_listed() {
    let folder = with_services(&["slack"], "");
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["slack"]).await;
    let client = trove.client(Kind::STDIO_LEGACY).await;
    assert!(names(&client).await.contains("slack_get_users"));
    let text = std::fs::read_to_string(folder.config()).expect("the configuration");
    folder.write(&format!("[tools]\nsearch_budget = 100\n{text}"));
    client.hear("notifications/tools/list_changed").await;
    until("the tools to be looked for", async || {
        let names = names(&client).await;
        names.contains("find_tool") && !names.contains("slack_get_users")
    })
    .await;
    folder.write(&format!("[tools]\nsearch = \"off\"\n{text}"));
    client.hear("notifications/tools/list_changed").await;
    until("the tools to be listed", async || {
        let names = names(&client).await;
        !names.contains("find_tool") && names.contains("slack_get_users")
    })
    .await;
}

#[tokio::test]
async fn the_right_tool_is_found_among_four_hundred() {
    let all = services();
    let folder = with_services(&all, "");
    let trove = Trove::start_in(&folder).await;
    trove.ready(&all).await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    let found = async |question: &str| {
        let answer = client.call("find_tool", json!({ "query": question })).await;
        let tools = answer["structuredContent"]["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    // This question shares no word with its tool: it is answered once every tool has its meaning.
    until("the meanings of all tools", async || {
        let health = client.call("health_check", json!({})).await;
        health["structuredContent"]["tools_found_by_meaning"] == 400
    })
    .await;
    let (mut first, mut among, mut total) = (0, 0, 0);
    for line in QUESTIONS.lines() {
        let (question, right) = line.split_once('\t').expect("a question and its tool");
        let names: Vec<String> = found(question).await;
        total += 1;
        if names.first().is_some_and(|name| name == right) {
            first += 1;
        } else {
            eprintln!("{question}: {right}, not {:?}", &names[..names.len().min(3)]);
        }
        if names.iter().take(3).any(|name| name == right) {
            among += 1;
        }
    }
    eprintln!("first: {first} of {total}; among three: {among}");
    let before = {
        let folder = with_services(&all, "[tools]\nsearch = \"off\"\n");
        let trove = Trove::start_in(&folder).await;
        trove.ready(&all).await;
        tokens(&trove.client(Kind::HTTP_MODERN).await).await
    };
    let after = tokens(&client).await;
    eprintln!("tokens of the list: {before} before, {after} after");
    // What was measured: 65 and 81 of 88.
    assert!(first * 100 >= total * 72 && among * 100 >= total * 90, "{first}, {among} of {total}");
    assert!(before > 30_000 && after <= MOST_TOKENS, "{before}, then {after}");
}
