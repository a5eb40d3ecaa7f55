//! The web page: embedded files, and JSON over the Gateway for them to show.
//!
//! It is one more door. It asks the Gateway as every other door does, under the name of the
//! person who opened it. It changes documents of the guide, by the tools that clients have for it,
//! and servers, by the commands for them. The view of a client is made by the code that answers
//! the client.

mod activity;
mod acts;
mod answer;
mod api;
mod assets;
mod browse;
mod events;
mod find;
mod guide;
mod latency;
mod leads;
mod model;
mod query;
mod reading;
mod routes;
mod rows;
mod search;
mod show;
mod templates;

use std::{path::PathBuf, sync::Arc};

use axum::Router;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use trove_core::{
    Caller, Gateway,
    caller::{Door, Via},
};
use trove_mcp::{
    server::{Guard, Server},
    upstream::Upstreams,
};

use crate::app::Live;

/// The most pages that listen for changes at once.
const MAX_LISTENERS: usize = 64;

/// The parts of the page.
pub(crate) struct Parts {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) server: Arc<Server>,
    pub(crate) live: Arc<Live>,
    pub(crate) guard: Guard,
    /// The audit log, where one is kept.
    pub(crate) audit: Option<PathBuf>,
    pub(crate) stop: CancellationToken,
}

/// The state that all routes of the page share.
struct Web {
    gateway: Arc<Gateway>,
    server: Arc<Server>,
    live: Arc<Live>,
    guard: Guard,
    audit: Option<PathBuf>,
    rows: rows::Shelf,
    held: reading::Held,
    latency: latency::Latency,
    listeners: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Web {
    /// The person who opened the page.
    fn caller(&self) -> Caller {
        let via = Via::Web;
        let client = via.client().map(Into::into);
        Caller { via, client, ..Caller::behind(Door::Http) }
    }

    fn upstreams(&self) -> &Upstreams {
        self.live.upstreams()
    }
}

/// The routes of the page, guarded; the second is the work that keeps its figures, to be
/// awaited by the caller and ended by `stop`.
pub(crate) fn open(parts: Parts) -> (Router, impl Future<Output = ()> + Send + 'static) {
    let Parts { gateway, server, live, guard, audit, stop } = parts;
    let web = Arc::new(Web {
        gateway,
        server,
        live,
        guard,
        audit,
        rows: rows::Shelf::default(),
        held: reading::Held::default(),
        latency: latency::Latency::default(),
        listeners: Arc::new(Semaphore::new(MAX_LISTENERS)),
        stop,
    });
    let sampling = web.clone();
    let work = async move { sampling.latency.follow(&sampling.gateway, &sampling.stop).await };
    (routes::routes(&web), work)
}
