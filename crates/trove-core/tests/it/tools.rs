//! The table of tools keeps its own rules, and every example in it works.

use std::{
    collections::HashSet,
    io::Write,
    path::Path,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use trove_core::{
    Caller, Gateway, Json, SourceError,
    access::Access,
    caller::{Door, Roles},
    knowledge::{CollectionSettings, ProjectSettings},
    source::Ask,
    tools::{
        Answers, BridgeMode, CLIENTS_DATE, Descriptions, Effect, Prefix, Settings, TOOLS, Tools,
        Toolset, document, listed,
    },
};

use trove_testkit::{fake_source::FakeSource, gateway_box::GatewayBox};

use crate::guide::kit::Guide;

fn value(json: &Json) -> Value {
    serde_json::from_str(json.as_str()).expect("as the test made it")
}

fn entries() -> impl Iterator<Item = (&'static trove_core::tools::ToolSpec, Value)> {
    TOOLS.iter().map(|spec| (spec, value(&listed(spec))))
}

#[test]
fn names_and_aliases_are_unique_and_fit_every_client() {
    let mut seen = HashSet::new();
    for spec in TOOLS {
        for name in [spec.name].iter().chain(spec.aliases) {
            assert!(seen.insert(*name), "{name} twice");
            let mut letters = name.bytes();
            assert!(letters.next().is_some_and(|b| b.is_ascii_lowercase()), "{name}");
            assert!(
                letters.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
                "{name}"
            );
            // With the longest prefix and a server's key of twelve before it.
            assert!(name.len() >= 3 && "mcp__".len() + 12 + 2 + 21 + name.len() <= 64, "{name}");
        }
    }
}

#[test]
fn a_server_cannot_take_the_name_of_a_tool_without_a_prefix() {
    for spec in TOOLS.iter().filter(|spec| spec.prefix == Prefix::None) {
        for name in [spec.name].iter().chain(spec.aliases) {
            assert!(trove_core::catalogue::naming::is_own_tool(name), "{name} is not reserved");
        }
    }
}

#[test]
fn descriptions_are_short_and_begin_with_a_line_that_stands_alone() {
    for (spec, entry) in entries() {
        let description = entry["description"].as_str().unwrap();
        assert!(!description.is_empty() && description.len() <= 1500, "{}", spec.name);
        let first = description.lines().next().unwrap();
        assert!(first.chars().count() <= 50 && first.ends_with('.'), "{}: {first}", spec.name);
    }
}

/// The schema in the document of a tool.
fn whole_schema(spec: &trove_core::tools::ToolSpec) -> Value {
    let text = document(spec);
    let (_, rest) = text.split_once("```json\n").expect("a document holds a schema");
    let (schema, _) = rest.split_once("```").expect("a fence is closed");
    serde_json::from_str(schema).expect("a schema is JSON")
}

#[test]
fn the_short_schema_is_the_whole_one_without_what_a_model_need_not_know() {
    for (spec, entry) in entries() {
        let whole = whole_schema(spec);
        let short = &entry["inputSchema"];
        assert_eq!(short.get("required"), whole.get("required"), "{}", spec.name);
        let none = serde_json::Map::new();
        let short = short["properties"].as_object().unwrap_or(&none);
        let whole = whole["properties"].as_object().unwrap();
        assert!(short.keys().eq(whole.keys()), "{}", spec.name);
        for (name, property) in short {
            let told = property["description"].as_str().unwrap();
            assert!(whole[name]["description"].as_str().unwrap().starts_with(told), "{name}");
            for key in ["type", "enum", "minimum", "items"] {
                assert_eq!(property.get(key), whole[name].get(key), "{}.{name}", spec.name);
            }
        }
    }
}

#[test]
fn the_description_of_each_argument_gives_its_default() {
    for (spec, entry) in entries() {
        let whole = whole_schema(spec);
        let required = whole["required"].as_array().cloned().unwrap_or_default();
        for (name, property) in whole["properties"].as_object().unwrap() {
            if required.iter().any(|one| one == name) {
                continue;
            }
            let told = &entry["inputSchema"]["properties"][name]["description"];
            let told = told.as_str().unwrap().to_lowercase();
            assert!(told.contains("default"), "{}.{name}: {told}", spec.name);
            // An enum is a text, a list that is empty is all there is.
            match &property["default"] {
                Value::Number(_) | Value::Bool(_) => {
                    let value = property["default"].to_string();
                    assert!(told.contains(&value), "{}.{name}: {told}", spec.name);
                }
                Value::String(word) if !word.is_empty() => assert!(told.contains(word), "{told}"),
                _ => {}
            }
        }
    }
}

#[test]
fn schemas_are_flat_closed_and_documented() {
    for spec in TOOLS {
        let whole = whole_schema(spec);
        let schema = whole.as_object().unwrap();
        let known = ["type", "properties", "required", "additionalProperties"];
        assert!(
            schema.keys().all(|key| known.contains(&key.as_str())),
            "{}: {schema:?}",
            spec.name
        );
        assert_eq!(
            (&schema["type"], &schema["additionalProperties"]),
            (&Value::from("object"), &Value::from(false))
        );
        for (name, property) in schema["properties"].as_object().unwrap() {
            check_property(spec.name, name, property);
        }
        let text = whole.to_string();
        for word in
            ["$ref", "$defs", "anyOf", "oneOf", "allOf", ":null", "\"null\"", "\"format\":\"", "x-"]
        {
            assert!(!text.contains(word), "{}: {word} in {text}", spec.name);
        }
    }
}

#[track_caller]
fn check_property(tool: &str, name: &str, property: &Value) {
    assert!(name.len() <= 64 && !name.is_empty());
    let description = property["description"].as_str().unwrap_or_default();
    assert!(description.len() > 3 && !description.contains('\n'), "{tool}.{name} is undocumented");
    match property["type"].as_str().unwrap_or_default() {
        "string" | "boolean" => {}
        "integer" | "number" => {
            assert!(property.get("minimum").is_some(), "{tool}.{name} has no bounds")
        }
        "array" => assert_eq!(property["items"]["type"], "string", "{tool}.{name}"),
        other => panic!("{tool}.{name} is a {other:?}"),
    }
}

#[test]
fn annotations_say_what_the_effect_is_and_what_destroys_asks_first() {
    for (spec, entry) in entries() {
        // Where the protocol asks only of tools that change something, the answer may be left out.
        let hint = |key: &str| entry["annotations"][key].as_bool().unwrap_or_default();
        assert_eq!(hint("readOnlyHint"), spec.effect == Effect::Reads, "{}", spec.name);
        let may_destroy = matches!(spec.effect, Effect::Destroys | Effect::PassesOn);
        assert_eq!(hint("destructiveHint"), may_destroy, "{}", spec.name);
        assert_eq!(spec.consent.is_some(), spec.effect == Effect::Destroys, "{}", spec.name);
        let description = entry["description"].as_str().unwrap();
        let asks = description.contains("REQUIRES EXPLICIT USER INSTRUCTION");
        assert_eq!(asks, spec.effect == Effect::Destroys, "{}", spec.name);
        if let Some(consent) = spec.consent {
            assert_eq!(
                entry["inputSchema"]["properties"]["explicit_action"]["enum"],
                serde_json::json!([consent.word])
            );
        }
    }
}

#[test]
fn no_schema_changes_unseen() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots/tools");
    for (spec, entry) in entries() {
        let committed = std::fs::read_to_string(folder.join(format!("{}.json", spec.name)));
        let committed: Value =
            serde_json::from_str(&committed.unwrap_or_default()).unwrap_or_default();
        assert_eq!(
            committed, entry,
            "{} changed; if that is meant, run `cargo xtask generate`",
            spec.name
        );
    }
}

#[test]
fn documents_have_their_four_parts_in_order() {
    for spec in TOOLS {
        let text = document(spec);
        let parts = ["# ", "## JSON Schema\n\n```json", "## Usage\n\n```", "## Examples\n"];
        let places: Vec<Option<usize>> = parts.iter().map(|part| text.find(part)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}: {text}", spec.name);
        assert!(!spec.examples.is_empty(), "{} has no example", spec.name);
    }
}

/// So many bytes of these lists make ten tokens. The tokenizers o200k and cl100k take 44 and 46 of
/// them, so this counts too many.
const BYTES_OF_TEN: usize = 42;

/// The tokens of the answer to `tools/list`: every byte of it counts.
fn tokens(list: &[Json]) -> usize {
    let entries: Vec<&str> = list.iter().map(Json::as_str).collect();
    let answer =
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}]}}}}"#, entries.join(","));
    (answer.len() * 10).div_ceil(BYTES_OF_TEN)
}

#[tokio::test]
async fn the_list_that_is_shown_by_default_is_small() {
    let tools = Tools::new(
        Gateway::new(trove_core::gateway::Parts::new("test")).await,
        Settings::default(),
    );
    let list = tools.list(&Caller::behind(Door::Http));
    let names: Vec<String> = list.iter().filter_map(|entry| entry.get_str("name")).collect();
    assert_eq!(
        names,
        [
            "get_resource",
            "discover_resources",
            "search_resources",
            "resource_summary",
            "health_check"
        ]
    );
    assert!(tokens(&list) <= 800, "{} tokens", tokens(&list));
}

#[tokio::test]
async fn the_list_with_a_guide_and_all_flags_is_small_too() {
    let guide = furnished().await;
    let settings = Settings {
        toolsets: vec![Toolset::Resources, Toolset::Health, Toolset::Guide, Toolset::Flags],
        ..Settings::default()
    };
    // It is there once it has been looked through.
    guide.content("guide://help").await;
    let list = Tools::new(guide.gateway.clone(), settings).list(&Caller::behind(Door::Http));
    let flags = list.iter().filter_map(|entry| entry.get_str("name"));
    let flags = flags.filter(|name| name.contains("_flag")).count();
    assert_eq!((list.len(), flags), (15, 6));
    assert!(tokens(&list) <= MAX_TOKENS, "{} tokens", tokens(&list));
}

/// The tokens that the default list with a guide may take.
const MAX_TOKENS: usize = 1500;

const FILES: [(&str, &str); 5] = [
    ("guide/lang/rust.md", "# Rust\n"),
    ("guide/lang/python.md", "# Python\n"),
    ("guide/lang/cobol.md", "# Cobol\n"),
    ("guide/checklists/release.md", "# Release\n"),
    ("guide/drafts/idea.md", "# Idea\n"),
];

/// A gateway with a guide, flags and an index: all that examples speak of.
async fn furnished() -> Guide {
    Guide::furnished(&FILES, |settings| {
        for name in ["review", "old"] {
            let members = vec!["lang/rust".to_owned()];
            let collection = CollectionSettings { members, description: None };
            settings.groups.collections.insert(name.into(), collection);
        }
        settings.groups.projects.insert("trove".into(), ProjectSettings::default());
    })
    .await
}

fn every_toolset() -> Settings {
    Settings { toolsets: Toolset::ALL.to_vec(), ..Settings::default() }
}

#[test]
fn every_example_is_what_the_schema_asks_for() {
    for (spec, entry) in entries() {
        for example in spec.examples {
            let arguments: Value = serde_json::from_str(example.arguments).unwrap();
            for (name, given) in arguments.as_object().unwrap() {
                let asked = &entry["inputSchema"]["properties"][name]["type"];
                let is = match given {
                    Value::Null => "null",
                    Value::Bool(_) => "boolean",
                    Value::Number(_) => "integer",
                    Value::String(_) => "string",
                    Value::Array(_) => "array",
                    Value::Object(_) => "object",
                };
                let fits = asked == is || (asked == "number" && is == "integer");
                assert!(fits, "{}: {} is no {asked}", spec.name, example.arguments);
            }
        }
    }
}

#[tokio::test]
async fn every_example_works() {
    let prefixed = |spec: &trove_core::tools::ToolSpec| match spec.prefix {
        Prefix::Shared => format!("guide_{}", spec.name),
        Prefix::None => spec.name.to_owned(),
    };
    // What runs programs is not part of this crate; their examples are run with the whole.
    // Neither are servers, whose tools two others call.
    let calls_a_server = ["call_tool", "call_read_only_tool"];
    for spec in TOOLS.iter().filter(|spec| spec.toolset != Toolset::Code) {
        if calls_a_server.contains(&spec.name) {
            continue;
        }
        for example in spec.examples {
            // Each has a world of its own: some take away what others need.
            let guide = furnished().await;
            let tools = Tools::new(guide.gateway.clone(), every_toolset());
            let arguments = Json::parse(example.arguments).expect(example.arguments);
            let answer = tools
                .call(&Caller::local(), &prefixed(spec), Some(&arguments), Ask::default())
                .await
                .expect("it is in the table");
            let answer = value(&answer.body);
            assert_eq!(answer["isError"], false, "{}: {}: {answer}", spec.name, example.arguments);
            assert_eq!(answer["structuredContent"]["success"], true, "{}", spec.name);
        }
    }
}

/// Fails where an answer is not what its schema says; the schema explains every member of a
/// resource's answer.
fn conforms(schema: &Value, given: &Value, place: &str, is_closed: bool) {
    let is = match given {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if let Some(kind) = schema["type"].as_str() {
        assert_eq!(kind, is, "{place}: {given}");
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("names are strings");
        assert!(given.get(name).is_some(), "{place}: {name} is missing: {given}");
    }
    if let (Some(known), Some(members)) = (schema["properties"].as_object(), given.as_object()) {
        for (name, member) in members {
            let place = format!("{place}.{name}");
            match known.get(name) {
                Some(schema) => conforms(schema, member, &place, is_closed),
                None => assert!(!is_closed, "{place} is not explained"),
            }
        }
    }
    for item in given.as_array().into_iter().flatten() {
        conforms(&schema["items"], item, place, is_closed);
    }
}

#[tokio::test]
async fn answers_and_failures_fit_the_schemas_that_are_offered() {
    let guide = furnished().await;
    let settings = Settings { descriptions: Descriptions::Full, ..every_toolset() };
    let tools = Tools::new(guide.gateway.clone(), settings);
    let whole = tools.list(&Caller::local());
    for entry in &whole {
        let entry = value(entry);
        let name = entry["name"].as_str().unwrap();
        if ["call_tool", "call_read_only_tool"].contains(&name) {
            assert!(entry.get("outputSchema").is_none(), "{name} gives what another tool answers");
            continue;
        }
        let schema = &entry["outputSchema"];
        assert_eq!(schema["type"], "object", "{name} has no schema of its answers");
        let spec = TOOLS.iter().find(|spec| name.ends_with(spec.name));
        let is_closed = spec.is_some_and(|spec| spec.answers == Answers::Resource);
        let wrong: Vec<&str> = match spec {
            Some(spec) if spec.name == "get_resource" => RESOURCE_FAILURES.to_vec(),
            _ => vec![r#"{"no_such_argument": 1}"#],
        };
        let works = spec.map(|spec| spec.examples.iter().map(|example| example.arguments));
        let all = works.into_iter().flatten().chain(wrong);
        for arguments in all {
            let given = Json::parse(arguments).expect(arguments);
            let answer = tools.call(&Caller::local(), name, Some(&given), Ask::default()).await;
            let answer = value(&answer.expect(name).body);
            conforms(
                schema,
                &answer["structuredContent"],
                &format!("{name}({arguments})"),
                is_closed,
            );
        }
    }
}

const RESOURCE_FAILURES: [&str; 7] = [
    r#"{"no_such_argument": 1}"#,
    r#"{"uri": "nothing://x"}"#,
    r#"{"uri": "info://tools/"}"#,
    r#"{"uri": "info://tools/a b"}"#,
    r#"{"uri": "info://tools/none"}"#,
    r#"{"server": "none"}"#,
    r#"{"uri": "info://health", "grep": "("}"#,
];

#[tokio::test]
async fn the_document_of_the_bridge_shows_the_failure_that_there_is() {
    let spec = TOOLS.iter().find(|spec| spec.name == "get_resource").unwrap();
    let text = document(spec);
    assert!(text.contains("compatibility layer"), "{text}");
    let shown = text.split("```json\n").find(|part| part.starts_with("{\"success\": false"));
    let shown: Value = serde_json::from_str(shown.unwrap().split("```").next().unwrap()).unwrap();
    let gateway = GatewayBox::with(&[]).await;
    let tools = Tools::new(gateway.gateway.clone(), Settings::default());
    for (uri, is_ok) in [("info://tools/health_check", true), ("info://tools/", false)] {
        assert!(text.contains(uri), "{uri} is not shown");
        let given = Json::of(&serde_json::json!({ "uri": uri }));
        let caller = Caller::local();
        let answer = tools.call(&caller, "get_resource", Some(&given), Ask::default()).await;
        let answer = value(&answer.unwrap().body)["structuredContent"].clone();
        assert_eq!(answer["success"], is_ok, "{answer}");
        if !is_ok {
            for member in ["error", "message", "example", "retryable"] {
                assert_eq!(answer[member], shown[member], "{answer}");
            }
            assert_eq!(answer["suggested_actions"][0], shown["suggested_actions"][0]);
        }
    }
}

#[tokio::test]
async fn the_tools_of_each_server_say_what_they_answer_too() {
    let notes = Arc::new(FakeSource::new("notes", &["x://1"]));
    let gateway = GatewayBox::with(&[&notes]).await;
    let tools = Tools::new(gateway.gateway.clone(), every_toolset());
    for entry in tools.list(&Caller::local()) {
        let entry = value(&entry);
        let passes_on = entry["name"] == "call_tool" || entry["name"] == "call_read_only_tool";
        assert_eq!(entry.get("outputSchema").is_none(), passes_on, "{entry}");
        assert!(passes_on || entry["outputSchema"]["type"] == "object", "{entry}");
    }
    assert!(tools.has("notes_read_resource"));
}

#[test]
fn the_short_list_says_of_answers_that_they_are_objects() {
    for (spec, entry) in entries() {
        let promised = match spec.answers {
            Answers::Passed => serde_json::Value::Null,
            _ => serde_json::json!({ "type": "object" }),
        };
        assert_eq!(entry["outputSchema"], promised, "{}", spec.name);
        assert!(document(spec).contains("\n## Answer\n"), "{}", spec.name);
    }
}

#[tokio::test]
async fn the_example_tools_are_offered_only_when_asked_for() {
    let gateway = Gateway::new(trove_core::gateway::Parts::new("test")).await;
    let tools = Tools::new(gateway, Settings::default());
    let caller = Caller::local();
    assert!(!tools.has("guide_example_echo"));
    let toolsets = vec![Toolset::Example];
    tools.configure(Settings { toolsets, prefix: String::new(), ..Settings::default() });
    assert_eq!(tools.list(&caller).len(), 1);
    assert!(tools.has("example_echo") && !tools.has("guide_example_echo"));
    let arguments = Json::parse(r#"{"text":"a","times":2}"#).unwrap();
    let answer = tools.call(&caller, "example_echo", Some(&arguments), Ask::default()).await;
    let answer = value(&answer.unwrap().body);
    assert_eq!(answer["structuredContent"]["value"]["said"], "a a");
}

#[test]
fn the_page_on_clients_is_as_old_as_the_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bridge.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(*CLIENTS_DATE), "docs/bridge.md is not of {}", *CLIENTS_DATE);
}

#[tokio::test]
async fn who_needs_no_bridge_is_not_shown_it_but_may_use_it() {
    let gateway = Gateway::new(trove_core::gateway::Parts::new("test")).await;
    let tools = Tools::new(gateway, Settings::default());
    let codex = Caller { client: Some("codex-mcp-client".into()), ..Caller::behind(Door::Http) };
    let names: Vec<String> = tools.list(&codex).iter().filter_map(|e| e.get_str("name")).collect();
    assert_eq!(
        names,
        ["discover_resources", "search_resources", "resource_summary", "health_check"]
    );
    assert!(tools.call(&codex, "get_resource", None, Ask::default()).await.is_some());
    tools.configure(Settings { bridge: BridgeMode::Always, ..Settings::default() });
    assert_eq!(tools.list(&codex).len(), 5);
    tools.configure(Settings { bridge: BridgeMode::Never, ..Settings::default() });
    assert_eq!(tools.list(&Caller::behind(Door::Http)).len(), 4);
}

/// Everything that is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Everything that is logged until the guard is dropped.
    fn begin() -> (Log, tracing::subscriber::DefaultGuard) {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
            .without_time()
            .with_target(false)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("as the test made it")).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("as the test made it").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn every_call_is_logged_once_in_the_same_words() {
    let tools =
        Tools::new(Gateway::new(trove_core::gateway::Parts::new("test")).await, every_toolset());
    let (log, guard) = Log::begin();
    let arguments = Json::parse(r#"{"text":"a word of mine"}"#).unwrap();
    tools.call(&Caller::local(), "guide_example_echo", Some(&arguments), Ask::default()).await;
    let wrong = Json::parse(r#"{"text":7}"#).unwrap();
    tools.call(&Caller::local(), "guide_example_echo", Some(&wrong), Ask::default()).await;
    drop(guard);
    let text = log.text();
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| line.contains("Tool ")).collect();
    assert_eq!(
        lines,
        [
            "TRACE Tool called: example_echo",
            "TRACE Tool example_echo completed successfully",
            "TRACE Tool called: example_echo",
            "ERROR Tool example_echo failed: InvalidArguments",
        ]
    );
    assert!(!text.contains("a word of mine"), "arguments are not for logs: {text}");
}

#[tokio::test]
async fn a_failure_names_tools_as_they_are_offered_and_keeps_what_was_given_short() {
    let guide = furnished().await;
    let tools = Tools::new(guide.gateway.clone(), every_toolset());
    let (log, _guard) = Log::begin();
    let name = "nowhere".repeat(20_000);
    let arguments = Json::of(&serde_json::json!({ "name": name }));
    let called = "guide_category_list_files";
    let reply = tools.call(&Caller::local(), called, Some(&arguments), Ask::default()).await;
    let failure = value(&reply.unwrap().body)["structuredContent"].clone();
    let action = failure["suggested_actions"][0].as_str().unwrap();
    assert!(action.contains("Call guide_category_list or guide_collection_list "), "{action}");
    assert!(failure.to_string().len() < 10_000, "{}", failure.to_string().len());
    assert!(!log.text().contains("nowhere"), "arguments are not for logs");
}

#[tokio::test]
async fn what_is_withheld_from_a_caller_is_in_the_log() {
    let srv = Arc::new(FakeSource::new("srv", &["x://a"]));
    let message = "the disk at /srv is full".to_owned();
    srv.fail("x://a", SourceError::Refused { code: -32603, message, data: None });
    let gateway = GatewayBox::with(&[&srv]).await;
    gateway.gateway.set_access(Access { withholds_causes: true, ..Access::default() });
    let tools = Tools::new(gateway.gateway.clone(), Settings::default());
    let (log, _guard) = Log::begin();
    let arguments = Json::parse(r#"{"uri":"x://a"}"#).unwrap();
    let tell = async |caller: Caller| {
        let reply = tools.call(&caller, "get_resource", Some(&arguments), Ask::default()).await;
        reply.unwrap().body.as_str().to_owned()
    };
    let told = tell(Caller::behind(Door::Http)).await;
    assert!(!told.contains("the disk") && told.contains("see the gateway's log"), "{told}");
    assert!(log.text().contains("the disk at /srv is full"), "{}", log.text());
    // Those who run the gateway are told.
    let roles = Roles::new(["admin".to_owned()]);
    for caller in [Caller::local(), Caller { roles, ..Caller::behind(Door::Http) }] {
        assert!(tell(caller).await.contains("the disk at /srv is full"));
    }
}

#[tokio::test]
async fn the_document_of_a_tool_is_a_resource() {
    use trove_testkit::gateway_box::text_of;
    let gateway = Gateway::new(trove_core::gateway::Parts::new("test")).await;
    let tools = Tools::new(gateway.clone(), Settings::default());
    let read = async |uri: &str| gateway.read(&Caller::local(), &uri.into(), Ask::default()).await;
    let text = text_of(&read("info://tools/get_resource").await.unwrap().reply.body);
    assert_eq!(text, document(&TOOLS[0]));
    // What is not offered is not described.
    assert!(read("info://tools/example_echo").await.is_err());
    tools.configure(Settings { toolsets: Toolset::ALL.to_vec(), ..Settings::default() });
    assert!(read("info://tools/example_echo").await.is_ok());
    assert!(read("info://tools/nothing").await.is_err());
}
