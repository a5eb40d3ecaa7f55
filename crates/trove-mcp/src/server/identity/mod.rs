//! Identifies a client by the signed token it shows: the resource server of OAuth 2.1.
//!
//! A token is taken only if our issuer signed it, for us, and it has not expired. Nothing
//! of it is kept, logged or sent on; it becomes a principal and roles, and is forgotten.

mod challenge;
pub(crate) mod fetch;
mod keys;
mod verify;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use trove_core::caller::Roles;

pub use challenge::METADATA_PATH;
pub use fetch::{FetchError, is_safe_url};

use keys::{KeyError, Keys};
use verify::{Claims, TokenError};

/// How far the clocks of issuer and gateway may differ, unless configured.
pub const DEFAULT_LEEWAY: Duration = Duration::from_secs(30);
/// The most they may be configured to differ.
pub const MAX_LEEWAY: Duration = Duration::from_secs(300);
/// The most roles one token gives.
pub const MAX_ROLES: usize = 64;
/// The longest token that is looked at.
pub const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// The longest name of a principal.
pub const MAX_PRINCIPAL_BYTES: usize = 256;

/// The issuer whose tokens are taken, and the roles that follow from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRules {
    /// The issuer that signs them.
    pub issuer: String,
    /// Where its keys are; unless given, its metadata says.
    pub jwks_url: Option<String>,
    /// For whom they must be made.
    pub audience: String,
    /// The scopes every token needs.
    pub required_scopes: Vec<String>,
    /// Which roles follow from a scope, e.g. `reader` from `docs:read`.
    pub scope_roles: BTreeMap<String, Vec<String>>,
    /// The claim that lists roles, with dots between the names of nested ones, e.g.
    /// `realm_access.roles`.
    pub roles_claim: Option<String>,
    /// How far clocks may differ.
    pub leeway: Duration,
    /// Our name in the metadata of OAuth; without it there is no metadata.
    pub resource: Option<String>,
}

/// Takes the tokens of one issuer.
pub struct SignedTokens {
    rules: TokenRules,
    keys: Keys,
}

/// The caller that a token is about.
#[derive(Debug)]
pub(super) struct Bearer {
    pub(super) principal: Arc<str>,
    pub(super) roles: Roles,
    /// When the token ends, in seconds of Unix time, leeway included.
    pub(super) until: u64,
}

/// Why a token is not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotTaken {
    #[error("a bearer token is needed")]
    Missing,
    #[error(transparent)]
    Invalid(#[from] TokenError),
    #[error("the token lacks a scope")]
    InsufficientScope(Arc<str>),
    #[error("the keys of the issuer cannot be fetched now; try again in a moment")]
    NoKeys,
}

impl SignedTokens {
    /// Nothing is fetched before the first token comes.
    pub fn new(rules: TokenRules) -> Result<SignedTokens, FetchError> {
        let keys = Keys::new(&rules.issuer, rules.jwks_url.clone())?;
        Ok(SignedTokens { rules, keys })
    }

    /// The caller whose token it is.
    pub(super) async fn take(&self, token: Option<&str>) -> Result<Bearer, NotTaken> {
        let token = token.filter(|token| !token.is_empty()).ok_or(NotTaken::Missing)?;
        let head = verify::head(token)?;
        let key = self.keys.find(&head).await.map_err(|error| match error {
            KeyError::Unknown => NotTaken::Invalid(TokenError::UnknownKey),
            KeyError::Unavailable => NotTaken::NoKeys,
        })?;
        let claims = verify::verify(token, &key, &self.rules)?;
        let scopes = claims.scopes();
        if !self.rules.required_scopes.iter().all(|needed| scopes.contains(needed)) {
            return Err(NotTaken::InsufficientScope(claims.principal()?.into()));
        }
        let until = claims.expires().saturating_add(self.rules.leeway.as_secs());
        let roles = self.roles(&claims, &scopes);
        Ok(Bearer { principal: claims.principal()?.into(), roles, until })
    }

    fn roles(&self, claims: &Claims, scopes: &[String]) -> Roles {
        let by_scope = scopes.iter().filter_map(|scope| self.rules.scope_roles.get(scope));
        let mut roles: Vec<String> = by_scope.flatten().cloned().collect();
        if let Some(path) = &self.rules.roles_claim {
            roles.extend(claims.words(path));
        }
        roles.sort();
        roles.dedup();
        roles.truncate(MAX_ROLES);
        Roles::new(roles)
    }
}
