//! Measures MCP servers, and is one to measure; see `trove_testkit::bench`.

use clap::Parser as _;
use trove_testkit::bench::{self, Options};

fn main() -> anyhow::Result<()> {
    bench::run(Options::parse())
}
