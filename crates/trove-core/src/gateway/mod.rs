//! The use cases; the only front door.
//!
//! Every door, the MCP server and the command line alike, asks here and nowhere else,
//! so that what holds for one holds for all. The gateway has no state of its own: it
//! joins the parts.

mod actions;
mod error;
mod resources;
mod views;
mod watches;

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use tokio::{sync::broadcast, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

pub use actions::Action;
pub use error::AskError;
pub use resources::{ListAnswer, Reading, Watched};
pub use views::View;
pub use watches::MAX_WATCHES;

use crate::{
    about::{About, Facts},
    access::Access,
    caller::Caller,
    catalogue::{Catalogue, Change, Feed, Snapshot, shelf::Shelf},
    json::Json,
    source::Source,
    status::StatusBoard,
};
use views::Views;
use watches::Watches;

/// How long a question waits for what was remembered from the last run.
const MAX_LOADING: Duration = Duration::from_secs(2);

/// The parts, joined.
pub struct Gateway {
    catalogue: Arc<Catalogue>,
    board: Arc<StatusBoard>,
    access: ArcSwap<Access>,
    views: Views,
    watches: Watches,
    stop: CancellationToken,
    writer: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

impl Gateway {
    /// Starts a gateway that serves only what it says about itself.
    pub async fn start(version: &'static str, shelf: Option<Arc<dyn Shelf>>) -> Arc<Gateway> {
        let board = Arc::new(StatusBoard::default());
        let stop = CancellationToken::new();
        let (catalogue, writer) = Catalogue::start(board.clone(), shelf, stop.clone());
        let gateway = Arc::new(Gateway {
            catalogue: Arc::new(catalogue),
            board: board.clone(),
            access: ArcSwap::default(),
            views: Views::default(),
            watches: Watches::default(),
            stop,
            writer: tokio::sync::Mutex::new(Some(writer)),
        });
        // Weak: the gateway holds About through the catalogue.
        let held = Arc::downgrade(&gateway);
        let facts = Facts {
            version,
            started: Instant::now(),
            board,
            capabilities: Box::new(move |caller| {
                held.upgrade().map(|gateway| capabilities(&gateway.current_view(caller)))
            }),
        };
        gateway.attach_builtin(Arc::new(About::new(facts))).await;
        gateway
    }

    /// Adds a Source that is part of the gateway.
    pub async fn attach_builtin(&self, source: Arc<dyn Source>) {
        let id = source.id().clone();
        self.board.add(&id, "builtin");
        self.board.update(&id, |status| status.state = crate::status::State::Ready);
        let feed = self.catalogue.feed();
        feed.attach(source).await;
        feed.report(&id, crate::source::SourceEvent::Ready).await;
    }

    /// Where Sources report to.
    pub fn feed(&self) -> Feed {
        self.catalogue.feed()
    }

    /// What each Source says about itself.
    pub fn board(&self) -> &Arc<StatusBoard> {
        &self.board
    }

    /// Changes from now on.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.catalogue.changes()
    }

    /// The Snapshot of this moment, whatever is in it by now.
    pub fn current(&self) -> Arc<Snapshot> {
        self.catalogue.snapshot()
    }

    /// The Snapshot of this moment, once what was remembered is in it.
    pub async fn snapshot(&self) -> Arc<Snapshot> {
        if !self.catalogue.is_loaded() {
            // A slow disk must not stop us: after the wait the answer is what there is.
            let _ = tokio::time::timeout(MAX_LOADING, self.catalogue.loaded()).await;
        }
        self.catalogue.snapshot()
    }

    /// What `caller` sees of the catalogue, once what was remembered is in it.
    pub async fn view(&self, caller: &Caller) -> Arc<View> {
        self.views.of(self.snapshot().await, &self.access.load_full(), caller)
    }

    /// What `caller` sees of the catalogue of this moment.
    pub fn current_view(&self, caller: &Caller) -> Arc<View> {
        self.views.of(self.current(), &self.access.load_full(), caller)
    }

    /// The rules in force.
    pub fn access(&self) -> Arc<Access> {
        self.access.load_full()
    }

    /// Puts other rules in force, for every question from now on.
    pub fn set_access(&self, access: Access) {
        self.access.store(Arc::new(access));
    }

    /// Stops the writer and waits for it.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        if let Some(writer) = self.writer.lock().await.take() {
            let _ = writer.await;
        }
    }
}

/// What the gateway serves, as the tables have it.
fn capabilities(view: &View) -> crate::about::Capabilities {
    use crate::about::{Capabilities, Item, MAX_SHOWN};
    let named = |name: &str, entry: &Json| Item {
        uri: None,
        name: Some(name.to_owned()),
        description: entry.get_str("description"),
    };
    let addressed = |uri: &str, entry: &Json| Item {
        uri: Some(uri.to_owned()),
        name: entry.get_str("name"),
        description: entry.get_str("description"),
    };
    let snapshot = view.snapshot();
    let resources = view.resources().map(|(r, _)| r).take(MAX_SHOWN);
    let templates = view.templates().map(|(t, _)| t).take(MAX_SHOWN);
    Capabilities {
        tools: snapshot.tools().iter().map(|t| named(&t.public, &t.entry)).collect(),
        prompts: snapshot.prompts().iter().map(|p| named(&p.public, &p.entry)).collect(),
        resources: resources.map(|r| addressed(r.public.as_str(), &r.entry)).collect(),
        templates: templates.map(|t| addressed(t.public.as_str(), &t.entry)).collect(),
        resources_total: view.resource_count(),
        templates_total: view.template_count(),
    }
}
