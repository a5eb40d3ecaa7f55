//! `[http]`, `[auth]` and `[keys]`: where clients come in, how they prove who they are, and what
//! seals what they carry.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use serde_json::{Value, json};
use trove_mcp::{
    seal::MIN_KEY_LETTERS,
    server::identity::{DEFAULT_LEEWAY, MAX_LEEWAY, is_safe_url},
    upstream::{Piece, Text},
};

use super::{
    file::{self, AuthWord},
    problem::Problems,
    read::{Key, Spot},
    resolve::{Surroundings, pick},
    server::own_text,
    settings::{Config, Http, HttpAuth, Origin, Overrides, Setting, Tokens},
};

const DEFAULT_ADDR: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1)), 7420);

pub(super) fn http(
    file: file::Http,
    has_issuer: bool,
    flags: &Overrides,
    problems: &mut Problems,
) -> Http {
    let written = file.addr.get().and_then(|addr| parse_addr(addr, problems));
    let addr = pick(flags.http_addr, written, DEFAULT_ADDR);
    let no_auth = flags.no_auth.then_some(HttpAuth::None);
    let written = file.auth.get().map(|auth| meant(auth.value));
    let auth = pick(no_auth, written, HttpAuth::Token);
    if auth.value == HttpAuth::None && !addr.ip().is_loopback() {
        let message = format!("without authentication, {} would be open to everyone", addr.value);
        let hint = "use the address 127.0.0.1, or the authentication `token`";
        match file.auth.get() {
            Some(spot) if auth.origin == Origin::File => problems.error(spot.at, message, hint),
            _ => problems.error_outside(message, hint),
        }
    }
    if let Some(spot) = file.auth.get()
        && matches!(auth.value, HttpAuth::Jwt | HttpAuth::Oauth)
        && !has_issuer
    {
        let message = format!("`{}` needs to know who signs the tokens", auth.as_str());
        problems.error(spot.at, message, "add [auth] issuer = \"https://id.example\"");
    }
    let public_url = safe_url(file.public_url, "public_url", problems);
    let origins = file
        .allowed_origins
        .take()
        .map(|all| all.into_iter().filter_map(|origin| origin_of(&origin, problems)).collect());
    let allowed_origins = pick(None, origins, Vec::new());
    let has_sse = pick(None, file.sse.take(), false);
    Http { addr, auth, public_url, allowed_origins, has_sse }
}

/// The issuer whose tokens are taken, and the roles of the local user.
pub(super) fn callers(file: file::Auth, problems: &mut Problems) -> (Tokens, Setting<Vec<String>>) {
    if let Some(spot) = file.leeway_seconds.get().filter(|spot| spot.value > MAX_LEEWAY.as_secs()) {
        let message = format!("a leeway of {} seconds lets expired tokens live on", spot.value);
        problems.error(spot.at, message, format!("write at most {}", MAX_LEEWAY.as_secs()));
    }
    let leeway = file.leeway_seconds.take();
    let leeway = leeway.map(|seconds| Duration::from_secs(seconds).min(MAX_LEEWAY));
    let scope_roles = file.scope_roles.0.into_iter();
    let tokens = Tokens {
        issuer: safe_url(file.issuer, "issuer", problems),
        audience: pick(None, file.audience.take().map(Some), None),
        jwks_url: safe_url(file.jwks_url, "jwks_url", problems),
        required_scopes: pick(None, file.required_scopes.take(), Vec::new()),
        scope_roles: scope_roles.map(|(scope, roles)| (scope.value, roles)).collect(),
        roles_claim: pick(None, file.roles_claim.take().map(Some), None),
        leeway: pick(None, leeway, DEFAULT_LEEWAY),
    };
    (tokens, pick(None, file.local_roles.take(), Vec::new()))
}

/// The keys of the ring. Those with variables are read where they are needed.
pub(super) fn keys(
    file: file::Keys,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Setting<Vec<Text>> {
    let Some(written) = file.ring.take() else { return pick(None, None, Vec::new()) };
    let mut keys = Vec::new();
    for key in written {
        let text = own_text(&key.value, around.folder);
        if let Err(error) = text.check() {
            problems.error(key.at, error.to_string(), error.hint());
        }
        let letters = key.value.chars().count();
        if is_literal(&text) && letters < MIN_KEY_LETTERS {
            let place = keys.len() + 1;
            let message = format!(
                "key {place} of the ring has {letters} letters, fewer than {MIN_KEY_LETTERS}"
            );
            problems.error(key.at, message, "make one with `openssl rand -hex 32`");
        }
        keys.push(text);
    }
    pick(None, Some(keys), Vec::new())
}

fn is_literal(text: &Text) -> bool {
    let Ok(pieces) = text.pieces() else { return false };
    pieces.iter().all(|piece| matches!(piece, Piece::Literal(_)))
}

/// `[keys]` as it is in force; what is no variable is a secret.
pub(super) fn shown_keys(keys: &[Text]) -> Value {
    let ring: Vec<&str> = keys.iter().map(Text::masked).collect();
    json!({ "ring": ring })
}

/// `[http]` as it is in force.
pub(super) fn shown_http(http: &Http) -> Value {
    let mut shown = json!({ "addr": http.addr.value, "auth": http.auth.as_str() });
    if let Some(url) = &http.public_url.value {
        shown["public_url"] = json!(url);
    }
    if !http.allowed_origins.is_empty() {
        shown["allowed_origins"] = json!(http.allowed_origins.value);
    }
    if http.has_sse.value {
        shown["sse"] = json!(true);
    }
    shown
}

/// `[auth]` as it is in force.
pub(super) fn shown_auth(config: &Config) -> Value {
    let tokens = &config.tokens;
    let mut shown = json!({ "local_roles": config.local_roles.value });
    let Some(issuer) = &tokens.issuer.value else { return shown };
    shown["issuer"] = json!(issuer);
    for (key, value) in [
        ("audience", &tokens.audience.value),
        ("jwks_url", &tokens.jwks_url.value),
        ("roles_claim", &tokens.roles_claim.value),
    ] {
        if let Some(value) = value {
            shown[key] = json!(value);
        }
    }
    shown["required_scopes"] = json!(tokens.required_scopes.value);
    shown["leeway_seconds"] = json!(tokens.leeway.as_secs());
    shown["scope_roles"] = json!(tokens.scope_roles);
    shown
}

fn meant(word: AuthWord) -> HttpAuth {
    match word {
        AuthWord::None => HttpAuth::None,
        AuthWord::Token => HttpAuth::Token,
        AuthWord::Jwt => HttpAuth::Jwt,
        AuthWord::Oauth => HttpAuth::Oauth,
    }
}

fn parse_addr(addr: &Spot<String>, problems: &mut Problems) -> Option<SocketAddr> {
    let parsed = addr.value.parse().ok();
    if parsed.is_none() {
        let message = format!("`{}` is no IP address with a port", addr.value);
        problems.error(addr.at, message, "write it as in `127.0.0.1:7420`");
    }
    parsed
}

/// An address that tokens may travel to or be made for.
fn safe_url(key: Key<String>, name: &str, problems: &mut Problems) -> Setting<Option<String>> {
    if let Some(spot) = key.get()
        && (!is_safe_url(&spot.value) || spot.value.contains(['?', '#']))
    {
        let message = format!("`{name}` is no plain https address");
        let hint = "write it as in `https://id.example`, without user, `?` and `#`; http is for this machine only";
        problems.error(spot.at, message, hint);
    }
    pick(None, key.take().map(Some), None)
}

/// An origin as browsers write it, e.g. `https://app.example`: scheme and host, no path.
fn origin_of(origin: &Spot<String>, problems: &mut Problems) -> Option<String> {
    let rest =
        origin.value.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"));
    let is_fit =
        rest.is_some_and(|(_, host)| !host.is_empty() && !host.contains(['/', '@', '*', ' ']));
    if !is_fit {
        let message = format!("`{}` is no origin", origin.value);
        problems.error(origin.at, message, "write scheme and host, as in `https://app.example`");
    }
    is_fit.then(|| origin.value.clone())
}
