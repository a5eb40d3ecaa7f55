//! Measures how well the encoder alone ranks a labelled set: nDCG@10 and recall@20.
//!
//! `cargo run --release -p trove-meaning --example retrieval DIR...`, each DIR with
//! `corpus.jsonl` (id, title, text), `queries.jsonl` (id, text) and `qrels.tsv` (query,
//! document, grade). A document is cut into chunks of 1,200 characters, each with the
//! title before it, and counts as its best chunk. A second line goes through the vectors as
//! `VectorSet` keeps them.

#![allow(clippy::print_stdout, reason = "an example speaks to whoever runs it")]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use trove_meaning::vectors::VectorSet;
use trove_meaning::{Encoder, Vector};

const CHUNK: usize = 1200;
const THREADS: usize = 2;

#[derive(Deserialize)]
struct Entry {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// Grades of documents, by query and document.
type Judgments = HashMap<String, HashMap<String, f64>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let encoder = Encoder::embedded();
    for folder in std::env::args().skip(1) {
        evaluate(&encoder, Path::new(&folder))?;
    }
    Ok(())
}

fn evaluate(encoder: &Encoder, folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let corpus = entries(&folder.join("corpus.jsonl"))?;
    let queries = entries(&folder.join("queries.jsonl"))?;
    let judgments = judgments(&folder.join("qrels.tsv"))?;
    let chunks: Vec<(usize, String)> = corpus
        .iter()
        .enumerate()
        .flat_map(|(place, entry)| chunks(entry).into_iter().map(move |chunk| (place, chunk)))
        .collect();
    let texts: Vec<&str> = chunks.iter().map(|(_, chunk)| chunk.as_str()).collect();
    let vectors = encoder.encode_batch(&texts, THREADS);
    let texts: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
    let asked = encoder.encode_batch(&texts, THREADS);
    let mut set = VectorSet::new();
    for (place, vector) in vectors.iter().enumerate() {
        set.push(place as u64, vector)?;
    }

    let exact = |query: &Vector| -> Vec<(usize, f32)> {
        vectors.iter().map(|vector| dot(query, vector)).enumerate().collect()
    };
    let kept = |query: &Vector| -> Vec<(usize, f32)> {
        let found = set.scan(query, |_| true, 400);
        found.into_iter().map(|(place, score)| (place as usize, score)).collect()
    };
    println!("{}: {} chunks of {} documents", folder.display(), vectors.len(), corpus.len());
    for (name, scores) in [("exact", &exact as &dyn Fn(&Vector) -> _), ("kept in 8 bits", &kept)] {
        let mut sums = [0.0; 2];
        let mut count = 0.0;
        for (query, vector) in queries.iter().zip(&asked) {
            let Some(grades) = judgments.get(&query.id) else { continue };
            let ranking = rank(&corpus, &chunks, scores(vector));
            sums[0] += gain(&ranking, grades);
            sums[1] += recall(&ranking, grades);
            count += 1.0;
        }
        println!("  {name}: nDCG@10 {:.4}, recall@20 {:.4}", sums[0] / count, sums[1] / count);
    }
    Ok(())
}

fn entries(path: &Path) -> Result<Vec<Entry>, Box<dyn std::error::Error>> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn judgments(path: &Path) -> Result<Judgments, Box<dyn std::error::Error>> {
    let mut judgments = Judgments::new();
    for line in fs::read_to_string(path)?.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if let [query, document, grade] = fields[..]
            && let Ok(grade) = grade.parse()
        {
            judgments.entry(query.to_owned()).or_default().insert(document.to_owned(), grade);
        }
    }
    Ok(judgments)
}

fn chunks(entry: &Entry) -> Vec<String> {
    let letters: Vec<char> = entry.text.chars().collect();
    let mut pieces: Vec<String> =
        letters.chunks(CHUNK).map(|piece| piece.iter().collect()).collect();
    if pieces.is_empty() {
        pieces.push(String::new());
    }
    pieces.into_iter().map(|piece| format!("{}\n{piece}", entry.title)).collect()
}

/// Documents by their best chunk, best first.
fn rank<'c>(
    corpus: &'c [Entry],
    chunks: &[(usize, String)],
    mut scores: Vec<(usize, f32)>,
) -> Vec<&'c str> {
    scores.sort_by(|left, right| right.1.total_cmp(&left.1));
    let mut seen = HashSet::new();
    let documents = scores.iter().map(|(chunk, _)| chunks[*chunk].0);
    documents.filter(|place| seen.insert(*place)).map(|place| corpus[place].id.as_str()).collect()
}

fn gain(ranking: &[&str], grades: &HashMap<String, f64>) -> f64 {
    let discount = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let found = ranking.iter().take(10).enumerate();
    let found: f64 =
        found.map(|(place, id)| grades.get(*id).unwrap_or(&0.0) * discount(place)).sum();
    let mut best: Vec<f64> = grades.values().copied().collect();
    best.sort_by(|left, right| right.total_cmp(left));
    let best: f64 =
        best.iter().take(10).enumerate().map(|(place, grade)| grade * discount(place)).sum();
    if best > 0.0 { found / best } else { 0.0 }
}

fn recall(ranking: &[&str], grades: &HashMap<String, f64>) -> f64 {
    let relevant = grades.values().filter(|grade| **grade > 0.0).count().max(1);
    let found = ranking.iter().take(20).filter(|id| grades.get(**id).is_some_and(|g| *g > 0.0));
    found.count() as f64 / relevant as f64
}

fn dot(left: &Vector, right: &Vector) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}
