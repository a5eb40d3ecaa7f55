//! `trove serve`, and what `trove up` shares with it.

use std::{net::SocketAddr, path::PathBuf, sync::atomic::Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use serde_json::{Value, json};
use tracing::warn;

use super::{Class, Failed, configure, host, runtime, say};
use crate::{
    app::App,
    borrow::{Extras, Lends},
    cli::{Global, Http, Serve},
    config::{Loaded, Overrides},
    doctor::{Level, check_secrecy},
    reload::Followed,
    signals::Signals,
    telemetry, token,
};

/// How long after the start the background lets servers and clients begin.
const SETTLE_MS: u64 = 1000;

/// Serves on the doors that were asked for; over HTTP if none was.
pub(super) fn serve(global: &Global, serve: &Serve) -> Result<(), Failed> {
    let flags = overrides(&serve.http);
    let (mut loaded, cwd) = configure(global, flags.clone())?;
    telemetry::start(global, "info");
    let extras = Extras::new(Lends::Approved);
    extras.add_to(&mut loaded, &host()?);
    let doors = Doors { stdio: serve.stdio, http: serve.http.http.is_some() || !serve.stdio };
    let wants_json = serve.output.json;
    open(global, Opening { loaded, cwd, flags, extras, doors }, |app, loaded, address, token| {
        if wants_json {
            say(&format!("{}\n", started(app, loaded, address, token)));
        }
    })
}

/// Tells a script about a Trove that has begun to serve: its address, the file of its token (never
/// the token), and its servers.
pub(super) fn started(
    app: &App,
    loaded: &Loaded,
    address: SocketAddr,
    token: Option<&str>,
) -> Value {
    let waiting = app.waiting();
    let mut servers: Vec<Value> = Vec::new();
    let borrowed = loaded.borrowed.iter().map(|one| &one.upstream);
    let borrowed = borrowed.map(|upstream| &upstream.id);
    for id in loaded.config.server_ids().chain(borrowed) {
        let is_started = !waiting.contains(id);
        servers.push(json!({ "id": id.as_str(), "started": is_started }));
    }
    let state = &loaded.config.state_dir.value;
    let mut told = json!({
        "success": true,
        "mcp": format!("http://{address}/mcp"),
        "page": format!("http://{address}/"),
        "auth": loaded.config.http.auth.value.as_str(),
        "pid": std::process::id(),
        "state": state.display().to_string(),
        "guide": loaded.config.guide_root.value.display().to_string(),
        "servers": servers,
    });
    if let Some(file) = &loaded.origin {
        told["config"] = json!(file.display().to_string());
    }
    if token.is_some() {
        told["token_file"] = json!(token::path(state).display().to_string());
    }
    told
}

/// The settings that the command line decides.
pub(super) fn overrides(http: &Http) -> Overrides {
    Overrides {
        http_addr: http.http,
        no_auth: http.no_auth,
        bridge: http.tools.bridge,
        toolsets: http.tools.toolsets.clone(),
    }
}

#[derive(Clone, Copy)]
pub(super) struct Doors {
    pub(super) stdio: bool,
    pub(super) http: bool,
}

/// The configuration to serve, and its doors.
pub(super) struct Opening {
    pub(super) loaded: Loaded,
    pub(super) cwd: PathBuf,
    pub(super) flags: Overrides,
    pub(super) extras: Extras,
    pub(super) doors: Doors,
}

/// The most descriptors we ask for: each connection takes one, and each server a few.
const MAX_DESCRIPTORS: u64 = 65_536;

/// Lets this process have as many connections as the system grants; the usual thousand would
/// be fewer than the door takes.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(MAX_DESCRIPTORS, |most| most.min(MAX_DESCRIPTORS));
    if limit.current.is_some_and(|current| current < wanted) {
        // Without it the door takes fewer, nothing worse.
        let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// Serves until told to stop. Once HTTP is served, `greet` says so.
pub(super) fn open(
    global: &Global,
    opening: Opening,
    greet: impl FnOnce(&mut App, &Loaded, SocketAddr, Option<&str>) + Send,
) -> Result<(), Failed> {
    raise_descriptors();
    let served = Signals::during(|signals| {
        let runtime = runtime()?;
        let outcome = runtime.block_on(run(global, opening, greet, signals));
        // A thread that reads a terminal, or waits for a disk, cannot be woken; it must not keep us.
        runtime.shutdown_background();
        outcome
    });
    served.unwrap_or_else(|error| {
        let message = format!("Trove cannot run: {error}");
        Err(Failed::new(Class::Runtime, message))
    })
}

/// Says what others on this machine may look into or guess.
async fn warn_of_open_doors(loaded: &Loaded) {
    let loaded = loaded.clone();
    // It looks at files, and a disk may be slow.
    let looking = tokio::task::spawn_blocking(move || check_secrecy(&loaded));
    for finding in looking.await.unwrap_or_default() {
        if finding.level < Level::Note {
            warn!(what = finding.subject, fix = finding.fix, "{}", finding.message);
        }
    }
}

async fn run(
    global: &Global,
    opening: Opening,
    greet: impl FnOnce(&mut App, &Loaded, SocketAddr, Option<&str>),
    signals: &Signals,
) -> Result<(), Failed> {
    let Opening { loaded, cwd, flags, extras, doors } = opening;
    let mut app = App::start(&loaded, global.yes).await;
    warn_of_open_doors(&loaded).await;
    // A single command waits for what is read; here clients and servers begin first.
    app.gateway.crawl_settings.settle_ms.store(SETTLE_MS, Ordering::Relaxed);
    if let Err(error) = app.live().take_keys(&loaded.config) {
        signals.stop();
        app.shutdown().await;
        return Err(Failed::new(Class::Config, error.to_string()));
    }
    let mut address = None;
    if doors.http {
        match app.open_http(&loaded.config).await {
            Ok((bound, token)) => {
                greet(&mut app, &loaded, bound, token.as_deref());
                address = Some(bound);
            }
            Err(error) => {
                signals.stop();
                app.shutdown().await;
                let message = format!("{error:#}");
                return Err(Failed::new(Class::Unreachable, message));
            }
        }
    }
    if doors.stdio {
        app.open_stdio(&loaded.config);
    }
    app.open_socket(&loaded);
    let file = loaded.origin.clone();
    let has_servers = loaded.config.has_servers();
    let (found, home) = (loaded.found, app.home());
    let followed = Followed { file, found, has_servers, extras, cwd, flags, home };
    app.follow(followed, signals);
    app.announce(address).await;
    app.run(signals).await;
    Ok(())
}
