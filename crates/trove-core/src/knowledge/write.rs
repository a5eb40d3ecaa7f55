//! Writes documents: whole, or not at all.
//!
//! A file is written beside its place under a hidden name, made durable, and then moved there. So a
//! reader sees the old or the new, and a crash leaves no half. A file that is replaced is kept
//! first, in a hidden folder below the root.

use std::{io::Write as _, os::fd::OwnedFd};

use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};

use super::store::{OpenError, Store, open_beneath};

/// How many drafts that a crash left behind are stepped over.
const MAX_DRAFTS: usize = 1000;

/// The folder that keeps files that were replaced: hidden, so that nothing in it is served.
const KEPT: &str = ".replaced";
/// How many versions of one file are kept.
const MAX_KEPT: usize = 10;
const READING: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const WRITING: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);

/// Whether there must be a file already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// There must be none.
    New,
    /// There must be one.
    Taken,
}

/// Why nothing was written.
#[derive(Debug)]
pub(super) enum WriteError {
    Exists,
    Missing,
    System(String),
}

impl Store {
    /// Writes a file; folders on the way are made. Gives where the file before it is kept.
    pub(super) fn write(
        &self,
        path: &str,
        bytes: &[u8],
        place: Place,
    ) -> Result<Option<String>, WriteError> {
        std::fs::create_dir_all(self.root())?;
        let root = self.open_root()?;
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let made = make_folders(&root, folder);
        let folder = if place == Place::New { made.map_err(in_the_way)? } else { made? };
        let is_there = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        match (place, is_there) {
            (Place::New, true) => return Err(WriteError::Exists),
            (Place::Taken, false) => return Err(WriteError::Missing),
            _ => {}
        }
        let (draft, mut file) = draft(&folder)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let done = written.map_err(WriteError::from);
        let kept = match (done, place) {
            (Ok(()), Place::Taken) => keep(&root, path, (&folder, name)).map(Some),
            (Ok(()), Place::New) => Ok(None),
            (Err(error), _) => Err(error),
        };
        let done = kept.and_then(|kept| put(&folder, &draft, name, place).map(|()| kept));
        if done.is_err() {
            let _ = rustix::fs::unlinkat(&folder, draft.as_str(), AtFlags::empty());
        }
        let kept = done?;
        sync(&folder)?;
        Ok(kept)
    }

    /// Removes a file.
    pub(super) fn remove(&self, path: &str) -> Result<(), WriteError> {
        let root = self.open_root()?;
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        let folder = open_beneath(&root, folder, OFlags::PATH | OFlags::DIRECTORY)?;
        rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
        sync(&folder)
    }

    /// Makes a folder and those above it.
    pub(super) fn make_folder(&self, path: &str) -> Result<(), WriteError> {
        std::fs::create_dir_all(self.root())?;
        let path = if path == "." { "" } else { path.trim_end_matches('/') };
        make_folders(&self.open_root()?, path).map(drop)
    }
}

/// The folder at `path`, each part opened below the root, so that no link leads out.
fn make_folders(root: &OwnedFd, path: &str) -> Result<OwnedFd, WriteError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut here = open_beneath(root, ".", flags)?;
    let mut so_far = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        match rustix::fs::mkdirat(&here, part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        so_far = if so_far.is_empty() { part.to_owned() } else { format!("{so_far}/{part}") };
        here = open_beneath(root, &so_far, flags)?;
    }
    Ok(here)
}

/// A new file under a name that is hidden, so that it is never served.
fn draft(folder: &OwnedFd) -> Result<(String, std::fs::File), WriteError> {
    for number in 0..MAX_DRAFTS {
        let name = format!(".trove-draft-{}-{number}", std::process::id());
        match rustix::fs::openat(folder, name.as_str(), WRITING, Mode::from_raw_mode(0o644)) {
            Ok(fd) => return Ok((name, std::fs::File::from(fd))),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(WriteError::System("too many unfinished drafts lie there; remove `.trove-draft-*`".into()))
}

/// The error of folders that cannot be made: they are missing because a file has their name.
fn in_the_way(error: WriteError) -> WriteError {
    match error {
        WriteError::Missing | WriteError::Exists => WriteError::System(
            "a file or a link lies where its folder is to be; move it away".into(),
        ),
        WriteError::System(why) => WriteError::System(why),
    }
}

/// Keeps the file that is about to be replaced, and gives its place from the root.
fn keep(root: &OwnedFd, path: &str, file: (&OwnedFd, &str)) -> Result<String, WriteError> {
    let shelf_path = format!("{KEPT}/{path}");
    let shelf = make_folders(root, &shelf_path)?;
    let mut kept = kept_in(&shelf)?;
    let number = kept.last().map_or(1, |last| last + 1);
    let (folder, name) = file;
    let place = kept_name(number);
    link_or_copy(folder, name, &shelf, &place)?;
    sync(&shelf)?;
    kept.push(number);
    let surplus = kept.len().saturating_sub(MAX_KEPT);
    for oldest in kept.iter().take(surplus) {
        rustix::fs::unlinkat(&shelf, kept_name(*oldest), AtFlags::empty())?;
    }
    Ok(format!("{shelf_path}/{place}"))
}

fn kept_name(number: u64) -> String {
    format!("{number:06}")
}

/// The numbers of the files that are kept, the oldest first.
fn kept_in(shelf: &OwnedFd) -> Result<Vec<u64>, WriteError> {
    let fd = open_beneath(shelf, ".", OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut numbers = Vec::new();
    for entry in rustix::fs::Dir::read_from(&fd)? {
        let entry = entry?;
        numbers.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// A second name for a file; where the file system has none, a copy.
fn link_or_copy(
    folder: &OwnedFd,
    name: &str,
    shelf: &OwnedFd,
    place: &str,
) -> Result<(), WriteError> {
    let linked = rustix::fs::linkat(folder, name, shelf, place, AtFlags::empty());
    if !matches!(linked, Err(Errno::PERM | Errno::OPNOTSUPP | Errno::XDEV | Errno::MLINK)) {
        return Ok(linked?);
    }
    let from = rustix::fs::openat(folder, name, READING, Mode::empty())?;
    let to = rustix::fs::openat(shelf, place, WRITING, Mode::from_raw_mode(0o644))?;
    let (mut from, mut to) = (std::fs::File::from(from), std::fs::File::from(to));
    std::io::copy(&mut from, &mut to)?;
    Ok(to.sync_all()?)
}

fn put(folder: &OwnedFd, draft: &str, name: &str, place: Place) -> Result<(), WriteError> {
    if place == Place::Taken {
        return Ok(rustix::fs::renameat(folder, draft, folder, name)?);
    }
    match rustix::fs::renameat_with(folder, draft, folder, name, RenameFlags::NOREPLACE) {
        // Not every file system can; a hard link also never replaces.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(folder, draft, folder, name, AtFlags::empty())?;
            Ok(rustix::fs::unlinkat(folder, draft, AtFlags::empty())?)
        }
        other => Ok(other?),
    }
}

/// A name is only as durable as its folder.
fn sync(folder: &OwnedFd) -> Result<(), WriteError> {
    let fd = open_beneath(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY)?;
    Ok(rustix::fs::fsync(&fd)?)
}

impl From<Errno> for WriteError {
    fn from(errno: Errno) -> WriteError {
        match errno {
            Errno::EXIST => WriteError::Exists,
            Errno::NOENT => WriteError::Missing,
            other => WriteError::System(std::io::Error::from(other).to_string()),
        }
    }
}

impl From<std::io::Error> for WriteError {
    fn from(error: std::io::Error) -> WriteError {
        WriteError::System(error.to_string())
    }
}

impl From<OpenError> for WriteError {
    fn from(error: OpenError) -> WriteError {
        match error {
            OpenError::Missing => WriteError::Missing,
            other => WriteError::System(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_new_or_replaced_as_it_was_said() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(&dir.path().join("guide"));
        store.write("a/b/c.md", b"one", Place::New).unwrap();
        assert!(matches!(store.write("a/b/c.md", b"two", Place::New), Err(WriteError::Exists)));
        let kept = store.write("a/b/c.md", b"three", Place::Taken).unwrap().unwrap();
        assert_eq!(store.read(&kept, 10).unwrap().0, b"one");
        assert!(matches!(store.write("a/x.md", b"", Place::Taken), Err(WriteError::Missing)));
        assert_eq!(store.read("a/b/c.md", 10).unwrap().0, b"three");
        store.remove("a/b/c.md").unwrap();
        assert!(matches!(store.remove("a/b/c.md"), Err(WriteError::Missing)));
        let left: Vec<_> = std::fs::read_dir(dir.path().join("guide/a/b")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn the_last_ten_files_that_were_replaced_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(&dir.path().join("guide"));
        store.write("a/c.md", b"0", Place::New).unwrap();
        let mut kept = Vec::new();
        for n in 1..=12 {
            let text = n.to_string();
            kept.extend(store.write("a/c.md", text.as_bytes(), Place::Taken).unwrap());
        }
        assert_eq!(kept.len(), 12);
        let texts = kept.iter().map(|path| store.read(path, 10).ok().map(|(text, _)| text));
        let expected = (0..12u8).map(|n| (n >= 2).then(|| n.to_string().into_bytes()));
        assert_eq!(texts.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert_eq!(store.read("a/c.md", 10).unwrap().0, b"12");
    }

    #[test]
    fn a_file_that_cannot_be_kept_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("guide");
        let store = Store::new(&root);
        store.write("a.md", b"one", Place::New).unwrap();
        std::fs::write(root.join(".replaced"), "no folder").unwrap();
        assert!(store.write("a.md", b"two", Place::Taken).is_err());
        assert_eq!(store.read("a.md", 10).unwrap().0, b"one");
    }

    #[test]
    fn nothing_is_written_through_a_link_that_leads_out() {
        let dir = tempfile::tempdir().unwrap();
        let (root, out) = (dir.path().join("guide"), dir.path().join("out"));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(&out).unwrap();
        std::fs::write(out.join("keep.md"), "outside").unwrap();
        std::os::unix::fs::symlink(&out, root.join("link")).unwrap();
        let store = Store::new(&root);
        assert!(store.write("link/new.md", b"x", Place::New).is_err());
        assert!(store.write("link/deep/new.md", b"x", Place::New).is_err());
        assert!(store.write("link/keep.md", b"x", Place::Taken).is_err());
        assert!(store.remove("link/keep.md").is_err());
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
    }
}
