//! Measures search: how well it finds (`run`), how fast it is (`speed`); and fits the
//! coefficients of relevance (`fit`).

#![allow(clippy::print_stdout, reason = "its results are printed")]

use std::{path::PathBuf, sync::Arc};

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use trove_core::search::Encode;
use trove_testkit::{
    corpus,
    retrieval::{
        Indexed, encoder_speed, fit,
        granite::Granite,
        measures::{Order, Scores},
        mix,
        set::{Part, Set},
        speed,
        static_encoder::StaticEncoder,
    },
};

/// That of the program that is measured.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Answer the questions of labelled sets; one JSON object a set
    Run(Sets),
    /// Fit the coefficients of relevance; all sets, and each set by those of the others
    Fit(Sets),
    /// Print what a fit sees: one JSON object a result
    Samples(Sets),
    /// Index many resources and ask questions; one JSON object
    Speed {
        /// How many resources
        #[arg(long, default_value_t = 100_000)]
        resources: usize,
        /// How many words of content each has
        #[arg(long, default_value_t = 0)]
        words: usize,
        /// How many of them get a vector
        #[arg(long, default_value_t = 0)]
        vectors: usize,
        /// Only the kinds of questions whose name contains this
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Encode chunks and queries; one JSON object
    Encoder {
        /// For how long
        #[arg(long, default_value_t = 5.0)]
        seconds: f64,
    },
    /// Make the standard mix of requests and tell the hit rates; one JSON object
    Mix {
        /// How many requests
        #[arg(long, default_value_t = 20_000)]
        requests: usize,
    },
}

#[derive(Debug, clap::Args)]
struct Sets {
    /// The folder with the sets; our own set is always measured
    #[arg(long)]
    sets: Option<PathBuf>,
    /// Words alone, no encoder
    #[arg(long, conflicts_with = "static_encoder")]
    words_only: bool,
    /// The folder of a table of words to use as encoder instead of the one in the program
    #[arg(long)]
    static_encoder: Option<PathBuf>,
    /// Where indexes and vectors are kept from run to run
    #[arg(long)]
    keep: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match Cli::parse().what {
        What::Run(sets) => runtime.block_on(run(&sets)),
        What::Fit(sets) => runtime.block_on(fit_all(&sets)),
        What::Samples(sets) => runtime.block_on(print_samples(&sets)),
        What::Encoder { seconds } => {
            println!("{}", encoder_speed::run(seconds));
            Ok(())
        }
        What::Mix { requests } => {
            println!("{}", runtime.block_on(mix::run(requests))?);
            Ok(())
        }
        What::Speed { resources, words, vectors, only } => {
            let plan = speed::Plan { resources, words, vectors, only: &only };
            let report = runtime.block_on(speed::run(plan))?;
            println!("{report}");
            Ok(())
        }
    }
}

fn encoder(sets: &Sets) -> anyhow::Result<Option<Arc<dyn Encode>>> {
    Ok(match &sets.static_encoder {
        Some(folder) => Some(Arc::new(StaticEncoder::read(folder)?)),
        None if sets.words_only => None,
        None => Some(Arc::new(Granite::default())),
    })
}

fn read(sets: &Sets) -> anyhow::Result<Vec<Set>> {
    let mut all = match &sets.sets {
        Some(folder) => Set::read_all(folder)?,
        None => Vec::new(),
    };
    all.push(corpus::set());
    Ok(all)
}

async fn index(sets: &Sets, all: Vec<Set>) -> anyhow::Result<Vec<Indexed>> {
    let encoder = encoder(sets)?;
    let mut indexed = Vec::new();
    for set in all {
        indexed.push(Indexed::new(set, sets.keep.clone(), encoder.clone()).await?);
    }
    Ok(indexed)
}

async fn run(sets: &Sets) -> anyhow::Result<()> {
    let all = read(sets)?;
    let unseen: Vec<Set> = all.iter().map(|set| set.part(Part::HeldOut)).collect();
    let unseen: Vec<&Set> = unseen.iter().collect();
    let modes: &[bool] = if encoder(sets)?.is_some() { &[false, true] } else { &[false] };
    for set in all {
        // The set whole, and small catalogues cut from it, as one.
        let mut small = set.part(Part::HeldOut).pieces(PIECES);
        for piece in &mut small {
            // Those of a fit have other documents, and may be kept in the same folder.
            piece.name.push_str("-unseen");
        }
        let name = set.name.clone();
        let whole = index(sets, vec![set]).await?;
        for &is_semantic in modes {
            println!("{}", report(&name, &whole, &unseen, is_semantic)?);
        }
        let small = index(sets, small).await?;
        for &is_semantic in modes {
            println!("{}", report(&format!("{name}, small"), &small, &unseen, is_semantic)?);
        }
    }
    Ok(())
}

/// The measures of some catalogues together. Scores are judged by questions that no fit saw.
fn report(
    name: &str,
    catalogues: &[Indexed],
    unseen: &[&Set],
    is_semantic: bool,
) -> anyhow::Result<Value> {
    let (mut order, mut scores) = (Order::default(), Scores::default());
    for one in catalogues {
        one.measure_order(is_semantic, &mut order)?;
        // A small catalogue was made of such questions; of a whole set it is every other.
        let own = unseen.iter().find(|set| set.name == one.set.name);
        let questions = own.map_or(&one.set.questions, |set| &set.questions);
        one.measure_scores(questions, is_semantic, &mut scores)?;
        one.measure_off_topic(unseen, is_semantic, &mut scores)?;
    }
    let sum = |count: fn(&Indexed) -> usize| catalogues.iter().map(count).sum::<usize>();
    Ok(json!({
        "set": name,
        "mode": if is_semantic { "fused" } else { "lexical" },
        "documents": sum(|one| one.set.documents.len()),
        "questions": sum(|one| one.set.questions.len()),
        "ndcg10": order.ndcg(),
        "recall20": order.recall(),
        "first3": scores.first(),
        "answered": scores.answered(),
        "off_topic_empty": scores.empty(),
        "off_topic_bare": scores.bare(),
        "calibration_error": scores.calibration.error(),
        "p50_ms": order.latency.percentile(0.5),
        "p99_ms": order.latency.percentile(0.99),
        "index_seconds": catalogues.iter().map(|one| one.seconds).sum::<f64>(),
    }))
}

/// How many small catalogues are made of each set.
const PIECES: usize = 6;

/// The questions that a fit may see; the rest is kept to measure by.
fn fitted(sets: Vec<Set>) -> Vec<Set> {
    sets.iter().map(|set| set.part(Part::Fitted)).collect()
}

/// The sets to fit to: contents, records and listings.
fn groups(read: Vec<Set>) -> [(&'static str, Vec<Set>); 3] {
    let (terse, full): (Vec<Set>, Vec<Set>) = read.into_iter().partition(Set::is_terse);
    // There are few sets of listings; every other one makes one more.
    let terse: Vec<Set> = terse.into_iter().chain(full.iter().map(Set::shortened)).collect();
    let (records, full): (Vec<Set>, Vec<Set>) = full.into_iter().partition(Set::is_records);
    [("contents", full), ("records", records), ("listings", terse)].map(|(name, sets)| {
        let pieces: Vec<Set> = sets.iter().flat_map(|set| set.pieces(PIECES)).collect();
        (name, sets.into_iter().chain(pieces).collect())
    })
}

async fn print_samples(sets: &Sets) -> anyhow::Result<()> {
    let read = fitted(read(sets)?);
    let foreign = read.clone();
    let foreign: Vec<&Set> = foreign.iter().collect();
    for (_, group) in groups(read) {
        for indexed in index(sets, group).await? {
            for is_semantic in [false, true] {
                for sample in fit::samples(&indexed, &foreign, is_semantic)? {
                    println!("{}", sample.to_json(&indexed.set.name));
                }
            }
        }
    }
    Ok(())
}

async fn fit_all(sets: &Sets) -> anyhow::Result<()> {
    let read = fitted(read(sets)?);
    let foreign = read.clone();
    let foreign: Vec<&Set> = foreign.iter().collect();
    let is_semantic = encoder(sets)?.is_some();
    for (name, group) in groups(read) {
        let indexed = index(sets, group).await?;
        let mut samples = Vec::new();
        for indexed in &indexed {
            samples.push(fit::samples(indexed, &foreign, is_semantic)?);
        }
        let model = fit::fit(&samples.concat());
        println!("{name}: {model:?}");
        for (left_out, indexed) in indexed.iter().enumerate() {
            let own = &samples[left_out];
            let others = samples.iter().enumerate().filter(|(n, _)| *n != left_out);
            let others: Vec<_> = others.flat_map(|(_, samples)| samples.clone()).collect();
            println!("  {}: {}", indexed.set.name, fit::judge(&model, own));
            println!("    by the others: {}", fit::judge(&fit::fit(&others), own));
        }
    }
    Ok(())
}
