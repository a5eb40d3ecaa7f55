//! Why a client's file was left as it is. Every message says what to do next.

use std::{io, path::PathBuf};

use crate::{commands::exit, config::Client};

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("no home folder is known, so no client's file can be found; set `HOME`")]
    NoHome,
    #[error("{client} has no file for a project; use --scope user")]
    NoProjectScope { client: Client },
    #[error("{client} cannot reach a server by URL from its file; use --stdio")]
    NoRemote { client: Client },
    #[error(
        "a project's file is shared, so the token must not stand in it, and {client} cannot take \
         it from a variable there; use --stdio or --scope user"
    )]
    TokenInProject { client: Client },
    #[error(
        "`{name}` cannot be the name of an entry: clients build names of tools with it, so use one \
         lower-case letter, then up to 11 of a-z and 0-9"
    )]
    BadName { name: String },
    #[error("{} cannot be read: {source}; let yourself read it, or move it away", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is a link to something that is not there; mend or remove the link", path.display())]
    DeadLink { path: PathBuf },
    #[error("{} is no file; move it away", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} holds {size} bytes, more than {limit}; add the entry by hand", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error("{} is not UTF-8 text; save it as UTF-8", path.display())]
    NotText { path: PathBuf },
    #[error("{}:{line}:{column}: {message}; nothing was changed: mend the file first", path.display())]
    Broken { path: PathBuf, line: u32, column: u32, message: String },
    #[error("{}: {what}; nothing was changed: {hint}", path.display())]
    Unfit { path: PathBuf, what: String, hint: String },
    #[error(
        "{} has an entry `{name}` already, and it does not start Trove; choose another --name, or \
         replace it with --force", path.display()
    )]
    Taken { path: PathBuf, name: String },
    #[error(
        "the entry `{name}` in {} does not start Trove, so it is left alone; remove it with --force \
         if you mean it", path.display()
    )]
    NotOurs { path: PathBuf, name: String },
    #[error(
        "{} is read-only; if another program manages it, add the entry there, else allow writing to \
         it", path.display()
    )]
    ReadOnly { path: PathBuf },
    #[error("{} cannot be written: {source}; nothing was changed", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error(
        "{} was changed by somebody else at this moment, so it was left alone; run the command again",
        path.display()
    )]
    ChangedMeanwhile { path: PathBuf },
    #[error(
        "{} would not read back as meant, so it was left alone; add the entry by hand: {by_hand}",
        path.display()
    )]
    WouldNotReadBack { path: PathBuf, by_hand: String },
    #[error(
        "{} does not hold what was written; somebody else may have changed it: look at it, the \
         backup lies beside it", path.display()
    )]
    NotReadBack { path: PathBuf },
}

impl ClientError {
    /// The exit code: a wrong wish, or a file that is not as it should be.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            ClientError::NoProjectScope { .. }
            | ClientError::NoRemote { .. }
            | ClientError::TokenInProject { .. }
            | ClientError::BadName { .. } => exit::USAGE,
            _ => exit::CONFIG,
        }
    }
}
