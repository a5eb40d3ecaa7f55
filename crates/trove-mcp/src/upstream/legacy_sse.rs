//! The HTTP+SSE transport of 2024-11-05: answers arrive on one long stream, requests
//! go by POST to the address that the stream names first.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tracing::{debug, warn};
use trove_core::SourceId;

use super::{
    http::{is_event_stream, read_body, unauthorized, unreachable},
    link::{Inbox, LinkError},
    mux::{Mux, MuxLink},
    oauth::Bearer,
};
use crate::{
    bounds::Bounds,
    sse::Parser,
    wire::{self, Message},
};

/// How long the server may take to name the address for requests.
const MAX_WAIT_FOR_ENDPOINT: Duration = Duration::from_secs(10);
/// How long the server may take to take a request.
const MAX_POST: Duration = Duration::from_secs(30);
/// How many requests are posted at once.
const MAX_POSTS: usize = 16;

/// Opens the stream and learns where requests go.
pub(crate) async fn connect(
    source: &SourceId,
    client: Client,
    url: &str,
    mut headers: HeaderMap,
    inbox: Arc<Inbox>,
    bounds: &Bounds,
    bearer: Option<Bearer>,
) -> Result<MuxLink, LinkError> {
    let accept = HeaderValue::from_static("text/event-stream");
    // The whole connection lives with the token it began with.
    let token = match &bearer {
        Some(bearer) => bearer.header().await,
        None => None,
    };
    let has_token = token.is_some();
    headers.extend(token.map(|token| (AUTHORIZATION, token)));
    let sent = client.get(url).headers(headers.clone()).header(ACCEPT, accept).send().await;
    let response = sent.map_err(|error| unreachable(&error))?;
    let status = response.status();
    if status == StatusCode::UNAUTHORIZED {
        return Err(unauthorized(source, headers.contains_key(AUTHORIZATION) && !has_token));
    }
    if !status.is_success() || !is_event_stream(&response) {
        let body = read_body(response, 4096).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&body).chars().take(200).collect();
        return Err(LinkError::Status(status.as_u16(), text));
    }
    let base = response.url().clone();
    let (mux, out) = Mux::new(source.clone(), inbox, bounds.waiting);
    let (found, endpoint) = oneshot::channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(receive(response, bounds.message_bytes, mux.clone(), found));
    let endpoint = tokio::time::timeout(MAX_WAIT_FOR_ENDPOINT, endpoint).await;
    let endpoint = endpoint.map_err(|_| LinkError::TimedOut(MAX_WAIT_FOR_ENDPOINT))?;
    let endpoint = endpoint.map_err(|_| LinkError::Lost)?;
    let target = same_origin(&base, &endpoint)?;
    let posts = Posts { client, target, headers, mux: mux.clone() };
    tasks.spawn(posts.run(out));
    Ok(MuxLink::new(mux, tasks, None))
}

/// The address for requests, which must be on the server we were sent to.
fn same_origin(base: &Url, endpoint: &str) -> Result<Url, LinkError> {
    let bad = |what: &str| {
        LinkError::Malformed(format!("the server named {what} as the address for requests"))
    };
    let target = base.join(endpoint).map_err(|_| bad("no URL"))?;
    if target.origin() == base.origin() { Ok(target) } else { Err(bad("another server")) }
}

async fn receive(
    response: Response,
    longest: usize,
    mux: Arc<Mux>,
    found: oneshot::Sender<String>,
) {
    let mut found = Some(found);
    let mut parser = Parser::new(longest);
    let mut chunks = response.bytes_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        if parser.push(&chunk).is_err() {
            warn!(limit = longest, "an event is too long; connection given up");
            break;
        }
        while let Some(event) = parser.next() {
            if event.name == "endpoint" {
                if let Some(found) = found.take() {
                    let _ = found.send(String::from_utf8_lossy(&event.data).into_owned());
                }
            } else if !mux.deliver(event.data).await {
                debug!("an event that is no message; skipped");
            }
        }
    }
    mux.close();
}

struct Posts {
    client: Client,
    target: Url,
    headers: HeaderMap,
    mux: Arc<Mux>,
}

impl Posts {
    async fn run(self, mut out: mpsc::Receiver<Bytes>) {
        let mut under_way = JoinSet::new();
        while let Some(message) = out.recv().await {
            while under_way.len() >= MAX_POSTS {
                under_way.join_next().await;
            }
            let id = match wire::parse(&message) {
                Ok(Message::Request(request)) => request.id.as_str().parse().ok(),
                Ok(_) | Err(_) => None,
            };
            let request = self
                .client
                .post(self.target.clone())
                .headers(self.headers.clone())
                .header(CONTENT_TYPE, "application/json")
                .body(message)
                .send();
            let mux = self.mux.clone();
            under_way.spawn(async move {
                match tokio::time::timeout(MAX_POST, request).await {
                    Ok(Ok(response)) if response.status().is_success() => {}
                    // This one was not wanted; the connection is as good as before.
                    Ok(Ok(response)) if !is_end(response.status()) => {
                        let text = "the server refused the request".to_owned();
                        mux.fail(id, LinkError::Status(response.status().as_u16(), text));
                    }
                    Ok(Ok(_) | Err(_)) | Err(_) => mux.close(),
                }
            });
        }
    }
}

/// Whether a status says that the connection itself is gone.
fn is_end(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) || status.is_server_error()
}
