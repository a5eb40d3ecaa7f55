//! Asks a Trove that runs already, if there is one.

use std::{
    io::{self, BufRead, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use serde::de::DeserializeOwned;
use tracing::error;

use super::{
    Answer, Errand,
    door::{Greeting, Head, Question, VERSION, path},
};
use crate::failed::{Class, Failed};

/// How much longer than it was told to wait a Trove may take for work.
pub(crate) const GRACE: Duration = Duration::from_secs(120);
/// How long a running Trove may take to greet. If one hangs, the command does the work itself.
const MAX_GREETING: Duration = Duration::from_secs(5);
/// The longest answer.
const MAX_ANSWER_BYTES: u64 = 1 << 32;

/// The answer of a running Trove. `None`: none runs with this configuration and of this version,
/// and the command does the work itself. It may take `grace` longer than it was told to wait.
pub(crate) fn ask(
    state: &Path,
    memory: &str,
    errand: &Errand,
    grace: Duration,
) -> Option<Result<Answer, Failed>> {
    let mut stream = UnixStream::connect(path(state, memory)).ok()?;
    let greeting = Some(MAX_GREETING.min(grace));
    stream.set_read_timeout(greeting).and(stream.set_write_timeout(greeting)).ok()?;
    let question = Question { version: VERSION.to_owned(), errand: errand.clone() };
    let mut text = serde_json::to_vec(&question).ok()?;
    text.push(b'\n');
    stream.write_all(&text).ok()?;
    let mut reader = BufReader::new(stream.take(MAX_ANSWER_BYTES));
    // One that is just being stopped, or of another make, may hang up: then we do it.
    let heard: Greeting = match line(&mut reader) {
        Ok(heard) => heard?,
        Err(error) => {
            error!(%error, "a Trove runs with this configuration but does not answer");
            return None;
        }
    };
    if heard.version != VERSION {
        return None;
    }
    let patience = Some(Duration::from_secs(errand.wait) + grace);
    reader.get_ref().get_ref().set_read_timeout(patience).ok()?;
    let head: Head = line(&mut reader).ok()??;
    if let Some(failed) = head.failed {
        return Some(Err(failed));
    }
    let mut body = Vec::new();
    let read = reader.read_to_end(&mut body);
    Some(match read {
        Ok(_) if body.len() as u64 == head.bytes => Ok(Answer { notes: head.notes, body }),
        _ => {
            let message = "the running Trove ended in the middle of its answer; try again";
            Err(Failed::new(Class::Lost, message))
        }
    })
}

/// The message on the next line; `None` if it is unknown to us.
fn line<T: DeserializeOwned>(reader: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    Ok(serde_json::from_str(&line).ok())
}
