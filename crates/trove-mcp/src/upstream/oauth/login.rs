//! One login: the address a person opens, and what is made of the answer that comes back.

use aws_lc_rs::{
    constant_time,
    digest::{SHA256, digest},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::{Client, Url};
use serde_json::json;

use super::{
    Grant, OauthError,
    discover::{Found, discover},
    redeem, word,
};
use crate::server::identity::fetch;

/// The login that is wanted: for which server, and as which client.
pub struct Wish {
    /// The server, by its id.
    pub server: String,
    /// Its address.
    pub url: String,
    /// Our client id at its issuer, if one was agreed before; an https address is one of a client
    /// metadata document.
    pub client_id: Option<String>,
    /// How we prove it.
    pub client_secret: Option<String>,
    /// The scopes to ask for; unless given, those the server names.
    pub scopes: Vec<String>,
    /// Where the browser is sent back to.
    pub redirect: String,
}

/// A login that waits for a person.
pub struct Login {
    /// The address that the person opens.
    pub address: String,
    client: Client,
    found: Found,
    wish: Wish,
    client_id: String,
    state: String,
    verifier: String,
}

impl Login {
    /// Finds the issuer, gets to be known there, and makes the address to open.
    pub async fn begin(wish: Wish) -> Result<Login, OauthError> {
        let client = fetch::client()?;
        let found = discover(&client, &wish.url).await?;
        let client_id = match &wish.client_id {
            Some(id) => id.clone(),
            None => register(&client, &found, &wish.redirect).await?,
        };
        let (state, verifier) = (secret(), secret());
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let scopes = if wish.scopes.is_empty() { &found.scopes } else { &wish.scopes };
        let scope = scopes.join(" ");
        let mut address =
            Url::parse(&found.authorization_endpoint).map_err(|_| OauthError::Foreign)?;
        {
            let mut query = address.query_pairs_mut();
            query.append_pair("response_type", "code").append_pair("client_id", &client_id);
            query.append_pair("redirect_uri", &wish.redirect).append_pair("state", &state);
            query.append_pair("code_challenge", &challenge);
            query.append_pair("code_challenge_method", "S256").append_pair("resource", &wish.url);
            if !scope.is_empty() {
                query.append_pair("scope", &scope);
            }
        }
        let address = address.to_string();
        Ok(Login { address, client, found, wish, client_id, state, verifier })
    }

    /// Makes a grant of the query the browser came back with.
    pub async fn finish(&self, query: &str) -> Result<Grant, OauthError> {
        let url =
            Url::parse(&format!("http://localhost/?{query}")).map_err(|_| OauthError::Foreign)?;
        let get = |name: &str| {
            url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        let state = get("state").unwrap_or_default();
        if constant_time::verify_slices_are_equal(state.as_bytes(), self.state.as_bytes()).is_err()
        {
            return Err(OauthError::Foreign);
        }
        // Another issuer could send its own code to be tried at ours.
        let issuer = get("iss");
        let is_ours = issuer.as_deref().is_none_or(|issuer| issuer == self.found.issuer);
        if !is_ours || (self.found.sends_issuer && issuer.is_none()) {
            return Err(OauthError::Foreign);
        }
        if let Some(error) = get("error") {
            let why = word(&error);
            return Err(OauthError::Refused { issuer: self.found.issuer.clone(), why });
        }
        let code = get("code").ok_or(OauthError::Foreign)?;
        let held = self.empty_grant();
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", self.wish.redirect.as_str()),
            ("client_id", self.client_id.as_str()),
            ("code_verifier", self.verifier.as_str()),
            ("resource", self.wish.url.as_str()),
        ];
        if let Some(secret) = &self.wish.client_secret {
            form.push(("client_secret", secret));
        }
        redeem(&self.client, &form, &held).await
    }

    fn empty_grant(&self) -> Grant {
        Grant {
            server: self.wish.server.clone(),
            resource: self.wish.url.clone(),
            issuer: self.found.issuer.clone(),
            token_endpoint: self.found.token_endpoint.clone(),
            client_id: self.client_id.clone(),
            client_secret: self.wish.client_secret.clone(),
            access_token: String::new(),
            refresh_token: None,
            expires_at: None,
            scope: None,
        }
    }
}

/// Makes us known to an issuer that takes every client (RFC 7591).
async fn register(client: &Client, found: &Found, redirect: &str) -> Result<String, OauthError> {
    let Some(endpoint) = &found.registration_endpoint else {
        let what = "takes no clients by itself; register Trove there and write `oauth = { client_id = \"…\" }`";
        return Err(OauthError::Unsupported { issuer: found.issuer.clone(), what });
    };
    let wish = json!({
        "client_name": "Trove",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    });
    let answer = fetch::post_json(client, endpoint, &wish).await?;
    let why = || OauthError::Refused {
        issuer: found.issuer.clone(),
        why: word(answer["error"].as_str().unwrap_or("no client id came")),
    };
    answer["client_id"].as_str().map(str::to_owned).ok_or_else(why)
}

/// A secret of 32 random bytes.
fn secret() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}
