//! Reads in a closed loop: each client sends its next request when it has its answer.
//! Resources are read natively, or by calling a tool.
//!
//! Over HTTP each client has a connection and a session of its own; over stdio all
//! requests share the one pipe. An error or a short answer ends the measurement.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::client::Client;
use super::http::Http;
use super::message;
use super::pipe::Pipe;
use super::process::{self, CpuTime};
use super::sizes::{self, Size};
use super::target::{Running, Target};
use super::{millis, print};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// How large the resources to read are
    #[arg(long, value_enum, default_value = "1k")]
    size: Size,
    /// How many requests to keep in flight, one measurement for each
    #[arg(long, value_name = "C", value_delimiter = ',', default_value = "64,16,1")]
    concurrency: Vec<usize>,
    /// How long to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    /// How long to read beforehand without measuring
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    warm_up: f64,
    /// Call this tool instead of `resources/read`
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// What the tool is told; `$uri` stands for the resource whose turn it is
    #[arg(long, value_name = "JSON", default_value = ANY_URI, requires = "tool")]
    arguments: String,
    #[command(flatten)]
    target: Target,
}

/// When answers count.
#[derive(Clone, Copy)]
struct Window {
    start: Instant,
    end: Instant,
}

impl Window {
    fn holds(self, moment: Instant) -> bool {
        (self.start..self.end).contains(&moment)
    }
}

/// The resources to read, in turn, and how.
pub(super) struct Reads {
    uris: Vec<String>,
    least: usize,
    call: Option<ToolCall>,
}

/// How long a server that has started may be busy with itself before it is measured.
pub(super) const MAX_BUSY: Duration = Duration::from_secs(60);

/// Where the URI goes in the arguments of a tool.
const URI: &str = "$uri";

/// The arguments of a tool that needs nothing but the URI.
pub(super) const ANY_URI: &str = r#"{"uri":"$uri"}"#;

/// A tool by which resources are read, and what it is told.
pub(super) struct ToolCall {
    pub(super) tool: String,
    pub(super) arguments: String,
}

impl Reads {
    /// Of so many resources those of this size.
    pub(super) fn new(size: Size, count: usize, call: Option<ToolCall>) -> anyhow::Result<Reads> {
        let places = size.places(count);
        let uris: Vec<_> = places.into_iter().map(|place| sizes::uri("bench", place)).collect();
        anyhow::ensure!(!uris.is_empty(), "no resource of that size is listed");
        // A call that names no resource may be answered by less.
        let is_named = call.as_ref().is_none_or(|call| call.arguments.contains(URI));
        Ok(Reads { uris, least: if is_named { size.bytes() } else { 1 }, call })
    }

    /// Counts an answer of so many bytes too, even if it is a part.
    pub(super) fn in_parts_of(self, least: Option<usize>) -> Reads {
        Reads { least: least.unwrap_or(self.least), ..self }
    }

    pub(super) fn method(&self) -> &'static str {
        if self.call.is_some() { "tools/call" } else { "resources/read" }
    }

    pub(super) fn params(&self, turn: usize) -> anyhow::Result<Value> {
        let uri = &self.uris[turn % self.uris.len()];
        let Some(ToolCall { tool, arguments }) = &self.call else {
            return Ok(json!({ "uri": uri }));
        };
        let arguments: Value = serde_json::from_str(&arguments.replace(URI, uri))?;
        Ok(json!({ "name": tool, "arguments": arguments }))
    }

    /// Fails unless the answer is whole.
    pub(super) fn check(&self, answer: &[u8]) -> anyhow::Result<()> {
        message::check(answer, self.least)?;
        let is_refused = self.call.is_some() && message::is_refused(answer);
        anyhow::ensure!(!is_refused, "the tool failed: {}", String::from_utf8_lossy(answer));
        Ok(())
    }
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    let mut running = options.target.start().await?;
    running.list_all(options.target.expect).await?;
    // Work once after the start, such as to index the list, is measured elsewhere.
    process::rest(running.id()?, MAX_BUSY).await;
    let call =
        options.tool.clone().map(|tool| ToolCall { tool, arguments: options.arguments.clone() });
    let reads = Reads::new(options.size, options.target.expect, call)?;
    for &concurrency in &options.concurrency {
        print(&at(options, &mut running, &reads, concurrency).await?)?;
    }
    running.stop().await
}

async fn at(
    options: &Options,
    running: &mut Running,
    reads: &Reads,
    concurrency: usize,
) -> anyhow::Result<Value> {
    let id = running.id()?;
    process::reset_peak(id)?;
    let before = process::memory(id)?;
    let mut clients = Vec::new();
    if matches!(running.client, Client::Http(_)) {
        for _ in 0..concurrency {
            clients.push(options.target.connect().await?);
        }
    }
    let start = Instant::now() + Duration::from_secs_f64(options.warm_up);
    let window = Window { start, end: start + Duration::from_secs_f64(options.seconds) };
    let load = async {
        match &mut running.client {
            Client::Pipe(pipe) => through_pipe(pipe, reads, window, concurrency).await,
            Client::Http(_) => through_http(clients, reads, window).await,
        }
    };
    let metered = async { Ok(meter(id, window).await) };
    let (latencies, (cpu, elapsed), highest) =
        futures_util::future::try_join3(load, metered, highest(id, window)).await?;
    anyhow::ensure!(!latencies.is_empty(), "no answer within the time measured");
    let requests = latencies.len() as f64;
    Ok(json!({
        "concurrency": concurrency,
        "requests": latencies.len(),
        "rps": requests / elapsed.as_secs_f64(),
        "p50_ms": millis(quantile(&latencies, 0.50)),
        "p95_ms": millis(quantile(&latencies, 0.95)),
        "p99_ms": millis(quantile(&latencies, 0.99)),
        "cpu_ms": cpu.own as f64 / requests,
        "cpu_below_ms": cpu.below as f64 / requests,
        "rss_before_kb": before.now,
        "rss_peak_kb": process::memory(id)?.peak,
        "anonymous_before_kb": before.anonymous,
        "anonymous_peak_kb": highest,
    }))
}

/// How often the memory of a process is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// The most memory of its own that the process is seen with: pages of files come and go as the
/// kernel likes.
async fn highest(id: u32, window: Window) -> anyhow::Result<u64> {
    let mut highest = 0;
    while Instant::now() < window.end {
        highest = highest.max(process::memory(id)?.anonymous);
        tokio::time::sleep(LOOK).await;
    }
    Ok(highest)
}

/// The processor time used between the ends of the window, and the time that took.
async fn meter(id: u32, window: Window) -> (CpuTime, Duration) {
    tokio::time::sleep_until(window.start.into()).await;
    let (start, before) = (Instant::now(), process::cpu_time(id));
    tokio::time::sleep_until(window.end.into()).await;
    let (end, after) = (Instant::now(), process::cpu_time(id));
    let used = CpuTime { own: after.own - before.own, below: after.below - before.below };
    (used, end - start)
}

async fn through_pipe(
    pipe: &mut Pipe,
    reads: &Reads,
    window: Window,
    concurrency: usize,
) -> anyhow::Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    let mut sent: HashMap<u64, Instant> = HashMap::new();
    for turn in 0..concurrency {
        let id = pipe.send(reads.method(), reads.params(turn)?).await?;
        sent.insert(id, Instant::now());
    }
    let mut turn = concurrency;
    while !sent.is_empty() {
        let (id, answer) = pipe.receive().await?;
        reads.check(answer)?;
        let now = Instant::now();
        let since = sent.remove(&id).unwrap_or(now);
        if window.holds(now) {
            latencies.push(now - since);
        }
        if now < window.end {
            let now = Instant::now();
            sent.insert(pipe.send(reads.method(), reads.params(turn)?).await?, now);
            turn += 1;
        }
    }
    Ok(latencies)
}

async fn through_http(
    clients: Vec<Http>,
    reads: &Reads,
    window: Window,
) -> anyhow::Result<Vec<Duration>> {
    // Each client begins elsewhere, so that no two ask for the same at once.
    let each = clients.into_iter().enumerate().map(async |(n, mut client)| {
        let mut latencies = Vec::new();
        let mut turn = n * 7;
        loop {
            let since = Instant::now();
            reads.check(client.call(reads.method(), reads.params(turn)?).await?)?;
            let now = Instant::now();
            if window.holds(now) {
                latencies.push(now - since);
            }
            if now >= window.end {
                return anyhow::Ok(latencies);
            }
            turn += 1;
        }
    });
    Ok(futures_util::future::try_join_all(each).await?.concat())
}

/// The time within which this share of all answers came.
pub(super) fn quantile(latencies: &[Duration], share: f64) -> Duration {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    let last = sorted.len() - 1;
    sorted[((sorted.len() as f64 * share) as usize).min(last)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_taken_from_the_answers_in_order() {
        let latencies: Vec<_> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(quantile(&latencies, 0.50), Duration::from_millis(51));
        assert_eq!(quantile(&latencies, 0.99), Duration::from_millis(100));
        assert_eq!(quantile(&latencies[..1], 0.99), Duration::from_millis(100));
    }
}
