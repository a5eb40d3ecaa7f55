//! The toy MCP server as a program; see `trove_testkit::toy`.

use clap::Parser as _;
use trove_testkit::toy::{self, Options};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    toy::run(Options::parse()).await
}
