//! Labelled sets: documents, questions, and which documents answer which.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::Path,
};

use anyhow::Context as _;
use serde_json::Value;
use trove_core::search::relevance;

/// How many words a description in a listing has.
const LISTED_WORDS: usize = 25;
/// How many questions a small catalogue answers.
const PIECE_QUESTIONS: usize = 12;
/// The suffix of the name of a shortened set.
const SHORTENED: &str = "-listed";

/// Which questions of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Those that scores are fitted to.
    Fitted,
    /// Those that no fit sees.
    HeldOut,
}

/// A set.
#[derive(Debug, Clone)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// The documents to search.
    pub documents: Vec<Document>,
    /// The questions to ask.
    pub questions: Vec<Question>,
}

/// Something to be found.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its name in the set.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Its type, if it has one.
    pub mime: Option<String>,
}

/// Something to be asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// The question.
    pub text: String,
    /// The documents that answer it, and how well.
    pub right: HashMap<String, u32>,
}

impl Set {
    /// Reads a set from its folder.
    pub fn read(folder: &Path) -> anyhow::Result<Set> {
        let name = folder.file_name().context("a set needs a name")?.to_string_lossy().into_owned();
        let mut documents = Vec::new();
        for line in lines(folder, "corpus.jsonl")? {
            documents.push(Document {
                id: text(&line, "id"),
                title: text(&line, "title"),
                text: text(&line, "text"),
                mime: line["mime"].as_str().map(str::to_owned),
            });
        }
        let mut right: HashMap<String, HashMap<String, u32>> = HashMap::new();
        let judged = fs::read_to_string(folder.join("qrels.tsv"))?;
        for line in judged.lines() {
            let mut parts = line.split('\t');
            let (Some(query), Some(document)) = (parts.next(), parts.next()) else { continue };
            let grade = parts.next().and_then(|grade| grade.trim().parse().ok()).unwrap_or(1);
            if grade > 0 {
                right.entry(query.to_owned()).or_default().insert(document.to_owned(), grade);
            }
        }
        let mut questions = Vec::new();
        for line in lines(folder, "queries.jsonl")? {
            if let Some(right) = right.remove(&text(&line, "id")) {
                questions.push(Question { text: text(&line, "text"), right });
            }
        }
        Ok(Set { name, documents, questions })
    }

    /// Reads every set in a folder, by name.
    pub fn read_all(folder: &Path) -> anyhow::Result<Vec<Set>> {
        let mut folders: Vec<_> = fs::read_dir(folder)
            .with_context(|| format!("{} cannot be read", folder.display()))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.join("corpus.jsonl").exists())
            .collect();
        folders.sort();
        folders.iter().map(|folder| Set::read(folder)).collect()
    }

    /// The set with every other question: those that a fit may see, or the rest, which show the
    /// worth of the fit.
    pub fn part(&self, part: Part) -> Set {
        let first = usize::from(part == Part::HeldOut);
        let questions = self.questions.iter().skip(first).step_by(2).cloned().collect();
        let documents = self.documents.clone();
        Set { name: self.name.clone(), documents, questions }
    }

    /// The set as a listing without contents would have it: of each document its title and its
    /// first words.
    pub fn shortened(&self) -> Set {
        let mut set = self.clone();
        set.name.push_str(SHORTENED);
        for document in &mut set.documents {
            let words: Vec<&str> = document.text.split_whitespace().take(LISTED_WORDS).collect();
            document.text = words.join(" ");
        }
        set
    }

    /// Small catalogues of the same documents, as a user with few servers has them. Each has the
    /// answers to a few questions and as many documents besides.
    pub fn pieces(&self, count: usize) -> Vec<Set> {
        let step = (self.questions.len() / (count * PIECE_QUESTIONS).max(1)).max(1);
        let mut questions = self.questions.iter().step_by(step);
        let mut pieces = Vec::new();
        for n in 0..count {
            let own: Vec<Question> = questions.by_ref().take(PIECE_QUESTIONS).cloned().collect();
            let answers: HashSet<&String> = own.iter().flat_map(|q| q.right.keys()).collect();
            let (right, others): (Vec<_>, Vec<_>) =
                self.documents.iter().partition(|document| answers.contains(&document.id));
            let step = (others.len() / PIECE_QUESTIONS).max(1);
            let others = others.into_iter().skip(n).step_by(step).take(PIECE_QUESTIONS);
            let documents = right.into_iter().chain(others).cloned().collect();
            let name = format!("{}-piece-{n}", self.name);
            pieces.push(Set { name, documents, questions: own });
        }
        pieces
    }

    /// Whether its documents are logs, tables and settings.
    pub fn is_records(&self) -> bool {
        let is_record = |d: &Document| relevance::is_record(d.mime.as_deref(), &d.id);
        self.documents.iter().all(is_record)
    }

    /// Whether its documents are descriptions, as a listing has them, rather than
    /// contents: nearly all of one line, and short.
    pub fn is_terse(&self) -> bool {
        let words: usize = self.documents.iter().map(|d| d.text.split_whitespace().count()).sum();
        let single = self.documents.iter().filter(|d| !d.text.trim().contains('\n')).count();
        let count = self.documents.len().max(1);
        words / count < 60 && single * 20 > count * 19
    }
}

fn lines(folder: &Path, file: &str) -> anyhow::Result<Vec<Value>> {
    let text = fs::read_to_string(folder.join(file))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).with_context(|| file.to_owned())).collect()
}

/// A member as text, of any type.
fn text(value: &Value, key: &str) -> String {
    match &value[key] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
