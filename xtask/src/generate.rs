//! Writes the files that are made from the program itself, and checks they are fresh.
//!
//! A generated file is what one run of `trove` prints; it is never edited by hand.

use std::fs;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::steps;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Change nothing; fail if a file is not what would be written
    #[arg(long)]
    pub(crate) check: bool,
}

/// A file below the root, and the arguments of the `trove` run that prints it.
struct Generated {
    path: &'static str,
    arguments: &'static [&'static str],
}

const GENERATED: [Generated; 1] =
    [Generated { path: "docs/reference/config.schema.json", arguments: &["config", "schema"] }];

pub(crate) fn generate(options: &Options) -> anyhow::Result<()> {
    let mut stale = Vec::new();
    for file in &GENERATED {
        let path = steps::root().join(file.path);
        let fresh = printed_by_trove(file.arguments)?;
        if fs::read_to_string(&path).is_ok_and(|present| present == fresh) {
            continue;
        }
        if options.check {
            stale.push(file.path);
            continue;
        }
        let folder = path.parent().context("a generated file lies in a folder")?;
        fs::create_dir_all(folder)?;
        fs::write(&path, fresh).with_context(|| format!("cannot write {}", file.path))?;
        eprintln!("wrote {}", file.path);
    }
    if !stale.is_empty() {
        bail!("not what the program prints: {}; run `cargo xtask generate`", stale.join(", "));
    }
    Ok(())
}

fn printed_by_trove(arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = steps::cargo(&["run", "--quiet", "--package", "trove", "--"]);
    steps::output(&format!("trove {}", arguments.join(" ")), command.args(arguments))
}
