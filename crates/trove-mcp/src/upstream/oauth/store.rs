//! The credentials of this installation, in a file that its owner alone may read.

use std::{
    fs, io,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use trove_core::{
    files::Home,
    state_file::{Damaged, Form, Lock, StateFile},
};

use crate::upstream::secrets::hide_all;

static FORM: Form = Form {
    max_bytes: 4 << 20,
    version: 1,
    damaged: Damaged::Refused("delete it and log in again"),
};

/// How long another process may renew a token, or keep one.
const MAX_LOCKED: Duration = Duration::from_secs(60);

/// How often a task that waits for a login looks at the file.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The grant of one server's issuer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The server, by its id.
    pub server: String,
    /// Its address: the token goes nowhere else.
    pub resource: String,
    /// The issuer that granted it.
    pub issuer: String,
    /// Where it is renewed.
    pub token_endpoint: String,
    /// Our client id at the issuer.
    pub client_id: String,
    /// How we prove that, if we must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The token that is sent to the server.
    pub access_token: String,
    /// The token that gets the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// When the access token ends, in seconds of Unix time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The scopes that it covers, e.g. `files:read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl Grant {
    /// A text without its secrets: issuers quote what they refuse.
    pub(super) fn hide(&self, text: &str) -> String {
        hide_all(self.secrets(), text)
    }

    /// The secrets of the grant, which must be told to no one.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let secrets =
            [Some(&self.access_token), self.refresh_token.as_ref(), self.client_secret.as_ref()];
        secrets.into_iter().flatten().map(String::as_str)
    }
}

impl std::fmt::Debug for Grant {
    /// Without the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grant").field("server", &self.server).finish_non_exhaustive()
    }
}

/// The file of credentials. Nothing of it is kept in memory: another process may write it.
#[derive(Debug, Clone)]
pub struct Credentials {
    file: StateFile,
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    grants: Vec<Grant>,
}

impl Credentials {
    /// Those of a state folder.
    pub fn in_folder(state: &Path) -> Credentials {
        let file = state.join("credentials.json");
        Credentials { file: StateFile::inside(&Home::at(state), file, &FORM) }
    }

    /// All grants, by server.
    pub fn all(&self) -> io::Result<Vec<Grant>> {
        Ok(self.read()?.grants)
    }

    /// The grant for a server at an address.
    pub fn find(&self, server: &str, resource: &str) -> io::Result<Option<Grant>> {
        let all = self.read()?.grants;
        Ok(all.into_iter().find(|grant| grant.server == server && grant.resource == resource))
    }

    /// Keeps a grant in place of any other for that server.
    pub fn keep(&self, grant: Grant) -> io::Result<()> {
        let _turn = self.lock()?;
        self.keep_locked(grant)
    }

    pub(super) fn keep_locked(&self, grant: Grant) -> io::Result<()> {
        let mut kept = self.read()?;
        kept.grants.retain(|other| other.server != grant.server);
        kept.grants.push(grant);
        kept.grants.sort_by(|a, b| a.server.cmp(&b.server));
        self.write(&kept)
    }

    /// Forgets a server's grant; false if there is none.
    pub fn forget(&self, server: &str) -> io::Result<bool> {
        let _turn = self.lock()?;
        let mut kept = self.read()?;
        let before = kept.grants.len();
        kept.grants.retain(|grant| grant.server != server);
        if kept.grants.len() == before {
            return Ok(false);
        }
        self.write(&kept)?;
        Ok(true)
    }

    /// Ends when the file has changed. Looked at, not listened for: it is rarely waited for.
    pub(crate) async fn changed(&self) {
        let before = self.modified().await;
        while self.modified().await == before {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    async fn modified(&self) -> Option<SystemTime> {
        let file = self.file.path().to_owned();
        let look = move || fs::metadata(file).and_then(|metadata| metadata.modified()).ok();
        tokio::task::spawn_blocking(look).await.ok().flatten()
    }

    /// Held while a token is renewed: a refresh token works once, and several processes may
    /// want it. Waits; not for the threads that answer requests.
    pub(super) fn lock(&self) -> io::Result<Lock> {
        Ok(self.file.lock(MAX_LOCKED)?)
    }

    fn read(&self) -> io::Result<Kept> {
        Ok(self.file.read_json()?.unwrap_or_default())
    }

    fn write(&self, kept: &Kept) -> io::Result<()> {
        Ok(self.file.write_json(kept)?)
    }
}

/// The time of day, in seconds of Unix time.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
