//! The web page from outside: who is let in, what it may do, and what its API says.
//!
//! A person's view of it is tested in a browser; see `page.rs`.

use std::sync::Arc;

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::kit::client::Kind;
use crate::kit::toy::{self, toy};
use crate::kit::{Folder, LIMIT, Trove, within};

/// Trove behind its token, as `up` opens it.
async fn locked(config: &str) -> (Arc<Folder>, Trove, String) {
    let folder = Folder::with(config);
    let trove = Trove::start_with(&folder, &["serve", "--http", "127.0.0.1:0"]).await;
    let token = std::fs::read_to_string(folder.home().join("token")).expect("there is a token");
    (folder, trove, token.trim().to_owned())
}

fn at(trove: &Trove, path: &str) -> RequestBuilder {
    Client::new().get(trove.url.replace("/mcp", path))
}

async fn send(request: RequestBuilder) -> Response {
    within(LIMIT, "an answer", request.send()).await.expect("trove answers")
}

async fn status(request: RequestBuilder) -> u16 {
    send(request).await.status().as_u16()
}

/// The object of the API, without a token being asked for.
pub(crate) async fn api(trove: &Trove, path: &str) -> Value {
    let answer = send(at(trove, &format!("/api/{path}"))).await;
    assert_eq!(answer.status(), 200, "{path}");
    assert_eq!(answer.headers()["cache-control"], "no-store", "{path}");
    answer.json().await.expect("the API answers JSON")
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().expect("a text"))
}

/// The pass of a browser that gave the token: cookie and key.
async fn enter(trove: &Trove, token: &str) -> (String, String) {
    let body = json!({ "token": token }).to_string();
    let request = Client::new().post(trove.url.replace("/mcp", "/api/session"));
    let answer = send(request.header("Content-Type", "application/json").body(body)).await;
    assert_eq!(answer.status(), 200);
    let cookie = header(&answer, "set-cookie").to_owned();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/api"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains(token));
    let key =
        answer.json::<Value>().await.expect("a body")["key"].as_str().expect("a key").to_owned();
    (cookie.split(';').next().expect("a cookie").to_owned(), key)
}

#[tokio::test]
async fn the_files_of_the_page_are_for_everybody_and_what_they_show_is_not() {
    let (_folder, trove, token) = locked("").await;
    for path in ["/", "/app.js", "/style.css", "/lib/api.js", "/views/home.js", "/healthz"] {
        assert_eq!(status(at(&trove, path)).await, 200, "{path}");
    }
    for path in ["/api/overview", "/api/events", "/api/contents?uri=info://health", "/api/settings"]
    {
        assert_eq!(status(at(&trove, path)).await, 401, "{path}");
        assert_eq!(status(at(&trove, path).bearer_auth("wrong")).await, 401, "{path}");
        assert_eq!(status(at(&trove, path).bearer_auth(&token)).await, 200, "{path}");
    }
    assert_eq!(status(at(&trove, "/api/show/0123/0")).await, 401);
    assert_eq!(status(at(&trove, "/api/raw/0123/0")).await, 401);
}

#[tokio::test]
async fn a_browser_needs_cookie_and_key_and_neither_opens_the_mcp_door() {
    let (_folder, trove, token) = locked("").await;
    let (cookie, key) = enter(&trove, &token).await;
    let page = || at(&trove, "/api/overview");
    assert_eq!(status(page().header("Cookie", &cookie).header("X-Trove-Key", &key)).await, 200);
    assert_eq!(status(page().header("Cookie", &cookie)).await, 401);
    assert_eq!(status(page().header("X-Trove-Key", &key)).await, 401);
    // An unknown ticket is gone; a caller without the cookie does not even learn that.
    assert_eq!(status(at(&trove, "/api/show/0/0").header("Cookie", &cookie)).await, 410);
    let all =
        |request: RequestBuilder| request.header("Cookie", &cookie).header("X-Trove-Key", &key);
    for path in ["/mcp", "/metrics"] {
        assert_eq!(status(all(at(&trove, path))).await, 401, "{path}");
    }
    for secret in [cookie.split('=').next_back().unwrap(), &key] {
        assert_eq!(status(at(&trove, "/mcp").bearer_auth(secret)).await, 401);
        assert_eq!(status(page().bearer_auth(secret)).await, 401);
    }
}

#[tokio::test]
async fn only_the_token_is_exchanged_and_only_from_our_own_page() {
    let (_folder, trove, token) = locked("").await;
    let url = trove.url.replace("/mcp", "/api/session");
    let post =
        |kind: &str, body: String| Client::new().post(&url).header("Content-Type", kind).body(body);
    let right = json!({ "token": token }).to_string();
    assert_eq!(status(post("application/json", json!({ "token": "x" }).to_string())).await, 401);
    assert_eq!(status(post("text/plain", right.clone())).await, 400);
    assert_eq!(status(post("application/json", "x".repeat(100_000))).await, 400);
    let foreign = post("application/json", right).header("Origin", "http://evil.test");
    assert_eq!(status(foreign).await, 403);
    assert_eq!(status(at(&trove, "/").header("Host", "evil.test")).await, 403);

    let (cookie, key) = enter(&trove, &token).await;
    for (name, value) in [
        ("Origin", "http://127.0.0.1:1"),
        ("Sec-Fetch-Site", "same-site"),
        ("Sec-Fetch-Site", "cross-site"),
    ] {
        let request = at(&trove, "/api/overview").header("Cookie", &cookie);
        let request = request.header("X-Trove-Key", &key).header(name, value);
        assert_eq!(status(request).await, 403, "{name}: {value}");
    }
}

#[tokio::test]
async fn who_only_wants_to_know_whether_we_are_there_learns_nothing_else() {
    let (_folder, trove, _) = locked("").await;
    let answer = send(at(&trove, "/healthz")).await;
    assert_eq!(answer.text().await.expect("a body"), r#"{"status":"ok"}"#);
    assert_eq!(status(at(&trove, "/healthz").header("Host", "evil.test")).await, 403);
}

#[tokio::test]
async fn t19_the_page_may_do_nothing_but_ask_its_own_server() {
    let trove = Trove::start("").await;
    for path in ["/", "/app.js", "/style.css", "/nothing-here"] {
        let answer = send(at(&trove, path)).await;
        let policy = header(&answer, "content-security-policy");
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ] {
            assert!(policy.contains(rule), "{path}: {rule} is missing in {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(header(&answer, "referrer-policy"), "no-referrer");
    }
    assert_eq!(status(at(&trove, "/nothing-here")).await, 404);
    let first = send(at(&trove, "/app.js")).await;
    let tag = header(&first, "etag").to_owned();
    assert_eq!(status(at(&trove, "/app.js").header("If-None-Match", tag)).await, 304);
}

#[tokio::test]
async fn t19_contents_come_sealed_whatever_they_are() {
    let trove = Trove::with(&[toy("a", "")]).await;
    for (uri, look) in [("toy://odd", "text"), ("toy://blob", "hex"), ("info://health", "tree")] {
        let read = api(&trove, &format!("contents?uri={uri}")).await;
        let ticket = read["ticket"].as_str().expect("a ticket");
        let answer = send(at(&trove, &format!("/api/show/{ticket}/0?as={look}"))).await;
        let policy = header(&answer, "content-security-policy");
        assert!(policy.starts_with("sandbox; default-src 'none'"), "{policy}");
        assert!(!policy.contains("allow-"), "{policy}");
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(header(&answer, "referrer-policy"), "no-referrer");
        let raw = send(at(&trove, &format!("/api/raw/{ticket}/0"))).await;
        assert_eq!(header(&raw, "content-type"), "application/octet-stream");
        assert!(header(&raw, "content-disposition").starts_with("attachment"));
        assert!(header(&raw, "content-security-policy").starts_with("sandbox"));
    }
    let evil = Trove::with(&[toy("evil", "--resources 1 --fault eviltext")]).await;
    let read = api(&evil, "contents?uri=toy://item/0").await;
    let part = &read["parts"][0];
    assert_eq!(
        (&part["type"], &part["looks"][0]),
        (&json!("text/plain"), &json!("text")),
        "{part}"
    );
    let parts = api(&trove, "contents?uri=toy://parts").await;
    assert_eq!(parts["parts"].as_array().map(Vec::len), Some(3));
    let ticket = parts["ticket"].as_str().expect("a ticket");
    let second = send(at(&trove, &format!("/api/raw/{ticket}/1"))).await;
    assert_eq!(second.text().await.expect("a body"), "a|toy://parts/2|second");
    assert_eq!(status(at(&trove, "/api/show/0123/0")).await, 410);
}

#[tokio::test]
async fn the_list_is_whole_in_pages_and_counted_by_what_it_can_be_chosen_by() {
    let trove =
        Trove::with(&[toy("a", "--resources 250"), toy("b", "--bare --resources 30 --scheme b")])
            .await;
    let mut seen = Vec::new();
    while seen.len() < 287 {
        let page =
            api(&trove, &format!("resources?server=a&server=b&limit=100&offset={}", seen.len()))
                .await;
        assert_eq!(page["total"], 287, "250 and 7 of one, 30 of the other");
        let rows = page["rows"].as_array().expect("rows");
        seen.extend(rows.iter().map(|row| row["uri"].as_str().unwrap().to_owned()));
    }
    let mut unique = seen.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), seen.len());

    let chosen = api(&trove, "resources?server=b&limit=5").await;
    assert_eq!(chosen["total"], 30);
    assert_eq!(chosen["rows"][0]["server"], "b");
    let servers = &chosen["facets"]["server"];
    assert!(servers.as_array().unwrap().contains(&json!(["a", 257])), "{servers}");
    assert_eq!(api(&trove, "resources?q=item-17%20from").await["total"], 12);
    assert_eq!(api(&trove, "resources?under=toy://item/24").await["total"], 11);
    let tree = api(&trove, "tree?server=a").await;
    assert_eq!(
        tree["children"][0],
        json!({ "under": "toy://", "label": "toy://", "count": 257, "branch": true })
    );
    let below = api(&trove, "tree?server=a&under=toy://").await;
    assert_eq!(below["children"].as_array().unwrap().last().unwrap()["label"], "requests");
}

#[tokio::test]
async fn what_is_sought_is_found_best_first_with_the_reason() {
    let trove =
        Trove::with(&[toy("a", "--resources 30"), toy("b", "--bare --resources 30 --scheme b")])
            .await;
    let found = api(&trove, "find?q=COUNTER").await;
    assert_eq!(found["total"], 1);
    assert_eq!(found["hits"][0]["uri"], "toy://counter");
    assert_eq!(found["hits"][0]["why"], json!(["name", "uri"]));
    let found = api(&trove, "find?q=item-2&limit=3").await;
    assert_eq!(found["hits"][0]["name"], "item-2");
    assert_eq!(found["total"], 22);
    assert_eq!(found["servers"], json!([["a", 11], ["b", 11]]));
    assert_eq!(api(&trove, "find?q=item-2&server=b").await["total"], 11);
    for nothing in ["find?q=", "find", "find?q=zzzz", "find?q=%20%20"] {
        assert_eq!(api(&trove, nothing).await["total"], 0, "{nothing}");
    }
}

#[tokio::test]
async fn a_template_tells_its_variables_its_values_and_its_uri() {
    let trove = Trove::with(&[toy("a", "")]).await;
    let all = api(&trove, "templates").await;
    let note = all["templates"].as_array().unwrap().iter().find(|t| t["template"] == "note://{id}");
    assert_eq!(note.expect("it is listed")["variables"], json!(["id"]));
    let offered = api(&trove, "complete?template=note://{id}&name=id&value=al").await;
    assert_eq!(offered["values"], json!(["alpha", "alps"]));
    let made = api(&trove, "expand?template=note://{id}&v.id=a%20b").await;
    assert_eq!(made["uri"], "note://a%20b");
    let lacking = api(&trove, "expand?template=note://{id}").await;
    assert_eq!(lacking["uri"], Value::Null);
    assert!(lacking["lacks"].as_str().unwrap().contains("id"));
}

#[tokio::test]
async fn what_a_client_is_said_to_get_is_what_it_gets() {
    let trove = Trove::with(&[toy("a", "")]).await;
    let shown = api(&trove, "client?name=nobody&version=2025-11-25").await;
    let message = |method: &str| {
        let all = shown["messages"].as_array().expect("messages");
        let found = all.iter().find(|message| message["method"] == method).expect("it is shown");
        let answer = found["answer"].as_str().expect("a text");
        serde_json::from_str::<Value>(answer).expect("JSON")["result"].clone()
    };
    let client = trove.client(Kind::HTTP_LEGACY).await;
    for method in ["tools/list", "resources/list", "resources/templates/list"] {
        assert_eq!(message(method), client.ask(method, json!({})).await.unwrap(), "{method}");
    }
    let seen =
        api(&trove, "model?uri=toy://counter&client=codex-mcp-client&version=2025-11-25").await;
    let answer: Value = serde_json::from_str(seen["answer"].as_str().unwrap()).expect("JSON");
    assert_eq!(answer["result"], client.read("toy://counter").await.unwrap());
    assert_eq!(seen["request"]["method"], "resources/read");
    let bridged = api(&trove, "model?uri=toy://counter&client=zed").await;
    assert_eq!(bridged["request"]["params"]["name"], "get_resource");
    assert_eq!(status(at(&trove, "/api/clients?version=1999-01-01")).await, 400);
}

#[tokio::test]
async fn what_policy_hides_is_on_no_part_of_the_page() {
    let rules = "[[policy]]\nmatch = \"a+toy://c*\"\nroles = [\"staff\"]\nvisible = false\n\
                 [[policy]]\nmatch = \"a+toy://pid\"\nroles = [\"staff\"]\nvisible = true\n";
    let config = format!("{}\n{rules}", toy::config(&[toy("a", "")]));
    let trove = Trove::start(&config).await;
    trove.ready(&["a"]).await;
    for path in [
        "overview",
        "resources?limit=500",
        "find?q=counter",
        "tree?server=a&under=toy://",
        "capabilities",
        "collisions",
        "resource?uri=toy://cancelled",
        "client?name=zed",
        "activity",
    ] {
        let text = api(&trove, path).await.to_string();
        assert!(!text.contains("toy://counter"), "{path}: {text}");
    }
    assert_eq!(status(at(&trove, "/api/contents?uri=toy://counter")).await, 404);
    assert_eq!(status(at(&trove, "/api/contents?uri=toy://pid")).await, 403);
    assert_eq!(api(&trove, "resource?uri=toy://pid").await["closed"], true);
    assert_eq!(api(&trove, "resource?uri=toy://counter").await["listed"], false);
    let seen = api(&trove, "model?uri=toy://counter&client=zed").await;
    assert_eq!(seen["failed"], true);
}

#[tokio::test]
async fn errors_say_what_to_do_next() {
    let toys =
        [toy("a", "--shared x://y"), toy("b", "--shared x://y --scheme b --fault error:read")];
    let trove = Trove::with(&toys).await;
    for (uri, expected, class) in [
        ("toy://nothing", 404, "NotFound"),
        ("x://y", 409, "AmbiguousURI"),
        ("b://counter", 502, "ResourceExecutionError"),
    ] {
        let answer = send(at(&trove, &format!("/api/contents?uri={uri}"))).await;
        assert_eq!(answer.status(), expected, "{uri}");
        let body: Value = answer.json().await.expect("JSON");
        assert_eq!(body["error"], class, "{uri}");
        assert!(!body["next"].as_array().expect("steps").is_empty(), "{uri}");
    }
    let collisions = api(&trove, "collisions").await;
    assert_eq!(collisions["collisions"][0]["reached_as"], json!(["a+x://y", "b+x://y"]));
    assert_eq!(status(at(&trove, "/api/contents")).await, 400);
}

#[tokio::test]
async fn reads_are_written_down_and_logs_are_shown() {
    let trove = Trove::with(&[toy("a", "--fault stderr=2000")]).await;
    api(&trove, "contents?uri=toy://counter").await;
    crate::kit::until("the read to be written down", async || {
        let log = api(&trove, "activity?target=toy://counter").await;
        log["entries"][0]["via"] == "web"
    })
    .await;
    let logs = api(&trove, "logs?server=a").await;
    assert!(!logs["lines"].as_array().expect("lines").is_empty());
    assert_eq!(api(&trove, "logs?server=nobody").await["lines"], json!([]));
}

#[tokio::test]
async fn documents_that_are_opened_to_be_edited_are_written_down() {
    let folder = Folder::with(
        "[[policy]]\nmatch = \"guide://document/lang/secret*\"\nroles = [\"admin\"]\n",
    );
    folder.put("guide/lang/rust.md", "# Rust\n");
    folder.put("guide/lang/secret.md", "# Hidden\n");
    let trove = Trove::start_in(&folder).await;
    let open = |name: &str| at(&trove, &format!("/api/guide/source?category=lang&path={name}"));
    crate::kit::until("the document is known", async || status(open("rust.md")).await == 200).await;
    assert_eq!(status(open("secret.md")).await, 404, "no door shows what the rules close");
    assert_eq!(status(at(&trove, "/api/guide")).await, 200);
    for (action, target, outcome) in [
        ("read", "guide://document/lang/rust.md", "done"),
        ("read", "guide://document/lang/secret.md", "failed"),
        ("list", "guide://", "done"),
    ] {
        crate::kit::until(target, async || {
            let log = std::fs::read_to_string(folder.home().join("audit.jsonl"));
            let log = log.unwrap_or_default();
            let lines = log.lines().map(|line| serde_json::from_str(line).expect("JSON"));
            let is_so = |line: Value| {
                line["action"] == action
                    && line["target"] == target
                    && line["outcome"] == outcome
                    && line["via"] == "web"
            };
            lines.into_iter().any(is_so)
        })
        .await;
    }
}

#[tokio::test]
async fn no_secret_is_on_any_part_of_the_page() {
    let config = format!(
        "{}\n[servers.b]\nurl = \"http://u:canary-1@127.0.0.1:9/mcp?key=canary-2\"\n[servers.b.headers]\nAuthorization = \"Bearer canary-3\"\n",
        toy::config(&[toy("a", "").set("env = { API_KEY = \"canary-4\" }")])
    );
    let trove = Trove::start(&config).await;
    trove.ready(&["a"]).await;
    for path in ["overview", "settings", "capabilities", "figures", "logs?server=b", "activity"] {
        let text = api(&trove, path).await.to_string();
        assert!(!text.contains("canary"), "{path}: {text}");
    }
    assert_eq!(api(&trove, "settings").await["settings"]["origins"]["http.addr"], "flag");
}

#[tokio::test]
async fn changes_are_told_as_they_happen() {
    let folder = Folder::with(&toy::config(&[toy("a", "")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["a"]).await;
    let mut events = send(at(&trove, "/api/events?watch=toy://counter")).await;
    assert_eq!(header(&events, "content-type"), "text/event-stream");
    let mut heard = String::new();
    let mut hear = async |what: &str| {
        while !heard.contains(what) {
            let chunk = within(LIMIT, what, events.chunk()).await.expect("the line holds");
            heard.push_str(&String::from_utf8_lossy(&chunk.expect("the stream goes on")));
        }
    };
    hear("event: hello\ndata: {\"revision\"").await;
    folder.write(&toy::config(&[toy("a", ""), toy("b", "--scheme b")]));
    hear("event: lists").await;
    hear("\"id\":\"b\"").await;
}

#[tokio::test]
async fn documents_are_changed_by_our_own_page_alone() {
    let (folder, trove, token) = locked("").await;
    folder.put("guide/lang/rust.md", "# Rust\n");
    let (cookie, key) = enter(&trove, &token).await;
    let change =
        json!({ "category": "lang", "path": "rust.md", "before": "# Rust\n", "text": "# New\n" });
    let save = |kind: &str| {
        let request = Client::new().post(trove.url.replace("/mcp", "/api/guide/save"));
        request.header("Content-Type", kind).body(change.to_string())
    };
    let own = |request: RequestBuilder| {
        request.header("Cookie", cookie.clone()).header("x-trove-key", key.clone())
    };
    assert_eq!(status(save("application/json")).await, 401);
    assert_eq!(status(save("application/json").header("Cookie", cookie.clone())).await, 401);
    // A body that a form elsewhere could send is refused, even with our pass.
    assert_eq!(status(own(save("text/plain"))).await, 400);
    let strange = own(save("application/json")).header("Origin", "http://evil.test");
    assert_eq!(status(strange).await, 403);
    let text = || std::fs::read_to_string(folder.path().join("guide/lang/rust.md")).unwrap();
    assert_eq!(text(), "# Rust\n");
    crate::kit::until("the document is known and written", async || {
        status(own(save("application/json"))).await == 200
    })
    .await;
    assert_eq!(text(), "# New\n");
    // The text there is not the text that was edited.
    assert_eq!(status(own(save("application/json"))).await, 409);
}
