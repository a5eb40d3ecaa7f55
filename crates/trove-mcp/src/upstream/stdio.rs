//! A server that is our child: one JSON message a line, on its stdin and stdout.

use std::{sync::Arc, time::Duration};

use tokio::{process::ChildStdout, task::JoinSet};
use tracing::warn;
use trove_core::{Json, SourceId, status::StatusBoard};

use super::{
    broken::find_id,
    link::{Inbox, LinkError},
    mux::{Mux, MuxLink},
    process::Spawn,
};
use crate::lines::{Line, Lines, write};

/// After this many lines that are no messages, further ones are not logged.
const MAX_NOISE_LOGGED: u32 = 5;

/// How long answers may still come after the child has ended.
const LAST_WORDS: Duration = Duration::from_millis(100);
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
                if mux.deliver(text).await {
                    continue;
                }
                if noise < MAX_NOISE_LOGGED {
                    noise += 1;
                    warn!(%source, "a line on the child's stdout is no message; skipped");
                    board.update(&source, |status| status.warning = Some(NOISE));
                }
            }
            // One that breaks off is no answer; that the connection is lost says more.
            Line::Last(text) => {
                if Json::parse(text.clone()).is_ok() {
                    mux.deliver(text).await;
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
