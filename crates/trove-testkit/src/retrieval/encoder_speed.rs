//! How fast the encoder is: chunks of 200 words a second on all cores, and one query.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trove_meaning::{Encoder, Scratch};

use super::measures::Latency;

const CHUNKS: usize = 24;
const WORDS: usize = 200;
const QUERIES: usize = 300;
const QUERY: &str = "how do I rotate the signing keys of the gateway?";
const PROSE: &str = "The gateway gathers resources of many servers into one catalogue and lets a \
    model find, search and read them. When a server stops answering its last listing is kept and \
    marked as stale, so that nothing disappears from view; requests to it fail with a typed error \
    within one second. Settings are read from trove.toml, from environment variables such as \
    TROVE_LOG, and from flags on the command line, in this order: later ones win. To rotate \
    signing keys, add the new key first, wait until every replica has loaded it, then remove the \
    old one. Each request carries a deadline; retries back off with jitter.";

/// Encodes for some seconds.
pub fn run(seconds: f64) -> Value {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let encoder = Encoder::embedded();
    let chunks = chunks();
    let texts: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let (started, mut encoded) = (Instant::now(), 0);
    while started.elapsed() < Duration::from_secs_f64(seconds) {
        encoded += encoder.encode_batch(&texts, threads).len();
    }
    let rate = encoded as f64 / started.elapsed().as_secs_f64();
    let (mut scratch, mut latency) = (Scratch::default(), Latency::default());
    for _ in 0..QUERIES {
        let asked = Instant::now();
        std::hint::black_box(encoder.encode_with(QUERY, &mut scratch));
        latency.add(asked.elapsed());
    }
    json!({
        "threads": threads,
        "chunks_per_second": rate,
        "tokens_a_chunk": texts.iter().map(|text| encoder.tokens(text).len()).sum::<usize>() / CHUNKS,
        "query_p50_ms": latency.percentile(0.5),
        "query_p99_ms": latency.percentile(0.99),
    })
}

/// Chunks of prose such as documentation has, all different.
fn chunks() -> Vec<String> {
    let words: Vec<&str> = PROSE.split_whitespace().collect();
    let chunk = |first: usize| {
        let some = words.iter().cycle().skip(first * 37 % words.len()).take(WORDS);
        some.copied().collect::<Vec<_>>().join(" ")
    };
    (0..CHUNKS).map(chunk).collect()
}
