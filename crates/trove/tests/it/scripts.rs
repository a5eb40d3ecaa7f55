//! Answers to scripts: every command takes `--json`, also those that serve or only print.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::kit::toy::{client_file, config, toy};
use crate::kit::{Folder, Trove};

/// The first line on stdout, which is all that is said there.
async fn first_line(trove: &Trove) -> Value {
    let is_any = |line: &Value| line["success"] == true;
    let (_, line) = trove.stdout().first(0, is_any, "the line about what was started").await;
    assert_eq!(trove.stdout().len(), 1, "one line and no more");
    line.json.clone()
}

#[tokio::test]
async fn up_says_in_one_object_where_it_serves_and_what() {
    let folder = Folder::empty();
    let toys = [toy("notes", "--scheme notes"), toy("wiki", "--scheme wiki")];
    folder.put("user/.cursor/mcp.json", &client_file(&toys));
    assert_eq!(folder.run(&["approve", "notes"]).await.code, Some(0));
    let trove = Trove::start_with(&folder, &["up", "--http", "127.0.0.1:0", "--json"]).await;
    let told = first_line(&trove).await;
    assert_eq!(told["mcp"], trove.url);
    assert_eq!(told["page"], trove.url.trim_end_matches("mcp"));
    assert_eq!(told["auth"], "token");
    assert_eq!(told["pid"], trove.pid().as_raw_nonzero().get());
    assert_eq!(
        told["servers"],
        json!([{ "id": "notes", "started": true }, { "id": "wiki", "started": false }])
    );
    // The token lies where it says, and is not on the line itself.
    let file = told["token_file"].as_str().expect("the place of the token");
    let token = std::fs::read_to_string(file).expect("the token");
    assert!(!token.is_empty() && !told.to_string().contains(token.trim()), "{told}");
    let answer = reqwest::Client::new().get(told["page"].as_str().expect("a page"));
    assert_eq!(answer.send().await.expect("the page is served").status(), 200);
}

#[tokio::test]
async fn serve_says_the_same_and_nothing_of_a_token_where_there_is_none() {
    let folder = Folder::with(&config(&[toy("one", "")]));
    let serve = ["serve", "--http", "127.0.0.1:0", "--no-auth", "--json"];
    let trove = Trove::start_with(&folder, &serve).await;
    let told = first_line(&trove).await;
    assert_eq!((&told["mcp"], &told["auth"]), (&json!(trove.url), &json!("none")));
    assert_eq!(told["config"], folder.config().display().to_string());
    assert_eq!(told["servers"], json!([{ "id": "one", "started": true }]));
    assert!(told.get("token_file").is_none(), "{told}");
}

#[tokio::test]
async fn stdout_belongs_to_the_client_where_mcp_is_spoken_on_it() {
    let ran = Folder::empty().run(&["serve", "--stdio", "--json"]).await;
    assert_eq!((ran.code, &ran.json()["error"]), (Some(1), &json!("InvalidArguments")));
    let message = ran.json()["message"].to_string();
    assert!(message.contains("--stdio") && message.contains("--json"), "{message}");
}

#[tokio::test]
async fn scripts_and_manuals_come_as_one_object() {
    let folder = Folder::empty();
    let plain = folder.run(&["completions", "zsh"]).await;
    let told = folder.run(&["completions", "zsh", "--json"]).await.json();
    assert_eq!(told, json!({ "success": true, "shell": "zsh", "script": plain.text() }));
    let page = folder.run(&["man", "--json"]).await.json();
    assert!(page["page"].as_str().is_some_and(|page| page.contains(".TH trove 1")), "{page}");
    let page = folder.run(&["man", "--markdown", "--json"]).await.json();
    assert!(page["markdown"].as_str().is_some_and(|page| page.contains("## trove up")), "{page}");
    let told = folder.run(&["man", "--to", "pages", "--json"]).await.json();
    let written: BTreeSet<String> = std::fs::read_dir(folder.path().join("pages"))
        .expect("the folder was made")
        .map(|file| format!("pages/{}", file.expect("a file").file_name().display()))
        .collect();
    let files: BTreeSet<String> = serde_json::from_value(told["files"].clone()).expect("files");
    assert_eq!(files, written);
    let plain = folder.run(&["config", "schema"]).await.json();
    assert_eq!(folder.run(&["config", "schema", "--json"]).await.json(), plain);
}

#[tokio::test]
async fn a_logout_and_a_login_that_cannot_be_are_told_as_objects() {
    let folder = Folder::with(&config(&[toy("one", "")]));
    let told = folder.run(&["auth", "logout", "far", "--json"]).await.json();
    assert_eq!(told, json!({ "success": true, "server": "far", "was_logged_in": false }));
    let ran = folder.run(&["auth", "login", "one", "--json"]).await;
    assert_eq!((ran.code, &ran.json()["success"]), (Some(1), &json!(false)));
}

/// Every command with its options, from the manual that is made of them.
#[tokio::test]
async fn there_is_no_command_without_it() {
    let manual = Folder::empty().run(&["man", "--markdown"]).await;
    let sections: Vec<&str> = manual.text().split("\n## ").collect();
    let commands = sections.iter().filter(|section| section.starts_with("trove "));
    // Those that only hold others are no commands themselves.
    let alone = commands.filter(|section| {
        let name = section.lines().next().unwrap_or_default();
        let inner = format!("{name} ");
        !sections.iter().any(|other| other.starts_with(&inner))
    });
    let without: Vec<&str> = alone
        .filter(|section| !section.contains("| `--json` |"))
        .filter_map(|section| section.lines().next())
        .collect();
    assert!(without.is_empty(), "{without:?}");
}
