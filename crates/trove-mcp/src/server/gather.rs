//! Sends all ready frames of a body in one write.
//!
//! Each frame of a long answer would else be a write of its own, and the last of them a packet
//! with two brackets.

use std::{
    collections::VecDeque,
    io::IoSlice,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::{Buf, Bytes};
use http_body::{Body as _, Frame, SizeHint};

/// How many frames are gathered at most.
const MAX_FRAMES: usize = 32;

type Polled<T> = Poll<Option<Result<Frame<T>, axum::Error>>>;

/// A body whose frames are as many of another's as are ready.
pub(super) struct Gathered {
    body: Body,
    /// The frame that came after data and is none: an error, or the end.
    next: Option<Option<Result<Frame<Bytes>, axum::Error>>>,
}

impl Gathered {
    pub(super) fn new(body: Body) -> Gathered {
        Gathered { body, next: None }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Polled<Bytes> {
        match self.next.take() {
            Some(next) => Poll::Ready(next),
            None => Pin::new(&mut self.body).poll_frame(cx),
        }
    }
}

impl http_body::Body for Gathered {
    type Data = Run;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled<Run> {
        let mut run = Run::default();
        while run.0.len() < MAX_FRAMES {
            let next = match self.poll_next(cx) {
                Poll::Ready(next) => next,
                Poll::Pending if run.0.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            };
            match next {
                Some(Ok(frame)) if frame.is_data() => run.0.extend(frame.into_data()),
                next if run.0.is_empty() => {
                    return Poll::Ready(next.map(|next| next.map(|frame| frame.map_data(Run::of))));
                }
                next => {
                    self.next = Some(next);
                    break;
                }
            }
        }
        Poll::Ready(Some(Ok(Frame::data(run))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.next {
            Some(next) => next.is_none(),
            None => self.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Bytes that stand one after another.
#[derive(Debug, Default)]
pub(super) struct Run(VecDeque<Bytes>);

impl Run {
    fn of(bytes: Bytes) -> Run {
        Run(VecDeque::from([bytes]))
    }
}

impl Buf for Run {
    fn remaining(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.0.iter().find(|bytes| !bytes.is_empty()).map_or(&[], |bytes| bytes)
    }

    fn chunks_vectored<'a>(&'a self, into: &mut [IoSlice<'a>]) -> usize {
        let filled = self.0.iter().filter(|bytes| !bytes.is_empty());
        let mut count = 0;
        for (slice, bytes) in into.iter_mut().zip(filled) {
            *slice = IoSlice::new(bytes);
            count += 1;
        }
        count
    }

    fn advance(&mut self, mut count: usize) {
        while let Some(first) = self.0.front_mut() {
            if count < first.len() {
                return first.advance(count);
            }
            count -= first.len();
            self.0.pop_front();
        }
        assert_eq!(count, 0, "more was written than there is");
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, io};

    use futures_util::{StreamExt as _, stream};
    use http_body_util::BodyExt as _;

    use super::*;

    fn words(words: &[&'static str]) -> Body {
        let words: Vec<_> = words.iter().map(|word| Ok::<_, Infallible>(*word)).collect();
        Body::from_stream(stream::iter(words))
    }

    #[tokio::test]
    async fn what_is_ready_is_one_frame_and_what_comes_later_another() {
        let later = stream::once(async {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>("later")
        });
        let body = Body::from_stream(
            words(&["a", "", "bc"])
                .into_data_stream()
                .chain(later.map(|word| word.map(Bytes::from).map_err(axum::Error::new))),
        );
        let mut gathered = Gathered::new(body);
        let mut frames = Vec::new();
        while let Some(frame) = gathered.frame().await {
            let mut run = frame.unwrap().into_data().unwrap();
            frames.push(run.copy_to_bytes(run.remaining()));
        }
        assert_eq!(frames, ["abc", "later"]);
    }

    #[tokio::test]
    async fn an_error_comes_after_what_was_ready_before_it() {
        let parts = [Ok("all there was"), Err(io::Error::other("gone"))];
        let mut gathered = Gathered::new(Body::from_stream(stream::iter(parts)));
        let first = gathered.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first.chunk(), b"all there was");
        assert!(!gathered.is_end_stream());
        gathered.frame().await.unwrap().unwrap_err();
    }

    #[test]
    fn a_run_is_written_from_where_the_last_write_ended() {
        let mut run = Run(["ab", "", "cde", "f"].map(Bytes::from).into());
        let mut slices = [IoSlice::new(&[]); 2];
        assert_eq!(run.chunks_vectored(&mut slices), 2);
        assert_eq!((&*slices[0], &*slices[1]), (&b"ab"[..], &b"cde"[..]));
        run.advance(3);
        assert_eq!((run.remaining(), run.chunk()), (3, &b"de"[..]));
        run.advance(3);
        assert_eq!((run.remaining(), run.chunk()), (0, &b""[..]));
    }
}
