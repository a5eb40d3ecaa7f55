//! Writes the files that are made from the program itself, and checks they are fresh.
//!
//! A generated file is what one run of `trove` prints, or what a tool says about itself; it
//! is never edited by hand.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context as _, bail};
use clap::Args;
use trove_core::tools::{self, TOOLS};

use crate::steps;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Change nothing; fail if a file is not what would be written
    #[arg(long)]
    pub(crate) check: bool,
}

/// A file below the root, and the arguments of the `trove` run that prints it.
const PRINTED: [(&str, &[&str]); 2] = [
    ("docs/reference/config.schema.json", &["config", "schema"]),
    ("docs/reference/commands.md", &["man", "--markdown"]),
];

/// The schemas of what the gateway says of itself.
const ABOUT: &str = "docs/reference/about.schema.json";

/// Where the documents of the tools are, and their committed schemas.
const DOCUMENTS: &str = "docs/reference/tools";
/// Where the documents of the prompts are.
const PROMPTS: &str = "docs/reference/prompts";
const SCHEMAS: &str = "crates/trove-core/tests/it/snapshots/tools";

pub(crate) fn generate(options: &Options) -> anyhow::Result<()> {
    let mut fresh: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (path, arguments) in PRINTED {
        fresh.insert(path.to_owned(), Some(printed_by_trove(arguments)?));
    }
    let about = trove_core::about::document();
    fresh.insert("docs/reference/about.md".to_owned(), Some(about));
    fresh.insert("docs/reference/errors.md".to_owned(), Some(tools::classes_document()));
    for tool in TOOLS {
        fresh.insert(format!("{DOCUMENTS}/{}.md", tool.name), Some(tools::document(tool)));
        let schema: serde_json::Value = serde_json::from_str(tools::listed(tool).as_str())?;
        let schema = format!("{}\n", serde_json::to_string_pretty(&schema)?);
        fresh.insert(format!("{SCHEMAS}/{}.json", tool.name), Some(schema));
    }
    for (name, document) in tools::prompt_documents() {
        fresh.insert(format!("{PROMPTS}/{name}.md"), Some(document));
    }
    let about = serde_json::to_string_pretty(&trove_core::about::schemas())?;
    fresh.insert(ABOUT.to_owned(), Some(format!("{about}\n")));
    // Files of a tool that is gone are not wanted any more.
    for folder in [DOCUMENTS, PROMPTS, SCHEMAS] {
        for path in present_in(folder)? {
            fresh.entry(path).or_insert(None);
        }
    }
    let mut stale = Vec::new();
    for (path, fresh) in fresh {
        let file = steps::root().join(&path);
        if fs::read_to_string(&file).ok() == fresh {
            continue;
        }
        if options.check {
            stale.push(path);
        } else {
            write(&file, fresh).with_context(|| format!("cannot write {path}"))?;
            eprintln!("wrote {path}");
        }
    }
    if !stale.is_empty() {
        bail!("not what the program prints: {}; run `cargo xtask generate`", stale.join(", "));
    }
    Ok(())
}

fn present_in(folder: &str) -> anyhow::Result<Vec<String>> {
    let Ok(entries) = fs::read_dir(steps::root().join(folder)) else { return Ok(Vec::new()) };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(format!("{folder}/{}", entry?.file_name().to_string_lossy()));
    }
    Ok(paths)
}

fn write(file: &Path, text: Option<String>) -> anyhow::Result<()> {
    let Some(text) = text else { return Ok(fs::remove_file(file)?) };
    fs::create_dir_all(file.parent().context("a generated file lies in a folder")?)?;
    Ok(fs::write(file, text)?)
}

fn printed_by_trove(arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = steps::cargo(&["run", "--quiet", "--package", "trove", "--"]);
    steps::output(&format!("trove {}", arguments.join(" ")), command.args(arguments))
}
