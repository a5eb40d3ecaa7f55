//! Tokens that a client carries and brings back, sealed by a ring of keys.
//!
//! A token tells when it was made and until when it is taken. It opens for one purpose, for one
//! person and for one thing. The first key of the ring seals, all of them open: a key is rotated by
//! putting a new one before it, and withdrawn by taking it out. Nothing here knows the protocol.

mod ring;

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use aws_lc_rs::aead::Aad;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::RwLock;

pub use ring::{BadRing, MIN_KEY_LETTERS, Ring, new_key};
use ring::{KEY_ID_BYTES, SEED_BYTES};

/// The layout of a token, in Base64:
///
/// | bytes | |
/// |---|---|
/// | 1 | the number of the layout |
/// | 4 | the id of the key |
/// | 16 | the seed, which is also the id of the token |
/// | 8 | when it was made, in milliseconds of Unix time; from here on encrypted |
/// | 8 | until when it is taken |
/// | any | the content |
/// | 16 | the tag that shows any change of the token and of its use |
const LAYOUT: u8 = 1;
const HEAD_BYTES: usize = 1 + KEY_ID_BYTES + SEED_BYTES;
const TIME_BYTES: usize = 8;
const TAG_BYTES: usize = 16;
/// The bytes of a token without content.
const FIXED_BYTES: usize = HEAD_BYTES + 2 * TIME_BYTES + TAG_BYTES;

/// The kinds of tokens. None of one kind opens as another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The place in a list.
    Cursor,
    /// The state of an unfinished request.
    RequestState,
    /// A session of a legacy client over HTTP.
    Session,
}

impl Purpose {
    /// The most bytes of content. A token is a third longer, and 72 letters more.
    fn max_content(self) -> usize {
        match self {
            Purpose::Cursor => 2 * 1024,
            Purpose::RequestState => 1024 * 1024,
            // Headers of many servers together may have 8 KiB.
            Purpose::Session => 512,
        }
    }

    fn max_letters(self) -> usize {
        (self.max_content() + FIXED_BYTES).div_ceil(3) * 4
    }
}

/// The only use for which a token opens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use<'a> {
    pub(crate) purpose: Purpose,
    /// The name of the person; `None` where callers have no names.
    pub(crate) whom: Option<&'a str>,
    /// The thing it belongs to, e.g. the request; empty if the content says it.
    pub(crate) about: &'a str,
}

/// The unencrypted bytes that are under the tag. Lengths keep the parts apart.
fn associated(head: &[u8], it: &Use<'_>) -> Vec<u8> {
    let mut all = head.to_vec();
    all.push(it.purpose as u8);
    all.push(u8::from(it.whom.is_some()));
    let whom = it.whom.unwrap_or_default();
    all.extend_from_slice(&(whom.len() as u64).to_le_bytes());
    all.extend_from_slice(whom.as_bytes());
    all.extend_from_slice(it.about.as_bytes());
    all
}

/// A token that was made.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) text: String,
    pub(crate) ticket: Ticket,
}

/// A token that was opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) content: Vec<u8>,
    pub(crate) ticket: Ticket,
}

/// Which token it is, and how long it is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// No two tokens have the same.
    pub(crate) id: String,
    /// In milliseconds of Unix time.
    pub(crate) expires: u64,
}

/// The content does not fit into a token of its purpose.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given} bytes are more than the {most} that a client can be given to carry")]
pub(crate) struct TooLong {
    given: usize,
    most: usize,
}

/// Why a token is not taken. The log tells it, and answers to clients only part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotOpened {
    #[error("it is no token")]
    Malformed,
    #[error("another version of Trove made it")]
    OtherLayout,
    #[error("no key of the ring sealed it")]
    UnknownKey,
    #[error("it was changed, or is another's, or for another use")]
    Forged,
    #[error("it has expired")]
    Expired,
}

/// Seals tokens and opens them. All doors share one.
pub struct Seal(RwLock<Arc<Ring>>);

impl Seal {
    /// With these keys.
    pub fn new(ring: Ring) -> Seal {
        Seal(RwLock::new(Arc::new(ring)))
    }

    /// Puts other keys in force.
    pub fn rotate(&self, ring: Ring) {
        *self.0.write() = Arc::new(ring);
    }

    /// Makes a token.
    pub(crate) fn close(
        &self,
        it: &Use<'_>,
        content: &[u8],
        lifetime: Duration,
    ) -> Result<Sealed, TooLong> {
        self.close_at(SystemTime::now(), it, content, lifetime)
    }

    fn close_at(
        &self,
        now: SystemTime,
        it: &Use<'_>,
        content: &[u8],
        lifetime: Duration,
    ) -> Result<Sealed, TooLong> {
        let most = it.purpose.max_content();
        if content.len() > most {
            return Err(TooLong { given: content.len(), most });
        }
        let ring = self.0.read().clone();
        let key = ring.first();
        let seed: [u8; SEED_BYTES] = rand::random();
        let mut token = Vec::with_capacity(FIXED_BYTES + content.len());
        token.push(LAYOUT);
        token.extend_from_slice(&key.id);
        token.extend_from_slice(&seed);
        let made = milliseconds(now);
        let expires = made.saturating_add(u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX));
        let mut inner = made.to_le_bytes().to_vec();
        inner.extend_from_slice(&expires.to_le_bytes());
        inner.extend_from_slice(content);
        let (cipher, nonce) = key.cipher(seed);
        let associated = Aad::from(associated(&token, it));
        let sealed = cipher.seal_in_place_append_tag(nonce, associated, &mut inner);
        sealed.expect("a few bytes can be sealed");
        token.extend_from_slice(&inner);
        let ticket = Ticket { id: trove_core::hex(&seed), expires };
        Ok(Sealed { text: URL_SAFE_NO_PAD.encode(token), ticket })
    }

    /// Opens a token that was made for this use and has not expired.
    pub(crate) fn open(&self, it: &Use<'_>, token: &str) -> Result<Opened, NotOpened> {
        self.open_at(SystemTime::now(), it, token)
    }

    fn open_at(&self, now: SystemTime, it: &Use<'_>, token: &str) -> Result<Opened, NotOpened> {
        if token.len() > it.purpose.max_letters() {
            return Err(NotOpened::Malformed);
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| NotOpened::Malformed)?;
        if bytes.len() < FIXED_BYTES {
            return Err(NotOpened::Malformed);
        }
        let (head, inner) = bytes.split_at(HEAD_BYTES);
        if head[0] != LAYOUT {
            return Err(NotOpened::OtherLayout);
        }
        let (key_id, seed) = head[1..].split_at(KEY_ID_BYTES);
        let key_id = key_id.try_into().expect("it was split there");
        let seed = seed.try_into().expect("it is the rest of the head");
        let ring = self.0.read().clone();
        let associated = associated(head, it);
        let mut why = NotOpened::UnknownKey;
        for key in ring.with_id(key_id) {
            let (cipher, nonce) = key.cipher(seed);
            let mut inner = inner.to_vec();
            match cipher.open_in_place(nonce, Aad::from(&associated), &mut inner) {
                Ok(plain) => return opened(now, seed, plain),
                Err(_) => why = NotOpened::Forged,
            }
        }
        Err(why)
    }
}

/// Takes apart what a key opened.
fn opened(now: SystemTime, seed: [u8; SEED_BYTES], plain: &[u8]) -> Result<Opened, NotOpened> {
    let (_made, rest) = plain.split_at(TIME_BYTES);
    let (expires, content) = rest.split_at(TIME_BYTES);
    let expires = u64::from_le_bytes(expires.try_into().expect("it was split there"));
    if milliseconds(now) > expires {
        return Err(NotOpened::Expired);
    }
    let ticket = Ticket { id: trove_core::hex(&seed), expires };
    Ok(Opened { content: content.to_vec(), ticket })
}

/// A moment as milliseconds of Unix time. Tokens outlive the process, and its steady clock.
pub(crate) fn milliseconds(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
