//! The composition root: Config → parts → running → drained.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use parking_lot::Mutex;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use trove_core::{
    Gateway, SourceId,
    catalogue::shelf::FileShelf,
    files::Home,
    flags::Flags,
    gateway::{Index, Opening, Parts},
    knowledge::Knowledge,
    tools::Tools,
};
use trove_mcp::{
    bounds::Bounds,
    seal::{Ring, Seal},
    server::{Memory, Server, SessionNotes},
    upstream::{Eras, Scope, Upstreams, oauth::Credentials},
};

mod door;
mod index;
mod parts;

use index::Opened;
use parts::{Guide, audit_file, index_rules, make_state, parts_of};
pub(crate) use parts::{access, guardian, offered, open_audit, open_flags, tool_settings};

use crate::{
    approval::{Admission, FolderAdmission, Seals, Words},
    config::{self, Config, HostScope, Loaded, ProcessEnv},
    describe, errand,
    keys::{self, BadKeys},
    progress, reload, rest,
    signals::Signals,
    stdio,
    style::Paint,
    web,
};

/// How long requests under way may take to finish once we are told to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// The parts that follow the configuration while it changes.
pub struct Live {
    gateway: Arc<Gateway>,
    tools: Arc<Tools>,
    upstreams: Arc<Upstreams>,
    knowledge: Arc<Knowledge>,
    folder: PathBuf,
    home: Home,
    /// Shared by all doors.
    memory: Memory,
    /// Whether this run finds by meaning; that is settled at the start.
    is_semantic: bool,
    pub(crate) admission: Admission,
    folders: FolderAdmission,
    /// The configuration file, if the user named it.
    named_file: Option<PathBuf>,
    /// The configuration of the start, of which limits, doors and audit hold until the end.
    settled: Config,
    /// The doors that are open.
    doors: Mutex<Vec<&'static str>>,
    /// The configuration in force, as it may be shown.
    shown: Mutex<serde_json::Value>,
    /// The part of the file on the disk that is not in force, and why.
    pending: Mutex<Pending>,
}

/// The part of the configuration file that is not in force.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub(crate) struct Pending {
    /// Why all of it was refused.
    pub(crate) refused: Option<&'static str>,
    /// Its problems.
    pub(crate) problems: Vec<config::Problem>,
    /// The sections that a restart takes over.
    pub(crate) after_restart: Vec<&'static str>,
}

impl Live {
    /// The gateway.
    pub(crate) fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// The tools.
    pub(crate) fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The servers.
    pub(crate) fn upstreams(&self) -> &Upstreams {
        &self.upstreams
    }

    /// The configuration in force, secrets masked.
    pub(crate) fn shown(&self) -> serde_json::Value {
        self.shown.lock().clone()
    }

    /// The configuration file, if the user named it; else every command finds it.
    pub(crate) fn named_file(&self) -> Option<&PathBuf> {
        self.named_file.as_ref()
    }

    /// The part of the configuration file that is not in force.
    pub(crate) fn pending(&self) -> Pending {
        self.pending.lock().clone()
    }

    pub(crate) fn set_pending(&self, pending: Pending) {
        *self.pending.lock() = pending;
    }

    /// Puts the keys in force that seal what clients carry. Without this each run has its own.
    pub(crate) fn take_keys(&self, config: &Config) -> Result<(), BadKeys> {
        let scope = HostScope::new(ProcessEnv, self.folder.clone());
        if let Some(ring) = keys::load(&config.keys, &scope, &self.home)? {
            self.memory.seal.rotate(ring);
        }
        Ok(())
    }

    /// Puts a configuration in force; only what differs is restarted.
    pub(crate) async fn apply(&self, loaded: &Loaded) {
        let config = &loaded.config;
        self.gateway.set_access(access(config));
        self.gateway.set_cache_ttl(config.discovery.cache_ttl.value);
        self.gateway
            .crawl_settings
            .set(config.discovery.max_content_bytes.value, config.discovery.parallel.value);
        self.gateway.crawl_settings.set_rules(index_rules(config));
        self.tools.configure(tool_settings(config));
        if let Some(programs) = self.gateway.programs() {
            programs.expect(config.code_enabled.value);
        }
        self.publish(config);
        self.knowledge.reconfigure(config.guide(&self.folder)).await;
        *self.shown.lock() = config::show(config);
        self.folders.apply(loaded).await;
        self.admission.apply(loaded).await;
    }
}

impl Live {
    /// Says what holds.
    fn publish(&self, config: &Config) {
        let doors = self.doors.lock().clone();
        let (config_then, is_semantic) = (&self.settled, self.is_semantic);
        let programs = self.gateway.programs().map(|programs| programs.rules());
        let settled =
            describe::Settled { config: config_then, is_semantic, doors: &doors, programs };
        let (server, security) = describe::settings(config, &settled);
        self.gateway.publish_settings(server, security);
    }

    fn open_door(&self, door: &'static str, config: &Config) {
        self.doors.lock().push(door);
        self.publish(config);
    }

    /// The sections of a configuration that differ from what was settled at the start.
    pub(crate) fn unsettled(&self, config: &Config) -> Vec<&'static str> {
        let then = &self.settled;
        let all = [
            ("limits", config.bounds != then.bounds),
            ("http", config.http != then.http),
            ("auth", config.tokens != then.tokens),
            ("audit", config.audit != then.audit),
        ];
        all.into_iter().filter(|(_, differs)| *differs).map(|(section, _)| section).collect()
    }
}

/// A running gateway with its servers.
pub struct App {
    pub gateway: Arc<Gateway>,
    pub knowledge: Arc<Knowledge>,
    pub flags: Arc<Flags>,
    live: Arc<Live>,
    state: PathBuf,
    home: Home,
    stop: CancellationToken,
    doors: JoinSet<()>,
}

/// The memory that all doors share, with keys of this run alone until others are taken.
fn shared_memory(upstreams: &Upstreams, home: &Home) -> Memory {
    Memory {
        kin: upstreams.kin(),
        seal: Arc::new(Seal::new(Ring::random())),
        notes: Arc::new(SessionNotes::in_home(home)),
    }
}

/// The state folder, made if it is not there.
fn home_in(state: &Path) -> Home {
    if let Err(error) = make_state(state) {
        warn!(%error, "the state folder cannot be made; nothing will be remembered");
    }
    Home::at(state)
}

/// The index of a configuration, to be opened beside everything else.
fn index_of(loaded: &Loaded, place: Opening, is_semantic: bool) -> Opened {
    let config = &loaded.config;
    let folder = config.state_dir.value.join("index").join(memory_of(loaded));
    let max_bytes = config.bounds.gateway.index_bytes;
    Opened { place, folder, is_semantic, max_bytes }
}

impl App {
    /// Starts the gateway and all servers that may run; waits for none of them. `is_waived`:
    /// those that are not approved may run too.
    pub async fn start(loaded: &Loaded, is_waived: bool) -> App {
        let config = &loaded.config;
        let state = config.state_dir.value.clone();
        let home = home_in(&state);
        let shelf = FileShelf::new(home.clone(), state.join("catalogue").join(memory_of(loaded)));
        let workspace = std::env::current_dir().unwrap_or_default();
        let stop = CancellationToken::new();
        let mut doors = JoinSet::new();
        let scope: Arc<dyn Scope> = Arc::new(HostScope::new(ProcessEnv, workspace.clone()));
        let flags = Arc::new(open_flags(&state));
        let guide = Guide::open(loaded, &workspace, &flags).await;
        let knowledge = guide.knowledge.clone();
        let (index, opening) = Index::opening();
        let parts = Parts {
            shelf: Some(Arc::new(shelf)),
            flags: Some(flags.clone()),
            knowledge: Some(knowledge.clone()),
            index,
            ..parts_of(config)
        };
        let gateway = Gateway::new(parts).await;
        if let Some(file) = loaded.file_to_name() {
            gateway.board().name_configuration(file);
        }
        guide.follow(&gateway, &stop, &mut doors);
        let tools = Tools::new(gateway.clone(), tool_settings(config));
        let seals = Arc::new(Seals::new(scope.clone(), gateway.board().clone()));
        let upstreams = Upstreams::new(&gateway, scope, Eras::in_folder(&state), guardian());
        let upstreams = upstreams.with_recipes(config::shipped_recipes().clone());
        let upstreams = upstreams.within(config.bounds.clone()).behind(seals.clone());
        let upstreams = Arc::new(upstreams.with_credentials(Credentials::in_folder(&state)));
        let keeping = (Words::of(&state, &memory_of(loaded)), is_waived);
        let folders = FolderAdmission::new(&gateway, &state, is_waived);
        let admission = Admission::new(upstreams.clone(), gateway.board().clone(), seals, keeping);
        let is_semantic = cfg!(feature = "semantic") && config.discovery.is_semantic.value;
        let live = Arc::new(Live {
            gateway: gateway.clone(),
            tools,
            memory: shared_memory(&upstreams, &home),
            upstreams,
            knowledge: knowledge.clone(),
            folder: workspace,
            home: home.clone(),
            is_semantic,
            admission,
            folders,
            named_file: loaded.origin.clone().filter(|_| loaded.found == config::Found::Named),
            settled: config.clone(),
            doors: Mutex::default(),
            shown: Mutex::default(),
            pending: Mutex::default(),
        });
        live.apply(loaded).await;
        doors.spawn(live.admission.listener().clone().follow(gateway.clone(), stop.clone()));
        gateway.feed().all_attached().await;
        index_of(loaded, opening, is_semantic).open(&gateway, &stop, &mut doors);
        doors.spawn(live.tools.clone().follow(stop.clone()));
        doors.spawn(rest::watch(stop.clone()));
        App { gateway, knowledge, flags, live, state, home, stop, doors }
    }

    /// The parts behind every door.
    pub(crate) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// The servers.
    pub fn upstreams(&self) -> &Upstreams {
        &self.live.upstreams
    }

    /// Decides which servers may run, and which wait for approval.
    pub fn admission(&self) -> &Admission {
        &self.live.admission
    }

    /// The servers and folders that wait for approval.
    pub(crate) fn waiting(&self) -> Vec<SourceId> {
        let mut waiting = self.live.admission.waiting();
        waiting.extend(self.live.folders.waiting());
        waiting
    }

    fn server(&self, bounds: &Bounds) -> Arc<Server> {
        let (gateway, tools) = (self.gateway.clone(), self.live.tools.clone());
        Server::of(gateway, tools, bounds.clone(), self.live.memory.clone())
    }

    /// Opens the HTTP door and gives its address.
    pub async fn open_http(
        &mut self,
        config: &Config,
    ) -> anyhow::Result<(SocketAddr, Option<String>)> {
        let wanted = config.http.addr.value;
        let listener = TcpListener::bind(wanted).await.with_context(|| {
            format!("cannot listen on {wanted}; is Trove running already? Use --http with another port, or port 0")
        })?;
        let address = listener.local_addr()?;
        self.live.open_door("http", config);
        let (guard, token) = door::guard(config, address, &self.state)?;
        let guard = guard.noting(self.gateway.clone());
        let server = self.server(&config.bounds);
        let (page, figures) = web::open(web::Parts {
            gateway: self.gateway.clone(),
            server: server.clone(),
            live: self.live.clone(),
            guard: guard.clone(),
            audit: config.audit.enabled.value.then(|| audit_file(config)),
            stop: self.stop.clone(),
        });
        self.doors.spawn(figures);
        let stop = self.stop.clone();
        let router = if config.http.has_sse.value {
            trove_mcp::server::router_with_sse(server, guard, stop)
        } else {
            trove_mcp::server::router(server, guard, stop)
        };
        let router = router.merge(page);
        let (bounds, stop) = (config.bounds.clone(), self.stop.clone());
        self.doors.spawn(async move {
            trove_mcp::server::serve(listener, router, &bounds, stop).await;
        });
        Ok((address, token))
    }

    /// Opens the door on stdin and stdout; when its client goes, so do we.
    pub fn open_stdio(&mut self, config: &Config) {
        self.live.open_door("stdio", config);
        let server = self.server(&config.bounds);
        let stop = self.stop.clone();
        self.doors.spawn(async move {
            let (input, output) = stdio::open();
            trove_mcp::server::serve_stdio(server, input, output, stop.clone()).await;
            stop.cancel();
        });
    }

    /// Opens the door of the command line, unless another Trove of this configuration has.
    pub fn open_socket(&mut self, loaded: &Loaded) {
        let (live, state, stop) = (self.live.clone(), self.state.clone(), self.stop.clone());
        self.doors.spawn(errand::open(live, state, memory_of(loaded), stop));
    }

    /// Draws on the terminal how far servers and index have come.
    pub(crate) fn show_progress(&mut self, paint: Paint) {
        let (gateway, stop) = (self.gateway.clone(), self.stop.clone());
        self.doors.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = progress::show(gateway, paint) => {}
            }
        });
    }

    /// Follows changes of the configuration file.
    pub fn follow(&mut self, request: reload::Followed, signals: &Signals) {
        let (live, stop) = (self.live.clone(), self.stop.clone());
        self.doors.spawn(reload::follow(request, live, signals.clone(), stop));
    }

    /// The state folder.
    pub fn home(&self) -> Home {
        self.home.clone()
    }

    /// Says that we serve.
    pub async fn announce(&self, http: Option<SocketAddr>) {
        let snapshot = self.gateway.snapshot().await;
        let http = http.map_or_else(|| "off".to_owned(), |address| format!("http://{address}/mcp"));
        info!(
            http,
            sources = snapshot.members().len(),
            resources = snapshot.resources().len(),
            "ready"
        );
    }

    /// Serves until a signal comes or the stdio client goes, then drains.
    pub async fn run(self, signals: &Signals) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = signals.stopping() => {}
        }
        // From here on there is a deadline.
        signals.stop();
        self.shutdown().await;
    }

    /// Finishes what is under way, then stops all servers.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        let drained = async { while self.doors.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            warn!("requests still under way were given up");
        }
        self.doors.shutdown().await;
        self.live.upstreams.shutdown().await;
        self.live.folders.shutdown().await;
        self.gateway.shutdown().await;
        self.flags.close().await;
    }
}

/// Where listings are remembered for this configuration: by its file.
pub(crate) fn memory_of(loaded: &Loaded) -> String {
    use aws_lc_rs::digest::{SHA256, digest};
    let Some(file) = &loaded.origin else { return "none".to_owned() };
    let digest = digest(&SHA256, file.as_os_str().as_encoded_bytes());
    trove_core::hex(&digest.as_ref()[..8])
}
