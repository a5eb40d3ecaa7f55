//! The tools of servers as texts that can be found, kept in step with the catalogue.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    intent::{Intent, verbs_of},
    only_reads,
};
use crate::{
    catalogue::{NamedEntry, Snapshot},
    changes::Change,
    gateway::Gateway,
    search::{Handful, Passage, QueryError},
    tools::Tools,
};

/// How much of a tool its meaning is made of, in bytes.
const MAX_MEANT: usize = 600;
/// How much of a tool its words are taken from, in bytes.
const MAX_WORDS: usize = 8 * 1024;
/// The most tools that are found by meaning.
const MAX_VECTORS: usize = 10_000;
/// The weights of a named server, of an equal intent to read or to change, and of verbs that
/// stand for each other. Ranks go from 0 to 1.
const SERVER_WEIGHT: f32 = 0.15;
const EFFECT_WEIGHT: f32 = 0.08;
const VERB_WEIGHT: f32 = 0.15;
/// How many tools get their meaning at a time, between looks at the end of the gateway.
const BATCH: usize = 8;

/// Finds tools of servers.
#[derive(Default)]
pub(in crate::tools) struct Finder {
    known: Mutex<Arc<Known>>,
    /// The meanings that are known, by the hash of what they are made of.
    vectors: Mutex<HashMap<u64, Vec<f32>>>,
    /// The revision of the Snapshot whose tools all have their meaning.
    whole: AtomicU64,
}

/// The tools of one Snapshot.
#[derive(Default)]
struct Known {
    revision: u64,
    /// How many vectors it was made with.
    vectors: usize,
    handful: Handful,
    tools: Vec<Tool>,
}

/// The facts about a tool beside its text.
struct Tool {
    name: Arc<str>,
    server: String,
    reads: bool,
    /// The kinds of its verbs.
    verbs: u16,
}

impl Tool {
    /// How much speaks for it beside words and meaning.
    fn fitness(&self, intent: &Intent) -> f32 {
        let mut fitness = 0.0;
        if intent.names(&self.server) {
            fitness += SERVER_WEIGHT;
        }
        if intent.asks() == self.reads {
            fitness += EFFECT_WEIGHT;
        }
        if intent.is_kin(self.verbs) {
            fitness += VERB_WEIGHT;
        }
        fitness
    }
}

impl Finder {
    /// The names of the tools that have to do with a question, the best first.
    pub(super) fn find(
        &self,
        gateway: &Gateway,
        question: &str,
    ) -> Result<Vec<Arc<str>>, QueryError> {
        let known = self.known(&gateway.current());
        let meaning = match gateway.search() {
            Some(search) if known.vectors > 0 => search.meanings(&[question]),
            _ => None,
        };
        let meaning = meaning.and_then(|mut all| all.pop());
        let ranks = known.handful.weigh(question, meaning.as_deref())?;
        let intent = Intent::of(question);
        let mut found: Vec<(&Tool, f32)> = Vec::new();
        for (tool, rank) in known.tools.iter().zip(ranks) {
            if rank > 0.0 {
                found.push((tool, rank + tool.fitness(&intent)));
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(found.into_iter().map(|(tool, _)| tool.name.clone()).collect())
    }

    /// The tools of a Snapshot, taken in anew if they are others or more is known of them.
    fn known(&self, snapshot: &Snapshot) -> Arc<Known> {
        let known = self.known.lock().clone();
        let vectors = self.vectors.lock().len();
        if known.revision == snapshot.revision() && known.vectors == vectors {
            return known;
        }
        let mut passages = Vec::new();
        let mut tools = Vec::new();
        {
            let all = self.vectors.lock();
            for tool in snapshot.tools() {
                let words = Words::of(snapshot, tool);
                let vector = all.get(&words.print()).cloned();
                passages.push(Passage { name: words.name, body: words.body, vector });
                tools.push(known_of(snapshot, tool));
            }
        }
        let handful = Handful::of(passages);
        let known = Arc::new(Known { revision: snapshot.revision(), vectors, handful, tools });
        *self.known.lock() = known.clone();
        known
    }

    /// The texts whose meaning is not known yet, and their hashes. Those of tools that are gone are
    /// forgotten.
    fn missing(&self, snapshot: &Snapshot) -> Vec<(u64, String)> {
        let mut all = self.vectors.lock();
        let mut wanted = HashMap::new();
        for tool in snapshot.tools().iter().take(MAX_VECTORS) {
            let words = Words::of(snapshot, tool);
            wanted.insert(words.print(), words.meant());
        }
        all.retain(|print, _| wanted.contains_key(print));
        wanted.retain(|print, _| !all.contains_key(print));
        wanted.into_iter().collect()
    }

    /// How many tools are found by their meaning.
    pub(in crate::tools) fn meanings(&self) -> usize {
        self.vectors.lock().len()
    }

    fn learn(&self, learnt: Vec<(u64, Vec<f32>)>) {
        self.vectors.lock().extend(learnt);
    }
}

impl Tools {
    /// Gives tools of servers their meaning, and keeps them in step with the catalogue until told to
    /// stop. As long as tools are listed there is nothing to do.
    pub async fn follow(self: Arc<Tools>, stop: CancellationToken) {
        let mut changes = self.gateway().changes();
        let following = async {
            self.learn_meanings().await;
            while let Ok(change) = changes.recv().await {
                // The index may be opened after the servers were listed.
                if matches!(change, Change::Lists(_) | Change::Listed | Change::Missed) {
                    self.learn_meanings().await;
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = following => {}
        }
    }

    /// Gives those tools their meaning that have none yet, a few at a time.
    pub async fn learn_meanings(&self) {
        let snapshot = self.gateway().current();
        let is_whole = self.finder.whole.load(Ordering::Relaxed) == snapshot.revision();
        if is_whole || !self.searches_tools() || self.gateway().opened_search().await.is_none() {
            return;
        }
        let mut missing = self.finder.missing(&snapshot);
        while !missing.is_empty() {
            let batch = missing.split_off(missing.len().saturating_sub(BATCH));
            let Some(search) = self.gateway().search().cloned() else { return };
            let learning = tokio::task::spawn_blocking(move || {
                let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
                let vectors = search.meanings(&texts)?;
                let prints = batch.iter().map(|(print, _)| *print);
                Some(prints.zip(vectors).collect::<Vec<(u64, Vec<f32>)>>())
            });
            let Ok(Some(learnt)) = learning.await else { return };
            self.finder.learn(learnt);
        }
        self.finder.whole.store(snapshot.revision(), Ordering::Relaxed);
    }
}

fn known_of(snapshot: &Snapshot, tool: &NamedEntry) -> Tool {
    let description = tool.entry.get_str("description").unwrap_or_default();
    Tool {
        name: tool.public.clone(),
        server: snapshot.owner(tool.member).id().to_string(),
        reads: only_reads(&tool.entry),
        verbs: verbs_of(&tool.local, &description),
    }
}

/// The words of a tool.
struct Words {
    name: String,
    description: String,
    /// All the rest.
    body: String,
}

impl Words {
    fn of(snapshot: &Snapshot, tool: &NamedEntry) -> Words {
        let entry: Value = tool.entry.to().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let server = snapshot.owner(tool.member).id();
        let title = text(&entry["annotations"]["title"]);
        let name = format!("{server} {} {} {title}", tool.local, text(&entry["title"]));
        let description = text(&entry["description"]);
        let mut body = description.clone();
        let properties = entry["inputSchema"]["properties"].as_object();
        for (argument, property) in properties.into_iter().flatten() {
            body.push_str(&format!("\n{argument} {}", text(&property["description"])));
        }
        body.truncate(body.floor_char_boundary(MAX_WORDS));
        Words { name, description, body }
    }

    /// The text its meaning is made of.
    fn meant(&self) -> String {
        let name = self.name.replace(['_', '-', '.'], " ");
        let mut text = format!("{}\n{}", name.trim(), self.description);
        text.truncate(text.floor_char_boundary(MAX_MEANT));
        text
    }

    fn print(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.meant().hash(&mut hasher);
        hasher.finish()
    }
}
