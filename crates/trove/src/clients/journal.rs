//! The record of a move out of a client, written before the move, so that it can be taken back.
//!
//! A file that is as Trove left it gets its old bytes back. One that was changed since, by its client
//! or a person, keeps those changes: the servers are put in again entry by entry.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::SystemTime,
};

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use toml_edit::{DocumentMut, Item};
use trove_core::{
    files::Home,
    hex,
    state_file::{Damaged, Form as FileForm, StateError, StateFile},
};

use super::{
    backup::{Original, replace},
    change::Wish,
    edit::Spot,
    entry::Entry,
    error::ClientError,
    moving::{FileChange, Found},
    ours,
    table::Form,
    text::Dressed,
};

/// The folder of these records in the state folder.
const FOLDER: &str = "moves";
/// The most moves of one client that are kept.
const MAX_MOVES: usize = 100;
/// The most records that are looked at.
const MAX_RECORDS: usize = 1000;
static FORM: FileForm = FileForm {
    max_bytes: 256 << 20,
    version: 1,
    damaged: Damaged::Refused("the backups beside the client's file hold what it was"),
};

/// One move.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// The configuration that got the servers.
    config: String,
    /// The client's file that got our entry.
    file: String,
    changes: Vec<Changed>,
    servers: Vec<MovedServer>,
}

/// A file that was changed.
#[derive(Serialize, Deserialize)]
struct Changed {
    path: String,
    /// Its bytes before, in base64; `None`: it was not there.
    before: Option<String>,
    /// The hash of its bytes afterwards; `None`: it was removed.
    after: Option<String>,
}

/// A server that was moved.
#[derive(Serialize, Deserialize)]
pub(crate) struct MovedServer {
    pub(crate) name: String,
    pub(crate) id: String,
    /// Whether it was new to the configuration.
    is_added: bool,
    file: String,
    entry: Json,
}

/// A record and its place.
pub(crate) struct Kept {
    place: StateFile,
    pub(crate) record: Record,
}

/// The changes that take a move back.
pub(crate) struct Undo {
    pub(crate) changes: Vec<FileChange>,
    pub(crate) notes: Vec<String>,
}

impl Record {
    pub(crate) fn of(found: &Found, config: &FileChange, changes: &[FileChange]) -> Record {
        let shown = |path: &Path| path.display().to_string();
        let all = std::iter::once(config).chain(changes);
        let changes = all.map(|change| Changed {
            path: shown(&change.original.path),
            before: change.original.bytes.as_ref().map(|bytes| STANDARD.encode(bytes)),
            after: change.fresh.as_deref().map(hash),
        });
        let servers = found.servers.iter().map(|one| MovedServer {
            name: one.name.clone(),
            id: one.id.to_string(),
            is_added: one.imported.is_some(),
            file: shown(&one.file),
            entry: one.entry.clone(),
        });
        Record {
            version: FORM.version,
            config: shown(&config.original.path),
            file: shown(&found.path),
            changes: changes.collect(),
            servers: servers.collect(),
        }
    }

    /// Writes it down, before anything is done.
    pub(crate) fn keep(self, state: &Path, wish: &Wish<'_>) -> Result<(), StateError> {
        let home = Home::at(state);
        let taken = (1..=MAX_MOVES).find(|number| !path_of(state, wish, *number).exists());
        let place = path_of(state, wish, taken.unwrap_or(MAX_MOVES));
        StateFile::inside(&home, place, &FORM).write_json(&self)
    }

    pub(crate) fn config(&self) -> &str {
        &self.config
    }

    pub(crate) fn servers(&self) -> &[MovedServer] {
        &self.servers
    }
}

/// The moves of a client that can be taken back, the oldest first.
pub(crate) fn kept(state: &Path, wish: &Wish<'_>) -> Result<Vec<Kept>, StateError> {
    let home = Home::at(state);
    let mut all = Vec::new();
    for number in 1..=MAX_MOVES {
        let path = path_of(state, wish, number);
        if !path.exists() {
            continue;
        }
        let place = StateFile::inside(&home, path, &FORM);
        if let Some(record) = place.read_json()? {
            all.push(Kept { place, record });
        }
    }
    Ok(all)
}

/// The servers that moves of other clients rely on.
pub(crate) fn relied_on(state: &Path, wish: &Wish<'_>) -> Result<BTreeSet<String>, StateError> {
    let home = Home::at(state);
    let own = format!("{}-{}-{}-", wish.row.word, wish.scope, wish.name);
    let mut ids = BTreeSet::new();
    let Ok(entries) = std::fs::read_dir(state.join(FOLDER)) else { return Ok(ids) };
    for entry in entries.flatten().take(MAX_RECORDS) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(&own) || !name.ends_with(".json") {
            continue;
        }
        let record: Option<Record> = StateFile::inside(&home, entry.path(), &FORM).read_json()?;
        for server in record.into_iter().flat_map(|record| record.servers) {
            ids.insert(server.id);
        }
    }
    Ok(ids)
}

fn path_of(state: &Path, wish: &Wish<'_>, number: usize) -> PathBuf {
    let name = format!("{}-{}-{}-{number}.json", wish.row.word, wish.scope, wish.name);
    state.join(FOLDER).join(name)
}

fn hash(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

impl Kept {
    /// The changes that take the move back, from any state it was left in.
    pub(crate) fn undo(
        &self,
        wish: &Wish<'_>,
        program: &Path,
        others: &BTreeSet<String>,
    ) -> Result<Undo, ClientError> {
        let mut undo = Undo { changes: Vec::new(), notes: Vec::new() };
        // The client first: its servers are nowhere missing meanwhile.
        for changed in self.record.changes.iter().rev() {
            let original = Original::read(Path::new(&changed.path))?;
            let before = changed.before.as_deref().map(|text| STANDARD.decode(text));
            let before = before.and_then(Result::ok);
            let is_shared = changed.path == self.record.config && self.shares_with(others);
            let is_as_left = !is_shared && original.bytes.as_deref().map(hash) == changed.after;
            let fresh = if original.bytes == before {
                continue;
            } else if is_as_left {
                before
            } else if changed.path == self.record.config {
                self.without_servers(&original, others)?
            } else if changed.path == self.record.file {
                undo.notes.push(format!(
                    "{} was changed since, so its servers were put in again and the changes kept",
                    changed.path
                ));
                self.with_servers(wish, program, &original)?
            } else {
                undo.notes.push(format!("{} was changed since, and stays as it is", changed.path));
                continue;
            };
            undo.changes.push(FileChange { original, fresh });
        }
        Ok(undo)
    }

    /// Whether another move relies on a server that came with this one.
    fn shares_with(&self, others: &BTreeSet<String>) -> bool {
        self.record.servers.iter().any(|one| one.is_added && others.contains(&one.id))
    }

    /// The configuration without the servers that came with this move alone.
    fn without_servers(
        &self,
        original: &Original,
        others: &BTreeSet<String>,
    ) -> Result<Option<Vec<u8>>, ClientError> {
        let dressed = text_of(original)?;
        let Ok(mut document) = dressed.text.parse::<DocumentMut>() else {
            let (path, line, column) = (original.path.clone(), 1, 1);
            let message = "it cannot be read".to_owned();
            return Err(ClientError::Broken { path, line, column, message });
        };
        if let Some(all) = document.get_mut("servers").and_then(Item::as_table_like_mut) {
            for one in &self.record.servers {
                if one.is_added && !others.contains(&one.id) {
                    all.remove(&one.id);
                }
            }
        }
        Ok(Some(dressed.dress(&document.to_string())))
    }

    /// The client's file with its servers in it again, and without us.
    fn with_servers(
        &self,
        wish: &Wish<'_>,
        program: &Path,
        original: &Original,
    ) -> Result<Option<Vec<u8>>, ClientError> {
        let dressed = text_of(original)?;
        let mut text = dressed.text.clone();
        if wish.row.form != Form::OwnYaml {
            for one in &self.record.servers {
                let spot = Spot::of(wish.row, &original.path, &one.name);
                let is_there = spot.find(&spot.read(&text)?).is_some();
                if let (false, Json::Object(entry)) = (is_there, &one.entry) {
                    text = spot.put(&text, &Entry::like(entry.clone()))?;
                }
            }
        }
        let spot = Spot::of(wish.row, &original.path, wish.name);
        let root = spot.read(&text)?;
        if spot.find(&root).is_some_and(|entry| ours::is_ours(entry, program)) {
            let taken = spot.take(&text)?;
            return Ok(taken.map(|text| dressed.dress(&text)));
        }
        Ok(Some(dressed.dress(&text)))
    }

    /// Does it, and forgets the move.
    pub(crate) fn take_back(&self, undo: &Undo, now: SystemTime) -> Result<(), ClientError> {
        for change in undo.changes.iter().filter(|change| change.is_one()) {
            replace(&change.original, change.fresh.as_deref(), now)?;
        }
        let path = self.place.path().to_owned();
        std::fs::remove_file(&path).map_err(|source| ClientError::Unwritable { path, source })
    }
}

fn text_of(original: &Original) -> Result<Dressed, ClientError> {
    let bytes = original.bytes.as_deref().unwrap_or_default();
    Dressed::of(bytes).ok_or_else(|| ClientError::NotText { path: original.path.clone() })
}
