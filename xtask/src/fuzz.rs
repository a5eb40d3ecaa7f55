//! Runs the fuzz targets, which are tests beside their parsers, for a time each.

use clap::Args;

use crate::steps;

/// How long each target runs in `cargo xtask test --fuzz`.
const CI_SECONDS: u32 = 60;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long each target runs
    #[arg(long, value_name = "N", default_value_t = CI_SECONDS)]
    seconds: u32,
    /// Only the targets whose name contains this
    #[arg(default_value = "")]
    filter: String,
}

impl Default for Options {
    fn default() -> Options {
        Options { seconds: CI_SECONDS, filter: String::new() }
    }
}

pub(crate) fn fuzz(options: &Options) -> anyhow::Result<()> {
    anyhow::ensure!(options.seconds < 290, "a test may take five minutes, and so may a target");
    let mut filter = "test(/(^|::)t50_fuzz_/)".to_owned();
    if !options.filter.is_empty() {
        filter = format!("{filter} & test({})", options.filter);
    }
    let mut tests = steps::cargo(&["nextest", "run", "--workspace", "--lib", "-E", &filter]);
    tests.env("TROVE_FUZZ_SECONDS", options.seconds.to_string());
    steps::run("fuzz", &mut tests)
}
