//! From the start of the process to its first answer, and to its first full list.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::target::Target;
use super::{millis, print};

/// How long a server is left alone afterwards, to finish keeping what it listed.
const AFTERWARDS: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    target: Target,
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    let mut running = options.target.start().await?;
    let (listed, _) = running.list_all(options.target.expect).await?;
    print(&json!({
        "first_answer_ms": millis(running.first_answer),
        "full_list_ms": millis(listed - running.spawned),
    }))?;
    tokio::time::sleep(AFTERWARDS).await;
    running.stop().await
}
