//! Without a URI: what there is, never cut in silence.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use trove_core::{
    Source as _, SourceError,
    access::Access,
    resource::ListsChanged,
    source::{Outage, SourceEvent},
    status::State,
};

use super::{Bridge, client, nobody, somebody, source, suggests, text_of};

fn entries(data: &Value) -> Vec<&Value> {
    data.as_object()
        .expect("as the test made it")
        .values()
        .flat_map(|all| all.as_array().expect("as the test made it"))
        .collect()
}

async fn until(holds: impl AsyncFn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !holds().await {
        assert!(std::time::Instant::now() < deadline);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Every URI of a whole walk, and how often it came.
async fn walk(bridge: &Bridge, mut arguments: Value) -> HashMap<String, usize> {
    let mut seen = HashMap::new();
    loop {
        let object = bridge.ok(arguments.clone()).await;
        let shown = entries(&object["data"]);
        assert_eq!(object["shown"], shown.len());
        for entry in shown {
            *seen.entry(text_of(&entry["uri"]).to_owned()).or_default() += 1;
        }
        match object.get("cursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => return seen,
        }
    }
}

#[tokio::test]
async fn a_small_catalogue_is_listed_whole_by_category() {
    let srv = trove_testkit::fake_source::FakeSource::new(
        "srv",
        &["docs://b", "file:///a", "https://x.example/"],
    );
    let srv = std::sync::Arc::new(srv.with_templates(&["docs://{id}/{+path}"]));
    srv.add_entry(&json!({ "uri": "docs://a", "name": "A\u{1b}", "description": "d".repeat(1000), "annotations": {"priority": 0.9} }));
    let bridge = Bridge::over(&[&srv]).await;
    let object = bridge.ok(json!({})).await;
    assert_eq!(
        (&object["uri"], &object["resource_name"]),
        (&json!(""), &json!("Available Resources"))
    );
    assert_eq!(object["mime_type"], "application/json");
    assert!(object.get("cursor").is_none() && object["total"] == object["shown"]);
    let categories: Vec<&String> = object["data"].as_object().unwrap().keys().collect();
    assert_eq!(
        categories,
        ["docs", "srv", "auth", "config", "info"],
        "files and pages stand under their server, and what is our own comes last"
    );
    let docs = object["data"]["docs"].as_array().unwrap();
    assert_eq!(docs[0]["uri"], "docs://a", "the best-ranked first");
    assert_eq!(docs[0]["name"], "A\\u{1b}");
    assert!(text_of(&docs[0]["description"]).len() < 300);
    let template = docs.iter().find(|entry| entry["is_template"] == true).unwrap();
    assert_eq!(template["template_variables"], json!(["id", "path"]));
    assert_eq!(object["servers"]["docs"], "srv", "said once");
    for entry in entries(&object["data"]) {
        let entry = entry.as_object().unwrap();
        assert!(entry["uri"].is_string());
        for (key, value) in entry {
            let is_said_elsewhere = key == "category" || key == "server";
            let says_nothing = *value == json!(false) || *value == json!("") || *value == json!([]);
            assert!(!is_said_elsewhere && !says_nothing, "{key}: {entry:?}");
        }
    }
    assert_eq!(bridge.ok(json!({ "uri": "  " })).await["data"], object["data"]);
}

#[tokio::test]
async fn every_entry_comes_once_however_many_there_are() {
    for count in [199, 201, 10_000] {
        let srv = source("srv", &[]);
        for n in 0..count {
            let scheme = ["a", "b", "c", "d"][n % 4];
            srv.add(&format!("{scheme}://{n}"));
        }
        let few = source("few", &["rare://1", "rare://2"]);
        let bridge = Bridge::over(&[&srv, &few]).await;
        let object = bridge.ok(json!({})).await;
        let total = count + 2 + 8;
        assert_eq!(object["total"], total);
        if total > 200 {
            assert!(object["shown"].as_u64() > Some(100), "{object}");
            assert!(text_of(&object["message"]).contains("cursor"));
            let counted: u64 =
                object["categories"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
            assert_eq!(counted, total as u64, "the counts are whole");
            assert_eq!(
                object["data"]["rare"].as_array().unwrap().len(),
                2,
                "a small category is not crowded out"
            );
        }
        let seen = walk(&bridge, json!({})).await;
        assert_eq!(seen.len(), total);
        assert!(seen.values().all(|times| *times == 1));
    }
}

#[tokio::test]
async fn a_long_list_is_small_and_begins_with_what_is_most_useful() {
    let srv = source("srv", &[]);
    for n in 0..5000 {
        srv.add_entry(&json!({
            "uri": format!("file:///projects/area-{}/reports/{n}.md", n % 7),
            "name": format!("Report {n}"), "description": "What came of it.\n".repeat(20),
            "mimeType": "text/markdown",
        }));
    }
    srv.add_entry(&json!({
        "uri": "file:///z/important", "annotations": { "priority": 1 }, "name": "Important",
    }));
    let few = source("few", &["rare://1"]);
    let bridge = Bridge::over(&[&srv, &few]).await;
    let result = bridge.result(&nobody(), json!({})).await;
    assert!(result.to_string().len() <= 12_000, "{}", result.to_string().len());
    let object = &result["structuredContent"];
    assert_eq!(object["data"]["srv"][0]["uri"], "file:///z/important");
    assert_eq!(object["data"]["rare"][0], json!({ "uri": "rare://1" }), "nothing twice");
    assert!(object["shown"].as_u64() > Some(15), "{object}");
    let larger = bridge.ok(json!({ "maxSize": 100_000 })).await;
    assert_eq!(larger["shown"], 200);
    let next = bridge.result(&nobody(), json!({ "cursor": object["cursor"] })).await;
    assert!(next.to_string().len() <= 12_000, "{}", next.to_string().len());
}

#[tokio::test]
async fn no_member_of_a_list_holds_a_control_and_what_it_names_can_be_read() {
    let odd = source("odd", &[]);
    odd.add_entry(&json!({
        "uri": "odd://a\u{1b}\u{85}b", "name": "one\n\ttwo\u{7}", "description": "x\ry\u{9b}",
    }));
    let bridge = Bridge::over(&[&odd]).await;
    let object = bridge.ok(json!({})).await;
    let entry = &object["data"]["odd"][0];
    assert_eq!(
        *entry,
        json!({ "uri": "odd://a%1B%C2%85b", "name": "one two\\u{7}", "description": "x y\\u{9b}" })
    );
    let read = bridge.ok(json!({ "uri": entry["uri"] })).await;
    assert_eq!((&read["data"], &read["uri"]), (&json!("odd|odd://a\u{1b}\u{85}b"), &entry["uri"]));
}

#[tokio::test]
async fn a_catalogue_that_changes_between_pages_loses_nothing_that_stays() {
    let srv = source("srv", &[]);
    for n in 1000..1600 {
        srv.add(&format!("x://{n}"));
    }
    let bridge = Bridge::over(&[&srv]).await;
    let first = bridge.ok(json!({})).await;
    let mut seen: Vec<String> =
        entries(&first["data"]).iter().map(|entry| text_of(&entry["uri"]).to_owned()).collect();
    srv.add("x://0001");
    srv.remove("x://1300");
    let feed = bridge.gateway.gateway.feed();
    feed.report(srv.id(), SourceEvent::ListsChanged(ListsChanged::ALL)).await;
    until(async || bridge.gateway.names().await.contains(&"x://0001".to_owned())).await;
    seen.extend(walk(&bridge, json!({ "cursor": first["cursor"] })).await.into_keys());
    for n in (1000..1600).filter(|n| *n != 1300) {
        assert!(seen.contains(&format!("x://{n}")), "{n} is lost");
    }
}

#[tokio::test]
async fn t42_a_foreign_cursor_is_refused() {
    let bridge = Bridge::over(&[]).await;
    let failure = bridge.failure(json!({ "cursor": "nonsense" })).await;
    assert_eq!(
        (&failure["error"], &failure["field"]),
        (&json!("InvalidArguments"), &json!("cursor"))
    );
}

#[tokio::test]
async fn a_cursor_is_good_only_for_the_list_it_was_given_out_for() {
    let (a, b) = (source("a", &[]), source("b", &[]));
    for n in 0..300 {
        a.add(&format!("a://{n}"));
        b.add(&format!("b://{n}"));
    }
    let bridge = Bridge::over(&[&a, &b]).await;
    let (all, of_b) = (bridge.ok(json!({})).await, bridge.ok(json!({ "server": "b" })).await);
    for wrong in [
        json!({ "cursor": all["cursor"], "server": "b" }),
        json!({ "cursor": of_b["cursor"], "server": "a" }),
        json!({ "cursor": of_b["cursor"] }),
    ] {
        let failure = bridge.failure(wrong).await;
        assert_eq!(failure["field"], "cursor", "{failure}");
    }
    assert_eq!(walk(&bridge, json!({ "server": "b" })).await.len(), 300);
}

#[tokio::test]
async fn a_list_is_cut_where_asked_and_loses_nothing() {
    let srv = source("srv", &[]);
    for n in 0..40 {
        srv.add(&format!("docs://{n}"));
    }
    let bridge = Bridge::over(&[&srv]).await;
    let first = bridge.ok(json!({ "maxSize": 1000 })).await;
    assert!(first["data"].to_string().len() < 1100, "{first}");
    assert!(first["cursor"].is_string() && text_of(&first["message"]).contains("more"));
    for size in [1, 1000, 32768] {
        let seen = walk(&bridge, json!({ "maxSize": size })).await;
        assert_eq!(seen.len(), 48, "{size}");
        assert!(seen.values().all(|times| *times == 1), "{size}: {seen:?}");
    }
}

#[tokio::test]
async fn a_catalogue_that_shrinks_between_parts_loses_nothing_that_stays() {
    let (a, b) = (source("a", &[]), source("b", &[]));
    for n in 1000..1500 {
        a.add(&format!("a://{n}"));
        b.add(&format!("b://{n}"));
    }
    let bridge = Bridge::over(&[&a, &b]).await;
    let first = bridge.ok(json!({})).await;
    let mut seen: Vec<String> =
        entries(&first["data"]).iter().map(|entry| text_of(&entry["uri"]).to_owned()).collect();
    for n in 1000..1450 {
        a.remove(&format!("a://{n}"));
    }
    let feed = bridge.gateway.gateway.feed();
    feed.report(a.id(), SourceEvent::ListsChanged(ListsChanged::ALL)).await;
    until(async || !bridge.gateway.names().await.contains(&"a://1000".to_owned())).await;
    seen.extend(walk(&bridge, json!({ "cursor": first["cursor"] })).await.into_keys());
    let stay = (1450..1500).map(|n| format!("a://{n}"));
    for uri in stay.chain((1000..1500).map(|n| format!("b://{n}"))) {
        assert!(seen.contains(&uri), "{uri} is lost");
    }
}

#[tokio::test]
async fn a_list_comes_to_its_end_though_the_catalogue_changes_all_the_time() {
    let (a, b) = (source("a", &[]), source("b", &[]));
    for n in 1000..1500 {
        a.add(&format!("a://{n}"));
        b.add(&format!("b://{n}"));
    }
    let bridge = Bridge::over(&[&a, &b]).await;
    let (mut seen, mut messages, mut arguments) = (HashSet::new(), String::new(), json!({}));
    for part in 0..20 {
        let object = bridge.ok(arguments.clone()).await;
        seen.extend(entries(&object["data"]).iter().map(|e| text_of(&e["uri"]).to_owned()));
        messages.push_str(object["message"].as_str().unwrap_or_default());
        let Some(cursor) = object.get("cursor") else { break };
        arguments["cursor"] = cursor.clone();
        // One that was seen goes, so that another comes into the overview.
        let gone = format!("a://{}", 1000 + part);
        a.remove(&gone);
        let feed = bridge.gateway.gateway.feed();
        feed.report(a.id(), SourceEvent::ListsChanged(ListsChanged::ALL)).await;
        until(async || !bridge.gateway.names().await.contains(&gone)).await;
        assert!(part < 15, "no end");
    }
    assert!(messages.contains("once more"), "{messages}");
    for uri in bridge.gateway.names().await {
        assert!(seen.contains(&uri), "{uri} is lost");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_named_in_the_list() {
    let (up, down) = (source("up", &["x://1"]), source("down", &[]));
    let bridge = Bridge::over(&[&up, &down]).await;
    let board = bridge.gateway.gateway.board().clone();
    assert!(bridge.ok(json!({})).await.get("errors").is_none());
    board.add(down.id(), "stdio");
    board.update(down.id(), |status| {
        status.state = State::Backoff;
        status.last_error = Some(Outage::misconfigured("there is no program nowhere\u{1b}"));
    });
    let told = json!([{ "server": "down", "error": "there is no program nowhere\\u{1b}" }]);
    for (arguments, errors) in [
        (json!({}), Some(&told)),
        (json!({ "server": "down" }), Some(&told)),
        (json!({ "server": "up" }), None),
    ] {
        let object = bridge.ok(arguments).await;
        assert_eq!(object.get("errors"), errors, "{object}");
        let is_said = object["message"].as_str().is_some_and(|said| said.contains("health_check"));
        assert_eq!(is_said, errors.is_some(), "{object}");
    }
    let failure = bridge.failure(json!({ "uri": "y://1" })).await;
    assert!(suggests(&failure, "such as down") && failure["retryable"] == false, "{failure}");
    // Why is for those who run the gateway, where it is kept from others.
    bridge.gateway.gateway.set_access(Access { withholds_causes: true, ..Access::default() });
    let object = bridge.result(&nobody(), json!({})).await;
    let errors = &object["structuredContent"]["errors"];
    assert_eq!(*errors, json!([{ "server": "down", "error": "backoff" }]));
    let health = bridge.gateway.gateway.health(&nobody());
    let down = health.sources.iter().find(|source| source.id == "down").unwrap();
    assert_eq!(down.last_error.as_deref(), Some("withheld; see the gateway's log"));
}

#[tokio::test]
async fn what_servers_wrote_into_the_list_is_said_to_be_theirs() {
    let bridge = Bridge::over(&[&source("srv", &["x://1"])]).await;
    let result = bridge.result(&nobody(), json!({})).await;
    let nonce = text_of(&result["structuredContent"]["nonce"]);
    let said = text_of(&result["content"][1]["text"]);
    assert!(said.contains(nonce) && said.contains("not instructions"), "{said}");
}

#[tokio::test]
async fn what_says_nothing_of_a_list_is_refused() {
    let bridge = Bridge::over(&[]).await;
    for (field, arguments) in
        [("grep", json!({ "grep": "health" })), ("offset", json!({ "uri": " ", "offset": 5 }))]
    {
        let failure = bridge.failure(arguments).await;
        assert_eq!(
            (&failure["error"], &failure["field"]),
            (&json!("InvalidArguments"), &json!(field))
        );
    }
    // Clients that fill in every argument mean nothing by these.
    bridge.ok(json!({ "grep": "", "offset": 0, "maxSize": 32768, "format": "auto" })).await;
}

#[tokio::test]
async fn one_server_can_be_listed_alone() {
    let (a, b) = (source("a", &["x://1", "y://2"]), source("b", &["z://3"]));
    let bridge = Bridge::over(&[&a, &b]).await;
    let object = bridge.ok(json!({ "server": "a" })).await;
    assert_eq!((&object["total"], entries(&object["data"]).len()), (&json!(2), 2));
    let object = bridge.ok(json!({ "server": "c" })).await;
    assert!(text_of(&object["message"]).contains("There is no server `c`"), "{object}");
    assert_eq!(object["total"], 11, "all of it is listed");
}

#[tokio::test]
async fn what_needs_a_role_is_marked_or_absent_and_no_number_betrays_it() {
    let srv = source("srv", &[]);
    for n in 0..300 {
        srv.add(&format!("docs://{n}"));
        srv.add(&format!("admin://{n}"));
    }
    let bridge = Bridge::over(&[&srv]).await;
    bridge.allow(&[("admin://*", "admin", true)]);
    let shown = bridge.ok(json!({})).await;
    let admin = shown["data"]["admin"].as_array().unwrap();
    assert!(admin.iter().all(|entry| entry["requires_admin"] == true));
    assert!(admin.iter().all(|entry| entry["readable"] == false));
    assert_eq!(shown["data"]["docs"][0].get("requires_admin"), None);
    assert_eq!(shown["data"]["docs"][0].get("readable"), None);
    bridge.allow(&[("admin://*", "admin", false)]);
    let hidden = bridge.ok(json!({})).await;
    assert!(!hidden.to_string().contains("admin://"), "{hidden}");
    assert_eq!(hidden["total"], 308);
    assert!(hidden["categories"].get("admin").is_none());
    assert!(walk(&bridge, json!({})).await.keys().all(|uri| !uri.starts_with("admin")));
    let boss = bridge.object_for(&somebody(&["admin"]), json!({})).await;
    assert_eq!(boss["total"], 608);
    assert!(
        boss["data"]["admin"]
            .as_array()
            .unwrap()
            .iter()
            .all(|entry| entry["requires_admin"] == true && entry["readable"] != false)
    );
}

#[tokio::test]
async fn a_client_that_reads_resources_itself_is_shown_templates_only() {
    let srv = trove_testkit::fake_source::FakeSource::new("srv", &["docs://a"]);
    let srv = std::sync::Arc::new(srv.with_templates(&["note://{id}"]));
    let bridge = Bridge::over(&[&srv]).await;
    for name in ["claude-code", "gemini-cli-mcp-client"] {
        let object = bridge.object_for(&client(name), json!({})).await;
        let found = entries(&object["data"]);
        assert!(found.iter().all(|entry| entry["is_template"] == true), "{object}");
        assert_eq!((&object["total"], found.len()), (&json!(3), 3));
        assert!(text_of(&object["message"]).contains("templates"), "it is said why");
        // It can still read anything.
        let read = bridge.object_for(&client(name), json!({ "uri": "docs://a" })).await;
        assert_eq!(read["success"], true);
    }
    for name in ["zed", "Zed", "nobody-knows"] {
        let object = bridge.object_for(&client(name), json!({})).await;
        assert_eq!(object["total"], 10, "{name}");
    }
    assert_eq!(bridge.object_for(&nobody(), json!({})).await["total"], 10);
}

#[tokio::test]
async fn what_takes_an_administrator_is_marked_for_every_caller() {
    let srv = source("srv", &["x://refused", "x://plain", "rule://a"]);
    srv.add_entry(&json!({ "uri": "x://said", "name": "Keys", "description": "Admin only." }));
    srv.fail(
        "x://refused",
        SourceError::Refused { code: -32603, message: "Access denied".to_owned(), data: None },
    );
    let bridge = Bridge::over(&[&srv]).await;
    bridge.allow(&[("rule://*", "writer", true)]);
    let marked = async |roles: &[&str]| {
        let object = bridge.object_for(&somebody(roles), json!({})).await;
        let all = entries(&object["data"]);
        let mut marked: Vec<String> = Vec::new();
        for entry in all {
            if entry["requires_admin"] == true {
                let unreadable = if entry["readable"] == false { " (not by you)" } else { "" };
                marked.push(format!("{}{unreadable}", text_of(&entry["uri"])));
            }
        }
        marked.sort();
        marked
    };
    assert_eq!(marked(&[]).await, ["rule://a (not by you)", "x://said"]);
    assert_eq!(marked(&["writer"]).await, ["rule://a", "x://said"]);
    // What the server refuses is known from then on, until it gives it.
    bridge.failure(json!({ "uri": "x://refused" })).await;
    assert_eq!(marked(&["writer"]).await, ["rule://a", "x://refused", "x://said"]);
    srv.give_text("x://refused", "text/plain", "here");
    bridge.ok(json!({ "uri": "x://refused" })).await;
    assert_eq!(marked(&["writer"]).await, ["rule://a", "x://said"]);
}
