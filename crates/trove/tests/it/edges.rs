//! Every bound at its edge and past it: at the edge all is served. Past it the answer says so, and
//! other callers do not notice. (Those of the HTTP door: see `limits`.)

use std::os::unix::fs::PermissionsExt as _;

use reqwest::Client as Http;
use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{Toy, config, count, toy};
use crate::kit::{Folder, Trove, is_ready, until};

/// Trove with these lines of `[limits]` and these toys, once they are there.
async fn trove(limits: &str, toys: &[Toy]) -> Trove {
    let trove = Trove::start(&format!("{limits}\n{}", config(toys))).await;
    let ids: Vec<&str> = toys.iter().map(Toy::id).collect();
    trove.ready(&ids).await;
    trove
}

/// How many resources a toy shows within a limit, and what is said to be missing.
async fn listed(limit: &str, args: &str) -> (u64, String) {
    let trove = trove(limit, &[toy("one", args)]).await;
    let source = trove.source("one", is_ready).await;
    (source["resources"].as_u64().expect("a count"), source["omissions"].to_string())
}

fn message(error: &Value) -> &str {
    error["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_list_of_as_many_pages_as_may_be_is_whole_and_one_more_is_cut() {
    let args = "--bare --resources 30 --page-size 10";
    assert_eq!(listed("limits.list_pages = 3", args).await, (30, "null".to_owned()));
    let (kept, why) = listed("limits.list_pages = 2", args).await;
    assert_eq!(kept, 20);
    assert!(why.contains("more than 2 pages"), "{why}");
}

#[tokio::test]
async fn a_list_of_as_many_entries_as_may_be_is_whole_and_one_more_is_cut() {
    let args = "--bare --resources 30 --page-size 10";
    assert_eq!(listed("limits.list_entries = 30", args).await, (30, "null".to_owned()));
    let (kept, why) = listed("limits.list_entries = 20", args).await;
    assert_eq!(kept, 20);
    assert!(why.contains("more than 20 entries"), "{why}");
}

#[tokio::test]
async fn a_list_that_takes_too_long_is_cut_where_it_is_by_then() {
    let args = "--bare --resources 30 --page-size 10 --fault delay:list=50";
    assert_eq!(listed("limits.list_timeout_ms = 60000", args).await, (30, "null".to_owned()));
    let (kept, why) = listed("limits.list_timeout_ms = 1", args).await;
    assert_eq!(kept, 10);
    assert!(why.contains("longer than 1ms"), "{why}");
}

#[tokio::test]
async fn a_list_of_too_many_bytes_is_cut() {
    let args = "--bare --resources 200 --page-size 10";
    assert_eq!(listed("limits.list_bytes = 1000000", args).await, (200, "null".to_owned()));
    let (kept, why) = listed("limits.list_bytes = 1024", args).await;
    assert!((10..200).contains(&kept) && kept.is_multiple_of(10), "{kept}");
    assert!(why.contains("more than 1024 bytes"), "{why}");
}

#[tokio::test]
async fn templates_past_their_number_or_length_are_listed_but_not_matched() {
    // The toy has four, the longest of 24 bytes.
    let (_, why) = listed("limits.templates = 4\nlimits.template_bytes = 24", "").await;
    assert_eq!(why, "null");
    let (_, why) = listed("limits.templates = 3", "").await;
    assert!(why.contains("1 templates past the first 3 are not matched"), "{why}");
    let (_, why) = listed("limits.template_bytes = 23", "").await;
    assert!(why.contains("1 templates with more than 23 bytes are not matched"), "{why}");
}

#[tokio::test]
async fn a_uri_may_have_so_many_bytes_and_no_more_listed_or_asked_for() {
    let of = |bytes: usize| format!("long://{}", "x".repeat(bytes - "long://".len()));
    let shared = format!("--bare --shared {} --shared {}", of(100), of(101));
    let trove = trove("limits.uri_bytes = 100", &[toy("one", &shared)]).await;
    let source = trove.source("one", is_ready).await;
    let why = source["omissions"].to_string();
    assert!(why.contains("1 resources with more than 100 bytes in their URI left out"), "{why}");
    let client = trove.any_client().await;
    assert!(client.uris().await.contains(&of(100)));
    client.text(&of(100)).await;
    for method in ["resources/read", "resources/subscribe"] {
        let kind = if method == "resources/read" { Kind::HTTP_MODERN } else { Kind::HTTP_LEGACY };
        let client = trove.client(kind).await;
        let error = client.ask(method, json!({ "uri": of(101) })).await.expect_err("too long");
        assert!(message(&error).contains("longer than 100 bytes"), "{method}: {error}");
    }
    let reference = json!({ "type": "ref/resource", "uri": of(101) });
    let asked = json!({ "ref": reference, "argument": { "name": "a", "value": "" } });
    let error = client.ask("completion/complete", asked).await.expect_err("too long");
    assert!(message(&error).contains("longer than 100 bytes"), "{error}");
}

#[tokio::test]
async fn a_message_nests_as_deep_as_it_may_and_no_deeper_on_both_doors() {
    let trove = trove("limits.json_depth = 20", &[]).await;
    // The message and its params are two of the levels.
    let body = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"a":{open}{close}}}}}"#)
    };
    let post = async |depth: usize| {
        let post = Http::new().post(&trove.url).header("Content-Type", "application/json");
        let answer = post.body(body(depth)).send().await.expect("trove answers");
        (answer.status().as_u16(), answer.text().await.unwrap_or_default())
    };
    assert_eq!(post(20).await.0, 202);
    let (status, text) = post(21).await;
    assert!(status == 400 && text.contains("deeper than 20 levels"), "{status} {text}");
    let from = trove.stdout().len();
    trove.write(&body(20)).await;
    trove.write(&body(21)).await;
    let (_, first) = trove.stdout().first(from, |_| true, "an answer").await;
    assert!(message(&first.json["error"]).contains("deeper than 20 levels"), "{}", first.text);
}

#[tokio::test]
async fn a_message_of_a_server_may_have_so_many_bytes_and_no_more() {
    let toys = [
        toy("fits", "--bare --scheme fits --fault hugeline=4096"),
        toy("long", "--bare --scheme long --fault hugeline=4097"),
    ];
    let trove = trove("limits.message_bytes = 4096", &toys).await;
    let client = trove.any_client().await;
    assert!(client.text("fits+fits://pid").await.starts_with("fits|"));
    let error = client.read("long+long://pid").await.expect_err("it is too long");
    assert!(message(&error).contains("4096 bytes"), "{error}");
    assert!(client.text("fits+fits://pid").await.starts_with("fits|"), "the others are served");
}

#[tokio::test]
async fn only_so_many_requests_wait_for_a_server_and_the_next_is_told() {
    // A modern one would always have one of ours waiting: the stream of its changes.
    let slow = toy("slow", "--bare --scheme slow --fault hang:read").set("protocol = \"legacy\"");
    let toys = [slow, toy("quick", "").set("protocol = \"legacy\"")];
    let trove = trove("limits.waiting_requests = 2", &toys).await;
    let client = trove.client(Kind::STDIO_MODERN).await;
    let uri = json!({ "uri": "slow+slow://pid" }).to_string();
    let from = trove.stdout().len();
    let mut calls = Vec::new();
    for _ in 0..3 {
        calls.push(client.send("resources/read", &uri, None).await);
    }
    let (_, refused) = trove.stdout().first(from, |m| m.get("error").is_some(), "a refusal").await;
    assert!(message(&refused.json["error"]).contains("2 requests are already waiting"));
    assert!(calls.iter().any(|call| refused.json["id"] == call.id));
    client.text("quick+toy://pid").await;
    // The two that wait are taken back, and two more may wait.
    let refusals =
        || trove.stdout().since(from).iter().filter(|m| m.json.get("error").is_some()).count();
    for call in calls {
        client.cancel(call).await;
    }
    client.text("quick+toy://pid").await;
    assert_eq!(refusals(), 1, "the other two were not refused");
}

#[tokio::test]
async fn the_client_on_stdio_has_so_many_requests_under_way_and_no_more() {
    let toys = [toy("slow", "--bare --scheme slow --fault hang:read")];
    let trove = trove("limits.stdio_requests = 2", &toys).await;
    let client = trove.client(Kind::STDIO_MODERN).await;
    let uri = json!({ "uri": "slow+slow://pid" }).to_string();
    let first = client.send("resources/read", &uri, None).await;
    assert!(client.text("info://health").await.contains("slow"), "two may be under way");
    let _second = client.send("resources/read", &uri, None).await;
    let error = client.ask("resources/list", json!({})).await.expect_err("three may not");
    assert_eq!(error["code"], -32004, "{error}");
    assert!(message(&error).contains("too many requests"), "{error}");
    trove.any_client().await.text("info://health").await;
    client.cancel(first).await;
    until("a place to be free", async || client.ask("resources/list", json!({})).await.is_ok())
        .await;
}

#[tokio::test]
async fn more_sessions_than_are_held_take_turns_and_all_go_on() {
    let trove = trove("limits.sessions = 2", &[]).await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.push(begin(&trove).await);
    }
    for session in sessions.iter().chain(&sessions) {
        assert!(lives(&trove, session).await, "one that was put aside comes back");
    }
    // Those that listen are not put aside, and whoever comes is told so.
    let _listening = [trove.client(Kind::HTTP_LEGACY).await, trove.client(Kind::HTTP_LEGACY).await];
    until("both to listen", async || start(&trove).await.status() == 503).await;
}

#[tokio::test]
async fn a_session_that_is_idle_is_put_aside_with_what_it_watches_and_goes_on() {
    let trove = trove("limits.session_idle_ms = 100", &[toy("one", "--era legacy")]).await;
    let witness = trove.any_client().await;
    let asked = async |method: &str| count(&witness.text("toy://requests").await, method);
    let session = begin(&trove).await;
    let body = json!({ "jsonrpc": "2.0", "id": 3, "method": "resources/subscribe",
        "params": { "uri": "toy://counter" } });
    let post = Http::new().post(&trove.url).header("Content-Type", "application/json");
    let post = post.header("Mcp-Session-Id", &session).body(body.to_string());
    assert_eq!(post.send().await.expect("trove answers").status(), 200);
    until("the watch to end", async || asked("resources/unsubscribe").await == 1).await;
    assert!(lives(&trove, &session).await, "it comes back");
    until("the watch to be taken up", async || asked("resources/subscribe").await == 2).await;
}

#[tokio::test]
async fn a_session_that_is_too_old_is_over() {
    let trove = trove("limits.session_ms = 1000", &[]).await;
    let session = begin(&trove).await;
    until("its end", async || !lives(&trove, &session).await).await;
}

#[tokio::test]
async fn a_pattern_may_be_so_long_and_take_so_much_memory_and_no_more() {
    let limits = "limits.pattern_bytes = 20\nlimits.compiled_pattern_bytes = 20000\nbridge.mode = \"always\"";
    let trove = trove(limits, &[]).await;
    let client = trove.any_client().await;
    let grep = async |pattern: &str| {
        let arguments = json!({ "uri": "info://health", "grep": pattern });
        client.call("get_resource", arguments).await["structuredContent"].clone()
    };
    assert_eq!(grep(&"s".repeat(20)).await["success"], true);
    let long = grep(&"s".repeat(21)).await;
    assert_eq!(long["success"], false);
    assert!(long["message"].as_str().is_some_and(|why| why.contains("20 bytes")), "{long}");
    assert_eq!(grep("s{2}").await["success"], true);
    let large = grep("(s{99}){99}").await;
    assert!(large["message"].as_str().is_some_and(|why| why.contains("too large")), "{large}");
}

#[tokio::test]
async fn answers_are_kept_within_the_bytes_of_the_cache_and_of_one_of_them() {
    let ask = async |limits: &str| {
        let toys = [toy("one", "--bare --resources 40 --size 2000 --ttl-ms 600000")];
        let trove = trove(limits, &toys).await;
        let client = trove.any_client().await;
        // The first answer of a server tells that its answers may be kept.
        client.text("toy://item/0").await;
        for _ in 0..2 {
            for n in 0..40 {
                client.text(&format!("toy://item/{n}")).await;
            }
        }
        let health = trove.health().await;
        let figure = |key: &str| health["cache"][key].as_u64().expect("a figure");
        (figure("hits"), figure("entries"), figure("bytes"))
    };
    let (hits, entries, bytes) = ask("").await;
    assert!(hits >= 40 && entries == 40 && bytes > 80_000, "{hits} {entries} {bytes}");
    let (_, entries, bytes) = ask("limits.cache_bytes = 30000").await;
    assert!((1..40).contains(&entries) && bytes <= 30_000, "{entries} {bytes}");
    let (hits, entries, _) = ask("limits.cached_answer_bytes = 2000").await;
    assert_eq!((hits, entries), (0, 0), "each answer is larger than that");
    assert_eq!(ask("limits.cache_bytes = 0").await.0, 0);
}

#[tokio::test]
async fn an_index_that_is_full_takes_in_no_more_contents_and_says_so() {
    let toys = [toy("one", "--bare --resources 60 --size 4000").set("index = \"content\"")];
    let full = trove("limits.index_bytes = 1024", &toys).await;
    let indexed = async |trove: &Trove| {
        let health = trove.health().await;
        let figure = |key: &str| health["index"][key].as_u64().unwrap_or_default();
        (health["index"]["state"].clone(), figure("indexed"), figure("indexable"))
    };
    until("the index to be done", async || {
        let (state, _, indexable) = indexed(&full).await;
        state == "full" && indexable >= 60
    })
    .await;
    let client = full.any_client().await;
    until("names to be found all the same", async || {
        let found = client.call("discover_resources", json!({ "query": "item" })).await;
        found.to_string().contains("toy://item/")
    })
    .await;
    let (state, taken, _) = indexed(&full).await;
    assert!(state == "full" && taken < 60, "it was full before all of them were in it");
    let whole = trove("limits.index_bytes = 100000000", &toys).await;
    until("the index to be whole", async || {
        let (state, indexed, indexable) = indexed(&whole).await;
        state == "ready" && indexed == indexable && indexable >= 60
    })
    .await;
}

#[tokio::test]
async fn only_so_many_servers_are_started_and_the_next_one_waits_for_a_place() {
    let both = [toy("a", "--bare --scheme a"), toy("b", "--bare --scheme b")];
    let folder = Folder::with(&format!("limits.children = 1\n{}", config(&both)));
    let trove = Trove::start_in(&folder).await;
    let is_full = |source: &Value| {
        source["last_error"].as_str().is_some_and(|why| why.contains("limits.children"))
    };
    let is_settled = |source: &Value| is_ready(source) || is_full(source);
    let one = trove.source("a", is_settled).await;
    let other = trove.source("b", is_settled).await;
    assert!(is_ready(&one) != is_ready(&other), "one runs, the other waits: {one} {other}");
    let (ran, waits) = if is_ready(&one) { ("a", "b") } else { ("b", "a") };
    let text = trove.any_client().await.text(&format!("{ran}+{ran}://pid")).await;
    assert!(text.starts_with(ran), "who runs is served: {text}");
    let rest: Vec<Toy> = both.into_iter().filter(|toy| toy.id() == waits).collect();
    folder.write(&format!("limits.children = 1\n{}", config(&rest)));
    trove.ready(&[waits]).await;
}

#[tokio::test]
async fn all_clients_together_watch_no_more_than_they_may() {
    let trove = trove("limits.watches = 1", &[toy("one", "")]).await;
    let (first, second) =
        (trove.client(Kind::HTTP_LEGACY).await, trove.client(Kind::HTTP_LEGACY).await);
    let ask = async |client: &Client, method: &str, uri: &str| {
        client.ask(method, json!({ "uri": uri })).await
    };
    let (watch, end) = ("resources/subscribe", "resources/unsubscribe");
    ask(&first, watch, "toy://requests").await.expect("one may be watched");
    ask(&second, watch, "toy://requests").await.expect("the same by another is no more");
    let error = ask(&second, watch, "toy://pid").await.expect_err("two may not");
    assert!(message(&error).contains("1 resources are being watched"), "{error}");
    for client in [&first, &second] {
        ask(client, end, "toy://requests").await.expect("it ends");
    }
    ask(&second, watch, "toy://pid").await.expect("there is room again");
}

#[tokio::test]
async fn t01_a_server_that_does_not_answer_in_time_is_tried_again() {
    let toys = config(&[toy("mute", "--fault hang:init"), toy("one", "")]);
    let trove = Trove::start(&format!("limits.startup_timeout_ms = 300\n{toys}")).await;
    trove.ready(&["one"]).await;
    let tried_again = |source: &Value| source["failures"].as_u64() >= Some(2);
    let mute = trove.source("mute", tried_again).await;
    assert!(mute["last_error"].as_str().is_some_and(|why| why.contains("300ms")), "{mute}");
    let requests = trove.any_client().await.text("one+toy://requests").await;
    assert!(count(&requests, "resources/list") >= 1, "the others are served: {requests}");
}

#[tokio::test]
async fn why_a_server_fails_is_told_to_those_who_run_the_gateway() {
    let gone = "[servers.gone]\ncommand = \"/opt/inner-secret/server\"\n";
    let trove = Trove::start(&format!("tools.mask_error_details = true\n{gone}")).await;
    let has_failed = |source: &Value| source["last_error"].is_string();
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        trove.source("gone", has_failed).await;
        let error = client.read("gone+x://1").await.expect_err("it is not there");
        assert!(message(&error).contains("withheld"), "{kind:?}: {error}");
        for told in [error.to_string(), client.text("info://health").await] {
            assert!(!told.contains("inner-secret"), "{kind:?}: {told}");
        }
    }
    let status = trove.folder.run(&["status", "--json"]).await;
    assert!(status.text().contains("inner-secret"), "{}", status.text());
}

#[tokio::test]
async fn a_limit_that_is_too_little_or_more_than_can_be_is_said_with_its_line() {
    for (line, remedy) in [
        ("limits.uri_bytes = 16385", "at most 16384"),
        ("limits.uri_bytes = 63", "at least 64"),
        ("limits.template_bytes = 4097", "at most 4096"),
        ("limits.json_depth = 100001", "at most 100000"),
        ("limits.json_depth = 7", "at least 8"),
        ("limits.children = 0", "at least 1"),
        ("limits.index_bytes = 1", "at least 1024"),
    ] {
        let ran = Folder::with(line).run(&["config", "check"]).await;
        let said = format!("{}{}", ran.text(), ran.stderr);
        assert!(ran.code != Some(0) && said.contains(remedy), "{line}: {said}");
        assert!(said.contains("trove.toml:1:"), "{said}");
    }
    for line in ["limits.uri_bytes = 16384", "limits.json_depth = 8", "limits.cache_bytes = 0"] {
        let ran = Folder::with(line).run(&["config", "check"]).await;
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
    }
}

async fn start(trove: &Trove) -> reqwest::Response {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "it", "version": "1" } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let post = Http::new().post(&trove.url).header("Content-Type", "application/json");
    post.body(body.to_string()).send().await.expect("trove answers")
}

/// Begins a legacy session over HTTP that listens to nothing.
async fn begin(trove: &Trove) -> String {
    let answer = start(trove).await;
    answer.headers()["mcp-session-id"].to_str().expect("an id").to_owned()
}

async fn lives(trove: &Trove, session: &str) -> bool {
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string();
    let post = Http::new().post(&trove.url).header("Content-Type", "application/json");
    let post = post.header("Mcp-Session-Id", session).body(ping);
    post.send().await.expect("trove answers").status() == 200
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told_by_how_it_was_named() {
    let folder = Folder::with(
        "[servers.path]\ncommand = \"no-such-program\"\n\
         [servers.file]\ncommand = \"/nonexistent/program\"\n\
         [servers.script]\ncommand = \"./script\"\ncwd = \".\"\n",
    );
    folder.put("script", "#!/nonexistent/python3 -u\n");
    let may_run = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("script"), may_run).expect("it may be run");
    let trove = Trove::start_in(&folder).await;
    for (id, says) in [
        ("path", "is not on the PATH"),
        ("file", "no program /nonexistent/program"),
        ("script", "which is not there; install that"),
    ] {
        let says_so = |source: &Value| source["last_error"].to_string().contains(says);
        trove.source(id, says_so).await;
    }
}
