//! Names and contents that are odd and still right.

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde_json::{Value, json};
use trove_core::{
    Caller, Json,
    catalogue::Change,
    resource::ListsChanged,
    source::Ask,
    tools::{BridgeMode, Settings, Toolset},
};
use trove_testkit::fake_source::FakeSource;

use super::{Bridge, nobody, source, suggests, text_of};

#[tokio::test]
async fn a_name_is_first_of_all_what_is_listed_under_it() {
    let srv =
        source("srv", &["info/health", "docs/readme", "docs://readme", "odd://a", "odd://a "]);
    for uri in ["info/health", "docs/readme", "docs://readme", "odd://a", "odd://a "] {
        srv.give_text(uri, "text/plain", &format!("this is <{uri}>"));
    }
    let bridge = Bridge::over(&[&srv]).await;
    for uri in ["info/health", "docs/readme", "docs://readme", "odd://a", "odd://a "] {
        for arguments in [json!({ "uri": uri }), json!({ "uri": uri, "server": "srv" })] {
            assert_eq!(bridge.data(arguments).await, format!("this is <{uri}>"));
        }
    }
    assert_eq!(bridge.data(json!({ "uri": " odd://a  " })).await, "this is <odd://a>");
    assert!(bridge.data(json!({ "uri": "info/capabilities" })).await.is_object());
}

#[tokio::test]
async fn json_that_some_libraries_cannot_read_is_given_as_text() {
    let srv = source("srv", &["x://a"]);
    let bridge = Bridge::over(&[&srv]).await;
    let long = format!("[{}]", "7".repeat(5000));
    for text in [r#"{"a":"\ud800"}"#, "[1e400]", &long] {
        srv.give_text("x://a", "application/json", text);
        let object = bridge.ok(json!({ "uri": "x://a" })).await;
        assert_eq!(object["data"], text);
        assert!(text_of(&object["metadata"]["note"]).contains("given as text"), "{object}");
    }
    srv.give_text("x://a", "application/json", r#"{"a":"\ud83d\ude00","b":1e300}"#);
    assert!(bridge.data(json!({ "uri": "x://a" })).await.is_object());
    let deep = format!("{} not json", "[".repeat(200));
    srv.give_text("x://a", "application/json", &deep);
    let failure = bridge.failure(json!({ "uri": "x://a", "format": "json" })).await;
    assert_eq!(failure["error"], "InvalidArguments");
}

#[tokio::test]
async fn the_type_that_is_listed_counts_where_the_content_has_none() {
    let srv = source("srv", &[]);
    srv.add_entry(&json!({ "uri": "x://n", "name": "n", "mimeType": "application/json" }));
    srv.give("x://n", r#"{"contents":[{"uri":"x://n","text":"42"}]}"#);
    let object = Bridge::over(&[&srv]).await.ok(json!({ "uri": "x://n" })).await;
    assert_eq!((&object["data"], &object["mime_type"]), (&json!(42), &json!("application/json")));
}

#[tokio::test]
async fn a_search_in_one_long_line_finds_everything_or_says_so() {
    let srv = source("srv", &["x://min", "x://bin"]);
    let rows: Vec<Value> = (0..2000).map(|n| json!({ "id": n, "name": "plain" })).collect();
    let text = Value::from(rows).to_string().replace("\"id\":77,", "\"id\":\"here\",");
    let text = text.replace("\"id\":1900,", "\"id\":\"here\",");
    srv.give_text("x://min", "application/json", &text);
    let bridge = Bridge::over(&[&srv]).await;
    let found = bridge.ok(json!({ "uri": "x://min", "grep": "here" })).await;
    assert_eq!(text_of(&found["data"]).matches("here").count(), 2, "{found}");
    assert_eq!(found["metadata"]["truncated"], false, "{found}");
    let found = bridge.ok(json!({ "uri": "x://min", "grep": "here", "maxSize": 600 })).await;
    assert_eq!(found["metadata"]["truncated"], true, "{found}");
    // Nothing in binaries can be searched, and that is said.
    let blob = json!({ "uri": "x://bin", "mimeType": "image/png", "blob": "iVBORw0KGgo=" });
    for (contents, is_several) in [(json!([blob]), false), (json!([blob, blob]), true)] {
        srv.give("x://bin", json!({ "contents": contents }).to_string());
        let arguments = json!({ "uri": "x://bin", "grep": "x" });
        if is_several {
            let object = bridge.ok(arguments).await;
            assert!(text_of(&object["metadata"]["note"]).contains("none of the contents is text"));
        } else {
            assert_eq!(bridge.failure(arguments).await["field"], "grep");
        }
    }
}

#[tokio::test]
async fn a_size_that_is_asked_for_is_kept_to_by_lists_and_images() {
    let srv = source("srv", &[]);
    for n in 0..600 {
        srv.add_entry(
            &json!({ "uri": format!("x://{n}"), "name": "n", "description": "d".repeat(200) }),
        );
    }
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x02\x08\x06\0\0\0".to_vec();
    png.resize(5000, 0);
    let blob = {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(&png)
    };
    let content = json!({ "uri": "x://0", "mimeType": "image/png", "blob": blob });
    srv.give("x://0", json!({ "contents": [content] }).to_string());
    let bridge = Bridge::over(&[&srv]).await;
    let list = async |size: u64| bridge.ok(json!({ "maxSize": size })).await.to_string().len();
    let (exact, more) = (list(32768).await, list(32769).await);
    assert!(exact.abs_diff(more) < 2000, "{exact} against {more}");
    let images = async |arguments: Value| {
        let result = bridge.result(&nobody(), arguments).await;
        let blocks = result["content"].as_array().expect("blocks").clone();
        blocks.iter().filter(|block| block["type"] == "image").count()
    };
    assert_eq!(images(json!({ "uri": "x://0" })).await, 1);
    assert_eq!(images(json!({ "uri": "x://0", "maxSize": 1000 })).await, 0);
    let whole = bridge.ok(json!({ "uri": "x://0" })).await;
    let small = bridge.ok(json!({ "uri": "x://0", "maxSize": 1000 })).await;
    for (answer, note) in [(whole, None), (small, Some("an image is not shown: one answer"))] {
        let (said, truncated) = (&answer["metadata"]["note"], &answer["metadata"]["truncated"]);
        assert_eq!(*truncated, note.is_some(), "{answer}");
        assert_eq!(said.as_str().map(|said| &said[..33]), note, "{answer}");
    }
}

#[tokio::test]
async fn an_argument_that_is_given_twice_is_refused_by_name() {
    let bridge = Bridge::over(&[&source("srv", &["x://a", "x://b"])]).await;
    let arguments = Json::parse(r#"{"uri":"x://a","uri":"x://b"}"#).expect("it is JSON");
    let caller = nobody();
    let reply = bridge.tools.call(&caller, "get_resource", Some(&arguments), Ask::default());
    let told = reply.await.expect("a reply").body.as_str().to_owned();
    assert!(told.contains("InvalidArguments") && told.contains("`uri` is given twice"), "{told}");
}

#[tokio::test]
async fn a_template_that_cannot_be_read_is_to_be_filled_by_whoever_asks() {
    let srv = Arc::new(FakeSource::new("srv", &[]).with_templates(&["w://{path:path}"]));
    srv.give_text("w://a/b", "text/plain", "filled");
    let bridge = Bridge::over(&[&srv]).await;
    for uri in ["w://{path:path}", "srv+w://{path:path}"] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert_eq!(failure["error"], "InvalidTemplateVariable", "{failure}");
        assert!(suggests(&failure, "place of each pair of braces"), "{failure}");
    }
    assert_eq!(bridge.data(json!({ "uri": "w://a/b" })).await, "filled");
}

#[tokio::test]
async fn nobody_is_advised_to_call_a_tool_that_is_not_offered() {
    let settings = Settings { toolsets: vec![Toolset::Resources], ..Settings::default() };
    let srv = source("srv", &["x://a"]);
    srv.fail("x://a", trove_core::SourceError::Lost);
    let bridge = Bridge::with(&[&srv], settings).await;
    for uri in ["x://a", "x://b", "y://z", ""] {
        let told = bridge.object_for(&nobody(), json!({ "uri": uri })).await;
        let actions = told["suggested_actions"].to_string();
        assert!(!actions.contains("health_check"), "{uri}: {told}");
    }
}

#[tokio::test]
async fn a_tool_of_ours_that_is_left_out_gives_way_to_that_of_a_server() {
    let srv = Arc::new(FakeSource::new("srv", &[]).with_tools(&["get_content"]));
    let settings = Settings {
        prefix: "srv".to_owned(),
        toolsets: Toolset::ALL.to_vec(),
        ..Settings::default()
    };
    let bridge = Bridge::with(&[&srv], settings.clone()).await;
    let listed = |caller: &Caller| Json::of(&bridge.tools.list(caller).len());
    assert_ne!(listed(&nobody()).as_str(), "0");
    assert!(bridge.gateway.gateway.current().tool("srv_get_content").is_some());
    assert!(!bridge.tools.has("srv_get_content"), "without a guide ours is not there");
    assert!(bridge.tools.has("get_resource"));
    bridge.tools.configure(Settings { follows_guide: false, ..settings });
    assert!(bridge.tools.has("srv_get_content"));
}

/// The names of all tools that are offered, ours and those of servers.
fn tool_names(bridge: &Bridge) -> Vec<String> {
    let ours = bridge.tools.list(&nobody());
    let current = bridge.gateway.gateway.current();
    let ours = ours.iter().filter_map(|entry| entry.get_str("name"));
    ours.chain(current.tools().iter().map(|tool| tool.public.to_string())).collect()
}

#[tokio::test]
async fn a_tool_of_a_server_is_under_another_name_where_ours_is_offered() {
    let srv = FakeSource::new("srv", &["x://a"]);
    let srv = Arc::new(srv.with_tools(&["list_resources", "read_resource", "get_content"]));
    let settings = Settings { follows_guide: false, ..Settings::default() };
    let bridge = Bridge::with(&[&srv], settings.clone()).await;
    let toolsets = vec![Toolset::Resources, Toolset::PerServer, Toolset::Guide];
    bridge.tools.configure(Settings { toolsets, prefix: "srv".to_owned(), ..settings });
    let longer = ["srv_srv_list_resources", "srv_srv_read_resource", "srv_srv_get_content"];
    let route = |name: &str| {
        let current = bridge.gateway.gateway.current();
        current.route_tool(name).map(|(_, local)| local.to_owned())
    };
    while route(longer[0]).is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let names = tool_names(&bridge);
    let unique: HashSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "{names:?}");
    for name in longer {
        assert_eq!(route(name).as_deref(), name.strip_prefix("srv_srv_"), "{names:?}");
        assert!(bridge.tools.has(&name["srv_".len()..]) && !bridge.tools.has(name));
    }
}

#[tokio::test(start_paused = true)]
async fn listeners_hear_when_other_tools_of_ours_are_offered() {
    let bridge = Bridge::with(&[&source("srv", &["x://a"])], Settings::default()).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut changes = bridge.gateway.gateway.changes();
    let toolsets = vec![Toolset::Resources, Toolset::PerServer];
    let per_server = Settings { toolsets, ..Settings::default() };
    let always = Settings { bridge: BridgeMode::Always, ..per_server.clone() };
    let mut hears = async || {
        tokio::time::sleep(Duration::from_secs(2)).await;
        matches!(changes.try_recv(), Ok(Change::Lists(ListsChanged { tools: true, .. })))
    };
    assert!(!hears().await, "nothing has changed");
    bridge.tools.configure(per_server.clone());
    assert!(hears().await, "tools of the server have come");
    bridge.tools.configure(Settings { max_answer: 1, ..per_server });
    assert!(!hears().await, "the same tools are offered");
    bridge.tools.configure(always);
    assert!(hears().await, "other clients are shown the bridge");
    bridge.gateway.attach(&source("other", &["y://a"])).await;
    assert!(hears().await, "the tools of another server have come");
}
