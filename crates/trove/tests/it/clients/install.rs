//! Effects of `install` and `uninstall` besides the entry itself.

use std::fs;

use serde_json::{Value, json};

use super::{FILES, Home, file_of, mode, ran, set_mode};

const CURSOR: &str = ".cursor/mcp.json";

fn entry(home: &Home, below: &str, path: &str) -> Value {
    let text = home.read(below);
    let root: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    root.pointer(path).cloned().unwrap_or_default()
}

#[test]
fn the_configuration_in_force_goes_along() {
    let home = Home::new();
    let config = home.write("project/trove.toml", "");
    home.run(&["install", "--client", "cursor"]);
    let args = entry(&home, CURSOR, "/mcpServers/trove/args");
    assert_eq!(args, json!(["serve", "--stdio", "--config", config.to_str().unwrap()]));
}

#[test]
fn what_the_user_added_to_our_entry_stays_when_it_is_brought_up_to_date() {
    let home = Home::new();
    let old = r#"{"mcpServers": {
  "trove": {"command": "/gone/trove", "args": ["serve", "--stdio"], /* mine */ "env": {"A": "b"}, "url": "x"},
  "other": {"command": "o"}
}}"#;
    home.write(CURSOR, old);
    let ran = home.run(&["install", "--client", "cursor"]);
    assert!(ran.stdout.contains("brought up to date"), "{ran:?}");
    let text = home.read(CURSOR);
    assert!(text.contains("/* mine */") && text.contains(r#""env": {"A": "b"}"#), "{text}");
    assert!(!text.contains("/gone/trove") && !text.contains("\"url\""), "{text}");
    assert!(text.contains(env!("CARGO_BIN_EXE_trove")), "{text}");

    let yaml = file_of("goose");
    home.write(yaml, "extensions:\n  trove:\n    type: stdio\n    cmd: /gone/trove\n    args: [serve]\n    timeout: 7\n    envs: {A: b}\n  z: {type: builtin}\n");
    let ran = home.run(&["install", "--client", "goose"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = home.read(yaml);
    assert!(text.contains("timeout: 7") && text.contains(r#"envs: {"A":"b"}"#), "{text}");
    assert!(text.contains("  z: {type: builtin}") && !text.contains("/gone/"), "{text}");

    let toml = file_of("codex");
    home.write(toml, "[mcp_servers.trove]\ncommand = \"/gone/trove\" # ours\nargs = [\"serve\"]\nenabled_tools = [\"a\"]\n");
    assert_eq!(home.run(&["install", "--client", "codex"]).code, Some(0));
    let text = home.read(toml);
    assert!(text.contains("# ours") && text.contains("enabled_tools = [\"a\"]"), "{text}");
    assert!(!text.contains("/gone/"), "{text}");
}

#[test]
fn an_entry_that_is_switched_off_is_said_to_be() {
    let home = Home::new();
    home.run(&["install", "--client", "opencode"]);
    let text = home.read(file_of("opencode")).replace("\"enabled\": true", "\"enabled\": false");
    home.write(file_of("opencode"), text);
    let ran = home.run(&["install", "--client", "opencode"]);
    assert!(ran.stdout.contains("already there") && ran.stdout.contains("switched off"), "{ran:?}");
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    for (client, file) in FILES {
        let home = Home::new();
        let ran = home.run(&["install", "--client", client, "--dry-run"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("+++ ") && ran.stdout.contains(file), "{ran:?}");
        assert_eq!(home.files(), Vec::<String>::new(), "{client}");
    }
    let home = Home::new();
    home.write(CURSOR, "{}\n");
    home.run(&["install", "--client", "cursor"]);
    let before = home.files();
    let ran = home.run(&["uninstall", "--client", "cursor", "--dry-run"]);
    assert!(ran.stdout.contains("-    \"trove\": {"), "{ran:?}");
    assert!(home.read(CURSOR).contains("trove"));
    assert_eq!(home.files(), before);
}

#[test]
fn the_old_file_stays_beside_the_new_one_with_its_permissions() {
    let home = Home::new();
    let path = home.write(CURSOR, "{\"secret\": 1}\n");
    set_mode(&path, 0o600);
    let report = home.json(&["install", "--client", "cursor", "--json"]);
    let backup = std::path::PathBuf::from(report["backup"].as_str().expect("a backup"));
    assert_eq!(fs::read_to_string(&backup).unwrap(), "{\"secret\": 1}\n");
    assert_eq!((mode(&path), mode(&backup)), (0o600, 0o600));
    assert_eq!(home.files().len(), 2, "{:?}", home.files());
}

#[test]
fn a_new_file_is_for_its_owner_alone() {
    let home = Home::new();
    home.run(&["install", "--client", "cursor"]);
    assert_eq!(mode(&home.path().join(CURSOR)), 0o600);
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let home = Home::new();
    let real = home.write("dotfiles/cursor.json", "{}\n");
    fs::create_dir(home.path().join(".cursor")).unwrap();
    let link = home.path().join(CURSOR);
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let ran = home.run(&["install", "--client", "cursor"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(link.is_symlink() && fs::read_to_string(&real).unwrap().contains("trove"));
}

#[test]
fn a_project_has_files_of_its_own() {
    for (client, file) in [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("continue", ".continue/mcpServers/trove.yaml"),
        ("opencode", "opencode.json"),
    ] {
        let home = Home::new();
        let ran = home.run(&["install", "--client", client, "--scope", "project"]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert_eq!(home.files(), [format!("project/{file}")], "{client}");
    }
    for client in ["claude-desktop", "windsurf", "zed", "cline", "goose"] {
        let home = Home::new();
        let ran = home.run(&["install", "--client", client, "--scope", "project"]);
        assert_eq!(ran.code, Some(1), "{client}: {ran:?}");
        assert!(ran.stderr.contains("--scope user"), "{ran:?}");
        assert_eq!(home.files(), Vec::<String>::new());
    }
}

#[test]
fn a_shared_file_names_the_configuration_by_the_project_where_it_can() {
    let home = Home::new();
    home.write("project/trove.toml", "");
    home.run(&["install", "--client", "vscode", "--scope", "project"]);
    let args = entry(&home, "project/.vscode/mcp.json", "/servers/trove/args/3");
    assert_eq!(args, "${workspaceFolder}/trove.toml");
}

#[test]
fn by_url_each_client_has_its_own_words() {
    let bearer = "Bearer t0ken";
    let url = "http://127.0.0.1:7420/mcp";
    let headers = json!({ "Authorization": bearer });
    for (client, path, expected) in [
        ("claude-code", "/mcpServers", json!({"type": "http", "url": url, "headers": headers})),
        ("cursor", "/mcpServers", json!({"url": url, "headers": headers})),
        ("vscode", "/servers", json!({"type": "http", "url": url, "headers": headers})),
        ("windsurf", "/mcpServers", json!({"serverUrl": url, "headers": headers})),
        ("zed", "/context_servers", json!({"url": url, "headers": headers})),
        ("gemini", "/mcpServers", json!({"httpUrl": url, "headers": headers})),
        ("cline", "/mcpServers", json!({"type": "streamableHttp", "url": url, "headers": headers})),
        (
            "opencode",
            "/mcp",
            json!({"type": "remote", "url": url, "headers": headers, "enabled": true}),
        ),
    ] {
        let home = Home::new();
        home.write(".local/state/trove/token", "t0ken\n");
        let args = ["install", "--client", client, "--http"];
        let ran = home.run(&args);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert!(!ran.stdout.contains("t0ken"), "{client}: {ran:?}");
        assert_eq!(entry(&home, file_of(client), &format!("{path}/trove")), expected, "{client}");
        assert!(home.run(&args).stdout.contains("already there"), "{client}");
        let out = home.run(&["uninstall", "--client", client]);
        assert!(out.stdout.contains("removed"), "{client}: {out:?}");
    }
}

#[test]
fn by_url_in_toml_and_yaml() {
    for (client, words) in [
        ("codex", "http_headers = { Authorization = \"Bearer t0ken\" }"),
        (
            "goose",
            "uri: \"http://127.0.0.1:7420/mcp\"\n    headers: {\"Authorization\":\"Bearer t0ken\"}",
        ),
        ("continue", "requestOptions: {\"headers\":{\"Authorization\":\"Bearer t0ken\"}}"),
    ] {
        let home = Home::new();
        home.write(".local/state/trove/token", "t0ken\n");
        let ran = home.run(&["install", "--client", client, "--http"]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        let text = home.read(file_of(client));
        assert!(text.contains(words), "{client}: {text}");
    }
}

#[test]
fn from_url_to_command_nothing_of_the_url_stays() {
    for (client, file) in FILES {
        if client == "claude-desktop" {
            continue;
        }
        let home = Home::new();
        home.run(&["install", "--client", client]);
        let started = home.read(file);
        assert_eq!(home.run(&["install", "--client", client, "--http"]).code, Some(0), "{client}");
        assert!(home.read(file).contains(":7420/mcp"), "{client}");
        assert_eq!(home.run(&["install", "--client", client, "--stdio"]).code, Some(0), "{client}");
        let text = home.read(file);
        assert!(!text.contains("7420") && !text.contains("Bearer"), "{client}: {text}");
        assert!(text.contains("--stdio"), "{client}: {text} after {started}");
    }
}

#[test]
fn the_token_shows_in_no_diff_and_stands_in_no_shared_file() {
    let home = Home::new();
    home.write(".local/state/trove/token", "t0ken\n");
    let ran = home.run(&["install", "--client", "cursor", "--http", "--dry-run"]);
    assert!(ran.stdout.contains("Bearer ***") && !ran.stdout.contains("t0ken"), "{ran:?}");
    let project = ["--scope", "project", "--http", "--client"];
    for (client, file, reference) in [
        ("claude-code", ".mcp.json", "Bearer ${TROVE_TOKEN}"),
        ("vscode", ".vscode/mcp.json", "Bearer ${env:TROVE_TOKEN}"),
        ("codex", ".codex/config.toml", "bearer_token_env_var = \"TROVE_TOKEN\""),
        ("opencode", "opencode.json", "Bearer {env:TROVE_TOKEN}"),
    ] {
        let ran = home.run(&[&["install"][..], &project, &[client]].concat());
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        let text = home.read(&format!("project/{file}"));
        assert!(text.contains(reference) && !text.contains("t0ken"), "{client}: {text}");
    }
}

#[test]
fn a_dry_run_makes_no_token() {
    let home = Home::new();
    home.run(&["install", "--client", "cursor", "--http", "--dry-run"]);
    assert_eq!(home.files(), Vec::<String>::new());
    home.run(&["install", "--client", "cursor", "--http"]);
    let token = home.read(".local/state/trove/token");
    assert!(home.read(CURSOR).contains(token.trim()));
}

#[test]
fn variables_of_clients_move_their_files() {
    let home = Home::new();
    for (client, variable, value, file) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", "cc", "cc/.claude.json"),
        ("codex", "CODEX_HOME", "cx", "cx/config.toml"),
        ("cline", "CLINE_MCP_SETTINGS_PATH", "cl/a.json", "cl/a.json"),
        ("zed", "XDG_CONFIG_HOME", "xdg", "xdg/zed/settings.json"),
    ] {
        let mut command = home.command(&["install", "--client", client]);
        let ran = ran(command.env(variable, home.path().join(value)));
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert!(home.read(file).contains("trove"), "{client}");
    }
}

#[test]
fn other_files_of_the_same_client_are_found() {
    for (client, file) in [
        ("claude-desktop", ".config/claude/claude_desktop_config.json"),
        ("vscode", ".config/Code - Insiders/User/mcp.json"),
        ("vscode", ".vscode-server/data/User/mcp.json"),
        ("windsurf", ".codeium/mcp_config.json"),
        (
            "cline",
            ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ),
        ("opencode", ".config/opencode/opencode.jsonc"),
    ] {
        let home = Home::new();
        home.write(file, "{}\n");
        home.run(&["install", "--client", client]);
        assert!(home.read(file).contains("trove"), "{client}: {:?}", home.files());
    }
}

#[test]
fn without_a_client_all_are_listed_with_their_state() {
    let home = Home::new();
    home.write(CURSOR, "{}");
    home.write(file_of("zed"), "{\"context_servers\": {\"trove\": {\"command\": \"other\"}}}");
    home.write(
        file_of("codex"),
        "[mcp_servers.trove]\ncommand = \"/gone/trove\"\nargs = [\"serve\"]\n",
    );
    home.write(file_of("goose"), "a: [");
    home.run(&["install", "--client", "gemini"]);
    home.run(&["install", "--client", "claude-code", "--scope", "project"]);
    let before = home.files();
    let list = home.json(&["install", "--json"]);
    let state = |client: &str, scope: &str| {
        let clients = list["clients"].as_array().expect("clients");
        let of = clients.iter().find(|c| c["client"] == client && c["scope"] == scope);
        of.map_or(Value::Null, |client| client["state"].clone())
    };
    assert_eq!(state("cursor", "user"), "without");
    assert_eq!(state("gemini", "user"), "installed");
    assert_eq!(state("zed", "user"), "taken");
    assert_eq!(state("codex", "user"), "program_gone");
    assert_eq!(state("goose", "user"), "unreadable");
    assert_eq!(state("windsurf", "user"), "absent");
    assert_eq!(state("claude-code", "project"), "installed");
    let links = list["links"].to_string();
    assert!(links.contains("cursor://anysphere.cursor-deeplink/mcp/install?name=trove"), "{links}");
    assert!(links.contains("vscode:mcp/install?"), "{links}");
    let ran = home.run(&["install"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("trove install --client"), "{ran:?}");
    assert_eq!(home.files(), before, "listing changes nothing");
}

#[test]
fn the_next_step_and_a_link_are_told() {
    let home = Home::new();
    let ran = home.run(&["install", "--client", "cursor"]);
    for words in ["runs: ", "next: ", "check: ", "cursor://anysphere.cursor-deeplink/mcp/install"] {
        assert!(ran.stdout.contains(words), "{words}: {ran:?}");
    }
    let ran = home.run(&["install", "--client", "claude-desktop"]);
    assert!(ran.stdout.contains("quit Claude Desktop"), "{ran:?}");
}
