//! The files of the log: appended to, rotated by size, shared with other processes.
//!
//! Several processes may write one log: each appends whole lines with one call, under a shared
//! lock. Each sees when another began a new file. A crash or a full disk may leave a part of a
//! line. It is taken off again, under an exclusive lock.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use super::AuditConfig;
use crate::files::{self, Home};

pub(super) struct Log {
    config: AuditConfig,
    /// The folder of the files.
    home: Home,
    open: Option<File>,
}

impl Log {
    pub(super) fn new(config: AuditConfig) -> Log {
        let home = Home::at(config.file.parent().unwrap_or(&config.file));
        Log { config, home, open: None }
    }

    /// Appends whole lines, to as many files as they fill. Written lines are taken out of `lines`,
    /// even if the rest could not be written.
    pub(super) fn append(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        while !lines.is_empty() {
            let file = self.current()?;
            let shared = Locked::shared(&file)?;
            let room = self.config.max_file_bytes.saturating_sub(file.metadata()?.len());
            let (done, written) = write(&file, &lines[..fitting(lines, room)]);
            // A line of which only a part was written is written again, whole.
            let end = lines[..done].iter().rposition(|&byte| byte == b'\n');
            lines.drain(..end.map_or(0, |end| end + 1));
            drop(shared);
            if written.is_err() {
                // The first failure tells more than one that follows from it.
                let _ = mend(&file);
            }
            self.open = Some(file);
            written?;
        }
        Ok(())
    }

    /// Whether lines could be appended, as far as that is known without one.
    pub(super) fn check(&mut self) -> io::Result<()> {
        self.open = Some(self.current()?);
        Ok(())
    }

    /// Sees to it that what was written survives the machine, too.
    pub(super) fn sync(&self) -> io::Result<()> {
        match &self.open {
            Some(file) => file.sync_data(),
            None => Ok(()),
        }
    }

    /// The file to append to: the one of that name, and not full.
    fn current(&mut self) -> io::Result<File> {
        let file = match self.open.take() {
            Some(file) if files::is_at(&file, &self.config.file) => file,
            _ => self.open()?,
        };
        mend(&file)?;
        if file.metadata()?.len() < self.config.max_file_bytes {
            return Ok(file);
        }
        file.sync_data()?;
        let Some(_lock) = lock(&self.config.file)? else {
            // Another process is at it; we will find the new file next time.
            return Ok(file);
        };
        if files::is_at(&file, &self.config.file) {
            self.rotate()?;
        }
        self.open()
    }

    /// Opens the file, and makes it if need be; its folder only the first time.
    fn open(&self) -> io::Result<File> {
        self.home.ready()?;
        files::append(&self.config.file)
    }

    fn rotate(&self) -> io::Result<()> {
        let file = &self.config.file;
        if self.config.kept_files == 0 {
            return fs::remove_file(file);
        }
        for number in (1..self.config.kept_files).rev() {
            match fs::rename(numbered(file, number), numbered(file, number + 1)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                moved => moved?,
            }
        }
        fs::rename(file, numbered(file, 1))
    }
}

/// How much of `lines` goes into a file with so much room: whole lines, the last of which
/// may be the one that fills it.
fn fitting(lines: &[u8], room: u64) -> usize {
    let room = usize::try_from(room).unwrap_or(usize::MAX).min(lines.len()).saturating_sub(1);
    memchr::memchr(b'\n', &lines[room..]).map_or(lines.len(), |end| room + end + 1)
}

/// Writes with as few calls as it takes; says how much was written.
fn write(mut file: &File, lines: &[u8]) -> (usize, io::Result<()>) {
    let mut done = 0;
    while done < lines.len() {
        match file.write(&lines[done..]) {
            Ok(0) => return (done, Err(io::ErrorKind::WriteZero.into())),
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (done, Err(error)),
        }
    }
    (done, Ok(()))
}

fn numbered(file: &Path, number: usize) -> PathBuf {
    beside(file, &format!(".{number}"))
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Keeps other processes from rotating; `None`: one of them is.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let file = files::lock_file(&beside(path, ".lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// A lock of a file, given back at the end.
struct Locked<'a>(&'a File);

impl<'a> Locked<'a> {
    /// With others who append.
    fn shared(file: &'a File) -> io::Result<Locked<'a>> {
        Locked::of(file, File::try_lock_shared)
    }

    /// Takes the exclusive lock, if it is free.
    fn alone(file: &'a File) -> io::Result<Locked<'a>> {
        Locked::of(file, File::try_lock)
    }

    /// Others hold it for the time of one write.
    fn of(
        file: &'a File,
        lock: impl Fn(&File) -> Result<(), fs::TryLockError>,
    ) -> io::Result<Locked<'a>> {
        for _ in 0..MAX_LOOKS {
            match lock(file) {
                Ok(()) => return Ok(Locked(file)),
                Err(fs::TryLockError::Error(error)) => return Err(error),
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOOK_AGAIN),
            }
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, "another process keeps the log to itself"))
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // The lock ends with the file at the latest.
        let _ = self.0.unlock();
    }
}

/// How often, and how soon, a lock is tried again.
const MAX_LOOKS: usize = 200;
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// A part of a line is shorter than this; a longer one was not written by us.
const MAX_PART_BYTES: u64 = 1024 * 1024;

/// Takes off the part of a line with which the file ends, if it does.
fn mend(file: &File) -> io::Result<()> {
    if ends_whole(file)? {
        return Ok(());
    }
    // A process in the middle of a write may finish it.
    let _alone = Locked::alone(file)?;
    if ends_whole(file)? {
        return Ok(());
    }
    let length = file.metadata()?.len();
    let from = length.saturating_sub(MAX_PART_BYTES);
    let mut tail = vec![0; usize::try_from(length - from).unwrap_or_default()];
    file.read_exact_at(&mut tail, from)?;
    match memchr::memrchr(b'\n', &tail) {
        Some(at) => file.set_len(from + at as u64 + 1),
        None if from == 0 => file.set_len(0),
        // No line of ours: it stays, and is ended.
        None => { file }.write_all(b"\n"),
    }
}

/// Whether the file is empty or ends with a line break.
fn ends_whole(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.read_exact_at(&mut last, length - 1)?;
    Ok(last == *b"\n")
}
