//! Tries servers that answer: a few reads, how long they took to be there, their lists, and
//! whether they end when asked to.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use trove_core::{
    Caller, SourceError, SourceId,
    content::escape_controls,
    gateway::AskError,
    resource::{Listing, Resource},
    source::Ask,
    status::State,
    uri::PublicUri,
};
use trove_mcp::{
    bounds::MAX_STDERR_LINES,
    upstream::{Reach, Scope, UpstreamConfig},
};

use super::{Finding, Level, running::masking};
use crate::{app::App, config::Config};

/// How many resources of a server are read.
const TRIALS: usize = 3;
/// The longest one of them may take.
const LONGEST_TRIAL: Duration = Duration::from_secs(10);
/// A resource that is listed as larger is not tried.
const MAX_LISTED_SIZE: u64 = 1024 * 1024;
/// From this on a start or a read is worth a word.
const SLOW: Duration = Duration::from_secs(5);
/// A server that is asked to end and stays longer is ended by force.
const STUBBORN: Duration = Duration::from_millis(1500);
/// How often we look whether something awaited is there.
const LOOK: Duration = Duration::from_millis(10);
/// The most entries of one list that are looked at.
const MAX_LOOKED_AT: usize = 100_000;

/// Waits until every server is listed or has failed; gives how long each took.
pub(crate) async fn settle(app: &App, wait: Duration) -> BTreeMap<SourceId, Duration> {
    let began = Instant::now();
    let mut after = BTreeMap::new();
    loop {
        let all = app.gateway.board().all();
        for (id, _) in all.iter().filter(|(_, status)| status.is_settled()) {
            after.entry(id.clone()).or_insert_with(|| began.elapsed());
        }
        if all.values().all(|status| status.is_settled()) || began.elapsed() >= wait {
            return after;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Tries every server that answers. `after` is how long each took to be listed.
pub(crate) async fn check_trials(
    app: &App,
    config: &Config,
    scope: &dyn Scope,
    after: &BTreeMap<SourceId, Duration>,
) -> Vec<Finding> {
    let answers = |server: &&UpstreamConfig| {
        app.gateway.board().of(&server.id).is_some_and(|status| status.state == State::Ready)
    };
    let servers = config.upstreams.iter().filter(answers);
    let trials = servers.map(async |server| {
        let mut findings = trial(app, server, after.get(&server.id).copied()).await;
        let masked = masking(server, scope);
        for finding in &mut findings {
            finding.message = masked(&finding.message);
        }
        findings
    });
    join_all(trials).await.into_iter().flatten().collect()
}

async fn trial(app: &App, server: &UpstreamConfig, after: Option<Duration>) -> Vec<Finding> {
    let area = ("server", server.id.as_str());
    let mut findings = Vec::new();
    if let Some(after) = after.filter(|after| *after >= SLOW) {
        let message = format!("it took {} s until it was listed", seconds(after));
        let fix = "install it rather than let npx or uvx fetch it at every start, or leave it running and give its URL";
        findings.push(Finding::new(Level::Note, area, message, fix));
    }
    let snapshot = app.gateway.snapshot().await;
    let Some(member) = snapshot.member(&server.id) else { return findings };
    findings.extend(hides(server, &member.listing));
    let name = |one: &Resource| {
        let renamed = snapshot.public_name(&server.id, one.uri.as_str());
        renamed.unwrap_or_else(|| PublicUri::new(one.uri.shared()))
    };
    let names: Vec<PublicUri> = sample(&member.listing).into_iter().map(name).collect();
    findings.extend(reads(app, server, &names).await);
    if app.upstreams().stderr(&server.id).await.len() >= MAX_STDERR_LINES {
        let message = "it writes very much to its stderr";
        let fix = format!("lower its log level; `trove logs {}` shows what it writes", server.id);
        findings.push(Finding::new(Level::Note, area, message, fix));
    }
    findings
}

/// The first, the last, and one between.
fn sample(listing: &Listing) -> Vec<&Resource> {
    let size = |one: &Resource| one.details().size().unwrap_or(0);
    let all = &listing.resources;
    let small: Vec<&Resource> = all.iter().filter(|one| size(one) <= MAX_LISTED_SIZE).collect();
    let count = small.len().min(TRIALS);
    (0..count).map(|n| small[n * (small.len() - 1) / (count - 1).max(1)]).collect()
}

async fn reads(app: &App, server: &UpstreamConfig, names: &[PublicUri]) -> Vec<Finding> {
    let area = ("server", server.id.as_str());
    let (caller, mut tried, mut slowest) = (Caller::local(), 0, Duration::ZERO);
    let mut failures = Vec::new();
    for name in names {
        let began = Instant::now();
        let asked = app.gateway.read(&caller, name, Ask::default());
        let read = tokio::time::timeout(LONGEST_TRIAL, asked).await;
        slowest = slowest.max(began.elapsed());
        let error = match read {
            Ok(Ok(_)) => None,
            // Rules of this configuration, or a name that others use too, are no fault of its.
            Ok(Err(AskError::Forbidden { .. } | AskError::Ambiguous { .. })) => continue,
            Ok(Err(AskError::Source { error, .. })) => Some(error),
            Ok(Err(error)) => Some(SourceError::Malformed { what: error.to_string() }),
            Err(_) => Some(SourceError::TimedOut { waited: LONGEST_TRIAL }),
        };
        tried += 1;
        let Some(error) = error else { continue };
        let is_hopeless = error.is_retryable();
        failures.push((name, error));
        // It hangs or is gone: asking for more would only take time.
        if is_hopeless {
            break;
        }
    }
    if let Some((name, error)) = failures.first() {
        let is_down = failures.iter().any(|(_, error)| error.is_retryable());
        let level = if is_down || failures.len() == tried { Level::Error } else { Level::Warning };
        let message = format!(
            "{} of {tried} resources tried could not be read: {name}: {error}",
            failures.len()
        );
        return vec![Finding::new(level, area, message, how_to_read(error, server))];
    }
    if slowest < SLOW {
        return Vec::new();
    }
    let message = format!("a read took {} s", seconds(slowest));
    let fix = format!(
        "`trove bench {}` measures it; `cache = \"public\"` in its entry keeps what may be shown to everybody",
        server.id
    );
    vec![Finding::new(Level::Note, area, message, fix)]
}

fn how_to_read(error: &SourceError, server: &UpstreamConfig) -> String {
    let id = &server.id;
    let is_ours = matches!(server.reach, Reach::Stdio { .. });
    let log = if is_ours {
        format!("`trove logs {id}` shows what it writes")
    } else {
        "its log, where it runs, says more".to_owned()
    };
    match error {
        SourceError::TimedOut { .. } => {
            format!(
                "find out what it waits for; {log}; `timeout_ms` in its entry sets how long it may take"
            )
        }
        SourceError::Lost | SourceError::Unavailable(_) if is_ours => {
            format!("it ended while it was asked; {log}; run its command by hand to see more")
        }
        SourceError::Lost | SourceError::Unavailable(_) => {
            format!("check its URL and headers, and that it is running; {log}")
        }
        SourceError::TooLarge { .. } => {
            "raise `message_bytes` in [limits], or let the server offer its resource in parts"
                .to_owned()
        }
        SourceError::Malformed { .. } => {
            "update the server, or tell whoever wrote it: its answer is no valid message".to_owned()
        }
        SourceError::Refused { .. }
        | SourceError::Told { .. }
        | SourceError::NotFound
        | SourceError::Busy { .. }
        | SourceError::NotOffered { .. } => {
            format!("mend what it says, then look again; {log}")
        }
    }
}

/// Names and descriptions that could do something without being seen.
fn hides(server: &UpstreamConfig, listing: &Listing) -> Option<Finding> {
    let acts = |one: &&Resource| {
        let details = one.details();
        let uri = Some(Cow::Borrowed(one.uri.as_str()));
        let texts = [uri, details.name(), details.title(), details.description()];
        texts.iter().flatten().any(|text| matches!(escape_controls(text), Cow::Owned(_)))
    };
    let count = listing.resources.iter().take(MAX_LOOKED_AT).filter(acts).count();
    if count == 0 {
        return None;
    }
    let message = format!(
        "{count} of its names or descriptions hold characters that steer a terminal or hide words"
    );
    let fix = "ask who wrote them, and remove the server if you do not trust it; Trove shows such characters as what they are";
    Some(Finding::new(Level::Warning, ("server", server.id.as_str()), message, fix))
}

/// Ends all servers, and tells which would not go.
pub(crate) async fn check_ends(app: &App, config: &Config) -> Vec<Finding> {
    let pid = |server: &UpstreamConfig| app.gateway.board().of(&server.id)?.pid;
    let running: Vec<(&SourceId, u32)> =
        config.upstreams.iter().filter_map(|one| Some((&one.id, pid(one)?))).collect();
    let asked = Instant::now();
    let ends = running.into_iter().map(|(id, pid)| async move {
        let is_there = || Path::new(&format!("/proc/{pid}")).exists();
        while is_there() && asked.elapsed() < STUBBORN {
            tokio::time::sleep(LOOK).await;
        }
        is_there().then_some(id)
    });
    let ((), stubborn) = tokio::join!(app.upstreams().shutdown(), join_all(ends));
    let finding = |id: &SourceId| {
        let message = "it does not end when it is asked to, so it is ended by force";
        let fix = "nothing, if it keeps nothing that could be torn; else let it end at the end of its input or at SIGTERM";
        Finding::new(Level::Note, ("server", id.as_str()), message, fix)
    };
    stubborn.into_iter().flatten().map(finding).collect()
}

fn seconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64())
}
