//! The token that goes with each request to one server, renewed before it ends.
//!
//! The first request that finds it too old renews it; the others wait for that one renewal. A token
//! that the server refuses is renewed once, and then a person must log in again.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use reqwest::{Client, header::HeaderValue};
use tokio::time::Instant;
use tracing::{debug, warn};
use trove_core::SourceId;

use super::{Credentials, Grant, redeem, store::now};
use crate::{server::identity::fetch, upstream::secrets::Secrets};

/// How long before its end a token is renewed, in seconds.
const RENEW_BEFORE: u64 = 30;
/// How long a file without a token is not looked into again. A server that asks who we are has
/// it looked into at once.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(crate) struct Bearer {
    server: SourceId,
    resource: String,
    credentials: Credentials,
    client: Client,
    /// Learns what is held, so that no error tells it.
    secrets: Arc<Secrets>,
    held: Mutex<Option<Grant>>,
    /// When the file was last seen to have none.
    missed: Mutex<Option<Instant>>,
    turn: tokio::sync::Mutex<()>,
}

impl Bearer {
    /// The token for a server at an address; `None` if none can ever be had.
    pub(crate) fn new(
        server: &SourceId,
        url: &str,
        credentials: Credentials,
        secrets: Arc<Secrets>,
    ) -> Option<Bearer> {
        Some(Bearer {
            server: server.clone(),
            resource: url.to_owned(),
            credentials,
            client: fetch::client().ok()?,
            secrets,
            held: Mutex::default(),
            missed: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        })
    }

    /// The header to send, if a person has logged in.
    pub(crate) async fn header(&self) -> Option<HeaderValue> {
        let grant = match self.held() {
            Some(grant) => grant,
            None if self.has_just_missed() => return None,
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
        self.held.lock().clone()
    }

    fn hold(&self, grant: Grant) -> Grant {
        self.secrets.learn_granted(grant.secrets());
        *self.held.lock() = Some(grant.clone());
        grant
    }

    fn has_just_missed(&self) -> bool {
        let missed = *self.missed.lock();
        missed.is_some_and(|missed| missed.elapsed() < LOOK_AGAIN)
    }

    async fn load(&self) -> Option<Grant> {
        let (file, id, url) =
            (self.credentials.clone(), self.server.to_string(), self.resource.clone());
        let found = tokio::task::spawn_blocking(move || file.find(&id, &url)).await.ok()?;
        match found {
            Ok(Some(grant)) => return Some(self.hold(grant)),
            Ok(None) => {}
            Err(error) => {
                warn!(source = %self.server, %error, "the credentials cannot be read");
            }
        }
        *self.missed.lock() = Some(Instant::now());
        None
    }

    /// Another grant than the one with this token: a new one of another process, or our own.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_login_is_seen_a_moment_later_and_at_once_where_a_token_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let credentials = Credentials::in_folder(folder.path());
        let (server, url) = (SourceId::new("a").unwrap(), "http://a.test/mcp");
        let bearer = || Bearer::new(&server, url, credentials.clone(), Arc::default()).unwrap();
        let (unasked, asked) = (bearer(), bearer());
        assert!(unasked.header().await.is_none() && asked.header().await.is_none());

        let text = |text: &str| text.to_owned();
        let grant = Grant {
            server: server.to_string(),
            resource: text(url),
            issuer: text("http://i.test"),
            token_endpoint: text("http://i.test/token"),
            client_id: text("c"),
            client_secret: None,
            access_token: text("t"),
            refresh_token: None,
            expires_at: None,
            scope: None,
        };
        credentials.keep(grant).unwrap();
        assert!(unasked.header().await.is_none(), "the file is not read for every request");
        assert_eq!(asked.after_refusal(None).await.unwrap(), "Bearer t");
        tokio::time::advance(LOOK_AGAIN).await;
        assert_eq!(unasked.header().await.unwrap(), "Bearer t");
    }
}
