//! Flags in a SQLite file: durable when acknowledged, open to other processes.
//!
//! The file is in WAL mode with `synchronous=FULL`: a commit is on the disk when it
//! returns, and a reader never waits for a writer. A damaged file is refused, never
//! mended or removed here.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};

use crate::files::{self, Home, Identity};

use super::store::{FlagChange, FlagStore, Level, Opener, StoreError, StoredFlag};

/// The version of the tables.
const VERSION: i64 = 1;
/// How long another process may keep the file to itself.
const MAX_BUSY: Duration = Duration::from_secs(5);
/// How soon a file that was busy is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);
/// The size to which the write-ahead log is cut once its contents are in the file.
const MAX_IDLE_LOG_BYTES: i64 = 1 << 20;

/// `project` is empty for flags of all projects; no project has an empty name. The table
/// is there already in a file that was dumped and read back, which does not keep its version.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS flags (
        project TEXT NOT NULL,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (project, name)
    ) STRICT, WITHOUT ROWID;
    PRAGMA user_version = 1;";

/// A store in one file.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
    path: PathBuf,
    home: Home,
    /// Which file is open; one that was removed would take writes that are lost.
    file: Option<Identity>,
    /// Changes when another connection commits.
    seen: i64,
    can_write: bool,
}

impl SqliteStore {
    /// Opens the file whenever that is asked for.
    pub fn opener(path: impl Into<PathBuf>) -> Opener {
        let path = path.into();
        let home = home_of(&path);
        Box::new(move || Ok(Box::new(SqliteStore::open_in(&home, &path)?)))
    }

    /// Opens the file, and makes it and its folder if there is none. One that may not be
    /// written can still be read.
    pub fn open(path: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::open_in(&home_of(path), path)
    }

    fn open_in(home: &Home, path: &Path) -> Result<SqliteStore, StoreError> {
        is_there(home, path)?;
        files::check(path).map_err(|error| explain_io(path, &error))?;
        let error = match open_to_write(home, path) {
            Ok(connection) => return SqliteStore::checked(connection, home, path, true),
            Err(error) => error,
        };
        let is_locked_up =
            matches!(error, StoreError::ReadOnly { .. } | StoreError::Failing { .. });
        if !is_locked_up {
            return Err(error);
        }
        let Ok(connection) = open_to_read(path) else { return Err(error) };
        SqliteStore::checked(connection, home, path, false)
    }

    fn checked(
        connection: Connection,
        home: &Home,
        path: &Path,
        can_write: bool,
    ) -> Result<SqliteStore, StoreError> {
        let explain = |error| explain(path, error);
        let path = path.to_owned();
        let version = version(&connection).map_err(explain)?;
        if version > VERSION {
            return Err(StoreError::Newer { path, version, known: VERSION });
        }
        if let Some(detail) = damage(&connection).map_err(explain)? {
            return Err(StoreError::Damaged { path, detail });
        }
        let seen = data_version(&connection).map_err(explain)?;
        let (home, file) = (home.clone(), files::identity(&path).ok());
        Ok(SqliteStore { connection, path, home, file, seen, can_write })
    }

    /// Lets the file grow no further, as on a full disk.
    /// Whether the file that is open is the one that would be found again.
    fn is_still_there(&self) -> Result<(), StoreError> {
        is_there(&self.home, &self.path)?;
        if files::identity(&self.path).ok() == self.file {
            return Ok(());
        }
        Err(StoreError::Gone { path: self.path.clone() })
    }

    #[cfg(test)]
    pub(super) fn set_full(&self, is_full: bool) {
        let pages: i64 =
            self.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let limit = if is_full { pages } else { i64::from(u32::MAX - 1) };
        self.connection.pragma_update(None, "max_page_count", limit).unwrap();
    }
}

impl FlagStore for SqliteStore {
    fn load(&mut self, limit: usize) -> Result<Vec<StoredFlag>, StoreError> {
        let read = || -> rusqlite::Result<Vec<StoredFlag>> {
            let mut all = self.connection.prepare(
                "SELECT project, name, value FROM flags ORDER BY project, name LIMIT ?1",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = all.query_map([limit], |row| {
                let project: String = row.get(0)?;
                let project = Some(project).filter(|project| !project.is_empty());
                Ok(StoredFlag { project, name: row.get(1)?, value: row.get(2)? })
            })?;
            rows.collect()
        };
        read().map_err(|error| explain(&self.path, error))
    }

    fn write(&mut self, changes: &[FlagChange]) -> Result<(), StoreError> {
        self.is_still_there()?;
        if !self.can_write {
            return Err(StoreError::ReadOnly { path: self.path.clone() });
        }
        // Dropping the transaction undoes it.
        let write = |connection: &mut Connection| {
            let all = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let mut set = all.prepare(
                    "INSERT INTO flags (project, name, value) VALUES (?1, ?2, ?3)
                     ON CONFLICT (project, name) DO UPDATE SET value = excluded.value",
                )?;
                let mut remove =
                    all.prepare("DELETE FROM flags WHERE project = ?1 AND name = ?2")?;
                for FlagChange { level, name, value } in changes {
                    let project = match level {
                        Level::Global => "",
                        Level::Project(project) => project.as_str(),
                    };
                    match value {
                        Some(value) => set.execute(params![
                            project,
                            name.as_str(),
                            value.to_json().to_string()
                        ])?,
                        None => remove.execute(params![project, name.as_str()])?,
                    };
                }
            }
            all.commit()
        };
        write(&mut self.connection).map_err(|error| explain(&self.path, error))
    }

    fn was_changed_elsewhere(&mut self) -> Result<bool, StoreError> {
        self.is_still_there()?;
        let now = data_version(&self.connection).map_err(|error| explain(&self.path, error))?;
        Ok(std::mem::replace(&mut self.seen, now) != now)
    }
}

/// The folder of the file.
fn home_of(path: &Path) -> Home {
    Home::at(path.parent().unwrap_or(path))
}

fn is_there(home: &Home, path: &Path) -> Result<(), StoreError> {
    match home.check() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(StoreError::Gone { path: path.to_owned() })
        }
        // Another failure shows itself when the file is opened.
        _ => Ok(()),
    }
}

/// Makes the file for its owner alone. One that is there is not opened: closing it again
/// would drop the locks of every connection this process has to it.
fn make(home: &Home, path: &Path) -> io::Result<()> {
    home.ready()?;
    match files::new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

fn open_to_write(home: &Home, path: &Path) -> Result<Connection, StoreError> {
    make(home, path).map_err(|error| explain_io(path, &error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags);
    let prepared = opened.and_then(|mut connection| prepare(&mut connection).map(|()| connection));
    prepared.map_err(|error| explain(path, error))
}

/// On a disk that may not be written SQLite wants to be told that no other process writes either.
/// That would hide a write-ahead log. So with a log it is asked to find its own way.
fn open_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let has_log = fs::metadata(log).is_ok_and(|log| log.len() > 0);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if has_log {
        return Connection::open_with_flags(path, flags);
    }
    let escaped =
        path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let uri = format!("file:{escaped}?immutable=1");
    Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
}

fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(MAX_BUSY)?;
    use_log(connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", MAX_IDLE_LOG_BYTES)?;
    if version(connection)? == 0 {
        let making = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        if version(&making)? == 0 {
            making.execute_batch(TABLES)?;
        }
        making.commit()?;
    }
    Ok(())
}

/// Two that make this change to a new file at once would wait for each other. So SQLite refuses one
/// of them at once and ignores the busy timeout; that one tries again.
fn use_log(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + MAX_BUSY;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < deadline =>
            {
                thread::sleep(RETRY_INTERVAL);
            }
            done => return done,
        }
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA data_version", [], |row| row.get(0))
}

/// The fault of the table, if it has one.
fn damage(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String =
        connection.query_row("PRAGMA quick_check('flags')", [], |row| row.get(0))?;
    Ok(Some(found).filter(|found| found != "ok"))
}

fn explain_io(path: &Path, error: &io::Error) -> StoreError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly { path }
        }
        io::ErrorKind::StorageFull => StoreError::Full { path },
        _ => StoreError::Failing { path, detail: error.to_string() },
    }
}

fn explain(path: &Path, error: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let detail = error.to_string();
    let Some(code) = error.sqlite_error_code() else {
        // A column of another type, or no such table: the file is not what it should be.
        return StoreError::Damaged { path, detail };
    };
    match code {
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            StoreError::Damaged { path, detail }
        }
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly { path },
        ErrorCode::DiskFull => StoreError::Full { path },
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            StoreError::Busy { path, waited: MAX_BUSY }
        }
        _ => StoreError::Failing { path, detail },
    }
}
