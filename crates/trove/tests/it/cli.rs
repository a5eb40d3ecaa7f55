//! The command line, as a person or a script meets it.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::kit::terminal::Terminal;
use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove};

const USAGE: Option<i32> = Some(1);
const CONFIG: Option<i32> = Some(2);
const UNREACHABLE: Option<i32> = Some(4);
const SOURCE: Option<i32> = Some(5);

fn one(args: &str) -> std::sync::Arc<Folder> {
    Folder::with(&config(&[toy("one", args)]))
}

#[tokio::test]
async fn ls_shows_every_resource_and_template_with_its_server() {
    let ran = one("--resources 2").run(&["ls"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.text().lines().collect();
    for line in ["one\ttoy://item/1\titem-1", "one\tnote://{id}\tA note"] {
        assert!(lines.contains(&line), "{line:?} in {lines:?}");
    }
    assert!(lines.iter().any(|line| line.starts_with("trove\tinfo://health\t")), "{lines:?}");
}

#[tokio::test]
async fn ls_as_json_is_one_array_of_whole_entries() {
    let ran = one("--resources 2").run(&["ls", "--json"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let entries = ran.json();
    let entries = entries.as_array().expect("one array");
    let find = |key: &str, value: &str| entries.iter().find(|entry| entry[key] == value);
    let resource = find("uri", "toy://item/1").expect("the resource is there");
    assert_eq!((&resource["server"], &resource["mimeType"]), (&json!("one"), &json!("text/plain")));
    let template = find("uriTemplate", "note://{id}").expect("the template is there");
    assert_eq!(template["server"], "one");
    // A number that only a raw proxy keeps is kept.
    assert!(ran.text().contains("123456789012345678901234567890"));
}

#[tokio::test]
async fn ls_does_not_wait_for_a_server_that_cannot_list() {
    let toys = [toy("fine", "--scheme fine"), toy("wordless", "--fault error:list")];
    let folder = Folder::with(&config(&toys));
    let ran = folder.run(&["ls"]).await;
    assert!(ran.text().contains("fine\tfine://pid\t"), "{ran:?}");
}

#[tokio::test]
async fn t18_no_control_character_of_a_server_reaches_the_terminal() {
    let folder = one("--bare --shared toy://a\u{1b}[31mred\u{202e}");
    let ran = folder.run(&["ls"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.text().contains(['\u{1b}', '\u{202e}']), "{ran:?}");
    assert!(ran.text().contains("toy://a\\u{1b}[31mred\\u{202e}"), "{ran:?}");
}

#[tokio::test]
async fn t18_what_is_read_cannot_steer_the_terminal_and_is_raw_everywhere_else() {
    let folder = Folder::with("");
    let text = "\u{1b}[2Jred\u{1b}]0;title\u{7}\u{202e}\u{9b}31m\u{e0041}\u{200b} end";
    folder.put("guide/lang/x.md", text);
    let uri = "guide://document/lang/x.md";
    let seen = "\\u{1b}[2Jred\\u{1b}]0;title\\u{7}\\u{202e}\\u{9b}31m\\u{e0041}\\u{200b} end";
    let part = ["--max", "100"];
    for (more, before) in [(&[][..], ""), (&part, ""), (&["--grep", "end"], "1:")] {
        let args = [&["--quiet", "read", uri][..], more].concat();
        let mut terminal = Terminal::start(&folder, &args);
        let screen = terminal.shows("end\r\n").await;
        assert_eq!(screen, format!("{before}{seen}\r\n"), "{more:?}");
        assert_eq!(terminal.ended().await, Some(0));
    }
    assert_eq!(folder.run(&["read", uri]).await.text(), text);
}

#[tokio::test]
async fn read_gives_text_as_text_and_binary_as_bytes() {
    let folder = one("");
    let text = folder.run(&["read", "toy://counter"]).await;
    assert_eq!((text.code, text.text()), (Some(0), "one|toy://counter|0"));
    let blob = folder.run(&["read", "toy://blob"]).await;
    let expected: Vec<u8> = b"one|toy://blob|".iter().copied().chain(0..=u8::MAX).collect();
    assert_eq!((blob.code, blob.stdout), (Some(0), expected));
    let filled = folder.run(&["read", "one+note://alpha"]).await;
    assert_eq!((filled.code, filled.text()), (Some(0), "one|note://alpha|"));
}

#[tokio::test]
async fn parts_put_together_are_the_resource_whatever_it_holds() {
    let trove = Trove::start_in(&one("")).await;
    let folder = &trove.folder;
    folder.put("guide/lang/x.md", "äöü, ohne Ende");
    for uri in ["toy://blob", "toy://counter", "guide://document/lang/x.md"] {
        let whole = folder.run(&["read", uri]).await.stdout;
        for form in ["auto", "binary"] {
            let mut parts = Vec::new();
            for start in (0..=whole.len()).step_by(7) {
                let start = start.to_string();
                let args = ["read", uri, "--format", form, "--offset", &start, "--max", "7"];
                parts.extend(folder.run(&args).await.stdout);
            }
            assert_eq!(parts, whole, "{uri} as {form}");
        }
        let rest = folder.run(&["read", uri, "--offset", "3"]).await;
        assert_eq!(rest.stdout, whole[3..], "{uri}");
        let behind = folder.run(&["read", uri, "--offset", "5000"]).await;
        assert_eq!((behind.code, behind.stdout), (Some(0), Vec::new()), "{uri}");
    }
    let text = folder.run(&["read", "toy://counter", "--format", "text"]).await;
    assert_eq!(text.text(), "one|toy://counter|0");
    let none = folder.run(&["read", "toy://blob", "--format", "text"]).await;
    assert_eq!(none.code, SOURCE, "{none:?}");
    let lines = folder.run(&["read", "toy://counter", "--grep", "count"]).await;
    assert_eq!(lines.text(), "1:one|toy://counter|0\n");
    let wrong = folder.run(&["read", "toy://counter", "--format", "nonsense"]).await;
    assert_eq!(wrong.code, USAGE, "{wrong:?}");
}

#[tokio::test]
async fn read_as_json_is_the_object_that_get_resource_gives() {
    let ran = one("").run(&["read", "--json", "toy://counter"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["data"], "one|toy://counter|0");
    assert_eq!(ran.json()["server"], "one");
}

#[tokio::test]
async fn what_cannot_be_read_is_explained_and_has_its_exit_code() {
    let folder = Folder::with(&config(&[
        toy("one", ""),
        toy("two", ""),
        toy("gone", "--scheme gone --fault crash:init"),
    ]));
    for (uri, code, says) in [
        ("nowhere://x", SOURCE, "no source serves nowhere://x"),
        ("one+toy://nothing", SOURCE, "toy://nothing"),
        ("toy://counter", SOURCE, "one+toy://counter, two+toy://counter"),
        ("gone+gone://pid", UNREACHABLE, "not connected"),
    ] {
        let ran = folder.run(&["read", uri]).await;
        assert_eq!(ran.code, code, "{uri}: {ran:?}");
        assert!(ran.stdout.is_empty() && ran.stderr.contains(says), "{uri}: {ran:?}");
        let ran = folder.run(&["read", "--json", uri]).await;
        assert_eq!((ran.code, &ran.json()["success"]), (code, &json!(false)), "{uri}: {ran:?}");
    }
}

#[tokio::test]
async fn status_shows_the_state_of_every_server_and_the_last_words_of_a_failing_one() {
    let toys = [toy("fine", "--resources 2 --bare"), toy("broken", "--fault crash:init")];
    let folder = Folder::with(&config(&toys));
    let ran = folder.run(&["status"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line = |id: &str| ran.text().lines().find(|line| line.starts_with(id)).unwrap_or_default();
    assert!(line("fine").contains("ready") && line("fine").contains("2 resources"), "{ran:?}");
    assert!(line("broken").contains("backoff") || line("broken").contains("connecting"), "{ran:?}");
    assert!(ran.text().contains("crashed, as told"), "its stderr: {ran:?}");

    let health = folder.run(&["status", "--json"]).await.json();
    assert_eq!(health["status"], "degraded");
    let sources = health["sources"].as_array().expect("sources");
    let ids: Vec<&Value> = sources.iter().map(|source| &source["id"]).collect();
    assert_eq!(ids, ["broken", "fine", "guide", "trove"]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_written_is_a_failure_and_one_nobody_reads_on_is_none() {
    let folder = one("");
    let into = async |stdout: Stdio, line: &str| {
        let mut command = folder.command();
        command.args(line.split(' ')).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
        // `output` would take stdout for itself.
        let child = command.spawn().expect("trove can be started");
        let output = child.wait_with_output().await.expect("trove runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for line in ["read toy://counter", "read toy://counter --json", "ls", "man", "flag list --json"]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
        let (code, stderr) = into(full.into(), line).await;
        assert_eq!(code, UNREACHABLE, "{line}: {stderr}");
        assert!(stderr.contains("error: the answer could not be written"), "{line}: {stderr}");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        assert_eq!(into(writer.into(), line).await, (Some(0), String::new()), "{line}");
    }
}

#[tokio::test]
async fn a_script_is_told_what_is_wrong_with_the_configuration() {
    let folder = Folder::with("[http]\naddr = \"x\"\n");
    let ran = folder.run(&["ls", "--json"]).await;
    assert_eq!((ran.code, &ran.json()["error"]), (CONFIG, &json!("Config")), "{ran:?}");
    let problem = ran.json()["problems"][0].clone();
    assert_eq!(
        (&problem["file"], &problem["line"]),
        (&json!("trove.toml"), &json!(2)),
        "{problem}"
    );
    assert_eq!(problem["message"], "`x` is no IP address with a port", "{problem}");
    assert!(problem["hint"].as_str().is_some_and(|hint| hint.contains("127.0.0.1")), "{problem}");
}

#[tokio::test]
async fn a_wrong_command_line_is_explained() {
    let folder = Folder::empty();
    for args in [&["nonsense"][..], &["read"], &["ls", "--nonsense"], &["serve", "--http", "x"]] {
        let ran = folder.run(args).await;
        assert_eq!(ran.code, USAGE, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("error:") && ran.stdout.is_empty(), "{args:?}: {ran:?}");
    }
    for args in [&["--help"][..], &["--version"], &["serve", "--help"]] {
        assert_eq!(folder.run(args).await.code, Some(0), "{args:?}");
    }
}

#[tokio::test]
async fn a_wrong_configuration_is_explained_with_its_line() {
    let folder = Folder::with("[servers.one]\ncomand = \"x\"\n");
    for args in [&["ls"][..], &["read", "x:y"], &["status"], &["serve", "--stdio"]] {
        let ran = folder.run(args).await;
        assert_eq!(ran.code, CONFIG, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("trove.toml:2") && ran.stderr.contains("comand"), "{ran:?}");
    }
    let ran = folder.run(&["config", "check"]).await;
    assert_eq!(ran.code, CONFIG, "{ran:?}");
    assert!(ran.text().contains("trove.toml:2"), "{ran:?}");
    let ran = folder.run(&["config", "check", "--json"]).await;
    assert_eq!(ran.code, CONFIG);
    assert!(ran.json().to_string().contains("comand"), "{ran:?}");
}

#[tokio::test]
async fn a_wrong_entry_in_a_clients_file_is_told_by_the_exit_code_of_the_check() {
    let folder = Folder::empty();
    let servers = r#"{"mcpServers": {"good": {"command": "toymcp"}, "bad": {"args": []}}}"#;
    std::fs::write(folder.path().join("mcp.json"), servers).expect("a file");
    let check = ["config", "check", "--config", "mcp.json"];
    let ran = folder.run(&check).await;
    assert_eq!(ran.code, CONFIG, "{ran:?}");
    assert!(ran.text().contains("1 server") && ran.text().contains("bad"), "{ran:?}");
    let ran = folder.run(&[&check[..], &["--json"]].concat()).await;
    assert_eq!((ran.code, &ran.json()["usable"]), (CONFIG, &json!(true)), "{ran:?}");
}

#[tokio::test]
async fn a_named_configuration_that_is_not_there_is_an_error() {
    let ran = Folder::empty().run(&["ls", "--config", "missing.toml"]).await;
    assert_eq!(ran.code, CONFIG, "{ran:?}");
    assert!(ran.stderr.contains("missing.toml"), "{ran:?}");
}

#[tokio::test]
async fn a_right_configuration_is_confirmed_and_shown_without_its_secrets() {
    let folder = Folder::with(
        "[servers.one]\ncommand = \"toymcp\"\nenv = { API_KEY = \"hunter2-secret\" }\n\
         [servers.two]\nurl = \"https://x.example/mcp\"\n\
         headers = { Authorization = \"Bearer hunter2-secret\" }\n",
    );
    let ran = folder.run(&["config", "check"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for args in [&["config", "show"][..], &["config", "show", "--json"]] {
        let ran = folder.run(args).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.text().contains("toymcp") && ran.text().contains("API_KEY"), "{ran:?}");
        assert!(!ran.text().contains("hunter2-secret"), "{ran:?}");
    }
    let schema = folder.run(&["config", "schema"]).await.json();
    assert!(schema["properties"]["servers"].is_object(), "{schema}");
}

#[tokio::test]
async fn a_configuration_that_is_not_there_or_broken_is_not_shown_as_if_it_held() {
    let folder = Folder::with("[servers.one\n");
    for args in [&["config", "show"][..], &["config", "show", "--json", "--config", "/nonexistent"]]
    {
        let ran = folder.run(args).await;
        assert_eq!(ran.code, CONFIG, "{args:?}: {ran:?}");
        assert!(
            ran.stderr.contains("trove.toml") || ran.stderr.contains("/nonexistent"),
            "{ran:?}"
        );
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_said_to_be() {
    let trove = Trove::start("").await;
    let taken = trove.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let ran = trove.folder.run(&["serve", "--http", taken]).await;
    assert_eq!(ran.code, UNREACHABLE, "{ran:?}");
    assert!(ran.stderr.contains(taken) && ran.stderr.contains("--http"), "{ran:?}");
}

#[tokio::test]
async fn strangers_are_never_let_in_without_a_token() {
    let ran = Folder::with("").run(&["serve", "--http", "0.0.0.0:0", "--no-auth"]).await;
    assert_eq!(ran.code, CONFIG, "{ran:?}");
    assert!(ran.stderr.contains("open to everyone"), "{ran:?}");
}

#[tokio::test]
async fn up_without_a_configuration_says_how_to_add_a_server_and_serves() {
    let folder = Folder::empty();
    let trove = Trove::start_with(&folder, &["up", "--http", "127.0.0.1:0", "--no-auth"]).await;
    let uris = trove.any_client().await.uris().await;
    for uri in ["guide://help", "auth://status", "config://server", "info://health"] {
        assert!(uris.iter().any(|one| one == uri), "{uri} in {uris:?}");
    }
    assert_eq!(trove.health().await["status"], "ok");
    let said: Vec<String> = trove.stdout().since(0).iter().map(|line| line.text.clone()).collect();
    let said = said.join("\n");
    for words in
        [trove.url.as_str(), "trove.toml", "[servers.docs]", "--config", "trove init", "Ctrl-C"]
    {
        assert!(said.contains(words), "{words:?} in {said}");
    }
}

#[tokio::test]
async fn a_mistake_on_the_command_line_is_one_json_line_where_json_is_wanted() {
    let folder = Folder::with("");
    for line in [
        vec!["find", "--json", "--nonsense"],
        vec!["read", "--json"],
        vec!["bench", "--reads", "0", "--json"],
    ] {
        let ran = folder.run(&line).await;
        assert_eq!((ran.code, ran.text().lines().count()), (USAGE, 1), "{line:?}: {ran:?}");
        let said = ran.json();
        assert_eq!((&said["success"], &said["error"]), (&json!(false), &json!("InvalidArguments")));
        assert!(said["message"].as_str().is_some_and(|text| !text.starts_with("error")), "{said}");
    }
    let ran = folder.run(&["find", "--nonsense"]).await;
    assert!(
        ran.code == USAGE && ran.stdout.is_empty() && ran.stderr.contains("--nonsense"),
        "{ran:?}"
    );
    assert_eq!(folder.run(&["find", "--help", "--json"]).await.code, Some(0));
}
