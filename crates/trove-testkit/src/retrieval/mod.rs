//! Measures how well search finds, on labelled sets: questions and the documents that
//! answer them.
//!
//! A set is a folder with `corpus.jsonl` (id, title, text), `queries.jsonl` (id, text)
//! and `qrels.tsv` (query, document, grade). Our own set is made by [`crate::corpus`].

pub mod encoder_speed;
pub mod fit;
pub mod granite;
pub mod measures;
pub mod mix;
pub mod set;
pub mod speed;
pub mod static_encoder;

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Instant};

use trove_core::{
    SourceId,
    search::{
        Change, Config, Content, Depth, Encode, Entry, Everything, Hit, Hits, Query, Search,
        relevance::Evidence,
    },
};

use measures::{Order, Scores};
use set::{Question, Set};

/// How deep results are judged.
const DEPTH: usize = 20;
/// Among so many results the right one counts as found.
const FIRST: usize = 3;
/// How many questions of other sets are asked, which should find nothing.
const OFF_TOPIC: usize = 150;

/// A set in an index.
pub struct Indexed {
    /// Its documents and questions.
    pub set: Set,
    search: Search,
    /// How long it took to index, in seconds.
    pub seconds: f64,
}

impl Indexed {
    /// Indexes a set, in memory or in a folder that keeps its vectors for the next run,
    /// and waits for them.
    pub async fn new(
        set: Set,
        folder: Option<PathBuf>,
        encoder: Option<Arc<dyn Encode>>,
    ) -> anyhow::Result<Indexed> {
        let started = Instant::now();
        let folder = folder.map(|folder| folder.join(&set.name));
        let search = Search::open(folder, Config::default(), encoder)?;
        let source = SourceId::normalise(&set.name);
        let is_terse = set.is_terse();
        let mut put = Vec::new();
        for document in &set.documents {
            let mut entry = Entry::new(source.clone(), &document.id, &document.title);
            entry.mime.clone_from(&document.mime);
            if is_terse {
                entry.description = Some(document.text.clone());
                entry.depth = Depth::Metadata;
            }
            put.push(entry);
        }
        let keys: Vec<_> = put.iter().map(Entry::key).collect();
        search.apply(Change { put, removed: Vec::new() }).await;
        if !is_terse {
            for (key, document) in keys.into_iter().zip(&set.documents) {
                let content = Content::new(document.text.clone(), 0);
                search.put_content(key, content).await;
            }
        }
        search.flush().await;
        let seconds = started.elapsed().as_secs_f64();
        while search.awaiting_meaning() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        Ok(Indexed { set, search, seconds })
    }

    /// Asks a question and takes every result, with any score.
    pub fn ask(&self, text: &str, is_semantic: bool, results: usize) -> anyhow::Result<Hits> {
        let query =
            Query { threshold: 0.0, max_results: results, is_semantic, ..Query::text(text) };
        Ok(self.search.find(&query, &Everything)?)
    }

    /// The evidence for each of the first results, and whether they are right.
    pub fn evidence(
        &self,
        text: &str,
        right: &HashMap<String, u32>,
        is_semantic: bool,
    ) -> anyhow::Result<Vec<(Evidence, bool)>> {
        let hits = self.ask(text, is_semantic, DEPTH)?.hits;
        let judged = |hit: &trove_core::search::Hit| {
            (hit.evidence, right.contains_key(hit.key.local.as_str()))
        };
        Ok(hits.iter().map(judged).collect())
    }

    /// How well the questions of the set are ranked; adds to what was measured before.
    pub fn measure_order(&self, is_semantic: bool, into: &mut Order) -> anyhow::Result<()> {
        for question in &self.set.questions {
            let started = Instant::now();
            let hits = self.ask(&question.text, is_semantic, DEPTH)?;
            into.latency.add(started.elapsed());
            let ids: Vec<&str> = hits.hits.iter().map(|hit| hit.key.local.as_str()).collect();
            into.add(&ids, &question.right);
        }
        Ok(())
    }

    /// How true the scores are on questions that no fit saw, and how much of the answers shows by
    /// default. Adds to earlier measurements.
    pub fn measure_scores(
        &self,
        questions: &[Question],
        is_semantic: bool,
        into: &mut Scores,
    ) -> anyhow::Result<()> {
        for question in questions {
            let is_right = |hit: &Hit| question.right.contains_key(hit.key.local.as_str());
            for hit in &self.ask(&question.text, is_semantic, DEPTH)?.hits {
                into.calibration.add(hit.evidence.probability(), is_right(hit));
            }
            let hits = self.ask_plainly(&question.text, is_semantic)?;
            let is_first = hits.hits.iter().take(FIRST).any(is_right);
            into.add_own(hits.total > 0, is_first);
        }
        Ok(())
    }

    /// How much of the answers shows for questions of other sets. Adds to earlier measurements.
    pub fn measure_off_topic(
        &self,
        others: &[&Set],
        is_semantic: bool,
        into: &mut Scores,
    ) -> anyhow::Result<()> {
        for text in off_topic(&self.set, others) {
            let hits = self.ask_plainly(text, is_semantic)?;
            into.add_foreign(hits.total == 0, hits.hits.is_empty());
        }
        Ok(())
    }

    /// Asks as a caller does that gives only the question.
    fn ask_plainly(&self, text: &str, is_semantic: bool) -> anyhow::Result<Hits> {
        let query = Query { is_semantic, near_misses: FIRST, ..Query::text(text) };
        Ok(self.search.find(&query, &Everything)?)
    }
}

/// Questions of the other sets, spread evenly.
pub fn off_topic<'a>(set: &Set, others: &[&'a Set]) -> Vec<&'a str> {
    // A shortened set has the questions of the whole one.
    let others = others.iter().filter(|other| !set.name.starts_with(&other.name));
    let others: Vec<&&Set> = others.collect();
    let each = OFF_TOPIC / others.len().max(1);
    let mut texts = Vec::new();
    for other in others {
        let step = (other.questions.len() / each.max(1)).max(1);
        let chosen = other.questions.iter().step_by(step).take(each);
        texts.extend(chosen.map(|question| question.text.as_str()));
    }
    texts
}
