//! Flags from the command line, with and without a running Trove.

use serde_json::json;

use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove, until};

const USAGE: Option<i32> = Some(1);
const CONFIG: Option<i32> = Some(2);
const NOT_THERE: Option<i32> = Some(5);

#[tokio::test]
async fn what_was_set_holds_for_the_next_command_from_its_first_moment() {
    let folder = Folder::with("");
    folder.put("guide/lang/flow.md", "---\nrequires: { workflow: true }\n---\n# Flow\n");
    let flow = ["read", "guide://document/lang/flow"];
    assert_eq!(folder.run(&flow).await.code, Some(5));
    assert_eq!(folder.run(&["flag", "set", "workflow", "true"]).await.code, Some(0));
    assert_eq!(folder.run(&flow).await.text(), "# Flow\n");
    assert_eq!(folder.run(&["flag", "unset", "workflow"]).await.code, Some(0));
    assert_eq!(folder.run(&flow).await.code, Some(5));
}

#[tokio::test]
async fn a_flag_is_set_read_listed_and_removed() {
    let folder = Folder::with("");
    let run = async |args: &[&str]| {
        let ran = folder.run(args).await;
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran.text().to_owned()
    };
    assert_eq!(run(&["flag", "set", "beta", "true"]).await, "");
    assert_eq!(run(&["flag", "set", "words", r#"["b", "a"]"#]).await, "");
    assert_eq!(run(&["flag", "set", "number", "12"]).await, "");
    assert_eq!(run(&["flag", "set", "--project", "here", "beta", "off by hand"]).await, "");
    assert_eq!(run(&["flag", "get", "beta"]).await, "true\n");
    assert_eq!(run(&["flag", "get", "number"]).await, "12\n");
    assert_eq!(run(&["flag", "get", "beta", "--project", "here"]).await, "off by hand\n");
    assert_eq!(
        run(&["flag", "list"]).await,
        "beta\ttrue\tglobal\nnumber\t12\tglobal\nwords\t[\"b\",\"a\"]\tglobal\n"
    );
    assert_eq!(
        run(&["flag", "list", "*e*", "--project", "here"]).await,
        "beta\toff by hand\tproject\ncontent-format\tmime\tdefault\nnumber\t12\tglobal\n"
    );
    assert_eq!(run(&["flag", "set", "other", "x", "--project", "here"]).await, "");
    assert_eq!(run(&["flag", "unset", "beta", "--project", "here"]).await, "");
    assert_eq!(run(&["flag", "get", "beta", "--project", "here"]).await, "true\n");
}

#[tokio::test]
async fn a_project_that_is_not_known_is_reported() {
    let folder = Folder::with("[guide.projects.shop]\n");
    let set = folder.run(&["flag", "set", "beta", "true", "--project", "desk"]).await;
    assert!(set.code == Some(0) && set.stderr.contains("desk was not known"), "{set:?}");
    for args in [
        &["flag", "get", "beta", "--project", "shpo"][..],
        &["flag", "list", "--project", "shpo"],
        &["flag", "unset", "beta", "--project", "shpo"],
    ] {
        let ran = folder.run(args).await;
        assert_eq!(ran.code, NOT_THERE, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("no project is called shpo; known are desk, shop"), "{ran:?}");
    }
    for known in ["desk", "shop"] {
        let ran = folder.run(&["flag", "list", "--project", known]).await;
        assert!(ran.code == Some(0) && ran.stderr.is_empty(), "{ran:?}");
    }
}

#[tokio::test]
async fn null_removes_as_it_does_with_the_tools_and_numbers_are_text() {
    let folder = Folder::with("");
    folder.run(&["flag", "set", "beta", "5"]).await;
    assert_eq!(folder.run(&["flag", "get", "beta", "--json"]).await.json()["value"], "5");
    assert_eq!(folder.run(&["flag", "set", "beta", "null"]).await.code, Some(0));
    assert_eq!(folder.run(&["flag", "get", "beta"]).await.code, NOT_THERE);
    // The word itself, in quotes.
    folder.run(&["flag", "set", "beta", "\"null\""]).await;
    assert_eq!(folder.run(&["flag", "get", "beta"]).await.text(), "null\n");
}

#[tokio::test]
async fn json_tells_value_and_origin() {
    let folder = Folder::with("");
    let set = folder.run(&["flag", "set", "m", r#"{"a": ["x"]}"#, "--json"]).await;
    assert_eq!(set.json(), json!({"success": true, "name": "m", "value": {"a": ["x"]}}));
    folder.run(&["flag", "set", "own", "true", "--project", "p"]).await;
    let got = folder.run(&["flag", "get", "content-format", "--project", "p", "--json"]).await;
    let expected = json!({
        "success": true, "project": "p", "name": "content-format", "value": "mime", "origin": "default",
    });
    assert_eq!(got.json(), expected);
    let listed = folder.run(&["flag", "list", "--json"]).await.json();
    assert_eq!(listed["flags"], json!([{"name": "m", "value": {"a": ["x"]}, "origin": "global"}]));
    let unset = folder.run(&["flag", "unset", "m", "--json"]).await.json();
    assert_eq!(unset, json!({"success": true, "name": "m", "was_set": true}));
}

#[tokio::test]
async fn what_is_refused_says_why_and_has_its_exit_code() {
    let folder = Folder::with("");
    for (args, code, says) in [
        (&["flag", "get", "nothing"][..], NOT_THERE, "nothing is not set"),
        (&["flag", "get", "content-format"], NOT_THERE, "its default is mime"),
        (&["flag", "set", "content-format", "html"], USAGE, "one of `mime`, `plain`, `parts`"),
        (&["flag", "set", "a b", "x"], USAGE, "no name of a flag"),
        (&["flag", "list", "["], USAGE, "no pattern"),
        (&["flag", "get", "x", "--project", ""], USAGE, "no name of a project"),
        (&["flag"], USAGE, "Usage"),
    ] {
        let ran = folder.run(args).await;
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(says) && ran.stdout.is_empty(), "{args:?}: {ran:?}");
    }
    let ran = folder.run(&["flag", "get", "nothing", "--json"]).await;
    assert_eq!((ran.code, &ran.json()["error"]), (NOT_THERE, &json!("NotFound")), "{ran:?}");
}

#[tokio::test]
async fn t35_a_damaged_store_stops_flags_and_nothing_else() {
    let folder = Folder::with(&config(&[toy("one", "--resources 1")]));
    std::fs::create_dir_all(folder.home()).expect("the state folder can be made");
    let store = folder.home().join("store.db");
    std::fs::write(&store, "rubbish".repeat(1000)).expect("the file can be written");
    let ran = folder.run(&["flag", "set", "beta", "true"]).await;
    assert_eq!(ran.code, CONFIG, "{ran:?}");
    assert!(ran.stderr.contains("is damaged") && ran.stderr.contains("mkdir"), "{ran:?}");
    let ran = folder.run(&["ls"]).await;
    assert!(ran.code == Some(0) && ran.text().contains("toy://item/0"), "{ran:?}");
    let trove = Trove::start_in(&folder).await;
    let flags = async || {
        let health = trove.health().await;
        let stores = health["stores"].as_array().cloned().unwrap_or_default();
        let flags = stores.into_iter().find(|store| store["name"] == "flags").expect("a store");
        (flags, health["status"].clone())
    };
    until("the store to be looked at", async || flags().await.0["state"] == "failing").await;
    let (flags, status) = flags().await;
    assert_eq!(status, "degraded");
    assert!(flags["problem"].as_str().is_some_and(|why| why.contains("damaged")), "{flags}");
    drop(trove);
    let kept = std::fs::read(&store).expect("the file is still there");
    assert_eq!(kept, "rubbish".repeat(1000).as_bytes());
}

#[tokio::test]
async fn flags_can_be_set_while_trove_runs_and_outlive_it() {
    let trove = Trove::start("").await;
    let ran = trove.folder.run(&["flag", "set", "beta", "true"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    trove.signal(rustix::process::Signal::KILL);
    let ran = trove.folder.run(&["flag", "get", "beta"]).await;
    assert_eq!((ran.code, ran.text()), (Some(0), "true\n"), "{ran:?}");
}
