//! Reads resources natively and by a tool, in turn on one connection. It shows the cost of one way
//! over the other, on an idle machine or a busy one.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::load::{ANY_URI, MAX_BUSY, Reads, ToolCall, quantile};
use super::sizes::Size;
use super::target::Target;
use super::{millis, print, process};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// How large the resources to read are
    #[arg(long, value_enum, default_value = "1k")]
    size: Size,
    /// How long to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0)]
    seconds: f64,
    /// How long to read beforehand without measuring
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    warm_up: f64,
    /// The tool to call
    #[arg(long, value_name = "NAME")]
    tool: String,
    /// What it is told; `$uri` stands for the resource whose turn it is
    #[arg(long, value_name = "JSON", default_value = ANY_URI)]
    arguments: String,
    /// How much an answer of the tool holds at least, if not the whole resource
    #[arg(long, value_name = "BYTES")]
    least: Option<usize>,
    #[command(flatten)]
    target: Target,
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    let mut running = options.target.start().await?;
    running.list_all(options.target.expect).await?;
    process::rest(running.id()?, MAX_BUSY).await;
    let reads = |call| Reads::new(options.size, options.target.expect, call);
    let call = ToolCall { tool: options.tool.clone(), arguments: options.arguments.clone() };
    let ways = [reads(None)?, reads(Some(call))?.in_parts_of(options.least)];
    let mut client = options.target.connect().await?;
    let start = Instant::now() + Duration::from_secs_f64(options.warm_up);
    let end = start + Duration::from_secs_f64(options.seconds);
    let mut latencies = [Vec::new(), Vec::new()];
    let mut turn = 0;
    while Instant::now() < end {
        // The one that begins takes turns, too.
        for step in [turn % 2, 1 - turn % 2] {
            let way = &ways[step];
            // The client's own work before and after is not the server's time.
            let params = way.params(turn)?;
            let since = Instant::now();
            let answer = client.call(way.method(), params).await?;
            let took = since.elapsed();
            way.check(answer)?;
            if since >= start {
                latencies[step].push(took);
            }
        }
        turn += 1;
    }
    for latencies in &latencies {
        print(&told(latencies)?)?;
    }
    running.stop().await
}

fn told(latencies: &[Duration]) -> anyhow::Result<Value> {
    anyhow::ensure!(!latencies.is_empty(), "no answer within the time measured");
    let busy: Duration = latencies.iter().sum();
    Ok(json!({
        "concurrency": 1,
        "requests": latencies.len(),
        "rps": latencies.len() as f64 / busy.as_secs_f64(),
        "p50_ms": millis(quantile(latencies, 0.50)),
        "p95_ms": millis(quantile(latencies, 0.95)),
        "p99_ms": millis(quantile(latencies, 0.99)),
    }))
}
