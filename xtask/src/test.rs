//! Runs every check and every test, after setting up what they need.
//!
//! The order is by price: fast failures come first. Nothing is skipped when a tool is missing,
//! except that `cargo test` stands in for `cargo nextest`.

use std::path::Path;
use std::process::Stdio;

use clap::Args;

use crate::{deny, fuzz, generate, notices, peers, steps, tidy, typos};

/// Part of the name of every test that needs the peers installed on request only.
const OPTIONAL_PEERS: &str = "with_all_peers";

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    peers: peers::Options,
    /// After everything else, fuzz each parser for a minute
    #[arg(long)]
    fuzz: bool,
    /// Run only the tests whose name contains this, and no other check
    filter: Option<String>,
}

pub(crate) fn test(options: &Options) -> anyhow::Result<()> {
    let environment = peers::install(&options.peers)?;
    if options.filter.is_none() {
        check_sources(&environment)?;
    }
    // The tests start programs of other packages in this workspace, which a test run
    // alone would not build.
    steps::run("build", &mut steps::cargo(&["build", "--workspace", "--all-targets"]))?;
    if options.filter.is_none() {
        check_documents()?;
    }
    run_tests(options, &environment)?;
    if options.fuzz { fuzz::fuzz(&fuzz::Options::default()) } else { Ok(()) }
}

/// Checks that need no program of ours.
fn check_sources(environment: &Path) -> anyhow::Result<()> {
    steps::run("format", &mut steps::cargo(&["fmt", "--all", "--check"]))?;
    tidy::tidy()?;
    typos::check(environment)?;
    notices::notices(&notices::Options { check: true })?;
    deny::deny(&deny::Options::default())?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    steps::run("clippy", &mut steps::cargo(&clippy))
}

/// Checks that the documentation builds, and that generated files are fresh.
fn check_documents() -> anyhow::Result<()> {
    let doc = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    steps::run("documentation", steps::cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))?;
    // The examples in the documentation come before the tests, so that the count of the
    // tests stands last. Neither runner covers them when it is given targets.
    steps::run("doctests", &mut steps::cargo(&["test", "--workspace", "--doc"]))?;
    generate::generate(&generate::Options { check: true })
}

fn run_tests(options: &Options, environment: &Path) -> anyhow::Result<()> {
    let runner: &[&str] = if has_nextest() { &["nextest", "run"] } else { &["test"] };
    let mut tests = steps::cargo(runner);
    tests.env("TROVE_PEERS", environment);
    tests.args(["--workspace", "--all-targets", "--no-fail-fast"]);
    tests.args(&options.filter);
    if !options.peers.all_peers {
        // Left to the runner, which counts what it skips.
        tests.args(["--", "--skip", OPTIONAL_PEERS]);
    }
    steps::run("tests", &mut tests)
}

fn has_nextest() -> bool {
    steps::cargo(&["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
