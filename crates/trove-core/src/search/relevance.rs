//! How relevant a result is: a probability that means the same on any catalogue.
//!
//! A rank is relative, so that even nonsense has a best result. The score is made of evidence that
//! can be compared across questions: the share of the question's weight in the text and in the
//! name, and how near the meaning is, in itself and against all others. A logistic model over these
//! gives the probability that the asker wanted that. It is shown as its 0.48th power, so that the
//! default threshold of 0.3 means one in twelve.
//!
//! The coefficients were fitted by `retrieval-bench fit` (see the test kit) on labelled
//! sets; none is negative, so that more evidence never lowers a score.

/// Results below this are left out unless the caller says otherwise: `p >= 1 / 12`.
pub const DEFAULT_THRESHOLD: f32 = 0.3;
/// A result of less relevance is not even a near miss: `p >= 0.005`.
pub const NEAR_MISS_SCORE: f32 = 0.08;
/// The power to which a probability is raised to be shown.
const SHOWN_POWER: f32 = 0.48;
/// An exact name, symbol or URI is at least this likely meant.
const EXACT_PROBABILITY: f32 = 0.9;

/// The evidence for a result.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// BM25 of its text over the most the question could weigh, from 0 to about 1.
    pub text: f32,
    /// BM25 of its name, likewise.
    pub name: f32,
    /// The share of the question's weight that its name holds, from 0 to 1.
    pub name_coverage: f32,
    /// The share of the question's weight that it holds anywhere, from 0 to 1.
    pub coverage: f32,
    /// How near its meaning is, from -1 to 1; `None` without a vector.
    pub cosine: Option<f32>,
    /// How far that is above the rest, in standard deviations.
    pub distance: f32,
    /// How far it is above the mean, as a cosine.
    pub lift: f32,
    /// How few resources there are to choose from, from 0 to 1: see [`scarcity`].
    pub scarcity: f32,
    /// Only what is listed of it is known.
    pub is_terse: bool,
    /// It is a log, a table or settings rather than prose or code.
    pub is_record: bool,
    /// The whole question is its name, a symbol it defines, or its URI.
    pub is_exact: bool,
}

/// So few resources are as few as can be, and so many are many.
const FEW: f32 = 16.0;
const MANY: f32 = 200.0;
/// How much a small choice speaks for a result whose meaning is known: chance alone brings fewer of
/// them near a question.
///
/// Fitted, it would be several times as much. But then a small catalogue would answer questions it
/// knows nothing of. With this weight, 95 of 100 questions from elsewhere pass no threshold there.
/// The error of scores falls from 0.047 to 0.036 over small catalogues of four sets.
const SCARCITY_WEIGHT: f32 = 1.0;

/// How few a number of resources is: 1 up to sixteen, 0 from two hundred on.
pub fn scarcity(resources: usize) -> f32 {
    let count = (resources as f32).clamp(FEW, MANY);
    1.0 - (count / FEW).ln() / (MANY / FEW).ln()
}

/// Parts of the MIME types of records, e.g. `json` of `application/json`.
const RECORD_TYPES: [&str; 7] = ["csv", "tab-separated", "json", "yaml", "toml", "x-log", "xml"];
/// How the names of records end.
const RECORD_ENDINGS: [&str; 14] = [
    ".cfg",
    ".conf",
    ".csv",
    ".env",
    ".ini",
    ".json",
    ".jsonl",
    ".log",
    ".properties",
    ".toml",
    ".tsv",
    ".xml",
    ".yaml",
    ".yml",
];

/// Whether something of this type and name is a record: a log, a table or settings, e.g. `a.csv`.
pub fn is_record(mime: Option<&str>, name: &str) -> bool {
    let is_typed = |mime: &str| RECORD_TYPES.iter().any(|kind| mime.contains(kind));
    let end = name.get(name.len().saturating_sub(12)..).unwrap_or(name).to_ascii_lowercase();
    mime.is_some_and(is_typed) || RECORD_ENDINGS.iter().any(|ending| end.ends_with(ending))
}

/// How many numbers a model sees.
pub const FEATURES: usize = 11;

/// The coefficients of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// The sum before any evidence.
    pub intercept: f32,
    /// One for each feature, in the order of [`Evidence::features`].
    pub weights: [f32; FEATURES],
}

/// Words alone, of contents. Fitted on anthropic-docs, cosqa and our own set; the
/// calibration error on them is 0.016, 0.044 and 0.085.
pub const LEXICAL: Model = Model {
    intercept: -5.77,
    weights: [3.22, 1.00, 1.60, 0.25, 3.41, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
};

/// Words alone, of resources of which only the listing is known: they are terse. Fitted on
/// metatool (0.030) and on the others cut to a title and twenty-five words (0.049, 0.062,
/// 0.070).
pub const LEXICAL_TERSE: Model = Model {
    intercept: -4.89,
    weights: [1.89, 0.93, 0.75, 0.95, 3.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
};

/// Words alone, of records: logs, tables and settings, in which a question's words stand
/// among many that say nothing. Fitted on our own set (0.032).
pub const LEXICAL_RECORD: Model = Model {
    intercept: -6.50,
    weights: [6.13, 7.58, 6.21, 3.98, 0.90, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
};

/// Words and meaning, of contents, with the vectors of granite-embedding-30m-english
/// (0.022, 0.054). Another encoder has other cosines and needs a fit of its own.
pub const FUSED: Model = Model {
    intercept: -8.52,
    weights: [2.40, 0.45, 0.37, 0.0, 1.95, 0.82, 1.86, 4.15, 0.21, 1.75, 0.92],
};

/// Words and meaning, of records (0.017), whose cosines are lower than those of prose. The
/// intercept is lower than the fitted one, so that what is off topic is not shown.
pub const FUSED_RECORD: Model = Model {
    intercept: -11.40,
    weights: [2.90, 4.94, 0.19, 0.0, 1.78, 0.0, 2.12, 2.97, 1.31, 1.77, 0.40],
};

/// Words and meaning, of resources of which only the listing is known (0.031, 0.038,
/// 0.067, 0.030).
pub const FUSED_TERSE: Model = Model {
    intercept: -7.95,
    weights: [0.0, 0.0, 0.0, 0.0, 1.91, 0.76, 3.00, 4.58, 0.19, 0.0, 0.0],
};

impl Evidence {
    /// The numbers a model sees.
    pub fn features(&self) -> [f32; FEATURES] {
        let text = self.text.clamp(0.0, 1.5);
        let coverage = self.coverage.clamp(0.0, 1.0);
        let cosine = self.cosine.unwrap_or(0.0).clamp(0.0, 1.0);
        let lift = self.lift.clamp(0.0, 1.0);
        [
            text,
            text.sqrt(),
            self.name.clamp(0.0, 1.5),
            self.name_coverage.clamp(0.0, 1.0),
            coverage,
            coverage * coverage * coverage,
            cosine,
            cosine * cosine * cosine,
            self.distance.clamp(0.0, 8.0),
            lift,
            lift * lift,
        ]
    }

    /// The addition to the sum of every model, outside of the fit.
    pub fn offset(&self) -> f32 {
        match self.cosine {
            Some(_) => SCARCITY_WEIGHT * self.scarcity.clamp(0.0, 1.0),
            None => 0.0,
        }
    }

    /// The probability that it is relevant.
    pub fn probability(&self) -> f32 {
        let model = match (self.cosine.is_some(), self.is_terse, self.is_record) {
            (false, true, _) => &LEXICAL_TERSE,
            (false, false, true) => &LEXICAL_RECORD,
            (false, false, false) => &LEXICAL,
            (true, true, _) => &FUSED_TERSE,
            (true, false, true) => &FUSED_RECORD,
            (true, false, false) => &FUSED,
        };
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
        let mut sum = self.intercept + evidence.offset();
        for (weight, feature) in self.weights.iter().zip(evidence.features()) {
            sum += weight * feature;
        }
        1.0 / (1.0 + (-sum).exp())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn evidence()(
            (text, name) in (0.0_f32..1.5, 0.0_f32..1.5),
            (name_coverage, coverage) in (0.0_f32..1.0, 0.0_f32..1.0),
            cosine in proptest::option::of(-1.0_f32..1.0),
            (distance, lift) in (-4.0_f32..9.0, -0.5_f32..1.0),
            scarcity in 0.0_f32..1.0,
            (is_terse, is_record, is_exact) in any::<(bool, bool, bool)>(),
        ) -> Evidence {
            Evidence {
                text, name, name_coverage, coverage, cosine, distance, lift, scarcity, is_terse, is_record,
                is_exact,
            }
        }
    }

    proptest! {
        #[test]
        fn a_score_is_between_0_and_1(evidence in evidence()) {
            prop_assert!((0.0..=1.0).contains(&evidence.score()));
        }

        #[test]
        fn more_evidence_never_lowers_a_score(less in evidence(), more in 0.0_f32..0.5) {
            let raise: [fn(&mut Evidence, f32); 8] = [
                |e, by| e.text += by,
                |e, by| e.name += by,
                |e, by| e.name_coverage += by,
                |e, by| e.coverage += by,
                |e, by| e.cosine = e.cosine.map(|cosine| cosine + by),
                |e, by| e.distance += by,
                |e, by| e.lift += by,
                |e, by| e.scarcity += by,
            ];
            for raise in raise {
                let mut evidence = less;
                raise(&mut evidence, more);
                prop_assert!(evidence.score() >= less.score() - 1e-6);
            }
        }
    }

    #[test]
    fn the_default_threshold_is_one_in_twelve() {
        assert!(((1.0_f32 / 12.0).powf(SHOWN_POWER) - DEFAULT_THRESHOLD).abs() < 0.01);
    }

    #[test]
    fn few_are_sixteen_and_many_two_hundred() {
        assert_eq!((scarcity(0), scarcity(16), scarcity(200)), (1.0, 1.0, 0.0));
        assert_eq!(scarcity(1_000_000), 0.0);
        assert!(scarcity(30) > scarcity(60) && scarcity(60) > scarcity(150));
    }

    #[test]
    fn records_are_told_by_type_or_name() {
        assert!(is_record(Some("application/json"), "x://a"));
        assert!(is_record(Some("text/plain"), "file:///var/LOG/app.LOG"));
        assert!(!is_record(Some("text/markdown"), "docs://logs/readme.md"));
        assert!(!is_record(None, "x://é"));
    }

    #[test]
    fn nothing_in_common_is_not_relevant() {
        assert!(Evidence::default().score() < DEFAULT_THRESHOLD);
        let unlike = Evidence { cosine: Some(0.3), ..Evidence::default() };
        assert!(unlike.score() < DEFAULT_THRESHOLD);
    }

    #[test]
    fn all_words_in_name_and_text_are_relevant() {
        let evidence = Evidence {
            text: 0.7,
            name: 0.5,
            name_coverage: 1.0,
            coverage: 1.0,
            ..Evidence::default()
        };
        assert!(evidence.score() > 0.5, "{}", evidence.score());
    }
}
