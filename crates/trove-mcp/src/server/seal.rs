//! Seals what a server asks a client to carry back.
//!
//! The state of an unfinished request travels through the client, which could send it
//! with another request or change it. So it is bound to the request it belongs to, and
//! any other use is refused before the server sees it.

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use trove_core::{
    Json,
    json::{Object, string},
};

use crate::wire::{RpcError, code};

/// A key that lives as long as the process.
pub(crate) struct Seal(hmac::Key);

const TAG_BYTES: usize = 32;

impl Seal {
    pub(crate) fn new() -> Seal {
        // Not the generator of the crypto library: it gathers entropy for tens of
        // milliseconds when it is first used, which every start would pay.
        let secret: [u8; 32] = rand::random();
        Seal(hmac::Key::new(hmac::HMAC_SHA256, &secret))
    }

    /// Seals the `requestState` of a result, if it has one.
    pub(crate) fn close(&self, result: Json, belongs_to: &str) -> Json {
        let Some(mut object) = Object::parse_valid(result.as_str()) else { return result };
        let Some(state) = object.get("requestState").map(str::to_owned) else { return result };
        let tag = hmac::sign(&self.0, &bound(belongs_to, state.as_bytes()));
        let mut sealed = tag.as_ref().to_vec();
        sealed.extend_from_slice(state.as_bytes());
        object.set_str("requestState", &URL_SAFE_NO_PAD.encode(sealed));
        object.to_json()
    }

    /// Opens the `requestState` of a request, if it has one.
    pub(crate) fn open(&self, params: Json, belongs_to: &str) -> Result<Json, RpcError> {
        let Some(mut object) = Object::parse(params.as_str()) else { return Ok(params) };
        let Some(sealed) = object.get("requestState") else { return Ok(params) };
        let state = string(sealed).and_then(|sealed| self.unseal(&sealed, belongs_to));
        let state = state.ok_or_else(|| {
            RpcError::new(
                code::INVALID_PARAMS,
                "`requestState` was not given out for this request, or was changed",
            )
        })?;
        object.set("requestState", state);
        Ok(object.to_json())
    }

    fn unseal(&self, sealed: &str, belongs_to: &str) -> Option<String> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (tag, state) = bytes.split_at_checked(TAG_BYTES)?;
        hmac::verify(&self.0, &bound(belongs_to, state), tag).ok()?;
        String::from_utf8(state.to_vec()).ok()
    }
}

fn bound(belongs_to: &str, state: &[u8]) -> Vec<u8> {
    let mut all = (belongs_to.len() as u64).to_le_bytes().to_vec();
    all.extend_from_slice(belongs_to.as_bytes());
    all.extend_from_slice(state);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn t42_a_sealed_state_opens_only_for_its_own_request() {
        let seal = Seal::new();
        let sealed = seal.close(json(r#"{"requestState":"abc","x":1}"#), "read a:b");
        assert!(!sealed.as_str().contains("abc"));
        let opened = seal.open(sealed.clone(), "read a:b").unwrap();
        assert_eq!(opened.as_str(), r#"{"requestState":"abc","x":1}"#);
        assert!(seal.open(sealed.clone(), "read a:c").is_err());
        assert!(Seal::new().open(sealed, "read a:b").is_err());
    }

    #[test]
    fn t42_a_state_of_the_clients_own_making_is_refused() {
        let seal = Seal::new();
        for forged in
            [r#"{"requestState":"abc"}"#, r#"{"requestState":7}"#, r#"{"requestState":""}"#]
        {
            assert!(seal.open(json(forged), "read a:b").is_err(), "{forged}");
        }
        assert_eq!(seal.open(json(r#"{"a":1}"#), "x").unwrap().as_str(), r#"{"a":1}"#);
    }

    #[test]
    fn t42_a_million_guesses_open_nothing() {
        let seal = Seal::new();
        let sealed = seal.close(json(r#"{"requestState":"abc"}"#), "read a:b");
        let sealed = sealed.get_str("requestState").unwrap();
        let mut bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
        for guess in 0..1_000_000_u64 {
            // Half of them differ from the true one in a few bits, half are mere chance.
            match guess % 2 {
                0 => bytes[..8].copy_from_slice(&(guess + 1).to_le_bytes()),
                _ => bytes[..8].copy_from_slice(&rand::random::<u64>().to_le_bytes()),
            }
            let opened =
                hmac::verify(&seal.0, &bound("read a:b", &bytes[TAG_BYTES..]), &bytes[..TAG_BYTES]);
            assert!(opened.is_err());
        }
        assert_eq!(
            seal.unseal(&sealed, "read a:b").as_deref(),
            Some("\"abc\""),
            "the true one does"
        );
    }
}
