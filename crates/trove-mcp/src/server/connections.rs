//! The connections of the HTTP door: so many at a time, and none that dawdles over the head
//! of a request.
//!
//! A connection on which nothing is under way may stay; one that has begun a request must
//! finish saying what it wants. Past the most, a new one is told so and closed. One that says
//! nothing for a while is put aside: its buffers, most of what it takes, are
//! made anew when it speaks again.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING},
};
use hyper::{
    Response,
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, Sleep},
};
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;
use tracing::{debug, warn};

use super::{
    gather::{Gathered, Run},
    heads::Heads,
    responses::refuse,
};
use crate::bounds::{Bounds, MAX_HEAD_BYTES};

/// How often it is looked whether a connection has anything to do.
const LOOK: Duration = Duration::from_millis(250);
/// How long accepting rests when the system has no descriptors left.
const ACCEPT_REST: Duration = Duration::from_millis(100);
/// The answer to one connection too many.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
Content-Type: text/plain\r\nContent-Length: 42\r\n\r\ntoo many connections; try again in a while";

/// The answer to a request that says twice where its body ends.
const TWO_LENGTHS: &str = "send either one Content-Length or one Transfer-Encoding, not more";

/// Serves until `stop`, then lets what is under way finish.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: &Bounds,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(bounds.connections));
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = open.join_next() => continue,
            () = stop.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_REST).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            debug!(most = bounds.connections, "too many connections");
            // A new socket takes this at once, or is gone.
            let _ = stream.try_write(FULL);
            continue;
        };
        // Without this each event of a stream waits for the client's acknowledgement.
        let _ = stream.set_nodelay(true);
        let connection = converse(stream, router.clone(), bounds.header_time, stop.clone());
        open.spawn(async move {
            connection.await;
            drop(place);
        });
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

async fn converse(
    stream: TcpStream,
    router: Router,
    header_time: Duration,
    stop: CancellationToken,
) {
    let asked = Arc::new(Asked::default());
    let mut patient = Patient {
        stream,
        heads: Heads::default(),
        kept: Bytes::new(),
        asked: asked.clone(),
        header_time,
        began: None,
        deadline: None,
    };
    loop {
        let service = answering(router.clone(), asked.clone());
        let io = TokioIo::new(patient);
        let connection =
            http1::Builder::new().max_buf_size(MAX_HEAD_BYTES).serve_connection(io, service);
        // In a box, so that what is put aside is small.
        let mut connection = Box::new(connection);
        // The way in which the connection ends is the client's affair.
        tokio::select! {
            _ = &mut *connection => return,
            () = stop.cancelled() => {
                Pin::new(&mut *connection).graceful_shutdown();
                let _ = connection.await;
                return;
            }
            () = asked.rests() => {}
        }
        let parts = connection.into_parts();
        patient = parts.io.into_inner();
        patient.kept = parts.read_buf;
        drop(parts.service);
        let has_news = !patient.kept.is_empty();
        tokio::select! {
            _ = patient.stream.readable(), if !has_news => {}
            () = stop.cancelled(), if !has_news => return,
            () = std::future::ready(()), if has_news => {}
        }
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Answer>, Infallible>> + Send>>;

/// Answers requests, and notes when an answer has been given to its end.
fn answering(
    router: Router,
    asked: Arc<Asked>,
) -> impl hyper::service::Service<
    hyper::Request<Incoming>,
    Response = Response<Answer>,
    Error = Infallible,
    Future = Answering,
> + Unpin {
    service_fn(move |mut request: hyper::Request<Incoming>| -> Answering {
        take_host_of_target(&mut request);
        let number = asked.begin();
        let under_way = UnderWay(asked.clone());
        let is_ambiguous = asked.is_ambiguous(number);
        let framing =
            if is_ambiguous { Framing::Ambiguous } else { Framing::of(request.headers()) };
        let work = match framing {
            Framing::Ambiguous => None,
            Framing::Chunks | Framing::Plain => Some(router.clone().call(request.map(Body::new))),
        };
        Box::pin(async move {
            let mut answer = match work {
                Some(work) => work.await?,
                None => refuse(StatusCode::BAD_REQUEST, TWO_LENGTHS),
            };
            if framing != Framing::Plain {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(answer.map(|body| Answer { body: Gathered::new(body), _under_way: under_way }))
        })
    })
}

/// Puts the host that a target names in the place of the header, which then counts for nothing
/// (RFC 9112, 3.2.2). Example: `POST http://evil.test/mcp`.
fn take_host_of_target<B>(request: &mut hyper::Request<B>) {
    let Some(authority) = request.uri().authority() else { return };
    match HeaderValue::from_str(authority.as_str()) {
        Ok(host) => request.headers_mut().insert(HOST, host),
        Err(_) => request.headers_mut().remove(HOST),
    };
}

/// How a request says where its body ends. Something between a client and us may read another end
/// than we do. The bytes behind ours would then pass for a request that no client sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// By a length, or it has none.
    Plain,
    /// By chunks. It is the last request of its connection.
    Chunks,
    /// By both, or twice by one of them.
    Ambiguous,
}

impl Framing {
    fn of(headers: &HeaderMap) -> Framing {
        match (headers.contains_key(TRANSFER_ENCODING), headers.contains_key(CONTENT_LENGTH)) {
            (false, _) => Framing::Plain,
            (true, false) => Framing::Chunks,
            (true, true) => Framing::Ambiguous,
        }
    }
}

/// An answer on its way: until its last byte is written its connection has something to do.
struct Answer {
    body: Gathered,
    _under_way: UnderWay,
}

impl hyper::body::Body for Answer {
    type Data = Run;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Run>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// One request, from its head to the end of its answer.
struct UnderWay(Arc<Asked>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Facts that the service and the reader of one connection tell each other.
struct Asked {
    /// How many requests have been read to the end of their heads.
    heads: AtomicU64,
    /// How many of them are not answered to the end.
    under_way: AtomicUsize,
    /// Something of an answer waits to be written.
    is_writing: AtomicBool,
    /// A head has begun.
    has_begun: AtomicBool,
    /// The number of the first request that says twice where it ends.
    ambiguous: AtomicU64,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            heads: AtomicU64::new(0),
            under_way: AtomicUsize::new(0),
            is_writing: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            ambiguous: AtomicU64::new(u64::MAX),
        }
    }
}

impl Asked {
    /// Counts a request; gives its number, from nought.
    fn begin(&self) -> u64 {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        self.heads.fetch_add(1, Ordering::AcqRel)
    }

    /// Whether a request says twice where it ends, or comes after one that does.
    fn is_ambiguous(&self, number: u64) -> bool {
        number >= self.ambiguous.load(Ordering::Acquire)
    }

    /// Whether a request has come whose answer is not on its way as a whole.
    fn is_answering(&self) -> bool {
        self.under_way.load(Ordering::Acquire) > 0 || self.is_writing.load(Ordering::Acquire)
    }

    /// Waits until nothing has been under way for a while.
    async fn rests(&self) {
        let mut before = None;
        loop {
            tokio::time::sleep(LOOK).await;
            let heads = self.heads.load(Ordering::Acquire);
            let is_idle = !self.is_answering() && !self.has_begun.load(Ordering::Acquire);
            if is_idle && before == Some(heads) {
                return;
            }
            before = is_idle.then_some(heads);
        }
    }
}

/// A stream that gives up on a head that does not come to its end. Bytes that come while a request
/// is being answered are its body, or the head of one that has to wait. Its time has not begun.
struct Patient {
    stream: TcpStream,
    /// Sees the heads as they were sent.
    heads: Heads,
    /// Bytes read and not yet understood when the connection was put aside.
    kept: Bytes,
    asked: Arc<Asked>,
    header_time: Duration,
    /// When the first bytes of a head came, and how many heads had come before.
    began: Option<(Instant, u64)>,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    /// Whether a head has been coming for too long.
    fn poll_overdue(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((began, _)) = self.began else { return false };
        let until = began + self.header_time;
        let deadline =
            self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        deadline.as_mut().poll(cx).is_ready()
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.kept.is_empty() {
            let before = buf.filled().len();
            let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
            if let Some(number) = self.heads.take(&buf.filled()[before..]) {
                self.asked.ambiguous.fetch_min(number, Ordering::AcqRel);
            }
            return polled;
        }
        let count = buf.remaining().min(self.kept.len());
        buf.put_slice(&self.kept.split_to(count));
        Poll::Ready(Ok(()))
    }

    /// A client that does not read its answer is not done with it.
    fn note_written<T>(&self, polled: Poll<T>) -> Poll<T> {
        if polled.is_pending() {
            self.asked.is_writing.store(true, Ordering::Release);
        }
        polled
    }

    fn forget(&mut self) {
        self.began = None;
        self.deadline = None;
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let heads = self.asked.heads.load(Ordering::Acquire);
        let is_over = self.began.is_some_and(|(_, before)| before != heads);
        let is_answering = self.asked.is_answering();
        if is_over || is_answering {
            self.forget();
        }
        let before = buf.filled().len();
        let polled = self.poll_bytes(cx, buf);
        if is_answering {
            return polled;
        }
        match polled {
            Poll::Ready(Ok(())) if buf.filled().len() > before && self.began.is_none() => {
                self.began = Some((Instant::now(), heads));
            }
            Poll::Pending if self.poll_overdue(cx) => {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            _ => {}
        }
        self.asked.has_begun.store(self.began.is_some(), Ordering::Release);
        // A client that sends one byte at a time is overdue all the same.
        let is_late = self.began.is_some_and(|(began, _)| began.elapsed() > self.header_time);
        if is_late { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { polled }
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note_written(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Asked for once all there was has been written.
        self.asked.is_writing.store(false, Ordering::Release);
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note_written(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_names_a_host_is_judged_by_it() {
        for (target, host) in [
            ("/mcp", "127.0.0.1"),
            ("http://evil.test/mcp", "evil.test"),
            ("http://localhost:7420/mcp", "localhost:7420"),
        ] {
            let request = hyper::Request::builder().uri(target).header(HOST, "127.0.0.1");
            let mut request = request.body(()).unwrap();
            take_host_of_target(&mut request);
            let hosts: Vec<&HeaderValue> = request.headers().get_all(HOST).iter().collect();
            assert_eq!(hosts, [host], "{target}");
        }
    }
}
