//! Checks what Trove is made of: licences, packages that are not wanted, where they come from.
//!
//! The rules are in `deny.toml`. The checker is cargo-deny, of one version, built once for all
//! checkouts. Advisories are looked up on request only: their database comes over the network.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::{peers, steps};

/// The version of cargo-deny.
const VERSION: &str = "0.20.2";
/// All that is checked without the network.
const CHECKS: [&str; 3] = ["licenses", "bans", "sources"];

#[derive(Debug, Default, Args)]
pub(crate) struct Options {
    /// Look up advisories too, in their database of today
    #[arg(long)]
    advisories: bool,
}

pub(crate) fn deny(options: &Options) -> anyhow::Result<()> {
    let program = installed()?;
    let mut deny = Command::new(program);
    deny.args(["--locked", "check", "--hide-inclusion-graph"]).current_dir(steps::root());
    deny.args(CHECKS);
    if options.advisories {
        deny.arg("advisories");
    }
    steps::run("cargo deny", &mut deny)
}

/// The checker, built if it is not there yet.
fn installed() -> anyhow::Result<PathBuf> {
    let folder = peers::cache_dir()?.join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin/cargo-deny");
    if !program.exists() {
        let mut install =
            steps::cargo(&["install", "cargo-deny", "--locked", "--version", VERSION]);
        install.arg("--root").arg(&folder);
        // Its own folder for building: ours is another workspace's.
        install.env("CARGO_TARGET_DIR", folder.join("build"));
        steps::run("build cargo-deny", &mut install)?;
        std::fs::remove_dir_all(folder.join("build"))?;
    }
    Ok(program)
}
