//! The keys that seal tokens.
//!
//! A key is a secret text of a person's making or ours. Nothing here reads a file or a setting.

use aws_lc_rs::{
    aead::{AES_256_GCM, LessSafeKey, Nonce, UnboundKey},
    hkdf,
};

/// The shortest key: 32 hexadecimal digits are 128 bits.
pub const MIN_KEY_LETTERS: usize = 32;
/// The most keys of a ring.
const MAX_KEYS: usize = 16;

/// The bytes of a token that tell its key.
pub(super) const KEY_ID_BYTES: usize = 4;
/// The bytes of a token from which its own key is derived.
pub(super) const SEED_BYTES: usize = 16;

const CIPHER_KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;

/// Keys of another use, made of the same secret, would differ.
const SALT: &[u8] = b"trove token 1";

/// The keys in force: the first seals, all open.
pub struct Ring {
    keys: Vec<Key>,
}

/// Why a ring cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRing {
    /// It has no key.
    #[error("the ring has no key; {REMEDY}")]
    Empty,
    /// It has more keys than are tried.
    #[error("the ring has {given} keys, more than {MAX_KEYS}; take out the oldest")]
    TooMany {
        /// The number of its keys.
        given: usize,
    },
    /// A key can be guessed.
    #[error(
        "key {place} of the ring has {letters} letters, fewer than {MIN_KEY_LETTERS}; {REMEDY}"
    )]
    Short {
        /// Its place in the ring, from 1.
        place: usize,
        /// Its length.
        letters: usize,
    },
    /// A key stands in it twice.
    #[error("keys {first} and {second} of the ring are the same; take one of them out")]
    Twice {
        /// The first place, from 1.
        first: usize,
        /// The second place.
        second: usize,
    },
}

const REMEDY: &str = "make one with `openssl rand -hex 32`";

impl Ring {
    /// A ring of these secrets, the one that seals first.
    pub fn new<S: AsRef<str>>(secrets: &[S]) -> Result<Ring, BadRing> {
        if secrets.is_empty() {
            return Err(BadRing::Empty);
        }
        if secrets.len() > MAX_KEYS {
            return Err(BadRing::TooMany { given: secrets.len() });
        }
        for (at, secret) in secrets.iter().enumerate() {
            let secret = secret.as_ref();
            let letters = secret.chars().count();
            if letters < MIN_KEY_LETTERS {
                return Err(BadRing::Short { place: at + 1, letters });
            }
            let before = secrets[..at].iter().position(|other| other.as_ref() == secret);
            if let Some(before) = before {
                return Err(BadRing::Twice { first: before + 1, second: at + 1 });
            }
        }
        let keys = secrets.iter().map(|secret| Key::of(secret.as_ref().as_bytes())).collect();
        Ok(Ring { keys })
    }

    /// A ring that no other process has.
    pub fn random() -> Ring {
        Ring { keys: vec![Key::of(new_key().as_bytes())] }
    }

    pub(super) fn first(&self) -> &Key {
        &self.keys[0]
    }

    /// The keys of that id: one, or by a chance of 2^-32 two.
    pub(super) fn with_id(&self, id: [u8; KEY_ID_BYTES]) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(move |key| key.id == id)
    }
}

/// A new secret for a ring, of 256 bits.
pub fn new_key() -> String {
    // The generator of the crypto library gathers entropy for tens of milliseconds when it is
    // first used, which every start would pay.
    trove_core::hex(&rand::random::<[u8; 32]>())
}

/// One key of a ring.
pub(super) struct Key {
    /// Public: it stands in each token.
    pub(super) id: [u8; KEY_ID_BYTES],
    secret: hkdf::Prk,
}

impl Key {
    fn of(secret: &[u8]) -> Key {
        let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, SALT).extract(secret);
        let id = derive(&secret, &[b"id"]);
        Key { id, secret }
    }

    /// The cipher and the nonce of one token.
    ///
    /// Each token has a key and a nonce of its own, derived from a seed of 128 random bits. Only a
    /// seed that comes twice would be a danger. After 2^40 tokens, a million a second for 12 days,
    /// the chance of that is 2^79 / 2^128 = 2^-49. With one key and random nonces of 96 bits it
    /// would be 2^-17, and NIST SP 800-38D allows no more than 2^32 tokens.
    pub(super) fn cipher(&self, seed: [u8; SEED_BYTES]) -> (LessSafeKey, Nonce) {
        let derived: [u8; CIPHER_KEY_BYTES + NONCE_BYTES] =
            derive(&self.secret, &[b"token", &seed]);
        let (key, nonce) = derived.split_at(CIPHER_KEY_BYTES);
        let key = UnboundKey::new(&AES_256_GCM, key).expect("a key of AES-256 has 32 bytes");
        let nonce = Nonce::try_assume_unique_for_key(nonce).expect("a nonce has 12 bytes");
        (LessSafeKey::new(key), nonce)
    }
}

/// The length of derived bytes.
struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derive<const N: usize>(secret: &hkdf::Prk, purpose: &[&[u8]]) -> [u8; N] {
    let mut derived = [0; N];
    let expanded = secret.expand(purpose, Length(N));
    let expanded = expanded.expect("HKDF gives up to 8,160 bytes");
    expanded.fill(&mut derived).expect("the length is the one that was asked for");
    derived
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_cannot_be_used_says_which_key_is_wrong() {
        let good = new_key();
        let told = |secrets: &[&str]| Ring::new(secrets).err().map(|error| error.to_string());
        assert_eq!(told(&[&good]), None);
        let short = told(&[&good, "0123456789"]).unwrap();
        assert!(short.contains("key 2 of the ring has 10 letters"), "{short}");
        assert!(short.contains("openssl rand -hex 32") && !short.contains("0123"), "{short}");
        let twice = told(&[&good, &new_key(), &good]).unwrap();
        assert!(twice.contains("keys 1 and 3"), "{twice}");
        assert!(told(&[]).unwrap().contains("no key"));
        let many: Vec<String> = (0..=MAX_KEYS).map(|_| new_key()).collect();
        assert_eq!(Ring::new(&many).err(), Some(BadRing::TooMany { given: 17 }));
    }

    #[test]
    fn the_id_of_a_key_is_the_same_in_each_process() {
        let ring = Ring::new(&["0123456789abcdef0123456789abcdef"]).unwrap();
        assert_eq!(trove_core::hex(&ring.first().id), "2c3f92bf");
    }
}
