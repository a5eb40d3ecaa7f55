//! From a change of a file on the disk to the notice of it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;

use super::client::Client;
use super::load::{MAX_BUSY, quantile};
use super::target::Target;
use super::{message, millis, print, process};

/// How long a notice may take.
const MAX_NOTICE: Duration = Duration::from_secs(30);
/// The rest between two changes, so that each has a notice of its own.
const REST: Duration = Duration::from_millis(1500);
const UPDATED: &str = "notifications/resources/updated";

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The file that is written
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// The resource that it is
    #[arg(long, value_name = "URI")]
    uri: String,
    /// How often it is written
    #[arg(long, value_name = "N", default_value_t = 10)]
    times: usize,
    #[command(flatten)]
    target: Target,
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    let mut running = options.target.start().await?;
    running.list_all(options.target.expect).await?;
    process::rest(running.id()?, MAX_BUSY).await;
    let subscribe = json!({ "uri": options.uri });
    message::check(running.client.call("resources/subscribe", subscribe).await?, 0)?;
    let Client::Pipe(pipe) = &mut running.client else {
        bail!("notices are heard over stdio");
    };
    let mut times = Vec::new();
    for n in 0..options.times {
        tokio::time::sleep(REST).await;
        let since = Instant::now();
        std::fs::write(&options.file, format!("changed for the {n}th time\n"))?;
        let noticed = tokio::time::timeout(MAX_NOTICE, pipe.hear(UPDATED)).await;
        noticed.context("no notice of the change")??;
        times.push(since.elapsed());
    }
    print(&json!({
        "changes": times.len(),
        "p50_ms": millis(quantile(&times, 0.50)),
        "max_ms": millis(quantile(&times, 1.0)),
    }))?;
    running.stop().await
}
