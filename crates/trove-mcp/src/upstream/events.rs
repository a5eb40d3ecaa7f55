//! The events of one stream, read in small steps and paid for.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

use super::meter::Meter;
use crate::sse::{Event, Parser};

/// How much of a chunk is looked at between two looks at the budget.
const PIECE: usize = 16 * 1024;
/// The work that comes with a chunk, however small it is.
const CHUNK: usize = 32;

/// Why there are no further events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The stream is over.
    Over,
    /// An event is longer than the limit.
    TooLong,
    /// The server was cut off.
    CutOff,
}

/// Cuts a stream into events; all that is none is charged to the server's budget.
pub(crate) struct Events<'p, S> {
    chunks: S,
    /// The part of the last chunk that was not looked at.
    rest: Bytes,
    parser: &'p mut Parser,
    meter: Arc<Meter>,
}

impl<'p, S, E> Events<'p, S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    pub(crate) fn new(chunks: S, parser: &'p mut Parser, meter: Arc<Meter>) -> Events<'p, S> {
        Events { chunks, rest: Bytes::new(), parser, meter }
    }

    /// The next event. Its receiver charges it, once it is known what it is.
    pub(crate) async fn next(&mut self) -> Result<Event, End> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(event);
            }
            let idle = self.parser.take_idle();
            if idle > 0 {
                self.meter.empty(idle).await.map_err(|_| End::CutOff)?;
            }
            if self.rest.is_empty() {
                let Some(Ok(chunk)) = self.chunks.next().await else { return Err(End::Over) };
                self.meter.empty(CHUNK).await.map_err(|_| End::CutOff)?;
                self.rest = chunk;
            }
            let piece = self.rest.split_to(PIECE.min(self.rest.len()));
            if self.parser.push(&piece).is_err() {
                let paid = self.meter.skipped(self.parser.limit()).await;
                return Err(if paid.is_ok() { End::TooLong } else { End::CutOff });
            }
            self.meter.asked(piece.len()).await;
        }
    }
}
