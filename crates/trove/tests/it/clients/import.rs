//! The servers of other clients in `trove.toml`.

use serde_json::{Value, json};

use super::{Home, file_of, ran};

const CURSOR: &str = ".cursor/mcp.json";

fn server<'a>(report: &'a Value, id: &str) -> &'a Value {
    let servers = report["servers"].as_array().expect("servers");
    servers.iter().find(|server| server["id"] == id).unwrap_or(&Value::Null)
}

#[test]
fn the_servers_of_every_client_come_together() {
    let home = Home::new();
    for (client, text) in [
        ("claude-desktop", r#"{"mcpServers": {"a": {"command": "a"}}}"#),
        ("claude-code", r#"{"mcpServers": {"b": {"command": "b"}}}"#),
        ("cursor", r#"{"mcpServers": {"c": {"command": "c"}}}"#),
        ("vscode", r#"{"servers": {"d": {"command": "d"}}}"#),
        ("windsurf", r#"{"mcpServers": {"e": {"serverUrl": "https://e.example/mcp"}}}"#),
        ("zed", r#"{"context_servers": {"f": {"command": "f"}}}"#),
        ("codex", "[mcp_servers.g]\ncommand = \"g\"\n"),
        ("gemini", r#"{"mcpServers": {"h": {"httpUrl": "https://h.example/mcp"}}}"#),
        ("cline", r#"{"mcpServers": {"i": {"url": "https://i.example/sse"}}}"#),
        ("continue", "mcpServers:\n  - name: j\n    command: j\n"),
        ("goose", "extensions:\n  k: {type: stdio, cmd: k}\n"),
        ("opencode", r#"{"mcp": {"l": {"type": "local", "command": ["l", "-x"]}}}"#),
    ] {
        home.write(file_of(client), text);
    }
    home.write(".continue/config.yaml", "mcpServers:\n  - name: m\n    command: m\n");
    home.write("project/.mcp.json", r#"{"mcpServers": {"n": {"command": "n"}}}"#);
    let before = home.files();
    let ran = home.run(&["import"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let check = home.run(&["config", "check"]);
    assert!(check.stdout.contains("14 servers"), "{check:?}\n{ran:?}");
    let text = home.read("project/trove.toml");
    assert!(text.contains("[servers.i]\nurl = \"https://i.example/sse\"\ntransport = \"sse\""));
    assert!(text.contains("[servers.l]\ncommand = \"l\"\nargs = [\"-x\"]"), "{text}");
    assert_eq!(home.files().len(), before.len() + 1, "only trove.toml is new");
}

#[test]
fn t32_no_secret_is_copied_and_each_is_asked_for() {
    let home = Home::new();
    home.write(
        CURSOR,
        r#"{"mcpServers": {
          "github": {"command": "gh", "env": {"GITHUB_TOKEN": "hunter2a", "LOG": "info"},
                     "args": ["--api-key", "hunter2b", "--password=hunter2c",
                              "postgres://ann:hunter2d@db/x", "--mode", "fast"]},
          "wiki": {"url": "https://wiki.example/mcp?api_key=hunter2e&page=1",
                   "headers": {"Authorization": "Bearer hunter2f", "X-Api-Key": "hunter2g",
                               "Accept-Language": "de"}},
          "other": {"command": "x", "env": {"GITHUB_TOKEN": "hunter2h"}}
        }}"#,
    );
    for args in [&["import", "--dry-run"][..], &["import", "--dry-run", "--json"], &["import"]] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.stdout.contains("hunter2") && !ran.stderr.contains("hunter2"), "{ran:?}");
        for variable in [
            "GITHUB_TOKEN",
            "GITHUB_API_KEY",
            "GITHUB_PASSWORD",
            "WIKI_API_KEY",
            "WIKI_TOKEN",
            "WIKI_X_API_KEY",
            "OTHER_GITHUB_TOKEN",
        ] {
            assert!(ran.stdout.contains(variable), "{variable}: {}", ran.stdout);
        }
    }
    let text = home.read("project/trove.toml");
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains("Bearer ${env:WIKI_TOKEN}") && text.contains("LOG = \"info\""), "{text}");
    assert!(text.contains("api_key=${env:WIKI_API_KEY}&page=1"), "{text}");
    assert!(text.contains("GITHUB_TOKEN = \"${env:OTHER_GITHUB_TOKEN}\""), "{text}");
}

#[test]
fn a_variable_that_is_set_already_is_not_asked_for() {
    let home = Home::new();
    home.write(CURSOR, r#"{"mcpServers": {"a": {"command": "a", "env": {"A_TOKEN": "same"}}}}"#);
    let mut command = home.command(&["import", "--dry-run"]);
    let same = ran(command.env("A_TOKEN", "same"));
    assert!(!same.stdout.contains("Set these"), "{same:?}");
    let mut command = home.command(&["import", "--dry-run"]);
    let other = ran(command.env("A_TOKEN", "other"));
    assert!(other.stdout.contains("Set these"), "{other:?}");
}

#[test]
fn variables_and_times_are_rewritten_from_each_dialect() {
    let home = Home::new();
    let project = home.project().canonicalize().unwrap();
    home.write(
        CURSOR,
        r#"{"mcpServers": {"c": {"command": "${userHome}/c", "args": ["${workspaceFolder}/x", "$5", "${env:A}"]}}}"#,
    );
    home.write(
        file_of("gemini"),
        r#"{"mcpServers": {"g": {"command": "g", "args": ["$B", "${C:-d}"], "timeout": 5000}}}"#,
    );
    home.write(file_of("opencode"), r#"{"mcp": {"o": {"type": "remote", "url": "https://o.example", "headers": {"K": "{file:~/key}"}}}}"#);
    home.write(
        file_of("cline"),
        r#"{"mcpServers": {"l": {"command": "l", "args": ["${x}"], "timeout": 60}}}"#,
    );
    home.write(
        file_of("vscode"),
        r#"{"servers": {"v": {"command": "v", "env": {"KEY": "${input:key}"}}}}"#,
    );
    let report = home.json(&["import", "--json"]);
    let args = |id| server(&report, id)["args"].clone();
    assert_eq!(server(&report, "c")["command"], "${home}/c");
    assert_eq!(args("c"), json!([format!("{}/x", project.display()), "$$5", "${env:A}"]));
    assert_eq!(args("g"), json!(["${env:B}", "${env:C:-d}"]));
    assert_eq!(server(&report, "g")["timeout_ms"], 5000);
    assert_eq!(server(&report, "l")["timeout_ms"], 60_000);
    assert_eq!(args("l"), json!(["$${x}"]));
    assert_eq!(server(&report, "v")["env"], json!({"KEY": "${env:KEY}"}));
    assert_eq!(server(&report, "o")["headers"], json!({"K": "${env:O_VALUE}"}));
    let variables = report["variables"].to_string();
    for (name, what) in [("KEY", "`key`"), ("O_VALUE", "~/key"), ("A", "")] {
        assert!(variables.contains(name) && variables.contains(what), "{variables}");
    }
}

#[test]
fn trove_itself_is_never_taken_over() {
    let home = Home::new();
    home.run(&["install", "--client", "cursor"]);
    home.write(
        file_of("gemini"),
        r#"{"mcpServers": {
          "a": {"httpUrl": "http://127.0.0.1:7420/mcp"},
          "b": {"httpUrl": "http://localhost:7420/mcp/"},
          "c": {"command": "npx", "args": ["mcp-remote", "http://127.0.0.1:7420/mcp"]},
          "d": {"command": "env", "args": ["X=1", "/opt/trove", "serve", "--stdio"]},
          "e": {"command": "sh", "args": ["-c", "trove serve --stdio"]}
        }}"#,
    );
    let report = home.json(&["import", "--json"]);
    assert_eq!(report["servers"], json!([]), "{report}");
    assert_eq!(report["written"], false);
}

#[test]
fn doubles_are_taken_once_and_namesakes_get_names_of_their_own() {
    let home = Home::new();
    home.write(
        CURSOR,
        r#"{"mcpServers": {"fs": {"command": "npx", "args": ["fs"]}, "web": {"url": "https://w.example/mcp"}}}"#,
    );
    home.write(
        file_of("codex"),
        "[mcp_servers.files]\ncommand = \"npx\"\nargs = [\"fs\"]\n[mcp_servers.fs]\ncommand = \"other\"\n\
         [mcp_servers.www]\nurl = \"https://w.example/mcp/\"\n",
    );
    let report = home.json(&["import", "--json"]);
    let ids: Vec<&str> =
        report["servers"].as_array().unwrap().iter().filter_map(|s| s["id"].as_str()).collect();
    assert_eq!(ids, ["fs", "web", "fs-codex"]);
    let left_out = report["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 2, "{report}");
    assert!(left_out[0]["why"].as_str().unwrap().contains("`fs` of Cursor"), "{report}");
    // A second time there is nothing new.
    let again = home.json(&["import", "--json"]);
    assert_eq!((&again["servers"], &again["written"]), (&json!([]), &json!(false)));
}

#[test]
fn one_bad_entry_or_file_costs_only_itself_and_unknown_keys_are_told() {
    let home = Home::new();
    home.write(
        CURSOR,
        r#"{"mcpServers": {"bad": {"command": []}, "good": {"command": "g", "autoApprove": ["x"], "zzz": 1}}}"#,
    );
    home.write(file_of("zed"), "{ broken");
    let ran = home.run(&["import"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("not taken over: autoApprove, zzz"), "{ran:?}");
    assert!(ran.stdout.contains("the command is empty"), "{ran:?}");
    assert!(ran.stdout.contains("zed/settings.json:1"), "{ran:?}");
    assert!(home.read("project/trove.toml").contains("[servers.good]"));
}

#[test]
fn commands_show_whole_and_nothing_is_run() {
    let home = Home::new();
    let long = "x".repeat(3000);
    let touched = home.path().join("touched");
    let text = json!({"mcpServers": {"a": {
        "command": "sh", "args": ["-c", format!("touch {}; echo {long}", touched.display()), "a b"],
    }}});
    home.write(CURSOR, text.to_string());
    let ran = home.run(&["import"]);
    let command = format!("sh -c 'touch {}; echo {long}' 'a b'", touched.display());
    assert!(ran.stdout.contains(&command), "{}", ran.stdout);
    assert!(!touched.exists());
}

#[test]
fn what_trove_toml_says_already_stays() {
    let home = Home::new();
    home.write(CURSOR, r#"{"mcpServers": {"new": {"command": "n"}}}"#);
    let before = "# mine\r\n[servers.old] # keep\r\ncommand = \"o\"\r\n\r\n[http]\r\naddr = \"127.0.0.1:1\"\r\n";
    home.write("project/trove.toml", before);
    let ran = home.run(&["import"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let after = home.read("project/trove.toml");
    for line in before.lines() {
        assert!(after.contains(line), "{line}: {after}");
    }
    assert!(after.contains("[servers.new]\r\ncommand = \"n\"\r\n"), "{after:?}");
    assert!(ran.stdout.contains("backup: "), "{ran:?}");
}

#[test]
fn the_file_can_be_chosen_both_ways() {
    let home = Home::new();
    home.write("my.json", r#"{"mcpServers": {"a": {"command": "a"}}}"#);
    home.write(CURSOR, r#"{"mcpServers": {"b": {"command": "b"}}}"#);
    home.write(file_of("zed"), r#"{"context_servers": {"c": {"command": "c"}}}"#);
    let from = home.run(&["import", "--from", "../my.json", "--write", "../out/one.toml"]);
    assert_eq!(from.code, Some(0), "{from:?}");
    let text = home.read("out/one.toml");
    assert!(text.contains("[servers.a]") && !text.contains("[servers.b]"), "{text}");
    home.run(&["import", "--client", "zed", "--write", "../out/two.toml"]);
    let text = home.read("out/two.toml");
    assert!(text.contains("[servers.c]") && !text.contains("[servers.b]"), "{text}");
}

#[test]
fn what_cannot_be_imported_is_explained() {
    let home = Home::new();
    home.write("any.json", "{\"settings\": 1}");
    home.write("broken.json", "{");
    home.write("project/bad.toml", "[servers.a]\ncomand = 1\n");
    home.write(CURSOR, r#"{"mcpServers": {"b": {"command": "b"}}}"#);
    for (args, says) in [
        (&["import", "--from", "../any.json"][..], "no client"),
        (&["import", "--from", "../broken.json"], "broken.json:1"),
        (&["import", "--from", "../gone.json"], "cannot be read"),
        (&["import", "--write", "bad.toml"], "has errors"),
        (&["import", "--write", "../.cursor/mcp.json"], "belongs to Cursor"),
    ] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{args:?}: {ran:?}");
    }
    let empty = Home::new();
    let ran = empty.run(&["import"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("No client with servers was found"), "{ran:?}");
    assert_eq!(empty.files(), Vec::<String>::new());
}
