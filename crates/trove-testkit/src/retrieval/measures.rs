//! What is measured of answers.

use std::{collections::HashMap, time::Duration};

/// How well questions were answered; sums, until divided by their number.
#[derive(Debug, Clone, Default)]
pub struct Measures {
    questions: f64,
    ndcg: f64,
    recall: f64,
    /// How many had an answer above the default threshold.
    pub answered: f64,
    /// How true the probabilities are.
    pub calibration: Calibration,
    /// How long answers took.
    pub latency: Latency,
}

impl Measures {
    /// Adds an answer: documents in their order, and which are right.
    pub fn add(&mut self, ids: &[&str], right: &HashMap<String, u32>) {
        self.questions += 1.0;
        self.ndcg += ndcg_at_10(ids, right);
        let found = ids.iter().take(20).filter(|id| right.contains_key(**id)).count();
        self.recall += found as f64 / right.len().max(1) as f64;
    }

    /// Normalised discounted cumulative gain of the first ten.
    pub fn ndcg(&self) -> f64 {
        self.ndcg / self.questions.max(1.0)
    }

    /// The share of right documents among the first twenty.
    pub fn recall(&self) -> f64 {
        self.recall / self.questions.max(1.0)
    }

    /// The share of questions with an answer above the default threshold.
    pub fn answered(&self) -> f64 {
        self.answered / self.questions.max(1.0)
    }
}

fn ndcg_at_10(ids: &[&str], right: &HashMap<String, u32>) -> f64 {
    let discount = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let gain = |grade: u32| f64::from(2_u32.saturating_pow(grade) - 1);
    let reached: f64 = ids
        .iter()
        .take(10)
        .enumerate()
        .map(|(rank, id)| right.get(*id).map_or(0.0, |grade| gain(*grade)) * discount(rank))
        .sum();
    let mut grades: Vec<u32> = right.values().copied().collect();
    grades.sort_unstable_by(|a, b| b.cmp(a));
    let best: f64 =
        grades.iter().take(10).enumerate().map(|(rank, grade)| gain(*grade) * discount(rank)).sum();
    if best > 0.0 { reached / best } else { 0.0 }
}

const BINS: usize = 10;

/// How true probabilities are: what was said against what was so.
#[derive(Debug, Clone, Default)]
pub struct Calibration {
    bins: [(f64, f64, f64); BINS],
}

impl Calibration {
    /// Adds what was said of one result, and whether it was right.
    pub fn add(&mut self, probability: f32, is_right: bool) {
        let bin = &mut self.bins[((probability * BINS as f32) as usize).min(BINS - 1)];
        bin.0 += 1.0;
        bin.1 += f64::from(probability);
        bin.2 += f64::from(u8::from(is_right));
    }

    /// The expected calibration error: the mean distance, weighed by how often it was said.
    pub fn error(&self) -> f64 {
        let total: f64 = self.bins.iter().map(|bin| bin.0).sum();
        self.bins.iter().map(|(_, said, so)| (said - so).abs()).sum::<f64>() / total.max(1.0)
    }
}

/// Times.
#[derive(Debug, Clone, Default)]
pub struct Latency {
    micros: Vec<u64>,
}

impl Latency {
    /// Adds one.
    pub fn add(&mut self, took: Duration) {
        self.micros.push(took.as_micros() as u64);
    }

    /// The time that a share of answers took at most, in milliseconds.
    pub fn percentile(&self, share: f64) -> f64 {
        let mut micros = self.micros.clone();
        micros.sort_unstable();
        let at = ((micros.len() as f64 * share) as usize).min(micros.len().saturating_sub(1));
        micros.get(at).map_or(0.0, |micros| *micros as f64 / 1000.0)
    }
}
