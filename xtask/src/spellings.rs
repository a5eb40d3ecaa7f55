//! Tries spellings of protected names, with the parsers of five languages.
//!
//! The tests that do so run with three of them in every test run. This chore adds Go and Java,
//! which it installs from Debian's packages, and tries more spellings.

use clap::Args;

use crate::{peers, steps, system};

/// All parsers that the tests know.
const PARSERS: &str = "rust,node,python,go,java";
/// The beginning of the names of the tests that read spellings.
const TESTS: &str = "t53_";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many spellings each parser reads
    #[arg(long, default_value_t = 1_000_000)]
    count: usize,
    #[command(flatten)]
    peers: peers::Options,
}

pub(crate) fn spellings(options: &Options) -> anyhow::Result<()> {
    let environment = peers::install(&options.peers)?;
    system::install_languages()?;
    let arguments = ["test", "--package", "trove-core", "--test", "it", TESTS, "--", "--nocapture"];
    let mut tests = steps::cargo(&arguments);
    tests.env("TROVE_PEERS", environment).env("TROVE_PARSERS", PARSERS);
    tests.env("TROVE_SPELLINGS", options.count.to_string());
    steps::run("spellings", &mut tests)
}
