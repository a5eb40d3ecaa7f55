//! A server that is our child: one JSON message a line, on its stdin and stdout.

use std::{sync::Arc, time::Duration};

use tokio::{io::AsyncRead, task::JoinSet};
use tracing::warn;
use trove_core::{Json, SourceId, status::StatusBoard};

use super::{
    broken::find_id,
    link::{Inbox, LinkError},
    meter::{CutOff, Noise},
    mux::{Mux, MuxLink},
    process::Spawn,
};
use crate::lines::{Line, Lines, PassedOver, write};

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
        spawn.start().map_err(|error| LinkError::misconfigured(error.to_string()))?;
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
    let reader = Reader::new(source.clone(), longest, mux.clone(), board);
    tasks.spawn(reader.run(lines));
    Ok(MuxLink::new(mux, tasks, Some(process)))
}

/// Takes what a child writes to its stdout.
pub(crate) struct Reader {
    source: SourceId,
    longest: usize,
    mux: Arc<Mux>,
    board: Arc<StatusBoard>,
    /// How many lines were no messages.
    noise: u32,
}

impl Reader {
    pub(crate) fn new(
        source: SourceId,
        longest: usize,
        mux: Arc<Mux>,
        board: Arc<StatusBoard>,
    ) -> Reader {
        Reader { source, longest, mux, board, noise: 0 }
    }

    /// Delivers every message until the child's stdout ends, or the child is cut off.
    pub(crate) async fn run(mut self, mut lines: Lines<impl AsyncRead + Unpin>) {
        while let Some(line) = lines.next().await {
            let passed_over = lines.take_passed_over();
            if self.take(line).await.is_err() || self.pay_for(passed_over).await.is_err() {
                // The life of this server ends the child.
                return;
            }
        }
        self.mux.close();
    }

    async fn take(&mut self, line: Line) -> Result<(), CutOff> {
        match line {
            Line::None => {}
            Line::Text(text) => {
                if !self.mux.deliver(text).await? {
                    self.note_noise();
                }
            }
            // One that breaks off is no answer; that the connection is lost says more.
            Line::Last(text) => {
                if Json::parse(text.clone()).is_ok() {
                    self.mux.deliver(text).await?;
                }
            }
            Line::TooLong { head, tail } => {
                let limit = self.longest;
                warn!(source = %self.source, limit, "a message from the child is too long; skipped");
                let id = find_id(&head).or_else(|| find_id(&tail));
                self.mux.fail(id, LinkError::TooLarge(limit));
                self.mux.meter().message(Noise::NoMessages, head.len() + tail.len()).await?;
            }
        }
        Ok(())
    }

    fn note_noise(&mut self) {
        if self.noise < MAX_NOISE_LOGGED {
            self.noise += 1;
            warn!(source = %self.source, "a line on the child's stdout is no message; skipped");
            self.board.update(&self.source, |status| status.warning = Some(NOISE));
        }
    }

    async fn pay_for(&self, passed_over: PassedOver) -> Result<(), CutOff> {
        let meter = self.mux.meter();
        if passed_over.blank > 0 {
            meter.empty(passed_over.blank).await?;
        }
        if passed_over.excess > 0 {
            meter.skipped(passed_over.excess).await?;
        }
        if passed_over.begun > 0 {
            meter.asked(passed_over.begun).await;
        }
        Ok(())
    }
}
