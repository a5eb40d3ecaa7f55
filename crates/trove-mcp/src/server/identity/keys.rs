//! The keys of the issuer: fetched when first needed, kept for a while, fetched anew when a
//! token names one that is not among them.
//!
//! A stranger can send tokens with invented key ids, so looking again is rationed: one refetch a
//! [`MISS_COOLDOWN`], however many such tokens come.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jsonwebtoken::jwk::Jwk;
use reqwest::Client;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::{
    fetch::{self, FetchError},
    verify::{Head, SigningKey},
};

/// How long keys are believed without asking.
pub(crate) const KEYS_TTL: Duration = Duration::from_secs(600);
/// How long they are used when the issuer does not answer.
const MAX_STALE: Duration = Duration::from_secs(24 * 3600);
/// How long after one refetch for an unknown key there is none for another.
pub(crate) const MISS_COOLDOWN: Duration = Duration::from_secs(30);
/// How long after a failure there is no other attempt.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// The most keys of one issuer.
const MAX_KEYS: usize = 100;

pub(super) struct Keys {
    issuer: String,
    jwks_url: Option<String>,
    client: Client,
    known: Mutex<Known>,
    /// One fetch at a time.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    keys: Vec<Arc<SigningKey>>,
    fetched: Option<Instant>,
    failed: Option<Instant>,
    missed: Option<Instant>,
}

/// Why there is no key for a token.
#[derive(Debug)]
pub(super) enum KeyError {
    /// The issuer has none such.
    Unknown,
    /// The issuer cannot be asked.
    Unavailable,
}

impl Keys {
    pub(super) fn new(issuer: &str, jwks_url: Option<String>) -> Result<Keys, FetchError> {
        for url in [Some(issuer), jwks_url.as_deref()].into_iter().flatten() {
            if !fetch::is_safe_url(url) {
                return Err(FetchError::Unsafe(url.to_owned()));
            }
        }
        Ok(Keys {
            issuer: issuer.to_owned(),
            jwks_url,
            client: fetch::client()?,
            known: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        })
    }

    /// The key that made a token, by what the token says.
    pub(super) async fn find(&self, head: &Head) -> Result<Arc<SigningKey>, KeyError> {
        let age = self.known().fetched.map(|at| at.elapsed());
        if age.is_none_or(|age| age >= KEYS_TTL) {
            self.refresh(age).await;
        }
        let age = self.known().fetched.map(|at| at.elapsed());
        if age.is_none_or(|age| age >= MAX_STALE) {
            return Err(KeyError::Unavailable);
        }
        if let Some(key) = self.look_up(head) {
            return Ok(key);
        }
        if self.may_look_again() {
            self.refresh(None).await;
        }
        self.look_up(head).ok_or(KeyError::Unknown)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By its id; without one, only if there is no choice.
    fn look_up(&self, head: &Head) -> Option<Arc<SigningKey>> {
        let known = self.known();
        let mut fit = known.keys.iter().filter(|key| {
            key.is_for(head.algorithm) && (head.key_id.is_none() || key.id == head.key_id)
        });
        let found = fit.next()?.clone();
        fit.next().is_none().then_some(found)
    }

    fn may_look_again(&self) -> bool {
        let mut known = self.known();
        let may = known.missed.is_none_or(|at| at.elapsed() >= MISS_COOLDOWN);
        if may {
            known.missed = Some(Instant::now());
        }
        may
    }

    /// Fetches the keys unless another request just did. Those with old keys in hand do not wait
    /// for one another.
    async fn refresh(&self, age: Option<Duration>) {
        let before = self.known().fetched;
        let _turn = match age {
            Some(_) => match self.fetching.try_lock() {
                Ok(turn) => turn,
                Err(_) => return,
            },
            None => self.fetching.lock().await,
        };
        {
            let known = self.known();
            let is_done = known.fetched != before;
            let is_hopeless = known.failed.is_some_and(|at| at.elapsed() < RETRY_AFTER);
            if is_done || is_hopeless {
                return;
            }
        }
        let fetched = self.fetch().await;
        let mut known = self.known();
        match fetched {
            Ok(keys) => {
                debug!(keys = keys.len(), "the keys of the issuer were fetched");
                known.keys = keys;
                known.fetched = Some(Instant::now());
                known.failed = None;
            }
            Err(error) => {
                warn!(%error, "the keys of the issuer cannot be fetched");
                known.failed = Some(Instant::now());
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<Arc<SigningKey>>, FetchError> {
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => {
                let metadata = fetch::metadata(&self.client, &self.issuer).await?;
                let url = metadata["jwks_uri"].as_str().unwrap_or_default();
                url.to_owned()
            }
        };
        let set = fetch::document(&self.client, &url).await?;
        let Some(keys) = set["keys"].as_array() else {
            return Err(FetchError::Unfit { url, what: "without `keys`".to_owned() });
        };
        // A key of an unknown kind must not cost the others.
        let known = keys.iter().take(MAX_KEYS);
        let known = known.filter_map(|key| serde_json::from_value::<Jwk>(key.clone()).ok());
        Ok(known.filter_map(|jwk| SigningKey::of(&jwk)).map(Arc::new).collect())
    }
}
