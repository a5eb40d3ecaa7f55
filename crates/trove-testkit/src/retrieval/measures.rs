//! Measures of answers.

use std::{collections::HashMap, time::Duration};

/// How well results are ordered; sums, until divided by their number.
#[derive(Debug, Clone, Default)]
pub struct Order {
    questions: f64,
    ndcg: f64,
    recall: f64,
    /// How long answers took.
    pub latency: Latency,
}

impl Order {
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
}

/// The worth of scores, and the share of answers shown by default; sums, until divided.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    own: f64,
    answered: f64,
    first: f64,
    foreign: f64,
    empty: f64,
    bare: f64,
    /// How true the probabilities are.
    pub calibration: Calibration,
}

impl Scores {
    /// Adds a question of the set: whether anything passed the threshold, and whether the
    /// right document is among the first that are shown.
    pub fn add_own(&mut self, is_answered: bool, is_first: bool) {
        self.own += 1.0;
        self.answered += f64::from(u8::from(is_answered));
        self.first += f64::from(u8::from(is_first));
    }

    /// Adds a question from elsewhere: whether nothing passed the threshold, and whether
    /// there is no near miss either.
    pub fn add_foreign(&mut self, is_empty: bool, is_bare: bool) {
        self.foreign += 1.0;
        self.empty += f64::from(u8::from(is_empty));
        self.bare += f64::from(u8::from(is_bare));
    }

    /// The share of questions with an answer above the default threshold.
    pub fn answered(&self) -> f64 {
        self.answered / self.own.max(1.0)
    }

    /// The share of questions whose answer is among the first that are shown.
    pub fn first(&self) -> f64 {
        self.first / self.own.max(1.0)
    }

    /// The share of questions from elsewhere with no answer above the default threshold.
    pub fn empty(&self) -> f64 {
        self.empty / self.foreign.max(1.0)
    }

    /// The share of those that are shown nothing at all.
    pub fn bare(&self) -> f64 {
        self.bare / self.foreign.max(1.0)
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

/// How true probabilities are: the claims against the facts.
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
