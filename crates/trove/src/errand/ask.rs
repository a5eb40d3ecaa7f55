//! Asks a Trove that runs already, if there is one.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use super::{
    Answer, Errand,
    door::{Head, Question, path},
};
use crate::failed::{Failed, exit};

/// How much longer than it was told to wait a Trove may take for work.
pub(crate) const GRACE: Duration = Duration::from_secs(120);
/// The longest answer.
const MAX_ANSWER_BYTES: u64 = 1 << 32;

/// Its answer. Nothing: none runs with this configuration and of this version, and whoever
/// asks does it himself. It may take `grace` longer than it was told to wait.
pub(crate) fn ask(
    state: &Path,
    memory: &str,
    errand: &Errand,
    grace: Duration,
) -> Option<Result<Answer, Failed>> {
    let mut stream = UnixStream::connect(path(state, memory)).ok()?;
    let patience = Some(Duration::from_secs(errand.wait) + grace);
    stream.set_read_timeout(patience).and(stream.set_write_timeout(patience)).ok()?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let question = Question { version: version.clone(), errand: errand.clone() };
    let mut text = serde_json::to_vec(&question).ok()?;
    text.push(b'\n');
    stream.write_all(&text).ok()?;
    let mut reader = BufReader::new(stream.take(MAX_ANSWER_BYTES));
    let mut line = String::new();
    // One that is just being stopped, or of another make, may hang up: then we do it.
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let head: Head = serde_json::from_str(&line).ok()?;
    if head.version != version {
        return None;
    }
    if let Some(failed) = head.failed {
        return Some(Err(failed));
    }
    let mut body = Vec::new();
    let read = reader.read_to_end(&mut body);
    Some(match read {
        Ok(_) if body.len() as u64 == head.bytes => Ok(Answer { notes: head.notes, body }),
        _ => {
            let message = "the running Trove ended in the middle of its answer; try again";
            Err(Failed::new(exit::UNREACHABLE, "Lost", message))
        }
    })
}
