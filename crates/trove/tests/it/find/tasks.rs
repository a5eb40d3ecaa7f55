//! Ten everyday tasks over five real servers. Is the right resource among the first three? How many
//! calls does it take, against listing and reading?
//!
//! `cargo xtask tasks` runs this and writes the result to docs/tasks.md.
//!
//! Without search a model lists each server, one call each. It then reads the resources with likely
//! names, the likeliest first, until it has the answer. With search it asks once, with previews. If
//! that does not give the answer, it asks once more without a threshold. It reads in the order of
//! the results. Both are counted to the read of the right resource; where search does not give it,
//! the calls of the other way are added.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use serde_json::{Value, json};

use super::{found, uris};
use crate::kit::client::Client;
use crate::kit::{Folder, Trove, until};
use crate::peers::drivers;

pub(crate) const TASKS: &str = include_str!("tasks.txt");
const FILES: [&str; 3] = ["handbook", "settings", "logs"];
const SERVERS: usize = 5;
/// Among so many results the right one counts as found.
const FIRST: usize = 3;
/// Where the result is written, from the root of the repository.
const DOCUMENT: &str = "docs/tasks.md";
/// Set by the chore that wants it written.
pub(crate) const WRITE: &str = "TROVE_WRITE_TASKS";

/// One question and how it went.
struct Asked {
    question: &'static str,
    right: &'static str,
    /// The place of the right resource among the results, from 1.
    place: Option<usize>,
    /// How often it was searched for.
    searches: usize,
    calls: usize,
    calls_without: usize,
}

#[tokio::test]
async fn ten_tasks_take_few_calls_and_find_the_right_resource() {
    let folder = Folder::empty();
    lay_out(folder.path());
    folder.write(&configuration(folder.path()));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["handbook", "settings", "logs", "everything", "memory"]).await;
    let client = trove.any_client().await;
    until("everything to be indexed, vectors too", async || {
        let figures = reqwest::get(trove.url.replace("/mcp", "/metrics")).await.expect("a page");
        let figures = figures.text().await.expect("text");
        let is_ready = trove.health().await["index"]["state"] == "ready";
        is_ready && figures.contains("\ntrove_index_meaning_lag 0\n")
    })
    .await;
    let names = names(&client).await;
    let mut all = Vec::new();
    for (right, question) in questions() {
        assert!(names.contains_key(right), "{right} is listed: {names:?}");
        all.push(ask(&client, &names, right, question).await);
    }
    let report = report(&all);
    if std::env::var_os(WRITE).is_some() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        fs::write(root.join(DOCUMENT), &report).expect("the result can be written");
    }
    let (share, fewer) = (first_share(&all, 1), fewer(&all));
    assert!(share >= 0.95, "{share:.3} among the first {FIRST} of one search\n{report}");
    assert!(fewer >= 0.6, "{fewer:.3} fewer calls\n{report}");
}

/// Writes the files of the three servers.
pub(crate) fn lay_out(root: &Path) {
    for section in TASKS.split("== ").filter(|section| !section.is_empty()) {
        let (head, text) = section.split_once('\n').expect("a section has a head");
        let Some((server, path)) = head.split_once(' ') else { continue };
        let path = root.join("files").join(server).join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }
    let graph = [
        json!({ "type": "entity", "name": "Ada Lovelace", "entityType": "person",
                "observations": ["leads the payments team", "prefers mail to calls"] }),
        json!({ "type": "entity", "name": "checkout", "entityType": "service",
                "observations": ["owned by Ada Lovelace", "written in Rust"] }),
        json!({ "type": "relation", "from": "Ada Lovelace", "to": "checkout", "relationType": "owns" }),
    ];
    let lines: Vec<String> = graph.iter().map(Value::to_string).collect();
    fs::write(root.join("graph.jsonl"), lines.join("\n")).expect("the graph can be written");
}

pub(crate) fn configuration(root: &Path) -> String {
    let text = |path: &Path| json!(path.to_string_lossy()).to_string();
    let (node, python) = (text(&drivers::node()), text(&drivers::python()));
    let script = text(&drivers::scripts().join("servers/files_server.py"));
    let mut toml = String::new();
    for server in FILES {
        let files = text(&root.join("files").join(server));
        let _ = writeln!(
            toml,
            "[servers.{server}]\ncommand = {python}\nargs = [{script}, \"{server}\", {files}]"
        );
    }
    let everything = text(&drivers::npm_script("server-everything/dist/index.js"));
    let memory = text(&drivers::npm_script("server-memory/dist/index.js"));
    let graph = text(&root.join("graph.jsonl"));
    let _ = writeln!(
        toml,
        "[servers.everything]\ncommand = {node}\nargs = [{everything}, \"stdio\"]\n\
         [servers.memory]\ncommand = {node}\nargs = [{memory}]\nenv = {{ MEMORY_FILE_PATH = {graph} }}"
    );
    toml
}

/// The questions, each with the resource that answers it.
fn questions() -> Vec<(&'static str, &'static str)> {
    let (_, tasks) = TASKS.split_once("== tasks\n").expect("the tasks come last");
    let (mut right, mut questions) = ("", Vec::new());
    for line in tasks.lines() {
        match line.strip_prefix("? ") {
            Some(question) => questions.push((right, question)),
            None => right = line,
        }
    }
    questions
}

/// The list's words for every resource of the servers: its name and description.
async fn names(client: &Client) -> BTreeMap<String, String> {
    let listed = client.list("resources/list", "resources").await;
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let ours = |uri: &str| crate::kit::is_own(uri);
    let theirs = listed.iter().filter(|entry| !ours(&text(entry, "uri")));
    theirs
        .map(|entry| {
            let said = ["uri", "name", "title", "description"].map(|key| text(entry, key));
            (text(entry, "uri"), said.join(" ").to_lowercase())
        })
        .collect()
}

async fn ask(
    client: &Client,
    names: &BTreeMap<String, String>,
    right: &'static str,
    question: &'static str,
) -> Asked {
    let calls_without = SERVERS + reads_by_name(names, right, question);
    let mut asked = json!({ "query": question, "includeContent": true, "maxResults": 10 });
    let mut searches = 1;
    let mut place = place_of(client, &asked, right).await;
    if place.is_none() {
        // The answer advises this where nothing is relevant enough. A model also does it where the
        // answer does not help.
        asked["relevanceThreshold"] = json!(0);
        searches += 1;
        place = place_of(client, &asked, right).await;
    }
    let calls = searches + place.unwrap_or(calls_without);
    Asked { question, right, place, searches, calls, calls_without }
}

/// The place of a resource among the results, from 1.
async fn place_of(client: &Client, asked: &Value, right: &str) -> Option<usize> {
    let answer = found(client, "discover_resources", asked.clone()).await;
    uris(&answer).iter().position(|uri| *uri == right).map(|n| n + 1)
}

/// How many reads it takes in the order in which names share words with the question; of
/// those that share as many, half are read before.
pub(super) fn reads_by_name(
    names: &BTreeMap<String, String>,
    right: &str,
    question: &str,
) -> usize {
    let question = question.to_lowercase();
    let words: Vec<&str> =
        question.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3).collect();
    let shared = |text: &str| words.iter().filter(|word| text.contains(**word)).count();
    let own = shared(&names[right]);
    let better = names.values().filter(|text| shared(text) > own).count();
    let alike = names.values().filter(|text| shared(text) == own).count();
    better + alike.div_ceil(2)
}

fn first_share(all: &[Asked], searches: usize) -> f64 {
    let first = all.iter().filter(|asked| {
        asked.searches <= searches && asked.place.is_some_and(|place| place <= FIRST)
    });
    first.count() as f64 / all.len() as f64
}

fn fewer(all: &[Asked]) -> f64 {
    let calls: usize = all.iter().map(|asked| asked.calls).sum();
    let without: usize = all.iter().map(|asked| asked.calls_without).sum();
    1.0 - calls as f64 / without as f64
}

fn report(all: &[Asked]) -> String {
    let mut text = String::from(
        "# Ten tasks\n\nMade by `cargo xtask tasks`. Ten everyday tasks, each in four wordings, over five real servers: three of \
         fastmcp with a\nhandbook, settings and logs, the reference servers *everything* and *memory*. *Place* is that of the right \
         resource among\nthe results of `discover_resources`; *calls* are that call, a second one without a threshold where the first does not give it, and \
         the reads up to\nthe right resource. A near miss counts as a result. *Without* is one list of\neach server, then reads in the order in which names and descriptions share words with the \
         question.\n\n",
    );
    let _ = writeln!(
        text,
        "| what | promised | measured |\n|---|---|---|\n| right resource among the first {FIRST}, first search | ≥ 95 % | {:.1} % |\n\
         | the same, with a second search without a threshold | | {:.1} % |\n\
         | fewer calls than list and read | ≥ 60 % | {:.1} % |\n",
        first_share(all, 1) * 100.0,
        first_share(all, 2) * 100.0,
        fewer(all) * 100.0,
    );
    text.push_str("| question | right | place | calls | without |\n|---|---|---|---|---|\n");
    for Asked { question, right, place, calls, calls_without, .. } in all {
        let place = place.map_or("–".to_owned(), |place| place.to_string());
        let _ = writeln!(text, "| {question} | `{right}` | {place} | {calls} | {calls_without} |");
    }
    text
}
