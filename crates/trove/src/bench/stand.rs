//! Both ways to the same servers: directly, and through a Trove that keeps nothing.
//!
//! The servers run twice, once for each way, as they do for two clients of one user. An unapproved
//! server waits for approval here as everywhere.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use trove_core::{Gateway, Source, SourceId, tools::Tools};
use trove_mcp::{
    bounds::Bounds,
    recipe::Choice,
    server::{Guard, Identity, Server},
    upstream::{
        Eras, Expose, Index, Moved, OauthClient, Protocol, Reach, Remote, Scope, Text,
        UpstreamConfig, Upstreams, Watch, oauth::Credentials,
    },
};

use crate::{
    app::{access, guardian, memory_of, tool_settings},
    approval::{Admission, Seals, Words},
    config::{Config, HostScope, Loaded, ProcessEnv},
};

/// How often we look whether something awaited is there.
const LOOK: Duration = Duration::from_millis(5);
/// How long one answer of Trove may take, its own wait for a server included.
const LONGEST_ANSWER: Duration = Duration::from_secs(120);
/// How long the door may take to close.
const FAREWELL: Duration = Duration::from_secs(5);
const DOOR: &str = "trove";

/// A client with its servers.
pub(super) struct Side {
    pub(super) gateway: Arc<Gateway>,
    seals: Arc<Seals>,
    upstreams: Arc<Upstreams>,
}

impl Side {
    async fn new(state: PathBuf, scope: Arc<dyn Scope>, bounds: &Bounds) -> Side {
        let gateway =
            Gateway::new(trove_core::gateway::Parts::new(env!("CARGO_PKG_VERSION"))).await;
        let seals = Arc::new(Seals::new(scope.clone(), gateway.board().clone()));
        let upstreams = Upstreams::new(&gateway, scope, Eras::default(), guardian());
        let upstreams = upstreams.within(bounds.clone()).behind(seals.clone());
        let upstreams = upstreams.with_credentials(Credentials::in_folder(&state));
        Side { gateway, seals, upstreams: Arc::new(upstreams) }
    }

    /// Starts the servers of a configuration that may run.
    async fn admit(&self, loaded: &Loaded, is_waived: bool) {
        // Only a gateway that serves listens to descriptions.
        if let Some(file) = loaded.file_to_name() {
            self.gateway.board().name_configuration(file);
        }
        let words = Words::of(&loaded.config.state_dir.value, &memory_of(loaded));
        let keeping = (words, is_waived);
        let board = self.gateway.board().clone();
        Admission::new(self.upstreams.clone(), board, self.seals.clone(), keeping)
            .apply(loaded)
            .await;
        // Until then a caller who asks for a list waits in case more is to come.
        self.gateway.feed().all_attached().await;
    }

    /// Waits until every server is listed or has failed, but no longer than that.
    pub(super) async fn settle(&self, wait: Duration) {
        let settled = async {
            while self.gateway.board().all().values().any(|status| !status.is_settled()) {
                tokio::time::sleep(LOOK).await;
            }
        };
        let _ = tokio::time::timeout(wait, settled).await;
    }

    /// A server, as far as it can be asked.
    pub(super) async fn source(&self, id: &SourceId) -> Option<Arc<dyn Source>> {
        Some(self.gateway.snapshot().await.member(id)?.source.clone())
    }

    /// Why a server cannot be asked.
    pub(super) fn trouble(&self, id: &SourceId) -> Option<String> {
        let status = self.gateway.board().of(id)?;
        let waits = || "it has not answered yet; --wait gives it more seconds".to_owned();
        let is_settled = status.is_settled();
        let error = status.last_error.map(|outage| outage.to_string());
        if is_settled { error } else { Some(error.unwrap_or_else(waits)) }
    }

    async fn shutdown(&self) {
        self.upstreams.shutdown().await;
        self.gateway.shutdown().await;
    }
}

/// Everything that runs while it is measured.
pub(super) struct Stand {
    /// The servers without Trove.
    pub(super) direct: Side,
    /// Trove with the servers.
    pub(super) trove: Side,
    /// A client that has Trove as its only server.
    client: Side,
    stop: CancellationToken,
    door: JoinHandle<()>,
}

impl Stand {
    pub(super) async fn start(loaded: &Loaded, is_waived: bool) -> std::io::Result<Stand> {
        let config = &loaded.config;
        let folder = std::env::current_dir().unwrap_or_default();
        let scope: Arc<dyn Scope> = Arc::new(HostScope::new(ProcessEnv, folder));
        let state = &config.state_dir.value;
        let side = || Side::new(state.clone(), scope.clone(), &config.bounds);
        let (direct, trove, client) = (side().await, side().await, side().await);
        trove.gateway.set_access(access(config));
        trove.gateway.set_cache_ttl(config.discovery.cache_ttl.value);
        let stop = CancellationToken::new();
        let (address, token, door) = open(&trove, config, stop.clone()).await?;
        direct.admit(loaded, is_waived).await;
        trove.admit(loaded, is_waived).await;
        client.upstreams.replace(vec![entry(address, &token)]).await;
        client.gateway.feed().all_attached().await;
        Ok(Stand { direct, trove, client, stop, door })
    }

    /// Waits until every server is listed or has failed, in both ways.
    pub(super) async fn settle(&self, wait: Duration) {
        tokio::join!(self.direct.settle(wait), self.trove.settle(wait), self.client.settle(wait));
    }

    /// Trove, as a client of it asks.
    pub(super) async fn through(&self) -> Option<Arc<dyn Source>> {
        self.client.source(&SourceId::normalise(DOOR)).await
    }

    pub(super) async fn shutdown(self) {
        self.client.shutdown().await;
        self.stop.cancel();
        // It ends by itself once its only client is gone, or else with us.
        let _ = tokio::time::timeout(FAREWELL, self.door).await;
        tokio::join!(self.direct.shutdown(), self.trove.shutdown());
    }
}

/// Opens a door on this machine for callers with a token that is made for this run.
async fn open(
    trove: &Side,
    config: &Config,
    stop: CancellationToken,
) -> std::io::Result<(SocketAddr, String, JoinHandle<()>)> {
    let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let token = trove_core::hex(&rand::random::<[u8; 24]>());
    let tools = Tools::new(trove.gateway.clone(), tool_settings(config));
    let server = Server::within(trove.gateway.clone(), tools, config.bounds.clone());
    let guard = Guard::new(Identity::Token(token.clone()), address);
    let router = trove_mcp::server::router(server, guard, stop.clone());
    let bounds = config.bounds.clone();
    let door = tokio::spawn(async move {
        trove_mcp::server::serve(listener, router, &bounds, stop).await;
    });
    Ok((address, token, door))
}

/// Trove as a server of a client.
fn entry(address: SocketAddr, token: &str) -> UpstreamConfig {
    let header = ("Authorization".to_owned(), Text::plain(format!("Bearer {token}")));
    UpstreamConfig {
        id: SourceId::normalise(DOOR),
        reach: Reach::Http(Remote {
            url: Text::plain(format!("http://{address}/mcp")),
            headers: BTreeMap::from([header]),
            oauth: OauthClient::default(),
        }),
        protocol: Protocol::Auto,
        expose: Expose::Resources,
        moved: Moved::default(),
        index: Index::Off,
        is_public: false,
        watch: Watch::Notify,
        timeout: LONGEST_ANSWER,
        has_flat_schemas: false,
        tool_prefix: None,
        recipe: Choice::Off,
        is_searched: false,
    }
}
