//! Refused configurations, with the place and the words of each refusal.

use serde_json::json;

use super::*;

/// The problems of a `trove.toml`, which make it unusable exactly if one is an error.
#[track_caller]
fn check(text: &str, expect: &str) {
    let loaded = load_toml(&dedent(text));
    assert_eq!(shown(&loaded.problems), dedent(expect));
    assert_eq!(loaded.is_usable(), !expect.contains("error: "));
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_known_one() {
    check(
        "
        [servers.fs]
        command = 'x'
        comand = 'x'
        [guide]
        serverUrl = 1
        [htpp]
        ",
        "
        trove.toml:3:1: error: unknown key `comand` in [servers.fs]
          hint: did you mean `command`?
        trove.toml:5:1: error: unknown key `serverUrl` in [guide]
          hint: known: `root`, `max_documents`, `categories`, `collections`, `projects`, `project`
        trove.toml:6:2: error: unknown key `htpp` in the file
          hint: did you mean `http`?
        ",
    );
}

#[test]
fn wrong_types_are_named_without_their_values() {
    check(
        "
        servers.a.command = 5
        servers.b = 'x'
        http = []
        [servers.c]
        command = 'x'
        args = 'x'
        env = { A = 5 }
        timeout_ms = '5'
        poll_interval_ms = -5
        [code]
        enabled = 'yes'
        [tools]
        toolsets = ['guides', 5]
        ",
        "
        trove.toml:1:21: error: `servers.a.command` must be a string, found a whole number
          hint: put it in quotes
        trove.toml:2:13: error: `servers.b` must be a table, found a string
          hint: write its keys below a `[section]`
        trove.toml:3:8: error: `http` must be a table, found a list
          hint: write its keys below a `[section]`
        trove.toml:6:8: error: `servers.c.args` must be a list, found a string
          hint: put it in square brackets
        trove.toml:7:13: error: `servers.c.env.A` must be a string, found a whole number
          hint: put it in quotes
        trove.toml:8:14: error: `servers.c.timeout_ms` must be a whole number, found a string
          hint: write it without quotes or a point
        trove.toml:9:20: error: `servers.c.poll_interval_ms` is negative
          hint: write zero or more
        trove.toml:11:11: error: `code.enabled` must be true or false, found a string
          hint: write `true` or `false`
        trove.toml:13:13: error: `guides` is no value of `tools.toolsets`
          hint: did you mean `guide`?
        trove.toml:13:23: error: `tools.toolsets` must be a string, found a whole number
          hint: put it in quotes
        ",
    );
}

#[test]
fn a_server_is_reached_in_one_way() {
    check(
        "
        [servers.both]
        command = 'x'
        url = 'http://x'
        [servers.none]
        [servers.a]
        url = 'http://x'
        args = []
        cwd = '.'
        env = {}
        [servers.b]
        command = 'x'
        headers = {}
        transport = 'sse'
        [servers.c]
        command = ''
        ",
        "
        trove.toml:3:7: error: [servers.both] has both `command` and `url`
          hint: keep `command` to start it here, or `url` to reach it
        trove.toml:4:10: error: [servers.none] has neither `command` nor `url`
          hint: add `command` to start it here, or `url` to reach it
        trove.toml:7:8: error: `args` belongs to a server with `command`
          hint: remove `args`
        trove.toml:8:7: error: `cwd` belongs to a server with `command`
          hint: remove `cwd`
        trove.toml:9:7: error: `env` belongs to a server with `command`
          hint: remove `env`
        trove.toml:12:11: error: `headers` belongs to a server with `url`
          hint: remove `headers`
        trove.toml:13:13: error: `transport` belongs to a server with `url`
          hint: remove `transport`
        trove.toml:15:11: error: `command` is empty
          hint: write the program to start
        ",
    );
}

#[test]
fn ids_times_and_words_must_make_sense() {
    check(
        "
        [servers.My_Server]
        command = 'x'
        timeout_ms = 0
        tool_prefix = 'a b'
        [servers.b]
        command = 'x'
        watch = 'poll'
        poll_interval_ms = 0
        env = { 'A=B' = '' }
        [servers.c]
        command = 'x'
        protocol = 'lagacy'
        index = 'everything'
        poll_interval_ms = 5
        ",
        "
        trove.toml:1:10: error: `My_Server` is no server id: start with a lower-case letter, \
         then up to 30 of a-z, 0-9 and -
          hint: use `my-server`
        trove.toml:3:14: error: `timeout_ms` is zero
          hint: write milliseconds, as in `30000`
        trove.toml:4:15: error: `tool_prefix` cannot stand in a tool's name
          hint: use letters, digits, `_` and `-`, or leave it empty
        trove.toml:8:20: error: `poll_interval_ms` is zero
          hint: write milliseconds, as in `5000`
        trove.toml:9:9: error: `A=B` is no name of an environment variable
          hint: use letters, digits and `_`, as in `API_KEY`
        trove.toml:12:12: error: `lagacy` is no value of `servers.c.protocol`
          hint: did you mean `legacy`?
        trove.toml:13:9: error: `everything` is no value of `servers.c.index`
          hint: known: `content`, `metadata`, `off`
        trove.toml:14:20: warning: `poll_interval_ms` does nothing unless `watch` is `poll`
          hint: add watch = \"poll\", or remove it
        ",
    );
}

#[test]
fn a_rule_on_what_search_may_read_is_whole() {
    check(
        "
        [[discovery.index]]
        index = 'off'
        [[discovery.index]]
        match = 'wiki://*'
        [[discovery.index]]
        match = 'wiki://['
        index = 'some'
        [[discovery.index]]
        match = 'wiki://['
        index = 'off'
        ",
        "
        trove.toml:1:1: error: a [[discovery.index]] has no `match`
          hint: add the resources it is about: match = \"wiki://drafts/*\"
        trove.toml:3:1: error: a [[discovery.index]] has no `index`
          hint: add what search may read of them: index = \"metadata\"
        trove.toml:7:9: error: `some` is no value of `discovery.index.index`
          hint: known: `content`, `metadata`, `off`
        trove.toml:8:1: error: \"wiki://[\" is not a pattern: unclosed character class; missing ']'; \
         write one like `admin://*`
          hint: `*` stands for anything
        ",
    );
}

#[test]
fn urls_and_headers_must_make_sense_and_are_not_repeated() {
    check(
        "
        servers.a.url = 'wiki.example'
        servers.b.url = 'ftp://ann:hunter2@x'
        servers.c.url = 'https:///x'
        servers.d.url = 'https://x y'
        [servers.e]
        url = '${env:KEY}/mcp'
        headers = { 'a b' = 'x', b = \"x\\ny\" }
        ",
        "
        trove.toml:1:17: error: this is no http or https URL
          hint: write it as in `https://example.com/mcp`
        trove.toml:2:17: error: a `ftp` URL cannot be reached
          hint: write it as in `https://example.com/mcp`
        trove.toml:3:17: error: this is no http or https URL
          hint: write it as in `https://example.com/mcp`
        trove.toml:4:17: error: this is no http or https URL
          hint: write it as in `https://example.com/mcp`
        trove.toml:7:13: error: `a b` is no name of a header
          hint: use letters, digits and `-`, as in `X-Api-Key`
        trove.toml:7:30: error: the value of the header `b` has a line break or control character in it
          hint: write it as one line
        ",
    );
}

#[test]
fn variables_are_checked_where_they_stand() {
    check(
        "
        [servers.a]
        command = '${home}/x'
        args = ['${KEY}', '${env:GONE}', '${env:GONE:-}']
        cwd = '${env:GONE}'
        [servers.b]
        url = '${env:KEY}/mcp'
        headers = { A = '${env:KEY' }
        [guide]
        root = '${workspaceFolder}'
        ",
        "
        trove.toml:3:9: error: `${KEY}` is no variable of trove.toml
          hint: write `${env:NAME}`, `${file:PATH}` or `${home}`, and `$$` for a dollar sign
        trove.toml:3:19: warning: the environment variable `GONE` is not set
          hint: set `GONE` where Trove is started, or this server cannot start
        trove.toml:4:7: error: the environment variable `GONE` is not set
          hint: set `GONE` where Trove is started
        trove.toml:7:17: error: a `${` is never closed
          hint: add the `}`, or write `$$` for a dollar sign
        trove.toml:9:8: error: `${workspaceFolder}` is no variable of trove.toml
          hint: write `${env:NAME}`, `${file:PATH}` or `${home}`, and `$$` for a dollar sign
        ",
    );
}

#[test]
fn keys_are_checked_where_they_stand_and_paths_are_not_read_from_files() {
    check(
        "
        [keys]
        ring = ['hunter2', '${KEY}', '${file:key}']
        [guide]
        root = '${file:root}'
        ",
        "
        trove.toml:2:9: error: key 1 of the ring has 7 letters, fewer than 32
          hint: make one with `openssl rand -hex 32`
        trove.toml:2:20: error: `${KEY}` is no variable of trove.toml
          hint: write `${env:NAME}`, `${file:PATH}` or `${home}`, and `$$` for a dollar sign
        trove.toml:4:8: error: a path is not read from a file
          hint: write the path itself
        ",
    );
}

#[test]
fn a_variable_that_is_not_set_yet_is_only_a_warning() {
    check(
        "servers.a = { url = 'https://x', headers = { A = '${env:GONE}' } }",
        "
        trove.toml:1:50: warning: the environment variable `GONE` is not set
          hint: set `GONE` where Trove is started, or this server cannot start
        ",
    );
}

#[test]
fn t45_a_server_that_is_trove_itself_is_refused() {
    check(
        "
        [servers.a]
        command = '/opt/trove'
        args = ['serve', '--stdio']
        [servers.b]
        command = 'trove'
        args = ['serve', '--stdio', '--config', 'b.toml']
        [servers.c]
        command = 'trove'
        args = ['status']
        ",
        "
        trove.toml:2:11: error: the server is Trove itself
          hint: remove it, or give the other Trove its own file with --config
        ",
    );
}

#[test]
fn http_is_checked() {
    check(
        "http = { addr = 'localhost', auth = 'jwt' }",
        r#"
        trove.toml:1:17: error: `localhost` is no IP address with a port
          hint: write it as in `127.0.0.1:7420`
        trove.toml:1:37: error: `jwt` needs to know who signs the tokens
          hint: add [auth] issuer = "https://id.example"
        "#,
    );
    check(
        "http.auth = 'oauth'",
        r#"
        trove.toml:1:13: error: `oauth` needs to know who signs the tokens
          hint: add [auth] issuer = "https://id.example"
        "#,
    );
    check(
        "
        http = { auth = 'oauth', public_url = 'http://trove.example/mcp', allowed_origins = ['app.example', 'https://*'] }
        auth = { issuer = 'https://ann:pw@id.example', leeway_seconds = 301 }
        ",
        "
        trove.toml:1:39: error: `public_url` is no plain https address
          hint: write it as in `https://id.example`, without user, `?` and `#`; http is for this machine only
        trove.toml:1:86: error: `app.example` is no origin
          hint: write scheme and host, as in `https://app.example`
        trove.toml:1:101: error: `https://*` is no origin
          hint: write scheme and host, as in `https://app.example`
        trove.toml:2:19: error: `issuer` is no plain https address
          hint: write it as in `https://id.example`, without user, `?` and `#`; http is for this machine only
        trove.toml:2:65: error: a leeway of 301 seconds lets expired tokens live on
          hint: write at most 300
        ",
    );
    check(
        "http = { addr = '0.0.0.0:80', auth = 'none' }",
        "
        trove.toml:1:38: error: without authentication, 0.0.0.0:80 would be open to everyone
          hint: use the address 127.0.0.1, or the authentication `token`
        ",
    );
    check("http = { addr = '[::1]:80', auth = 'none' }", "");
}

#[test]
fn no_auth_is_for_loopback_only() {
    let folder = TempDir::new().unwrap();
    let http_addr = Some("0.0.0.0:80".parse().unwrap());
    let flags = Overrides { http_addr, no_auth: true, ..Overrides::default() };
    let loaded = load_in(folder.path(), flags);
    assert!(!loaded.is_usable());
    assert_eq!(
        shown(&loaded.problems),
        "error: without authentication, 0.0.0.0:80 would be open to everyone\n  \
         hint: use the address 127.0.0.1, or the authentication `token`"
    );
}

#[test]
fn a_policy_needs_a_match_and_roles() {
    check(
        "
        [[policy]]
        visible = false
        [[policy]]
        match = ''
        roles = 'x'
        ",
        "
        trove.toml:1:1: error: a [[policy]] has no `match`
          hint: add the resources it is about: match = \"admin://*\"
        trove.toml:1:1: error: a [[policy]] has no `roles`
          hint: add the roles of which a caller needs one: roles = [\"admin\"]
        trove.toml:3:1: error: a [[policy]] has no `match`
          hint: add the resources it is about: match = \"admin://*\"
        trove.toml:5:9: error: `policy.roles` must be a list, found a string
          hint: put it in square brackets
        ",
    );
}

#[test]
fn syntax_errors_come_all_at_once() {
    check(
        "
        [http
        [guide]
        root = 'x'
        root = 'y'
        ",
        "
        trove.toml:1:6: error: unclosed table, expected `]`
          hint: mend the syntax here
        trove.toml:4:1: error: duplicate key
          hint: mend the syntax here
        ",
    );
}

#[test]
fn the_report_sums_up() {
    let text = "[servers.a]\ncommand = 'x'\nargs = ['${env:GONE}']\n[http]\nauth = 'jwt'\n";
    let loaded = load_toml(text);
    let file = loaded.origin.as_ref().unwrap().display().to_string();
    assert_eq!(
        loaded.report().replace(&file, "FILE").trim_end(),
        dedent(
            "
            trove.toml:3:9: warning: the environment variable `GONE` is not set
              hint: set `GONE` where Trove is started, or this server cannot start
            trove.toml:5:8: error: `jwt` needs to know who signs the tokens
              hint: add [auth] issuer = \"https://id.example\"
            FILE: 1 server, 1 error, 1 warning
            "
        )
    );
    let report = loaded.report_json();
    assert_eq!(
        report["problems"][1],
        json!({
            "severity": "error", "file": "trove.toml", "line": 5, "column": 8,
            "message": "`jwt` needs to know who signs the tokens",
            "hint": "add [auth] issuer = \"https://id.example\"",
        })
    );
    assert_eq!((&report["servers"], &report["usable"]), (&json!(["a"]), &json!(false)));
}

#[test]
fn a_flag_that_cannot_be_so_is_told_where_it_stands() {
    check(
        "
        [guide.projects.p.flags]
        content-format = 'html'
        'a b' = true
        deep = { a = { b = 'c' } }
        ",
        "
        trove.toml:2:18: error: `content-format` was not set: it takes one of `mime`, `plain`, `parts`, and what came is another string
          hint: docs/flags.md says what flags there are
        trove.toml:3:9: error: this is no name of a flag; use 1 to 64 letters (a-z, A-Z), digits, `_` and `-`
          hint: docs/flags.md says what flags there are
        trove.toml:4:8: error: `deep` was not set: a map may hold true, false, strings and lists of strings, and this one holds a map
          hint: docs/flags.md says what flags there are
        ",
    );
}

#[test]
fn what_makes_no_sense_in_the_guide_is_told_where_it_stands() {
    check(
        "
        [guide]
        max_documents = 0
        project = 'q'
        [guide.categories.lang]
        dir = '../out'
        [guide.categories.'a b']
        patterns = ['[']
        [guide.collections.a]
        members = ['b']
        [guide.collections.b]
        members = ['lang', 'a']
        [guide.collections.c]
        [guide.projects.p]
        flags = { workflow = 1 }
        ",
        "
        trove.toml:2:17: error: `max_documents` is not from 1 to 100000
          hint: write a number, as in `1000`
        trove.toml:3:11: error: `project` names \"q\", which is no project
          hint: there are: p
        trove.toml:4:19: error: [guide.categories.lang]: `dir` must lie in the guide: the path holds `.` or `..`, which lead elsewhere
          hint: mend it here
        trove.toml:6:19: error: [guide.categories.a b]: `a b` cannot be a name: it holds a blank
          hint: mend it here
        trove.toml:6:19: error: [guide.categories.a b]: `[` is no pattern: unclosed character class; missing ']'
          hint: mend it here
        trove.toml:8:20: error: [guide.collections.a]: it leads back to itself: a → b → a
          hint: mend it here
        trove.toml:10:20: error: [guide.collections.b]: it leads back to itself: a → b → a
          hint: mend it here
        trove.toml:12:20: error: [guide.collections.c] has no `members`
          hint: add them: members = [\"lang/rust\", \"checklists\"]
        trove.toml:14:22: error: `guide.projects.p.flags.workflow` must be true, false, a string or a list
          hint: write it as in `workflow = true`
        ",
    );
}
