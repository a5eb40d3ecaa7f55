//! Twenty questions of a person with the usual seven servers, on a machine where nothing was set
//! up but the files of three clients.
//!
//! `cargo xtask proof` runs this and writes the result to docs/proof.md, which says how both ways
//! are counted.

use std::{
    collections::BTreeMap, fmt::Write as _, fs, net::SocketAddr, path::Path, process::Stdio,
};

use serde_json::{Value, json};

use super::{found, indexed, tasks::reads_by_name, uris};
use crate::kit::client::{Client, Kind, Pipe};
use crate::kit::transcript::Transcript;
use crate::kit::{Folder, Trove, until};
use crate::peers::drivers;
use crate::recipes::{repository, site};

const HOME: &str = include_str!("proof.txt");
/// Where the result is written, from the root of the repository.
const DOCUMENT: &str = "docs/proof.md";
/// Set by the chore that wants it written.
const WRITE: &str = "TROVE_WRITE_PROOF";
/// Among so many results the right one counts as found.
const FEW: usize = 3;

/// One question: what kind of thing answers it, its name, and words of the answer.
struct Question {
    kind: &'static str,
    name: &'static str,
    answer: &'static str,
    text: String,
}

/// How one question went by one way.
#[derive(Clone, Copy)]
struct Way {
    calls: usize,
    bytes: usize,
}

struct Asked {
    question: Question,
    /// The place of the right resource among the results, from 1.
    place: Option<usize>,
    with: Way,
    /// By the servers' own tools: if the first guess is right, and by the names of things. `None`
    /// if no tool gives the text.
    without: Option<(Way, Way)>,
}

/// The seven servers: the client whose file names each, and how it is started.
struct Servers {
    root: String,
    repository: String,
    memory: String,
    database: String,
}

#[tokio::test]
async fn twenty_questions_are_answered_on_a_machine_where_nothing_was_set_up() {
    let folder = Folder::empty();
    let servers = lay_out(&folder);
    let address = site(pages()).await;
    for (file, key, ids) in [
        (
            ".config/Claude/claude_desktop_config.json",
            "mcpServers",
            ["filesystem", "memory", "time"].as_slice(),
        ),
        (".cursor/mcp.json", "mcpServers", &["git", "sqlite"]),
        (".config/Code/User/mcp.json", "servers", &["fetch", "everything"]),
    ] {
        let entries = ids.iter().map(|id| ((*id).to_owned(), servers.entry(id)));
        let entries: serde_json::Map<String, Value> = entries.collect();
        folder.put(&format!("user/{file}"), &json!({ key: entries }).to_string());
    }
    let up = ["up", "--yes", "--http", "127.0.0.1:0", "--no-auth"];
    let trove = Trove::start_with(&folder, &up).await;
    trove.ready(&IDS).await;
    let client = trove.any_client().await;
    let questions = questions(address);
    let mut listed = BTreeMap::new();
    for question in questions.iter().filter(|question| question.kind != "page") {
        until(question.name, async || servers.right(&client, question).await.is_some()).await;
        let right = servers.right(&client, question).await.expect("it is listed");
        listed.insert(question.text.clone(), right);
    }
    indexed(&trove).await;
    until("all vectors", async || {
        let figures = reqwest::get(trove.url.replace("/mcp", "/metrics")).await.expect("a page");
        figures.text().await.expect("text").contains("\ntrove_index_meaning_lag 0\n")
    })
    .await;

    let direct = Direct::start(&servers).await;
    let mut all = Vec::new();
    for question in questions {
        let right = listed.get(&question.text).cloned();
        let (place, with) = ask(&client, &question, right).await;
        let without = direct.ask(&servers, &question).await;
        all.push(Asked { question, place, with, without });
    }
    let offered = client.ask("tools/list", json!({})).await.expect("tools").to_string().len();
    let offered = Offered { with: offered, without: direct.offered().await };
    let report = report(&all, &offered);
    if std::env::var_os(WRITE).is_some() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        fs::write(root.join(DOCUMENT), &report).expect("the result can be written");
    }
    assert_eq!(all.len(), 20);
    for figure in figures(&all) {
        assert!(figure.is_above_floor, "{}: {}\n{report}", figure.what, figure.measured);
    }
}

/// A figure beside its promise. What is promised is the aim; the floor is what a change may not
/// fall below.
struct Figure {
    what: String,
    promised: &'static str,
    measured: String,
    is_met: bool,
    is_above_floor: bool,
}

/// The bytes of the lists of tools, with Trove and without.
struct Offered {
    with: usize,
    without: usize,
}

fn figures(all: &[Asked]) -> [Figure; 3] {
    let of_share = |what: String, among, promised, aim: f64, floor: f64| {
        let share = share(all, among);
        let measured = format!("{:.0} %", share * 100.0);
        Figure { what, promised, measured, is_met: share >= aim, is_above_floor: share >= floor }
    };
    let calls = all.iter().map(|asked| asked.with.calls).sum::<usize>() as f64 / all.len() as f64;
    let few = format!("right resource among the first {FEW}");
    [
        of_share("right resource first".to_owned(), 1, "≥ 80 %", 0.8, 0.45),
        of_share(few, FEW, "≥ 95 %", 0.95, 0.75),
        Figure {
            what: "calls until its text is there, on average".to_owned(),
            promised: "≤ 2.2",
            measured: format!("{calls:.2}"),
            is_met: calls <= 2.2,
            is_above_floor: calls <= 3.7,
        },
    ]
}

const IDS: [&str; 7] = ["filesystem", "git", "memory", "sqlite", "time", "fetch", "everything"];

/// The sections whose head begins with a word: the rest of the head, and the text.
fn sections(word: &str) -> Vec<(&'static str, &'static str)> {
    let all = HOME.split("== ").filter_map(|section| section.split_once('\n'));
    all.filter_map(|(head, text)| Some((head.strip_prefix(word)?.trim(), text))).collect()
}

fn pages() -> Vec<(String, String)> {
    let pages = sections("page ").into_iter();
    pages.map(|(path, html)| (path.to_owned(), html.to_owned())).collect()
}

fn questions(site: SocketAddr) -> Vec<Question> {
    let (_, text) = sections("questions")[0];
    let (mut right, mut answer) = (("", ""), "");
    let mut questions = Vec::new();
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("= ") {
            answer = words;
        } else if let Some(asked) = line.strip_prefix("? ") {
            let (kind, name) = right;
            let text = asked.replace("{site}", &format!("http://{site}"));
            questions.push(Question { kind, name, answer, text });
        } else {
            right = line.split_once(' ').expect("a kind and a name");
        }
    }
    questions
}

/// Makes what lies behind the servers.
fn lay_out(folder: &Folder) -> Servers {
    for (path, text) in sections("file ") {
        folder.put(&format!("documents/{path}"), text);
    }
    let home = folder.path().canonicalize().expect("its path");
    let at = |name: &str| home.join(name).display().to_string();
    let entity = |(head, text): (&str, &str)| {
        let (kind, name) = head.split_once(' ').expect("a kind and a name");
        let observations: Vec<&str> = text.lines().collect();
        json!({ "type": "entity", "name": name, "entityType": kind, "observations": observations })
            .to_string()
    };
    let graph: Vec<String> = sections("memory ").into_iter().map(entity).collect();
    folder.put("memory.jsonl", &graph.join("\n"));
    let git = repository(&home.join("ferry"));
    for (head, text) in sections("commit ") {
        let (path, subject) = head.split_once(' ').expect("a path and a subject");
        let (added, said): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with("+ "));
        folder.put(&format!("ferry/{path}"), &added.join("\n").replace("+ ", ""));
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", subject, "-m", &said.join("\n")]);
    }
    let servers = Servers {
        root: at("documents"),
        repository: at("ferry"),
        memory: at("memory.jsonl"),
        database: at("shop.db"),
    };
    let (_, sql) = sections("sql")[0];
    let fill = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()";
    let python = drivers::environment().join("recipes/bin/python");
    let filled = std::process::Command::new(python)
        .args(["-c", fill, &servers.database, sql])
        .output()
        .expect("python can be started");
    assert!(filled.status.success(), "{filled:?}");
    servers
}

impl Servers {
    /// A server as the file of a client has it.
    fn entry(&self, id: &str) -> Value {
        let script = |name: &str| drivers::npm_script(&format!("server-{name}/dist/index.js"));
        let (node, python) = (drivers::node(), drivers::python());
        let old_python = drivers::environment().join("recipes/bin/python");
        match id {
            "filesystem" => json!({ "command": node, "args": [script(id), self.root] }),
            "memory" => {
                json!({ "command": node, "args": [script(id)], "env": { "MEMORY_FILE_PATH": self.memory } })
            }
            "everything" => json!({ "command": node, "args": [script(id), "stdio"] }),
            "git" => {
                json!({ "command": python, "args": ["-m", "mcp_server_git", "--repository", self.repository] })
            }
            "time" => json!({ "command": python, "args": ["-m", "mcp_server_time"] }),
            "fetch" => {
                json!({ "command": python, "args": ["-m", "mcp_server_fetch", "--allow-private-ips"] })
            }
            "sqlite" => {
                // Its program as installed, which `uvx mcp-server-sqlite` would run.
                let program = drivers::environment().join("recipes/bin/mcp-server-sqlite");
                json!({ "command": old_python, "args": [program, "--db-path", self.database] })
            }
            other => panic!("no server is called {other}"),
        }
    }

    /// The listed resource that answers a question.
    async fn right(&self, client: &Client, question: &Question) -> Option<String> {
        let listed = client.list("resources/list", "resources").await;
        let is_it = |entry: &&Value| {
            let (uri, name) = (entry["uri"].as_str().unwrap_or_default(), &entry["name"]);
            match question.kind {
                "file" => uri == format!("file://{}/{}", self.root, question.name),
                "commit" => uri.starts_with("git:") && name == question.name,
                "memory" => uri.starts_with("memory:") && name == question.name,
                "table" => uri == format!("sqlite://table/{}", question.name),
                "document" => uri.starts_with("demo:") && uri.ends_with(question.name),
                kind => panic!("no such kind: {kind}"),
            }
        };
        listed.iter().find(is_it).and_then(|entry| entry["uri"].as_str()).map(str::to_owned)
    }
}

/// Asks as a model does: by the address if one stands in the question, else by searching, then
/// reading in the order of the results. Gives the place of the right resource.
async fn ask(client: &Client, question: &Question, right: Option<String>) -> (Option<usize>, Way) {
    let mut way = Way { calls: 0, bytes: 0 };
    let mut asked = json!({ "query": question.text, "maxResults": 10 });
    let right = match (right, address_in(&question.text)) {
        (Some(right), _) => right,
        (None, Some(address)) => {
            read(client, address, question, &mut way).await;
            return (Some(1), way);
        }
        (None, None) => panic!("{} has no resource", question.text),
    };
    let mut first = None;
    for threshold in [None, Some(0.0)] {
        if let Some(threshold) = threshold {
            asked["relevanceThreshold"] = json!(threshold);
        }
        let answer = found(client, "discover_resources", asked.clone()).await;
        way.calls += 1;
        way.bytes += answer.to_string().len();
        let hits = uris(&answer);
        let place = hits.iter().position(|uri| *uri == right);
        for uri in hits.iter().take(place.unwrap_or(0)) {
            let wrong = client.call("get_resource", json!({ "uri": uri })).await;
            way.calls += 1;
            way.bytes += wrong.to_string().len();
        }
        if place.is_some() {
            first = place.map(|nth| nth + 1).filter(|_| threshold.is_none());
            break;
        }
    }
    read(client, &right, question, &mut way).await;
    (first, way)
}

/// Reads what answers a question.
async fn read(client: &Client, uri: &str, question: &Question, way: &mut Way) {
    let text = client.call("get_resource", json!({ "uri": uri })).await.to_string();
    way.calls += 1;
    way.bytes += text.len();
    assert!(text.contains(question.answer), "{uri} does not say {}: {text}", question.answer);
}

/// The servers without Trove.
struct Direct {
    clients: BTreeMap<&'static str, Client>,
    _children: Vec<tokio::process::Child>,
}

impl Direct {
    async fn start(servers: &Servers) -> Direct {
        let mut direct = Direct { clients: BTreeMap::new(), _children: Vec::new() };
        for id in IDS {
            let entry = servers.entry(id);
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            let mut command = tokio::process::Command::new(text(&entry["command"]));
            command.args(entry["args"].as_array().expect("arguments").iter().map(text));
            for (name, value) in entry["env"].as_object().into_iter().flatten() {
                command.env(name, text(value));
            }
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.kill_on_drop(true).spawn().expect("it can be started");
            let stdin = child.stdin.take().expect("stdin is a pipe");
            let stdout = Transcript::of(child.stdout.take().expect("stdout is a pipe"));
            let pipe = std::sync::Arc::new(Pipe::new(stdin, stdout));
            let client = Client::connect(Kind::STDIO_LEGACY, &pipe, "").await;
            direct.clients.insert(id, client);
            direct._children.push(child);
        }
        direct
    }

    /// The bytes of all lists of tools.
    async fn offered(&self) -> usize {
        let mut bytes = 0;
        for client in self.clients.values() {
            let tools = client.ask("tools/list", json!({})).await.expect("tools");
            bytes += tools.to_string().len();
        }
        bytes
    }

    /// Asks the right server at once: first what it has, then for the right thing. Gives the way
    /// of the one who guesses right, and of the one who goes by names.
    async fn ask(&self, servers: &Servers, question: &Question) -> Option<(Way, Way)> {
        let kind = servers.own_tools(question)?;
        let client = &self.clients[kind.server];
        let mut guessed = Way { calls: 0, bytes: 0 };
        let mut arguments = kind.arguments;
        for (tool, asked) in kind.lists {
            let listed = client.call(tool, asked).await.to_string();
            if let Some(revision) = sha_before(&listed, question.name) {
                arguments["revision"] = json!(revision);
            }
            guessed = Way { calls: guessed.calls + 1, bytes: guessed.bytes + listed.len() };
        }
        let text = client.call(kind.reads, arguments).await.to_string();
        let reads = kind.reads;
        assert!(text.contains(question.answer), "{reads} does not say {}: {text}", question.answer);
        guessed = Way { calls: guessed.calls + 1, bytes: guessed.bytes + text.len() };
        let names: BTreeMap<String, String> =
            kind.names.into_iter().map(|name| (name.to_owned(), name.to_lowercase())).collect();
        let more = if names.is_empty() {
            0
        } else {
            reads_by_name(&names, question.name, &question.text) - 1
        };
        Some((guessed, Way { calls: guessed.calls + more, bytes: guessed.bytes }))
    }
}

/// How one kind of thing is read by the tools of its server.
struct OwnTools {
    server: &'static str,
    /// The calls that list what there is.
    lists: Vec<(&'static str, Value)>,
    /// The names that are listed.
    names: Vec<&'static str>,
    /// The tool that reads, and what it is told. The revision of a commit comes out of the list.
    reads: &'static str,
    arguments: Value,
}

impl Servers {
    /// `None` for the documents of the server everything: no tool of it gives their text.
    fn own_tools(&self, question: &Question) -> Option<OwnTools> {
        let name = question.name;
        let heads = |word| sections(word).into_iter().map(|(head, _)| head);
        Some(match question.kind {
            "file" => OwnTools {
                server: "filesystem",
                lists: vec![
                    ("list_allowed_directories", json!({})),
                    ("directory_tree", json!({ "path": self.root })),
                ],
                names: heads("file ").collect(),
                reads: "read_text_file",
                arguments: json!({ "path": format!("{}/{name}", self.root) }),
            },
            "commit" => OwnTools {
                server: "git",
                lists: vec![("git_log", json!({ "repo_path": self.repository, "max_count": 100 }))],
                names: heads("commit ").filter_map(|head| Some(head.split_once(' ')?.1)).collect(),
                reads: "git_show",
                arguments: json!({ "repo_path": self.repository }),
            },
            "table" => OwnTools {
                server: "sqlite",
                lists: vec![("list_tables", json!({}))],
                names: tables(),
                reads: "read_query",
                arguments: json!({ "query": format!("SELECT * FROM {name}") }),
            },
            "memory" => OwnTools {
                server: "memory",
                lists: Vec::new(),
                names: Vec::new(),
                reads: "read_graph",
                arguments: json!({}),
            },
            "page" => OwnTools {
                server: "fetch",
                lists: Vec::new(),
                names: Vec::new(),
                reads: "fetch",
                arguments: json!({ "url": address_in(&question.text) }),
            },
            _ => return None,
        })
    }
}

fn tables() -> Vec<&'static str> {
    let (_, sql) = sections("sql")[0];
    let tables = sql.lines().filter_map(|line| line.strip_prefix("create table "));
    tables.filter_map(|line| line.split(' ').next()).collect()
}

/// The address that stands in a question.
fn address_in(text: &str) -> Option<&str> {
    text.split(' ').find(|word| word.starts_with("http://"))
}

/// The revision that stands before a subject in a log.
fn sha_before(log: &str, subject: &str) -> Option<String> {
    let (before, _) = log.split_once(subject)?;
    let (_, commit) = before.rsplit_once("Commit: ")?;
    Some(commit.chars().take_while(char::is_ascii_alphanumeric).collect())
}

/// The share of questions whose right resource is among so many results of the first search.
fn share(all: &[Asked], among: usize) -> f64 {
    let found = all.iter().filter(|asked| asked.place.is_some_and(|place| place <= among));
    found.count() as f64 / all.len() as f64
}

fn mean(ways: &[Way], of: impl Fn(&Way) -> usize) -> f64 {
    ways.iter().map(of).sum::<usize>() as f64 / ways.len() as f64
}

fn report(all: &[Asked], offered: &Offered) -> String {
    let mut text = String::from(
        "# Twenty questions\n\nMade by `cargo xtask proof`. A machine where nothing was set up but the files of Claude Desktop, Cursor and VS \
         Code, which name the\nservers filesystem, git, memory, sqlite, time, fetch and everything. After `trove up` and a yes, twenty \
         questions are\nasked through MCP, in other words than those of the texts: most share no word with what answers them.\n\n\
         | what | promised | measured | |\n|---|---|---|---|\n",
    );
    for Figure { what, promised, measured, is_met, .. } in figures(all) {
        let verdict = if is_met { "met" } else { "**missed**" };
        let _ = writeln!(text, "| {what} | {promised} | {measured} | {verdict} |");
    }
    compare(&mut text, all, offered);
    text.push_str(COUNTED);
    for Asked { question, place, with, without } in all {
        let place = place.map_or("–".to_owned(), |place| place.to_string());
        let number = |way: Option<Way>| way.map_or("–".to_owned(), |way| way.calls.to_string());
        let (guessed, by_name) = (without.map(|both| both.0), without.map(|both| both.1));
        // The port of the page is another each time.
        let asked = question.text.split(" http://").next().unwrap_or_default();
        let Question { kind, name, .. } = question;
        let (with, guessed, by_name) = (with.calls, number(guessed), number(by_name));
        let _ = writeln!(
            text,
            "| {asked} | {kind} {name} | {place} | {with} | {guessed} | {by_name} |"
        );
    }
    text
}

/// Trove beside the servers' own tools.
fn compare(text: &mut String, all: &[Asked], offered: &Offered) {
    let Offered { with: with_tools, without: without_tools } = offered;
    let with: Vec<Way> = all.iter().map(|asked| asked.with).collect();
    let guessed: Vec<Way> = all.iter().filter_map(|one| Some(one.without?.0)).collect();
    let by_name: Vec<Way> = all.iter().filter_map(|one| Some(one.without?.1)).collect();
    let calls = |ways: &[Way]| format!("{:.2}", mean(ways, |way| way.calls));
    let bytes = |ways: &[Way]| format!("{:.0}", mean(ways, |way| way.bytes));
    let (total, answered) = (all.len(), guessed.len());
    let _ = write!(
        text,
        "\n## The servers' own tools\n\n\
         | | Trove | own tools, right guess | own tools, by names |\n|---|---|---|---|\n\
         | questions answered | {total} of {total} | {answered} of {total} | {answered} of {total} |\n\
         | calls, on average | {} | {} | {} |\n| bytes of answers, on average | {} | {} | at least {} |\n\
         | bytes of the tools' list | {with_tools} | {without_tools} | {without_tools} |\n\n",
        calls(&with),
        calls(&guessed),
        calls(&by_name),
        bytes(&with),
        bytes(&guessed),
        bytes(&by_name),
    );
}

/// How both ways are counted.
const COUNTED: &str = "- **Trove**: one call of `discover_resources`, then `get_resource` for each result in order, until the right one is read. A \
     second search\n  without a threshold is counted if the first does not give the right one. An address in the question is read at once.\n\
     - **Own tools, right guess**: the user knows which server holds the answer, asks it for a list (`list_allowed_directories` and\n  \
     `directory_tree`, `git_log`, `list_tables`; none for `read_graph` and `fetch`), and reads the right thing at once. No real user can do better.\n\
     - **Own tools, by names**: the same user reads in the order in which names share words with the question; of equals, half are \
     read before.\n  Only the bytes of the right read are counted.\n\
     - No tool of the server everything gives the texts that it has as resources. The server time has nothing to read.\n\n\
     | question | right | place | calls | right guess | by names |\n|---|---|---|---|---|---|\n";
