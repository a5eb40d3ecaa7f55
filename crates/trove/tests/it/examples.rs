//! Every example in the documents, carried out as a reader would.
//!
//! Each page has a bare machine of its own: an empty home, and a `PATH` with Trove and the servers
//! that the tests install. Its blocks are tried in their order:
//!
//! | block | what is done |
//! |---|---|
//! | `sh` | run; each command must succeed |
//! | `console` | the lines after `$ ` are run, and print what stands below them |
//! | `toml` | `trove config check` accepts it |
//! | `json-rpc` | requests go to `trove serve --stdio`, which answers what stands below them |
//! | `json` | it is JSON |
//! | `LANGUAGE as FILE` | FILE is written |
//! | `LANGUAGE from FILE` | FILE in this repository holds it |
//! | `LANGUAGE not run: REASON` | nothing; the reason is printed |
//!
//! In expected output `...` stands for anything, on a line of its own for any lines.
//! `<!-- prepare` opens lines of shell that a reader does not see, up to `-->`.

mod blocks;
mod compare;
mod machine;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use blocks::{Block, Kind};
use machine::Machine;

/// Pages that the program prints; the examples of tools and prompts are run by their own tests.
const GENERATED: &str = "docs/reference";
/// How many pages are tried at a time.
const AT_ONCE: usize = 3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages, as paths from the root.
fn pages() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).expect("a folder of documents") {
            let entry = entry.expect("an entry of a folder");
            let path = format!("{folder}/{}", entry.file_name().display());
            let is_folder = entry.file_type().expect("a kind of file").is_dir();
            if is_folder && path != GENERATED {
                folders.push(path);
            } else if path.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// How the blocks of a page fared.
#[derive(Default)]
struct Report {
    ran: usize,
    left: Vec<String>,
    wrong: Vec<String>,
}

impl Report {
    fn add(&mut self, other: Report) {
        self.ran += other.ran;
        self.left.extend(other.left);
        self.wrong.extend(other.wrong);
    }
}

fn try_page(page: &str) -> Report {
    let text = std::fs::read_to_string(root().join(page)).expect("a page");
    let mut report = Report::default();
    let machine = Machine::new();
    for block in blocks::of(&text) {
        let place = format!("{page}:{}", block.line);
        let Block { kind, text, .. } = block;
        let outcome = match kind {
            Kind::NotRun(why) => {
                report.left.push(format!("{place}: {why}"));
                continue;
            }
            Kind::Prepare => {
                if let Err(why) = machine.run_script(&text) {
                    report.wrong.push(format!("{place}: {why}"));
                }
                continue;
            }
            Kind::Script => machine.run_script(&text),
            Kind::Console => machine.run_console(&text),
            Kind::Settings => machine.check_settings(&text),
            Kind::Conversation => machine.converse(&text),
            Kind::Json => blocks::values(&text).map(drop),
            Kind::As(file) => machine.write(&file, &text),
            Kind::From(file) => is_part_of(&file, &text),
            Kind::Unknown(info) => Err(format!(
                "nothing is known of `{info}`: say `not run: REASON` behind the language"
            )),
        };
        report.ran += 1;
        if let Err(why) = outcome {
            report.wrong.push(format!("{place}: {why}"));
        }
    }
    report
}

fn is_part_of(file: &str, text: &str) -> Result<(), String> {
    let whole = std::fs::read_to_string(root().join(file)).map_err(|e| format!("{file}: {e}"))?;
    if whole.contains(text.trim_end()) {
        return Ok(());
    }
    Err(format!("{file} does not hold these lines"))
}

#[test]
fn every_example_in_the_documents_does_what_it_says() {
    let only = std::env::var("TROVE_PAGE").ok();
    let mut waiting = pages();
    waiting.retain(|page| only.as_ref().is_none_or(|only| page.contains(only)));
    let waiting = Mutex::new(waiting);
    let whole = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let page = waiting.lock().expect("no page panics").pop();
                    let Some(page) = page else { return };
                    let report = try_page(&page);
                    whole.lock().expect("no page panics").add(report);
                }
            });
        }
    });
    let report = whole.into_inner().expect("no page panics");
    let Report { ran, mut left, wrong } = report;
    left.sort();
    println!("{ran} examples were run, {} were not:", left.len());
    for reason in &left {
        println!("  {reason}");
    }
    assert!(wrong.is_empty(), "{} examples are wrong:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(only.is_some() || ran > left.len() * 3, "most examples are to be run");
}
