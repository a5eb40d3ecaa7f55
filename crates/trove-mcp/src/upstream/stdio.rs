//! A server that is our child: one JSON message a line, on its stdin and stdout.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::ChildStdin,
    sync::{Mutex, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use trove_core::{SourceId, json::Json};

use super::{
    link::{Call, Inbox, Link, LinkError},
    mux::Mux,
    process::{Process, Spawn},
};
use crate::bounds::MAX_MESSAGE_BYTES;

/// How many bytes of a too long line are kept from each end, to find its id.
const ID_WINDOW: usize = 512;
/// How much is read at a time.
const CHUNK: usize = 64 * 1024;
/// After this many lines that are no messages, further ones are not logged.
const MAX_NOISE_LOGGED: u32 = 5;

pub(crate) struct StdioLink {
    mux: Arc<Mux>,
    pid: Option<u32>,
    process: Mutex<Option<Process>>,
    tasks: Mutex<JoinSet<()>>,
}

impl StdioLink {
    /// Starts the child and the two tasks that talk with it.
    pub(crate) fn start(
        source: &SourceId,
        spawn: Spawn,
        inbox: Arc<Inbox>,
    ) -> Result<StdioLink, LinkError> {
        let (process, stdin, stdout) =
            spawn.start().map_err(|error| LinkError::Unreachable(error.to_string()))?;
        let (mux, out) = Mux::new(source.clone(), inbox);
        let mut tasks = JoinSet::new();
        tasks.spawn(write(stdin, out));
        let reader = mux.clone();
        tasks.spawn(async move { Lines::new(stdout).feed(&reader).await });
        let pid = process.pid();
        Ok(StdioLink { mux, pid, process: Mutex::new(Some(process)), tasks: Mutex::new(tasks) })
    }
}

impl Link for StdioLink {
    fn request<'a>(&'a self, call: Call) -> BoxFuture<'a, Result<Json, LinkError>> {
        Box::pin(self.mux.request(call))
    }

    fn notify<'a>(
        &'a self,
        method: &'static str,
        params: Option<String>,
    ) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.mux.notify(method, params))
    }

    fn closed(&self) -> &CancellationToken {
        self.mux.closed()
    }

    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn close<'a>(&'a self) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.mux.close();
            // Ending the writer closes the child's stdin, the polite way to ask it to end.
            self.tasks.lock().await.shutdown().await;
            if let Some(process) = self.process.lock().await.take() {
                process.end().await;
            }
        })
    }
}

/// Writes what waits, as much as waits at once.
async fn write(mut stdin: ChildStdin, mut out: mpsc::Receiver<Bytes>) {
    let mut waiting = Vec::new();
    let mut buffer = BytesMut::new();
    while out.recv_many(&mut waiting, 64).await > 0 {
        for message in waiting.drain(..) {
            buffer.extend_from_slice(&message);
            buffer.extend_from_slice(b"\n");
        }
        if let Err(error) = stdin.write_all(&buffer).await {
            debug!(%error, "the child takes no more messages");
            return;
        }
        buffer.clear();
    }
}

/// Cuts a child's stdout into lines, none longer than the limit.
struct Lines<R> {
    input: R,
    buffer: BytesMut,
    searched: usize,
    noise: u32,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(input: R) -> Lines<R> {
        Lines { input, buffer: BytesMut::with_capacity(CHUNK), searched: 0, noise: 0 }
    }

    /// Delivers every line until the stream ends.
    async fn feed(mut self, mux: &Mux) {
        loop {
            while let Some(line) = self.next_line() {
                self.deliver(line, mux).await;
            }
            if self.buffer.len() > MAX_MESSAGE_BYTES {
                if !self.skip_line(mux).await {
                    break;
                }
                continue;
            }
            if !self.read_more().await {
                break;
            }
        }
        mux.close();
    }

    async fn deliver(&mut self, line: Bytes, mux: &Mux) {
        if line.trim_ascii().is_empty() {
            return;
        }
        if !mux.deliver(line).await && self.noise < MAX_NOISE_LOGGED {
            self.noise += 1;
            warn!("a line on the child's stdout is no message; skipped");
        }
    }

    fn next_line(&mut self) -> Option<Bytes> {
        match memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            Some(at) => {
                let mut line = self.buffer.split_to(self.searched + at + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
                Some(line.freeze())
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    async fn read_more(&mut self) -> bool {
        if self.buffer.capacity() - self.buffer.len() < CHUNK {
            // Grow with the message, so that a long one is not copied chunk by chunk.
            self.buffer.reserve(CHUNK.max(self.buffer.len()));
        }
        matches!(self.input.read_buf(&mut self.buffer).await, Ok(n) if n > 0)
    }

    /// Throws a too long line away without keeping it, and fails the request it answers.
    async fn skip_line(&mut self, mux: &Mux) -> bool {
        let head = self.buffer.split_to(ID_WINDOW);
        let mut tail = BytesMut::new();
        loop {
            let end = memchr::memchr(b'\n', &self.buffer);
            let part = self.buffer.split_to(end.unwrap_or(self.buffer.len()));
            let keep = part.len().min(ID_WINDOW);
            tail.extend_from_slice(&part[part.len() - keep..]);
            if tail.len() > ID_WINDOW {
                tail = tail.split_off(tail.len() - ID_WINDOW);
            }
            if end.is_some() {
                break;
            }
            self.buffer = BytesMut::with_capacity(CHUNK);
            if !self.read_more().await {
                return false;
            }
        }
        self.searched = 0;
        warn!(limit = MAX_MESSAGE_BYTES, "a message from the child is too long; skipped");
        mux.fail_oversized(find_id(&head).or_else(|| find_id(&tail)), MAX_MESSAGE_BYTES);
        true
    }
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
    fn the_id_is_found_at_either_end_of_a_long_message() {
        assert_eq!(find_id(br#"{"jsonrpc":"2.0","id":17,"result":{"contents":["#), Some(17));
        assert_eq!(find_id(br#"xxxxx"}],"jsonrpc":"2.0","id": "4"}"#), Some(4));
        assert_eq!(find_id(b"xxxxxxxx"), None);
        assert_eq!(find_id(br#""id":"#), None);
    }
}
