//! Tokens for servers behind a URL: got by a person's consent, kept, refreshed.
//!
//! The token belongs to one server at one address of one issuer, and is sent nowhere else.
//! Clients' own tokens never come here.

mod bearer;
mod discover;
mod login;
mod store;

use reqwest::Client;
use serde_json::Value;

pub(crate) use bearer::Bearer;
pub use login::{Login, Wish};
pub use store::{Credentials, Grant};

use crate::server::identity::{FetchError, fetch};

/// Why a server gave no token.
#[derive(Debug, thiserror::Error)]
pub enum OauthError {
    /// A document on the way is missing or unfit.
    #[error(transparent)]
    Document(#[from] FetchError),
    /// The server's metadata speaks of another.
    #[error("the server says that it is {found}, not {asked}; is the url right?")]
    OtherResource {
        /// The address in the metadata.
        found: String,
        /// The address that we asked.
        asked: String,
    },
    /// The issuer cannot do what must be done.
    #[error("{issuer} {what}")]
    Unsupported {
        /// The issuer.
        issuer: String,
        /// The feature it lacks.
        what: &'static str,
    },
    /// The issuer said no.
    #[error("{issuer} refused: {why}")]
    Refused {
        /// The issuer.
        issuer: String,
        /// In its own word for it.
        why: String,
    },
    /// The answer belongs to another login.
    #[error("the answer does not belong to this login; begin again")]
    Foreign,
    /// The tokens cannot be kept.
    #[error("the credentials cannot be kept: {0}")]
    Store(#[from] std::io::Error),
}

/// Posts a form to the issuer's token endpoint and reads a grant.
async fn redeem(client: &Client, form: &[(&str, &str)], held: &Grant) -> Result<Grant, OauthError> {
    let answer = fetch::post_form(client, &held.token_endpoint, form).await?;
    let refused =
        |why: &str| OauthError::Refused { issuer: held.issuer.clone(), why: why.to_owned() };
    if let Some(error) = answer["error"].as_str() {
        return Err(refused(&held.hide(&word(error))));
    }
    let access = answer["access_token"].as_str().ok_or_else(|| refused("no access token came"))?;
    if !answer["token_type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(refused("the token is of an unknown type"));
    }
    let text = |key: &str| answer[key].as_str().map(str::to_owned);
    Ok(Grant {
        access_token: access.to_owned(),
        // An issuer that sends no new one means the old one to go on.
        refresh_token: text("refresh_token").or_else(|| held.refresh_token.clone()),
        expires_at: answer["expires_in"]
            .as_u64()
            .map(|seconds| store::now().saturating_add(seconds)),
        scope: text("scope").or_else(|| held.scope.clone()),
        ..held.clone()
    })
}

/// A word of an issuer, short and plain: it is shown to a person.
fn word(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(100).collect()
}

fn strings(value: &Value) -> Vec<String> {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
