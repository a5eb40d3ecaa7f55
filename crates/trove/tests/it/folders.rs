//! A folder is a server: its files are listed, found, read and watched without any program.

use std::{fs, os::unix::ffi::OsStrExt as _, path::Path, sync::Arc};

use serde_json::{Value, json};

use crate::kit::client::Kind;
use crate::kit::terminal::Terminal;
use crate::kit::{Folder, Trove, until};

const UPDATED: &str = "notifications/resources/updated";
const LISTS: &str = "notifications/resources/list_changed";

/// A machine with a folder of documents, and a configuration that names it.
fn with_docs() -> Arc<Folder> {
    let folder = Folder::with("[folders.docs]\npath = \"docs\"\n");
    folder.put("docs/readme.md", "# Otters\n\nAn otter holds hands while it sleeps.\n");
    folder.put("docs/api/users.rs", "pub fn find_user() {}\n");
    folder.put("docs/my notes/50%.txt", "half\n");
    folder.put("docs/.env", "SECRET=1\n");
    folder.put("docs/.gitignore", "*.log\n");
    folder.put("docs/noise.log", "noise\n");
    folder
}

/// The URI of a file of the folder `docs`.
fn uri(folder: &Folder, path: &str) -> String {
    let root = folder.path().canonicalize().expect("the folder is there");
    format!("file://{}/docs/{path}", root.display())
}

async fn listed(trove: &Trove) -> Vec<String> {
    let client = trove.any_client().await;
    let all = client.list("resources/list", "resources").await;
    let files = all.iter().filter_map(|entry| entry["uri"].as_str());
    files
        .filter(|uri| uri.starts_with("file://") && !uri.ends_with('/'))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn the_files_of_a_folder_are_listed_read_and_found() {
    let folder = with_docs();
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["docs"]).await;
    let expected = ["api/users.rs", "my%20notes/50%25.txt", "readme.md"];
    let mut found = listed(&trove).await;
    found.sort();
    assert_eq!(found, expected.map(|path| uri(&folder, path)));
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        assert_eq!(client.text(&uri(&folder, "my%20notes/50%25.txt")).await, "half\n");
        // Another spelling of the same file.
        assert_eq!(client.text(&uri(&folder, "my%20notes%2F50%25.txt")).await, "half\n");
        for hidden in [".env", "noise.log", ".gitignore", "api/../.env", "gone.md"] {
            assert!(client.read(&uri(&folder, hidden)).await.is_err(), "{hidden}");
        }
    }
    let client = trove.any_client().await;
    let all = client.list("resources/list", "resources").await;
    let api = client.text(&uri(&folder, "api")).await;
    assert_eq!(api, format!("{}\n", uri(&folder, "api/users.rs")), "what lies in it");
    let readme = all.iter().find(|entry| entry["name"] == "readme.md").expect("it is listed");
    assert_eq!((&readme["mimeType"], &readme["size"]), (&json!("text/markdown"), &json!(48)));
    assert!(readme["annotations"]["lastModified"].as_str().is_some_and(|at| at.ends_with('Z')));
    let templates = client.list("resources/templates/list", "resourceTemplates").await;
    let text = uri(&folder, "{+path}");
    assert!(templates.iter().any(|template| template["uriTemplate"] == text), "{templates:?}");
    let reference = json!({ "type": "ref/resource", "uri": text });
    let argument = json!({ "name": "path", "value": "api" });
    let params = json!({ "ref": reference, "argument": argument });
    let values = client.ask("completion/complete", params).await.expect("it completes");
    assert_eq!(values["completion"]["values"], json!(["api/users.rs"]));
    let folder = &folder;
    until("contents are found", async || {
        let ran = folder.run(&["find", "--json", "how does an otter sleep"]).await;
        ran.json()["resources"][0]["uri"] == uri(folder, "readme.md")
    })
    .await;
}

#[tokio::test]
async fn every_place_that_shows_servers_shows_folders() {
    let folder = with_docs();
    let trove = Trove::start_in(&folder).await;
    let source = trove.source("docs", crate::kit::is_ready).await;
    assert_eq!((&source["transport"], &source["resources"]), (&json!("folder"), &json!(4)));
    let list = folder.run(&["list", "--json"]).await.json();
    assert_eq!(list["servers"][0]["transport"], "folder", "{list}");
    assert!(folder.run(&["status"]).await.text().contains("docs"));
    assert!(folder.run(&["config", "check"]).await.text().contains("1 folder"));
    assert!(folder.run(&["config", "show"]).await.text().contains("[folders.docs]"));
    let summary = folder.run(&["summary", "--json"]).await.json();
    assert!(summary.to_string().contains("\"docs\""), "{summary}");
    let doctor = folder.run(&["doctor", "--json"]).await.json();
    assert_eq!(doctor["ok"], true, "{doctor}");
}

#[tokio::test]
async fn a_change_on_the_disk_is_told() {
    let folder = with_docs();
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["docs"]).await;
    let readme = uri(&folder, "readme.md");
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let following = client.follow(&[&readme]).await;
        folder.put("docs/readme.md", &format!("# {kind:?}\n"));
        assert_eq!(client.hear(UPDATED).await["params"]["uri"], readme.as_str(), "{kind:?}");
        assert_eq!(client.text(&readme).await, format!("# {kind:?}\n"));
        client.unfollow(following, &[&readme]).await;
    }
    let client = trove.client(Kind::STDIO_LEGACY).await;
    folder.put("docs/new/deep/er.md", "new\n");
    client.hear(LISTS).await;
    let new = uri(&folder, "new/deep/er.md");
    let (trove, new) = (&trove, &new);
    until("the new file is listed", async || listed(trove).await.contains(new)).await;
    // A file that appears in a new folder is seen as well.
    folder.put("docs/new/deep/second.md", "second\n");
    let second = uri(&folder, "new/deep/second.md");
    until("the second is listed", async || listed(trove).await.contains(&second)).await;
    fs::remove_dir_all(folder.path().join("docs/new")).expect("it can be removed");
    until("both are gone", async || listed(trove).await.len() == 3).await;
    // Another folder under an old name is followed like the first.
    fs::remove_dir_all(folder.path().join("docs/api")).expect("it can be removed");
    folder.put("docs/api/other.rs", "other\n");
    let other = uri(&folder, "api/other.rs");
    until("the other is listed", async || listed(trove).await.contains(&other)).await;
    folder.put("docs/api/third.rs", "third\n");
    let third = uri(&folder, "api/third.rs");
    until("the third is listed", async || listed(trove).await.contains(&third)).await;
    fs::remove_file(folder.path().join("docs/api/third.rs")).expect("it can be removed");
    until("it is gone", async || listed(trove).await.len() == 3).await;
    folder.put("docs/.gitignore", "*.md\n");
    until("other rules hold", async || {
        listed(trove).await.len() == 3
            && listed(trove).await.iter().any(|uri| uri.ends_with("noise.log"))
    })
    .await;
}

#[tokio::test]
async fn a_folder_that_goes_away_is_said_to_and_comes_back() {
    let folder = with_docs();
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["docs"]).await;
    let (docs, away) = (folder.path().join("docs"), folder.path().join("away"));
    fs::rename(&docs, &away).expect("it can be moved");
    let gone = trove.source("docs", |source| source["state"] == "backoff").await;
    assert!(gone["last_error"].to_string().contains("is not there"), "{gone}");
    fs::rename(&away, &docs).expect("it can be moved back");
    trove.ready(&["docs"]).await;
    assert_eq!(
        trove.any_client().await.text(&uri(&folder, "my%20notes/50%25.txt")).await,
        "half\n"
    );
}

#[tokio::test]
async fn directories_and_skills_of_a_folder_are_served() {
    let folder = with_docs();
    folder.put(
        "docs/tools/greet/SKILL.md",
        "---\nname: greet\ndescription: Says hello.\n---\nHello.\n",
    );
    folder.put("docs/tools/greet/words.txt", "hello\n");
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["docs"]).await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    let skills = client.list("skills/list", "skills").await;
    let main = uri(&folder, "tools/greet/SKILL.md");
    let skill = skills.iter().find(|skill| skill["uri"] == main.as_str()).expect("it is listed");
    assert_eq!(skill["frontmatter"]["description"], "Says hello.");
    assert_eq!(skill["resources"].as_array().map(Vec::len), Some(2));
    let members = client.ask("resources/directory/read", json!({ "uri": uri(&folder, "") })).await;
    let members = members.expect("the root is a directory");
    let names: Vec<&Value> =
        members["resources"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["api", "my notes", "tools", "readme.md"]);
}

#[tokio::test]
async fn adding_a_folder_takes_one_word_and_twice_is_once() {
    let folder = Folder::empty();
    folder.put("docs/a.md", "a\n");
    folder.put("user/b.md", "b\n");
    let added = folder.run(&["add", "./docs"]).await;
    assert_eq!(added.code, Some(0), "{added:?}");
    let config = fs::read_to_string(folder.config()).expect("it was written");
    assert!(config.contains("[folders.docs]\npath = \"./docs\""), "{config}");
    let again = folder.run(&["add", "docs/"]).await;
    assert!(again.code == Some(0) && again.text().contains("served already"), "{again:?}");
    assert_eq!(fs::read_to_string(folder.config()).expect("it is there"), config);
    for (args, says) in [
        (["add", "docs/a.md"], "is no folder"),
        (["add", "gone"], "there is no folder"),
        (["add", "~"], "private"),
        (["add", "/"], "private"),
    ] {
        let ran = folder.run(&args).await;
        assert!(ran.code == Some(1) && ran.stderr.contains(says), "{args:?}: {ran:?}");
    }
    assert_eq!(folder.run(&["add", "~", "--yes", "--as", "all"]).await.code, Some(0));
    let removed = folder.run(&["remove", "docs"]).await;
    assert_eq!(removed.code, Some(0), "{removed:?}");
    let list = folder.run(&["list", "--json"]).await.json();
    assert_eq!(list["servers"][0]["id"], "all", "{list}");
}

#[tokio::test]
async fn a_project_serves_what_lies_in_it_and_asks_for_more() {
    let outside = tempfile::tempdir().expect("a temporary folder can be made");
    fs::write(outside.path().join("secret.md"), "secret\n").expect("it can be written");
    let elsewhere = outside.path().display();
    let folder = Folder::project(&format!(
        "[folders.own]\npath = \"docs\"\n[folders.other]\npath = \"{elsewhere}\"\n"
    ));
    folder.put("docs/a.md", "a\n");
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["own"]).await;
    let waiting = trove.source("other", |source| source["state"] == "idle").await;
    assert!(waiting["last_error"].to_string().contains("trove approve"), "{waiting}");
    let shown = folder.run(&["approve"]).await;
    assert!(shown.text().contains("waiting for approval"), "{shown:?}");
    assert_eq!(folder.run(&["approve", "other"]).await.code, Some(0));
    trove.ready(&["own", "other"]).await;
}

#[tokio::test]
async fn where_nothing_is_found_the_folder_one_stands_in_is_offered() {
    let folder = Folder::empty();
    folder.put("a.md", "a\n");
    let mut terminal = Terminal::start(&folder, &["up", "--http", "127.0.0.1:0", "--no-auth"]);
    terminal.shows("[y/N]").await;
    assert!(!folder.config().exists());
    terminal.types("y\r").await;
    terminal.shows("The page for you:").await;
    let config = fs::read_to_string(folder.config()).expect("it was written");
    assert!(config.contains("path = \".\""), "{config}");
    terminal.types("\u{3}").await;
    assert_eq!(terminal.ended().await, Some(0));
}

#[tokio::test]
async fn links_names_and_pipes_of_a_hostile_folder_harm_nothing() {
    let folder = with_docs();
    let docs = folder.path().join("docs");
    folder.put("secret.txt", "secret\n");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, docs.join(name)).expect("a link can be made");
    };
    link("../secret.txt", "out.txt");
    link("/etc", "etc");
    link(".env", "env.txt");
    link("readme.md", "alias.md");
    link("loop-b", "loop-a");
    link("loop-a", "loop-b");
    link("..", "up");
    let odd = docs.join(Path::new(std::ffi::OsStr::from_bytes(b"bad\xff\xfename.txt")));
    fs::write(&odd, "odd\n").expect("the name is one the disk takes");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        docs.join("pipe.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe can be made");
    let rules = docs.join("piped");
    fs::create_dir(&rules).expect("a folder can be made");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        rules.join(".gitignore"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe can be made");
    folder.put("docs/piped/in.md", "in\n");
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["docs"]).await;
    let mut names: Vec<String> = listed(&trove).await;
    names.sort();
    let expected = [
        "alias.md",
        "api/users.rs",
        "bad%FF%FEname.txt",
        "my%20notes/50%25.txt",
        "piped/in.md",
        "readme.md",
    ];
    assert_eq!(names, expected.map(|path| uri(&folder, path)));
    let client = trove.any_client().await;
    assert_eq!(client.text(&uri(&folder, "bad%FF%FEname.txt")).await, "odd\n");
    assert!(client.text(&uri(&folder, "alias.md")).await.contains("otter"));
    for closed in
        ["out.txt", "etc/passwd", "env.txt", "up/secret.txt", "loop-a", "pipe.md", "../secret.txt"]
    {
        assert!(client.read(&uri(&folder, closed)).await.is_err(), "{closed}");
    }
}
