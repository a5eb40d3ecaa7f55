//! A long run with random faults, in which nothing may grow and no answer may be another's.
//!
//! Healthy servers are read all the time; beside them others misbehave in every way the toy knows,
//! children are killed, clients hang up in the middle. Each answer of a healthy server must carry
//! its mark. Errors are allowed where the fault was ours.

use std::time::{Duration, Instant};

use anyhow::bail;
use clap::Args;
use serde_json::json;

use super::crowd::{raise_descriptors, text_of};
use super::message::Era;
use super::target::{Target, signal};
use super::{print, process};

/// How often it is weighed.
const SAMPLE: Duration = Duration::from_secs(2);
/// How much of the run is left out at the start: buffers and caches fill.
const WARM_UP: f64 = 0.3;
/// The growth of each figure that is allowed from the first half of the rest to the second.
const MAX_GROWTH: [(&str, f64, f64); 3] =
    [("rss_kb", 0.10, 8192.0), ("descriptors", 0.10, 24.0), ("children", 0.10, 3.0)];
/// The time between two random faults.
const FAULT_EVERY: Duration = Duration::from_millis(700);
const READERS: usize = 8;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// How long to go on
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    seconds: f64,
    /// The healthy servers, by name; each is a toy whose scheme is its name
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    healthy: Vec<String>,
    #[command(flatten)]
    target: Target,
}

/// One weighing: memory, descriptors and children.
type Sample = [f64; 3];

/// The answers that the readers saw.
#[derive(Default)]
struct Seen {
    served: usize,
    failed: usize,
    foreign: Vec<String>,
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    raise_descriptors();
    let mut running = options.target.start().await?;
    running.list_all(options.target.expect).await?;
    let id = running.id()?;
    let end = Instant::now() + Duration::from_secs_f64(options.seconds);
    let readers = (0..READERS).map(|number| read(options, number, end));
    let (seen, samples, faults) = tokio::join!(
        futures_util::future::join_all(readers),
        weigh(id, end),
        disturb(options, id, end)
    );
    let (samples, faults) = (samples?, faults?);
    let served: usize = seen.iter().map(|s| s.served).sum();
    let failed: usize = seen.iter().map(|s| s.failed).sum();
    let foreign: Vec<&String> = seen.iter().flat_map(|s| &s.foreign).collect();
    let growth = growth(&samples);
    print(&json!({
        "seconds": options.seconds, "served": served, "failed": failed, "foreign": foreign.len(),
        "faults": faults, "samples": samples.len(),
        "rss_kb": growth[0], "descriptors": growth[1], "children": growth[2],
    }))?;
    running.stop().await?;
    if let Some(text) = foreign.first() {
        bail!("an answer was somebody else's: {text}");
    }
    if served == 0 {
        bail!("nothing was served");
    }
    for ((what, share, least), (before, after)) in MAX_GROWTH.iter().zip(growth) {
        if after - before > (before * share).max(*least) {
            bail!("{what} grew from {before:.0} to {after:.0}");
        }
    }
    Ok(())
}

/// The mean of each figure in the first and in the second half, after the warm-up.
fn growth(samples: &[Sample]) -> [(f64, f64); 3] {
    let settled = &samples[(samples.len() as f64 * WARM_UP) as usize..];
    let (first, second) = settled.split_at(settled.len() / 2);
    let mean = |half: &[Sample], at: usize| {
        half.iter().map(|sample| sample[at]).sum::<f64>() / half.len().max(1) as f64
    };
    [0, 1, 2].map(|at| (mean(first, at), mean(second, at)))
}

async fn weigh(id: u32, end: Instant) -> anyhow::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    while Instant::now() < end {
        let descriptors = std::fs::read_dir(format!("/proc/{id}/fd"))?.count();
        let children = process::descendants(id);
        samples.push([process::memory(id)?.now as f64, descriptors as f64, children.len() as f64]);
        tokio::time::sleep(SAMPLE).await;
    }
    Ok(samples)
}

/// Reads from the healthy servers in turn, hanging up now and then.
async fn read(options: &Options, number: usize, end: Instant) -> Seen {
    let mut seen = Seen::default();
    let mut turn = number;
    while Instant::now() < end {
        let Ok(mut client) = options.target.visit(Era::Modern).await else {
            seen.failed += 1;
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        for _ in 0..20 {
            turn += 1;
            let name = &options.healthy[turn % options.healthy.len()];
            let uri = format!("{name}://item/{}", turn % 50);
            let call = client.call("resources/read", json!({ "uri": uri }));
            let Ok(answer) = tokio::time::timeout(Duration::from_secs(30), call).await else {
                seen.failed += 1;
                break;
            };
            match answer.ok().and_then(text_of) {
                Some(text) if text.starts_with(&format!("{name}|{uri}|")) => seen.served += 1,
                Some(text) => seen.foreign.push(text.chars().take(100).collect()),
                None => seen.failed += 1,
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // A slow read that is given up at once.
        let name = &options.healthy[turn % options.healthy.len()];
        let slow = client.call("resources/read", json!({ "uri": format!("{name}://slow/60000") }));
        let _ = tokio::time::timeout(Duration::from_millis(20), slow).await;
    }
    seen
}

/// Does something bad now and then; gives how often.
async fn disturb(options: &Options, id: u32, end: Instant) -> anyhow::Result<usize> {
    let mut count = 0;
    while Instant::now() < end {
        tokio::time::sleep(FAULT_EVERY).await;
        count += 1;
        let children = process::descendants(id);
        let toys: Vec<u32> =
            children.iter().filter(|(_, name)| name == "toymcp").map(|(id, _)| *id).collect();
        match count % 4 {
            // A child that has just ended by itself cannot be killed, which is as good.
            0 if !toys.is_empty() => {
                let _ = signal("KILL", toys[count * 7 % toys.len()]).await;
            }
            1 => drop(options.target.visit(Era::Legacy).await),
            2 => {
                for _ in 0..20 {
                    drop(options.target.dial().await);
                }
            }
            _ => {
                if let Ok(mut client) = options.target.visit(Era::Modern).await {
                    // Reads from those who misbehave fail, each in its own way.
                    let bad = json!({ "uri": "hang+toy://pid" });
                    let call = client.call("resources/read", bad);
                    let _ = tokio::time::timeout(Duration::from_millis(300), call).await;
                }
            }
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_compares_what_comes_after_the_warm_up() {
        let samples: Vec<Sample> =
            (0..100).map(|n| [if n < 30 { 0.0 } else { 5.0 }, f64::from(n), 1.0]).collect();
        assert_eq!(growth(&samples), [(5.0, 5.0), (47.0, 82.0), (1.0, 1.0)]);
    }
}
