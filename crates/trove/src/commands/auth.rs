//! `trove auth`: log in to servers that ask for it, and out again.
//!
//! Tokens are never printed, only their issuer, their scopes and their end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use trove_core::content::escape_line;
use trove_mcp::upstream::{
    Reach, Remote,
    oauth::{Credentials, Grant, Login, OauthError, Wish},
};

use super::{Class, Failed, configure, exit, runtime, say};
use crate::{
    cli::{AuthCommand, Global},
    config::{HostScope, Loaded, Overrides, ProcessEnv},
    telemetry,
};

/// How long a person may take to log in.
const MAX_LOGIN: Duration = Duration::from_secs(600);
/// How long a browser may take to say what it wants.
const MAX_REQUEST: Duration = Duration::from_secs(10);
/// The longest request of a browser.
const MAX_HEAD: usize = 16 * 1024;
/// Where the browser is sent back to.
const CALLBACK: &str = "/callback";

pub(super) fn auth(global: &Global, command: &AuthCommand) -> Result<(), Failed> {
    let (loaded, cwd) = configure(global, Overrides::default())?;
    telemetry::start(global, "warn");
    let credentials = Credentials::in_folder(&loaded.config.state_dir);
    match command {
        AuthCommand::Login { server, output } => {
            let (remote, scope) = (remote(&loaded, server)?, HostScope::new(ProcessEnv, cwd));
            let expand = |text: &trove_mcp::upstream::Text| {
                text.expand(&scope).map_err(|error| {
                    Failed::new(Class::Config, format!("{error}; {}", error.hint()))
                })
            };
            let oauth = &remote.oauth;
            let wish = Wish {
                server: server.clone(),
                url: expand(&remote.url)?,
                client_id: oauth.client_id.clone(),
                client_secret: oauth.client_secret.as_ref().map(expand).transpose()?,
                scopes: oauth.scopes.clone(),
                redirect: String::new(),
            };
            let work = login(wish, output.json);
            let grant = runtime()?.block_on(work).map_err(not_logged_in)?;
            let issuer = grant.issuer.clone();
            let mut told = shown(&grant);
            told["success"] = json!(true);
            credentials.keep(grant).map_err(not_kept)?;
            if output.json {
                say(&format!("{told}\n"))
            } else {
                say(&format!("Logged in to {server} by {}\n", escape_line(&issuer)))
            }
            Ok(())
        }
        AuthCommand::Status(output) => {
            let all = credentials.all().map_err(not_kept)?;
            let rows = rows(&loaded, &all);
            if output.json {
                say(&format!("{:#}\n", json!({ "servers": rows })))
            } else {
                say(&for_people(&rows))
            }
            Ok(())
        }
        AuthCommand::Logout { server, output } => {
            let was_in = credentials.forget(server).map_err(not_kept)?;
            let told = json!({ "success": true, "server": server, "was_logged_in": was_in });
            match (output.json, was_in) {
                (true, _) => say(&format!("{told}\n")),
                (false, true) => say("Logged out\n"),
                (false, false) => say("There was nothing to forget\n"),
            }
            Ok(())
        }
    }
}

/// The server behind a URL of that name.
fn remote<'a>(loaded: &'a Loaded, server: &str) -> Result<&'a Remote, Failed> {
    let found = loaded.config.upstreams.iter().find(|upstream| upstream.id.as_str() == server);
    match found.map(|upstream| &upstream.reach) {
        Some(Reach::Http(remote) | Reach::Sse(remote)) => Ok(remote),
        Some(Reach::Stdio { .. }) => {
            let message = format!(
                "{server} is started here and needs no login; its `env` holds what it needs"
            );
            Err(Failed::new(Class::InvalidArguments, message))
        }
        None => {
            let message = format!("there is no server {server:?}; `trove status` lists them");
            Err(Failed::new(Class::InvalidArguments, message))
        }
    }
}

/// Prints the address to open and waits for the browser to come back.
async fn login(mut wish: Wish, as_json: bool) -> Result<Grant, OauthError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    wish.redirect = format!("http://{}{CALLBACK}", listener.local_addr()?);
    let server = wish.server.clone();
    let login = Login::begin(wish).await?;
    if as_json {
        say(&format!("{}\n", json!({ "server": server, "open": login.address })))
    } else {
        say(&format!("Open this address to log in:\n{}\n", login.address))
    }
    let answered = async {
        loop {
            let (mut stream, _) = listener.accept().await?;
            let Some(query) = asked(&mut stream).await else {
                reply(&mut stream, "404 Not Found", "There is nothing here.").await;
                continue;
            };
            match login.finish(&query).await {
                // Any page can send the browser here; only the right answer counts.
                Err(OauthError::Foreign) => {
                    reply(
                        &mut stream,
                        "400 Bad Request",
                        "This is not the login that Trove waits for.",
                    )
                    .await;
                }
                Ok(grant) => {
                    reply(&mut stream, "200 OK", "You are logged in. You can close this page.")
                        .await;
                    return Ok(grant);
                }
                Err(error) => {
                    reply(&mut stream, "200 OK", "The login failed. The terminal says why.").await;
                    return Err(error);
                }
            }
        }
    };
    let late = || OauthError::Store(std::io::Error::other("nobody logged in within ten minutes"));
    tokio::time::timeout(MAX_LOGIN, answered).await.unwrap_or_else(|_| Err(late()))
}

/// The query of a request for the place the browser is sent back to.
async fn asked(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let read = async {
        let mut chunk = [0; 2048];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
            head.extend_from_slice(chunk.get(..count)?);
            if head.len() > MAX_HEAD {
                return None;
            }
        }
        Some(())
    };
    tokio::time::timeout(MAX_REQUEST, read).await.ok().flatten()?;
    let head = String::from_utf8_lossy(&head);
    let target = head.lines().next()?.strip_prefix("GET ")?.split(' ').next()?;
    let query = target.strip_prefix(CALLBACK)?.strip_prefix('?')?;
    Some(query.to_owned())
}

async fn reply(stream: &mut TcpStream, status: &str, text: &str) {
    let page = format!("<!doctype html><meta charset=utf-8><title>Trove</title><p>{text}</p>");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // A browser that has gone misses nothing.
    let _ = tokio::time::timeout(MAX_REQUEST, stream.write_all(answer.as_bytes())).await;
}

/// Every server behind a URL, and what is granted for it.
fn rows(loaded: &Loaded, grants: &[Grant]) -> Vec<Value> {
    let urls = loaded.config.upstreams.iter();
    let urls = urls.filter(|upstream| !matches!(upstream.reach, Reach::Stdio { .. }));
    let mut rows: Vec<Value> = urls
        .map(|upstream| {
            let id = upstream.id.as_str();
            match grants.iter().find(|grant| grant.server == id) {
                Some(grant) => shown(grant),
                None => json!({ "server": id, "logged_in": false }),
            }
        })
        .collect();
    let is_known = |grant: &&Grant| !rows.iter().any(|row| row["server"] == grant.server.as_str());
    let others: Vec<Value> = grants.iter().filter(is_known).map(shown).collect();
    rows.extend(others);
    rows
}

fn shown(grant: &Grant) -> Value {
    json!({
        "server": grant.server,
        "logged_in": true,
        "issuer": grant.issuer,
        "scope": grant.scope,
        "expires_at": grant.expires_at,
        "renews_itself": grant.refresh_token.is_some(),
    })
}

fn for_people(rows: &[Value]) -> String {
    if rows.is_empty() {
        return "No server of the configuration is behind a URL.\n".to_owned();
    }
    let mut text = String::new();
    for row in rows {
        let server = row["server"].as_str().unwrap_or_default();
        let line = match row["issuer"].as_str() {
            Some(issuer) => format!("{server}  logged in by {}", escape_line(issuer)),
            None => format!("{server}  not logged in"),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn not_logged_in(error: OauthError) -> Failed {
    Failed::new(Class::Unauthorized, error.to_string()).exiting(exit::UNREACHABLE)
}

fn not_kept(error: std::io::Error) -> Failed {
    Failed::new(Class::Config, error.to_string())
}
