//! Streams of server-sent events, as HTTP carries them.

use std::{convert::Infallible, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderValue, header};
use tokio_util::sync::CancellationToken;

use crate::sse;

/// How often something is said on a silent stream, so that its client does not take it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A stream of messages with a sign of life now and then, until the gateway stops.
pub(super) fn events(
    messages: impl Stream<Item = Bytes> + Send + 'static,
    stop: CancellationToken,
) -> Response {
    encoded_events(messages.map(|message| sse::encode(&message)), stop)
}

/// A stream of events with a sign of life now and then.
pub(super) fn encoded_events(
    events: impl Stream<Item = Bytes> + Send + 'static,
    stop: CancellationToken,
) -> Response {
    let events = Box::pin(events);
    let framed = stream::unfold((events, stop), |(mut messages, stop)| async move {
        tokio::select! {
            () = stop.cancelled() => None,
            event = messages.next() => Some((Ok::<_, Infallible>(event?), (messages, stop))),
            () = tokio::time::sleep(KEEP_ALIVE) => {
                Some((Ok(Bytes::from_static(b": still here\n\n")), (messages, stop)))
            }
        }
    });
    event_response(Body::from_stream(framed))
}

pub(super) fn event_response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
