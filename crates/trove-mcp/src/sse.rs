//! Server-sent events, as far as MCP uses them.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};

/// The longest id of an event that is sent back.
const MAX_ID: usize = 1024;
/// The byte order mark, with which some writers begin every text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// `message` unless the sender said otherwise.
    pub(crate) name: String,
    pub(crate) data: Bytes,
}

/// The stream grew past the limit without completing an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Cuts a byte stream into events, wherever its chunks end, e.g. in the middle of a line.
pub(crate) struct Parser {
    buffer: BytesMut,
    /// How much of the buffer was searched for a line end.
    searched: usize,
    name: String,
    data: BytesMut,
    has_data: bool,
    /// The last line ended with `\r`: a `\n` that comes next belongs to it.
    after_cr: bool,
    /// Nothing of the stream was looked at, so a byte order mark may come.
    is_new: bool,
    limit: usize,
    /// Bytes of lines that are no data, since they were last asked for.
    idle: usize,
    /// The id of the last event that had one, to go on after it.
    pub(crate) last_id: Option<String>,
    /// How long the sender wants a reader to wait before it comes back.
    pub(crate) retry: Option<Duration>,
}

impl Parser {
    pub(crate) fn new(limit: usize) -> Parser {
        Parser {
            buffer: BytesMut::new(),
            searched: 0,
            name: String::new(),
            data: BytesMut::new(),
            has_data: false,
            after_cr: false,
            is_new: true,
            limit,
            idle: 0,
            last_id: None,
            retry: None,
        }
    }

    /// For the stream that goes on where this one broke off.
    pub(crate) fn anew(self) -> Parser {
        Parser { last_id: self.last_id, retry: self.retry, ..Parser::new(self.limit) }
    }

    /// How many bytes since the last call were comments, blank lines, or other fields than data.
    pub(crate) fn take_idle(&mut self) -> usize {
        std::mem::take(&mut self.idle)
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Adds a chunk.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<(), TooLong> {
        self.buffer.extend_from_slice(chunk);
        if self.buffer.len() + self.data.len() > self.limit { Err(TooLong) } else { Ok(()) }
    }

    /// The next whole event.
    pub(crate) fn next(&mut self) -> Option<Event> {
        while let Some(line) = self.next_line() {
            if let Some(event) = self.take_line(&line) {
                return Some(event);
            }
        }
        None
    }

    fn next_line(&mut self) -> Option<BytesMut> {
        if !self.buffer.is_empty() && std::mem::take(&mut self.after_cr) && self.buffer[0] == b'\n'
        {
            self.buffer.advance(1);
        }
        if self.is_new && !self.skip_mark() {
            return None;
        }
        let at = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]);
        let Some(end) = at.map(|at| at + self.searched) else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(end);
        // `\r\n` is one line end, also where a chunk ends between the two.
        self.after_cr = self.buffer[0] == b'\r';
        self.buffer.advance(1);
        self.searched = 0;
        Some(line)
    }

    /// Passes over a byte order mark; false as long as there is only a part of one.
    fn skip_mark(&mut self) -> bool {
        if self.buffer.starts_with(MARK) {
            self.buffer.advance(MARK.len());
        } else if MARK.starts_with(&self.buffer) {
            return false;
        }
        self.is_new = false;
        true
    }

    fn take_line(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            self.idle += 1;
            return self.dispatch();
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(0) => {
                self.idle += line.len() + 1;
                return None;
            }
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &line[..0]),
        };
        if field != b"data" {
            self.idle += line.len() + 1;
        }
        match field {
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                if self.has_data {
                    self.data.extend_from_slice(b"\n");
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"id" if value.len() <= MAX_ID && !value.contains(&0) => {
                self.last_id = std::str::from_utf8(value).ok().map(str::to_owned);
            }
            b"retry" => {
                let ms = std::str::from_utf8(value).ok().and_then(|ms| ms.parse().ok());
                self.retry = ms.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let name = if name.is_empty() { "message".to_owned() } else { name };
        Some(Event { name, data: self.data.split().freeze() })
    }
}

/// An event that carries a message.
pub(crate) fn encode(message: &[u8]) -> Bytes {
    encode_named("message", message)
}

/// Tells a reader how long to wait before it opens a broken stream again.
pub(crate) fn encode_retry(wait: Duration) -> Bytes {
    Bytes::from(format!("retry: {}\n\n", wait.as_millis()))
}

/// An event of this name.
pub(crate) fn encode_named(name: &str, data: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(name.len() + data.len() + 24);
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
    out.freeze()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut parser = Parser::new(1 << 20);
        let mut all = Vec::new();
        for chunk in chunks {
            parser.push(chunk).unwrap();
            while let Some(event) = parser.next() {
                all.push((event.name, String::from_utf8(event.data.to_vec()).unwrap()));
            }
        }
        all
    }

    const STREAM: &[u8] =
        b": hi\nevent: endpoint\ndata: /m\n\ndata: a\r\ndata:b\r\n\r\nid: 3\n\nevent: x\rdata: c\r\rretry: 1\ndata\n\ndata: cut";

    fn expected() -> Vec<(String, String)> {
        [("endpoint", "/m"), ("message", "a\nb"), ("x", "c"), ("message", "")]
            .map(|(n, d)| (n.to_owned(), d.to_owned()))
            .to_vec()
    }

    #[test]
    fn events_are_cut_by_blank_lines_of_any_kind() {
        assert_eq!(events(&[STREAM]), expected());
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(cuts in proptest::collection::vec(0..STREAM.len(), 0..12)) {
            let mut cuts = cuts;
            cuts.extend([0, STREAM.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &STREAM[w[0]..w[1]]).collect();
            prop_assert_eq!(events(&chunks), expected());
        }
    }

    #[test]
    fn a_byte_order_mark_at_the_beginning_is_no_part_of_the_first_line() {
        let expect = [("message".to_owned(), "\u{feff}a".to_owned())];
        assert_eq!(events(&["\u{feff}data: \u{feff}a\n\n".as_bytes()]), expect);
        assert_eq!(events(&[b"\xef", b"\xbb", b"\xbfdata: \xef\xbb\xbfa\n\n"]), expect);
        assert_eq!(events(&["data: a\n\n\u{feff}data: b\n\n".as_bytes()]).len(), 1);
    }

    #[test]
    fn a_stream_may_end_with_half_a_line_end() {
        let expect = [("message".to_owned(), "a".to_owned())];
        assert_eq!(events(&[b"data: a\r\r"]), expect);
        assert_eq!(events(&[b"data: a\r", b"\n\r", b"\n"]), expect);
    }

    #[test]
    fn t06_an_endless_line_is_stopped_at_the_limit() {
        let mut parser = Parser::new(100);
        assert_eq!(parser.push(&[b'x'; 101]), Err(TooLong));
    }

    #[test]
    fn an_encoded_message_is_one_event() {
        assert_eq!(
            events(&[&encode(b"{\"a\":1}")]),
            [("message".to_owned(), "{\"a\":1}".to_owned())]
        );
    }

    #[test]
    fn t50_fuzz_events_are_the_same_in_any_pieces() {
        let read = |input: &[u8], size: usize| {
            let mut parser = Parser::new(1 << 20);
            let mut events = Vec::new();
            for chunk in input.chunks(size) {
                parser.push(chunk).ok()?;
                while let Some(event) = parser.next() {
                    events.push(event.data);
                }
            }
            Some(events)
        };
        trove_fuzz::feed("sse", |input| {
            let whole = read(input, usize::MAX);
            for size in [1, 2, 7] {
                assert_eq!(read(input, size), whole, "in pieces of {size}");
            }
            whole.map(|events| events.len().min(9))
        });
    }
}
