//! The memory of a process that holds the full list and has nothing to do.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::target::Target;
use super::{millis, print, process};

/// How long it may be busy with itself after its first full list.
const MAX_BUSY: Duration = Duration::from_secs(200);

#[derive(Debug, Args)]
pub(super) struct Options {
    /// How long to let it rest, once it has nothing to do
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    settle: f64,
    #[command(flatten)]
    target: Target,
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    let mut running = options.target.start().await?;
    let (listed, bytes) = running.list_all(options.target.expect).await?;
    let is_done = process::rest(running.id()?, MAX_BUSY).await;
    tokio::time::sleep(Duration::from_secs_f64(options.settle)).await;
    let memory = process::memory(running.id()?)?;
    print(&json!({
        "full_list_ms": millis(listed - running.spawned),
        "list_bytes": bytes,
        "is_done": is_done,
        "rss_kb": memory.now,
        "peak_kb": memory.peak,
    }))?;
    running.stop().await
}
