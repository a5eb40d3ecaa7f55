//! We are the client: every configured server is a Source with a life of its own.

mod backoff;
mod broken;
mod config;
mod conversation;
mod eras;
mod events;
mod flat;
mod guardian;
mod handshake;
mod http;
mod interpreter;
mod legacy_sse;
mod life;
mod link;
mod listing;
mod masked;
mod mend;
mod meter;
mod mux;
pub mod oauth;
mod passing;
mod polling;
mod process;
pub mod secretive;
mod secrets;
mod source;
mod stdio;
mod subscriptions;
mod toolbox;
mod variables;
mod watching;

use std::{
    collections::{BTreeMap, btree_map},
    sync::Arc,
};

use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use tracing::info;
use trove_core::{Gateway, SourceId, source::Outage};

pub use backoff::{CIRCUIT_INTERVAL, CIRCUIT_OPENS_AFTER, STABLE_AFTER};
pub use config::{Index, OauthClient, Protocol, Reach, Remote, UpstreamConfig, Watch};
pub use eras::Eras;
pub use guardian::{GuardianCommand, MARKER, watch_over};
pub use interpreter::missing_interpreter;
pub use passing::{Expose, Moved};
pub use process::ENV_ALLOW_LIST;
pub use secrets::Secrets;
pub use variables::{Dialect, ExpandError, Piece, Scope, Text, Variable};

use crate::{bounds::Bounds, kin::Kin, recipe::Shipped};
use source::{Shared, Upstream};
use watching::Wanted;

/// Has the last word before a server is started or reached, each time anew.
pub trait Gate: Send + Sync {
    /// Why it may not be, if so. This may read files.
    fn refusal(&self, id: &SourceId) -> Option<Outage>;
}

/// All configured servers, each living in a task of its own.
pub struct Upstreams {
    shared: Arc<Shared>,
    running: tokio::sync::Mutex<BTreeMap<SourceId, Running>>,
    /// The watched URIs of each server, kept while its entry changes or is away.
    wanted: parking_lot::Mutex<BTreeMap<SourceId, Arc<watch::Sender<Wanted>>>>,
}

struct Running {
    upstream: Arc<Upstream>,
    stop: CancellationToken,
    life: JoinHandle<()>,
}

impl Upstreams {
    /// No servers yet. `scope` is where variables in their configuration come from.
    pub fn new(
        gateway: &Gateway,
        scope: Arc<dyn Scope>,
        eras: Eras,
        guardian: Option<GuardianCommand>,
    ) -> Upstreams {
        let shared = Shared {
            feed: gateway.feed(),
            board: gateway.board().clone(),
            scope,
            eras,
            guardian_command: guardian,
            guardian: std::sync::OnceLock::new(),
            client: std::sync::OnceLock::new(),
            kin: Arc::default(),
            children: Arc::new(Semaphore::new(Bounds::default().children)),
            bounds: Bounds::default(),
            credentials: None,
            gate: None,
            recipes: Arc::default(),
        };
        Upstreams {
            shared: Arc::new(shared),
            running: Default::default(),
            wanted: Default::default(),
        }
    }

    /// Adds tokens for servers that ask for them. Call it before the first server starts.
    pub fn with_credentials(mut self, credentials: oauth::Credentials) -> Upstreams {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.credentials = Some(credentials);
        }
        self
    }

    /// Asks `gate` before each start. Call it before the first server starts.
    pub fn behind(mut self, gate: Arc<dyn Gate>) -> Upstreams {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.gate = Some(gate);
        }
        self
    }

    /// Sets the recipes for servers that are recognised. It is called before the first is started.
    pub fn with_recipes(mut self, recipes: Arc<[Shipped]>) -> Upstreams {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.recipes = recipes;
        }
        self
    }

    /// Sets other bounds. Call it before the first server starts.
    pub fn within(mut self, bounds: Bounds) -> Upstreams {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.children = Arc::new(Semaphore::new(bounds.children));
            shared.bounds = bounds;
        }
        self
    }

    /// Our identity for other Troves.
    pub fn kin(&self) -> Arc<Kin> {
        self.shared.kin.clone()
    }

    /// Makes the running servers those of `configs`: unchanged ones are left alone, new ones
    /// started, changed ones restarted, others stopped, all at once. Waits for no server to answer.
    pub async fn replace(&self, configs: Vec<UpstreamConfig>) {
        let mut running = self.running.lock().await;
        let mut wanted: BTreeMap<SourceId, UpstreamConfig> =
            configs.into_iter().map(|config| (config.id.clone(), config)).collect();
        let unwanted: Vec<SourceId> = running
            .iter()
            .filter(|(id, one)| wanted.get(*id) != Some(&one.upstream.config))
            .map(|(id, _)| id.clone())
            .collect();
        let ends: Vec<_> = unwanted
            .into_iter()
            .filter_map(|id| {
                let (one, next) = (running.remove(&id)?, wanted.remove(&id));
                one.stop.cancel();
                Some(self.succeed(id, one, next))
            })
            .collect();
        // A new one waits for the end of none but its own predecessor.
        for (id, config) in wanted {
            if let btree_map::Entry::Vacant(place) = running.entry(id) {
                place.insert(self.start(config).await);
            }
        }
        running.extend(futures_util::future::join_all(ends).await.into_iter().flatten());
    }

    /// Stops a server and starts it anew; `false` if none of that id runs.
    pub async fn restart(&self, id: &SourceId) -> bool {
        let mut running = self.running.lock().await;
        let Some(one) = running.remove(id) else { return false };
        let config = one.upstream.config.clone();
        running.extend(self.succeed(id.clone(), one, Some(config)).await);
        true
    }

    /// Stops a server, and starts what its entry is now, if there is one.
    async fn succeed(
        &self,
        id: SourceId,
        one: Running,
        next: Option<UpstreamConfig>,
    ) -> Option<(SourceId, Running)> {
        info!(source = %id, "stopping");
        one.end().await;
        if let Some(config) = next {
            return Some((id, self.start(config).await));
        }
        self.shared.feed.detach(id.clone()).await;
        self.shared.board.remove(&id);
        None
    }

    async fn start(&self, config: UpstreamConfig) -> Running {
        let id = config.id.clone();
        self.shared.board.add(&id, config.reach.word());
        let passing = config.passing();
        self.shared.board.update(&id, |status| status.passing = Some(passing));
        let wanted = {
            let mut all = self.wanted.lock();
            all.entry(id.clone()).or_insert_with(|| Arc::new(watch::Sender::default())).clone()
        };
        let upstream = Arc::new(Upstream::new(config, self.shared.clone(), wanted));
        self.shared.feed.attach(Arc::new(toolbox::made(&upstream))).await;
        let stop = CancellationToken::new();
        let life = tokio::spawn(life::live(upstream.clone(), stop.clone()));
        Running { upstream, stop, life }
    }

    async fn upstream(&self, id: &SourceId) -> Option<Arc<Upstream>> {
        self.running.lock().await.get(id).map(|one| one.upstream.clone())
    }

    /// The last lines a server wrote to stderr, oldest first.
    pub async fn stderr(&self, id: &SourceId) -> Vec<String> {
        let running = self.running.lock().await;
        running.get(id).map(|one| one.upstream.stderr.lines()).unwrap_or_default()
    }

    /// Stops all servers, at once, and waits for their ends.
    pub async fn shutdown(&self) {
        let all = std::mem::take(&mut *self.running.lock().await);
        futures_util::future::join_all(all.into_values().map(Running::end)).await;
    }
}

impl Running {
    async fn end(self) {
        self.stop.cancel();
        // A life that panicked has ended too.
        let _ = self.life.await;
    }
}

impl Reach {
    /// The word for the transport, e.g. `stdio`.
    pub fn word(&self) -> &'static str {
        match self {
            Reach::Stdio { .. } => "stdio",
            Reach::Http(_) => "http",
            Reach::Sse(_) => "sse",
        }
    }
}
