//! `get_resource` through every door and in every era: the same data as the native read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{config, toy, whole};
use crate::kit::{Folder, Trove};

/// The object that `get_resource` gives.
pub(crate) async fn bridged(client: &Client, arguments: Value) -> Value {
    client.call("get_resource", arguments).await["structuredContent"].clone()
}

/// The bridge gives of a resource exactly the native read.
pub(crate) async fn assert_parity(client: &Client, uri: &str, is_fickle: bool) {
    let native = client.read(uri).await;
    let most = json!(1024 * 1024);
    let object = bridged(client, json!({ "uri": uri, "maxSize": most })).await;
    let Ok(native) = native else {
        assert_eq!(object["success"], false, "{uri} is not readable natively: {object}");
        return;
    };
    assert_eq!(object["success"], true, "{uri}: {object}");
    let contents = native["contents"].as_array().expect("a read has contents");
    if is_fickle {
        return;
    }
    let bytes = bridged(client, json!({ "uri": uri, "maxSize": most, "format": "binary" })).await;
    match &contents[..] {
        [one] => {
            assert_eq!(as_shown(one, &object["data"]), object["data"], "{uri}");
            assert_eq!(bytes["data"], base64_of(one), "{uri}");
            if let Some(mime) = one.get("mimeType").filter(|_| one.get("text").is_some()) {
                assert_eq!(&object["mime_type"], mime, "{uri}");
            }
        }
        several => {
            let data = object["data"].as_array().expect("several contents are an array");
            assert_eq!(data.len(), several.len(), "{uri}");
            for (n, content) in several.iter().enumerate() {
                assert_eq!(data[n]["uri"], content["uri"], "{uri}");
                if content.get("text").is_some() {
                    assert_eq!(data[n]["text"], content["text"], "{uri}");
                }
                assert_eq!(bytes["data"][n]["data"], base64_of(content), "{uri}");
            }
        }
    }
}

/// A content in the form in which the bridge shows it.
fn as_shown(content: &Value, shown: &Value) -> Value {
    match content["text"].as_str() {
        Some(text) if shown.is_string() => json!(text),
        Some(text) => serde_json::from_str(text).expect("what is shown parsed is JSON"),
        // A blob is described, or decoded if it is text; as base64 it is compared whole.
        None => shown.clone(),
    }
}

fn base64_of(content: &Value) -> Value {
    match content["text"].as_str() {
        Some(text) => json!(STANDARD.encode(text)),
        None => content["blob"].clone(),
    }
}

const READ: &str = "get_resource";
const FIND: &str = "discover_resources";
const SEARCH: &str = "search_resources";
const SUM_UP: &str = "resource_summary";
const HEALTH: &str = "health_check";

#[tokio::test]
async fn t49_every_resource_is_the_same_through_the_tool_and_natively() {
    let trove = Trove::with(&[toy("one", "--resources 18 --uris mixed")]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let uris = client.uris().await;
        assert!(uris.len() > 20, "{uris:?}");
        // These change from read to read.
        let fickle = ["toy://requests", "info://health", "info://capabilities"];
        for uri in uris.iter().filter(|uri| !fickle.contains(&uri.as_str())) {
            assert_parity(&client, uri, false).await;
        }
        for uri in
            ["note://alpha", "file:///tree/a/b.txt", "search://items?q=x&limit=2", "toy://unlisted"]
        {
            assert_parity(&client, uri, false).await;
        }
    }
}

#[tokio::test]
async fn odd_json_keeps_its_spelling_on_the_wire() {
    let trove = Trove::with(&[toy("one", "")]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let params = r#"{"name":"get_resource","arguments":{"uri":"toy://counter"}}"#;
        let text = client.ask_text("tools/call", params).await;
        assert!(!text.contains('\n'), "one message is one line");
        assert!(text.contains(r#""data":"one|toy://counter|"#), "{text}");
    }
}

#[tokio::test]
async fn every_class_of_failure_arrives_as_a_result_with_advice() {
    let toys = [
        toy("one", ""),
        toy("two", ""),
        toy("hung", "--scheme hung --fault hang:read").set("timeout_ms = 500"),
    ];
    let rule = "\n[[policy]]\nmatch = \"one+toy://pid\"\nroles = [\"admin\"]\nvisible = true\n";
    let trove = Trove::start(&format!("{}{rule}", config(&toys))).await;
    trove.ready(&["one", "two", "hung"]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        for (uri, class, retryable) in [
            ("nowhere://x", "InvalidURI", false),
            ("one+toy://nothing", "InvalidURI", false),
            ("one+note://", "MissingTemplateVariable", false),
            ("one+toy://pid", "Unauthorized", false),
            ("toy://counter", "AmbiguousURI", false),
            ("hung://counter", "ResourceExecutionError", true),
        ] {
            let object = bridged(&client, json!({ "uri": uri })).await;
            assert_eq!(object["error"], class, "{kind:?} {uri}: {object}");
            assert_eq!(object["retryable"], retryable, "{kind:?} {uri}");
            assert!(object["suggested_actions"][0].is_string());
        }
    }
}

async fn tools_of(client: &Client) -> Vec<String> {
    let tools = client.list("tools/list", "tools").await;
    tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn each_client_gets_as_much_of_the_bridge_as_it_needs() {
    for kind in Kind::ALL {
        for (name, has_bridge, lists_resources) in [
            ("Zed", true, true),
            ("claude-code", true, false),
            ("codex-mcp-client", false, false),
            ("", true, true),
        ] {
            // On stdio one client is the only one.
            let trove = Trove::start("").await;
            let client = trove.client_named(name, kind).await;
            let tools = tools_of(&client).await;
            assert_eq!(tools.contains(&"get_resource".to_owned()), has_bridge, "{kind:?} {name}");
            assert!(tools.contains(&"health_check".to_owned()), "{kind:?} {name}");
            if has_bridge {
                let object = bridged(&client, json!({})).await;
                let listed = object["data"].to_string().contains("info://health");
                assert_eq!(listed, lists_resources, "{kind:?} {name}: {object}");
                assert!(object["data"].to_string().contains("info://tools/{name}"));
            }
        }
    }
}

#[tokio::test]
async fn flags_say_which_tools_there_are() {
    let serve = ["serve", "--stdio", "--http", "127.0.0.1:0", "--no-auth"];
    for (flags, zed, codex) in [
        (
            &["--bridge", "always"][..],
            &[READ, FIND, SEARCH, SUM_UP, HEALTH][..],
            &[READ, FIND, SEARCH, SUM_UP, HEALTH][..],
        ),
        (&["--bridge", "never"], &[FIND, SEARCH, SUM_UP, HEALTH], &[FIND, SEARCH, SUM_UP, HEALTH]),
        (&["--toolsets", "health"], &["health_check"], &["health_check"]),
        (
            &["--toolsets", "resources,example"],
            &[READ, FIND, SEARCH, SUM_UP, "guide_example_echo"],
            &[FIND, SEARCH, SUM_UP, "guide_example_echo"],
        ),
    ] {
        let folder = Folder::with("");
        let trove = Trove::start_with(&folder, &[&serve[..], flags].concat()).await;
        for (name, expected) in [("zed", zed), ("codex-mcp-client", codex)] {
            let client = trove.client_named(name, Kind::HTTP_LEGACY).await;
            assert_eq!(tools_of(&client).await, expected, "{flags:?} {name}");
        }
    }
}

#[tokio::test]
async fn the_environment_names_the_prefix_and_adds_the_examples() {
    let serve = ["serve", "--stdio", "--http", "127.0.0.1:0", "--no-auth"];
    let (prefix, examples) = ("MCP_TOOL_PREFIX", "MCP_INCLUDE_EXAMPLE_TOOLS");
    for (env, echo) in [
        (&[(examples, "true")][..], Some("guide_example_echo")),
        (&[(examples, "YES"), (prefix, "team")], Some("team_example_echo")),
        (&[(examples, "0")], None),
        (&[(examples, "1"), (prefix, "")], Some("example_echo")),
        (&[(prefix, "team")], None),
    ] {
        let trove = Trove::start_as(&Folder::with(""), &serve, env).await;
        let client = trove.any_client().await;
        let tools = tools_of(&client).await;
        // The tools that read resources and tell of health have their usual names everywhere.
        assert!(tools.iter().any(|name| name == READ) && tools.iter().any(|name| name == HEALTH));
        let echoes = tools.iter().filter(|name| name.ends_with("example_echo"));
        assert_eq!(echoes.collect::<Vec<_>>(), echo.as_slice(), "{env:?}");
        if let Some(echo) = echo {
            let answer = client.call(echo, json!({ "text": "hello" })).await;
            assert_eq!(answer["structuredContent"]["success"], true, "{answer}");
        }
    }
}

#[tokio::test]
async fn a_prefix_that_cannot_begin_a_name_is_refused() {
    let folder = Folder::with("");
    let mut command = folder.command();
    command.env("MCP_TOOL_PREFIX", "no good").args(["serve", "--stdio"]);
    let output = command.stdin(std::process::Stdio::null()).output().await.expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("MCP_TOOL_PREFIX"));
}

#[tokio::test]
async fn t16_a_server_cannot_stand_in_the_place_of_our_tools() {
    let trove = Trove::with(&[whole("one", "").set("tool_prefix = \"\"")]).await;
    let tools = tools_of(&trove.any_client().await).await;
    let count = tools.iter().filter(|name| *name == "get_resource").count();
    assert_eq!(count, 1, "{tools:?}");
}

#[tokio::test]
async fn health_is_told_while_every_server_is_dead_or_hangs() {
    let toys = [toy("dead", "--fault crash:init"), toy("hung", "--fault hang:init")];
    let trove = Trove::start(&config(&toys)).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let answer = client.call("health_check", json!({})).await;
        let object = &answer["structuredContent"];
        assert_eq!(
            (&object["success"], &object["status"]),
            (&json!(true), &json!("degraded")),
            "{object}"
        );
        let sources = object["sources"].as_array().expect("every source is told of");
        assert!(sources.iter().any(|source| source["id"] == "dead" && source["state"] != "ready"));
        assert!(object["version"].is_string() && object["platform"].is_string());
        assert!(bridged(&client, json!({})).await["total"].as_u64() >= Some(3));
    }
}

#[tokio::test]
async fn a_large_catalogue_is_walked_whole_through_the_tool() {
    let trove = Trove::with(&[toy("one", "--resources 2500 --bare")]).await;
    let client = trove.client(Kind::STDIO_LEGACY).await;
    let mut arguments = json!({});
    let mut seen = std::collections::HashSet::new();
    loop {
        let object = bridged(&client, arguments.clone()).await;
        let groups = object["data"].as_object().expect("entries stand in categories").values();
        for entry in groups.flat_map(|group| group.as_array().expect("a category is a list")) {
            assert!(seen.insert(entry["uri"].to_string()), "{entry} twice");
        }
        match object.get("cursor") {
            Some(cursor) => arguments = json!({ "cursor": cursor }),
            None => break,
        }
    }
    let native = client.uris().await.len()
        + client.list("resources/templates/list", "resourceTemplates").await.len();
    assert_eq!(seen.len(), native);
}
