//! `trove add`, `trove remove`, `trove list`: the configuration, changed by command.

use crate::kit::Folder;

#[tokio::test]
async fn a_server_is_added_and_removed_and_all_else_stays() {
    let before = "# mine\n[http]\naddr = \"127.0.0.1:7999\" # here\n\n[servers.old]\nurl = \"https://a.example/mcp\"\n";
    let folder = Folder::with(before);
    let dry = folder.run(&["add", "--dry-run", "docs", "--", "docs-server", "--root", "a b"]).await;
    assert!(dry.text().contains("+command = \"docs-server\""), "{dry:?}");
    let text = || std::fs::read_to_string(folder.config()).expect("the configuration");
    assert_eq!(text(), before);

    let ran = folder
        .run(&["add", "docs", "--env", "KEY=${env:DOCS_KEY}", "--", "docs-server", "--root", "a b"])
        .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let after = text();
    assert!(after.starts_with(before.trim_end()), "{after}");
    for line in ["[servers.docs]", "args = [\"--root\", \"a b\"]", "KEY = \"${env:DOCS_KEY}\""] {
        assert!(after.contains(line), "{line} in {after}");
    }
    let url = ["add", "far", "--url", "https://b.example/mcp", "--header", "X-Key: ${env:K}"];
    assert_eq!(folder.run(&url).await.code, Some(0));
    let twice = folder.run(&url).await;
    assert_eq!(twice.code, Some(1), "{twice:?}");
    let listed = folder.run(&["list"]).await;
    for words in ["docs", "docs-server", "https://b.example/mcp", "old"] {
        assert!(listed.text().contains(words), "{words} in {listed:?}");
    }

    for id in ["docs", "far"] {
        assert_eq!(folder.run(&["remove", id]).await.code, Some(0));
    }
    assert_eq!(text().trim_end(), before.trim_end());
    let gone = folder.run(&["remove", "docs", "--json"]).await;
    assert_eq!((gone.code, gone.json()["success"].as_bool()), (Some(1), Some(false)), "{gone:?}");
}

#[tokio::test]
async fn the_first_server_makes_the_file() {
    let folder = Folder::empty();
    assert!(folder.run(&["list"]).await.text().contains("trove add"));
    assert_eq!(folder.run(&["add", "docs", "--", "true"]).await.code, Some(0));
    let text = std::fs::read_to_string(folder.config()).expect("the configuration");
    assert_eq!(text, "[servers.docs]\ncommand = \"true\"\n");
}

#[tokio::test]
async fn tools_and_guide_are_told_of_without_any_server() {
    let folder = Folder::empty();
    let tools = folder.run(&["tools"]).await;
    assert!(tools.text().contains("get_resource"), "{tools:?}");
    let one = folder.run(&["tools", "show", "get_resource"]).await;
    assert!(one.text().starts_with("# get_resource\n"), "{one:?}");
    let schema = folder.run(&["tools", "show", "get_resource", "--json"]).await.json();
    assert!(schema["inputSchema"]["properties"]["uri"].is_object(), "{schema}");
    let wrong = folder.run(&["tools", "show", "nothing"]).await;
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    let wrong = folder.run(&["tools", "show", "nothing", "--json"]).await;
    assert_eq!(wrong.json()["error"], "InvalidArguments", "{wrong:?}");

    folder.put("guide/lang/rust.md", "# Rust\n\nBorrow, do not clone.\n");
    let list = folder.run(&["guide", "list"]).await;
    assert!(list.text().contains("lang"), "{list:?}");
    let documents = folder.run(&["guide", "documents", "lang"]).await;
    assert!(documents.text().contains("rust.md"), "{documents:?}");
    let shown = folder.run(&["guide", "show", "lang/rust"]).await;
    assert!(shown.text().contains("Borrow, do not clone."), "{shown:?}");
    let missing = folder.run(&["guide", "show", "lang/nothing", "--json"]).await;
    assert_eq!(missing.json()["success"], false, "{missing:?}");
}

#[tokio::test]
async fn whoever_adds_a_server_to_a_project_is_told_that_it_waits() {
    let project = Folder::project("");
    let ran = project.run(&["add", "docs", "--", "sh"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("trove approve") && ran.stderr.contains(" docs`"), "{ran:?}");
    let own = Folder::with("");
    let ran = own.run(&["add", "docs", "--", "sh"]).await;
    assert!(!ran.stderr.contains("approve"), "{ran:?}");
}

#[tokio::test]
async fn a_server_that_would_break_the_configuration_is_not_added() {
    let folder = Folder::with("[servers.old]\nurl = \"https://a.example/mcp\"\n");
    let before = std::fs::read_to_string(folder.config()).expect("the configuration");
    for more in [&[][..], &["--dry-run"], &["--json"]] {
        let ran = folder.run(&[&["add", "x", "--url", "ftp://foo"][..], more].concat()).await;
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let told = if more == ["--json"] { ran.json()["message"].to_string() } else { ran.stderr };
        assert!(told.contains("ftp") || told.contains("http"), "{told}");
        assert!(!String::from_utf8_lossy(&ran.stdout).contains("added"), "{more:?}");
    }
    let text = || std::fs::read_to_string(folder.config()).expect("the configuration");
    assert_eq!(text(), before);
    assert_eq!(folder.run(&["config", "check"]).await.code, Some(0));
}

#[tokio::test]
async fn what_was_wrong_before_does_not_stop_an_add_and_a_remove_that_work() {
    let folder = Folder::with("[servers.odd]\nurl = \"ftp://foo\"\n");
    let added = folder.run(&["add", "docs", "--json", "--", "true"]).await;
    assert_eq!((added.code, &added.json()["success"]), (Some(0), &true.into()), "{added:?}");
    assert!(added.json()["problems"][0].is_string(), "{added:?}");
    let removed = folder.run(&["remove", "docs"]).await;
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert!(removed.stderr.contains("warning: the configuration has an error"), "{removed:?}");
    let mended = folder.run(&["remove", "odd"]).await;
    assert_eq!((mended.code, mended.stderr.as_str()), (Some(0), ""), "{mended:?}");
}
