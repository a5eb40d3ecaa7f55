//! Checks the spelling of everything in the checkout; `typos.toml` lists what is right anyway.

use std::path::Path;
use std::process::Command;

use crate::steps;

pub(crate) fn check(environment: &Path) -> anyhow::Result<()> {
    let mut typos = Command::new(environment.join("spelling/bin/typos"));
    typos.args(["--format", "brief"]).current_dir(steps::root());
    steps::run("spelling", &mut typos)
}
