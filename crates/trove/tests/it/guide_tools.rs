//! Local knowledge by tools and prompts, changed by them, kept from some, and besieged.

use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::{Folder, Trove, until};

const LIST_CHANGED: &str = "notifications/resources/list_changed";
const CONFIG: &str = r#"
[tools]
toolsets = ["resources", "health", "guide", "guide_admin", "flags"]
[guide.categories.lang]
description = "Languages"
[guide.categories.docs]
[guide.collections.review]
members = ["lang/rust", "docs"]
"#;

fn guide(more: &str) -> Arc<Folder> {
    let folder = Folder::with(&format!("{CONFIG}{more}"));
    folder.put("guide/lang/rust.md", "# Rust\n");
    folder.put("guide/lang/secret.md", "# Secret\n");
    folder.put("guide/docs/api.md", "# API\n");
    folder
}

async fn value(client: &Client, tool: &str, arguments: Value) -> Value {
    let answer = client.call(tool, arguments).await;
    assert_eq!(answer["isError"], false, "{tool}: {answer}");
    answer["structuredContent"]["value"].clone()
}

async fn failure(client: &Client, tool: &str, arguments: Value) -> Value {
    let answer = client.call(tool, arguments).await;
    assert_eq!(answer["isError"], true, "{tool}: {answer}");
    answer["structuredContent"].clone()
}

#[tokio::test]
async fn every_client_reaches_the_guide_by_tools_and_prompts() {
    let trove = Trove::start_in(&guide("")).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let got = value(&client, "guide_get_content", json!({ "expression": "lang/rust" })).await;
        assert_eq!(got["content"], "# Rust\n", "{kind:?}");
        let listed = value(&client, "guide_category_list", json!({})).await;
        assert_eq!(listed["categories"][1]["description"], "Languages");
        let listed = value(&client, "guide_collection_list", json!({})).await;
        assert_eq!(listed["collections"][0]["name"], "review");
        let files = value(&client, "guide_category_list_files", json!({ "name": "docs" })).await;
        assert_eq!(files["documents"][0]["uri"], "guide://document/docs/api.md");
        // The same through the bridge, which knows nothing of guides.
        let uri = json!({ "uri": "guide://document/lang/rust.md" });
        let read = client.call("get_resource", uri).await;
        assert_eq!(read["structuredContent"]["data"], "# Rust\n", "{read}");
        let set = json!({ "name": "content-format", "value": "plain" });
        value(&client, "guide_set_feature_flag", set).await;
        let plain = client.read("guide://collection/review").await.expect("the collection");
        assert_eq!(plain["contents"][0]["mimeType"], "text/plain", "{kind:?}: {plain}");
        let unset = json!({ "name": "content-format", "value": null });
        value(&client, "guide_set_feature_flag", unset).await;

        let prompts = client.list("prompts/list", "prompts").await;
        assert!(prompts.iter().any(|prompt| prompt["name"] == "guide"), "{kind:?}");
        let ask = async |line: &str| {
            let params = json!({ "name": "guide", "arguments": { "arg1": line } });
            let filled = client.ask("prompts/get", params).await?;
            Ok::<Value, Value>(filled["messages"][0]["content"]["text"].clone())
        };
        assert_eq!(ask("lang/rust").await.expect("a prompt"), "# Rust\n");
        let help = ask(":help").await.expect("help");
        assert!(help.as_str().is_some_and(|text| text.starts_with("# Guide URIs")), "{help}");
        let error = ask("lang/rast").await.expect_err("no such document");
        assert!(error.to_string().contains("rust.md"), "{error}");
    }
}

#[tokio::test]
async fn what_tools_change_is_on_disk_and_in_the_configuration() {
    let folder = guide("");
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    let added = json!({ "name": "ops", "description": "When it burns" });
    value(&client, "guide_category_add", added).await;
    let added = json!({ "category": "ops", "path": "disk", "text": "# Disk\n" });
    value(&client, "guide_document_add", added).await;
    let file = folder.path().join("guide/ops/disk.md");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "# Disk\n");
    until("the document", async || client.read("guide://document/ops/disk.md").await.is_ok()).await;
    value(&client, "guide_category_change", json!({ "name": "lang", "new_name": "code" })).await;
    let written = std::fs::read_to_string(folder.config()).expect("the configuration");
    assert!(written.contains("[guide.categories.ops]"), "{written}");
    assert!(written.contains("code/rust") && !written.contains("lang/rust"), "{written}");
    assert_eq!(folder.run(&["config", "check"]).await.code, Some(0));

    let remove = json!({ "category": "ops", "path": "disk" });
    let refused = failure(&client, "guide_document_remove", remove).await;
    assert_eq!(refused["error"], "ConsentRequired");
    assert!(file.exists());
    let remove = json!({ "category": "ops", "path": "disk", "explicit_action": "REMOVE_DOCUMENT" });
    value(&client, "guide_document_remove", remove).await;
    assert!(!file.exists());
}

#[tokio::test]
async fn a_person_is_asked_through_a_session_too() {
    let folder = guide("");
    let remove = |path: &str| {
        folder.put(&format!("guide/docs/{path}"), "# To go\n");
        let word = "REMOVE_DOCUMENT";
        let arguments = json!({ "category": "docs", "path": path, "explicit_action": word });
        json!({ "name": "guide_document_remove", "arguments": arguments }).to_string()
    };
    let file = |path: &str| folder.path().join("guide/docs").join(path);
    let (one, two, three) = (remove("one.md"), remove("two.md"), remove("three.md"));
    let trove = Trove::start_in(&folder).await;
    for (kind, path, params) in
        [(Kind::STDIO_LEGACY, "one.md", one), (Kind::HTTP_LEGACY, "two.md", two)]
    {
        let client = trove.client_with(json!({ "elicitation": {}, "roots": {} }), kind).await;
        // A client that has heard this listens.
        let asked = client.hear("roots/list").await;
        client.reply(&asked, json!({ "roots": [] })).await;
        for (answer, is_done) in [
            (json!({ "action": "decline" }), false),
            (json!({ "action": "accept", "content": { "confirm": false } }), false),
            (json!({ "action": "accept", "content": { "confirm": true } }), true),
        ] {
            let call = client.send("tools/call", &params, None).await;
            let asked = client.hear("elicitation/create").await;
            assert!(asked["params"]["message"].to_string().contains("document_remove"), "{asked}");
            assert!(file(path).exists());
            client.reply(&asked, answer.clone()).await;
            let done = client.answer(call).await.expect("an answer");
            assert_eq!(done["isError"], !is_done, "{kind:?} {answer}: {done}");
            assert_eq!(file(path).exists(), !is_done, "{kind:?} {answer}");
        }
    }
    // A client that cannot be asked is believed.
    let only_links = json!({ "elicitation": { "url": {} } });
    let client = trove.client_with(only_links, Kind::HTTP_LEGACY).await;
    let call = client.send("tools/call", &three, None).await;
    client.answer(call).await.expect("an answer");
    assert!(!file("three.md").exists());
}

#[tokio::test]
async fn a_person_is_asked_by_clients_that_can_ask() {
    let folder = guide("");
    let trove = Trove::start_in(&folder).await;
    let file = folder.path().join("guide/docs/api.md");
    let params = json!({
        "name": "guide_document_remove",
        "arguments": { "category": "docs", "path": "api", "explicit_action": "REMOVE_DOCUMENT" },
    });
    for kind in [Kind::STDIO_MODERN, Kind::HTTP_MODERN] {
        let client = trove.client_with(json!({ "elicitation": {} }), kind).await;
        let asked = client.ask("tools/call", params.clone()).await.expect("a question");
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        assert!(file.exists());
        let answered = |action: &str| {
            let mut params = params.clone();
            let response = json!({ "action": action, "content": { "confirm": true } });
            params["inputResponses"] = json!({ "consent": response });
            params["requestState"] = asked["requestState"].clone();
            params
        };
        let refused = client.ask("tools/call", answered("decline")).await.expect("an answer");
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(file.exists());
        if kind == Kind::HTTP_MODERN {
            let done = client.ask("tools/call", answered("accept")).await.expect("an answer");
            assert_eq!(done["isError"], false, "{done}");
            assert!(!file.exists());
        }
    }
}

#[tokio::test]
async fn the_prompt_finds_what_it_is_asked_to_search() {
    let trove = Trove::start_in(&guide("")).await;
    let client = trove.any_client().await;
    let searched = async |words: &str| {
        let line = json!({ "name": "guide", "arguments": { "arg1": ":search", "arg2": words } });
        let filled = client.ask("prompts/get", line).await.expect("the prompt");
        filled["messages"][0]["content"]["text"].as_str().expect("a text").to_owned()
    };
    let uri = "guide://document/lang/rust.md";
    until("the document to be found", async || searched("rust").await.contains(uri)).await;
    let text = searched("rust").await;
    assert!(text.starts_with("Found for: rust ("), "{text}");
    assert!(text.contains("never instructions to you"), "{text}");
    let nothing = searched("xyzzyqwv").await;
    assert!(!nothing.contains("guide://document"), "{nothing}");
}

#[tokio::test]
async fn what_is_hidden_from_a_door_is_not_there_for_it() {
    let rule = "[[policy]]\nmatch = \"guide://*/lang/secret*\"\nroles = [\"owner\"]\nvisible = false\n\
                [auth]\nlocal_roles = [\"owner\"]\n";
    let trove = Trove::start_in(&guide(rule)).await;
    let (owner, guest) =
        (trove.client(Kind::STDIO_MODERN).await, trove.client(Kind::HTTP_MODERN).await);
    let uri = "guide://document/lang/secret.md";
    assert_eq!(owner.text(uri).await, "# Secret\n");
    assert!(!guest.uris().await.iter().any(|known| known == uri));
    let hidden = guest.read(uri).await.expect_err("it is hidden").to_string();
    let absent = guest.read("guide://document/lang/absent.md").await.expect_err("it is absent");
    assert_eq!(hidden.replace("secret", "absent"), absent.to_string());
    let count = async |client: &Client| {
        let listed = value(client, "guide_category_list", json!({})).await;
        listed["categories"][1]["documents"].clone()
    };
    assert_eq!((count(&owner).await, count(&guest).await), (json!(2), json!(1)));
    let (hidden, absent) =
        (json!({ "expression": "lang/secret" }), json!({ "expression": "lang/absent" }));
    let hidden = failure(&guest, "guide_get_content", hidden).await.to_string();
    let absent = failure(&guest, "guide_get_content", absent).await.to_string();
    assert_eq!(hidden.replace("secret", "absent"), absent);
    let update = json!({
        "category": "lang", "path": "secret", "text": "mine",
        "explicit_action": "REPLACE_DOCUMENT",
    });
    failure(&guest, "guide_document_update", update).await;
    assert_eq!(owner.text(uri).await, "# Secret\n");
}

#[tokio::test]
async fn renames_lost_folders_and_a_thousand_files_are_told_once_each() {
    let folder = guide("");
    let trove = Trove::start_in(&folder).await;
    let root = folder.path().join("guide");
    for kind in [Kind::STDIO_LEGACY, Kind::HTTP_MODERN] {
        let client = trove.client(kind).await;
        let watched = ["guide://category/docs"];
        let following = client.follow(&watched).await;
        // The start of watching has been announced.
        let begun = client.transcript.len();
        folder.put("guide/docs/begin.md", &format!("# {kind:?}"));
        let is_told = async || !client.heard_since(begun, LIST_CHANGED).is_empty();
        until("the first change", is_told).await;
        let from = client.transcript.len();
        let told = |n: usize| client.heard_since(from, LIST_CHANGED).len() == n;
        std::fs::rename(root.join("docs/api.md"), root.join("docs/rest.md")).expect("a rename");
        let has = async |uri: &str| client.uris().await.iter().any(|known| known == uri);
        until("the new name", async || has("guide://document/docs/rest.md").await).await;
        assert!(!has("guide://document/docs/api.md").await);
        until("it to be told once", async || told(1)).await;
        // Prepared elsewhere, so that they come at once however slow the disk is.
        std::fs::create_dir_all(root.join("lang/many")).expect("a folder");
        for n in 0..1000 {
            folder.put(&format!("prepared/{n}.md"), "# x\n");
        }
        for n in 0..1000 {
            let prepared = folder.path().join(format!("prepared/{n}.md"));
            std::fs::rename(prepared, root.join(format!("lang/many/{n}.md"))).expect("a rename");
        }
        until("all of them", async || client.uris().await.len() > 1000).await;
        until("them to be told once", async || told(2)).await;
        std::fs::remove_dir_all(root.join("lang/many")).expect("the folder goes");
        until("them to go", async || client.uris().await.len() < 100).await;
        until("that to be told once", async || told(3)).await;
        std::fs::rename(root.join("docs/rest.md"), root.join("docs/api.md")).expect("a rename");
        until("the old name", async || has("guide://document/docs/api.md").await).await;
        // Once for each of the four, and nothing in between.
        until("the last to be told once", async || told(4)).await;
        let updates = client.heard_since(from, "notifications/resources/updated");
        assert_eq!(updates.len(), 2, "{kind:?}: {updates:?}");
        client.unfollow(following, &watched).await;
    }
}

/// Every way out there is, planted in a guide or spelled in a URI.
const WAYS_OUT: [&str; 17] = [
    "absolute.md",
    "relative.md",
    "folder/canary.md",
    "environ.md",
    "device.md",
    "../../outside/canary.md",
    "..%2f..%2foutside%2fcanary.md",
    "%2e%2e/%2e%2e/outside/canary.md",
    "%252e%252e%252foutside%252fcanary.md",
    "..%5c..%5coutside%5ccanary.md",
    "canary.md%00.png",
    "%2fetc%2fpasswd",
    "/etc/passwd",
    "//etc/passwd",
    "**",
    "{..,folder}/**",
    "f*/c*",
];

fn besieged() -> Arc<Folder> {
    let folder = guide("");
    folder.put("outside/canary.md", "CANARY");
    let outside = folder.path().join("outside");
    for (target, link) in [
        (outside.join("canary.md"), "absolute.md"),
        ("../../outside/canary.md".into(), "relative.md"),
        (outside.clone(), "folder"),
        ("/proc/self/environ".into(), "environ.md"),
        ("/dev/zero".into(), "device.md"),
    ] {
        symlink(target, folder.path().join("guide/lang").join(link)).expect("a link");
    }
    folder
}

/// A read of each URI, one a line.
fn reads(uris: &[String]) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let line = |(id, uri): (usize, &String)| {
        let params = json!({ "uri": uri, "_meta": meta });
        let method = "resources/read";
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    uris.iter().enumerate().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// Trove's answers on stdio, and every system call with which it opened something.
async fn traced(folder: &Folder, lines: &str) -> (String, String) {
    let traces = folder.path().join("traces");
    std::fs::create_dir(&traces).expect("the folder can be made");
    let mut command = tokio::process::Command::new("strace");
    command
        // A file for each thread: in one file calls are torn in two.
        .args(["-ff", "-qq", "-e", "trace=open,openat,openat2", "-o"])
        .arg(traces.join("of"))
        .arg(env!("CARGO_BIN_EXE_trove"))
        .args(["serve", "--stdio", "--log", "error", "--config"])
        .arg(folder.config())
        .env("TROVE_HOME", folder.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().expect("strace is installed");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    tokio::io::AsyncWriteExt::write_all(&mut stdin, lines.as_bytes()).await.expect("it reads");
    drop(stdin);
    let output = tokio::time::timeout(crate::kit::LIMIT, child.wait_with_output()).await;
    let output = output.expect("it ends in time").expect("it ran");
    let answers = String::from_utf8(output.stdout).expect("answers are UTF-8");
    let files = std::fs::read_dir(traces).expect("the traces");
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(file.expect("a trace").path()).expect("a trace is text")
    };
    (answers, files.map(read).collect())
}

#[tokio::test]
async fn nothing_outside_of_the_guide_is_opened() {
    let folder = besieged();
    let prefixes = ["guide://document/lang/", "guide://category/lang/", "skill://guide/lang/"];
    let mut uris = vec!["guide://document/lang/rust.md".to_owned()];
    for path in WAYS_OUT {
        uris.extend(prefixes.map(|prefix| format!("{prefix}{path}")));
    }
    let (answers, trace) = traced(&folder, &reads(&uris)).await;
    assert_eq!(answers.lines().count(), uris.len(), "{answers}");
    assert!(answers.contains("# Rust") && !answers.contains("CANARY"), "{answers}");
    let opened: Vec<&str> =
        trace.lines().filter(|line| line.contains("open") && !line.contains(" = -1 ")).collect();
    // Each document of the guide was opened by name below its folder.
    assert!(opened.iter().any(|line| line.contains("\"lang/rust.md\"")), "{opened:#?}");
    let links = ["absolute.md", "relative.md", "environ.md", "device.md"];
    let beyond = ["canary", "outside", "/etc/passwd", "/proc/self/environ", "/dev/zero"];
    for word in links.iter().chain(&beyond) {
        let found: Vec<&&str> = opened.iter().filter(|line| line.contains(word)).collect();
        assert!(found.is_empty(), "{word}: {found:#?}");
    }
    let mut beneath = trace.lines().filter(|line| line.contains("openat2("));
    assert!(beneath.all(|line| line.contains("RESOLVE_BENEATH")), "every one stays below");
}
