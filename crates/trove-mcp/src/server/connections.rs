//! The connections of the HTTP door: so many at a time, and none that dawdles over the head
//! of a request.
//!
//! A connection on which nothing is under way may stay; one that has begun a request must
//! finish saying what it wants. Past the most, a new one is told so and closed.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::Router;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
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

use crate::bounds::{Bounds, MAX_HEAD_BYTES};

/// How long accepting rests when the system has no descriptors left.
const ACCEPT_REST: Duration = Duration::from_millis(100);
/// What one connection too many is told.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
Content-Type: text/plain\r\nContent-Length: 42\r\n\r\ntoo many connections; try again in a while";

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
            // A socket nobody has written to yet takes this at once, or is gone.
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
    let io = TokioIo::new(Patient {
        stream,
        asked: asked.clone(),
        header_time,
        began: None,
        deadline: None,
    });
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        asked.begin();
        let answering = router.clone().call(request.map(axum::body::Body::new));
        let asked = asked.clone();
        async move {
            let answer = answering.await;
            asked.is_answering.store(false, Ordering::Release);
            answer
        }
    });
    let connection =
        http1::Builder::new().max_buf_size(MAX_HEAD_BYTES).serve_connection(io, service);
    let mut connection = std::pin::pin!(connection);
    // Its end, whatever it was, is the client's affair.
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = stop.cancelled() => None,
    };
    if ended.is_none() {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// What the service knows of a connection and its reader must.
#[derive(Default)]
struct Asked {
    /// How many requests have been read to the end of their heads.
    heads: AtomicU64,
    /// What is read now is the body of a request.
    is_answering: AtomicBool,
}

impl Asked {
    fn begin(&self) {
        self.heads.fetch_add(1, Ordering::AcqRel);
        self.is_answering.store(true, Ordering::Release);
    }
}

/// A stream that gives up on a head that does not come to its end.
struct Patient {
    stream: TcpStream,
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
        let is_body = self.asked.is_answering.load(Ordering::Acquire);
        if is_over || is_body {
            self.forget();
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if is_body {
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
        // Whoever sends a byte at a time is overdue all the same.
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
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
