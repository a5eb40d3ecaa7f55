//! Tokens of every kind, good and bad.

use aws_lc_rs::hmac;
use serde_json::{Value, json};

use super::keys::{KeyRing, text};

/// How to make a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// As it should be, with the key on a curve.
    Right,
    /// As it should be, with the RSA key.
    RightRsa,
    /// As it should be, but without saying with which key.
    NoKeyId,
    /// `alg: none`, without a signature.
    NoAlgorithm,
    /// `alg: none` in other letters.
    NoAlgorithmSpelt,
    /// With the public RSA key as if it were a shared secret.
    PublicKeyAsSecret,
    /// By a stranger, under the id of a known key.
    Stranger,
    /// By a stranger whose key is in the token itself.
    StrangerWithKey,
    /// The id of the key on a curve, the algorithm of the other.
    CrossedKeys,
    /// Changed after it was signed.
    Changed,
    /// Without its signature.
    CutOff,
    /// With an id no key has.
    UnknownKey(usize),
    /// With an extension that must be understood.
    Critical,
    /// A token for something else than access.
    OtherType,
}

pub(super) fn signed(keys: &KeyRing, claims: &Value) -> String {
    token(keys, How::Right, claims)
}

pub(super) fn token(keys: &KeyRing, how: How, claims: &Value) -> String {
    let curve = json!({ "alg": "ES256", "typ": "at+jwt", "kid": keys.curve_id() });
    let rsa = json!({ "alg": "RS256", "typ": "JWT", "kid": keys.rsa_id() });
    let with = |key: &str, value: Value| {
        let mut head = curve.clone();
        head[key] = value;
        head
    };
    let by_curve = |message: &[u8]| keys.sign_curve(message);
    let by_rsa = |message: &[u8]| keys.sign_rsa(message);
    let nothing = |_: &[u8]| Vec::new();
    match how {
        How::Right => joined(&curve, claims, by_curve),
        How::RightRsa => joined(&rsa, claims, by_rsa),
        How::NoKeyId => joined(&json!({ "alg": "ES256" }), claims, by_curve),
        How::NoAlgorithm => joined(&with("alg", json!("none")), claims, nothing),
        How::NoAlgorithmSpelt => joined(&with("alg", json!("nOnE")), claims, nothing),
        How::PublicKeyAsSecret => {
            let head = json!({ "alg": "HS256", "typ": "JWT", "kid": keys.rsa_id() });
            let key = hmac::Key::new(hmac::HMAC_SHA256, &keys.public_rsa());
            joined(&head, claims, |message| hmac::sign(&key, message).as_ref().to_vec())
        }
        How::Stranger => stranger(&curve, claims),
        How::StrangerWithKey => stranger(&with("jku", json!("http://127.0.0.1:9/jwks")), claims),
        How::CrossedKeys => {
            let head = json!({ "alg": "RS256", "kid": keys.curve_id() });
            joined(&head, claims, by_rsa)
        }
        How::Changed => {
            let token = joined(&curve, claims, by_curve);
            let mut other = claims.clone();
            other["sub"] = json!("somebody else");
            let signature = token.rsplit('.').next().unwrap_or_default().to_owned();
            let unsigned = joined(&curve, &other, nothing);
            format!("{unsigned}{signature}")
        }
        How::CutOff => joined(&curve, claims, nothing),
        How::UnknownKey(n) => joined(&with("kid", json!(format!("no-{n}"))), claims, by_curve),
        How::Critical => joined(&with("crit", json!(["exp"])), claims, by_curve),
        How::OtherType => joined(&with("typ", json!("logout+jwt")), claims, by_curve),
    }
}

/// A token under the name of our key, signed with another.
fn stranger(head: &Value, claims: &Value) -> String {
    match KeyRing::new() {
        Ok(keys) => joined(head, claims, |message| keys.sign_curve(message)),
        Err(_) => String::new(),
    }
}

fn joined(head: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let message =
        format!("{}.{}", text(head.to_string().as_bytes()), text(claims.to_string().as_bytes()));
    let signature = sign(message.as_bytes());
    format!("{message}.{}", text(&signature))
}
