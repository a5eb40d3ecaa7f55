//! Refused changes, with the file left as it is and a next step.

use std::fs;

use super::{FILES, Home, file_of, set_mode};

const CONFIG: Option<i32> = Some(2);
const USAGE: Option<i32> = Some(1);

/// Installs, expects a refusal with these words, and that nothing changed.
#[track_caller]
fn refused(home: &Home, args: &[&str], says: &str) {
    let before: Vec<(String, Vec<u8>)> = contents(home);
    let ran = home.run(args);
    assert!(matches!(ran.code, Some(1 | 2)), "{args:?}: {ran:?}");
    assert!(ran.stderr.contains(says) && ran.stdout.is_empty(), "{args:?}: {ran:?}");
    assert_eq!(contents(home), before, "{args:?}");
}

fn contents(home: &Home) -> Vec<(String, Vec<u8>)> {
    let read = |file: String| {
        let bytes = fs::read(home.path().join(&file)).unwrap_or_default();
        (file, bytes)
    };
    home.files().into_iter().map(read).collect()
}

#[test]
fn a_broken_file_of_any_client() {
    for (client, file) in FILES {
        let broken = match client {
            "codex" => "[mcp_servers\nx = 1\n",
            "goose" | "continue" => "extensions:\n  a: [1\nb: 2\n",
            _ => "{\"mcpServers\": {\"a\": }}",
        };
        let home = Home::new();
        home.write(file, broken);
        refused(&home, &["install", "--client", client], "nothing was changed");
        refused(&home, &["uninstall", "--client", client], "nothing was changed");
        refused(&home, &["install", "--client", client, "--force"], "nothing was changed");
    }
}

#[test]
fn a_file_of_another_shape() {
    for (client, text, says) in [
        ("cursor", "[]", "the file is no object"),
        ("cursor", "{\"mcpServers\": []}", "`mcpServers` is no object"),
        ("codex", "mcp_servers = 5\n", "`mcp_servers` is no table"),
        ("goose", "- a\n- b\n", "it is no map"),
        ("goose", "extensions: [a]\n", "`extensions` is no map"),
        ("goose", "extensions: {a: {type: builtin}}\n", "not written with one line a key"),
        ("goose", "a: 1\n---\nb: 2\n", ""),
        ("cursor", "\u{0}", ""),
    ] {
        let home = Home::new();
        home.write(file_of(client), text);
        refused(&home, &["install", "--client", client], says);
    }
    let home = Home::new();
    home.write(file_of("cursor"), b"\xff\xfe{\0}\0");
    refused(&home, &["install", "--client", "cursor"], "not UTF-8");
}

#[test]
fn a_name_that_is_taken_unless_it_is_forced() {
    for (client, text) in [
        ("cursor", "{\"mcpServers\": {\"trove\": {\"command\": \"other\"}}}\n"),
        ("codex", "[mcp_servers.trove]\nurl = \"https://other.example/mcp\"\n"),
        ("goose", "extensions:\n  trove:\n    type: builtin\n"),
        ("continue", "mcpServers:\n  - name: trove\n    command: other\n"),
        ("continue", "name: mine\nmodels: []\n"),
    ] {
        let home = Home::new();
        home.write(file_of(client), text);
        refused(&home, &["install", "--client", client], "--force");
        let named = home.run(&["install", "--client", client, "--name", "trove2"]);
        assert_eq!(named.code, Some(0), "{client}: {named:?}");
        let forced = home.run(&["install", "--client", client, "--force"]);
        assert_eq!(forced.code, Some(0), "{client}: {forced:?}");
        assert!(home.read(file_of(client)).contains("serve"), "{client}");
    }
}

#[test]
fn taking_out_what_is_not_ours_unless_it_is_forced() {
    let home = Home::new();
    home.write(file_of("cursor"), "{\"mcpServers\": {\"trove\": {\"command\": \"other\"}}}\n");
    refused(&home, &["uninstall", "--client", "cursor"], "does not start Trove");
    assert_eq!(home.run(&["uninstall", "--client", "cursor", "--force"]).code, Some(0));
    assert_eq!(home.read(file_of("cursor")), "{\"mcpServers\": {}}\n");
    // A file of ours that somebody added to.
    home.run(&["install", "--client", "continue"]);
    let text = home.read(file_of("continue")) + "  - name: other\n    command: x\n";
    home.write(file_of("continue"), text);
    refused(&home, &["uninstall", "--client", "continue"], "other servers");
}

#[test]
fn what_is_read_only() {
    let home = Home::new();
    let path = home.write(file_of("cursor"), "{}\n");
    set_mode(&path, 0o444);
    refused(&home, &["install", "--client", "cursor"], "read-only");
    set_mode(&path, 0o644);
    let folder = path.parent().unwrap();
    set_mode(folder, 0o555);
    refused(&home, &["install", "--client", "cursor"], "read-only");
    set_mode(folder, 0o755);
}

#[test]
fn a_link_to_nothing_and_a_folder_in_its_place() {
    let home = Home::new();
    fs::create_dir(home.path().join(".cursor")).unwrap();
    let link = home.path().join(file_of("cursor"));
    std::os::unix::fs::symlink("/nowhere/mcp.json", &link).unwrap();
    refused(&home, &["install", "--client", "cursor"], "link");
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    refused(&home, &["install", "--client", "cursor"], "is no file");
}

#[test]
fn names_that_clients_cannot_use() {
    let home = Home::new();
    for name in ["", "Trove", "my_trove", "my-trove", "1trove", "averylongname", "é"] {
        let ran = home.run(&["install", "--client", "cursor", "--name", name]);
        assert_eq!(ran.code, USAGE, "{name}: {ran:?}");
    }
    assert_eq!(home.files(), Vec::<String>::new());
}

#[test]
fn unknown_clients_and_wishes() {
    let home = Home::new();
    for args in [
        &["install", "--client", "emacs"][..],
        &["install", "--client", "cursor", "--http", "--stdio"],
        &["uninstall"],
        &["install", "--client", "claude-desktop", "--http"],
        &["install", "--client", "zed", "--http", "--scope", "project"],
    ] {
        let ran = home.run(args);
        assert_eq!(ran.code, USAGE, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("error"), "{args:?}: {ran:?}");
    }
    let json = home.json(&["install", "--client", "claude-desktop", "--http", "--json"]);
    assert_eq!(json["success"], false);
}

#[test]
fn without_a_home_nothing_can_be_found() {
    let home = Home::new();
    let mut command = home.command(&["install", "--client", "cursor"]);
    let ran = super::ran(command.env_remove("HOME"));
    assert_eq!(ran.code, CONFIG, "{ran:?}");
    assert!(ran.stderr.contains("HOME"), "{ran:?}");
}

#[test]
fn a_project_whose_servers_nobody_approved() {
    let home = Home::new();
    let config = home.write("project/trove.toml", "[servers.trap]\ncommand = \"touch\"\n");
    for scope in ["user", "project"] {
        let install = ["install", "--client", "cursor", "--scope", scope];
        refused(&home, &install, "trove approve");
        refused(&home, &[&install[..], &["--yes"]].concat(), "trap");
    }
    let listed = home.run(&["install"]);
    assert!(listed.stdout.contains("cursor") && !listed.stdout.contains("://"), "{listed:?}");
    // A user who names the file vouches for it.
    let config = config.to_str().expect("a path in UTF-8");
    let vouched = home.run(&["install", "--client", "cursor", "--config", config]);
    assert_eq!(vouched.code, Some(0), "{vouched:?}");

    let home = Home::new();
    home.write("project/trove.toml", "[servers.trap]\ncommand = \"touch\"\n");
    assert_eq!(home.run(&["approve", "--all"]).code, Some(0));
    let approved = home.run(&["install", "--client", "cursor"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    assert!(approved.stdout.contains("run without approval"), "{approved:?}");
    // By its URL a client starts nothing.
    home.write("project/trove.toml", "[servers.trap]\ncommand = \"cp\"\n");
    refused(&home, &["install", "--client", "zed"], "trap");
    assert_eq!(home.run(&["install", "--client", "zed", "--http"]).code, Some(0));
}
