//! Gives resources their vectors, in the background. The most used and last changed come first, a
//! few at a time, and none while it is told to pause.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use tantivy::TantivyDocument;

use super::{
    chunks, collect,
    document::{self, Read},
    record::{private_version, urgency, version_of},
    shared::Shared,
    shelf::VectorFile,
    top::top_by,
    vectors::{Embedded, quantise},
};

/// Turns texts into vectors that are near each other when the texts mean alike.
pub trait Encode: Send + Sync {
    /// Tells encoders apart whose vectors cannot be compared.
    fn name(&self) -> &str;
    /// How many numbers a vector has.
    fn dimension(&self) -> usize;
    /// One vector for each text.
    fn encode(&self, texts: &[&str]) -> Vec<Vec<f32>>;
}

/// How many resources are chosen at a time.
const CHOSEN: usize = 32;
/// How many pieces are encoded at a time, between looks at the pause: a few hundredths of a
/// second.
const BATCH: usize = 2;
/// How often it looks for work when no bell wakes it.
const REST: Duration = Duration::from_secs(2);

/// Orders for the background.
#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<BellState>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct BellState {
    has_work: bool,
    /// Whether it is at work, or would be if it were not paused.
    is_busy: bool,
    is_paused: bool,
    is_stopped: bool,
}

impl Bell {
    pub(super) fn wake(&self) {
        self.change(|state| state.has_work = true);
    }

    pub(super) fn pause(&self, is_paused: bool) {
        self.change(|state| state.is_paused = is_paused);
    }

    pub(super) fn stop(&self) {
        self.change(|state| state.is_stopped = true);
    }

    /// Whether a pause would make a difference.
    pub(super) fn is_busy(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_busy || state.has_work
    }

    fn change(&self, change: impl FnOnce(&mut BellState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.rung.notify_all();
    }

    /// Waits for work; false when it is time to stop.
    fn wait(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_busy = false;
        let is_idle = |state: &mut BellState| !state.is_stopped && !state.has_work;
        let waited = self.rung.wait_timeout_while(state, REST, is_idle);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.has_work = false;
        state.is_busy = true;
        drop(state);
        self.may_go_on()
    }

    /// Waits out a pause; work that was begun is not lost by it. False when it is time to stop.
    fn may_go_on(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.is_paused && !state.is_stopped {
            state = self.rung.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.is_stopped
    }
}

/// Of which version of a resource its documents are.
fn version_of_documents(documents: &[Read]) -> u64 {
    documents.iter().filter(|read| read.part == 0).fold(0, |version, read| {
        version
            ^ match read.owner {
                0 => version_of(read.shown.hash(), read.hash),
                owner => private_version(owner, read.hash),
            }
    })
}

/// The background.
pub(super) struct Embedder {
    pub(super) shared: Arc<Shared>,
    pub(super) encoder: Arc<dyn Encode>,
    pub(super) file: Option<VectorFile>,
}

impl Embedder {
    /// Works until it is told to stop.
    pub(super) fn run(mut self) {
        while self.shared.bell.wait() {
            while self.shared.bell.may_go_on() {
                let chosen = self.choose();
                let done = chosen.into_iter().filter(|(id, version)| self.embed(*id, *version));
                // A resource that is not committed yet is done when it is, which rings the bell.
                if done.count() == 0 {
                    break;
                }
            }
        }
    }

    /// The resources most in want of vectors.
    fn choose(&self) -> Vec<(u64, u64)> {
        let roster = self.shared.roster();
        let vectors = self.shared.vectors();
        let room = self.shared.config.max_vectors.saturating_sub(vectors.len());
        if room == 0 {
            return Vec::new();
        }
        let wanting =
            roster.iter().filter(|record| vectors.version(record.id) != Some(record.version()));
        let chosen = top_by(wanting, CHOSEN, |a, b| urgency(a).total_cmp(&urgency(b)));
        chosen.into_iter().map(|record| (record.id, record.version())).collect()
    }

    /// Gives one resource its vectors; false when it is not the time for it.
    fn embed(&mut self, id: u64, version: u64) -> bool {
        let Some(documents) = self.documents(id) else { return false };
        if version_of_documents(&documents) != version {
            return false;
        }
        let mut embedded = Vec::new();
        for read in &documents {
            let Some(pieces) = self.encode(read) else { return false };
            embedded.extend(pieces);
            if embedded.len() >= chunks::MAX_PIECES {
                break;
            }
        }
        // A resource that changed meanwhile is chosen again.
        if self.shared.roster().get(id).is_none() {
            return true;
        }
        self.shared.vectors_mut().put(id, version, &embedded);
        if let Some(file) = &mut self.file
            && let Err(error) = file.add(id, version, &embedded)
        {
            tracing::warn!(%error, "vectors cannot be kept; they will be computed again");
            self.file = None;
        }
        true
    }

    fn documents(&self, id: u64) -> Option<Vec<Read>> {
        let store = self.shared.store();
        let searcher = store.reader.searcher();
        let found = collect::all_documents_of(&searcher, &store.fields, id).ok()?;
        let mut documents = Vec::new();
        for (doc, _) in found {
            let document: TantivyDocument = searcher.doc(doc).ok()?;
            documents.push(document::read(&store.fields, &document));
        }
        documents.sort_by_key(|read| (read.owner, read.part));
        Some(documents)
    }

    fn encode(&self, read: &Read) -> Option<Vec<Embedded>> {
        let body = read.window.body.as_str();
        let mut places = chunks::pieces(body);
        if places.is_empty() {
            places.push(0..0);
        }
        let name = read.shown.title.as_deref().unwrap_or(&read.shown.name);
        let mut embedded = Vec::new();
        for batch in places.chunks(BATCH) {
            if !self.shared.bell.may_go_on() {
                return None;
            }
            let description = read.shown.description.as_deref();
            let texts: Vec<String> = batch
                .iter()
                .map(|place| {
                    chunks::input(
                        name,
                        description.filter(|_| place.start == 0),
                        &body[place.clone()],
                    )
                })
                .collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            for (place, vector) in batch.iter().zip(self.encoder.encode(&texts)) {
                let (scale, codes) = quantise(&vector);
                let start =
                    u32::try_from(place.start as u64 + read.window.base).unwrap_or(u32::MAX);
                let len = place.len() as u32;
                embedded.push(Embedded { owner: read.owner, start, len, scale, codes });
            }
        }
        Some(embedded)
    }
}
