//! Opens the index on disk or in memory.
//!
//! A folder that another process uses is left to it: each process takes the first free of a few
//! places. An index that is damaged, or of another version, is emptied. That is told, and never an
//! error: search must not keep a caller from reading.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use tantivy::{
    Index, IndexReader, IndexSettings, ReloadPolicy, directory::MmapDirectory,
    tokenizer::TextAnalyzer,
};

use super::{
    analyser::{self, Analyser},
    load::load,
    roster::Roster,
    schema::{self, Fields},
};
use crate::files;

/// How many processes may keep an index in one folder.
const MAX_PLACES: usize = 4;
/// An index up to this size is checked byte by byte when the last run did not end well.
const MAX_CHECKED_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// The longest file that says of which version the index is.
const MAX_VERSION_BYTES: u64 = 64;

const INDEX: &str = "index";
const LOCK: &str = "lock";
const VERSION: &str = "version";
/// Lies there while no run writes: the last run ended as it should.
const CLEAN: &str = "clean";

/// Where the index lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a folder, to be found again.
    Disk(PathBuf),
    /// In memory, for as long as the process runs.
    Memory,
}

/// The condition of the index when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// Nothing: it begins empty.
    New,
    /// An index of an earlier run.
    Resumed,
    /// An index that could not be used; it begins empty, and what was in it must be fed
    /// again.
    Rebuilt {
        /// The fault in it.
        why: String,
    },
}

/// An open index.
pub(super) struct Store {
    pub(super) index: Index,
    pub(super) reader: IndexReader,
    pub(super) fields: Fields,
    pub(super) place: Place,
    pub(super) opened: Opened,
    /// Held for as long as the index is open.
    lock: Option<File>,
}

impl Store {
    /// Opens the index in `dir`, or in memory, and the roster of what is in it.
    pub(super) fn open(dir: Option<&Path>) -> tantivy::Result<(Store, Roster)> {
        let Some(dir) = dir else { return Store::in_memory(Opened::New) };
        match take_place(dir) {
            Ok(Some((place, lock))) => Store::on_disk(place, lock),
            Ok(None) => Store::in_memory(Opened::Rebuilt {
                why: format!(
                    "{MAX_PLACES} other processes keep an index there; this one is kept in memory"
                ),
            }),
            Err(error) => Store::in_memory(Opened::Rebuilt {
                why: format!("the folder cannot be used ({error}); the index is kept in memory"),
            }),
        }
    }

    fn in_memory(opened: Opened) -> tantivy::Result<(Store, Roster)> {
        let fields = Fields::new();
        let index = Index::create_in_ram(fields.schema.clone());
        let store = Store::of(index, fields, Place::Memory, opened, None)?;
        Ok((store, Roster::default()))
    }

    fn on_disk(place: PathBuf, lock: File) -> tantivy::Result<(Store, Roster)> {
        let folder = place.join(INDEX);
        let was_there = folder.exists();
        let why = match resume(&place) {
            Ok((index, fields)) => {
                let lock = lock.try_clone().ok();
                match Store::of(index, fields, Place::Disk(place.clone()), Opened::Resumed, lock)
                    .and_then(|store| Ok((load(&store)?, store)))
                {
                    Ok((roster, store)) => return Ok((store, roster)),
                    Err(error) => error.to_string(),
                }
            }
            Err(why) => why,
        };
        let opened = if was_there { Opened::Rebuilt { why } } else { Opened::New };
        match create(&place) {
            Ok((index, fields)) => {
                let store = Store::of(index, fields, Place::Disk(place), opened, Some(lock))?;
                Ok((store, Roster::default()))
            }
            Err(error) => Store::in_memory(Opened::Rebuilt {
                why: format!("no index can be made there ({error}); it is kept in memory"),
            }),
        }
    }

    fn of(
        index: Index,
        fields: Fields,
        place: Place,
        opened: Opened,
        lock: Option<File>,
    ) -> tantivy::Result<Store> {
        index.tokenizers().register(analyser::WORDS, TextAnalyzer::from(Analyser));
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Store { index, reader, fields, place, opened, lock })
    }

    /// An empty index in memory, because none can be kept on the disk.
    pub(super) fn moved_to_memory(why: String) -> tantivy::Result<Store> {
        let why = format!("{why}; it is kept in memory");
        Store::in_memory(Opened::Rebuilt { why }).map(|(store, _)| store)
    }

    /// An empty index in this place, because this one cannot be trusted.
    pub(super) fn rebuilt(&self, why: String) -> tantivy::Result<Store> {
        let opened = Opened::Rebuilt { why };
        if let (Place::Disk(place), Some(lock)) = (&self.place, &self.lock)
            && let (Ok((index, fields)), Ok(lock)) = (create(place), lock.try_clone())
        {
            let place = Place::Disk(place.clone());
            return Store::of(index, fields, place, opened, Some(lock));
        }
        Store::in_memory(opened).map(|(store, _)| store)
    }

    /// Says that nothing is being written, or that something is.
    pub(super) fn set_clean(&self, is_clean: bool) {
        let Place::Disk(place) = &self.place else { return };
        let mark = place.join(CLEAN);
        // Without the mark the next start looks more closely, nothing worse.
        let _ = if is_clean { files::append(&mark).map(drop) } else { fs::remove_file(mark) };
    }

    /// How many bytes the index takes.
    pub(super) fn bytes(&self) -> u64 {
        match &self.place {
            Place::Disk(place) => folder_bytes(&place.join(INDEX)),
            Place::Memory => {
                let searcher = self.reader.searcher();
                searcher.space_usage().map_or(0, |usage| usage.total().get_bytes())
            }
        }
    }
}

/// The first place in the folder that no other process holds.
fn take_place(dir: &Path) -> io::Result<Option<(PathBuf, File)>> {
    for number in 0..MAX_PLACES {
        let place = dir.join(number.to_string());
        fs::create_dir_all(&place)?;
        let lock = files::lock_file(&place.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => return Ok(Some((place, lock))),
            Err(fs::TryLockError::WouldBlock) => {}
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(None)
}

/// Opens what an earlier run left, if it can be trusted.
fn resume(place: &Path) -> Result<(Index, Fields), String> {
    let version = files::read_text(&place.join(VERSION), MAX_VERSION_BYTES).unwrap_or_default();
    if version.trim() != schema::VERSION.to_string() {
        return Err("it is of another version".to_owned());
    }
    let folder = place.join(INDEX);
    let index = Index::open_in_dir(&folder).map_err(|error| error.to_string())?;
    let fields = Fields::new();
    if index.schema() != fields.schema {
        return Err("its fields are others".to_owned());
    }
    if !place.join(CLEAN).exists() && folder_bytes(&folder) <= MAX_CHECKED_BYTES {
        let damaged = index.validate_checksum().map_err(|error| error.to_string())?;
        if let Some(file) = damaged.into_iter().next() {
            return Err(format!("{} is damaged", file.display()));
        }
    }
    Ok((index, fields))
}

/// Makes an empty index where one may have been.
fn create(place: &Path) -> tantivy::Result<(Index, Fields)> {
    let folder = place.join(INDEX);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    // Not the folders above it: if they went away, the state folder is not made again.
    fs::create_dir(&folder)?;
    files::replace(&place.join(VERSION), schema::VERSION.to_string().as_bytes())?;
    let fields = Fields::new();
    let directory = MmapDirectory::open(&folder)?;
    let index = Index::create(directory, fields.schema.clone(), IndexSettings::default())?;
    Ok((index, fields))
}

fn folder_bytes(folder: &Path) -> u64 {
    let Ok(files) = fs::read_dir(folder) else { return 0 };
    files.flatten().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}
