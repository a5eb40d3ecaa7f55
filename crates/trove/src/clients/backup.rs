//! Replaces a file whole, so that no reader sees half of it and no text is lost.
//!
//! The new text is written beside the old, made durable and moved into its place. The
//! old text stays beside it under a name with the time. A link is followed, permissions
//! and owner are kept, and a file that changed since it was read is left alone.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use trove_core::files::{self, Draft, Readers};

use super::error::ClientError;

/// The most a client's file may hold. Claude Code keeps whole histories in its own.
const MAX_FILE: u64 = 64 << 20;
/// How many backups of one file are kept; the oldest make room.
const MAX_BACKUPS: usize = 10;

/// A file as it was when we looked.
#[derive(Debug, Clone)]
pub(crate) struct Original {
    /// The file itself, links followed.
    pub(crate) path: PathBuf,
    /// Its bytes; `None`: it was not there.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Original {
    /// Reads the file, or sees that there is none.
    pub(crate) fn read(path: &Path) -> Result<Original, ClientError> {
        let path = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Original { path: path.to_owned(), bytes: None });
            }
            Err(source) => return Err(unreadable(path, source)),
            Ok(_) => path.canonicalize().map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => ClientError::DeadLink { path: path.to_owned() },
                _ => unreadable(path, error),
            })?,
        };
        let metadata = path.metadata().map_err(|source| unreadable(&path, source))?;
        if !metadata.is_file() {
            return Err(ClientError::NotAFile { path });
        }
        if metadata.len() > MAX_FILE {
            return Err(ClientError::TooLarge { size: metadata.len(), limit: MAX_FILE, path });
        }
        let bytes = files::read(&path, MAX_FILE).map_err(|source| unreadable(&path, source))?;
        Ok(Original { path, bytes: Some(bytes) })
    }

    /// Whether the file still is as it was read.
    fn is_unchanged(&self) -> bool {
        match files::read(&self.path, MAX_FILE) {
            Ok(bytes) => Some(&bytes) == self.bytes.as_ref(),
            Err(error) => error.kind() == io::ErrorKind::NotFound && self.bytes.is_none(),
        }
    }
}

/// Puts new bytes in the place of the original, or removes it, and gives the backup's name.
pub(crate) fn replace(
    original: &Original,
    fresh: Option<&[u8]>,
    now: SystemTime,
) -> Result<Option<PathBuf>, ClientError> {
    let path = &original.path;
    let unwritable = |source| ClientError::Unwritable { path: path.clone(), source };
    let folder = path.parent().unwrap_or(Path::new("/"));
    files::make_folder(folder).map_err(unwritable)?;
    // A user whom permissions do not bind, such as root, is still bound by the wish.
    for place in [folder, path] {
        if place.metadata().is_ok_and(|metadata| metadata.permissions().readonly()) {
            return Err(ClientError::ReadOnly { path: place.to_owned() });
        }
    }
    let draft = match fresh {
        Some(fresh) => Some(write_draft(fresh, original).map_err(unwritable)?),
        None => None,
    };
    // Asked as late as can be: clients rewrite their files at any time.
    if !original.is_unchanged() {
        return Err(ClientError::ChangedMeanwhile { path: path.clone() });
    }
    let backup = keep_backup(original, now).map_err(unwritable)?;
    let moved = match draft {
        Some(draft) => draft.finish(),
        None => fs::remove_file(path),
    };
    moved.map_err(unwritable)?;
    Ok(backup)
}

fn write_draft(bytes: &[u8], original: &Original) -> io::Result<Draft> {
    let mut draft = Draft::new(&original.path, Readers::Owner)?;
    if original.bytes.is_some() {
        draft.wear(&original.path)?;
    }
    draft.write_all(bytes)?;
    draft.finish_unmoved()?;
    Ok(draft)
}

/// Keeps what the file held, beside it, for its readers alone.
fn keep_backup(original: &Original, now: SystemTime) -> io::Result<Option<PathBuf>> {
    let Some(bytes) = &original.bytes else { return Ok(None) };
    let name = original.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stamp = stamp(now);
    for attempt in 0..100 {
        let suffix = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        // The ending keeps clients that read whole folders away.
        let backup = original.path.with_file_name(format!("{name}.trove-{stamp}{suffix}.bak"));
        let file = match files::new(&backup) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            file => file,
        };
        let written = file.and_then(|mut file| {
            files::wear(&file, &original.path)?;
            file.write_all(bytes)?;
            file.sync_all()
        });
        if let Err(error) = written {
            let _ = fs::remove_file(&backup);
            return Err(error);
        }
        forget_oldest(&original.path, &name);
        return Ok(Some(backup));
    }
    Err(io::Error::other("a hundred backups within one second"))
}

fn forget_oldest(path: &Path, name: &str) {
    let start = format!("{name}.trove-");
    let Some(Ok(entries)) = path.parent().map(fs::read_dir) else { return };
    let is_backup = |file: &PathBuf| {
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        file.starts_with(&start) && file.ends_with(".bak")
    };
    let mut backups: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_backup).collect();
    // The time is written so that sorting by name sorts by time.
    backups.sort();
    for old in backups.iter().rev().skip(MAX_BACKUPS) {
        let _ = fs::remove_file(old);
    }
}

/// `20261115T060203Z`
fn stamp(now: SystemTime) -> String {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, rest) = (since / 86_400, since % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// The day in the calendar, counted from 1970; years begin in March while it counts, so
/// that the leap day comes last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

fn unreadable(path: &Path, source: io::Error) -> ClientError {
    ClientError::Unreadable { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use tempfile::TempDir;

    use super::*;

    const NOW: Duration = Duration::from_secs(1_794_722_523);

    fn at(more: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + NOW + Duration::from_secs(more)
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    fn file(text: &str, mode: u32) -> (TempDir, PathBuf) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().canonicalize().unwrap().join("mcp.json");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    fn names(folder: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn times_are_written_so_that_they_sort() {
        assert_eq!(stamp(at(0)), "20261115T060203Z");
        assert_eq!(stamp(SystemTime::UNIX_EPOCH), "19700101T000000Z");
        let leap = SystemTime::UNIX_EPOCH + Duration::from_secs(951_782_400);
        assert_eq!(stamp(leap), "20000229T000000Z");
    }

    #[test]
    fn t34_a_file_is_replaced_whole_and_its_past_kept() {
        for wanted in [0o600, 0o640, 0o644] {
            let (folder, path) = file("old", wanted);
            let original = Original::read(&path).unwrap();
            let backup = replace(&original, Some(b"new"), at(0)).unwrap().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert_eq!(fs::read(&backup).unwrap(), b"old");
            assert_eq!((mode(&path), mode(&backup)), (wanted, wanted));
            assert_eq!(names(&folder), ["mcp.json", "mcp.json.trove-20261115T060203Z.bak"]);
        }
    }

    #[test]
    fn a_new_file_is_for_its_owner_alone() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a/b/mcp.json");
        let original = Original::read(&path).unwrap();
        assert_eq!(replace(&original, Some(b"new"), at(0)).unwrap(), None);
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn t34_a_file_that_changed_since_is_left_alone() {
        let (folder, path) = file("old", 0o644);
        let original = Original::read(&path).unwrap();
        fs::write(&path, "changed by its client").unwrap();
        let error = replace(&original, Some(b"new"), at(0)).unwrap_err();
        assert!(matches!(error, ClientError::ChangedMeanwhile { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"changed by its client");
        assert_eq!(names(&folder), ["mcp.json"]);

        let absent = Original::read(&folder.path().join("other.json")).unwrap();
        fs::write(folder.path().join("other.json"), "made by its client").unwrap();
        assert!(replace(&absent, Some(b"new"), at(0)).is_err());
    }

    #[test]
    fn what_is_read_only_stays_as_it_is() {
        let (folder, path) = file("old", 0o444);
        let error = replace(&Original::read(&path).unwrap(), Some(b"new"), at(0)).unwrap_err();
        assert!(matches!(error, ClientError::ReadOnly { .. }), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let error = replace(&Original::read(&path).unwrap(), Some(b"new"), at(0)).unwrap_err();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(error, ClientError::ReadOnly { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(&folder), ["mcp.json"]);
    }

    #[test]
    fn t34_a_link_stays_a_link() {
        let (folder, path) = file("old", 0o600);
        let link = folder.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let original = Original::read(&link).unwrap();
        replace(&original, Some(b"new"), at(0)).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        fs::remove_file(&path).unwrap();
        assert!(matches!(Original::read(&link).unwrap_err(), ClientError::DeadLink { .. }));
    }

    #[test]
    fn backups_do_not_pile_up() {
        let (folder, path) = file("0", 0o600);
        for round in 0..15 {
            let original = Original::read(&path).unwrap();
            let text = format!("{}", round + 1);
            // Twice within the same second.
            replace(&original, Some(text.as_bytes()), at(round / 2)).unwrap();
        }
        assert_eq!(names(&folder).len(), 1 + MAX_BACKUPS);
    }
}
