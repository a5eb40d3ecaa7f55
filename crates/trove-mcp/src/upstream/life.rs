//! One server's life: Connecting → Ready → Backoff → … → Stopped.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use trove_core::{
    source::{Outage, SourceEvent},
    status::State,
};

use super::{
    backoff,
    config::{Protocol, Reach, Remote},
    conversation::Conversation,
    handshake,
    http::HttpLink,
    legacy_sse,
    link::{Inbox, Link, LinkError},
    meter::{self, Noise, Standing},
    oauth::{Bearer, Credentials},
    process::{ENV_ALLOW_LIST, Spawn},
    secrets::Secrets,
    source::{Shared, Upstream},
    stdio,
    variables::{Scope, Text},
    watching::Watching,
};
use crate::{bounds::MAX_SERVER_NAME_BYTES, era::Version};

/// How long connecting to a URL may take.
const MAX_CONNECT: Duration = Duration::from_secs(10);

/// How long a server that failed is left alone, though it is asked for.
const LEAST_REST: Duration = Duration::from_secs(5);
/// How often that time doubles at the most while a server is cut off again and again.
const MAX_DOUBLINGS: u32 = 4;
/// How often a server that is read slowly is looked at, whether it still must be.
const LOOK: Duration = Duration::from_secs(1);

/// Lives until told to stop.
pub(crate) async fn live(upstream: Arc<Upstream>, stop: CancellationToken) {
    let id = &upstream.config.id;
    let board = &upstream.shared.board;
    let (mut failures, mut cuts) = (0u32, 0u32);
    loop {
        board.update(id, |status| status.state = State::Connecting);
        upstream.meter.begin();
        let (secrets, meter) = (upstream.secrets.clone(), upstream.meter.clone());
        let feed = upstream.shared.feed.clone();
        let inbox = Inbox::without(secrets, id.clone(), feed, meter);
        let place = upstream.child_place();
        let met = match &place {
            Err(full) => Err(full.clone()),
            Ok(_) => tokio::select! {
                met = connect_in_time(&upstream, inbox.clone()) => met,
                noise = flooded(&upstream) => Err(LinkError::unreachable(meter::cut_off(noise))),
                () = stop.cancelled() => break,
            },
        };
        let mut awaits_login = None;
        let error = match met {
            Ok(conversation) => {
                let (began, link) = (Instant::now(), conversation.link.clone());
                serve(&upstream, conversation, inbox, &stop).await;
                if link.speaks_otherwise() {
                    upstream.shared.eras.forget(id);
                }
                if began.elapsed() >= backoff::STABLE_AFTER {
                    failures = 0;
                }
                Outage::passing(loss(&*link))
            }
            Err(error) => {
                if matches!(error, LinkError::Unauthorized(_)) {
                    awaits_login = upstream.shared.credentials.clone();
                }
                error.into_outage()
            }
        };
        // The child is gone by now.
        drop(place);
        if stop.is_cancelled() {
            break;
        }
        failures += 1;
        let flood = upstream.meter.noise_of_cut();
        cuts = if flood.is_some() { cuts + 1 } else { 0 };
        let wait = note_failure(&upstream, error, failures, flood);
        let rest = LEAST_REST * 2u32.pow(cuts.saturating_sub(1).min(MAX_DOUBLINGS));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = asked_for(&upstream, rest) => {}
            () = logged_in(awaits_login) => {}
            () = stop.cancelled() => break,
        }
    }
    board.update(id, |status| status.state = State::Stopped);
    upstream.is_over.cancel();
}

/// Says on the board why the server is not connected; gives the time until the next attempt.
fn note_failure(
    upstream: &Upstream,
    outage: Outage,
    failures: u32,
    flood: Option<Noise>,
) -> Duration {
    let id = &upstream.config.id;
    let outage = match flood {
        Some(noise) => Outage::passing(meter::cut_off(noise)),
        None => outage,
    };
    let error = upstream.shown(outage);
    let (state, wait) = match flood {
        Some(_) => (State::CutOff, backoff::delay(backoff::CIRCUIT_OPENS_AFTER)),
        None if backoff::is_open(failures) => (State::CircuitOpen, backoff::delay(failures)),
        None => (State::Backoff, backoff::delay(failures)),
    };
    warn!(source = %id, %error, failures, ?wait, "not connected");
    upstream.shared.board.update(id, |status| {
        status.state = state;
        status.is_slowed = false;
        status.last_error = Some(error);
        status.failures = failures;
        status.pid = None;
    });
    wait
}

/// That the connection was lost, and how its process ended.
fn loss(link: &dyn Link) -> String {
    let how = link.ending().map_or_else(String::new, |how| format!(" ({how})"));
    format!("{}{how}", LinkError::Lost)
}

/// Ends when a caller asks for something of the server, though not at once. Constant callers must
/// not keep it from its rest.
async fn asked_for(upstream: &Upstream, rest: Duration) {
    // A request from before it failed has its answer.
    let _ = upstream.asked.notified().now_or_never();
    tokio::time::sleep(rest).await;
    upstream.asked.notified().await;
}

/// Tells on the board while the server is read slowly; ends when it is cut off.
async fn flooded(upstream: &Upstream) -> Noise {
    let (id, board) = (&upstream.config.id, &upstream.shared.board);
    let mut standing = upstream.meter.standing();
    loop {
        let now = *standing.borrow_and_update();
        match now {
            Standing::CutOff(noise) => {
                warn!(source = %id, ?noise, "cut off: it sends far more than is asked for");
                return noise;
            }
            Standing::Slowed => {
                warn!(source = %id, "read slowly: it sends more than is asked for");
                board.update(id, |status| status.is_slowed = true);
            }
            Standing::Calm => board.update(id, |status| status.is_slowed = false),
        }
        let changed = async {
            // The sender is held by the meter, which is held by the server.
            let _ = standing.changed().await;
        };
        let looks = async {
            if now != Standing::Slowed {
                return std::future::pending::<()>().await;
            }
            loop {
                tokio::time::sleep(LOOK).await;
                upstream.meter.look();
            }
        };
        tokio::select! {
            () = changed => {}
            () = looks => {}
        }
    }
}

/// Ends when a person has logged in to some server; never if none has to.
async fn logged_in(awaited: Option<Credentials>) {
    match awaited {
        Some(credentials) => credentials.changed().await,
        None => std::future::pending().await,
    }
}

/// Serves one connection until it is lost or we are told to stop.
async fn serve(
    upstream: &Arc<Upstream>,
    conversation: Conversation,
    inbox: Arc<Inbox>,
    stop: &CancellationToken,
) {
    let (id, shared) = (&upstream.config.id, &upstream.shared);
    let conversation = Arc::new(conversation);
    let hello = &conversation.hello;
    info!(source = %id, version = hello.version.as_str(), "connected");
    shared.board.update(id, |status| {
        status.state = State::Ready;
        status.protocol = Some(hello.version.as_str().to_owned());
        let name = hello.server.as_deref();
        status.server =
            name.map(|name| upstream.secrets.hide_in_beginning(name, MAX_SERVER_NAME_BYTES));
        status.last_error = None;
        status.failures = 0;
        status.connects += 1;
        status.pid = conversation.link.pid();
    });
    upstream.current.send_replace(Some(conversation.clone()));
    shared.feed.report(id, SourceEvent::Ready).await;
    let watching = Watching {
        source: id.clone(),
        conversation: conversation.clone(),
        inbox,
        feed: shared.feed.clone(),
        wanted: upstream.wanted.subscribe(),
        in_force: upstream.in_force.clone(),
        timeout: upstream.config.timeout,
        mode: upstream.config.watch,
    };
    tokio::select! {
        () = conversation.link.closed().cancelled() => {}
        _ = flooded(upstream) => {}
        () = stop.cancelled() => {}
        () = watching.run() => {}
        () = async {
            upstream.tell_level(&conversation).await;
            std::future::pending().await
        } => {}
    }
    upstream.current.send_replace(None);
    shared.kin.forget(id);
    upstream.in_force.send_replace(Default::default());
    shared.feed.report(id, SourceEvent::Down).await;
    conversation.link.close().await;
}

async fn connect_in_time(
    upstream: &Upstream,
    inbox: Arc<Inbox>,
) -> Result<Conversation, LinkError> {
    let most = upstream.shared.bounds.startup_time;
    tokio::time::timeout(most, connect(upstream, inbox)).await.unwrap_or_else(|_| {
        // It may be silent because it is greeted in words it does not know.
        upstream.shared.eras.forget(&upstream.config.id);
        Err(LinkError::TimedOut(most))
    })
}

/// Reaches the server and meets it, in the era it was last met in.
async fn connect(upstream: &Upstream, inbox: Arc<Inbox>) -> Result<Conversation, LinkError> {
    let (config, shared) = (&upstream.config, &upstream.shared);
    let protocol = shared.eras.choose(config);
    let link = reach(upstream, inbox).await?;
    let greeting = (protocol, shared.bounds.startup_time);
    match handshake::meet(link.clone(), greeting, (&config.id, &shared.kin)).await {
        Ok(conversation) => {
            shared.eras.remember(config, conversation.hello.version);
            Ok(conversation)
        }
        Err(error) => {
            match (&error, protocol) {
                // Some old servers end when they are asked something they do not know.
                (LinkError::Lost, Protocol::Auto) => {
                    shared.eras.remember(config, Version::NEWEST_LEGACY);
                }
                // One that is not there at all has not changed its era.
                (LinkError::Unreachable(_), _) if link.closed().is_cancelled() => {}
                _ => shared.eras.forget(&config.id),
            }
            link.close().await;
            Err(match error {
                LinkError::Lost => LinkError::unreachable(loss(&*link)),
                other => other,
            })
        }
    }
}

async fn reach(upstream: &Upstream, inbox: Arc<Inbox>) -> Result<Arc<dyn Link>, LinkError> {
    let (config, shared) = (&upstream.config, &upstream.shared);
    if let Some(gate) = shared.gate.clone() {
        let id = config.id.clone();
        let asked = tokio::task::spawn_blocking(move || gate.refusal(&id)).await;
        if let Some(outage) = asked.map_err(|_| LinkError::Lost)? {
            return Err(LinkError::Unreachable(outage));
        }
    }
    let filling = fill(config.reach.clone(), shared.scope.clone(), upstream.secrets.clone());
    match filling.await? {
        Filled::Stdio { command, args, env, cwd } => {
            let spawn = Spawn {
                source: config.id.clone(),
                command,
                args,
                env,
                cwd,
                stderr: upstream.stderr.clone(),
                shared: shared.clone(),
            };
            // Making a process takes milliseconds, in which other tasks should not wait.
            let id = config.id.clone();
            let started = tokio::task::spawn_blocking(move || stdio::start(&id, spawn, inbox));
            let link = started.await.map_err(|_| LinkError::Lost)??;
            Ok(Arc::new(link))
        }
        Filled::Http(url, headers) => {
            let bearer = bearer(upstream, &url, &headers);
            let (client, bounds) = (client(shared)?, &shared.bounds);
            let link = HttpLink::new(&config.id, client, url, headers, inbox, bounds, bearer);
            Ok(Arc::new(link))
        }
        Filled::Sse(url, headers) => {
            let bearer = bearer(upstream, &url, &headers);
            let (client, bounds) = (client(shared)?, &shared.bounds);
            let (id, url) = (&config.id, &url);
            let link = legacy_sse::connect(id, client, url, headers, inbox, bounds, bearer).await?;
            Ok(Arc::new(link))
        }
    }
}

/// How a server is reached, with the values of its variables.
enum Filled {
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: Option<PathBuf>,
    },
    Http(String, HeaderMap),
    Sse(String, HeaderMap),
}

/// Looks up the variables of an entry, and learns its secrets. Values may stand in files, so it
/// is done on a thread for such work.
async fn fill(
    reach: Reach,
    scope: Arc<dyn Scope>,
    secrets: Arc<Secrets>,
) -> Result<Filled, LinkError> {
    let filling = tokio::task::spawn_blocking(move || {
        secrets.learn(&reach, &*scope);
        filled(&reach, &*scope)
    });
    filling.await.map_err(|_| LinkError::Lost)?
}

fn filled(reach: &Reach, scope: &dyn Scope) -> Result<Filled, LinkError> {
    match reach {
        Reach::Stdio { command, args, env, cwd } => {
            let args: Result<Vec<String>, LinkError> =
                args.iter().map(|arg| expand(arg, scope)).collect();
            Ok(Filled::Stdio {
                command: expand(command, scope)?,
                args: args?,
                env: environment(env, scope)?,
                cwd: cwd.clone(),
            })
        }
        Reach::Http(remote) => {
            let (url, headers) = address(remote, scope)?;
            Ok(Filled::Http(url, headers))
        }
        Reach::Sse(remote) => {
            let (url, headers) = address(remote, scope)?;
            Ok(Filled::Sse(url, headers))
        }
    }
}

fn expand(text: &Text, scope: &dyn Scope) -> Result<String, LinkError> {
    text.expand(scope).map_err(|error| LinkError::misconfigured(error.to_string()))
}

/// The allow-list of our own environment, and what the entry declares.
fn environment(
    declared: &BTreeMap<String, Text>,
    scope: &dyn Scope,
) -> Result<BTreeMap<String, String>, LinkError> {
    let inherited =
        ENV_ALLOW_LIST.iter().filter_map(|name| Some(((*name).to_owned(), scope.env(name)?)));
    let mut all: BTreeMap<String, String> = inherited.collect();
    for (name, value) in declared {
        all.insert(name.clone(), expand(value, scope)?);
    }
    Ok(all)
}

fn address(remote: &Remote, scope: &dyn Scope) -> Result<(String, HeaderMap), LinkError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &remote.headers {
        let bad = |what: &str| {
            LinkError::misconfigured(format!(
                "the {what} of header `{name}` is not valid; correct it in the configuration"
            ))
        };
        let key = HeaderName::try_from(name.as_str()).map_err(|_| bad("name"))?;
        let mut value = HeaderValue::try_from(expand(value, scope)?).map_err(|_| bad("value"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok((expand(&remote.url, scope)?, headers))
}

/// Tokens of a login, unless the entry itself says which to send.
fn bearer(upstream: &Upstream, url: &str, headers: &HeaderMap) -> Option<Bearer> {
    if headers.contains_key(AUTHORIZATION) {
        return None;
    }
    let (id, credentials) = (&upstream.config.id, upstream.shared.credentials.clone()?);
    Bearer::new(id, url, credentials, upstream.secrets.clone())
}

fn client(shared: &Shared) -> Result<reqwest::Client, LinkError> {
    if let Some(client) = shared.client.get() {
        return Ok(client.clone());
    }
    let made = reqwest::Client::builder()
        .connect_timeout(MAX_CONNECT)
        .tcp_nodelay(true)
        // A redirect could carry our credentials to another server.
        .redirect(reqwest::redirect::Policy::none())
        .build();
    let made = made.map_err(|error| LinkError::unreachable(format!("no HTTP client: {error}")))?;
    Ok(shared.client.get_or_init(|| made).clone())
}
