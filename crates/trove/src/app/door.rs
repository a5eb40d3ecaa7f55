//! The guard of the HTTP door, by the configuration.

use std::{net::SocketAddr, path::Path, sync::Arc};

use anyhow::Context as _;
use trove_mcp::server::{
    Guard, Identity,
    identity::{SignedTokens, TokenRules},
};

use crate::{
    config::{Config, HttpAuth},
    token,
};

/// The guard of a door bound to `address`, and the token to print if there is one.
pub(super) fn guard(
    config: &Config,
    address: SocketAddr,
    state: &Path,
) -> anyhow::Result<(Guard, Option<String>)> {
    let (identity, token) = match config.http.auth.value {
        HttpAuth::None => (Identity::None, None),
        HttpAuth::Token => {
            let token = token::load_or_make(state).with_context(|| {
                format!(
                    "the token in {} can be neither read nor made",
                    token::path(state).display()
                )
            })?;
            (Identity::Token(token.clone()), Some(token))
        }
        HttpAuth::Jwt | HttpAuth::Oauth => {
            let tokens = SignedTokens::new(rules(config, address)?)
                .context("signed tokens cannot be checked; see [auth] of the configuration")?;
            (Identity::Signed(Arc::new(tokens)), None)
        }
    };
    let names = config.http.public_url.as_deref().and_then(host_of).into_iter().collect();
    let guard = Guard::new(identity, address);
    Ok((guard.also_as(names, config.http.allowed_origins.value.clone()), token))
}

fn rules(config: &Config, address: SocketAddr) -> anyhow::Result<TokenRules> {
    let tokens = &config.tokens;
    let resource =
        config.http.public_url.value.clone().unwrap_or_else(|| format!("http://{address}/mcp"));
    Ok(TokenRules {
        issuer: tokens.issuer.value.clone().context("[auth] names no issuer")?,
        jwks_url: tokens.jwks_url.value.clone(),
        audience: tokens.audience.value.clone().unwrap_or_else(|| resource.clone()),
        required_scopes: tokens.required_scopes.value.clone(),
        scope_roles: tokens.scope_roles.clone(),
        roles_claim: tokens.roles_claim.value.clone(),
        leeway: tokens.leeway.value,
        resource: (config.http.auth.value == HttpAuth::Oauth).then_some(resource),
    })
}

/// The name in a URL, without its port, e.g. `a.example` of `https://a.example:8443/mcp`.
fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => Some(host.to_owned()),
        _ => Some(authority.to_owned()),
    }
}
