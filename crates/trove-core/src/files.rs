//! Opens files of the disk: regular ones, without waiting for a peer, within a size.
//!
//! A name in a folder may lead to a pipe, a device or a folder. Opening a pipe waits for its
//! writer, and a device may never end. So each file is opened with `O_NONBLOCK` and looked at
//! before a byte of it is read. A disk that does not answer still blocks the thread that asks:
//! callers on an async worker come here through the blocking pool.
//!
//! `cargo xtask tidy` refuses other ways to open a file in code that is shipped.

pub mod beneath;

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io::{self, BufWriter, Read as _, Write as _},
    os::unix::fs::{
        DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
        PermissionsExt as _,
    },
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use rustix::fs::OFlags;

/// For the owner alone.
const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_FOLDER: u32 = 0o700;

/// Opens a regular file to read it.
pub fn open(path: &Path) -> io::Result<File> {
    regular(path, OpenOptions::new().read(true))
}

/// Reads a regular file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    if length > limit {
        return Err(too_large(limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // One byte more than allowed shows that it grew meanwhile.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `limit` bytes, which must be UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = read(path, limit)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// Opens a regular file to append to it, and makes it for its owner alone if there is none.
pub fn append(path: &Path) -> io::Result<File> {
    let mut how = OpenOptions::new();
    how.read(true).append(true).create(true).mode(PRIVATE_FILE);
    regular(path, &mut how)
}

/// Opens a file that is only locked, and makes it for its owner alone if there is none.
pub fn lock_file(path: &Path) -> io::Result<File> {
    let mut how = OpenOptions::new();
    how.write(true).create(true).truncate(false).mode(PRIVATE_FILE);
    regular(path, &mut how)
}

/// Makes a file for its owner alone, where there is none yet.
pub fn new(path: &Path) -> io::Result<File> {
    // With `create_new` the system opens nothing that is there already.
    OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(path)
}

/// Makes a file with the permissions that new files have here, where there is none yet.
pub fn new_shared(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Puts a file for its owner alone in the place of another: a reader finds the old or the new.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::new(path, Readers::Owner)?;
    draft.write_all(bytes)?;
    draft.finish()
}

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone.
    Owner,
    /// The readers that new files have here.
    Usual,
}

/// How often a draft of another writer is waited for, and how long each time: 5 s in all.
const MAX_DRAFT_LOOKS: u32 = 1000;
const DRAFT_LOOK: Duration = Duration::from_millis(5);

/// A file that is written beside its place and moved there when it is whole.
///
/// One process at a time writes a draft: it holds a lock until the file is moved. A draft that
/// a crash left behind is locked by no process, and the next writer removes it. A draft that is
/// dropped before its end goes away.
#[derive(Debug)]
pub struct Draft {
    file: BufWriter<File>,
    path: PathBuf,
    target: PathBuf,
}

impl Draft {
    /// Begins a file that is to take the place of `target`, e.g. `.trove.toml.trove-draft`.
    pub fn new(target: &Path, readers: Readers) -> io::Result<Draft> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        // A hidden name, so that clients that read whole folders pass it over.
        let path = target.with_file_name(format!(".{name}.trove-draft"));
        for _ in 0..MAX_DRAFT_LOOKS {
            if let Some(file) = begin_draft(&path, readers)? {
                let file = BufWriter::new(file);
                return Ok(Draft { file, path, target: target.to_owned() });
            }
            std::thread::sleep(DRAFT_LOOK);
        }
        let message = format!("another process is writing {}; try again", target.display());
        Err(io::Error::new(io::ErrorKind::WouldBlock, message))
    }

    /// Gives it the owner and the permissions of another file, never more than those.
    pub fn wear(&self, of: &Path) -> io::Result<()> {
        wear(self.file.get_ref(), of)
    }

    pub fn set_permissions(&self, permissions: fs::Permissions) -> io::Result<()> {
        self.file.get_ref().set_permissions(permissions)
    }

    /// Makes it durable and puts it into its place.
    pub fn finish(mut self) -> io::Result<()> {
        self.finish_unmoved()?;
        fs::rename(&self.path, &self.target)?;
        // A folder that its owner may not list cannot be synced; the file is in its place.
        match open_folder(self.target.parent().unwrap_or(&self.target)) {
            Ok(folder) => folder.sync_all(),
            Err(_) => Ok(()),
        }
    }

    /// Makes it durable, before a last look at the file it replaces.
    pub fn finish_unmoved(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}

impl io::Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After the move the name is free, and another process may have taken it.
        if is_at(self.file.get_ref(), &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A new draft, locked; `None` if another process has one under that name.
fn begin_draft(path: &Path, readers: Readers) -> io::Result<Option<File>> {
    let made = match readers {
        Readers::Owner => new(path),
        Readers::Usual => new_shared(path),
    };
    let file = match made {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            remove_abandoned(path)?;
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // A file system that knows no locks refuses with another error; then there is none.
    let is_held = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    if is_held || !is_at(&file, path) {
        return Ok(None);
    }
    Ok(Some(file))
}

/// Removes a draft that no process writes. A pipe or a device of that name is never opened.
fn remove_abandoned(path: &Path) -> io::Result<()> {
    let Ok(file) = open(path) else { return remove(path) };
    let is_held = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    if is_held || !is_at(&file, path) {
        return Ok(());
    }
    remove(path)
}

/// Whether an open file is still the one of that name.
pub fn is_at(file: &File, path: &Path) -> bool {
    let open = file.metadata().map(|metadata| identity_of(&metadata));
    matches!((open, identity(path)), (Ok(open), Ok(named)) if open == named)
}

/// Gives an open file the owner and the permissions of another, never more than those.
pub fn wear(file: &File, of: &Path) -> io::Result<()> {
    let (own, wanted) = (file.metadata()?, fs::metadata(of)?);
    if (own.uid(), own.gid()) != (wanted.uid(), wanted.gid()) {
        std::os::unix::fs::fchown(file, Some(wanted.uid()), Some(wanted.gid()))?;
    }
    file.set_permissions(fs::Permissions::from_mode(wanted.mode() & 0o777))
}

/// Opens a folder, to lock or to sync it: a move in it survives the machine once it is synced.
pub fn open_folder(folder: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(bits(flags)).open(folder)
}

/// Refuses what is there and is no regular file; for files that a library opens by itself.
pub fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) => refuse_others(&metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn regular(path: &Path, how: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = how.custom_flags(bits(flags)).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) => {
            // A socket, a folder and a pipe without a reader are refused in words of the system
            // that help no user.
            check(path)?;
            return Err(error);
        }
    };
    refuse_others(&file.metadata()?)?;
    Ok(file)
}

fn bits(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

fn refuse_others(metadata: &Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    let message = format!("it is {what}, and only regular files are opened");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

fn too_large(limit: u64) -> io::Error {
    let message = format!("the file is too large; it may hold {limit} bytes");
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

/// A folder that is made once, such as the state folder.
///
/// If it goes away later, what is written there would be half of what it held, and lost when the
/// disk comes back. So it is not made again, and writers are refused.
#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
    known: Arc<OnceLock<Identity>>,
}

/// The identity of a file or folder under any name: its disk and its number there.
pub type Identity = (u64, u64);

impl Home {
    /// The folder of that name. If it is there, it is this one from now on.
    pub fn at(path: impl Into<PathBuf>) -> Home {
        let home = Home { path: path.into(), known: Arc::default() };
        let _ = home.remember();
        home
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it at the first call; later it must still be the same folder.
    pub fn ready(&self) -> io::Result<()> {
        if self.known.get().is_none() {
            make_folder(&self.path)?;
            return self.remember();
        }
        self.check()
    }

    /// The folder `inner` of it, made if need be.
    pub fn ready_inner(&self, inner: &Path) -> io::Result<()> {
        self.ready()?;
        make_folder(inner)
    }

    /// Whether it is still there; one that was never made counts as there.
    pub fn check(&self) -> io::Result<()> {
        let Some(known) = self.known.get() else { return Ok(()) };
        match fs::metadata(&self.path) {
            Ok(metadata) if identity_of(&metadata) == *known => Ok(()),
            Ok(_) => Err(self.is_gone("is another one")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(self.is_gone("is not there any more"))
            }
            Err(error) => Err(error),
        }
    }

    fn remember(&self) -> io::Result<()> {
        let metadata = fs::metadata(&self.path)?;
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        self.known.get_or_init(|| identity_of(&metadata));
        Ok(())
    }

    fn is_gone(&self, how: &str) -> io::Error {
        let path = self.path.display();
        let message = format!(
            "the folder {path} {how}, so nothing is written; put it back, or restart Trove to begin a new one"
        );
        io::Error::new(io::ErrorKind::NotFound, message)
    }
}

/// Which file or folder a name leads to now.
pub fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|metadata| identity_of(&metadata))
}

fn identity_of(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

/// Makes a folder, and those above it, for their owner alone; one that is there stays as it is.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(folder)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn pipe(folder: &Path) -> PathBuf {
        let path = folder.join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        path
    }

    #[test]
    fn t55_what_is_no_regular_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let link = dir.path().join("link");
        let pipe = pipe(dir.path());
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for (path, what) in [
            (dir.path(), "a folder"),
            (&*pipe, "a pipe"),
            (&*link, "a pipe"),
            (&*socket, "a socket"),
            (Path::new("/dev/zero"), "a device"),
            (Path::new("/dev/tty"), "a device"),
        ] {
            for error in [
                read(path, 100).unwrap_err(),
                open(path).unwrap_err(),
                append(path).unwrap_err(),
                lock_file(path).unwrap_err(),
                check(path).unwrap_err(),
            ] {
                assert!(error.to_string().contains(what), "{}: {error}", path.display());
            }
        }
    }

    #[test]
    fn t55_a_draft_replaces_a_pipe_of_its_name_without_opening_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file.json");
        fs::rename(pipe(dir.path()), dir.path().join(".file.json.trove-draft")).unwrap();
        replace(&file, b"new").unwrap();
        assert_eq!(read_text(&file, 3).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, PRIVATE_FILE);
    }

    #[test]
    fn a_draft_waits_for_another_and_one_that_was_left_behind_goes() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file.json");
        fs::write(dir.path().join(".file.json.trove-draft"), "a crash left this").unwrap();
        let mut first = Draft::new(&file, Readers::Owner).unwrap();
        first.write_all(b"first").unwrap();
        std::thread::scope(|threads| {
            let second = threads.spawn(|| replace(&file, b"second"));
            assert!(!file.exists(), "no reader sees a part");
            first.finish().unwrap();
            second.join().unwrap().unwrap();
        });
        assert_eq!(read_text(&file, 9).unwrap(), "second");
        drop(Draft::new(&file, Readers::Owner).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft stays");
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        // A file of the kernel says that it has no bytes, and gives some.
        let kernel = Path::new("/proc/self/stat");
        assert_eq!(read(kernel, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(!read(kernel, 1 << 16).unwrap().is_empty());
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path, 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn t58_a_folder_that_went_away_is_not_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/home");
        let home = Home::at(&path);
        home.check().unwrap();
        home.ready_inner(&path.join("inner")).unwrap();
        assert!(path.join("inner").is_dir(), "the first call makes it");
        let kept = dir.path().join("kept");
        fs::rename(&path, &kept).unwrap();
        let error = home.ready_inner(&path.join("inner")).unwrap_err().to_string();
        assert!(error.contains("put it back"), "{error}");
        assert!(!path.exists());
        fs::create_dir(&path).unwrap();
        assert!(home.ready().unwrap_err().to_string().contains("another one"));
        fs::remove_dir(&path).unwrap();
        fs::rename(&kept, &path).unwrap();
        home.ready().unwrap();
    }
}
