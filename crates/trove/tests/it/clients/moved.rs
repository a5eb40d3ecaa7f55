//! Trove in the place of a client's servers, and the way back: byte for byte, from wherever it stopped.

use std::fs;

use super::{Home, file_of};

/// A secret of the client's file. It may stand there before and afterwards, and nowhere else.
const SECRET: &str = "ghp_0123456789abcdefABCDEF0123456789abcd";

/// A file of each client, with comments where it may have them, two servers and other settings.
/// `SECRET` stands for the secret.
const FILES: [(&str, &str); 11] = [
    (
        "claude-desktop",
        "{\n  \"mcpServers\": {\n    \"hub\": { \"command\": \"npx\", \"args\": [\"-y\", \"server-hub\"],\n      \"env\": {\"HUB_TOKEN\": \"SECRET\"} },\n    \"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"server-files\", \"/tmp\"]}\n  },\n  \"globalShortcut\": \"\"\n}\n",
    ),
    (
        "claude-code",
        "{\"numStartups\":7,\"mcpServers\":{\"hub\":{\"type\":\"stdio\",\"command\":\"npx\",\"args\":[\"-y\",\"server-hub\"],\"env\":{\"HUB_TOKEN\":\"SECRET\"}},\"files\":{\"command\":\"server-files\"}},\"projects\":{}}",
    ),
    (
        "cursor",
        "// mine\n{\n\t\"mcpServers\": {\n\t\t// the hub\n\t\t\"hub\": {\n\t\t\t\"command\": \"npx\",\n\t\t\t\"args\": [\"-y\", \"server-hub\"], // newest\n\t\t\t\"env\": { \"HUB_TOKEN\": \"SECRET\", \"LEVEL\": \"${env:LEVEL}\" },\n\t\t},\n\t\t\"files\": { \"url\": \"https://files.example/mcp\", \"headers\": { \"Authorization\": \"Bearer SECRET\" } },\n\t},\n}\n",
    ),
    (
        "vscode",
        "{\r\n  \"inputs\": [{ \"id\": \"token\", \"type\": \"promptString\" }],\r\n  \"servers\": {\r\n    \"hub\": { \"type\": \"stdio\", \"command\": \"npx\", \"args\": [\"server-hub\"], \"env\": { \"HUB_TOKEN\": \"${input:token}\" } },\r\n    \"files\": { \"type\": \"stdio\", \"command\": \"server-files\", \"args\": [] }\r\n  }\r\n}\r\n",
    ),
    (
        "windsurf",
        "{\"mcpServers\": {\n  \"hub\": {\"command\": \"npx\", \"args\": [\"server-hub\"], \"env\": {\"HUB_TOKEN\": \"SECRET\"}},\n  \"files\": {\"serverUrl\": \"https://files.example/mcp\"}\n}}",
    ),
    (
        "zed",
        "// Zed settings\n{\n  \"theme\": \"One Dark\", // dark\n  \"context_servers\": {\n    \"hub\": { \"source\": \"custom\", \"command\": \"npx\", \"args\": [\"server-hub\"], \"env\": { \"HUB_TOKEN\": \"SECRET\" } },\n    // the disk\n    \"files\": { \"source\": \"custom\", \"command\": \"server-files\", \"args\": [] },\n  },\n}\n",
    ),
    (
        "codex",
        "model = \"o9\" # best\n\n[mcp_servers.hub] # the hub\ncommand = \"npx\"\nargs = [\"-y\", \"server-hub\"]\nenv = { HUB_TOKEN = \"SECRET\" }\n\n# the disk\n[mcp_servers.files]\ncommand = \"server-files\"\n\n[tui]\nnotifications = true\n",
    ),
    (
        "gemini",
        "{\n  \"mcpServers\": {\n    \"hub\": { \"command\": \"npx\", \"args\": [\"server-hub\"], \"env\": { \"HUB_TOKEN\": \"$HUB_TOKEN\" } },\n    \"files\": { \"httpUrl\": \"https://files.example/mcp\" }\n  },\n  \"theme\": \"Default\"\n}",
    ),
    (
        "cline",
        "{\n  \"mcpServers\": {\n    \"hub\": { \"command\": \"npx\", \"args\": [\"server-hub\"], \"env\": { \"HUB_TOKEN\": \"SECRET\" }, \"autoApprove\": [] },\n    \"files\": { \"command\": \"server-files\", \"timeout\": 60 }\n  }\n}\n",
    ),
    (
        "goose",
        "GOOSE_PROVIDER: openai  # who\nextensions:\n  # the hub\n  hub:\n    type: stdio\n    enabled: true\n    cmd: npx\n    args: [server-hub]\n    envs:\n      HUB_TOKEN: \"SECRET\"\n\n  files:\n    type: stdio\n    enabled: true\n    cmd: server-files\n    args: []\n  developer:\n    type: builtin\n    enabled: true\n# the end\n",
    ),
    (
        "opencode",
        "{\n  // servers\n  \"mcp\": {\n    \"hub\": { \"type\": \"local\", \"command\": [\"npx\", \"server-hub\"], \"environment\": { \"HUB_TOKEN\": \"SECRET\" }, \"enabled\": true },\n    \"files\": { \"type\": \"remote\", \"url\": \"https://files.example/mcp\" },\n  },\n}\n",
    ),
];

const CONFIG: &str = ".config/trove/trove.toml";

fn before(client: &str) -> String {
    let (_, text) = FILES.iter().find(|(word, _)| *word == client).expect("a client of the table");
    text.replace("SECRET", SECRET)
}

fn with(client: &str) -> Home {
    let home = Home::new();
    home.write(file_of(client), before(client));
    home
}

fn move_in(home: &Home, client: &str) {
    let moved = home.run(&["install", "--client", client, "--move"]);
    assert_eq!(moved.code, Some(0), "{client}: {moved:?}");
    assert!(!format!("{moved:?}").contains(SECRET), "{client}: {moved:?}");
}

fn take_back(home: &Home, client: &str) {
    let back = home.run(&["uninstall", "--client", client]);
    assert_eq!(back.code, Some(0), "{client}: {back:?}");
    assert!(!format!("{back:?}").contains(SECRET), "{client}: {back:?}");
}

#[test]
fn every_client_gives_its_servers_to_trove_and_gets_them_back_byte_for_byte() {
    for (client, _) in FILES {
        let home = with(client);
        move_in(&home, client);
        let file = home.read(file_of(client));
        assert!(file.contains("trove") && file.contains("serve"), "{client}: {file}");
        assert!(!file.contains("server-hub") && !file.contains("files"), "{client}: {file}");
        // A secret stays where it was.
        let has_secret = before(client).contains(SECRET);
        assert_eq!(file.contains(SECRET), has_secret, "{client}: {file}");
        let config = home.read(CONFIG);
        assert!(!config.contains(SECRET), "{client}: {config}");
        for words in ["[servers.hub]", "[servers.files]", &format!("moved_from = \"{client}\"")] {
            assert!(config.contains(words), "{client}: {words} in {config}");
        }
        let listed = home.json(&["list", "--json"]);
        for server in listed["servers"].as_array().expect("servers") {
            assert_eq!(
                (&server["passes_tools"], &server["approval"]),
                (&true.into(), &"free".into()),
                "{server}"
            );
        }
        take_back(&home, client);
        assert_eq!(home.read(file_of(client)), before(client), "{client}");
        assert!(!home.path().join(CONFIG).exists(), "{client}");
    }
}

#[test]
fn the_variables_that_servers_need_are_given_to_trove_by_the_client() {
    for (client, expected) in [
        ("cursor", vec![SECRET, "\"LEVEL\": \"${env:LEVEL}\""]),
        ("vscode", vec!["\"HUB_TOKEN\": \"${input:token}\""]),
        ("gemini", vec!["\"HUB_TOKEN\": \"${HUB_TOKEN}\""]),
        ("goose", vec!["envs", SECRET]),
        ("opencode", vec!["environment", SECRET]),
        ("codex", vec!["env = { HUB_TOKEN", SECRET]),
    ] {
        let home = with(client);
        move_in(&home, client);
        let file = home.read(file_of(client));
        for words in expected {
            assert!(file.contains(words), "{client}: {words} in {file}");
        }
        assert!(home.read(CONFIG).contains("HUB_TOKEN = \"${env:HUB_TOKEN}\""), "{client}");
    }
}

#[test]
fn a_dry_run_changes_nothing_and_prints_no_secret() {
    for (client, _) in FILES {
        let home = with(client);
        let files = home.files();
        for more in [&[][..], &["--json"][..]] {
            let arguments =
                [&["install", "--client", client, "--move", "--dry-run"][..], more].concat();
            let shown = home.run(&arguments);
            assert_eq!(shown.code, Some(0), "{client}: {shown:?}");
            assert!(
                shown.stdout.contains("hub") && !format!("{shown:?}").contains(SECRET),
                "{shown:?}"
            );
        }
        assert_eq!(home.read(file_of(client)), before(client), "{client}");
        assert_eq!(home.files(), files, "{client}");
    }
}

#[test]
fn a_move_that_stopped_half_way_is_taken_back_all_the_same() {
    for (client, _) in FILES {
        // It stopped before the client's file was written.
        let home = with(client);
        move_in(&home, client);
        home.write(file_of(client), before(client));
        take_back(&home, client);
        assert_eq!(home.read(file_of(client)), before(client), "{client}");
        assert!(!home.path().join(CONFIG).exists(), "{client}");

        // It stopped before anything was written but the record.
        let home = with(client);
        move_in(&home, client);
        home.write(file_of(client), before(client));
        fs::remove_file(home.path().join(CONFIG)).expect("it is there");
        take_back(&home, client);
        assert_eq!(home.read(file_of(client)), before(client), "{client}");
    }
}

#[test]
fn what_a_client_changed_meanwhile_is_kept() {
    let home = with("claude-code");
    move_in(&home, "claude-code");
    let file = home.read(".claude.json");
    home.write(".claude.json", file.replace("\"numStartups\":7", "\"numStartups\":8"));
    take_back(&home, "claude-code");
    let file = home.read(".claude.json");
    for words in ["\"numStartups\":8", "server-hub", "server-files", SECRET] {
        assert!(file.contains(words), "{words} in {file}");
    }
    assert!(!file.contains("serve\"") && !file.contains("trove"), "{file}");
}

#[test]
fn two_clients_share_what_they_have_in_common_and_each_gets_its_own_back() {
    let home = with("cline");
    home.write(file_of("claude-desktop"), before("claude-desktop").replace("\"-y\", ", ""));
    move_in(&home, "cline");
    let moved = home.json(&["install", "--client", "claude-desktop", "--move", "--json"]);
    assert_eq!(moved["moved"].as_array().map(Vec::len), Some(2), "{moved}");
    // Each gives its own Trove what the server needs.
    assert!(home.read(file_of("claude-desktop")).contains(SECRET));
    take_back(&home, "claude-desktop");
    take_back(&home, "cline");
    assert_eq!(home.read(file_of("cline")), before("cline"));
    assert!(!home.path().join(CONFIG).exists());
}

#[test]
fn a_server_that_comes_later_joins_the_others_unless_its_secret_would_replace_theirs() {
    let home = with("windsurf");
    move_in(&home, "windsurf");
    let file = home.read(file_of("windsurf"));
    let later = r#""mcpServers": {"late": {"command": "late", "env": {"LATE_TOKEN": "SECRET"}},
        "other": {"command": "other", "env": {"HUB_TOKEN": "ghp_another0123456789abcdefABCDEF012345"}},"#;
    let later = file.replacen("\"mcpServers\": {", &later.replace("SECRET", SECRET), 1);
    home.write(file_of("windsurf"), &later);
    let moved = home.json(&["install", "--client", "windsurf", "--move", "--json"]);
    assert_eq!(
        (&moved["moved"][0]["id"], &moved["left"][0]["name"]),
        (&"late".into(), &"other".into()),
        "{moved}"
    );
    let file = home.read(file_of("windsurf"));
    assert!(
        file.contains("HUB_TOKEN") && file.contains("LATE_TOKEN") && file.contains("ghp_another"),
        "{file}"
    );
    take_back(&home, "windsurf");
    let file = home.read(file_of("windsurf"));
    for words in ["server-hub", "files.example", "\"late\"", "\"other\""] {
        assert!(file.contains(words), "{words} in {file}");
    }
    assert!(!file.contains("serve\""), "{file}");
}

#[test]
fn over_http_no_secret_is_taken_out_of_a_file() {
    let home = with("windsurf");
    let refused = home.run(&["install", "--client", "windsurf", "--move", "--http"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("HUB_TOKEN") && !refused.stderr.contains(SECRET),
        "{refused:?}"
    );
    assert_eq!(home.read(file_of("windsurf")), before("windsurf"));
}

#[test]
fn what_cannot_be_moved_stays_and_is_told() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"off": {"command": "a", "disabled": true}, "hub": {"command": "b"}}}"#,
    );
    let moved = home.json(&["install", "--client", "cursor", "--move", "--json"]);
    assert_eq!(moved["moved"][0]["id"], "hub", "{moved}");
    assert!(home.read(".cursor/mcp.json").contains("\"off\""));
    // Each server of Continue has a file of its own; a list that is shared stays.
    let home = Home::new();
    let own = "name: Hub\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: hub # mine\n    command: server-hub\n";
    home.write(".continue/mcpServers/hub.yaml", own);
    home.write(
        ".continue/config.yaml",
        "name: Mine\nmcpServers:\n  - name: files\n    command: server-files\n",
    );
    let moved = home.json(&["install", "--client", "continue", "--move", "--json"]);
    assert_eq!(
        (&moved["moved"][0]["id"], &moved["left"][0]["name"]),
        (&"hub".into(), &"files".into()),
        "{moved}"
    );
    assert!(!home.path().join(".continue/mcpServers/hub.yaml").exists());
    assert!(home.read(".continue/mcpServers/trove.yaml").contains("serve"));
    take_back(&home, "continue");
    assert_eq!(home.read(".continue/mcpServers/hub.yaml"), own);
    assert!(!home.path().join(".continue/mcpServers/trove.yaml").exists());
}
