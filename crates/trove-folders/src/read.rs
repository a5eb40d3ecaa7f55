//! Reads one file whole: as it was at one moment, or not at all.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::AsFd,
    path::Path,
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{FileType, OFlags, Stat},
    io::Errno,
};
use trove_core::files::beneath::{self, Links};

/// How long a file must have rested: clocks of file systems are coarse, and two writes within one
/// tick look like one.
const REST: Duration = Duration::from_millis(20);
/// How often a file that changes while it is read is read again.
const MAX_TRIES: usize = 5;

/// Tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    /// When it was last written: seconds and nanoseconds since 1970.
    pub(crate) modified: (i64, i64),
    changed: (i64, i64),
    pub(crate) inode: u64,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// It is not there, or leads out of the folder.
    #[error("it is not there")]
    Missing,
    /// It is a folder, a pipe, a device.
    #[error("it is no regular file")]
    NotAFile,
    /// It is larger than asked for.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The most that is read.
        limit: u64,
    },
    /// It changed each time it was read.
    #[error("it changed while it was read, {MAX_TRIES} times in a row; read it again")]
    Restless,
    /// The system refused.
    #[error("{0}")]
    System(io::Error),
}

impl Stamp {
    #[expect(clippy::unnecessary_cast, reason = "the fields have other types on other machines")]
    pub(crate) fn of(stat: &Stat) -> Stamp {
        Stamp {
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: stat.st_ino as u64,
        }
    }

    /// How long ago it was written; `None` if its clock is ahead of ours.
    fn rested(&self) -> Option<Duration> {
        let (seconds, nanos) = self.modified;
        let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + since).ok()
    }
}

/// A whole regular file of at most `limit` bytes below `root`, and its state. No link is followed.
pub(crate) fn read_file(
    root: impl AsFd,
    path: &Path,
    limit: u64,
) -> Result<(Vec<u8>, Stamp), ReadError> {
    read_while(root, path, limit, || {})
}

/// Reads it while something `happens`, each time after its bytes were read.
fn read_while(
    root: impl AsFd,
    path: &Path,
    limit: u64,
    mut happens: impl FnMut(),
) -> Result<(Vec<u8>, Stamp), ReadError> {
    let root = root.as_fd();
    for _ in 0..MAX_TRIES {
        let mut file = open_file(root, path)?;
        let before = stamp_of(&file)?;
        if before.size > limit {
            return Err(ReadError::TooLarge { limit });
        }
        if let Some(rested) = before.rested().filter(|rested| *rested < REST) {
            // Callers are on threads for such work.
            std::thread::sleep(REST - rested);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.size).unwrap_or_default());
        // One byte more than allowed shows that it grew meanwhile.
        file.by_ref().take(limit + 1).read_to_end(&mut bytes).map_err(ReadError::System)?;
        if bytes.len() as u64 > limit {
            return Err(ReadError::TooLarge { limit });
        }
        happens();
        // Files of the kernel say that they have no bytes, and give some.
        let is_whole = bytes.len() as u64 == before.size || before.size == 0;
        if is_whole && stamp_of(&file)? == before {
            return Ok((bytes, before));
        }
    }
    Err(ReadError::Restless)
}

/// A pipe or device is opened without waiting, and refused.
fn open_file(root: impl AsFd, path: &Path) -> Result<File, ReadError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = beneath::open(root, path, flags, Links::Never).map_err(ReadError::from)?;
    let stat = rustix::fs::fstat(&fd).map_err(ReadError::from)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(ReadError::NotAFile);
    }
    Ok(File::from(fd))
}

fn stamp_of(file: &File) -> Result<Stamp, ReadError> {
    Ok(Stamp::of(&rustix::fs::fstat(file).map_err(ReadError::from)?))
}

impl From<Errno> for ReadError {
    fn from(errno: Errno) -> ReadError {
        match errno {
            // XDEV: the guarded lookup would have left; LOOP: a link, and none is followed.
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::XDEV | Errno::LOOP => {
                ReadError::Missing
            }
            Errno::NXIO | Errno::ISDIR => ReadError::NotAFile,
            other => ReadError::System(other.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_changes_while_it_is_read_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old old old").unwrap();
        let root = beneath::root(dir.path()).unwrap();
        let mut reads = 0;
        let read = read_while(&root, Path::new("file"), 100, || {
            reads += 1;
            if reads == 1 {
                fs::write(&path, "new new new").unwrap();
            }
        });
        assert_eq!((read.unwrap().0.as_slice(), reads), (&b"new new new"[..], 2));
    }

    #[test]
    fn a_file_that_never_rests_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "0").unwrap();
        let root = beneath::root(dir.path()).unwrap();
        let mut reads = 0;
        let read = read_while(&root, Path::new("file"), 100, || {
            reads += 1;
            fs::write(&path, reads.to_string()).unwrap();
        });
        assert!(matches!(read, Err(ReadError::Restless)));
        assert_eq!(reads, MAX_TRIES);
    }

    #[test]
    fn a_file_larger_than_asked_for_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::File::create(dir.path().join("huge")).unwrap().set_len(5 << 30).unwrap();
        let root = beneath::root(dir.path()).unwrap();
        let read = read_file(&root, Path::new("huge"), 1000);
        assert!(matches!(read, Err(ReadError::TooLarge { limit: 1000 })));
    }
}
