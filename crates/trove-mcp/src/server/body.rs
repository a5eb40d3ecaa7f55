//! An answer as a body: what a server wrote goes out without being copied.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use trove_core::Json;

use crate::{
    payload::WORTH_SPARING,
    wire::{self, Outcome},
};

/// The body of an answer.
pub(crate) fn answer(id: &Json, outcome: &Outcome) -> Body {
    match outcome {
        Ok(result) if result.len() >= WORTH_SPARING => {
            let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", id.as_str());
            let mut parts = VecDeque::from([Bytes::from(head)]);
            parts.extend(result.pieces().iter().cloned());
            parts.push_back(Bytes::from_static(b"}"));
            Body::new(Parts(parts))
        }
        outcome => Body::from(wire::response(id, outcome)),
    }
}

/// Bytes that go out one after another.
struct Parts(VecDeque<Bytes>);

impl http_body::Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|part| part.len() as u64).sum())
    }
}
