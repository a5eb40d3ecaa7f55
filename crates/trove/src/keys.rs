//! The keys that seal what clients carry: those of the configuration, else one of our making.
//!
//! Our own lie in the state folder, for their owner alone, one a line. The first seals, so another
//! line on top of it rotates them, as a new first entry of `ring` does.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tracing::warn;
use trove_core::{
    files::Home,
    state_file::{Damaged, Form, StateError, StateFile},
};
use trove_mcp::{
    seal::{BadRing, MIN_KEY_LETTERS, Ring, new_key},
    upstream::{ExpandError, Scope, Text},
};

use crate::token;

static FORM: Form = Form { max_bytes: 64 << 10, version: 1, damaged: Damaged::MovedAside };

/// The name of the file in the state folder.
pub(crate) const FILE: &str = "keys";

/// How long another Trove that starts at the same time may take to make the file.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why the configured keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadKeys {
    /// A variable of a key has no value.
    #[error("key {place} of `ring` in [keys]: {error}; {}", error.hint())]
    Unknown {
        /// Its place, from 1.
        place: usize,
        /// The variable, and why.
        error: ExpandError,
    },
    /// The values are no ring.
    #[error("`ring` in [keys]: {0}")]
    Bad(#[from] BadRing),
}

/// Where our own keys lie.
pub(crate) fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

/// The keys to put in force; `None` if our own cannot be had now, so that those in force stay.
pub(crate) fn load(
    written: &[Text],
    scope: &dyn Scope,
    home: &Home,
) -> Result<Option<Ring>, BadKeys> {
    if written.is_empty() {
        return Ok(own(home));
    }
    Ok(Some(Ring::new(&expand(written, scope)?)?))
}

/// The configured keys with their variables replaced.
pub(crate) fn expand(written: &[Text], scope: &dyn Scope) -> Result<Vec<String>, BadKeys> {
    let mut keys = Vec::new();
    for (at, key) in written.iter().enumerate() {
        let key = key.expand(scope).map_err(|error| BadKeys::Unknown { place: at + 1, error })?;
        // A file that was made by hand ends with a blank more often than a key does.
        keys.push(key.trim().to_owned());
    }
    Ok(keys)
}

/// The weakness of a key that somebody else made.
pub(crate) fn weakness(key: &str) -> Option<&'static str> {
    token::weakness_within(key, MIN_KEY_LETTERS)
}

/// Our own keys, made if there are none. Without a place for them sessions end with this run.
fn own(home: &Home) -> Option<Ring> {
    match load_or_make(home) {
        Ok(ring) => Some(ring),
        Err(error) => {
            warn!(%error, "sessions, cursors and unfinished requests will end with this run");
            None
        }
    }
}

fn load_or_make(home: &Home) -> Result<Ring, StateError> {
    let file = StateFile::inside(home, path(home.path()), &FORM);
    if let Some(ring) = file.read(parse)? {
        return Ok(ring);
    }
    // Two that start at once must have the same key.
    let _lock = file.lock(PATIENCE)?;
    if let Some(ring) = file.read(parse)? {
        return Ok(ring);
    }
    let key = new_key();
    file.write(format!("{key}\n").as_bytes())?;
    Ok(Ring::new(&[key]).expect("our own key is long enough"))
}

fn parse(bytes: Vec<u8>) -> Result<Ring, String> {
    let text = String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())?;
    let keys: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Ring::new(&keys).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use trove_mcp::upstream::Dialect;

    use super::*;
    use crate::config::{HostScope, ProcessEnv};

    fn told(written: &[&str], folder: &Path) -> Option<String> {
        let texts = written.iter().map(|key| Text::new(*key, Dialect::Trove).relative_to(folder));
        let texts: Vec<Text> = texts.collect();
        let scope = HostScope::new(ProcessEnv, folder.to_owned());
        load(&texts, &scope, &Home::at(folder.join("home"))).err().map(|error| error.to_string())
    }

    #[test]
    fn configured_keys_that_cannot_be_used_say_which_and_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("good"), format!("{}\n", new_key())).unwrap();
        fs::write(dir.path().join("short"), "hunter2\n").unwrap();
        assert_eq!(told(&["${file:good}"], dir.path()), None);
        assert!(!dir.path().join("home").exists(), "no key of our own is made beside them");
        for (written, parts) in [
            ("${file:short}", ["key 2 of the ring has 7 letters", "openssl rand -hex 32"]),
            ("${file:none}", ["key 2 of `ring` in [keys]", "none cannot be read"]),
            ("${env:TROVE_NO_SUCH_KEY}", ["key 2 of `ring` in [keys]", "is not set"]),
            ("${file:good}", ["keys 1 and 2", "the same"]),
        ] {
            let told = told(&["${file:good}", written], dir.path()).expect("a fault");
            assert!(parts.iter().all(|part| told.contains(part)), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }

    #[test]
    fn our_own_key_is_made_once_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        load_or_make(&Home::at(dir.path())).unwrap();
        let made = fs::read_to_string(path(dir.path())).unwrap();
        load_or_make(&Home::at(dir.path())).unwrap();
        assert_eq!(fs::read_to_string(path(dir.path())).unwrap(), made);
        let mode = fs::metadata(path(dir.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(weakness(made.trim()), None);
    }

    #[test]
    fn a_damaged_file_of_our_own_is_kept_aside_and_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        for damaged in ["", "short\n", "\u{0}"] {
            fs::write(path(dir.path()), damaged).unwrap();
            load_or_make(&Home::at(dir.path())).unwrap();
            let aside = fs::read_to_string(dir.path().join("keys.damaged")).unwrap();
            assert_eq!(aside, damaged);
            assert!(fs::read_to_string(path(dir.path())).unwrap().len() > MIN_KEY_LETTERS);
        }
    }

    #[test]
    fn a_state_folder_that_cannot_be_written_to_ends_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "no folder").unwrap();
        assert!(own(&Home::at(&file)).is_none(), "the keys in force stay");
    }
}
