//! One signed token: its signature, its claims. No network, nothing remembered.
//!
//! Only signatures that a public key can check are taken. Which algorithm a key is for is
//! the key's own to say, never the token's, so that no public key is taken for a secret.

use jsonwebtoken::{
    Algorithm, DecodingKey, Validation, decode, decode_header,
    errors::ErrorKind,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse},
};
use serde_json::{Map, Value};

use super::{MAX_PRINCIPAL_BYTES, MAX_TOKEN_BYTES, TokenRules};

/// The fault of a token, in words for its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("the token is no signed JWT")]
    Malformed,
    #[error("the token is of another type than an access token")]
    WrongType,
    #[error("the token is signed in a way that is not accepted")]
    Algorithm,
    #[error("no key of the issuer made the token")]
    UnknownKey,
    #[error("the signature of the token is not valid")]
    Signature,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    NotYet,
    #[error("the token is of another issuer")]
    Issuer,
    #[error("the token was made for another audience")]
    Audience,
    #[error("the token lacks a claim: exp, iss, aud and sub are needed")]
    MissingClaim,
    #[error("the subject of the token cannot be used")]
    Subject,
}

/// The part of a token about its own signature.
pub(super) struct Head {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
}

/// A key of the issuer, and what it is for.
pub(super) struct SigningKey {
    pub(super) id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

impl SigningKey {
    /// `None` for a key that is secret, or for another use.
    pub(super) fn of(jwk: &Jwk) -> Option<SigningKey> {
        let is_for_signing = match &jwk.common.public_key_use {
            None | Some(PublicKeyUse::Signature) => true,
            Some(_) => false,
        };
        if !is_for_signing {
            return None;
        }
        let mut algorithms = by_type(&jwk.algorithm);
        if let Some(only) = jwk.common.key_algorithm {
            algorithms.retain(|algorithm| named(*algorithm) == Some(only));
        }
        if algorithms.is_empty() {
            return None;
        }
        let key = DecodingKey::from_jwk(jwk).ok()?;
        Some(SigningKey { id: jwk.common.key_id.clone(), algorithms, key })
    }

    pub(super) fn is_for(&self, algorithm: Algorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }
}

/// The algorithms a key of this type can check.
fn by_type(parameters: &AlgorithmParameters) -> Vec<Algorithm> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    match parameters {
        AlgorithmParameters::RSA(_) => vec![RS256, RS384, RS512, PS256, PS384, PS512],
        AlgorithmParameters::EllipticCurve(ec) => match ec.curve {
            EllipticCurve::P256 => vec![ES256],
            EllipticCurve::P384 => vec![ES384],
            _ => Vec::new(),
        },
        AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
            vec![EdDSA]
        }
        _ => Vec::new(),
    }
}

fn named(algorithm: Algorithm) -> Option<KeyAlgorithm> {
    Some(match algorithm {
        Algorithm::RS256 => KeyAlgorithm::RS256,
        Algorithm::RS384 => KeyAlgorithm::RS384,
        Algorithm::RS512 => KeyAlgorithm::RS512,
        Algorithm::PS256 => KeyAlgorithm::PS256,
        Algorithm::PS384 => KeyAlgorithm::PS384,
        Algorithm::PS512 => KeyAlgorithm::PS512,
        Algorithm::ES256 => KeyAlgorithm::ES256,
        Algorithm::ES384 => KeyAlgorithm::ES384,
        Algorithm::EdDSA => KeyAlgorithm::EdDSA,
        _ => return None,
    })
}

/// Reads what a token says about its signature, before anything of it is believed.
pub(super) fn head(token: &str) -> Result<Head, TokenError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(TokenError::Malformed);
    }
    // An algorithm that is unknown, `none` above all, cannot be read at all.
    let header = decode_header(token).map_err(|error| match error.kind() {
        ErrorKind::Json(_) => TokenError::Algorithm,
        _ => TokenError::Malformed,
    })?;
    if named(header.alg).is_none() {
        return Err(TokenError::Algorithm);
    }
    // A critical extension must be understood, and we understand none.
    if header.crit.is_some() {
        return Err(TokenError::Malformed);
    }
    let is_access_token = header.typ.as_deref().is_none_or(|typ| {
        let typ = typ.to_ascii_lowercase();
        matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
    });
    if !is_access_token {
        return Err(TokenError::WrongType);
    }
    Ok(Head { algorithm: header.alg, key_id: header.kid })
}

/// Checks signature, issuer, audience and times.
pub(super) fn verify(
    token: &str,
    key: &SigningKey,
    rules: &TokenRules,
) -> Result<Claims, TokenError> {
    let algorithm = head(token)?.algorithm;
    if !key.is_for(algorithm) {
        return Err(TokenError::Algorithm);
    }
    let mut validation = Validation::new(algorithm);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.set_issuer(&[&rules.issuer]);
    validation.set_audience(&[&rules.audience]);
    validation.validate_nbf = true;
    // A token ends at the second it names, not after it.
    validation.reject_tokens_expiring_in_less_than = 1;
    validation.leeway = rules.leeway.as_secs();
    let decoded = decode::<Map<String, Value>>(token, &key.key, &validation);
    let claims = decoded.map_err(|error| match error.kind() {
        ErrorKind::InvalidSignature => TokenError::Signature,
        ErrorKind::ExpiredSignature => TokenError::Expired,
        ErrorKind::ImmatureSignature => TokenError::NotYet,
        ErrorKind::InvalidIssuer => TokenError::Issuer,
        ErrorKind::InvalidAudience => TokenError::Audience,
        ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) => {
            TokenError::MissingClaim
        }
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName => TokenError::Algorithm,
        _ => TokenError::Malformed,
    })?;
    // One issuer, and not a list in which ours is one of several.
    if claims.claims.get("iss").and_then(Value::as_str) != Some(rules.issuer.as_str()) {
        return Err(TokenError::Issuer);
    }
    Ok(Claims(claims.claims))
}

/// The claims of a token that was found to be true.
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    /// Whom it is about.
    pub(super) fn principal(&self) -> Result<&str, TokenError> {
        let subject = self.0.get("sub").and_then(Value::as_str).unwrap_or_default();
        let is_fit = !subject.is_empty()
            && subject.len() <= MAX_PRINCIPAL_BYTES
            && !subject.chars().any(char::is_control);
        if is_fit { Ok(subject) } else { Err(TokenError::Subject) }
    }

    /// When it ends, in seconds of Unix time.
    pub(super) fn expires(&self) -> u64 {
        let number = self.0.get("exp");
        number.and_then(|n| n.as_u64().or_else(|| n.as_f64().map(|n| n as u64))).unwrap_or(0)
    }

    /// `scope` as RFC 9068 has it, or `scp` as some issuers do.
    pub(super) fn scopes(&self) -> Vec<String> {
        let mut scopes = self.words("scope");
        scopes.extend(self.words("scp"));
        scopes
    }

    /// The words of a claim: a list of strings, or one with spaces between, e.g.
    /// `docs:read docs:write`.
    pub(super) fn words(&self, path: &str) -> Vec<String> {
        // A name with dots may also be one claim, as in `https://example.com/roles`.
        let found = self.0.get(path).or_else(|| {
            let mut parts = path.split('.');
            let first = self.0.get(parts.next()?)?;
            parts.try_fold(first, |value, part| value.get(part))
        });
        match found {
            Some(Value::String(words)) => words.split_whitespace().map(str::to_owned).collect(),
            Some(Value::Array(words)) => {
                words.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(text: &str) -> Claims {
        Claims(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn words_are_found_in_lists_texts_and_nested_claims() {
        let all = claims(
            r#"{"scope":"a b","scp":["c"],"realm":{"roles":["x","y"]},"https://e.x/roles":["z"],"n":1}"#,
        );
        assert_eq!(all.scopes(), ["a", "b", "c"]);
        assert_eq!(all.words("realm.roles"), ["x", "y"]);
        assert_eq!(all.words("https://e.x/roles"), ["z"]);
        assert!(all.words("n").is_empty() && all.words("no.such").is_empty());
    }

    #[test]
    fn a_subject_that_could_forge_a_log_line_is_none() {
        for bad in [r#"{"sub":""}"#, r#"{"sub":"a\nb"}"#, r#"{"sub":7}"#, "{}"] {
            assert_eq!(claims(bad).principal(), Err(TokenError::Subject), "{bad}");
        }
        let long = format!("{{\"sub\":\"{}\"}}", "a".repeat(MAX_PRINCIPAL_BYTES + 1));
        assert_eq!(claims(&long).principal(), Err(TokenError::Subject));
        let longest = format!("{{\"sub\":\"{}\"}}", "a".repeat(MAX_PRINCIPAL_BYTES));
        assert!(claims(&longest).principal().is_ok());
    }

    #[test]
    fn what_is_no_token_is_refused_before_any_key_is_sought() {
        for bad in ["", "x", "a.b", "a.b.c", "....", "\u{fffd}.x.y"] {
            assert!(head(bad).is_err(), "{bad}");
        }
        assert_eq!(head(&"a".repeat(MAX_TOKEN_BYTES + 1)).err(), Some(TokenError::Malformed));
    }

    #[test]
    fn a_secret_in_the_set_of_keys_is_no_key() {
        let secret = r#"{"kty":"oct","k":"c2VjcmV0","alg":"HS256","kid":"1"}"#;
        assert!(SigningKey::of(&serde_json::from_str(secret).unwrap()).is_none());
        let encrypting = r#"{"kty":"RSA","use":"enc","n":"AQAB","e":"AQAB"}"#;
        assert!(SigningKey::of(&serde_json::from_str(encrypting).unwrap()).is_none());
    }
}
