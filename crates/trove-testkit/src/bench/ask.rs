//! One question again and again: how long its answer takes.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use super::target::Target;
use super::{message, millis, print, process};

/// Enough for a median, and for the ticks of processor time to add up.
const MIN_ASKED: usize = 20;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// What to ask, as `METHOD PARAMS`; one measurement for each
    #[arg(long = "ask", value_name = "METHOD PARAMS", required = true)]
    questions: Vec<String>,
    /// How long to go on with each
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    #[command(flatten)]
    target: Target,
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    let mut running = options.target.start().await?;
    running.list_all(options.target.expect).await?;
    let id = running.id()?;
    for question in &options.questions {
        let (method, params) = question.split_once(' ').unwrap_or((question, "{}"));
        let params: Value = serde_json::from_str(params).context("the params are no JSON")?;
        // The first answer of its kind may have to be made.
        message::check(running.client.call(method, params.clone()).await?, 0)?;
        let (before, start) = (process::cpu_time(id), Instant::now());
        let end = start + Duration::from_secs_f64(options.seconds);
        let (mut times, mut bytes) = (Vec::new(), 0);
        while Instant::now() < end || times.len() < MIN_ASKED {
            let since = Instant::now();
            let answer = running.client.call(method, params.clone()).await?;
            times.push(since.elapsed());
            bytes = answer.len();
            message::check(answer, 0)?;
        }
        let used = process::cpu_time(id).own - before.own;
        times.sort_unstable();
        print(&json!({
            "asked": times.len(),
            "bytes": bytes,
            "p50_ms": millis(times[times.len() / 2]),
            "p99_ms": millis(times[times.len() * 99 / 100]),
            "cpu_ms": used as f64 / times.len() as f64,
        }))?;
    }
    running.stop().await
}
