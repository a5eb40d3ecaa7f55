//! The token that goes with each request to one server, renewed before it ends.
//!
//! Whoever finds it too old renews it; the others wait for that one renewal. A token that
//! the server refuses is renewed once, and then a person must log in again.

use std::sync::{Mutex, PoisonError};

use reqwest::{Client, header::HeaderValue};
use tracing::{debug, warn};
use trove_core::SourceId;

use super::{Credentials, Grant, redeem, store::now};
use crate::server::identity::fetch;

/// How long before its end a token is renewed, in seconds.
const RENEW_BEFORE: u64 = 30;

pub(crate) struct Bearer {
    server: SourceId,
    resource: String,
    credentials: Credentials,
    client: Client,
    held: Mutex<Option<Grant>>,
    turn: tokio::sync::Mutex<()>,
}

impl Bearer {
    /// The token for a server at an address; `None` if none can ever be had.
    pub(crate) fn new(server: &SourceId, url: &str, credentials: Credentials) -> Option<Bearer> {
        Some(Bearer {
            server: server.clone(),
            resource: url.to_owned(),
            credentials,
            client: fetch::client().ok()?,
            held: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        })
    }

    /// The header to send, if somebody has logged in.
    pub(crate) async fn header(&self) -> Option<HeaderValue> {
        let grant = match self.held() {
            Some(grant) => grant,
            None => self.load().await?,
        };
        let is_ending = grant.expires_at.is_some_and(|end| end <= now() + RENEW_BEFORE);
        if !is_ending {
            return written(&grant);
        }
        // One that cannot be renewed is tried as it is; the server will say.
        let renewed = self.renew(&grant.access_token).await;
        written(&renewed.unwrap_or(grant))
    }

    /// Another header in place of the one the server refused.
    pub(crate) async fn after_refusal(&self, refused: Option<&HeaderValue>) -> Option<HeaderValue> {
        let refused = refused.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let refused = refused.strip_prefix("Bearer ").unwrap_or_default();
        let renewed = self.renew(refused).await?;
        (renewed.access_token != refused).then(|| written(&renewed)).flatten()
    }

    fn held(&self) -> Option<Grant> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, grant: Grant) -> Grant {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(grant.clone());
        grant
    }

    async fn load(&self) -> Option<Grant> {
        let (file, id, url) =
            (self.credentials.clone(), self.server.to_string(), self.resource.clone());
        let found = tokio::task::spawn_blocking(move || file.find(&id, &url)).await.ok()?;
        match found {
            Ok(found) => found.map(|grant| self.hold(grant)),
            Err(error) => {
                warn!(source = %self.server, %error, "the credentials cannot be read");
                None
            }
        }
    }

    /// Another grant than the one with this token: somebody else's new one, or our own.
    async fn renew(&self, old: &str) -> Option<Grant> {
        let _turn = self.turn.lock().await;
        if let Some(grant) = self.held().filter(|grant| grant.access_token != old) {
            return Some(grant);
        }
        let file = self.credentials.clone();
        let lock = tokio::task::spawn_blocking(move || file.lock()).await.ok()?.ok()?;
        // Another process may have been faster.
        let grant = self.load().await?;
        if grant.access_token != old {
            return Some(grant);
        }
        let refresh = grant.refresh_token.clone()?;
        let mut form = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.as_str()),
            ("client_id", grant.client_id.as_str()),
            ("resource", grant.resource.as_str()),
        ];
        if let Some(secret) = &grant.client_secret {
            form.push(("client_secret", secret));
        }
        let renewed = match redeem(&self.client, &form, &grant).await {
            Ok(renewed) => renewed,
            Err(error) => {
                warn!(source = %self.server, %error, "the token cannot be renewed");
                return None;
            }
        };
        debug!(source = %self.server, "the token was renewed");
        let (file, kept) = (self.credentials.clone(), renewed.clone());
        let kept = tokio::task::spawn_blocking(move || file.keep_locked(kept)).await;
        if !matches!(kept, Ok(Ok(()))) {
            warn!(source = %self.server, "the renewed token cannot be kept");
        }
        drop(lock);
        Some(self.hold(renewed))
    }
}

fn written(grant: &Grant) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", grant.access_token)).ok()?;
    value.set_sensitive(true);
    Some(value)
}
