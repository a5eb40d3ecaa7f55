//! The secrets that an entry of the configuration holds.
//!
//! All of a server's own variables are sought except plain values, because no list of names of
//! secrets is complete. A value of several parts, such as a connection string, is taken apart,
//! because servers quote parts of it.

use std::collections::BTreeSet;

use reqwest::Url;
use serde_json::Value;

use crate::upstream::{
    config::{Reach, Remote},
    process::ENV_ALLOW_LIST,
    secretive::{is_plain, is_secret, is_secret_name, looks_secret},
    variables::{Piece, Scope, Text, Variable},
};

/// How often a value is taken apart, e.g. a URL in a connection string in JSON.
const MAX_NESTING: usize = 3;

/// The secrets of an entry. Only what is surely one is taken out of lists: an entry holds the
/// names of folders and databases, too, and those stand in URIs.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) all: BTreeSet<String>,
    pub(super) sure: BTreeSet<String>,
}

impl Found {
    fn sure(&mut self, value: &str) {
        self.sure.insert(value.to_owned());
        self.all.insert(value.to_owned());
    }

    fn likely(&mut self, value: &str) {
        self.all.insert(value.to_owned());
    }

    fn named(&mut self, name: &str, value: &str) {
        if is_secret(name, value) {
            self.sure(value);
        } else {
            self.likely(value);
        }
    }
}

/// The secrets of an entry, as they are now.
pub(super) fn secrets(reach: &Reach, scope: &dyn Scope) -> Found {
    let mut found = Found::default();
    match reach {
        Reach::Stdio { command, args, env, .. } => {
            for text in [command].into_iter().chain(args).chain(env.values()) {
                variables(text, scope, &mut found);
            }
            of_args(args, scope, &mut found);
            for (name, value) in env {
                let value = value.expand(scope).unwrap_or_default();
                of_named(name, &value, MAX_NESTING, &mut found);
            }
        }
        Reach::Http(remote) | Reach::Sse(remote) => of_remote(remote, scope, &mut found),
    }
    found
}

fn of_remote(remote: &Remote, scope: &dyn Scope, found: &mut Found) {
    variables(&remote.url, scope, found);
    for (name, value) in &remote.headers {
        variables(value, scope, found);
        if let Ok(value) = value.expand(scope) {
            let words = value.split_whitespace().filter(|word| !is_scheme(word));
            words.for_each(|word| found.named(name, word));
            of_parts(&value, MAX_NESTING, found);
        }
    }
    let secret = remote.oauth.client_secret.as_ref();
    if let Some(Ok(secret)) = secret.map(|secret| secret.expand(scope)) {
        found.sure(&secret);
    }
    if let Ok(url) = remote.url.expand(scope) {
        of_url(&url, found);
    }
}

/// A value with a name: itself unless it is plain, and its parts.
fn of_named(name: &str, value: &str, depth: usize, found: &mut Found) {
    if is_secret(name, value) {
        of_value(value, found);
    } else if !is_plain(name, value) {
        found.likely(value);
    }
    if depth > 0 {
        of_parts(value, depth - 1, found);
    }
}

/// The parts of a value: of JSON, of a URL, or of a list such as `Server=db;Password=hunter2`.
fn of_parts(value: &str, depth: usize, found: &mut Found) {
    if let Ok(json @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(value) {
        return of_json("", &json, depth, found);
    }
    if value.contains("://")
        && let Ok(url) = Url::parse(value)
    {
        for (name, value) in url.query_pairs() {
            of_named(&name, &value, depth, found);
        }
    }
    let separators = |letter: char| letter.is_whitespace() || ";,&".contains(letter);
    for part in value.split(separators) {
        if let Some((name, value)) = part.split_once('=') {
            let value = value.trim_matches(['"', '\'']);
            of_named(name.trim_start_matches('-'), value, depth, found);
        } else if part.len() < value.len() && !is_plain("", part) {
            found.likely(part);
        }
    }
}

fn of_json(name: &str, value: &Value, depth: usize, found: &mut Found) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => of_named(name, &number.to_string(), depth, found),
        Value::String(text) => of_named(name, text, depth, found),
        Value::Array(items) => items.iter().for_each(|item| of_json(name, item, depth, found)),
        Value::Object(members) => {
            for (name, member) in members {
                of_json(name, member, depth, found);
            }
        }
    }
}

/// Secrets that a URL holds, e.g. its password.
fn of_url(url: &str, found: &mut Found) {
    let Ok(url) = Url::parse(url) else { return };
    url.password().into_iter().for_each(|password| found.sure(password));
    // `https://KEY@host` has its key there, `postgres://ann:password@host` a name.
    if url.password().is_none() {
        found.named("", url.username());
    }
    found.likely(url.username());
    for (name, value) in url.query_pairs() {
        found.named(&name, &value);
    }
    let segments = url.path_segments().into_iter().flatten();
    segments.filter(|segment| looks_secret(segment)).for_each(|segment| found.sure(segment));
}

/// `--api-key=VALUE`, what follows `--api-key`, `-e API_KEY=VALUE`, `X-Api-Key: VALUE`, URLs,
/// connection strings, and all that looks like a key.
fn of_args(args: &[Text], scope: &dyn Scope, found: &mut Found) {
    let (mut follows_secret, mut follows_env) = (false, false);
    for arg in args.iter().filter_map(|arg| arg.expand(scope).ok()) {
        let is_flag = arg.starts_with('-');
        if follows_secret && !is_flag {
            of_value(&arg, found);
        }
        // Programs that start others, such as `docker run`, are given variables so.
        let variable = if follows_env { Some(&*arg) } else { arg.strip_prefix("--env=") };
        if let Some((name, value)) = variable.and_then(|variable| variable.split_once('=')) {
            of_named(name, value, MAX_NESTING, found);
        }
        of_arg(&arg, found);
        follows_secret = is_flag && !arg.contains(['=', ':']) && is_secret_name(&arg);
        follows_env = ["-e", "--env"].contains(&&*arg);
    }
}

fn of_arg(arg: &str, found: &mut Found) {
    if arg.contains("://") && !arg.starts_with('-') {
        return of_url(arg, found);
    }
    if looks_secret(arg) {
        found.sure(arg);
    }
    if arg.contains([';', ' ']) || arg.starts_with(['{', '[']) {
        of_parts(arg, MAX_NESTING, found);
    }
    let named = arg.split_once('=').or_else(|| arg.split_once(':'));
    // Of a command for a shell, or of a text, only the parts have names.
    let Some((name, value)) = named.filter(|(name, _)| !name.contains(' ')) else { return };
    let value = value.trim();
    if is_secret(name.trim_start_matches('-'), value) {
        of_value(value, found);
    }
    // `--env=API_KEY=VALUE` has its secret behind the second name.
    of_arg(value, found);
}

/// A secret value, and each word of it, e.g. `TOKEN` of `Bearer TOKEN`, which servers quote alone.
fn of_value(value: &str, found: &mut Found) {
    found.sure(value);
    let words = value.split_whitespace().filter(|word| !is_scheme(word));
    words.for_each(|word| found.sure(word));
    if value.contains("://") {
        of_url(value, found);
    }
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic"].contains(&word.to_lowercase().as_str())
}

/// The values of the variables it refers to, save what every child knows, and those of files.
fn variables(text: &Text, scope: &dyn Scope, found: &mut Found) {
    for piece in text.pieces().unwrap_or_default() {
        if let Piece::Variable(Variable::Env { name, .. }) = piece
            && !ENV_ALLOW_LIST.contains(&name)
        {
            found.named(name, &scope.env(name).unwrap_or_default());
        }
    }
    if text.reads_file()
        && let Ok(value) = text.expand(scope)
    {
        found.sure(&value);
    }
}
