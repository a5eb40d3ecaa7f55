//! A server that is our child: one JSON message a line, on its stdin and stdout.

use std::{sync::Arc, time::Duration};

use tokio::{process::ChildStdout, task::JoinSet};
use tracing::warn;
use trove_core::{SourceId, status::StatusBoard};

use super::{
    link::{Inbox, LinkError},
    mux::{Mux, MuxLink},
    process::Spawn,
};
use crate::lines::{Line, Lines, write};

/// After this many lines that are no messages, further ones are not logged.
const MAX_NOISE_LOGGED: u32 = 5;

/// How long answers may still come after the child has ended.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// How much of either end of a broken answer is searched for its id.
const ENDS: usize = 4096;
const UNREADABLE: &str = "its answer is no JSON";
const NOISE: &str =
    "it writes lines to stdout that are no messages; is it an MCP server for stdio?";

/// Starts the child and the two tasks that talk with it.
pub(crate) fn start(
    source: &SourceId,
    spawn: Spawn,
    inbox: Arc<Inbox>,
) -> Result<MuxLink, LinkError> {
    let board = spawn.shared.board.clone();
    let (waiting, longest) = (spawn.shared.bounds.waiting, spawn.shared.bounds.message_bytes);
    let (process, stdin, stdout) =
        spawn.start().map_err(|error| LinkError::Unreachable(error.to_string()))?;
    let (mux, out) = Mux::new(source.clone(), inbox, waiting);
    let mut tasks = JoinSet::new();
    let writer = mux.clone();
    tasks.spawn(async move {
        write(stdin, out).await;
        writer.close();
    });
    // A helper of the child may hold its stdout open after its end.
    let (ended, watcher) = (process.ended(), mux.clone());
    tasks.spawn(async move {
        ended.cancelled().await;
        tokio::time::sleep(LAST_WORDS).await;
        watcher.close();
    });
    let lines = Lines::new(stdout, longest);
    tasks.spawn(read(lines, longest, source.clone(), mux.clone(), board));
    Ok(MuxLink::new(mux, tasks, Some(process)))
}

/// Delivers every message until the child's stdout ends.
async fn read(
    mut lines: Lines<ChildStdout>,
    longest: usize,
    source: SourceId,
    mux: Arc<Mux>,
    board: Arc<StatusBoard>,
) {
    let mut noise = 0u32;
    while let Some(line) = lines.next().await {
        match line {
            Line::Text(text) => {
                if mux.deliver(text.clone()).await {
                    continue;
                }
                if let Some(id) = broken_answer(&text) {
                    mux.fail(Some(id), LinkError::Malformed(UNREADABLE.to_owned()));
                }
                if noise < MAX_NOISE_LOGGED {
                    noise += 1;
                    warn!(%source, "a line on the child's stdout is no message; skipped");
                    board.update(&source, |status| status.warning = Some(NOISE));
                }
            }
            Line::TooLong { head, tail } => {
                warn!(%source, limit = longest, "a message from the child is too long; skipped");
                let id = find_id(&head).or_else(|| find_id(&tail));
                mux.fail(id, LinkError::TooLarge(longest));
            }
        }
    }
    mux.close();
}

/// The id of an answer that is no JSON. Whoever waits for it need not wait any longer. A line
/// that merely quotes a message, as in a log, or repeats a request, is no answer.
fn broken_answer(line: &[u8]) -> Option<u64> {
    let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    let is_answer = line.trim_ascii_start().starts_with(b"{")
        && has(b"\"jsonrpc\"")
        && (has(b"\"result\"") || has(b"\"error\""))
        && !has(b"\"method\"");
    let (head, tail) = (&line[..line.len().min(ENDS)], &line[line.len().saturating_sub(ENDS)..]);
    is_answer.then(|| find_id(head).or_else(|| find_id(tail))).flatten()
}

/// The id in a fragment of a message: servers write it at one end or the other.
fn find_id(fragment: &[u8]) -> Option<u64> {
    let at = memchr::memmem::rfind(fragment, b"\"id\":")? + 5;
    let digits: Vec<u8> = fragment[at..]
        .iter()
        .copied()
        .skip_while(|b| matches!(b, b' ' | b'"'))
        .take_while(u8::is_ascii_digit)
        .collect();
    std::str::from_utf8(&digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t08_only_what_is_meant_as_an_answer_fails_its_request() {
        let broken = |text: &str| broken_answer(text.as_bytes());
        assert_eq!(broken(r#"{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}"#), Some(7));
        assert_eq!(broken(r#" {"result":{"x":,"jsonrpc":"2.0","id":8}"#), Some(8));
        assert_eq!(broken(r#"got {"jsonrpc":"2.0","id":7,"result":{}}"#), None);
        assert_eq!(broken(r#"{"jsonrpc":"2.0","id":7,"method":"x","result":NaN}"#), None);
        assert_eq!(broken(r#"{"level":"debug","id":7}"#), None);
    }

    #[test]
    fn the_id_is_found_at_either_end_of_a_long_message() {
        assert_eq!(find_id(br#"{"jsonrpc":"2.0","id":17,"result":{"contents":["#), Some(17));
        assert_eq!(find_id(br#"xxxxx"}],"jsonrpc":"2.0","id": "4"}"#), Some(4));
        assert_eq!(find_id(b"xxxxxxxx"), None);
        assert_eq!(find_id(br#""id":"#), None);
    }
}
