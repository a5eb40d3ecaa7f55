//! How a person's browser proves that it may ask, and which routes it may use.
//!
//! A browser gets a pass in exchange for the token: a cookie and a key. Both are made from the
//! token, and neither is of any use alone. Cookies of one host are sent to every port of it. So a
//! cookie by itself could be picked up by another program's page. The page keeps the key where no
//! other port can read it. Neither opens `/mcp`: the cookie is not sent there, and that door takes
//! nothing but the token.

use aws_lc_rs::hmac;
use axum::{
    Router,
    body::Body,
    extract::Request,
    middleware::{Next, from_fn},
    response::Response,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use trove_core::{hex, json::quote};

use super::guard::{Guard, Identity, Refusal, has_token, is_same};

/// The header in which the page repeats its key.
pub const KEY_HEADER: &str = "x-trove-key";
/// How long a browser stays let in.
const PASS_SECONDS: u32 = 30 * 24 * 3600;

/// The name of the page and its API in the audit log.
const PAGE: &str = "/";
const NO_PASS: &str = "open the address that `trove up` prints";
const NO_PAGE: &str = "the page is served to the holder of Trove's own token only, and here an issuer's are asked for";

/// The guard in front of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Checks Host and Origin only, for routes without secrets.
    Open,
    /// The token, or cookie and key.
    Page,
    /// The token, or the cookie alone: for frames, which can send no header and whose
    /// addresses cannot be guessed.
    Frame,
}

/// The pass that a browser gets for the token.
pub struct Pass {
    /// The whole `Set-Cookie` header.
    pub cookie: String,
    /// The key that the page repeats in [`KEY_HEADER`].
    pub key: String,
}

/// Puts the guard in front of further routes.
pub fn behind(guard: &Guard, lock: Lock, routes: Router) -> Router {
    let guard = guard.clone();
    routes.layer(from_fn(move |request: Request, next: Next| {
        let admitted = guard.admit_browser(lock, request.headers());
        async move {
            match admitted {
                Ok(()) => next.run(request).await,
                Err(refusal) => refuse(refusal),
            }
        }
    }))
}

impl Guard {
    /// How somebody gets to see the page: by Trove's own token, by nothing, or not at all, since
    /// an issuer's tokens are asked for.
    pub fn page_opens_by(&self) -> &'static str {
        match &self.identity {
            Identity::None => "nothing",
            Identity::Token(_) => "token",
            Identity::Signed(_) => "issuer",
        }
    }

    /// The pass that a browser gets for the token; `None` for any other text.
    pub fn exchange(&self, given: &str) -> Option<Pass> {
        let token = match &self.identity {
            Identity::Token(token) if is_same(given.as_bytes(), token.as_bytes()) => token,
            _ => {
                self.note(&Refusal::new(StatusCode::UNAUTHORIZED, NO_PASS), PAGE);
                return None;
            }
        };
        // `Path` keeps it from the MCP door, `HttpOnly` from every script.
        let cookie = format!(
            "{}={}; Path=/api; HttpOnly; SameSite=Strict; Max-Age={PASS_SECONDS}",
            self.cookie_name(),
            made_from(token, "cookie")
        );
        Some(Pass { cookie, key: made_from(token, "key") })
    }

    /// Lets a browser in, or says with which status to turn it away.
    fn admit_browser(&self, lock: Lock, headers: &HeaderMap) -> Result<(), Refusal> {
        self.check_browser(lock, headers).inspect_err(|refusal| self.note(refusal, PAGE))
    }

    fn check_browser(&self, lock: Lock, headers: &HeaderMap) -> Result<(), Refusal> {
        self.check_place(headers)?;
        if lock == Lock::Open {
            return Ok(());
        }
        is_same_origin(headers)?;
        let token = match &self.identity {
            Identity::None => return Ok(()),
            Identity::Token(token) => token,
            // The page shows the view of its one owner; it knows no other person.
            Identity::Signed(_) => return Err(Refusal::new(StatusCode::FORBIDDEN, NO_PAGE)),
        };
        if has_token(headers, token) {
            return Ok(());
        }
        let cookie = self.cookie(headers).unwrap_or_default();
        let key = headers.get(KEY_HEADER).map(HeaderValue::as_bytes).unwrap_or_default();
        let has_cookie = is_same(cookie.as_bytes(), made_from(token, "cookie").as_bytes());
        let has_key = lock == Lock::Frame || is_same(key, made_from(token, "key").as_bytes());
        match has_cookie && has_key {
            true => Ok(()),
            false => Err(Refusal::new(StatusCode::UNAUTHORIZED, NO_PASS)),
        }
    }

    /// The cookie names the port, e.g. `trove_7410`, so that gateways on one host keep their own.
    fn cookie_name(&self) -> String {
        format!("trove_{}", self.address.port())
    }

    fn cookie<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let name = self.cookie_name();
        let all = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut cookies = all.flat_map(|line| line.split(';'));
        cookies.find_map(|cookie| {
            let (key, value) = cookie.trim().split_once('=')?;
            (key == name).then_some(value)
        })
    }
}

/// The guard lets pages of every port of this machine speak MCP; this one is for our
/// own page alone.
fn is_same_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_foreign_site = text("sec-fetch-site").is_some_and(|s| s != "same-origin" && s != "none");
    let host = text("host").unwrap_or_default();
    let is_foreign_origin = text("origin").is_some_and(|origin| {
        origin.split_once("://").is_none_or(|(_, authority)| !authority.eq_ignore_ascii_case(host))
    });
    if is_foreign_site || is_foreign_origin {
        let why = "only Trove's own page may ask here";
        return Err(Refusal::new(StatusCode::FORBIDDEN, why));
    }
    Ok(())
}

/// A text that only a holder of the token can make, and from which the token cannot be found.
fn made_from(token: &str, purpose: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    let tag = hmac::sign(&key, format!("trove web {purpose}").as_bytes());
    hex(tag.as_ref())
}

fn refuse(Refusal { status, why, .. }: Refusal) -> Response {
    let body = format!("{{\"error\":{},\"message\":{}}}", quote(status.as_str()), quote(&why));
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new(Identity::Token("secret".into()), "127.0.0.1:7420".parse().unwrap())
    }

    fn admit(lock: Lock, given: &[(&'static str, &str)]) -> u16 {
        let mut headers = HeaderMap::from_iter([(header::HOST, "localhost:7420".parse().unwrap())]);
        for (name, value) in given {
            headers.insert(*name, value.parse().unwrap());
        }
        let admitted = guard().admit_browser(lock, &headers);
        admitted.map_or_else(|refusal| refusal.status.as_u16(), |()| 200)
    }

    fn pass() -> (String, String) {
        let pass = guard().exchange("secret").unwrap();
        (pass.cookie.split(';').next().unwrap().to_owned(), pass.key)
    }

    #[test]
    fn a_pass_is_given_for_the_token_and_holds_none_of_it() {
        assert!(guard().exchange("wrong").is_none());
        let pass = guard().exchange("secret").unwrap();
        assert!(!pass.cookie.contains("secret") && !pass.key.contains("secret"));
        for attribute in ["HttpOnly", "SameSite=Strict", "Path=/api;"] {
            assert!(pass.cookie.contains(attribute), "{attribute}");
        }
    }

    #[test]
    fn a_page_needs_both_halves_and_a_frame_the_cookie() {
        let (cookie, key) = pass();
        let (cookie, key) = (("cookie", cookie.as_str()), (KEY_HEADER, key.as_str()));
        assert_eq!(admit(Lock::Page, &[cookie, key]), 200);
        assert_eq!(admit(Lock::Page, &[cookie]), 401);
        assert_eq!(admit(Lock::Page, &[key]), 401);
        assert_eq!(admit(Lock::Frame, &[cookie]), 200);
        assert_eq!(admit(Lock::Frame, &[key]), 401);
        assert_eq!(admit(Lock::Frame, &[]), 401);
        assert_eq!(admit(Lock::Open, &[]), 200);
        assert_eq!(admit(Lock::Page, &[("authorization", "Bearer secret")]), 200);
    }

    #[test]
    fn a_pass_does_not_open_the_mcp_door() {
        let (cookie, key) = pass();
        let mut headers = HeaderMap::from_iter([(header::HOST, "localhost".parse().unwrap())]);
        headers.insert(header::COOKIE, cookie.parse().unwrap());
        headers.insert(KEY_HEADER, key.parse().unwrap());
        let admitted = futures_util::FutureExt::now_or_never(guard().admit(&headers, "/mcp"));
        assert!(admitted.unwrap().is_err());
    }

    #[test]
    fn pages_of_other_ports_are_strangers() {
        let (cookie, key) = pass();
        let ours = [("cookie", cookie.as_str()), (KEY_HEADER, key.as_str())];
        for foreign in [
            ("origin", "http://localhost:3000"),
            ("origin", "null"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "cross-site"),
        ] {
            assert_eq!(admit(Lock::Page, &[ours[0], ours[1], foreign]), 403, "{foreign:?}");
        }
        let own = [("origin", "http://localhost:7420"), ("sec-fetch-site", "same-origin")];
        assert_eq!(admit(Lock::Page, &[ours[0], ours[1], own[0], own[1]]), 200);
    }
}
