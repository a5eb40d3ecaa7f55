//! The socket through which the command line asks a Trove that runs already.
//!
//! It lies in the state folder, for its owner alone, and a peer of another user is turned
//! away. One connection is one question: a line of JSON, answered by a line at once, then by
//! another and as many bytes as that says.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream, unix::OwnedWriteHalf},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use trove_core::files;

use super::{Answer, Errand, Whose, perform};
use crate::{app::Live, failed::Failed};

/// The asking and the answering program must be of one make.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The longest question.
const MAX_QUESTION_BYTES: u64 = 1 << 20;
/// How long a peer may take to ask, or to take its answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most questions that are answered at once.
const MAX_ERRANDS: usize = 32;

/// A question, and the version that asks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) version: String,
    pub(super) errand: Errand,
}

/// The greeting sent at once, and the version that sends it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) version: String,
}

/// The head of an answer, before its bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) notes: Vec<String>,
    pub(super) failed: Option<Failed>,
    pub(super) bytes: u64,
}

/// Where the Trove of a configuration is asked.
pub(super) fn path(state: &Path, memory: &str) -> PathBuf {
    state.join("run").join(format!("{memory}.sock"))
}

/// An open door; it is ours alone as long as the lock is held.
struct Door {
    listener: UnixListener,
    path: PathBuf,
    _lock: File,
}

/// Answers until told to stop. If another Trove has the same configuration and came first, that one
/// is asked.
pub(crate) async fn open(live: Arc<Live>, state: PathBuf, memory: String, stop: CancellationToken) {
    let door = match bind(&path(&state, &memory)) {
        Ok(Some(door)) => door,
        Ok(None) => return debug!("another Trove of this configuration answers the command line"),
        Err(error) => return warn!(%error, "the command line cannot ask this Trove"),
    };
    let mut errands = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = errands.join_next(), if !errands.is_empty() => {}
            peer = door.listener.accept(), if errands.len() < MAX_ERRANDS => match peer {
                Ok((stream, _)) => drop(errands.spawn(serve(live.clone(), stream))),
                Err(error) => {
                    warn!(%error, "the command line could not be let in");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    // A command that comes now starts a Trove of its own.
    let _ = fs::remove_file(&door.path);
    while errands.join_next().await.is_some() {}
}

/// `None`: another Trove holds it.
fn bind(path: &Path) -> io::Result<Option<Door>> {
    let folder = path.parent().unwrap_or(path);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let lock = files::lock_file(&path.with_extension("lock"))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Ok(None),
        Err(fs::TryLockError::Error(error)) => return Err(error),
    }
    // With the lock in hand, a socket left there is of a Trove that died.
    let _ = fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(Some(Door { listener, path: path.to_owned(), _lock: lock }))
}

async fn serve(live: Arc<Live>, stream: UnixStream) {
    let own = rustix::process::geteuid().as_raw();
    let is_own = stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0);
    if !is_own {
        return warn!("somebody else at the door of the command line was turned away");
    }
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader.take(MAX_QUESTION_BYTES));
    let mut asked = String::new();
    let heard = tokio::time::timeout(PATIENCE, reader.read_line(&mut asked)).await;
    let Ok(Ok(_)) = heard else { return };
    let Ok(question) = serde_json::from_str::<Question>(&asked) else {
        return debug!("a question that is none came from the command line");
    };
    if write(&mut writer, &line(&Greeting { version: VERSION.to_owned() })).await.is_err() {
        return;
    }
    // A command that hangs up wants no answer.
    let gone = async {
        let mut rest = [0];
        let _ = reader.read(&mut rest).await;
    };
    let outcome = tokio::select! {
        outcome = perform(&live, &question.errand, Whose::Running) => outcome,
        () = gone => return,
    };
    let (answer, failed) = match outcome {
        Ok(answer) => (answer, None),
        Err(failed) => (Answer::default(), Some(failed)),
    };
    let head = Head { notes: answer.notes, failed, bytes: answer.body.len() as u64 };
    if write(&mut writer, &line(&head)).await.is_ok() {
        let _ = write(&mut writer, &answer.body).await;
    }
}

/// Writes to a peer that may be slow, but not for ever.
async fn write(writer: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
    tokio::time::timeout(PATIENCE, writer.write_all(bytes)).await?
}

fn line(said: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec(said).unwrap_or_default();
    text.push(b'\n');
    text
}
