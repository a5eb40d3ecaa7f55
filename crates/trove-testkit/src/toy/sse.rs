//! The older HTTP+SSE transport: every answer comes back on the stream of `GET /sse`, even to posts
//! on `/message`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use tokio::sync::mpsc;

use super::dispatch;
use super::floods::{self, Stream};
use super::http::{Door, events, listen, received};
use super::peer::{OUTBOX, Peer, lock};
use super::state::Toy;
use super::wire::Incoming;

/// Serves for ever.
pub(super) async fn serve(toy: Arc<Toy>, address: SocketAddr) -> anyhow::Result<()> {
    let door = Arc::new(Door::new(toy));
    let routes = Router::new().route("/sse", get(open)).route("/message", post(message));
    listen(&door.toy, address, routes.with_state(Arc::clone(&door))).await
}

async fn open(State(door): State<Arc<Door>>) -> Response {
    let (out, frames) = mpsc::channel(OUTBOX);
    let (name, _peer) = door.open(Peer::with_outlet(out.clone()));
    floods::start(&door.toy, &out, Stream::Events);
    let session = name.clone();
    door.toy.tasks.spawn({
        let door = Arc::clone(&door);
        async move {
            out.closed().await;
            door.close(&session);
        }
    });
    events(format!("event: endpoint\ndata: /message?session={name}\n\n"), received(frames))
}

async fn message(State(door): State<Arc<Door>>, uri: Uri, body: Bytes) -> Response {
    let session = uri.query().and_then(|query| query.strip_prefix("session=")).unwrap_or_default();
    let Some(peer) = door.find(session) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let Some(out) = lock(&peer.out).clone() else {
        return StatusCode::GONE.into_response();
    };
    match Incoming::parse(&body) {
        Ok(incoming) => {
            if let Some(exchange) = dispatch::receive(&door.toy, &peer, out, incoming) {
                door.toy.tasks.spawn(exchange.run());
            }
            StatusCode::ACCEPTED.into_response()
        }
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}
