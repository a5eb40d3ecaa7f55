//! `trove up` on a fresh machine: it finds, shows, asks, serves and says what to do.

use serde_json::json;

use crate::kit::terminal::Terminal;
use crate::kit::toy::{Remote, client_file, config, toy};
use crate::kit::{Folder, Trove, until};

const UP: [&str; 4] = ["up", "--http", "127.0.0.1:0", "--no-auth"];

/// A machine with Cursor, which has two servers, and nothing of Trove.
fn with_cursor() -> std::sync::Arc<Folder> {
    let folder = Folder::empty();
    let toys = [toy("notes", "--scheme notes --resources 3"), toy("wiki", "--scheme wiki")];
    folder.put("user/.cursor/mcp.json", &client_file(&toys));
    folder
}

fn said(trove: &Trove) -> String {
    let lines = trove.stdout().since(0);
    lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn without_a_terminal_nothing_found_is_started_until_it_is_approved() {
    let folder = with_cursor();
    let trove = Trove::start_with(&folder, &UP).await;
    let waiting = trove.source("notes", |source| source["state"] == "idle").await;
    assert!(waiting["last_error"].to_string().contains("trove approve notes"), "{waiting}");
    let text = said(&trove);
    for words in ["notes, wiki", "trove approve --all", "install --client cursor", "mcpServers"] {
        assert!(text.contains(words), "{words:?} in {text}");
    }

    let shown = folder.run(&["approve"]).await;
    assert!(shown.text().contains("--scheme notes --resources 3"), "{shown:?}");
    assert_eq!(folder.run(&["approve", "--all"]).await.code, Some(0));
    // The running one starts them at once.
    trove.ready(&["notes", "wiki"]).await;
}

#[tokio::test]
async fn who_says_yes_is_not_asked() {
    let folder = with_cursor();
    let trove = Trove::start_with(&folder, &[&UP[..], &["--yes"]].concat()).await;
    trove.ready(&["notes", "wiki"]).await;
    // This time only: nothing was written down.
    assert!(folder.run(&["approve"]).await.text().contains("waiting for approval"));
}

#[tokio::test]
async fn a_server_behind_a_url_is_not_asked_for_anything_before_it_is_approved() {
    let remote = Remote::http("far", "").await;
    let folder = Folder::empty();
    folder.put("user/.cursor/mcp.json", &client_file(&[remote.toy()]));
    let trove = Trove::start_with(&folder, &UP).await;
    trove.source("far", |source| source["state"] == "idle").await;
    assert_eq!(folder.run(&["approve", "far"]).await.code, Some(0));
    trove.ready(&["far"]).await;
}

#[tokio::test]
async fn on_a_terminal_it_shows_exact_commands_asks_once_and_draws_progress() {
    let folder = with_cursor();
    let mut terminal = Terminal::start(&folder, &UP);
    let asked = terminal.shows("[y/N]").await;
    for words in ["2 servers found", "--name notes --scheme notes --resources 3", "mcp.json"] {
        assert!(asked.contains(words), "{words:?} in {asked}");
    }
    assert!(!asked.contains("The page for you"), "{asked}");
    terminal.types("y\r").await;
    terminal.shows("The page for you:").await;
    let screen = terminal.shows("indexed").await;
    assert!(screen.contains("✓") && screen.contains("notes"), "{screen}");
    terminal.types("\u{3}").await;
    assert_eq!(terminal.ended().await, Some(0), "{}", terminal.screen());

    // An approved server starts without a question.
    let mut again = Terminal::start(&folder, &UP);
    let screen = again.shows("indexed").await;
    assert!(!screen.contains("[y/N]"), "{screen}");
    again.types("\u{3}").await;
    assert_eq!(again.ended().await, Some(0));
}

#[tokio::test]
async fn whoever_says_no_gets_everything_else() {
    let folder = with_cursor();
    let mut terminal = Terminal::start(&folder, &UP);
    terminal.shows("[y/N]").await;
    terminal.types("n\r").await;
    let screen = terminal.shows("The page for you:").await;
    assert!(screen.contains("None was started"), "{screen}");
    terminal.shows("waiting for approval").await;
    terminal.types("\u{3}").await;
    assert_eq!(terminal.ended().await, Some(0));
}

#[tokio::test]
async fn with_nothing_found_there_is_a_guide_to_search() {
    let folder = Folder::empty();
    let trove = Trove::start_with(&folder, &UP).await;
    let client = trove.any_client().await;
    let text = client.text("guide://document/trove/connect-a-server").await;
    assert!(text.contains("trove.toml"), "{text}");
    let folder = &folder;
    until("the guide can be searched", async || {
        let found = folder.run(&["find", "--json", "connect a server"]).await;
        found.json()["resources"].as_array().is_some_and(|hits| !hits.is_empty())
    })
    .await;
    // Nothing was put where it was started.
    assert!(!folder.path().join("guide").exists() && !folder.config().exists());
}

#[tokio::test]
async fn with_servers_of_ones_own_those_of_others_are_only_mentioned() {
    let folder = with_cursor();
    folder.write(&config(&[toy("own", "--scheme own")]));
    let trove = Trove::start_with(&folder, &UP).await;
    trove.ready(&["own"]).await;
    let text = said(&trove);
    assert!(text.contains("2 servers of other clients are not among them"), "{text}");
    let health = trove.health().await;
    assert!(!health.to_string().contains("notes"), "{health}");
}

#[tokio::test]
async fn what_was_approved_is_there_for_every_command() {
    let folder = with_cursor();
    let before = folder.run(&["ls"]).await;
    assert!(!before.text().contains("notes://") && before.stderr.contains("2 servers of other"));
    assert_eq!(folder.run(&["approve", "notes"]).await.code, Some(0));
    let after = folder.run(&["ls"]).await;
    assert!(after.text().contains("notes://") && !after.text().contains("wiki://"), "{after:?}");
    let listed = folder.run(&["list", "--json"]).await.json();
    let state = |id: &str| {
        let all = listed["servers"].as_array().expect("servers").clone();
        all.into_iter().find(|one| one["id"] == id).expect("the server")["approval"].clone()
    };
    assert_eq!((state("notes"), state("wiki")), (json!("approved"), json!("waiting")));
}

#[tokio::test]
async fn no_entry_that_vouches_for_a_project_is_shown_before_its_servers_are_approved() {
    let folder = Folder::project(&config(&[toy("notes", "--scheme notes")]));
    folder.put("user/.cursor/mcp.json", "{}");
    let all_of = async |trove: &Trove| {
        until("all that it says", async || said(trove).contains("Ctrl-C")).await;
        said(trove)
    };
    let trove = Trove::start_with(&folder, &UP).await;
    let text = all_of(&trove).await;
    assert!(text.contains("approve the servers of this project first"), "{text}");
    assert!(!text.contains("--client cursor") && !text.contains("\"--config\""), "{text}");
    drop(trove);
    folder.run(&["approve", "--all"]).await;
    let text = all_of(&Trove::start_with(&folder, &UP).await).await;
    assert!(text.contains("--client cursor") && text.contains("\"--config\""), "{text}");
}
