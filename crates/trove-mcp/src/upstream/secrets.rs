//! What a server was trusted with, found again in what it says of itself.
//!
//! Servers quote: a refused header in an error, a whole environment in a crash. What is an
//! answer is passed on as it is; what is an error, a state or a line of stderr has these
//! values taken out, because people and logs read it.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{PoisonError, RwLock},
};

use reqwest::Url;

use super::{
    config::{Reach, Remote},
    process::ENV_ALLOW_LIST,
    variables::{Piece, Scope, Text, Variable},
};

/// Shorter values are words that could stand anywhere.
const MIN_SECRET: usize = 6;
/// The most values of one server.
const MAX_SECRETS: usize = 256;
/// What stands in their place.
const MASK: &str = "***";
/// What the name of a secret has in it.
const SECRETIVE: [&str; 7] = ["token", "key", "secret", "passw", "auth", "credential", "cookie"];

/// The secrets of one server.
#[derive(Debug, Default)]
pub(crate) struct Secrets(RwLock<Vec<String>>);

impl Secrets {
    /// Learns those of an entry, as they are now.
    pub(crate) fn learn(&self, reach: &Reach, scope: &dyn Scope) {
        let mut found = BTreeSet::new();
        match reach {
            Reach::Stdio { command, args, env, .. } => {
                for text in [command].into_iter().chain(args).chain(env.values()) {
                    variables(text, scope, &mut found);
                }
                let secretive = env.iter().filter(|(name, _)| is_secretive(name));
                found.extend(secretive.filter_map(|(_, value)| value.expand(scope).ok()));
            }
            Reach::Http(remote) | Reach::Sse(remote) => of_remote(remote, scope, &mut found),
        }
        let mut all: Vec<String> =
            found.into_iter().filter(|value| value.len() >= MIN_SECRET).take(MAX_SECRETS).collect();
        // A longer one may hold a shorter one.
        all.sort_by_key(|value| std::cmp::Reverse(value.len()));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// The text without them.
    pub(crate) fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut text = Cow::Borrowed(text);
        for secret in all.iter() {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), MASK));
            }
        }
        text
    }
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
    let Some(url) = remote.url.expand(scope).ok().and_then(|url| Url::parse(&url).ok()) else {
        return;
    };
    found.extend(url.password().map(str::to_owned));
    found.insert(url.username().to_owned());
    found.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
}

/// The values of the variables it refers to, save what every child knows.
fn variables(text: &Text, scope: &dyn Scope, found: &mut BTreeSet<String>) {
    for piece in text.pieces().unwrap_or_default() {
        if let Piece::Variable(Variable::Env { name, .. }) = piece
            && !ENV_ALLOW_LIST.contains(&name)
        {
            found.extend(scope.env(name));
        }
    }
}

fn is_secretive(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRETIVE.iter().any(|word| name.contains(word))
}
