//! Starts the servers and reports how they answer.

use trove_core::status::{SLOWED, SourceStatus, State};
use trove_mcp::upstream::{Reach, Scope, Secrets, UpstreamConfig};

use super::{Finding, Level};
use crate::{app::App, config::Config};

/// How many of a failing server's last words are kept.
const LAST_WORDS: usize = 5;
/// How many contested names are shown.
const NAMES_SHOWN: usize = 3;

/// Looks at every server of a running gateway. Those of `said` have been spoken of.
pub(crate) async fn check_running(
    app: &App,
    config: &Config,
    scope: &dyn Scope,
    said: &[Finding],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for server in &config.upstreams {
        let Some(status) = app.gateway.board().of(&server.id) else { continue };
        let is_said =
            said.iter().any(|f| f.level == Level::Error && f.subject == server.id.as_str());
        if !is_said {
            let words = app.upstreams().stderr(&server.id).await;
            findings.extend(failing(server, &status, words, scope));
        }
        findings.extend(odd(server, &status));
    }
    findings.extend(contested(app).await);
    findings
}

fn failing(
    server: &UpstreamConfig,
    status: &SourceStatus,
    words: Vec<String>,
    scope: &dyn Scope,
) -> Option<Finding> {
    let area = ("server", server.id.as_str());
    if status.state == State::Ready && status.last_error.is_none() {
        return None;
    }
    let masked = masking(server, scope);
    let Some(error) = &status.last_error else {
        let message = "it has not answered yet";
        let fix = "look again with a longer --wait, or see `trove status`";
        return Some(Finding::new(Level::Warning, area, message, fix));
    };
    let message = format!("{} ({})", masked(&error.to_string()), status.state.as_str());
    let fix = match &server.reach {
        _ if status.state == State::CutOff => {
            "ask whoever makes the server to mend it, or take it out of your configuration; Trove tries it again by itself"
        }
        Reach::Stdio { .. } => {
            "mend what it says, then look again; run its command by hand to see more"
        }
        Reach::Http(_) | Reach::Sse(_) => "check its URL and headers, and that it is running",
    };
    let start = words.len().saturating_sub(LAST_WORDS);
    let last_words = words[start..].iter().map(|line| masked(line)).collect();
    Some(Finding { last_words, ..Finding::new(Level::Error, area, message, fix) })
}

fn odd(server: &UpstreamConfig, status: &SourceStatus) -> Vec<Finding> {
    let area = ("server", server.id.as_str());
    let mut findings = Vec::new();
    for omission in &status.omissions {
        let fix = "ask whoever runs the server; the rest of its list is served";
        let message = format!("its list is not whole: {omission}");
        findings.push(Finding::new(Level::Warning, area, message, fix));
    }
    findings.extend(tools(server, status));
    if status.is_slowed {
        let fix = "set the server's log level lower, or ask whoever makes it; the others are served as ever";
        findings.push(Finding::new(Level::Warning, area, SLOWED, fix));
    }
    if let Some(warning) = status.warning {
        let fix = "see what its command prints when you run it by hand: all but messages belongs on stderr";
        findings.push(Finding::new(Level::Warning, area, warning, fix));
    }
    findings
}

/// A finding on the tools of a server that lists no resources itself.
fn tools(server: &UpstreamConfig, status: &SourceStatus) -> Option<Finding> {
    let message = status.from_tools()?;
    let area = ("server", server.id.as_str());
    let Some(recipe) = &status.recipe else {
        let fix = "write a recipe, `trove recipe draft` begins one; or leave it: its tools work all the same";
        return Some(Finding::new(Level::Note, area, message, fix));
    };
    if recipe.why.is_empty() {
        return None;
    }
    let waits = recipe.why.iter().all(|why| why.contains("nobody approved"));
    if waits {
        let name = &recipe.name;
        let fix =
            format!("add `recipe = \"{name}\"` to its entry to let it be read by those tools");
        return Some(Finding::new(Level::Note, area, message, fix));
    }
    let fix = "correct its `resources`, or set `recipe = \"off\"`; see docs/recipes.md";
    Some(Finding::new(Level::Warning, area, message, fix))
}

async fn contested(app: &App) -> Option<Finding> {
    let names = app.gateway.snapshot().await.contests();
    if names.is_empty() {
        return None;
    }
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(|one| one.name.as_str()).collect();
    let more = if names.len() > NAMES_SHOWN { ", ..." } else { "" };
    let message = format!(
        "{} names are used by more than one server: {}{more}",
        names.len(),
        shown.join(", ")
    );
    let fix = "read them as `server+uri`, or remove a server you do not need";
    Some(Finding::new(Level::Note, ("names", "collisions"), message, fix))
}

/// Takes out of a text what a server was given: it may print that.
pub(super) fn masking(server: &UpstreamConfig, scope: &dyn Scope) -> impl Fn(&str) -> String {
    let secrets = Secrets::of(&server.reach, scope);
    move |text: &str| secrets.hide(text).into_owned()
}
