//! Reads along on a connection to see heads as they were sent.
//!
//! The HTTP library leaves out a length that stands beside chunks. Something between a client
//! and us may go by that length, and would take the end of the request to be elsewhere. So such
//! a head is found here, and the request is refused.

use std::mem;

use bytes::Buf as _;

/// As much of a line as is kept: the names and values that matter are shorter.
const KEPT_LINE: usize = 256;

/// Follows what a client sends, from head to head.
#[derive(Debug, Default)]
pub(super) struct Heads {
    state: State,
    /// The line that is coming, as far as it is kept.
    line: Vec<u8>,
    /// Heads that have come whole.
    whole: u64,
    /// How the head that is coming frames its body.
    framing: Framing,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first line of a head.
    #[default]
    Before,
    Head,
    /// So much of a body is still to come.
    Body(u64),
    /// No head follows: the connection ends with this request.
    Over,
}

#[derive(Debug, Default, Clone, Copy)]
struct Framing {
    /// How many headers say where the body ends.
    headers: usize,
    /// The length, if it is one.
    length: Option<u64>,
    has_chunks: bool,
}

impl Heads {
    /// Takes what the client sent next. Gives the number of the first head that says twice
    /// where its body ends, counted from nought.
    pub(super) fn take(&mut self, mut sent: &[u8]) -> Option<u64> {
        while !sent.is_empty() {
            match self.state {
                State::Over => return None,
                State::Body(left) => {
                    let len = sent.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    sent.advance(len);
                    let left = left - len as u64;
                    self.state = if left == 0 { State::Before } else { State::Body(left) };
                }
                State::Before | State::Head => {
                    let end = memchr::memchr(b'\n', sent);
                    let part = &sent[..end.unwrap_or(sent.len())];
                    let room = KEPT_LINE - self.line.len();
                    self.line.extend_from_slice(&part[..part.len().min(room)]);
                    sent.advance(end.map_or(sent.len(), |end| end + 1));
                    if end.is_some() && self.end_line() {
                        return Some(self.whole - 1);
                    }
                }
            }
        }
        None
    }

    /// Reads a line that is whole. Whether it ends a head that says twice where its body ends.
    fn end_line(&mut self) -> bool {
        let line = mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        match self.state {
            // Empty lines may stand before a head.
            State::Before if line.is_empty() => false,
            State::Before => {
                self.state = State::Head;
                false
            }
            _ if line.is_empty() => self.end_head(),
            _ => {
                self.framing.add(line);
                false
            }
        }
    }

    fn end_head(&mut self) -> bool {
        let framing = mem::take(&mut self.framing);
        self.whole += 1;
        self.state = match (framing.has_chunks, framing.headers, framing.length) {
            (false, 0, _) | (false, 1, Some(0)) => State::Before,
            (false, 1, Some(length)) => State::Body(length),
            _ => State::Over,
        };
        framing.headers > 1
    }
}

impl Framing {
    fn add(&mut self, line: &[u8]) {
        let Some(colon) = memchr::memchr(b':', line) else { return };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.headers += 1;
            self.has_chunks = true;
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            self.headers += 1;
            self.length = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody";
    const BOTH: [&str; 5] = [
        "POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nX: y\r\ncontent-length: 4\r\n\r\n",
        "POST / HTTP/1.1\nContent-Length:4\nTransfer-Encoding:chunked\n\n",
        "POST / HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    ];

    #[test]
    fn a_head_that_says_twice_where_its_body_ends_is_found() {
        for both in BOTH {
            assert_eq!(Heads::default().take(both.as_bytes()), Some(0), "{both}");
            let later = format!("{PLAIN}\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n{both}");
            assert_eq!(Heads::default().take(later.as_bytes()), Some(2), "{later}");
            // However it is cut.
            let mut heads = Heads::default();
            let found = later.as_bytes().chunks(1).find_map(|byte| heads.take(byte));
            assert_eq!(found, Some(2), "{later}");
        }
    }

    #[test]
    fn others_are_not() {
        let body = "POST / HTTP/1.1\r\nContent-Length: 62\r\n\r\n\
                    Content-Length: 1\r\nTransfer-Encoding: chunked\r\nfourteen more\r\n";
        let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "content-length:".repeat(100));
        let chunks = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
        for plain in [PLAIN, body, &long, chunks, "\r\n\r\nGET / HTTP/1.1\r\n\r\n", "\0\0\n\n"] {
            let twice = format!("{plain}{plain}");
            assert_eq!(Heads::default().take(twice.as_bytes()), None, "{plain}");
        }
    }
}
