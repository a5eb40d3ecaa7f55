//! Measures the search among many vectors, and what the look at single bits loses.
//!
//! `cargo run --release -p trove-meaning --example scan [COUNT]`. The vectors are mixtures
//! of those of real sentences, so that they lie as close together as real ones.

#![allow(clippy::print_stdout, reason = "an example speaks to whoever runs it")]

use std::collections::HashSet;
use std::time::{Duration, Instant};

use trove_meaning::vectors::VectorSet;
use trove_meaning::{Encoder, Vector, WIDTH};

/// No set of this size looks at bits first, so several of them give the exact answer.
const EXACT: usize = 200_000;
const WANTED: usize = 20;
const QUERIES: usize = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let sentences = sentences();
    let texts: Vec<&str> = sentences.iter().map(String::as_str).collect();
    let encoder = Encoder::embedded();
    let base = encoder.encode_batch(&texts, 2);
    let mut state = 1_u64;
    let mut vectors = (0..count as u64).map(|id| (id, mixture(&base, &mut state)));
    let mut whole = VectorSet::new();
    let mut parts = Vec::new();
    while whole.len() < count {
        let mut part = VectorSet::new();
        for (id, vector) in vectors.by_ref().take(EXACT) {
            whole.push(id, &vector)?;
            part.push(id, &vector)?;
        }
        parts.push(part);
    }
    let mut state = 7_777_777;
    let queries: Vec<Vector> = (0..QUERIES).map(|_| mixture(&base, &mut state)).collect();
    let (mut fast, mut exact) = (Duration::MAX, Duration::MAX);
    let mut found = 0;
    for query in &queries {
        let (took, near) = timed(|| whole.scan(query, |_| true, WANTED));
        fast = fast.min(took);
        let (took, mut all) = timed(|| {
            parts.iter().flat_map(|part| part.scan(query, |_| true, WANTED)).collect::<Vec<_>>()
        });
        exact = exact.min(took);
        all.sort_by(|left, right| right.1.total_cmp(&left.1));
        let all: HashSet<u64> = all.iter().take(WANTED).map(|(id, _)| *id).collect();
        found += near.iter().filter(|(id, _)| all.contains(id)).count();
    }
    println!("{count} vectors of {WIDTH}: scan {fast:?}, exact {exact:?} (least of {QUERIES})");
    println!("recall@{WANTED} {:.3}", found as f64 / (QUERIES * WANTED) as f64);
    let (took, _) = timed(|| whole.scan(&queries[0], |id| id % 100 == 7, WANTED));
    println!("one in a hundred lets pass: scan {took:?}");
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let started = Instant::now();
    let result = work();
    (started.elapsed(), result)
}

/// Two sentences and some noise.
fn mixture(base: &[Vector], state: &mut u64) -> Vector {
    let mut pick = || &base[(random(state) * base.len() as f32) as usize % base.len()];
    let (left, right) = (pick(), pick());
    let mut vector = std::array::from_fn(|place| {
        left[place] + 0.6 * right[place] + 0.03 * (2.0 * random(state) - 1.0)
    });
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|number| *number /= length);
    vector
}

fn random(state: &mut u64) -> f32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 40) as f32 / (1 << 24) as f32
}

fn sentences() -> Vec<String> {
    const WHO: [&str; 12] = [
        "the gateway",
        "a database",
        "my editor",
        "the compiler",
        "a customer",
        "the invoice",
        "a rate limiter",
        "the kernel",
        "a hospital",
        "the weather service",
        "a poem",
        "the test suite",
    ];
    const DOES: [&str; 12] = [
        "caches",
        "rejects",
        "translates",
        "indexes",
        "schedules",
        "encrypts",
        "forecasts",
        "pays for",
        "restarts",
        "measures",
        "deletes",
        "describes",
    ];
    const WHAT: [&str; 12] = [
        "the resources of every server",
        "a failed login",
        "python functions",
        "old photographs",
        "the quarterly report",
        "memory pages",
        "a flight to Lisbon",
        "protein structures",
        "JSON documents",
        "train timetables",
        "the signing keys",
        "a shopping list",
    ];
    let pairs = WHO.iter().flat_map(|who| DOES.iter().map(move |does| (who, does)));
    pairs.flat_map(|(who, does)| WHAT.map(|what| format!("{who} {does} {what}"))).collect()
}
