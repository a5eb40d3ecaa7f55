//! Commands that came with a project or stand in another client's file run only once the
//! user approved them.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::kit::toy::{config, program, toy};
use crate::kit::{Folder, Trove, until};

const USAGE: Option<i32> = Some(1);
const CONFIG: Option<i32> = Some(2);

/// A project whose server would leave a file behind.
fn trap() -> std::sync::Arc<Folder> {
    let folder = Folder::project("");
    let sprung = folder.path().join("sprung");
    folder.write(&format!("[servers.trap]\ncommand = 'touch'\nargs = [{sprung:?}]\n"));
    folder
}

fn is_sprung(folder: &Folder) -> bool {
    folder.path().join("sprung").exists()
}

#[tokio::test]
async fn t31_a_command_that_came_with_a_project_is_never_run_before_it_is_approved() {
    let folder = trap();
    for args in [&["ls"][..], &["status"], &["read", "x:y"], &["approve"], &["config", "check"]] {
        folder.run(args).await;
        assert!(!is_sprung(&folder), "{args:?}");
    }
    let trove = Trove::start_in(&folder).await;
    let source = trove.source("trap", |source| source["state"] == "idle").await;
    let command = format!("trove approve --config {} trap", folder.config().display());
    assert_eq!(source["last_error"], format!("waiting for approval: run `{command}`"));
    drop(trove);
    assert!(!is_sprung(&folder));
    let ran = folder.run(&["approve", "trap"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    folder.run(&["ls"]).await;
    assert!(is_sprung(&folder));
}

#[tokio::test]
async fn status_and_ls_say_who_waits_and_how_to_go_on() {
    let folder = Folder::project(&config(&[toy("fs", "--resources 1")]));
    let ran = folder.run(&["status"]).await;
    assert!(
        ran.text().contains("\n  waiting for approval: run `trove approve --config "),
        "{ran:?}"
    );
    let ran = folder.run(&["ls"]).await;
    let command = format!("run `trove approve --config {} fs`", folder.config().display());
    assert!(ran.stderr.contains(&command), "{ran:?}");
    assert!(!ran.text().contains("toy://"), "{ran:?}");
    folder.run(&["approve", "--all"]).await;
    let ran = folder.run(&["ls"]).await;
    assert!(ran.text().contains("fs\ttoy://item/0") && ran.stderr.is_empty(), "{ran:?}");
    let mode =
        std::fs::metadata(folder.home().join("approvals.json")).expect("it is kept").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[tokio::test]
async fn t18_what_would_run_is_shown_whole_and_cannot_steer_the_terminal() {
    let long = "x".repeat(5000);
    let folder = Folder::project(&format!(
        "[servers.one]\ncommand = 'env'\nargs = ['a b', \"it's\", \"\\u001b[2J\", '{long}']\n\
         env = {{ SECRET = 'hunter2', LD_PRELOAD = './evil.so', TOKEN = '${{env:HOME}}' }}\n"
    ));
    let ran = folder.run(&["approve"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let whole = format!(r"runs     env 'a b' 'it'\''s' '\u{{1b}}[2J' {long}");
    let text = ran.text();
    assert!(text.contains(&whole), "{text}");
    assert!(text.contains("LD_PRELOAD=./evil.so  (this decides what code is run)"), "{text}");
    assert!(text.contains("SECRET=***") && text.contains("TOKEN=${env:HOME}"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains('\u{1b}'), "{text}");
    assert!(text.contains("program  /") && text.contains(" --all`"), "{text}");
}

#[tokio::test]
async fn t17_a_changed_command_waits_again_and_the_difference_is_shown() {
    let folder = Folder::project(&config(&[toy("one", "--resources 1")]));
    folder.run(&["approve", "one"]).await;
    folder.write(&config(&[toy("one", "--resources 2")]));
    let ran = folder.run(&["ls"]).await;
    assert!(!ran.text().contains("toy://") && ran.stderr.contains(" one`"), "{ran:?}");
    let ran = folder.run(&["approve"]).await;
    assert!(ran.text().contains(r#"- args: ["--name","one","--resources","1"]"#), "{ran:?}");
    assert!(ran.text().contains(r#"+ args: ["--name","one","--resources","2"]"#), "{ran:?}");
    let ran = folder.run(&["approve", "--json"]).await;
    assert_eq!(ran.json()["servers"][0]["state"], "changed");
    let ran = folder.run(&["approve", "one", "--json"]).await;
    assert_eq!(ran.json()["servers"][0]["state"], "approved");
    assert!(folder.run(&["ls"]).await.text().contains("toy://item/1"));
}

#[tokio::test]
async fn an_approval_reaches_a_running_trove_and_a_change_ends_what_ran() {
    let folder = Folder::project(&config(&[toy("one", "--resources 1")]));
    let trove = Trove::start_in(&folder).await;
    trove.source("one", |source| source["state"] == "idle").await;
    folder.run(&["approve", "one"]).await;
    trove.ready(&["one"]).await;
    let client = trove.any_client().await;
    assert!(client.text("toy://item/0").await.starts_with("one|"));

    folder.write(&config(&[toy("one", "--resources 2")]));
    trove.source("one", |source| source["state"] == "idle").await;
    client.read("toy://item/0").await.expect_err("nothing runs that could answer");
    folder.run(&["approve", "one"]).await;
    until("it to be back", async || client.uris().await.contains(&"toy://item/1".to_owned())).await;
    // And one that is gone from the file is gone from the board.
    folder.write("[servers]\n");
    until("it to be gone", async || {
        let health = trove.health().await;
        !health["sources"].as_array().expect("sources").iter().any(|one| one["id"] == "one")
    })
    .await;
}

#[tokio::test]
async fn t31_a_program_that_changed_is_not_started_again_before_it_is_approved() {
    let folder = Folder::project("");
    let script = folder.path().join("serve.sh");
    let write = |first: &str| {
        let toy = program();
        let text = format!("#!/bin/sh\n{first}\nexec {} --name one\n", toy.display());
        std::fs::write(&script, text).expect("the script can be written");
        let may_run = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&script, may_run).expect("it may be run");
    };
    write(":");
    folder.write(&format!("[servers.one]\ncommand = {:?}\n", script.display().to_string()));
    folder.run(&["approve", "one"]).await;
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let client = trove.any_client().await;
    let said = client.text("toy://pid").await;
    let pid = said.rsplit('|').next().and_then(|pid| pid.trim().parse().ok()).expect("a number");

    write(&format!("touch {}", folder.path().join("sprung").display()));
    let pid = Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, Signal::KILL).expect("it can be killed");
    let says_so = |source: &Value| source["last_error"].to_string().contains(" one`");
    trove.source("one", says_so).await;
    assert!(!is_sprung(&folder));
    folder.run(&["approve", "one"]).await;
    trove.ready(&["one"]).await;
    assert!(is_sprung(&folder));
}

#[tokio::test]
async fn t31_a_clients_file_waits_too_and_yes_lets_it_run_this_once() {
    let folder = trap();
    let file = folder.path().join("mcp.json");
    let sprung = folder.path().join("sprung");
    let servers = json!({ "mcpServers": { "trap": { "command": "touch", "args": [sprung] } } });
    std::fs::write(&file, servers.to_string()).expect("the file can be written");
    let file = file.to_str().expect("UTF-8");
    let ran = folder.run(&["ls", "--config", file]).await;
    assert!(ran.stderr.contains(" trap`") && !is_sprung(&folder), "{ran:?}");
    let ran = folder.run(&["approve", "--config", file]).await;
    assert!(ran.text().contains("another client's"), "{ran:?}");
    folder.run(&["ls", "--config", file, "--yes"]).await;
    assert!(is_sprung(&folder));
    std::fs::remove_file(&sprung).expect("it is there");
    folder.run(&["ls", "--config", file]).await;
    assert!(!is_sprung(&folder));
    folder.run(&["ls", "--approve"]).await;
    assert!(is_sprung(&folder));
}

#[tokio::test]
async fn the_users_own_file_needs_no_approval() {
    let folder = trap();
    let ran = folder.run(&["approve", "--config", "trove.toml"]).await;
    assert!(ran.text().contains("need no approval"), "{ran:?}");
    folder.run(&["ls", "--config", "trove.toml"]).await;
    assert!(is_sprung(&folder));
}

#[tokio::test]
async fn damaged_approvals_let_nothing_run() {
    let folder = trap();
    folder.run(&["approve", "--all"]).await;
    std::fs::write(folder.home().join("approvals.json"), "{").expect("it can be written");
    folder.run(&["ls"]).await;
    assert!(!is_sprung(&folder));
    let ran = folder.run(&["approve", "--all"]).await;
    assert_eq!(ran.code, CONFIG, "{ran:?}");
    assert!(ran.stderr.contains("move it away"), "{ran:?}");
    let ran = folder.run(&["approve", "nobody"]).await;
    assert_eq!(ran.code, CONFIG, "{ran:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_cannot_be_approved() {
    let ran = trap().run(&["approve", "nobody"]).await;
    assert_eq!(ran.code, USAGE, "{ran:?}");
    assert!(ran.stderr.contains("no server `nobody`; there are: trap"), "{ran:?}");
}

#[tokio::test]
async fn a_url_that_would_be_sent_values_of_this_machine_waits_too() {
    let far = crate::kit::toy::Remote::http("far", "--resources 1").await;
    let url = far.url();
    let with = |headers: &str| format!("[servers.far]\nurl = \"{url}\"\n{headers}");
    let folder = Folder::project(&with(""));
    assert!(folder.run(&["ls"]).await.text().contains("toy://item/0"), "nothing of ours is sent");

    folder.write(&with("headers = { X-Home = \"${env:HOME}\", X-Plain = \"word-of-theirs\" }\n"));
    let ran = folder.run(&["ls"]).await;
    assert!(!ran.text().contains("toy://item/0"), "{ran:?}");
    assert!(ran.stderr.contains(" far`"), "{ran:?}");
    let ran = folder.run(&["approve"]).await;
    assert!(ran.text().contains(&format!("asks     {url}")), "{ran:?}");
    assert!(ran.text().contains("header   X-Home: ${env:HOME}"), "{ran:?}");
    folder.run(&["approve", "far"]).await;
    assert!(folder.run(&["ls"]).await.text().contains("toy://item/0"));

    folder.write(&with("headers = { X-Home = \"${env:PATH}\", X-More = \"${env:USER:-me}\" }\n"));
    let ran = folder.run(&["approve"]).await;
    for line in ["~ header: X-Home has another value", "+ header: X-More", "- header: X-Plain"] {
        assert!(ran.text().contains(line), "{line}: {ran:?}");
    }
    assert!(!folder.run(&["ls"]).await.text().contains("toy://item/0"));
    folder.run(&["approve", "far"]).await;
    folder.write(
        &with("headers = { X-Home = \"${env:PATH}\", X-More = \"${env:USER:-me}\" }\n")
            .replace("/mcp", "/mcp?x=1"),
    );
    let ran = folder.run(&["approve"]).await;
    assert!(ran.text().contains("+ url: ") && ran.text().contains("mcp?***"), "{ran:?}");
}

#[tokio::test]
async fn t17_descriptions_that_change_after_approval_are_flagged_and_shown_until_accepted() {
    let folder = Folder::project("");
    let toy = crate::peers::processes::sibling_program("toymcp");
    // The same command says something else after the file beside it was changed.
    let script = format!("exec {} --name \"$(cat \"$1\")\" --resources 1\n", toy.display());
    folder.put("server.sh", &script);
    folder.put("name", "helpful");
    let (script, name) = (folder.path().join("server.sh"), folder.path().join("name"));
    folder.write(&format!(
        "[servers.fs]\ncommand = 'sh'\nargs = [{script:?}, {name:?}]\nindex = 'metadata'\nexpose = 'all'\n"
    ));
    folder.run(&["approve", "fs"]).await;
    let kept = || {
        let all = std::fs::read_dir(folder.home().join("words")).into_iter().flatten().flatten();
        all.into_iter().any(|configuration| configuration.path().join("fs.json").exists())
    };
    {
        let trove = Trove::start_in(&folder).await;
        let source = trove.source("fs", |source| source["resources"] != 0).await;
        assert!(source["changed"].is_null(), "{source}");
        until("what it says to be kept", async || kept()).await;
    }
    let ran = folder.run(&["approve"]).await;
    assert!(!ran.text().contains("described otherwise"), "{ran:?}");

    folder.put("name", "\u{1b}[2Jhostile");
    let trove = Trove::start_in(&folder).await;
    let source = trove.source("fs", |source| source["changed"].as_u64() > Some(0)).await;
    assert_eq!(source["state"], "ready", "it is flagged, not held back");
    let ran = folder.run(&["status"]).await;
    assert!(ran.text().contains("descriptions differ from those"), "{ran:?}");
    let ran = folder.run(&["approve"]).await;
    let text = ran.text();
    assert!(text.contains("described otherwise since: resource toy://item/0"), "{text}");
    assert!(text.contains("    - item-0, from helpful\n"), "{text}");
    assert!(text.contains(r"hostile") && !text.contains('\u{1b}'), "{text}");
    assert!(text.contains("To accept what is described otherwise now"), "{text}");
    let ran = folder.run(&["approve", "--json"]).await.json();
    let descriptions = ran["servers"][0]["descriptions"].to_string();
    assert!(descriptions.contains("item-0, from helpful"), "{ran}");

    let ran = folder.run(&["approve", "fs"]).await;
    assert!(ran.code == Some(0) && ran.text().contains("now accepted"), "{ran:?}");
    trove.source("fs", |source| source["changed"].is_null()).await;
    let ran = folder.run(&["approve"]).await;
    assert!(!ran.text().contains("described otherwise"), "{ran:?}");
}
