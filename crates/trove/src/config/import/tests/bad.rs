//! Faults that cost an entry, and faults that cost the file.

use super::{check, load_text};

#[test]
fn a_bad_entry_does_not_cost_the_others() {
    check(
        "m.json",
        r#"
        {"mcpServers": {
          "good": {"command": "x"},
          "text": "npx",
          "empty": {},
          "typed": {"type": "ws", "url": "wss://x"},
          "lost": {"type": "http", "command": "x"},
          "words": {"command": "x", "args": "y", "env": []},
          "deep": {"command": "x", "args": [[]]},
          "list": {"command": []},
          "url": {"url": "unix:///sock"},
          "header": {"url": "https://x", "headers": {"a b": "c"}},
          "variable": {"command": "${a b}"},
          "fine": {"command": "y"}
        }}
        "#,
        "
        an MCP client
        good: x (30000 ms)
        fine: y (30000 ms)
        m.json:3:11: error: `text` must be a table, found a string
          hint: write its keys in braces
        m.json:4:3: error: `empty` has no command and no URL
          hint: add `command` or `url`
        m.json:5:21: error: `ws` is no known type
          hint: known: `stdio`, `http`, `sse`
        m.json:6:3: error: `lost` has no URL
          hint: add where it is reached
        m.json:7:37: error: `args` must be a list, found a string
          hint: put each argument in square brackets
        m.json:7:49: error: `env` must be a table, found a list
          hint: write names and values in braces
        m.json:8:37: error: expected a string, found a list
          hint: put it in quotes
        m.json:9:23: error: the command is empty
          hint: add the program to start
        m.json:10:18: error: a `unix` URL cannot be reached
          hint: write it as in `https://example.com/mcp`
        m.json:11:46: error: `a b` is no name of a header
          hint: use letters, digits and `-`, as in `X-Api-Key`
        m.json:12:27: error: `${a b}` is no variable of Claude Code
          hint: write `${NAME}` or `${NAME:-default}`
        ",
    );
}

#[test]
fn what_has_another_type_than_it_should_is_told_or_understood() {
    check(
        "m.json",
        r#"
        {"mcpServers": {
          "number": {"command": 5},
          "truth": {"command": true},
          "quoted": {"command": "x", "disabled": "true"},
          "soon": {"command": "x", "timeout": "soon"}
        }}
        "#,
        "
        an MCP client
        soon: x (30000 ms)
        m.json:2:25: error: the command must be a string, found a whole number
          hint: write the program to start in quotes
        m.json:3:24: error: the command must be a string, found true or false
          hint: write the program to start in quotes
        m.json:4:3: note: `quoted` is left out: it is disabled
          hint: enable it in this file to have it
        m.json:5:39: warning: the timeout is no number
          hint: 30 s is used; write a number above zero
        ",
    );
}

#[test]
fn names_become_ids_and_two_must_not_become_one() {
    check(
        "m.json",
        r#"{"mcpServers": {"My Server": {"command": "x"}, "my_server": {"command": "y"}}}"#,
        "
        an MCP client
        my-server: x (30000 ms)
        m.json:1:17: note: `My Server` is called `my-server` here
          hint: ids have lower-case letters, digits and `-` only
        m.json:1:48: error: `My Server` and `my_server` both become `my-server`
          hint: rename one of them
        ",
    );
}

#[test]
fn what_is_off_or_ourselves_is_left_out() {
    check(
        "m.json",
        r#"
        {"mcpServers": {
          "off": {"command": "x", "disabled": true},
          "trove": {"command": "/usr/bin/trove", "args": ["serve", "--stdio"]},
          "up": {"command": "trove", "args": ["up"]},
          "other": {"command": "trove", "args": ["status"]}
        }}
        "#,
        "
        an MCP client
        other: trove status (30000 ms)
        m.json:2:3: note: `off` is left out: it is disabled
          hint: enable it in this file to have it
        m.json:3:3: warning: `trove` is left out: it is Trove itself
          hint: nothing to do: a gateway is no server of its own
        m.json:4:3: warning: `up` is left out: it is Trove itself
          hint: nothing to do: a gateway is no server of its own
        ",
    );
}

#[test]
fn what_would_be_lost_is_said() {
    check(
        "m.json",
        r#"
        {"mcpServers": {"a": {"command": "x", "envFile": ".env", "timeout": 0,
                              "args": ["${env:GONE}"]}}}
        "#,
        "
        Cursor
        a: x <the environment variable `GONE` is not set> (30000 ms)
        m.json:1:50: warning: `envFile` is not followed
          hint: put its variables in `env`
        m.json:1:69: warning: the timeout is not above zero
          hint: 30 s is used; write a number above zero
        m.json:2:32: warning: the environment variable `GONE` is not set
          hint: set `GONE` where Trove is started, or this server cannot start
        ",
    );
}

#[test]
fn an_input_needs_a_person() {
    check(
        "m.json",
        r#"{"servers": {"a": {"url": "https://x", "headers": {"A": "Bearer ${input:token}"}}}}"#,
        "
        VS Code
        m.json:1:57: error: `${input:token}` asks a person, and here nobody can be asked
          hint: put the value in an environment variable and write `${env:NAME}` instead
        ",
    );
}

#[test]
fn a_file_of_no_client_is_refused() {
    let refusal = |file| {
        format!(
            "no client\n{file}:1:1: error: no client Trove knows writes such a file\n  \
             hint: servers are sought under `mcpServers`, `servers`, `context_servers`, \
             `mcp_servers`, `extensions`, `mcp`, `amp.mcpServers`"
        )
    };
    check("m.json", r#"{"settings": {}}"#, &refusal("m.json"));
    check("m.json", "{}", &refusal("m.json"));
    check("m.yaml", "settings: {}", &refusal("m.yaml"));
}

#[test]
fn a_torn_file_is_read_as_far_as_it_goes() {
    let whole = [
        "\u{feff}[servers.ä]\ncommand = '${env:KEY}'\nargs = [1, 'x']\n[[policy]]\nmatch = ''\n",
        "// é\n{\"mcpServers\": {\"ä\": {\"url\": \"${x}\", \"headers\": [1, null]}}}",
        "extensions:\n  é: &a {cmd: '${', args: [*a, -1e9]}\n  b: |\n    text\n",
    ];
    for text in whole {
        for (end, _) in text.char_indices() {
            load_text("torn", &text[..end]);
        }
    }
}

#[test]
fn a_file_with_a_syntax_error_is_refused() {
    check(
        "m.json",
        r#"{"mcpServers": {"a": }}"#,
        "
        no client
        m.json:1:22: error: unexpected close brace
          hint: mend the syntax here
        ",
    );
}

#[test]
fn servers_that_are_no_list_are_refused() {
    check(
        "m.json",
        r#"{"mcpServers": "a"}"#,
        "
        an MCP client
        m.json:1:16: error: `the list of servers` must be a table, found a string
          hint: write its keys in braces
        ",
    );
}
