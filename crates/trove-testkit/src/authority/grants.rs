//! Clients, codes and refresh tokens; each code and each refresh token works once.

use std::collections::HashMap;

use aws_lc_rs::digest::{SHA256, digest};

use super::{encoded, keys::text};

/// The grants so far.
#[derive(Default)]
pub(super) struct Grants {
    next: usize,
    clients: HashMap<String, Vec<String>>,
    codes: HashMap<String, Code>,
    refreshes: HashMap<String, Held>,
}

struct Code {
    redirect: String,
    challenge: String,
    held: Held,
}

#[derive(Clone)]
struct Held {
    client: String,
    resource: String,
    scope: String,
}

/// The address and the scope that a token is made for.
pub(super) struct Grant {
    pub(super) resource: String,
    pub(super) scope: String,
    pub(super) refresh: String,
    pub(super) is_refresh: bool,
}

type Asked = [(String, String)];

fn find<'a>(asked: &'a Asked, key: &str) -> &'a str {
    asked.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value)
}

impl Grants {
    pub(super) fn register(&mut self, redirects: Vec<String>) -> String {
        let id = self.new_name("client");
        self.clients.insert(id.clone(), redirects);
        id
    }

    pub(super) fn revoke_all(&mut self) {
        self.refreshes.clear();
    }

    /// Where to send the browser.
    pub(super) fn authorize(&mut self, asked: &Asked) -> Result<String, &'static str> {
        let client = find(asked, "client_id");
        let redirect = find(asked, "redirect_uri");
        // A client that was written into the configuration may use any loopback address.
        let is_known = match self.clients.get(client) {
            Some(redirects) => redirects.iter().any(|known| known == redirect),
            None => client == "configured" && redirect.starts_with("http://127.0.0.1:"),
        };
        if !is_known {
            return Err("invalid_client");
        }
        let challenge = find(asked, "code_challenge");
        let is_right = find(asked, "response_type") == "code"
            && find(asked, "code_challenge_method") == "S256"
            && challenge.len() == 43
            && !find(asked, "state").is_empty()
            && !find(asked, "resource").is_empty();
        if !is_right {
            return Err("invalid_request");
        }
        let held = Held {
            client: client.to_owned(),
            resource: find(asked, "resource").to_owned(),
            scope: find(asked, "scope").to_owned(),
        };
        let code = Code { redirect: redirect.to_owned(), challenge: challenge.to_owned(), held };
        let name = self.new_name("code");
        self.codes.insert(name.clone(), code);
        Ok(format!("{redirect}?code={name}&state={}", encoded(find(asked, "state"))))
    }

    pub(super) fn redeem(&mut self, asked: &Asked) -> Result<Grant, &'static str> {
        let client = find(asked, "client_id");
        let is_refresh = find(asked, "grant_type") == "refresh_token";
        let held = if is_refresh {
            let held = self.refreshes.remove(find(asked, "refresh_token"));
            held.filter(|held| held.client == client).ok_or("invalid_grant")?
        } else {
            let code = self.codes.remove(find(asked, "code")).ok_or("invalid_grant")?;
            let verifier = digest(&SHA256, find(asked, "code_verifier").as_bytes());
            let is_right = code.held.client == client
                && code.redirect == find(asked, "redirect_uri")
                && code.challenge == text(verifier.as_ref());
            if !is_right {
                return Err("invalid_grant");
            }
            code.held
        };
        if find(asked, "resource") != held.resource {
            return Err("invalid_target");
        }
        let refresh = self.new_name("refresh");
        self.refreshes.insert(refresh.clone(), held.clone());
        Ok(Grant { resource: held.resource, scope: held.scope, refresh, is_refresh })
    }

    fn new_name(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}-{}", self.next)
    }
}
