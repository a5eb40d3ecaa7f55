//! Lists everything, again and again: how long one full list takes, and what it costs.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::target::Target;
use super::{millis, print, process};

/// Enough for the ticks of processor time to add up.
const MIN_LISTS: usize = 5;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// How long to go on
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f64,
    #[command(flatten)]
    target: Target,
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    let mut running = options.target.start().await?;
    running.list_all(options.target.expect).await?;
    // Work after the first full list, such as keeping it for the next start, is no part of
    // answering.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let id = running.id()?;
    let (before, start) = (process::cpu_time(id), Instant::now());
    let end = start + Duration::from_secs_f64(options.seconds);
    let (mut times, mut entries, mut pages, mut bytes) = (Vec::new(), 0, 0, 0);
    while Instant::now() < end || times.len() < MIN_LISTS {
        let since = Instant::now();
        let list = running.client.list().await?;
        times.push(since.elapsed());
        (entries, pages, bytes) = (list.entries, list.pages, list.bytes);
    }
    let used = process::cpu_time(id).own - before.own;
    times.sort_unstable();
    print(&json!({
        "lists": times.len(),
        "entries": entries,
        "pages": pages,
        "bytes": bytes,
        "p50_ms": millis(times[times.len() / 2]),
        "cpu_ms": used as f64 / times.len() as f64,
    }))?;
    running.stop().await
}
