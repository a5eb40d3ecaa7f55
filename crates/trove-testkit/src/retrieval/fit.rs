//! Fits the coefficients of relevance to labelled sets.
//!
//! A logistic regression with weights that cannot be negative, by gradient steps of
//! decreasing length. Every set weighs the same, so that a large one does not decide
//! alone. Results of questions from other sets are taken as wrong.

use std::collections::HashMap;

use trove_core::search::relevance::{Evidence, FEATURES, Model};

use super::{Indexed, off_topic, set::Set};

/// One judged result.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    evidence: Evidence,
    is_right: bool,
    /// The question, counted within the set.
    question: usize,
    /// The question is one of another set.
    is_foreign: bool,
    weight: f64,
}

/// The probability that the default threshold stands for.
const PASSING: f32 = 1.0 / 12.0;
/// How much results of questions from elsewhere weigh against those of a set's own.
const OFF_TOPIC_WEIGHT: f64 = 1.0;
/// How strongly weights are held small.
const RIDGE: f64 = 1e-4;
const STEPS: usize = 6000;

/// Judged results of a set.
pub fn samples(
    indexed: &Indexed,
    others: &[&Set],
    is_semantic: bool,
) -> anyhow::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    let mut add = |question, judged: Vec<(Evidence, bool)>, is_foreign| {
        samples.extend(judged.into_iter().map(|(evidence, is_right)| Sample {
            evidence,
            is_right,
            question,
            is_foreign,
            weight: 0.0,
        }));
    };
    for (n, question) in indexed.set.questions.iter().enumerate() {
        add(n, indexed.evidence(&question.text, &question.right, is_semantic)?, false);
    }
    for (n, text) in off_topic(&indexed.set, others).into_iter().enumerate() {
        add(n, indexed.evidence(text, &HashMap::new(), is_semantic)?, true);
    }
    // Exact matches are set apart by rule, not by fit.
    samples.retain(|sample| !sample.evidence.is_exact);
    for is_foreign in [false, true] {
        let count = samples.iter().filter(|sample| sample.is_foreign == is_foreign).count();
        let total = if is_foreign { OFF_TOPIC_WEIGHT } else { 1.0 };
        for sample in samples.iter_mut().filter(|sample| sample.is_foreign == is_foreign) {
            sample.weight = total / count.max(1) as f64;
        }
    }
    Ok(samples)
}

impl Sample {
    /// The features that a fit sees of it, for other tools.
    pub fn to_json(&self, set: &str) -> serde_json::Value {
        serde_json::json!({
            "set": set,
            "features": self.evidence.features(),
            "scarcity": self.evidence.scarcity,
            "record": self.evidence.is_record,
            "terse": self.evidence.is_terse,
            "vector": self.evidence.cosine.is_some(),
            "right": self.is_right,
            "question": self.question,
            "foreign": self.is_foreign,
        })
    }
}

/// Finds the coefficients that make the samples most likely.
pub fn fit(samples: &[Sample]) -> Model {
    let rows: Vec<Row> = samples.iter().map(row).collect();
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    let mut at = [0.0; FEATURES + 1];
    at[0] = -3.0;
    let mut speed = [0.0; FEATURES + 1];
    for step in 0..STEPS {
        let mut slope = [0.0; FEATURES + 1];
        for Row { features, offset, right, weight } in &rows {
            let sum: f64 = offset + features.iter().zip(&at).map(|(x, w)| x * w).sum::<f64>();
            let miss = (1.0 / (1.0 + (-sum).exp()) - right) * weight / total;
            for (slope, x) in slope.iter_mut().zip(features) {
                *slope += miss * x;
            }
        }
        let rate = 8.0 / (1.0 + step as f64 / 1500.0);
        for n in 0..at.len() {
            let pull = if n < 1 { 0.0 } else { RIDGE * at[n] };
            speed[n] = 0.9 * speed[n] - rate * 0.1 * (slope[n] + pull);
            at[n] += speed[n];
            if n >= 1 && at[n] < 0.0 {
                (at[n], speed[n]) = (0.0, 0.0);
            }
        }
    }
    let mut weights = [0.0; FEATURES];
    for (weight, fitted) in weights.iter_mut().zip(&at[1..]) {
        *weight = *fitted as f32;
    }
    Model { intercept: at[0] as f32, weights }
}

/// A sample as the fit sees it; the first feature is always 1.
struct Row {
    features: [f64; FEATURES + 1],
    offset: f64,
    right: f64,
    weight: f64,
}

fn row(sample: &Sample) -> Row {
    let mut features = [0.0; FEATURES + 1];
    features[0] = 1.0;
    for (to, from) in features[1..].iter_mut().zip(sample.evidence.features()) {
        *to = f64::from(from);
    }
    Row {
        features,
        offset: f64::from(sample.evidence.offset()),
        right: f64::from(u8::from(sample.is_right)),
        weight: sample.weight,
    }
}

/// The quality of a model on samples, in words.
pub fn judge(model: &Model, samples: &[Sample]) -> String {
    let mut calibration = super::measures::Calibration::default();
    let (mut right, mut kept) = (0_u32, 0_u32);
    let mut questions: HashMap<(bool, usize), bool> = HashMap::new();
    for sample in samples {
        let probability = model.probability(&sample.evidence);
        if !sample.is_foreign {
            calibration.add(probability, sample.is_right);
        }
        let is_passed = probability >= PASSING;
        right += u32::from(sample.is_right);
        kept += u32::from(sample.is_right && is_passed);
        *questions.entry((sample.is_foreign, sample.question)).or_default() |= is_passed;
    }
    let share = |foreign: bool, passed: bool| {
        let own = questions.iter().filter(|((is_foreign, _), _)| *is_foreign == foreign);
        let (count, hits) = own.fold((0_u32, 0_u32), |(count, hits), (_, is_passed)| {
            (count + 1, hits + u32::from(*is_passed == passed))
        });
        f64::from(hits) / f64::from(count.max(1))
    };
    format!(
        "calibration error {:.3}; right results kept {:.2}; questions answered {:.2}; off-topic empty {:.2}",
        calibration.error(),
        f64::from(kept) / f64::from(right.max(1)),
        share(false, true),
        share(true, false),
    )
}
