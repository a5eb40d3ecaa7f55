//! Seals what a server asks a client to carry back.
//!
//! The state of an unfinished request travels through the client, which could send it with another
//! request, change it, or keep it for ever. So it is bound to its request and to the time at which
//! it was given out. Any other use is refused before the server sees it.

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use tokio::time::Instant;
use trove_core::{
    Json,
    json::{Object, string},
};

use crate::wire::{RpcError, code};

/// A key that lives as long as the process.
pub(crate) struct Seal {
    key: hmac::Key,
    /// Times are counted from here, by the clock that does not jump.
    born: Instant,
    /// For how long a state is taken back.
    lifetime: Duration,
}

const TAG_BYTES: usize = 32;
const TIME_BYTES: usize = 8;

/// Why a state is not taken back.
#[derive(Debug, PartialEq, Eq)]
enum NotOpened {
    Forged,
    Expired,
}

impl Seal {
    pub(crate) fn new(lifetime: Duration) -> Seal {
        // Not the generator of the crypto library: it gathers entropy for tens of
        // milliseconds when it is first used, which every start would pay.
        let secret: [u8; 32] = rand::random();
        Seal { key: hmac::Key::new(hmac::HMAC_SHA256, &secret), born: Instant::now(), lifetime }
    }

    fn age(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Seals the `requestState` of a result, if it has one.
    pub(crate) fn close(&self, result: Json, belongs_to: &str) -> Json {
        let Some(mut object) = result.object() else { return result };
        let Some(state) = object.get("requestState").map(str::to_owned) else { return result };
        let mut dated = self.age().to_le_bytes().to_vec();
        dated.extend_from_slice(state.as_bytes());
        let tag = hmac::sign(&self.key, &bound(belongs_to, &dated));
        let mut sealed = tag.as_ref().to_vec();
        sealed.extend_from_slice(&dated);
        object.set_str("requestState", &URL_SAFE_NO_PAD.encode(sealed));
        object.to_json()
    }

    /// Opens the `requestState` of a request, if it has one.
    pub(crate) fn open(&self, params: &mut Object<'_>, belongs_to: &str) -> Result<(), RpcError> {
        let Some(sealed) = params.get("requestState") else { return Ok(()) };
        let state = string(sealed).ok_or(NotOpened::Forged);
        let state = state.and_then(|sealed| self.unseal(&sealed, belongs_to));
        let state = state.map_err(|why| self.explain(&why))?;
        params.set("requestState", state);
        Ok(())
    }

    fn unseal(&self, sealed: &str, belongs_to: &str) -> Result<String, NotOpened> {
        let state = self.verify(sealed, belongs_to).ok_or(NotOpened::Forged)?;
        let (given_out, state) = state;
        let lifetime = u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX);
        if self.age().saturating_sub(given_out) > lifetime {
            return Err(NotOpened::Expired);
        }
        Ok(state)
    }

    /// The state and when it was given out, if we sealed it for this.
    fn verify(&self, sealed: &str, belongs_to: &str) -> Option<(u64, String)> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (tag, dated) = bytes.split_at_checked(TAG_BYTES)?;
        hmac::verify(&self.key, &bound(belongs_to, dated), tag).ok()?;
        let (given_out, state) = dated.split_first_chunk::<TIME_BYTES>()?;
        Some((u64::from_le_bytes(*given_out), String::from_utf8(state.to_vec()).ok()?))
    }

    fn explain(&self, why: &NotOpened) -> RpcError {
        let text = match why {
            NotOpened::Forged => {
                "`requestState` was not given out for this request, or was changed; ask again without it".to_owned()
            }
            NotOpened::Expired => format!(
                "`requestState` was given out more than {} seconds ago and is no longer taken; ask again without it",
                self.lifetime.as_secs()
            ),
        };
        RpcError::new(code::INVALID_PARAMS, text)
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
    use crate::bounds::MAX_STATE_AGE;

    fn json(text: &str) -> Json {
        Json::parse(text.to_owned()).unwrap()
    }

    fn open(seal: &Seal, params: Json, belongs_to: &str) -> Result<Json, RpcError> {
        let mut object = params.object().unwrap();
        seal.open(&mut object, belongs_to)?;
        Ok(object.to_json())
    }

    #[test]
    fn t42_a_sealed_state_opens_only_for_its_own_request() {
        let seal = Seal::new(MAX_STATE_AGE);
        let sealed = seal.close(json(r#"{"requestState":"abc","x":1}"#), "read a:b");
        assert!(!sealed.as_str().contains("abc"));
        let opened = open(&seal, sealed.clone(), "read a:b").unwrap();
        assert_eq!(opened.as_str(), r#"{"requestState":"abc","x":1}"#);
        assert!(open(&seal, sealed.clone(), "read a:c").is_err());
        assert!(open(&Seal::new(MAX_STATE_AGE), sealed, "read a:b").is_err());
    }

    #[test]
    fn t42_a_state_of_the_clients_own_making_is_refused() {
        let seal = Seal::new(MAX_STATE_AGE);
        for forged in
            [r#"{"requestState":"abc"}"#, r#"{"requestState":7}"#, r#"{"requestState":""}"#]
        {
            assert!(open(&seal, json(forged), "read a:b").is_err(), "{forged}");
        }
        assert_eq!(open(&seal, json(r#"{"a":1}"#), "x").unwrap().as_str(), r#"{"a":1}"#);
    }

    #[test]
    fn t42_a_million_guesses_open_nothing() {
        let seal = Seal::new(MAX_STATE_AGE);
        let sealed = seal.close(json(r#"{"requestState":"abc"}"#), "read a:b");
        let sealed = sealed.get_str("requestState").unwrap();
        let mut bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
        for guess in 0..1_000_000_u64 {
            // Half of them differ from the true one in a few bits, half are mere chance.
            match guess % 2 {
                0 => bytes[..8].copy_from_slice(&(guess + 1).to_le_bytes()),
                _ => bytes[..8].copy_from_slice(&rand::random::<u64>().to_le_bytes()),
            }
            let opened = hmac::verify(
                &seal.key,
                &bound("read a:b", &bytes[TAG_BYTES..]),
                &bytes[..TAG_BYTES],
            );
            assert!(opened.is_err());
        }
        assert_eq!(seal.unseal(&sealed, "read a:b").as_deref(), Ok("\"abc\""), "the true one does");
    }

    #[tokio::test(start_paused = true)]
    async fn t42_a_sealed_state_is_taken_back_for_its_lifetime_and_no_longer() {
        let lifetime = Duration::from_secs(60);
        let seal = Seal::new(lifetime);
        tokio::time::advance(Duration::from_secs(1000)).await;
        let sealed = seal.close(json(r#"{"requestState":"abc"}"#), "read a:b");
        tokio::time::advance(lifetime).await;
        assert!(open(&seal, sealed.clone(), "read a:b").is_ok(), "still good");
        tokio::time::advance(Duration::from_millis(1)).await;
        let error = open(&seal, sealed.clone(), "read a:b").unwrap_err();
        assert!(error.message.contains("more than 60 seconds ago"), "{}", error.message);
        assert!(error.message.contains("ask again without it"), "{}", error.message);
        // A forged state is told nothing about time, and a later date cannot be written in.
        let error = open(&seal, sealed.clone(), "read a:c").unwrap_err();
        assert!(error.message.contains("not given out"), "{}", error.message);
        let mut bytes = URL_SAFE_NO_PAD.decode(sealed.get_str("requestState").unwrap()).unwrap();
        bytes[TAG_BYTES..][..TIME_BYTES].copy_from_slice(&u64::MAX.to_le_bytes());
        let forged = URL_SAFE_NO_PAD.encode(bytes);
        assert_eq!(seal.unseal(&forged, "read a:b"), Err(NotOpened::Forged));
    }
}
