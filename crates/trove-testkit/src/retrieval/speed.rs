//! How fast search is on many resources: taking them in, and answering.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use trove_core::{
    SourceId,
    search::{Change, Config, Content, Depth, Encode, Entry, Everything, Query, Search},
};

use super::{granite::Granite, measures::Latency};
use crate::numbers::Numbers;

const TOPICS: [&str; 24] = [
    "invoice",
    "deployment",
    "latency",
    "customer",
    "schema",
    "backup",
    "release",
    "incident",
    "budget",
    "pipeline",
    "gateway",
    "certificate",
    "migration",
    "dashboard",
    "contract",
    "sensor",
    "inventory",
    "calendar",
    "translation",
    "firewall",
    "payment",
    "recipe",
    "experiment",
    "survey",
];
const PLACES: [&str; 12] = [
    "north", "south", "archive", "draft", "weekly", "internal", "public", "legacy", "mobile",
    "shared", "remote", "primary",
];
const SOURCES: usize = 20;
/// How many are brought at a time.
const BATCH: usize = 5000;
const QUESTIONS: usize = 400;

/// The index to measure.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// How many resources.
    pub resources: usize,
    /// How many words of content each has; none where only the listing is indexed.
    pub words: usize,
    /// How many of them get a vector, made by the encoder of the program.
    pub vectors: usize,
    /// Only the kinds of questions whose name contains this.
    pub only: &'a str,
}

/// Indexes resources in a folder and asks questions of each kind.
pub async fn run(plan: Plan<'_>) -> anyhow::Result<Value> {
    let folder = std::env::temp_dir().join(format!("trove-speed-{}", std::process::id()));
    let config = Config { max_vectors: plan.vectors, ..Config::default() };
    let encoder: Option<Arc<dyn Encode>> = match plan.vectors {
        0 => None,
        _ => Some(Arc::new(Granite::default())),
    };
    let search = Search::open(Some(folder.clone()), config, encoder)?;
    // Indexing is measured without the encoder, which comes after it.
    search.pause_meaning(true);
    let started = Instant::now();
    let mut numbers = Numbers(7);
    fill(&search, plan, &mut numbers).await?;
    search.flush().await;
    let seconds = started.elapsed().as_secs_f64();
    search.pause_meaning(false);
    let began = Instant::now();
    while search.status().vectors < plan.vectors {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let meaning_seconds = began.elapsed().as_secs_f64();
    let mut report = json!({
        "resources": plan.resources,
        "words": plan.words,
        "index_seconds": seconds,
        "resources_per_second": plan.resources as f64 / seconds,
        "vectors": search.status().vectors,
        "meaning_seconds": meaning_seconds,
        "index_bytes": search.status().bytes,
        "resident_bytes": resident_bytes(),
    });
    for (name, question) in KINDS.iter().filter(|(name, _)| name.contains(plan.only)) {
        report[*name] = ask(&search, *question, &mut numbers)?;
    }
    search.shutdown();
    drop(search);
    let reopened = Instant::now();
    let search = Search::open(Some(folder.clone()), Config::default(), None)?;
    report["reopen_seconds"] = json!(reopened.elapsed().as_secs_f64());
    search.shutdown();
    std::fs::remove_dir_all(folder)?;
    Ok(report)
}

/// Puts every resource in, with its contents if it has any.
async fn fill(search: &Search, plan: Plan<'_>, numbers: &mut Numbers) -> anyhow::Result<()> {
    for first in (0..plan.resources).step_by(BATCH) {
        let put: Vec<Entry> = (first..plan.resources.min(first + BATCH))
            .map(|n| entry(n, plan, numbers))
            .collect::<anyhow::Result<_>>()?;
        let keys: Vec<_> = put.iter().map(Entry::key).collect();
        search.apply(Change { put, removed: Vec::new() }).await;
        if plan.words > 0 {
            for key in keys {
                let content = Content::new(words(plan.words, numbers), 0);
                search.put_content(key, content).await;
            }
        }
    }
    Ok(())
}

/// Asks one kind of question many times over.
fn ask(search: &Search, question: Question, numbers: &mut Numbers) -> anyhow::Result<Value> {
    let mut latency = Latency::default();
    let before = processor_time();
    let mut found = 0;
    for _ in 0..QUESTIONS {
        let query = question(numbers);
        let asked = Instant::now();
        found += search.find(&query, &Everything)?.total;
        latency.add(asked.elapsed());
    }
    let processor = processor_time().saturating_sub(before);
    Ok(json!({
        "p50_ms": latency.percentile(0.5),
        "p99_ms": latency.percentile(0.99),
        "cpu_ms": processor.as_secs_f64() * 1000.0 / QUESTIONS as f64,
        "mean_total": found / QUESTIONS,
    }))
}

type Question = fn(&mut Numbers) -> Query;
type Kind = (&'static str, Question);

const KINDS: [Kind; 5] = [
    // As `discover_resources` asks where nothing else is said.
    ("text", |n| Query {
        near_misses: 3,
        with_coverage: true,
        ..Query::text(format!("{} {} {}", n.topic(), n.place(), n.rare()))
    }),
    ("terms", |n| Query::terms([n.topic(), n.place()])),
    ("fuzzy_terms", |n| {
        let (topic, rare) = (misspell(&n.topic()), n.rare());
        Query { is_fuzzy: true, ..Query::terms([topic, rare]) }
    }),
    ("common_term", |_| Query::terms(["report"])),
    ("everything", |_| Query::everything()),
];

fn entry(n: usize, plan: Plan<'_>, numbers: &mut Numbers) -> anyhow::Result<Entry> {
    let source = SourceId::new(&format!("server-{}", n % SOURCES))?;
    let (topic, place, rare) = (numbers.topic(), numbers.place(), numbers.rare());
    let uri = format!("file:///{place}/{topic}/{rare}-{n}.md");
    let mut entry = Entry::new(source, &uri, &format!("{topic}_{rare}_{n}.md"));
    entry.description =
        Some(format!("The {place} {topic} report about {rare} and {}", numbers.rare()));
    entry.mime = Some("text/markdown".to_owned());
    entry.modified = Some(1_700_000_000 + n as i64);
    entry.depth = if plan.words > 0 { Depth::Content } else { Depth::Metadata };
    Ok(entry)
}

fn words(count: usize, numbers: &mut Numbers) -> String {
    let mut text = String::new();
    for n in 0..count {
        let word = match n % 5 {
            0 => numbers.topic(),
            1 => numbers.place(),
            _ => numbers.rare(),
        };
        text.push_str(&word);
        text.push(if n % 12 == 11 { '\n' } else { ' ' });
    }
    text
}

fn misspell(word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let middle = letters.len() / 2;
    letters.swap(middle, middle - 1);
    letters.into_iter().collect()
}

impl Numbers {
    fn topic(&mut self) -> String {
        TOPICS[self.next() as usize % TOPICS.len()].to_owned()
    }

    fn place(&mut self) -> String {
        PLACES[self.next() as usize % PLACES.len()].to_owned()
    }

    /// One of thirty thousand made-up words, the first of them far more often.
    fn rare(&mut self) -> String {
        let (a, b) = (self.next() % 30_000, self.next() % 30_000);
        let mut n = a * b / 30_000;
        let mut word = String::new();
        for _ in 0..4 {
            word.push(
                ['b', 'd', 'f', 'g', 'k', 'l', 'm', 'n', 'r', 's', 't', 'v', 'z'][n as usize % 13],
            );
            word.push(['a', 'e', 'i', 'o', 'u'][n as usize / 13 % 5]);
            n /= 13;
        }
        word
    }
}

/// How long this thread has run, which other work on the machine does not change.
fn processor_time() -> Duration {
    let read = || {
        let status = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        status.split_whitespace().next()?.parse().ok()
    };
    Duration::from_nanos(read().unwrap_or_default())
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
