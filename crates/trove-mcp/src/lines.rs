//! Messages as lines, as stdio has them towards clients and towards servers.

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};
use tracing::debug;

/// How much room is made at a time, and with how much left: as much as a pipe holds.
const CHUNK: usize = 256 * 1024;
const ROOM: usize = 64 * 1024;
/// How many messages are written at a time.
const BATCH: usize = 64;
/// How many bytes are kept from each end of a line that is too long.
const WINDOW: usize = 512;
/// How many bytes of blank lines are passed over in one go.
const BLANK_AT_ONCE: usize = 4096;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line that is not blank, without its end.
    Text(Bytes),
    /// The last one, which had no end.
    Last(Bytes),
    /// A line longer than the limit, of which only the ends were kept.
    TooLong { head: Bytes, tail: Bytes },
    /// No line yet: so much was passed over that its reader should look whether that goes on.
    None,
}

/// Bytes that were read and are no part of a line that was given.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PassedOver {
    /// Those of blank lines.
    pub(crate) blank: usize,
    /// Those beyond the limit in lines that are too long.
    pub(crate) excess: usize,
    /// Those of a long line that has not ended.
    pub(crate) begun: usize,
}

/// Cuts a stream into lines; holds no more than the limit, and a chunk.
pub(crate) struct Lines<R> {
    input: R,
    limit: usize,
    buffer: BytesMut,
    /// How much of the buffer was searched for a line end.
    searched: usize,
    /// The ends of the line that is being thrown away.
    skipping: Option<(Bytes, BytesMut)>,
    passed_over: PassedOver,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R, limit: usize) -> Lines<R> {
        let (buffer, passed_over) = <_>::default();
        Lines { input, limit, buffer, searched: 0, skipping: None, passed_over }
    }

    /// The bytes passed over since the last call.
    pub(crate) fn take_passed_over(&mut self) -> PassedOver {
        std::mem::take(&mut self.passed_over)
    }

    /// The next line; `None` at the end of the stream. Safe to cancel: bytes that were read stay
    /// here.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        loop {
            while let Some(line) = self.cut() {
                if let Some((head, mut tail)) = self.skipping.take() {
                    self.passed_over.excess += line.len();
                    keep_tail(&mut tail, &line);
                    return Some(Line::TooLong { head, tail: tail.freeze() });
                }
                if line.len() > self.limit {
                    self.passed_over.excess += line.len();
                    let head = Bytes::copy_from_slice(&line[..WINDOW.min(line.len())]);
                    let mut tail = BytesMut::new();
                    keep_tail(&mut tail, &line);
                    return Some(Line::TooLong { head, tail: tail.freeze() });
                }
                if !line.trim_ascii().is_empty() {
                    return Some(Line::Text(line.freeze()));
                }
                self.passed_over.blank += line.len() + 1;
                if self.passed_over.blank >= BLANK_AT_ONCE {
                    return Some(Line::None);
                }
            }
            if self.throw_away_excess() {
                return Some(Line::None);
            }
            if self.buffer.capacity() - self.buffer.len() < ROOM {
                // Grow with the line, so that a long one is not copied chunk by chunk. Short ones
                // share a chunk.
                self.buffer.reserve(CHUNK.max(self.buffer.len()));
            }
            match self.input.read_buf(&mut self.buffer).await {
                Ok(0) if self.skipping.is_none() && !self.buffer.trim_ascii().is_empty() => {
                    self.searched = 0;
                    return Some(Line::Last(std::mem::take(&mut self.buffer).freeze()));
                }
                Ok(0) | Err(_) => return None,
                Ok(read) if self.buffer.len() > CHUNK => {
                    self.passed_over.begun += read;
                    return Some(Line::None);
                }
                Ok(_) => {}
            }
        }
    }

    /// A whole line from the buffer.
    fn cut(&mut self) -> Option<BytesMut> {
        let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.searched + at + 1);
        line.truncate(line.len() - 1);
        self.searched = 0;
        Some(line)
    }

    /// Forgets what is read of a line that is too long; true if there was any.
    fn throw_away_excess(&mut self) -> bool {
        let is_excess = self.skipping.is_some() && !self.buffer.is_empty();
        if !is_excess && self.buffer.len() <= self.limit {
            return false;
        }
        // A new buffer, so that the memory of a giant line is given back.
        let part = std::mem::replace(&mut self.buffer, BytesMut::with_capacity(CHUNK));
        self.searched = 0;
        let (_, tail) = self.skipping.get_or_insert_with(|| {
            let head = &part[..part.len().min(WINDOW)];
            (Bytes::copy_from_slice(head), BytesMut::new())
        });
        keep_tail(tail, &part);
        self.passed_over.excess += part.len();
        true
    }
}

fn keep_tail(tail: &mut BytesMut, part: &[u8]) {
    tail.extend_from_slice(&part[part.len().saturating_sub(WINDOW)..]);
    let excess = tail.len().saturating_sub(WINDOW);
    *tail = tail.split_off(excess);
}

/// Writes messages, one a line, as many at once as wait; ends with its senders.
pub(crate) async fn write(mut output: impl AsyncWrite + Unpin, mut waiting: mpsc::Receiver<Bytes>) {
    let mut messages = Vec::new();
    let mut buffer = BytesMut::new();
    while waiting.recv_many(&mut messages, BATCH).await > 0 {
        for message in messages.drain(..) {
            buffer.extend_from_slice(&message);
            buffer.extend_from_slice(b"\n");
        }
        let written = async {
            output.write_all(&buffer).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            debug!(%error, "the peer takes no more messages");
            return;
        }
        buffer.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], limit: usize) -> Vec<String> {
        let mut lines = Lines::new(text, limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await {
            all.push(match line {
                Line::None => continue,
                Line::Text(text) if text.len() > 100 => format!("{} bytes", text.len()),
                Line::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                Line::Last(text) => format!("{} without an end", String::from_utf8_lossy(&text)),
                Line::TooLong { head, tail } => format!("<{}..{}>", head.len(), tail.len()),
            });
        }
        all
    }

    #[tokio::test]
    async fn blank_lines_are_left_out_and_an_unfinished_one_is_told_from_others() {
        assert_eq!(lines(b"a\n\n  \r\nb c\n", 100).await, ["a", "b c"]);
        assert_eq!(lines(b"a\n{un", 100).await, ["a", "{un without an end"]);
        assert_eq!(lines(b"a\n  ", 100).await, ["a"]);
    }

    #[tokio::test]
    async fn every_byte_that_is_in_no_line_is_counted() {
        let text = [vec![b'\n'; 10_000], b"a\n".to_vec(), b"x".repeat(300_000), b"\nb".to_vec()];
        let text = text.concat();
        let mut lines = Lines::new(&text[..], 1000);
        let (mut counted, mut steps) = (PassedOver::default(), 0);
        while let Some(line) = lines.next().await {
            let passed_over = lines.take_passed_over();
            counted.blank += passed_over.blank;
            counted.excess += passed_over.excess;
            steps += usize::from(line == Line::None);
        }
        assert_eq!(counted.blank, 10_000);
        assert!((299_000..=300_000).contains(&counted.excess), "{counted:?}");
        assert!(steps >= 3, "the reader has its turn between: {steps}");
    }

    #[tokio::test]
    async fn t05_a_line_that_is_too_long_costs_only_itself() {
        // Within one chunk, and over several.
        for size in [2_000, 200_000, 2_000_000] {
            let long = [b"x".repeat(size), b"end\nnext\n".to_vec()].concat();
            assert_eq!(lines(&long, 1000).await, ["<512..512>", "next"]);
        }
    }

    #[tokio::test]
    async fn the_ends_of_a_long_line_are_its_ends() {
        let text = [b"HEAD".to_vec(), b"x".repeat(300_000), b"TAIL\n".to_vec()].concat();
        let mut lines = Lines::new(&text[..], 1000);
        let mut next = lines.next().await;
        while next == Some(Line::None) {
            next = lines.next().await;
        }
        let Some(Line::TooLong { head, tail }) = next else { panic!() };
        assert!(head.starts_with(b"HEAD") && tail.ends_with(b"TAIL"));
    }
}
