//! Measures the encoder: chunks of 200 words a second, milliseconds a query, memory.
//!
//! `cargo run --release -p trove-meaning --example speed [SECONDS]`. Processor time is
//! given beside the clock's, because other programs may be running.

#![allow(clippy::print_stdout, reason = "an example speaks to whoever runs it")]

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use trove_meaning::{Encoder, Scratch};

const CHUNKS: usize = 24;
const WORDS: usize = 200;
const QUERY: &str = "how do I rotate the signing keys of the gateway?";

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5.0);
    let before = status("VmRSS:");
    let started = Instant::now();
    let encoder = Encoder::embedded();
    let load = started.elapsed();
    let first = encoder.encode(QUERY);
    println!(
        "load {:.2} ms, with the first query {:.1} ms ({:.3})",
        millis(load),
        millis(started.elapsed()),
        first[0]
    );
    let mut scratch = Scratch::default();
    let queries = best(seconds, || {
        black_box(encoder.encode_with(QUERY, &mut scratch));
    });
    println!(
        "query of {} tokens: {:.2} ms, {:.2} ms of processor",
        encoder.tokens(QUERY).len(),
        millis(queries.0),
        millis(queries.1)
    );
    let chunks = chunks();
    let texts: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let tokens: usize = texts.iter().map(|text| encoder.tokens(text).len()).sum();
    println!("chunks of {WORDS} words, {} tokens on average", tokens / CHUNKS);
    // Each batch is timed by itself: the shorter the run, the likelier it is undisturbed.
    for threads in [1, 2] {
        let share = seconds * (2 * threads) as f64 / CHUNKS as f64;
        let batches = texts.chunks(2 * threads);
        let least = batches.map(|batch| best(share, || drop(encoder.encode_batch(batch, threads))));
        let (wall, processor) = least.fold(Default::default(), add);
        println!(
            "{threads} threads: {:.1} chunks/s; {:.1} ms of processor a chunk, {:.0} µs a token",
            CHUNKS as f64 / wall.as_secs_f64(),
            millis(processor) / CHUNKS as f64,
            millis(processor) * 1000.0 / tokens as f64
        );
    }
    let short: Vec<&str> = (0..512).map(|n| &texts[n % CHUNKS][n / CHUNKS..][..60]).collect();
    let (wall, _) = best(seconds, || drop(encoder.encode_batch(&short, 1)));
    println!("texts of 60 letters, 1 thread: {:.0}/s", 512.0 / wall.as_secs_f64());
    println!("memory: {} kB before, {} kB now", before, status("VmRSS:"));
}

/// The least clock time and the least processor time of one call.
fn best(seconds: f64, mut work: impl FnMut()) -> (Duration, Duration) {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut least = (Duration::MAX, Duration::MAX);
    while Instant::now() < end || least.0 == Duration::MAX {
        let (started, used) = (Instant::now(), processor_time());
        work();
        least = (least.0.min(started.elapsed()), least.1.min(processor_time() - used));
    }
    least
}

fn add(left: (Duration, Duration), right: (Duration, Duration)) -> (Duration, Duration) {
    (left.0 + right.0, left.1 + right.1)
}

/// Chunks of prose such as documentation has, all different.
fn chunks() -> Vec<String> {
    const PROSE: &str = "The gateway gathers resources of many servers into one catalogue and \
        lets a model find search and read them. When an upstream server stops answering its last \
        listing is kept and marked as stale, so that nothing disappears from view; requests to it \
        fail with a typed error within one second. Configuration is read from trove.toml, from \
        environment variables such as TROVE_LOG, and from command-line flags, in this order: \
        later ones win. To rotate signing keys, add the new key first, wait until every replica \
        has loaded it, then remove the old one. Each request carries a deadline; retries use \
        exponential backoff with jitter.";
    let words: Vec<&str> = PROSE.split(' ').collect();
    let word = |place: usize| words[place % words.len()];
    (0..CHUNKS)
        .map(|chunk| (0..WORDS).map(|n| word(chunk * 37 + n)).collect::<Vec<_>>().join(" "))
        .collect()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// The processor time of all threads of this process so far.
fn processor_time() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec as u32)
}

fn status(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(field));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
}
