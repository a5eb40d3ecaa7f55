//! One file that Trove keeps for itself, e.g. `approvals.json` in the state folder.
//!
//! It is read within a size and replaced whole, for its owner alone. Each user says what becomes
//! of a damaged file: a memory begins anew, and a decision of a person is refused until that
//! person has looked at it.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tracing::warn;

use crate::files::{self, Draft, Home, Readers};

/// How soon a lock is tried again.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// The rules for one kind of file: each user has them as a constant.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The most bytes that are read back.
    pub max_bytes: u64,
    /// The newest `version` of a JSON file that is understood; files without one are the first.
    pub version: u32,
    /// How a damaged file is treated.
    pub damaged: Damaged,
}

/// How a damaged file is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damaged {
    /// It is a memory: it is moved to `NAME.damaged`, a warning says so, and it begins anew.
    MovedAside,
    /// It holds decisions of a person: it stays as it is, and the error ends with this advice.
    Refused(&'static str),
}

/// Why a file of ours could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file is not as it should be.
    #[error("{} is damaged ({detail}); {advice}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The place of the damage, without a word of the contents.
        detail: String,
        /// How a person mends it.
        advice: &'static str,
    },
    /// The system said no.
    #[error("{} cannot be used: {error}; check the state folder and its permissions", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The answer of the system.
        error: io::Error,
    },
    /// Another process is changing it, and does not end.
    #[error("another process has been changing {} for {patience:?}; try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long it was waited for.
        patience: Duration,
    },
}

/// A file of ours: its name and its rules. Contents are not kept in memory.
#[derive(Debug, Clone)]
pub struct StateFile {
    path: PathBuf,
    form: &'static Form,
    /// The folder that must stay where it is for anything to be written.
    home: Option<Home>,
}

/// The lock of a file, given back when it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl StateFile {
    /// A file in a folder that is there.
    pub fn new(path: impl Into<PathBuf>, form: &'static Form) -> StateFile {
        StateFile { path: path.into(), form, home: None }
    }

    /// A file somewhere in `home`; its folder is made when it is first written.
    pub fn inside(home: &Home, path: impl Into<PathBuf>, form: &'static Form) -> StateFile {
        StateFile { path: path.into(), form, home: Some(home.clone()) }
    }

    /// The name of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it; `None` if there is none, or if a damaged one was moved aside. `parse` gives the
    /// contents, or the place of the damage.
    pub fn read<T>(
        &self,
        parse: impl FnOnce(Vec<u8>) -> Result<T, String>,
    ) -> Result<Option<T>, StateError> {
        let parsed = match files::read(&self.path, self.form.max_bytes) {
            Ok(bytes) => parse(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(error.to_string()),
            Err(error) => return Err(self.unusable(error)),
        };
        match parsed {
            Ok(contents) => Ok(Some(contents)),
            Err(detail) => self.treat_damaged(detail).map(|()| None),
        }
    }

    pub fn read_json<T: DeserializeOwned>(&self) -> Result<Option<T>, StateError> {
        self.read(|bytes| {
            if let Ok(Versioned { version }) = serde_json::from_slice(&bytes)
                && version > self.form.version
            {
                return Err(format!("version {version} is newer than this Trove"));
            }
            // The words of the parser would quote the contents.
            let place = |error: serde_json::Error| {
                format!("see line {}, column {}", error.line(), error.column())
            };
            serde_json::from_slice(&bytes).map_err(place)
        })
    }

    /// Replaces the file whole: a reader finds the old or the new one.
    pub fn write(&self, bytes: &[u8]) -> Result<(), StateError> {
        self.write_with(|out| out.write_all(bytes))
    }

    /// Replaces the file by its contents as JSON, one member a line.
    pub fn write_json(&self, contents: &impl Serialize) -> Result<(), StateError> {
        self.write_with(|out| {
            serde_json::to_writer_pretty(&mut *out, contents)?;
            out.write_all(b"\n")
        })
    }

    /// Replaces the file by the bytes that `encode` writes.
    pub fn write_with(
        &self,
        encode: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), StateError> {
        self.try_write(encode).map_err(|error| self.unusable(error))
    }

    fn try_write(&self, encode: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        self.make_ready()?;
        let mut draft = Draft::new(&self.path, Readers::Owner)?;
        encode(&mut draft)?;
        draft.finish()
    }

    /// Keeps other processes from changing it. The lock is a file beside it, e.g. `eras.lock`.
    pub fn lock(&self, patience: Duration) -> Result<Lock, StateError> {
        let path = self.path.with_extension("lock");
        let unusable = |error| StateError::Unusable { path: path.clone(), error };
        self.make_ready().map_err(unusable)?;
        let file = files::lock_file(&path).map_err(unusable)?;
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(StateError::Busy { path, patience });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_INTERVAL),
            }
        }
    }

    fn make_ready(&self) -> io::Result<()> {
        match &self.home {
            Some(home) => home.ready_inner(self.path.parent().unwrap_or(&self.path)),
            None => Ok(()),
        }
    }

    fn treat_damaged(&self, detail: String) -> Result<(), StateError> {
        let path = self.path.clone();
        if let Damaged::Refused(advice) = self.form.damaged {
            return Err(StateError::Damaged { path, detail, advice });
        }
        let mut aside = path.clone().into_os_string();
        aside.push(".damaged");
        let aside = PathBuf::from(aside);
        let path = path.display();
        match fs::rename(&self.path, &aside) {
            Ok(()) => warn!(
                "{path} is damaged ({detail}); it is kept as {}, and a new one begins",
                aside.display()
            ),
            Err(error) => warn!(%error, "{path} is damaged ({detail}); it is not used"),
        }
        Ok(())
    }

    fn unusable(&self, error: io::Error) -> StateError {
        StateError::Unusable { path: self.path.clone(), error }
    }
}

impl From<StateError> for io::Error {
    fn from(error: StateError) -> io::Error {
        let kind = match &error {
            StateError::Damaged { .. } => io::ErrorKind::InvalidData,
            StateError::Unusable { error, .. } => error.kind(),
            StateError::Busy { .. } => io::ErrorKind::WouldBlock,
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Numbers = BTreeMap<String, u32>;

    const REFUSED: Damaged = Damaged::Refused("look at it");
    static MEMORY: Form = Form { max_bytes: 40, version: 1, damaged: Damaged::MovedAside };
    static DECISIONS: Form = Form { max_bytes: 40, version: 1, damaged: REFUSED };

    const DAMAGED: [&str; 4] =
        ["", "{\"one\": 1", "{\"version\": 2}", "{\"one\": 1,                              }"];

    #[test]
    fn t35_a_damaged_memory_is_kept_aside_and_begins_anew() {
        let dir = tempfile::tempdir().unwrap();
        let file = StateFile::new(dir.path().join("eras.json"), &MEMORY);
        for damaged in DAMAGED {
            fs::write(file.path(), damaged).unwrap();
            assert_eq!(file.read_json::<Numbers>().unwrap(), None, "{damaged}");
            let aside = fs::read_to_string(dir.path().join("eras.json.damaged")).unwrap();
            assert_eq!(aside, damaged);
            let numbers = Numbers::from([("one".to_owned(), 1)]);
            file.write_json(&numbers).unwrap();
            assert_eq!(file.read_json::<Numbers>().unwrap(), Some(numbers));
        }
    }

    #[test]
    fn t35_damaged_decisions_are_refused_and_stay_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let file = StateFile::new(dir.path().join("tokens.json"), &DECISIONS);
        for damaged in DAMAGED {
            fs::write(file.path(), damaged).unwrap();
            let error = file.read_json::<Numbers>().unwrap_err().to_string();
            assert!(error.contains("tokens.json is damaged") && error.ends_with("look at it"));
            assert_eq!(fs::read_to_string(file.path()).unwrap(), damaged);
        }
        fs::write(file.path(), "{\"one\": \"secret\"}").unwrap();
        let error = file.read_json::<Numbers>().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn a_lock_keeps_others_out_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let file = StateFile::inside(&home, home.path().join("inner/one.json"), &MEMORY);
        let held = file.lock(Duration::ZERO).unwrap();
        assert!(matches!(file.lock(Duration::ZERO), Err(StateError::Busy { .. })));
        drop(held);
        file.lock(Duration::ZERO).unwrap();
        file.write(b"{}").unwrap();
        assert_eq!(file.read_json::<Numbers>().unwrap(), Some(Numbers::new()));
    }
}
