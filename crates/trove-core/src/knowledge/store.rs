//! The folder of the guide: opens what lies in it, and nothing else.
//!
//! Every file is opened relative to the root, see [`beneath`]. Only regular files are read, and
//! never more than asked.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, OFlags, Stat},
    io::Errno,
};

use crate::files::beneath::{self, Links};

/// A folder of documents.
#[derive(Debug, Clone)]
pub(super) struct Store {
    root: PathBuf,
}

/// The marks by which states of a file differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Stamp {
    pub(super) size: u64,
    /// When it was last written: seconds and nanoseconds since 1970.
    pub(super) modified: (i64, i64),
    changed: (i64, i64),
    pub(super) inode: u64,
}

/// Why a file was not read.
#[derive(Debug)]
pub(super) enum OpenError {
    /// It is not there.
    Missing,
    /// It leads out of the guide.
    Outside,
    /// It is a folder, a pipe, a device.
    NotAFile,
    /// It is larger than asked for.
    TooLarge(u64),
    /// The system refused.
    System(io::Error),
}

impl Store {
    pub(super) fn new(root: &Path) -> Store {
        Store { root: root.to_owned() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The root itself; it may be a link, since the user chose it.
    pub(super) fn open_root(&self) -> Result<OwnedFd, OpenError> {
        beneath::root(&self.root).map_err(OpenError::from)
    }

    /// The first `limit` bytes of a file at most, and its state.
    pub(super) fn read_head(
        &self,
        root: &OwnedFd,
        path: &str,
        limit: usize,
    ) -> Result<(Vec<u8>, Stamp), OpenError> {
        let (file, stamp) = open_file(root, path)?;
        let mut bytes = Vec::with_capacity(limit.min(usize::try_from(stamp.size).unwrap_or(limit)));
        file.take(limit as u64).read_to_end(&mut bytes)?;
        Ok((bytes, stamp))
    }

    /// A whole file of at most `limit` bytes, and its state.
    pub(super) fn read(&self, path: &str, limit: u64) -> Result<(Vec<u8>, Stamp), OpenError> {
        self.read_below(&self.open_root()?, path, limit)
    }

    /// As [`Store::read`], for a caller that reads many.
    pub(super) fn read_below(
        &self,
        root: &OwnedFd,
        path: &str,
        limit: u64,
    ) -> Result<(Vec<u8>, Stamp), OpenError> {
        let (file, stamp) = open_file(root, path)?;
        if stamp.size > limit {
            return Err(OpenError::TooLarge(stamp.size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or_default());
        // One more than allowed shows that it grew meanwhile.
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(OpenError::TooLarge(bytes.len() as u64));
        }
        Ok((bytes, stamp))
    }
}

/// A regular file below the root. A pipe or device is opened without waiting and refused.
fn open_file(root: &OwnedFd, path: &str) -> Result<(File, Stamp), OpenError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = open_beneath(root, path, flags)?;
    let stat = rustix::fs::fstat(&fd).map_err(OpenError::from)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(OpenError::NotAFile);
    }
    Ok((File::from(fd), Stamp::of(&stat)))
}

/// Opens what lies below `root` at `path`, which must be relative.
pub(super) fn open_beneath(
    root: &OwnedFd,
    path: &str,
    flags: OFlags,
) -> Result<OwnedFd, OpenError> {
    if path != "." {
        super::name::safe(path).map_err(|_| OpenError::Outside)?;
    }
    beneath::open(root, Path::new(path), flags, Links::Inside).map_err(OpenError::from)
}

/// The state of what lies in a folder under `name`, links not followed.
pub(super) fn stat(folder: &OwnedFd, name: &std::ffi::CStr) -> Result<Stat, OpenError> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(OpenError::from)
}

impl Stamp {
    #[expect(clippy::unnecessary_cast, reason = "the fields have other types on other machines")]
    pub(super) fn of(stat: &Stat) -> Stamp {
        Stamp {
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: stat.st_ino as u64,
        }
    }
}

impl From<Errno> for OpenError {
    fn from(errno: Errno) -> OpenError {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => OpenError::Missing,
            // XDEV: the guarded lookup would have left; LOOP: a link where none is followed.
            Errno::XDEV | Errno::LOOP => OpenError::Outside,
            Errno::NXIO | Errno::ISDIR => OpenError::NotAFile,
            other => OpenError::System(other.into()),
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::System(error)
    }
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OpenError::Missing => f.write_str("it is gone"),
            OpenError::Outside => f.write_str("it leads out of the guide"),
            OpenError::NotAFile => f.write_str("it is no regular file"),
            OpenError::TooLarge(size) => write!(f, "it is {size} bytes long"),
            OpenError::System(error) => write!(f, "{error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode};

    use super::*;

    fn guide() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("guide");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/a.md"), "inside").unwrap();
        std::fs::write(dir.path().join("secret"), "outside").unwrap();
        let store = Store::new(&root);
        (dir, store)
    }

    /// What both ways of opening give.
    fn both(store: &Store, path: &str) -> [Result<OwnedFd, OpenError>; 2] {
        let root = store.open_root().unwrap();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let by_parts = beneath::open_by_parts(&root, Path::new(path), flags);
        [open_beneath(&root, path, flags), by_parts.map_err(OpenError::from)]
    }

    #[test]
    fn what_lies_inside_is_opened_either_way() {
        let (_dir, store) = guide();
        assert!(both(&store, "sub/a.md").iter().all(Result::is_ok));
        assert_eq!(store.read("sub/a.md", 100).unwrap().0, b"inside");
    }

    #[test]
    fn t23_links_that_lead_out_are_not_followed() {
        let (dir, store) = guide();
        let root = store.root().to_owned();
        symlink(dir.path().join("secret"), root.join("absolute")).unwrap();
        symlink("../secret", root.join("relative")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        for path in ["absolute", "relative", "up/secret", "magic/etc/passwd"] {
            for opened in both(&store, path) {
                assert!(opened.is_err(), "{path}");
            }
        }
        for path in ["../secret", "sub/../../secret", "/etc/passwd", "", "sub/./a.md", "a\0"] {
            assert!(store.read(path, 100).is_err(), "{path}");
        }
    }

    #[test]
    fn a_link_that_stays_inside_is_followed() {
        let (_dir, store) = guide();
        symlink("sub/a.md", store.root().join("alias.md")).unwrap();
        let root = store.open_root().unwrap();
        assert!(open_beneath(&root, "alias.md", OFlags::RDONLY).is_ok());
    }

    #[test]
    fn t23_pipes_devices_and_folders_are_refused_at_once() {
        let (_dir, store) = guide();
        let fifo = store.root().join("pipe.md");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in ["pipe.md", "sub"] {
            assert!(matches!(store.read(path, 100), Err(OpenError::NotAFile)), "{path}");
        }
        // Few may make a device, but every system has some.
        let devices = Store::new(std::path::Path::new("/dev"));
        for path in ["null", "zero", "random"] {
            assert!(matches!(devices.read(path, 100), Err(OpenError::NotAFile)), "{path}");
        }
    }

    #[test]
    fn t23_a_file_larger_than_asked_for_is_not_read() {
        let (_dir, store) = guide();
        let sparse = File::create(store.root().join("huge.md")).unwrap();
        sparse.set_len(5 << 30).unwrap();
        assert!(
            matches!(store.read("huge.md", 1000), Err(OpenError::TooLarge(size)) if size == 5 << 30)
        );
        let root = store.open_root().unwrap();
        assert_eq!(store.read_head(&root, "huge.md", 100).unwrap().0.len(), 100);
    }

    /// Somebody swaps a folder for a link that leads out, again and again.
    #[test]
    fn t23_no_race_leads_out() {
        let (dir, store) = guide();
        let root = store.root().to_owned();
        let out = dir.path().join("out");
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join("a.md"), "outside").unwrap();
        symlink(&out, root.join("link")).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let _ = rustix::fs::renameat_with(
                        CWD,
                        root.join("sub"),
                        CWD,
                        root.join("link"),
                        flags,
                    );
                }
            });
            let handle = store.open_root().unwrap();
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let mut seen = 0;
            for _ in 0..100_000 {
                if let Ok((bytes, _)) = store.read("sub/a.md", 100) {
                    assert_eq!(bytes, b"inside");
                    seen += 1;
                }
                // The way of kernels without `openat2`.
                if let Ok(file) = beneath::open_by_parts(&handle, Path::new("sub/a.md"), flags) {
                    let mut text = String::new();
                    File::from(file).read_to_string(&mut text).unwrap();
                    assert_eq!(text, "inside");
                }
            }
            assert!(seen > 0, "there was no race");
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
