//! The shape of each client's file.

use super::check;

#[test]
fn claude_desktop_has_no_variables() {
    check(
        "claude_desktop_config.json",
        r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "${KEY}"], "env": {"A": "$KEY"}}}}"#,
        "
        Claude Desktop
        fs: npx -y ${KEY} A=$KEY (30000 ms)
        ",
    );
}

#[test]
fn claude_code_has_servers_of_the_project() {
    check(
        ".claude.json",
        r#"
        {
          "projects": {
            "DIR": {"mcpServers": {"fs": {"type": "stdio", "command": "here"}}},
            "/else/where": {"mcpServers": {"other": {"command": "x"}}}
          },
          "mcpServers": {
            "fs": {"command": "everywhere"},
            "wiki": {"type": "http", "url": "https://x/${GONE:-mcp}", "headers": {"A": "${KEY}"}},
            "old": {"type": "sse", "url": "https://x/sse"},
            "new": {"type": "streamable-http", "url": "https://x/new"}
          }
        }
        "#,
        "
        Claude Code
        fs: here (30000 ms)
        wiki: http https://x/mcp A=k3y (30000 ms)
        old: sse https://x/sse (30000 ms)
        new: http https://x/new (30000 ms)
        ",
    );
    check(
        "any.json",
        r#"{"projects": {"DIR": {"mcpServers": {"fs": {"command": "${KEY}"}}}}}"#,
        "
        Claude Code
        fs: k3y (30000 ms)
        ",
    );
}

#[test]
fn servers_without_a_mark_have_the_commonest_variables() {
    check(
        "any.json",
        r#"{"mcpServers": {"a": {"command": "${KEY}", "args": ["${env:KEY}", "$KEY"]}}}"#,
        "
        an MCP client
        a: k3y k3y $KEY (30000 ms)
        ",
    );
}

#[test]
fn cursor_is_known_by_path_or_folders() {
    let expect = "
        Cursor
        a: DIR/run /home/ann/x k3y in DIR/sub (30000 ms)
        ";
    let text = r#"
        {"mcpServers": {"a": {
          "command": "${workspaceFolder}/run", "args": ["${userHome}${/}x", "${env:KEY}"],
          "cwd": "sub"
        }}}
        "#;
    check(".cursor/mcp.json", text, expect);
    check("any.json", text, expect);
}

#[test]
fn vs_code_keeps_servers_and_inputs() {
    let servers = r#"{
        "fs": {"type": "stdio", "command": "npx", "cwd": "${workspaceFolder}/sub",
               "env": {"A": "x", "B": 5, "C": null}},
        "wiki": {"type": "http", "url": "https://x", "headers": {"A": "${env:KEY}"}},
        "bare": {"url": "https://x"}
        }"#;
    let expect = "
        VS Code
        fs: npx A=x B=5 in DIR/sub (30000 ms)
        wiki: http https://x A=k3y (30000 ms)
        bare: http https://x (30000 ms)
        ";
    check(".vscode/mcp.json", &format!("{{\"inputs\": [], \"servers\": {servers}}}"), expect);
    check("settings.json", &format!("{{\"mcp\": {{\"servers\": {servers}}}}}"), expect);
}

#[test]
fn windsurf_has_its_own_word_for_url() {
    check(
        "mcp_config.json",
        r#"{"mcpServers": {"a": {"serverUrl": "https://x", "headers": {"A": "${env:KEY}"}}}}"#,
        "
        Windsurf
        a: http https://x A=k3y (30000 ms)
        ",
    );
}

#[test]
fn gemini_means_sse_by_url() {
    check(
        ".gemini/settings.json",
        r#"
        {
          "mcp": {"allowed": []},
          "mcpServers": {
            "a": {"command": "$KEY", "args": ["${KEY}"], "timeout": 1500, "cwd": "/tmp"},
            "b": {"httpUrl": "https://x", "url": "https://y", "command": null},
            "c": {"url": "https://x/sse"},
            "d": {"url": "https://x", "type": "http"}
          }
        }
        "#,
        "
        Gemini CLI
        a: k3y k3y in /tmp (1500 ms)
        b: http https://x (30000 ms)
        c: sse https://x/sse (30000 ms)
        d: http https://x (30000 ms)
        ",
    );
    check(
        "any.json",
        r#"{"mcpServers": {"a": {"command": "$KEY", "trust": true}}}"#,
        "
        Gemini CLI
        a: k3y (30000 ms)
        ",
    );
}

#[test]
fn antigravity_lives_in_geminis_folder() {
    check(
        ".gemini/antigravity/mcp_config.json",
        r#"{"mcpServers": {"a": {"serverUrl": "https://x"}}}"#,
        "
        Windsurf
        a: http https://x (30000 ms)
        ",
    );
}

#[test]
fn cline_nests_and_counts_seconds() {
    check(
        "any.json",
        r#"
        {"mcpServers": {
          "a": {"transport": {"type": "stdio", "command": "npx", "args": ["$KEY"],
                              "env": {"A": "b"}}, "timeout": 60},
          "b": {"transport": {"type": "streamableHttp", "url": "https://x", "headers": {"A": "b"}}},
          "c": {"url": "https://x/sse", "timeout": 60000},
          "d": {"type": "streamableHttp", "url": "https://x", "autoApprove": []}
        }}
        "#,
        "
        Cline
        a: npx $KEY A=b (60000 ms)
        b: http https://x A=b (30000 ms)
        c: sse https://x/sse (3600000 ms)
        d: http https://x (30000 ms)
        ",
    );
}

#[test]
fn copilot_cli_calls_them_local() {
    check(
        ".copilot/mcp-config.json",
        r#"
        {"mcpServers": {
          "a": {"type": "local", "command": "npx", "args": [], "tools": ["*"]},
          "b": {"type": "http", "url": "https://x", "tools": ["*"]}
        }}
        "#,
        "
        an MCP client
        a: npx (30000 ms)
        b: http https://x (30000 ms)
        ",
    );
}

#[test]
fn zed_shares_a_file_with_comments() {
    check(
        "settings.json",
        r#"
        // Zed settings
        {
          "theme": "One Dark",
          "context_servers": {
            "a": {"source": "custom", "command": "npx", "args": ["$KEY"], "timeout": 60},
            "b": {"command": {"path": "old", "args": ["x"], "env": {"A": "b"}}},
            "c": {"url": "https://x", "headers": {"A": "${KEY}"}},
            "d": {"settings": {}},
          },
        }
        "#,
        "
        Zed
        a: npx $KEY (30000 ms)
        b: old x A=b (30000 ms)
        c: http https://x A=${KEY} (30000 ms)
        settings.json:8:5: note: `d` is left out: it comes from an extension of Zed
          hint: add its `command` to have it
        ",
    );
}

#[test]
fn codex_gives_variables_by_name() {
    check(
        "config.toml",
        r#"
        model = "o5"
        [mcp_servers.a]
        command = "npx"
        args = ["${KEY}"]
        env = { A = "b" }
        env_vars = ["KEY", { name = "GONE" }]
        cwd = "/tmp"
        startup_timeout_sec = 20
        tool_timeout_sec = 1.5
        [mcp_servers.b]
        url = "https://x"
        bearer_token_env_var = "KEY"
        http_headers = { A = "b" }
        env_http_headers = { "X-Key" = "KEY" }
        [mcp_servers.c]
        command = "x"
        enabled = false
        "#,
        "
        Codex
        a: npx ${KEY} A=b KEY=k3y in /tmp (1500 ms)
        b: http https://x A=b Authorization=Bearer k3y X-Key=k3y (30000 ms)
        config.toml:6:29: note: `GONE` is not set and so not passed on
          hint: set it where Trove is started, if it is needed
        config.toml:15:14: note: `c` is left out: it is disabled
          hint: enable it in this file to have it
        ",
    );
}

#[test]
fn an_array_of_tables_gives_names_inside() {
    check(
        "config.toml",
        r#"
        [[mcp_servers]]
        name = "a"
        transport = "streamable-http"
        url = "https://x"
        "#,
        "
        Codex
        a: http https://x (30000 ms)
        ",
    );
}

#[test]
fn continue_writes_a_list_in_yaml() {
    check(
        "config.yaml",
        r#"
        name: mine
        version: 1.0.0
        mcpServers:
          - name: My Files
            command: npx
            args: ["-y", "x"]
            env:
              A: ${{ secrets.KEY }}
          - name: wiki
            type: streamable-http
            url: https://x
            requestOptions:
              headers:
                Authorization: Bearer ${{ secrets.KEY }}
          - name: old
            type: sse
            url: https://x/sse
        "#,
        "
        Continue
        my-files: npx -y x A=k3y (30000 ms)
        wiki: http https://x Authorization=Bearer k3y (30000 ms)
        old: sse https://x/sse (30000 ms)
        config.yaml:4:11: note: `My Files` is called `my-files` here
          hint: ids have lower-case letters, digits and `-` only
        ",
    );
}

#[test]
fn goose_has_extensions() {
    check(
        "config.yaml",
        r#"
        GOOSE_PROVIDER: anthropic
        extensions:
          fs:
            type: stdio
            enabled: true
            cmd: npx
            args: [-y, x]
            envs: {A: b}
            env_keys: [KEY]
            timeout: 300
          web:
            type: streamable_http
            enabled: true
            uri: https://x
            headers: {}
          developer:
            type: builtin
            enabled: true
          off:
            type: stdio
            enabled: false
            cmd: x
        "#,
        "
        goose
        fs: npx -y x A=b KEY=k3y (300000 ms)
        web: http https://x (30000 ms)
        config.yaml:16:3: note: `developer` is left out: it is a part of goose, not a server
          hint: nothing to do
        config.yaml:19:3: note: `off` is left out: it is disabled
          hint: enable it in this file to have it
        ",
    );
}

#[test]
fn opencode_writes_commands_as_lists() {
    check(
        "conf/opencode.jsonc",
        r#"
        {
          "$schema": "https://opencode.ai/config.json",
          "mcp": {
            "a": {"type": "local", "command": ["npx", "-y", "{env:KEY}"],
                  "environment": {"A": "b"}, "timeout": 5000},
            "b": {"type": "remote", "url": "https://x", "headers": {"A": "{file:./token}"}},
            "c": {"type": "local", "command": ["x"], "enabled": false},
          },
        }
        "#,
        "
        opencode
        a: npx -y k3y A=b (5000 ms)
        b: http https://x A=t0ken (30000 ms)
        conf/opencode.jsonc:7:5: note: `c` is left out: it is disabled
          hint: enable it in this file to have it
        ",
    );
}

#[test]
fn amp_has_a_key_with_a_dot() {
    check(
        "settings.json",
        r#"{"amp.mcpServers": {"a": {"command": "npx", "args": ["${KEY}"]}}}"#,
        "
        Amp
        a: npx k3y (30000 ms)
        ",
    );
}
