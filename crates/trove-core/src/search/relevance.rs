//! How relevant a result is: a probability that means the same on any catalogue.
//!
//! A rank is relative, so that even nonsense has a best result. The score is made of
//! what can be compared across questions: how much of the weight of the question's words
//! the result holds, in its text and in its name, and how near its meaning is, in itself
//! and against everything else. A logistic model over these gives the probability that
//! somebody who asked this wanted that; it is shown as its 0.4th power, so that the
//! default threshold of 0.3 means one in twenty.
//!
//! The coefficients were fitted by `retrieval-bench fit` (see the test kit) on labelled
//! sets; none is negative, so that more evidence never lowers a score.

/// Results below this are left out unless the caller says otherwise: `p >= 0.05`.
pub const DEFAULT_THRESHOLD: f32 = 0.3;
/// The power to which a probability is raised to be shown.
const SHOWN_POWER: f32 = 0.4;
/// An exact name, symbol or URI is at least this likely meant.
const EXACT_PROBABILITY: f32 = 0.9;

/// What speaks for a result.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// BM25 of its text over the most the question could weigh, from 0 to about 1.
    pub text: f32,
    /// The same for its name.
    pub name: f32,
    /// The share of the question's weight that its name holds, from 0 to 1.
    pub name_coverage: f32,
    /// The share of the question's weight that it holds anywhere, from 0 to 1.
    pub coverage: f32,
    /// How near its meaning is, from -1 to 1; nothing without a vector.
    pub cosine: Option<f32>,
    /// How far that is above the rest, in standard deviations.
    pub distance: f32,
    /// Only what is listed of it is known.
    pub is_terse: bool,
    /// The whole question is its name, a symbol it defines, or its URI.
    pub is_exact: bool,
}

/// How many numbers a model sees.
pub const FEATURES: usize = 7;

/// The coefficients of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// What is believed before any evidence.
    pub intercept: f32,
    /// What is added for a result of which only the listing is known.
    pub terse: f32,
    /// One for each feature, in the order of [`Evidence::features`].
    pub weights: [f32; FEATURES],
}

/// Fitted on words alone.
pub const LEXICAL: Model =
    Model { intercept: -6.0, terse: 0.0, weights: [4.0, 2.0, 2.0, 1.0, 2.0, 0.0, 0.0] };

/// Fitted on words and meaning.
pub const FUSED: Model =
    Model { intercept: -10.0, terse: 0.0, weights: [2.0, 1.0, 1.0, 0.5, 1.0, 6.0, 0.5] };

impl Evidence {
    /// The numbers a model sees.
    pub fn features(&self) -> [f32; FEATURES] {
        let text = self.text.clamp(0.0, 1.5);
        [
            text,
            text.sqrt(),
            self.name.clamp(0.0, 1.5),
            self.name_coverage.clamp(0.0, 1.0),
            self.coverage.clamp(0.0, 1.0),
            self.cosine.unwrap_or(0.0).clamp(0.0, 1.0),
            self.distance.clamp(0.0, 8.0),
        ]
    }

    /// The probability that it is relevant.
    pub fn probability(&self) -> f32 {
        let model = if self.cosine.is_some() { &FUSED } else { &LEXICAL };
        let probability = model.probability(self);
        if self.is_exact { probability.max(EXACT_PROBABILITY) } else { probability }
    }

    /// The probability as it is shown, from 0 to 1.
    pub fn score(&self) -> f32 {
        self.probability().powf(SHOWN_POWER).clamp(0.0, 1.0)
    }
}

impl Model {
    /// The probability this model gives.
    pub fn probability(&self, evidence: &Evidence) -> f32 {
        let mut sum = self.intercept + if evidence.is_terse { self.terse } else { 0.0 };
        for (weight, feature) in self.weights.iter().zip(evidence.features()) {
            sum += weight * feature;
        }
        1.0 / (1.0 + (-sum).exp())
    }
}
