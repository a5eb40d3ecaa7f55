//! How relevant texts are that the index does not hold: hits of servers' own searches, scored as
//! our own results are.

use std::collections::HashSet;

use tantivy::{Searcher, Term};

use super::{
    Search,
    hits::Why,
    plan::{self, Plan, Unit, UnitKind},
    query::{Query, QueryError},
    relevance::{Evidence, scarcity},
    tokens::{Role, Tokens},
    vectors::{Probe, Spread},
};

/// How many texts are weighed by their meaning: those that hold most of the question.
const MAX_MEANT: usize = 6;
/// How much of a text its meaning is made of.
const MAX_MEANT_CHARS: usize = 240;
/// How much a word in a short text counts, of the most it could.
const SHORT_TEXT: f32 = 0.5;
/// How far above the rest meaning must be to be a reason of its own.
const MEANT_DISTANCE: f32 = 2.0;

/// A text to be weighed.
#[derive(Debug, Clone, Copy)]
pub struct Foreign<'a> {
    /// Its name or title.
    pub title: &'a str,
    /// Its text, as far as it is known.
    pub body: &'a str,
}

/// The relevance of a text.
#[derive(Debug, Clone)]
pub struct Weighed {
    /// The score is made of it.
    pub evidence: Evidence,
    /// The reasons, the best first.
    pub why: Vec<Why>,
    /// Which terms it holds, as the caller wrote them.
    pub matched_terms: Vec<String>,
}

impl Search {
    /// Weighs texts for a question, one answer for each. Takes processor time, as
    /// [`Search::find`] does.
    pub fn weigh(&self, query: &Query, texts: &[Foreign<'_>]) -> Result<Vec<Weighed>, QueryError> {
        let plan = plan::plan(query)?;
        let store = self.shared.store();
        let searcher = store.reader.searcher();
        let weights: Vec<f32> =
            plan.units.iter().map(|unit| rarity(&searcher, store.fields.body, unit)).collect();
        let mut all: Vec<Weighed> =
            texts.iter().map(|text| by_words(&plan, &weights, text)).collect();
        if let Some(vector) = self.meaning_of(query, &plan) {
            let probe = Probe::of(&vector);
            let spread = self.shared.vectors().spread(&probe);
            let few = scarcity(self.shared.roster().len() + texts.len());
            self.add_meaning(&vector, (spread, few), texts, &mut all);
        }
        Ok(all)
    }

    /// Adds what their meaning says to those that hold most of the question.
    fn add_meaning(
        &self,
        vector: &[f32],
        (spread, few): (Spread, f32),
        texts: &[Foreign<'_>],
        all: &mut [Weighed],
    ) {
        let Some(encoder) = &self.encoder else { return };
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by(|a, b| all[*b].evidence.coverage.total_cmp(&all[*a].evidence.coverage));
        order.truncate(MAX_MEANT);
        let pieces: Vec<String> = order.iter().map(|nth| piece(&texts[*nth])).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        for (nth, meant) in order.into_iter().zip(encoder.encode(&pieces)) {
            let cosine: f32 = vector.iter().zip(&meant).map(|(a, b)| a * b).sum();
            let evidence = &mut all[nth].evidence;
            evidence.cosine = Some(cosine);
            evidence.distance = spread.distance(cosine);
            evidence.lift = cosine - spread.mean;
            evidence.scarcity = few;
            if evidence.distance >= MEANT_DISTANCE {
                all[nth].why.push(Why::Meaning);
            }
        }
    }
}

fn piece(text: &Foreign<'_>) -> String {
    let whole = format!("{}\n{}", text.title, text.body);
    whole.chars().take(MAX_MEANT_CHARS).collect()
}

/// How rare a unit is among what is indexed.
fn rarity(searcher: &Searcher, field: tantivy::schema::Field, unit: &Unit) -> f32 {
    let stems: Vec<&str> = match &unit.kind {
        UnitKind::Word { parts, .. } => parts.iter().map(|part| part.stem.as_str()).collect(),
        UnitKind::Phrase(stems) => stems.iter().map(|(_, stem)| stem.as_str()).collect(),
    };
    let all = searcher.num_docs() as f32;
    let count = |stem: &&str| {
        searcher.doc_freq(&Term::from_field_text(field, stem)).unwrap_or_default() as f32
    };
    let rarest = stems.iter().map(count).fold(all, f32::min);
    (1.0 + (all - rarest + 0.5) / (rarest + 0.5)).ln()
}

/// The stems and whole words of a text.
fn words_of(text: &str) -> HashSet<String> {
    let mut words = HashSet::new();
    let mut tokens = Tokens::of(text);
    while tokens.read_word() {
        let read = tokens.of_word().iter().filter(|token| token.role != Role::Form);
        words.extend(read.map(|token| token.text.clone()));
    }
    words
}

fn holds(words: &HashSet<String>, unit: &Unit) -> bool {
    match &unit.kind {
        UnitKind::Word { whole, parts } => {
            words.contains(whole)
                || !parts.is_empty() && parts.iter().all(|part| words.contains(&part.stem))
        }
        UnitKind::Phrase(stems) => stems.iter().all(|(_, stem)| words.contains(stem)),
    }
}

fn by_words(plan: &Plan, weights: &[f32], text: &Foreign<'_>) -> Weighed {
    let (title, body) = (words_of(text.title), words_of(text.body));
    let total: f32 = weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    let (mut in_title, mut anywhere) = (0.0, 0.0);
    let mut matched_terms = Vec::new();
    for (unit, weight) in plan.units.iter().zip(weights) {
        let is_in_title = holds(&title, unit);
        if is_in_title {
            in_title += weight;
        }
        if is_in_title || holds(&body, unit) {
            anywhere += weight;
            matched_terms.push(unit.label.clone());
        }
    }
    let (name_coverage, coverage) = (in_title / total, anywhere / total);
    let evidence = Evidence {
        text: coverage * SHORT_TEXT,
        name: name_coverage * SHORT_TEXT,
        name_coverage,
        coverage,
        is_terse: true,
        ..Evidence::default()
    };
    let mut why = Vec::new();
    if in_title > 0.0 {
        why.push(Why::Name);
    }
    if anywhere > in_title {
        why.push(Why::Content);
    }
    Weighed { evidence, why, matched_terms }
}
