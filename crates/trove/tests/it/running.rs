//! The command line and a Trove that runs already.

use std::os::unix::fs::PermissionsExt as _;

use crate::kit::toy::{config, toy};
use crate::kit::{Folder, LIMIT, Trove, until, within};

const UNREACHABLE: Option<i32> = Some(4);

async fn running() -> Trove {
    Trove::with(&[toy("one", "--resources 3")]).await
}

#[tokio::test]
async fn commands_ask_the_trove_that_runs() {
    let trove = running().await;
    let client = trove.any_client().await;
    let pid = client.text("one+toy://pid").await;
    let folder = &trove.folder;
    until("the door of the command line is open", async || {
        folder.run(&["read", "one+toy://pid"]).await.text() == pid
    })
    .await;
    // One that is started for this alone is another.
    let alone = folder.run(&["--alone", "read", "one+toy://pid"]).await;
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert_ne!(alone.text(), pid);

    let json = folder.run(&["read", "--json", "one+toy://pid"]).await.json();
    assert_eq!(json["data"], pid);
    let part = folder.run(&["read", "--offset", "0", "--max", "3", "one+toy://pid"]).await;
    assert_eq!(part.text().trim_end(), &pid[..3], "{part:?}");
    let ls = folder.run(&["ls"]).await;
    assert!(ls.text().contains("one\ttoy://item/1\titem-1\n"), "{ls:?}");
    let status = folder.run(&["status", "--json"]).await.json();
    assert!(status["sources"].to_string().contains("\"one\""), "{status}");
    let summary = folder.run(&["summary", "--json"]).await.json();
    assert!(summary["summary"]["totalResources"].as_u64() > Some(3), "{summary}");
    until("its index to find", async || {
        let found = folder.run(&["find", "--json", "item-2"]).await.json();
        found["resources"].to_string().contains("toy://item/2")
    })
    .await;
    let missing = folder.run(&["read", "nowhere://x"]).await;
    assert_eq!(missing.code, Some(5), "{missing:?}");
    assert!(missing.stderr.contains("no source serves nowhere://x"), "{missing:?}");

    until("who asked to be written down", async || {
        let audit = std::fs::read_to_string(folder.home().join("audit.jsonl"));
        audit.is_ok_and(|audit| audit.contains("trove-cli"))
    })
    .await;
}

#[tokio::test]
async fn the_door_is_for_its_owner_and_goes_with_trove() {
    let mut trove = running().await;
    let folder = trove.folder.clone();
    let socket = || {
        let files = std::fs::read_dir(folder.home().join("run")).into_iter().flatten().flatten();
        let mut paths = files.map(|file| file.path());
        paths.find(|path| path.extension() == Some("sock".as_ref()))
    };
    until("the socket is there", async || socket().is_some()).await;
    let path = socket().expect("the socket");
    let mode = |path: &std::path::Path| path.metadata().expect("it is there").permissions().mode();
    assert_eq!(mode(&path) & 0o777, 0o600);
    assert_eq!(mode(path.parent().expect("a folder")) & 0o777, 0o700);
    trove.signal(rustix::process::Signal::TERM);
    trove.close_stdin().await;
    assert!(trove.ended().await.success());
    assert_eq!(socket(), None);
    // No Trove is there: the command does it itself.
    let ran = folder.run(&["read", "toy://counter"]).await;
    assert_eq!((ran.code, ran.text()), (Some(0), "one|toy://counter|0"));
}

#[tokio::test]
async fn one_that_was_killed_is_not_missed() {
    let trove = running().await;
    let folder = trove.folder.clone();
    trove.signal(rustix::process::Signal::KILL);
    drop(trove);
    let ran = folder.run(&["read", "toy://counter"]).await;
    assert_eq!((ran.code, ran.text()), (Some(0), "one|toy://counter|0"), "{ran:?}");
    // And the next takes its place.
    let next = Trove::start_in(&folder).await;
    next.ready(&["one"]).await;
    until("it answers", async || folder.run(&["logs"]).await.code == Some(0)).await;
}

#[tokio::test]
async fn one_that_hangs_is_not_waited_for() {
    let trove = running().await;
    let folder = &trove.folder;
    until("it answers", async || folder.run(&["logs"]).await.code == Some(0)).await;
    trove.signal(rustix::process::Signal::STOP);
    let reading = folder.run(&["read", "toy://counter"]);
    let ran = within(LIMIT, "the answer", reading).await;
    assert_eq!((ran.code, ran.text()), (Some(0), "one|toy://counter|0"), "{ran:?}");
    assert!(ran.stderr.contains("does not answer"), "{ran:?}");
}

#[tokio::test]
async fn logs_are_those_of_the_running_trove_and_its_servers() {
    let trove = Trove::start(&config(&[toy("gone", "--fault crash:init")])).await;
    let folder = &trove.folder;
    until("the log tells of the start", async || {
        folder.run(&["logs"]).await.text().contains("ready")
    })
    .await;
    until("the server's last words are kept", async || {
        folder.run(&["logs", "gone"]).await.text().contains("crashed, as told")
    })
    .await;
    let json = folder.run(&["logs", "--json"]).await.json();
    assert!(json["lines"].as_array().is_some_and(|lines| !lines.is_empty()), "{json}");
    assert_eq!(folder.run(&["logs", "nobody"]).await.code, Some(1));
}

#[tokio::test]
async fn without_one_there_are_no_logs() {
    let ran = Folder::with("").run(&["logs"]).await;
    assert_eq!(ran.code, UNREACHABLE, "{ran:?}");
    assert!(ran.stderr.contains("trove up"), "{ran:?}");
}

#[tokio::test]
async fn quiet_says_nothing_but_errors() {
    let folder = Folder::with(&config(&[toy("slow", "--fault hang:init")]));
    let loud = folder.run(&["ls", "--wait", "1"]).await;
    assert!(loud.stderr.contains("slow has not answered yet"), "{loud:?}");
    let quiet = folder.run(&["--quiet", "ls", "--wait", "1"]).await;
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""), "{quiet:?}");
    // Nor are there notes on what is in a file.
    folder.put("codex.toml", "[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n");
    let ls = ["--config", "codex.toml", "ls"];
    assert!(folder.run(&ls).await.stderr.contains("`off` is left out"));
    let quiet = folder.run(&[&["--quiet"], &ls[..]].concat()).await;
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""), "{quiet:?}");
}
