//! A few hundred texts in memory, found by words and by meaning as resources are.
//!
//! For what is no resource and needs no index on disk, such as tools. The same tokens and the same
//! encoder as in the index; words are weighed by BM25.

use std::collections::{HashMap, HashSet};

use super::{
    Query, QueryError,
    find::Scale,
    plan::{self, UnitKind},
    tokens::{Role, Tokens},
};

/// How much words count, and meaning; of short texts words say less than of resources.
const LEXICAL_SHARE: f32 = 0.2;
const MEANING_SHARE: f32 = 0.8;
/// How often a word of a name counts.
const NAME_WEIGHT: f32 = 2.0;
/// The constants of BM25.
const SATURATION: f32 = 1.2;
const LENGTH_SHARE: f32 = 0.75;

/// A text that can be found.
#[derive(Debug, Clone)]
pub struct Passage {
    /// Its name, whose words count more.
    pub name: String,
    /// The rest of it.
    pub body: String,
    /// Its meaning; `None` as long as it is not known.
    pub vector: Option<Vec<f32>>,
}

/// Texts that can be found.
#[derive(Debug, Default)]
pub struct Handful {
    held: Vec<Held>,
    /// How many texts have a word.
    holders: HashMap<String, u32>,
    mean_length: f32,
}

#[derive(Debug)]
struct Held {
    counts: HashMap<String, f32>,
    length: f32,
    vector: Option<Vec<f32>>,
}

impl Handful {
    /// These texts, in their order.
    pub fn of(passages: Vec<Passage>) -> Handful {
        let mut handful = Handful::default();
        for Passage { name, body, vector } in passages {
            let mut counts = HashMap::new();
            count(&name, NAME_WEIGHT, &mut counts);
            count(&body, 1.0, &mut counts);
            for word in counts.keys() {
                *handful.holders.entry(word.clone()).or_default() += 1;
            }
            let length = counts.values().sum();
            handful.held.push(Held { counts, length, vector });
        }
        let total: f32 = handful.held.iter().map(|one| one.length).sum();
        handful.mean_length = total / handful.held.len().max(1) as f32;
        handful
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// How near each text is to a question, from 0 to 1. `meaning` is that of the question.
    pub fn weigh(&self, question: &str, meaning: Option<&[f32]>) -> Result<Vec<f32>, QueryError> {
        let stems = stems_of(question)?;
        let words: Vec<f32> = self.held.iter().map(|one| self.by_words(one, &stems)).collect();
        let cosines: Vec<Option<f32>> =
            self.held.iter().map(|one| Some(cosine(one.vector.as_ref()?, meaning?))).collect();
        let of_words = Scale::of(words.iter().copied().chain([0.0]));
        let of_meaning = Scale::of(cosines.iter().flatten().copied());
        let mut ranks = Vec::with_capacity(words.len());
        for (word, cosine) in words.iter().zip(&cosines) {
            let by_words = of_words.place(*word);
            ranks.push(match cosine {
                Some(cosine) => {
                    LEXICAL_SHARE * by_words + MEANING_SHARE * of_meaning.place(*cosine)
                }
                // Words stand for both, as in the index.
                None => by_words,
            });
        }
        Ok(ranks)
    }

    /// BM25 of a text for the stems of a question.
    fn by_words(&self, one: &Held, stems: &HashSet<String>) -> f32 {
        let all = self.held.len() as f32;
        let norm = 1.0 - LENGTH_SHARE + LENGTH_SHARE * one.length / self.mean_length.max(1.0);
        let mut score = 0.0;
        for stem in stems {
            let Some(count) = one.counts.get(stem) else { continue };
            let holders = self.holders.get(stem).copied().unwrap_or_default() as f32;
            let rarity = (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln();
            score += rarity * count * (SATURATION + 1.0) / (count + SATURATION * norm);
        }
        score
    }
}

/// The stems that a question looks for.
fn stems_of(question: &str) -> Result<HashSet<String>, QueryError> {
    let plan = plan::plan(&Query::text(question))?;
    let mut stems = HashSet::new();
    for unit in plan.units {
        match unit.kind {
            UnitKind::Word { parts, .. } => stems.extend(parts.into_iter().map(|part| part.stem)),
            UnitKind::Phrase(all) => stems.extend(all.into_iter().map(|(_, stem)| stem)),
        }
    }
    Ok(stems)
}

/// Adds the stems of a text.
fn count(text: &str, weight: f32, counts: &mut HashMap<String, f32>) {
    let mut tokens = Tokens::of(text);
    while tokens.read_word() {
        for token in tokens.of_word() {
            if token.role == Role::Stem {
                *counts.entry(token.text.clone()).or_default() += weight;
            }
        }
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handful(texts: &[(&str, &str, Option<[f32; 2]>)]) -> Handful {
        let passage = |(name, body, vector): &(&str, &str, Option<[f32; 2]>)| Passage {
            name: (*name).to_owned(),
            body: (*body).to_owned(),
            vector: vector.map(|vector| vector.to_vec()),
        };
        Handful::of(texts.iter().map(passage).collect())
    }

    #[test]
    fn a_word_of_a_name_counts_more_and_what_has_no_word_counts_nothing() {
        let texts = [
            ("list_branches", "lists branches of a repository", None),
            ("get_file", "reads a file from a branch", None),
            ("send_mail", "sends a message", None),
        ];
        let ranks = handful(&texts).weigh("which branches are there", None).unwrap();
        assert!(ranks[0] > ranks[1] && ranks[1] > 0.0 && ranks[2] == 0.0, "{ranks:?}");
    }

    #[test]
    fn meaning_finds_what_shares_no_word() {
        let texts = [
            ("send_mail", "sends a message", Some([1.0, 0.0])),
            ("get_file", "reads a file", Some([0.0, 1.0])),
        ];
        let ranks = handful(&texts).weigh("write to a colleague", Some(&[0.9, 0.1])).unwrap();
        assert!(ranks[0] > ranks[1], "{ranks:?}");
    }
}
