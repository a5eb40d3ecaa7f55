//! The signing keys: one on a curve, one of RSA, both replaced at a rotation.

use anyhow::anyhow;
use aws_lc_rs::{
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize, PublicKeyComponents},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// The keys of this moment.
pub(super) struct KeyRing {
    generation: usize,
    curve: EcdsaKeyPair,
    rsa: RsaKeyPair,
}

impl KeyRing {
    pub(super) fn new() -> anyhow::Result<KeyRing> {
        Ok(KeyRing { generation: 1, curve: curve()?, rsa: rsa()? })
    }

    pub(super) fn rotate(&mut self) -> anyhow::Result<()> {
        *self = KeyRing { generation: self.generation + 1, ..KeyRing::new()? };
        Ok(())
    }

    pub(super) fn curve_id(&self) -> String {
        format!("curve-{}", self.generation)
    }

    pub(super) fn rsa_id(&self) -> String {
        format!("rsa-{}", self.generation)
    }

    /// The public keys, with one of an unknown kind among them.
    pub(super) fn published(&self) -> Value {
        let point = self.curve.public_key().as_ref();
        let (x, y) = point.get(1..).unwrap_or_default().split_at(32);
        let (n, e) = self.components();
        json!({ "keys": [
            { "kty": "FUTURE", "kid": "future-1", "use": "sig" },
            { "kty": "EC", "crv": "P-256", "kid": self.curve_id(), "use": "sig", "alg": "ES256",
              "x": text(x), "y": text(y) },
            { "kty": "RSA", "kid": self.rsa_id(), "use": "sig", "n": text(&n), "e": text(&e) },
        ] })
    }

    /// Modulus and exponent of the RSA key.
    fn components(&self) -> (Vec<u8>, Vec<u8>) {
        let parts: PublicKeyComponents<Vec<u8>> = self.rsa.public_key().into();
        (parts.n, parts.e)
    }

    /// The public RSA key, as a forger would use it as a secret.
    pub(super) fn public_rsa(&self) -> Vec<u8> {
        let der = aws_lc_rs::encoding::AsDer::<aws_lc_rs::encoding::PublicKeyX509Der>::as_der(
            self.rsa.public_key(),
        );
        der.map(|der| der.as_ref().to_vec()).unwrap_or_default()
    }

    pub(super) fn sign_curve(&self, message: &[u8]) -> Vec<u8> {
        let signed = self.curve.sign(&SystemRandom::new(), message);
        signed.map(|signature| signature.as_ref().to_vec()).unwrap_or_default()
    }

    pub(super) fn sign_rsa(&self, message: &[u8]) -> Vec<u8> {
        let mut signature = vec![0; self.rsa.public_modulus_len()];
        // A signature of zeros is refused, which a test would notice.
        let _ = self.rsa.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature);
        signature
    }
}

fn curve() -> anyhow::Result<EcdsaKeyPair> {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING);
    pair.map_err(|_| anyhow!("no key can be made"))
}

fn rsa() -> anyhow::Result<RsaKeyPair> {
    RsaKeyPair::generate(KeySize::Rsa2048).map_err(|_| anyhow!("no RSA key can be made"))
}

pub(super) fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
