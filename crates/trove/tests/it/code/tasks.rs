//! Ten tasks that need many resources at once, over real servers: with one program, and
//! with a list and a read for each.
//!
//! `cargo xtask tasks` runs this and writes the result to docs/code-tasks.md. Both ways go through
//! the tools of a client that knows only tools. *Bytes* are all texts that reach the model and, of
//! a program, also its own text.

use std::{fmt::Write as _, fs, path::Path};

use serde_json::{Value, json};

use crate::find::tasks::{WRITE, configuration, lay_out};
use crate::kit::client::Client;
use crate::kit::{Folder, Trove};

/// Where the result is written, from the root of the repository.
const DOCUMENT: &str = "docs/code-tasks.md";

/// A task, the server it looks through, the program, and what must come of it.
struct Task {
    what: &'static str,
    server: &'static str,
    code: &'static str,
    expected: fn() -> Value,
}

const TASKS: &[Task] = &[
    Task {
        what: "count the errors in all logs",
        server: "logs",
        code: "sum(len(grep(r['uri'], ' ERROR ')) for r in list_resources('logs'))",
        expected: || json!(5),
    },
    Task {
        what: "which logs have no warning and no error",
        server: "logs",
        code: "sorted(r['uri'] for r in list_resources('logs') if not grep(r['uri'], 'ERROR|WARN'))",
        expected: || {
            json!([
                "logs://billing/2026-11-13.log",
                "logs://database/2026-11-13.log",
                "logs://gateway/2026-11-13.log"
            ])
        },
    },
    Task {
        what: "the first error of the day, of any service",
        server: "logs",
        code: "min(l['text'] for r in list_resources('logs') for l in grep(r['uri'], ' ERROR '))",
        expected: || json!("2026-11-14T02:31:12Z ERROR dump failed: no space left on device"),
    },
    Task {
        what: "the three busiest hours, all logs together",
        server: "logs",
        code: "from collections import Counter\nhours = Counter(l['text'][:13] for r in list_resources('logs') for l in grep(r['uri'], '^2026-11-14'))\nsorted(hours.items(), key=lambda p: (-p[1], p[0]))[:3]",
        expected: || json!([["2026-11-14T09", 3], ["2026-11-14T02", 2], ["2026-11-14T06", 2]]),
    },
    Task {
        what: "which settings name a host of example.net",
        server: "settings",
        code: "sorted(r['uri'] for r in list_resources('settings') if 'example.net' in read(r['uri']))",
        expected: || {
            json!([
                "settings://auth/sso.yaml",
                "settings://logging/levels.toml",
                "settings://mail/relay.ini"
            ])
        },
    },
    Task {
        what: "every port that is set, with its file",
        server: "settings",
        code: "{r['uri']: hits[0]['text'].strip() for r in list_resources('settings') if (hits := grep(r['uri'], 'port: |listen [0-9]'))}",
        expected: || {
            json!({
                "settings://billing/service.yaml": "port: 8443",
                "settings://gateway/nginx.conf":
                    "server { listen 443 ssl; client_max_body_size 25m; proxy_read_timeout 60s; }"
            })
        },
    },
    Task {
        what: "the settings that are JSON, joined into one object",
        server: "settings",
        code: "all = {}\nfor r in list_resources('settings'):\n    if r['uri'].endswith('.json'):\n        all.update(read_json(r['uri']))\nall",
        expected: || {
            json!({
                "max_connections": 120, "min_idle": 10, "statement_timeout_ms": 15000,
                "replica_lag_limit_s": 30, "dark_mode": true, "new_checkout": false,
                "beta_share_percent": 10
            })
        },
    },
    Task {
        what: "the longest page of the handbook",
        server: "handbook",
        code: "max((len(read(r['uri'])), r['uri']) for r in list_resources('handbook'))[1]",
        expected: || json!("handbook://payments/retries.md"),
    },
    Task {
        what: "how many words the handbook has",
        server: "handbook",
        code: "sum(len(read(r['uri']).split()) for r in list_resources('handbook'))",
        expected: || json!(words_of("handbook")),
    },
    Task {
        what: "the title of every page of the handbook",
        server: "handbook",
        code: "sorted(read(r['uri']).split('\\n')[0].lstrip('# ') for r in list_resources('handbook'))",
        expected: || json!(titles_of("handbook")),
    },
];

fn texts_of(server: &'static str) -> impl Iterator<Item = &'static str> {
    let sections = crate::find::tasks::TASKS.split("== ").filter(|part| !part.is_empty());
    sections.filter_map(move |part| {
        let (head, text) = part.split_once('\n')?;
        (head.split_once(' ')?.0 == server).then_some(text)
    })
}

fn words_of(server: &'static str) -> usize {
    texts_of(server).map(|text| text.split_whitespace().count()).sum()
}

fn titles_of(server: &'static str) -> Vec<&'static str> {
    let first = |text: &'static str| text.lines().next().unwrap_or_default();
    let mut titles: Vec<&str> =
        texts_of(server).map(|text| first(text).trim_start_matches(['#', ' '])).collect();
    titles.sort_unstable();
    titles
}

/// The cost of one way to do a task.
struct Cost {
    rounds: usize,
    bytes: usize,
}

#[tokio::test]
async fn ten_tasks_take_one_round_each_and_few_bytes() {
    let folder = Folder::empty();
    lay_out(folder.path());
    folder.write(&format!("[code]\nenabled = true\n{}", configuration(folder.path())));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["handbook", "settings", "logs"]).await;
    let client = trove.any_client().await;
    let mut rows = Vec::new();
    for task in TASKS {
        let called = client.call("run_code", json!({ "code": task.code })).await;
        let given = &called["structuredContent"];
        assert_eq!(given["result"], (task.expected)(), "{}: {given}", task.what);
        let with = Cost { rounds: 1, bytes: text_of(&called).len() + task.code.len() };
        rows.push((task, with, one_by_one(&client, task.server).await));
    }
    let report = report(&rows);
    if std::env::var_os(WRITE).is_some() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        fs::write(root.join(DOCUMENT), &report).expect("the result can be written");
    }
    for (task, with, without) in &rows {
        assert!(with.rounds < without.rounds && with.bytes < without.bytes, "{}", task.what);
    }
}

/// A list of the server, then a read of each of its resources.
async fn one_by_one(client: &Client, server: &str) -> Cost {
    let listed = client.call("get_resource", json!({ "server": server })).await;
    let mut cost = Cost { rounds: 1, bytes: text_of(&listed).len() };
    let uris = client.uris().await;
    for uri in uris.iter().filter(|uri| uri.starts_with(&format!("{server}://"))) {
        let read = client.call("get_resource", json!({ "uri": uri })).await;
        cost.rounds += 1;
        cost.bytes += text_of(&read).len();
    }
    cost
}

/// The text of an answer that a model is shown.
fn text_of(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().expect("an answer has text")
}

fn report(rows: &[(&Task, Cost, Cost)]) -> String {
    let mut text = String::from(
        "# Ten tasks with one program each\n\nMade by `cargo xtask tasks`, over three real servers of fastmcp with a handbook, settings and logs. \
         *With* is one call of\n`run_code`: what the model writes and what it gets. *Without* is one list of the server and one \
         `get_resource` for each of\nits resources.\n\n\
         | task | rounds with | without | bytes with | without |\n|---|---|---|---|---|\n",
    );
    let mut sum = (Cost { rounds: 0, bytes: 0 }, Cost { rounds: 0, bytes: 0 });
    for (task, with, without) in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            task.what, with.rounds, without.rounds, with.bytes, without.bytes
        );
        sum.0 = Cost { rounds: sum.0.rounds + with.rounds, bytes: sum.0.bytes + with.bytes };
        sum.1 = Cost { rounds: sum.1.rounds + without.rounds, bytes: sum.1.bytes + without.bytes };
    }
    let (with, without) = sum;
    let _ = writeln!(
        text,
        "| **all** | **{}** | **{}** | **{}** | **{}** |",
        with.rounds, without.rounds, with.bytes, without.bytes
    );
    text
}
