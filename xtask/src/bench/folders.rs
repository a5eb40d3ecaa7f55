//! A folder of very many files, resources that a recipe makes, and servers that search by themselves.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::lab::{Door, Lab, Target, text};
use super::report::{Promise, Section, Table, figure};
use super::samples::{Samples, median, number};

const FOLDERS: usize = 1000;
/// Files in each of them, at a quick look and else.
const FILES: (usize, usize) = (10, 100);
/// How much one file holds, so that a read is one of 1 KiB.
const FILE_BYTES: usize = 1024;
/// How often the file system itself is asked.
const DIRECT_READS: usize = 2000;
/// How many seconds Trove has had nothing to do when it is weighed.
const REST: &str = "25";
/// A server is asked to search at most thirty times a minute.
const SEARCHES: &str = "20";

const START: &str = "start";
const WATCH: &str = "watch";
const READ: &str = "read";
const RECIPE: &str = "`resources/read` by the recipe";
const TOOL: &str = "`tools/call` of its tool";
const LIVE: &str = "discover_resources, the server asked too";
const QUIET: &str = "discover_resources, the index alone";

/// A folder and its count of files.
struct Place {
    root: PathBuf,
    files: usize,
}

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let place = made(lab)?;
    let mut samples = Samples::default();
    for round in 1..=lab.rounds {
        eprintln!("folders: round {round} of {}", lab.rounds);
        of_the_folder(lab, &place, &mut samples)?;
        of_the_recipe(lab, &mut samples)?;
    }
    let weighed = lab.result(
        &["rest", "--settle", REST, "--expect", &place.files.to_string()],
        &fresh(lab, &place, Door::Http)?,
    )?;
    let direct = direct_read(&place)?;
    fs::remove_dir_all(&place.root)?;
    let memory_mb = number(&weighed, "rss_kb")? * 1024.0 / 1e6;
    Ok(Section {
        title: "Folders, recipes, live search",
        promises: promises(&place, &samples)?,
        method: format!(
            "A folder of {} files of 1 KiB in {FOLDERS} folders, `index = \"metadata\"`, medians of {} rounds. Each start finds \
             no state of Trove's own; the names are in the memory of the system (warm). A read is timed over HTTP, c = 1, and directly by opening and reading the same file. \
             A change is a write to a watched file; its notice comes over stdio. A recipe and its tool are asked in turn on one \
             connection through one Trove. Live search is the processor time of Trove for one `discover_resources`, {SEARCHES} times with a server that answers at once, and without it.",
            place.files, lab.rounds
        ),
        table: table(&place, &samples, direct, memory_mb)?,
    })
}

/// Writes the files.
fn made(lab: &Lab) -> anyhow::Result<Place> {
    let root = lab.folder().join("files");
    let each = if lab.is_quick { FILES.0 } else { FILES.1 };
    let body = "a line of text\n".repeat(FILE_BYTES / 15 + 1);
    for folder in 0..FOLDERS {
        let folder = root.join(format!("folder-{folder}"));
        fs::create_dir_all(&folder)?;
        for file in 0..each {
            fs::write(folder.join(format!("file-{file}.md")), &body[..FILE_BYTES])?;
        }
    }
    Ok(Place { root: root.canonicalize()?, files: FOLDERS * each })
}

impl Place {
    fn file(&self) -> PathBuf {
        self.root.join("folder-7/file-7.md")
    }

    fn uri(&self) -> String {
        format!("file://{}", self.file().display())
    }
}

/// A Trove that serves the folder and remembers none of it.
fn fresh(lab: &Lab, place: &Place, door: Door) -> anyhow::Result<Target> {
    let root = place.root.clone();
    let target = lab.trove_with_guide("folder", door, move |config| {
        let entry = format!("[folders.measured]\npath = {root:?}\nindex = \"metadata\"\n");
        Ok(fs::write(config.join("trove.toml"), entry)?)
    })?;
    target.forget()?;
    Ok(target)
}

fn of_the_folder(lab: &Lab, place: &Place, samples: &mut Samples) -> anyhow::Result<()> {
    let expect = place.files.to_string();
    let expect = ["--expect", expect.as_str()];
    let started =
        lab.result(&[&["start"], &expect[..]].concat(), &fresh(lab, place, Door::Stdio)?)?;
    samples.add(START, started);
    let read = format!("resources/read {}", json!({ "uri": place.uri() }));
    let what = ["ask", "--in-turn", "--ask", &read];
    samples.add(READ, lab.result(&[&what, &expect[..]].concat(), &fresh(lab, place, Door::Http)?)?);
    let (file, uri) = (text(&place.file()), place.uri());
    let what = ["watch", "--file", &file, "--uri", &uri];
    let target = fresh(lab, place, Door::Stdio)?;
    samples.add(WATCH, lab.result(&[&what, &expect[..]].concat(), &target)?);
    // The next round reads what the others read.
    fs::write(place.file(), "a line of text\n".repeat(FILE_BYTES / 15))?;
    Ok(())
}

/// The milliseconds of reading one file without Trove.
fn direct_read(place: &Place) -> anyhow::Result<f64> {
    let file = place.file();
    let mut times = Vec::new();
    for _ in 0..DIRECT_READS {
        let since = Instant::now();
        let bytes = trove_core::files::read(&file, 1 << 20)?;
        times.push(since.elapsed().as_secs_f64() * 1e3);
        anyhow::ensure!(!bytes.is_empty(), "an empty file");
    }
    Ok(median(times))
}

const RECIPE_TOML: &str = r#"
[servers.up.resources]
list = [{ tool = "list", items = "$[*]", uri = "crm://{id}", name = "{title}" }]
read = [{ template = "crm://{id}", tool = "get", arguments = { id = "{id}" } }]
search = [{ tool = "find", arguments = { q = "{query}" }, items = "$[*]", uri = "crm://{id}", name = "{title}", snippet = "{text}" }]
"#;

/// A server with tools only, and a recipe for it.
fn with_recipe(lab: &Lab) -> anyhow::Result<Target> {
    let file = lab.folder().join("played.json");
    fs::write(&file, played().to_string())?;
    let command = lab.toy(&["--play", &text(&file)]);
    let (program, args) = command.split_first().context("no command")?;
    let entry = format!(
        "[servers.up]\ncommand = {program:?}\nargs = {args:?}\nexpose = \"all\"\nindex = \"metadata\"\n{RECIPE_TOML}"
    );
    lab.trove_with_guide("recipe", Door::Http, |config| {
        Ok(fs::write(config.join("trove.toml"), entry)?)
    })
}

/// What the server answers: ten accounts of 1 KiB.
fn played() -> Value {
    let tool = |name: &str, argument: &str| {
        json!({
            "name": name, "annotations": { "readOnlyHint": true },
            "inputSchema": { "type": "object", "properties": { argument: { "type": "string" } } },
        })
    };
    let account = |n: usize| json!({ "id": format!("a{n}"), "title": format!("Account {n}"), "text": "a line of an account" });
    let accounts: Vec<Value> = (0..10).map(account).collect();
    let text = "a line of text\n".repeat(FILE_BYTES / 15);
    json!({
        "tools": [tool("list", "page"), tool("get", "id"), tool("find", "q")],
        "calls": [
            { "tool": "list", "json": accounts },
            { "tool": "get", "text": text },
            { "tool": "find", "json": accounts },
        ],
    })
}

fn of_the_recipe(lab: &Lab, samples: &mut Samples) -> anyhow::Result<()> {
    let read = "resources/read {\"uri\":\"crm://a1\"}";
    let call = "tools/call {\"name\":\"up_get\",\"arguments\":{\"id\":\"a1\"}}";
    let seconds = lab.seconds.to_string();
    let what = ["ask", "--in-turn", "--expect", "10", "--seconds", &seconds];
    let what = [&what[..], &["--ask", read, "--ask", call]].concat();
    let results = lab.measure(&what, &with_recipe(lab)?)?;
    for (name, result) in [RECIPE, TOOL].into_iter().zip(results) {
        samples.add(name, result);
    }
    let ask = |wait: u32| {
        let arguments = json!({ "query": "account of a harbour", "liveWaitMs": wait });
        let params = json!({ "name": "discover_resources", "arguments": arguments });
        format!("tools/call {params}")
    };
    let (quiet, live) = (ask(0), ask(5000));
    let what = ["ask", "--expect", "10", "--times", SEARCHES, "--ask", &quiet, "--ask", &live];
    let results = lab.measure(&what, &with_recipe(lab)?)?;
    for (name, result) in [QUIET, LIVE].into_iter().zip(results) {
        samples.add(name, result);
    }
    Ok(())
}

fn promises(place: &Place, samples: &Samples) -> anyhow::Result<Vec<Promise>> {
    let at_most = |what: String, measured: f64, most: f64, unit: &str| Promise {
        what,
        target: format!("≤ {most}{unit}"),
        measured: format!("{}{unit}", figure(measured)),
        is_met: measured <= most,
    };
    let files = place.files;
    Ok(vec![
        at_most(
            format!("a folder of {files} files listed, warm, from the start of the process on"),
            samples.median(START, "full_list_ms")?,
            1000.0,
            " ms",
        ),
        at_most(
            "from a change on the disk to its notice".to_owned(),
            samples.median(WATCH, "p50_ms")?,
            500.0,
            " ms",
        ),
        at_most(
            "p95 of a read by a recipe × the call of its tool".to_owned(),
            samples.ratio(RECIPE, TOOL, "p95_ms")?,
            1.1,
            "",
        ),
        at_most(
            "processor time that live search adds to a search".to_owned(),
            samples.added(LIVE, QUIET, "cpu_ms")?,
            20.0,
            " ms",
        ),
    ])
}

fn table(place: &Place, samples: &Samples, direct: f64, memory_mb: f64) -> anyhow::Result<Table> {
    let mut table = Table::new(&["what", "measured"]);
    let mut row = |what: &str, value: String| table.row([what.to_owned(), value]);
    row("files", place.files.to_string());
    for (what, name, column) in [
        ("first answer after the start, ms", START, "first_answer_ms"),
        ("full list after the start, ms", START, "full_list_ms"),
        ("a read over HTTP, p50 ms", READ, "p50_ms"),
    ] {
        row(what, figure(samples.median(name, column)?));
    }
    row("the same file read directly, p50 ms", figure(direct));
    row("read × direct read", figure(samples.median(READ, "p50_ms")? / direct));
    row("from a change to its notice, p50 ms", figure(samples.median(WATCH, "p50_ms")?));
    row("from a change to its notice, most ms", figure(samples.median(WATCH, "max_ms")?));
    row("RSS at rest, MB", figure(memory_mb));
    for name in [RECIPE, TOOL] {
        for column in ["p50_ms", "p95_ms"] {
            let (quantile, _) = column.split_once('_').unwrap_or((column, ""));
            row(&format!("{name}, {quantile} ms"), figure(samples.median(name, column)?));
        }
    }
    for name in [QUIET, LIVE] {
        row(&format!("{name}, CPU ms"), figure(samples.median(name, "cpu_ms")?));
        row(&format!("{name}, p50 ms"), figure(samples.median(name, "p50_ms")?));
    }
    Ok(table)
}
