//! The one entry we add, in the words of the client it is for.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value, json};

use super::{
    error::ClientError,
    locate::Scope,
    table::{Fixed, RemoteWords, Row, StdioWords, TokenBy},
};

/// The variable that a client may take the token from.
pub(crate) const TOKEN_VARIABLE: &str = "TROVE_TOKEN";

/// How a client is to reach Trove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Launch {
    /// The client starts this program with these arguments and variables.
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String> },
    /// It connects to a Trove that is running.
    Http { url: String, access: Access },
}

/// The proof that a client shows to be let in over HTTP.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Access {
    Open,
    Token(String),
}

/// The token does not show.
impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Access::Open => "Open",
            Access::Token(_) => "Token(***)",
        })
    }
}

/// The entry as the client writes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// The members it must have.
    pub(super) must: Map<String, Value>,
    /// The members it has at first; from then on they are the user's.
    pub(super) once: Map<String, Value>,
    /// The members it must not have, since they belong to the other way of reaching us.
    pub(super) never: Vec<&'static str>,
}

impl Entry {
    /// An entry that says what another said, key by key.
    pub(super) fn like(must: Map<String, Value>) -> Entry {
        Entry { must, once: Map::new(), never: Vec::new() }
    }

    pub(super) fn of(
        row: &Row,
        scope: Scope,
        name: &str,
        launch: &Launch,
    ) -> Result<Entry, ClientError> {
        let (must, once) = match launch {
            Launch::Stdio { command, args, env } => {
                let mut must = stdio(&row.stdio, command, args);
                if !env.is_empty() {
                    must.insert(row.stdio.env.into(), json!(env));
                }
                (must, row.stdio.once)
            }
            Launch::Http { url, access } => {
                let words =
                    row.remote.as_ref().ok_or(ClientError::NoRemote { client: row.client })?;
                (remote(row, words, scope, (url, access))?, words.once)
            }
        };
        let once = once.iter().filter(|(key, _)| !must.contains_key(*key));
        let once = once.map(|(key, value)| ((*key).to_owned(), value.of(name))).collect();
        let mut never = keys(row);
        never.retain(|key| !must.contains_key(*key));
        Ok(Entry { must, once, never })
    }

    /// All of it, as it is written the first time.
    pub(super) fn whole(&self) -> Map<String, Value> {
        let mut whole = self.must.clone();
        whole.extend(self.once.clone());
        whole
    }
}

fn stdio(words: &StdioWords, command: &str, args: &[String]) -> Map<String, Value> {
    let mut entry = kind(words.kind);
    match words.args {
        Some(key) => {
            entry.insert(words.command.into(), json!(command));
            entry.insert(key.into(), json!(args));
        }
        None => {
            let mut all = vec![command.to_owned()];
            all.extend(args.iter().cloned());
            entry.insert(words.command.into(), json!(all));
        }
    }
    entry
}

fn remote(
    row: &Row,
    words: &RemoteWords,
    scope: Scope,
    (url, access): (&str, &Access),
) -> Result<Map<String, Value>, ClientError> {
    let mut entry = kind(words.kind);
    entry.insert(words.url.into(), json!(url));
    let Access::Token(token) = access else { return Ok(entry) };
    // The user's own file may hold the token; one that others read may only name it.
    let bearer = match (scope, words.token) {
        (Scope::User, _) => format!("Bearer {token}"),
        (Scope::Project, TokenBy::Variable(before, after)) => {
            format!("Bearer {before}{TOKEN_VARIABLE}{after}")
        }
        (Scope::Project, TokenBy::Key(key)) => {
            entry.insert(key.into(), json!(TOKEN_VARIABLE));
            return Ok(entry);
        }
        (Scope::Project, TokenBy::Nothing) => {
            return Err(ClientError::TokenInProject { client: row.client });
        }
    };
    let mut value = json!({ "Authorization": bearer });
    for key in words.headers.iter().skip(1).rev() {
        value = json!({ *key: value });
    }
    entry.insert(words.headers[0].into(), value);
    Ok(entry)
}

fn kind(kind: Option<(&str, &str)>) -> Map<String, Value> {
    kind.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()
}

/// Every key that says how a server is reached.
fn keys(row: &Row) -> Vec<&'static str> {
    let stdio = &row.stdio;
    let mut keys = vec![stdio.command];
    keys.extend(stdio.args);
    keys.extend(stdio.kind.map(|(key, _)| key));
    if let Some(remote) = &row.remote {
        keys.extend([remote.url, remote.headers[0]]);
        keys.extend(remote.kind.map(|(key, _)| key));
        if let TokenBy::Key(key) = remote.token {
            keys.push(key);
        }
    }
    keys
}

impl Fixed {
    fn of(self, name: &str) -> Value {
        match self {
            Fixed::True => json!(true),
            Fixed::Number(number) => json!(number),
            Fixed::Text(text) => json!(text),
            Fixed::Name => json!(name),
            Fixed::EmptyMap => json!({}),
        }
    }
}

/// Checks a name for an entry: every client can build its tools' names with it.
pub(super) fn check_name(name: &str) -> Result<(), ClientError> {
    let is_short = name.len() <= 12;
    let is_plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if is_short && is_plain && name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Ok(());
    }
    Err(ClientError::BadName { name: name.to_owned() })
}

/// A path below the project's folder in the client's words, if it has any for that.
pub(crate) fn in_workspace(row: &Row, project: &Path, path: &Path) -> Option<String> {
    let below = path.strip_prefix(project).ok()?;
    Some(format!("{}/{}", row.workspace?, below.display()))
}
