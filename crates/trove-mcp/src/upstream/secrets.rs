//! What a server was trusted with, found again in what it says of itself.
//!
//! Servers quote: a refused header in an error, a whole environment in a crash. What is an
//! answer is passed on as it is; what is an error, a state, a name or a line of stderr has these
//! values taken out, because people and logs read it.

mod forms;

use std::{borrow::Cow, collections::BTreeSet};

use forms::Needles;
use parking_lot::RwLock;
use reqwest::Url;

use super::{
    config::{Reach, Remote},
    process::ENV_ALLOW_LIST,
    secretive::{is_secret, is_secret_name, looks_secret},
    variables::{Piece, Scope, Text, Variable},
};

/// Shorter values are words that could stand anywhere.
const MIN_SECRET: usize = 6;
/// The most values of one server.
const MAX_SECRETS: usize = 256;
/// What stands in their place.
const MASK: &str = "***";

/// The secrets of one server.
#[derive(Debug, Default)]
pub struct Secrets(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Those of its entry.
    written: BTreeSet<String>,
    /// Those that somebody else granted for it.
    granted: BTreeSet<String>,
    needles: Needles,
}

impl Known {
    fn seek(&mut self) {
        let all = self.written.iter().chain(&self.granted);
        self.needles = Needles::of(all.map(String::as_str));
    }
}

impl Secrets {
    /// Those of an entry, as they are now.
    pub fn of(reach: &Reach, scope: &dyn Scope) -> Secrets {
        let secrets = Secrets::default();
        secrets.learn(reach, scope);
        secrets
    }

    /// Learns those of an entry, as they are now.
    pub(crate) fn learn(&self, reach: &Reach, scope: &dyn Scope) {
        let mut found = BTreeSet::new();
        match reach {
            Reach::Stdio { command, args, env, .. } => {
                for text in [command].into_iter().chain(args).chain(env.values()) {
                    variables(text, scope, &mut found);
                }
                of_args(args, scope, &mut found);
                for (name, value) in env {
                    let value = value.expand(scope).unwrap_or_default();
                    if is_secret(name, &value) {
                        of_value(&value, &mut found);
                    }
                }
            }
            Reach::Http(remote) | Reach::Sse(remote) => of_remote(remote, scope, &mut found),
        }
        let mut known = self.0.write();
        known.written = bounded(found);
        known.seek();
    }

    /// Learns tokens that were granted for the server, in the place of those before.
    pub(crate) fn learn_granted<'a>(&self, tokens: impl IntoIterator<Item = &'a str>) {
        let granted = bounded(tokens.into_iter().map(str::to_owned).collect());
        let mut known = self.0.write();
        if known.granted != granted {
            known.granted = granted;
            known.seek();
        }
    }

    /// The text without them.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.read().needles.hide(text)
    }
}

/// A text without these secrets.
pub(crate) fn hide_all<'a>(secrets: impl IntoIterator<Item = &'a str>, text: &str) -> String {
    Needles::of(secrets).hide(text).into_owned()
}

fn bounded(found: BTreeSet<String>) -> BTreeSet<String> {
    found.into_iter().filter(|value| value.len() >= MIN_SECRET).take(MAX_SECRETS).collect()
}

fn of_remote(remote: &Remote, scope: &dyn Scope, found: &mut BTreeSet<String>) {
    variables(&remote.url, scope, found);
    for value in remote.headers.values() {
        variables(value, scope, found);
        if let Ok(value) = value.expand(scope) {
            found.extend(value.split_whitespace().map(str::to_owned));
        }
    }
    if let Some(secret) = &remote.oauth.client_secret {
        found.extend(secret.expand(scope).ok());
    }
    if let Ok(url) = remote.url.expand(scope) {
        of_url(&url, found);
    }
}

/// What a URL tells of its caller.
fn of_url(url: &str, found: &mut BTreeSet<String>) {
    let Ok(url) = Url::parse(url) else { return };
    found.extend(url.password().map(str::to_owned));
    found.insert(url.username().to_owned());
    found.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
}

/// `--api-key=VALUE`, what follows `--api-key`, `-e API_KEY=VALUE`, `X-Api-Key: VALUE`, URLs, and
/// whatever looks like a key.
fn of_args(args: &[Text], scope: &dyn Scope, found: &mut BTreeSet<String>) {
    let mut follows_secret = false;
    for arg in args.iter().filter_map(|arg| arg.expand(scope).ok()) {
        let is_flag = arg.starts_with('-');
        if follows_secret && !is_flag {
            of_value(&arg, found);
        }
        of_arg(&arg, found);
        follows_secret = is_flag && !arg.contains(['=', ':']) && is_secret_name(&arg);
    }
}

fn of_arg(arg: &str, found: &mut BTreeSet<String>) {
    if arg.contains("://") && !arg.starts_with('-') {
        return of_url(arg, found);
    }
    if looks_secret(arg) {
        found.insert(arg.to_owned());
    }
    let named = arg.split_once('=').or_else(|| arg.split_once(':'));
    let Some((name, value)) = named else { return };
    let value = value.trim();
    if is_secret(name.trim_start_matches('-'), value) {
        of_value(value, found);
    }
    // `--env=API_KEY=VALUE` has its secret behind the second name.
    of_arg(value, found);
}

/// A secret value, and each word of it: `Bearer TOKEN` is quoted without its first word.
fn of_value(value: &str, found: &mut BTreeSet<String>) {
    found.insert(value.to_owned());
    let words = value.split_whitespace();
    let words = words.filter(|word| !["bearer", "basic"].contains(&word.to_lowercase().as_str()));
    found.extend(words.map(str::to_owned));
    if value.contains("://") {
        of_url(value, found);
    }
}

/// The values of the variables it refers to, save what every child knows, and those of files.
fn variables(text: &Text, scope: &dyn Scope, found: &mut BTreeSet<String>) {
    for piece in text.pieces().unwrap_or_default() {
        if let Piece::Variable(Variable::Env { name, .. }) = piece
            && !ENV_ALLOW_LIST.contains(&name)
        {
            found.extend(scope.env(name));
        }
    }
    if text.reads_file() {
        found.extend(text.expand(scope).ok());
    }
}
