//! What the page does to servers: it adds, approves, restarts and removes them.
//!
//! The configuration is changed by the command that the command line has for it, run as a process
//! of this same program. So the same checks hold, the same text is written and the same backup is
//! kept. A running Trove follows the file, here as there.
//!
//! It works only where the page is opened by a token: a new server is a program of this machine.

use std::{process::Stdio, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::process::Command;
use trove_core::SourceId;

use super::{
    Web,
    answer::{Answer, json_of, refuse},
    guide::given,
};

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most arguments, variables or headers of a new server.
const MAX_WORDS: usize = 200;

/// A server that is there.
#[derive(Deserialize)]
pub(super) struct Named {
    id: String,
    /// What was shown to the person who approves it.
    #[serde(default)]
    sha256: Option<String>,
    /// Show the change, and make none.
    #[serde(default)]
    dry_run: bool,
}

/// A server that is to be.
#[derive(Deserialize)]
pub(super) struct New {
    name: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    folder: Option<String>,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    header: Vec<String>,
    #[serde(default)]
    dry_run: bool,
}

/// `GET /api/approvals`: what would be run, and what waits for approval.
pub(super) async fn approvals(State(web): State<Arc<Web>>) -> Answer {
    if !may_act(&web) {
        return Err(closed());
    }
    run(&web, &["approve", "--json"]).await.map(|said| json_of(&said))
}

/// `POST /api/servers/restart`.
pub(super) async fn restart(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let named: Named = asked(&web, request).await?;
    let Some(id) = SourceId::of_anyone(&named.id) else { return Err(no_id()) };
    if web.upstreams().restart(&id).await {
        return Ok(json_of(&json!({ "success": true })));
    }
    let message = format!("{id} does not run, so it cannot be restarted");
    Err(refuse(StatusCode::CONFLICT, &message, &["Approve it first, if it waits for that."]))
}

/// `POST /api/servers/approve`: lets a server run as it was shown.
pub(super) async fn approve(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let named: Named = asked(&web, request).await?;
    let Some(id) = SourceId::of_anyone(&named.id) else { return Err(no_id()) };
    let all = run(&web, &["approve", "--json"]).await?;
    let servers = all["servers"].as_array();
    let now = servers.into_iter().flatten().find(|one| one["id"] == id.as_str());
    let sum = now.and_then(|one| one["sha256"].as_str());
    if sum != named.sha256.as_deref() {
        let message = format!("what {id} would run is not what was shown");
        return Err(refuse(
            StatusCode::CONFLICT,
            &message,
            &["Look at it again, then approve it."],
        ));
    }
    run(&web, &["approve", "--json", id.as_str()]).await.map(|said| json_of(&said))
}

/// `POST /api/servers/remove`: takes a server out of the configuration.
pub(super) async fn remove(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let named: Named = asked(&web, request).await?;
    let Some(id) = SourceId::of_anyone(&named.id) else { return Err(no_id()) };
    let mut words = vec!["remove", "--json", id.as_str()];
    if named.dry_run {
        words.push("--dry-run");
    }
    run(&web, &words).await.map(|said| json_of(&said))
}

/// `POST /api/servers/add`: puts a server into the configuration.
pub(super) async fn add(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let new: New = asked(&web, request).await?;
    let id = SourceId::normalise(&new.name);
    let is_small = [&new.command, &new.env, &new.header].iter().all(|all| all.len() <= MAX_WORDS);
    let ways = [!new.command.is_empty(), new.url.is_some(), new.folder.is_some()];
    let has_one_way = ways.iter().filter(|is_given| **is_given).count() == 1;
    if new.name.trim().is_empty() || !is_small || !has_one_way {
        let next = ["Give a name, and a command, a URL or a folder."];
        return Err(refuse(StatusCode::BAD_REQUEST, "it takes a name, and one way to it", &next));
    }
    // With `=` no value is taken for an option.
    let mut words = vec!["add".to_owned(), "--json".to_owned()];
    match &new.folder {
        // Whole, so that it is taken for nothing else.
        Some(folder) if folder.starts_with('/') => {
            words.extend([format!("--as={id}"), folder.clone()]);
        }
        Some(_) => {
            let next = ["Write it from the root of the disk on."];
            return Err(refuse(StatusCode::BAD_REQUEST, "the folder must begin with `/`", &next));
        }
        None => words.push(id.to_string()),
    }
    words.extend(new.url.iter().map(|url| format!("--url={url}")));
    words.extend(new.env.iter().map(|one| format!("--env={one}")));
    words.extend(new.header.iter().map(|one| format!("--header={one}")));
    if new.dry_run {
        words.push("--dry-run".to_owned());
    }
    if !new.command.is_empty() {
        words.push("--".to_owned());
        words.extend(new.command);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    run(&web, &words).await.map(|said| json_of(&said))
}

/// What the page asks for, if it may change anything.
async fn asked<T: DeserializeOwned>(web: &Web, request: Request) -> Result<T, Response> {
    if may_act(web) { given(request).await } else { Err(closed()) }
}

/// Without a token anybody on this machine could have programs run here.
fn may_act(web: &Web) -> bool {
    web.guard.page_opens_by() == "token"
}

fn closed() -> Response {
    let next = ["Use the command line: `trove add`, `trove remove`."];
    refuse(StatusCode::FORBIDDEN, "without a token the page changes no servers", &next)
}

fn no_id() -> Response {
    refuse(StatusCode::BAD_REQUEST, "this is no id of a server", &["Reload the page."])
}

/// Runs a command of this program on the configuration in force, and gives what it said.
async fn run(web: &Web, words: &[&str]) -> Result<Value, Response> {
    let failed = |why: &str| {
        let next = ["Run the command yourself, where Trove runs."];
        refuse(StatusCode::INTERNAL_SERVER_ERROR, &format!("the command for it {why}"), &next)
    };
    let program = std::env::current_exe().map_err(|_| failed("was not found"))?;
    let mut command = Command::new(program);
    if let Some(file) = web.live.named_file() {
        command.arg("--config").arg(file);
    }
    let command = command.args(words).stdin(Stdio::null()).kill_on_drop(true).output();
    let ran = tokio::time::timeout(PATIENCE, command).await.map_err(|_| failed("took too long"))?;
    let ran = ran.map_err(|_| failed("could not be started"))?;
    let said = String::from_utf8_lossy(&ran.stdout);
    let last = said.lines().rfind(|line| line.starts_with('{'));
    let told: Option<Value> = last.and_then(|line| serde_json::from_str(line).ok());
    let mut told = told.ok_or_else(|| failed("said nothing"))?;
    if ran.status.success() {
        // Other lines of the file may hold secrets, which no page gets.
        if let Some(diff) = told["diff"].as_str() {
            told["diff"] = added(diff).into();
        }
        return Ok(told);
    }
    let message = told["message"].as_str().unwrap_or("it was refused");
    Err(refuse(StatusCode::CONFLICT, message, &["Nothing was changed."]))
}

/// The lines that a change adds.
fn added(diff: &str) -> String {
    let is_new = |line: &&str| line.starts_with('+') && !line.starts_with("+++");
    let lines: Vec<&str> = diff.lines().filter(is_new).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_lines_of_a_change_are_told() {
        let diff = "--- a\n+++ b\n@@ -1 +1,2 @@\n env = { KEY = \"secret\" }\n-old\n+[servers.x]\n+url = \"y\"\n";
        assert_eq!(added(diff), "+[servers.x]\n+url = \"y\"");
    }
}
