//! Tokens: opened where they may be, and nowhere else.

use std::time::Duration;

use aws_lc_rs::aead::Nonce;
use proptest::prelude::*;

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

fn ring(secrets: &[&str]) -> Seal {
    Seal::new(Ring::new(secrets).unwrap())
}

const A: &str = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf";
const B: &str = "b0b1b2b3b4b5b6b7b8b9babbbcbdbebf";

fn of(purpose: Purpose) -> Use<'static> {
    Use { purpose, whom: Some("ann"), about: "read a:b" }
}

const STATE: Use<'static> =
    Use { purpose: Purpose::RequestState, whom: Some("ann"), about: "read a:b" };

fn close(seal: &Seal, content: &str) -> String {
    seal.close(&STATE, content.as_bytes(), HOUR).unwrap().text
}

fn open(seal: &Seal, token: &str) -> Result<String, NotOpened> {
    let opened = seal.open(&STATE, token)?;
    Ok(String::from_utf8(opened.content).unwrap())
}

#[test]
fn a_token_opens_in_every_process_that_has_its_key() {
    let token = close(&ring(&[A]), "abc");
    assert_eq!(open(&ring(&[A]), &token).as_deref(), Ok("abc"));
    assert_eq!(open(&ring(&[B, A]), &token).as_deref(), Ok("abc"));
    assert_eq!(open(&ring(&[B]), &token), Err(NotOpened::UnknownKey));
}

/// Made by another implementation, of HKDF and AES-GCM in Python: the layout is a promise to
/// tokens that are with clients.
const FOREIGN: &str = "AZHHiR0AAQIDBAUGBwgJCgsMDQ4PrWHGelNFoYeHbHaCvtlSfQ_tHNFKA6oX8wa25vkCIt2MkyU";

#[test]
fn a_token_of_another_implementation_opens() {
    assert_eq!(open(&ring(&[A]), FOREIGN).as_deref(), Ok("abc"));
}

#[test]
fn a_ring_that_is_rotated_seals_with_the_new_key_and_opens_with_both() {
    let seal = ring(&[A]);
    let before = close(&seal, "before");
    seal.rotate(Ring::new(&[B, A]).unwrap());
    assert_eq!(open(&seal, &before).as_deref(), Ok("before"));
    let after = close(&seal, "after");
    seal.rotate(Ring::new(&[B]).unwrap());
    assert_eq!(open(&seal, &before), Err(NotOpened::UnknownKey));
    assert_eq!(open(&seal, &after).as_deref(), Ok("after"));
}

#[test]
fn a_token_opens_for_its_own_use_only() {
    let seal = ring(&[A]);
    let token = close(&seal, "abc");
    for other in [
        Use { whom: Some("bob"), ..STATE },
        Use { whom: Some(""), ..STATE },
        Use { whom: None, ..STATE },
        Use { about: "read a:c", ..STATE },
        Use { whom: Some("annread "), about: "a:b", ..STATE },
        Use { purpose: Purpose::Cursor, ..STATE },
        Use { purpose: Purpose::Session, ..STATE },
    ] {
        assert_eq!(seal.open(&other, &token).unwrap_err(), NotOpened::Forged, "{other:?}");
    }
}

#[test]
fn a_token_is_taken_until_it_expires_and_no_longer() {
    let seal = ring(&[A]);
    let then = UNIX_EPOCH + Duration::from_secs(1_000_000);
    let token = seal.close_at(then, &STATE, b"abc", HOUR).unwrap().text;
    let at = |later: Duration| seal.open_at(then + later, &STATE, &token).map(|_| ());
    assert_eq!(at(HOUR), Ok(()));
    assert_eq!(at(HOUR + Duration::from_millis(1)), Err(NotOpened::Expired));
    // A clock that was set back makes no token younger than it is.
    assert_eq!(seal.open_at(UNIX_EPOCH, &STATE, &token).map(|_| ()), Ok(()));
}

#[test]
fn a_token_of_another_layout_is_told_from_one_that_was_changed() {
    let seal = ring(&[A]);
    let mut bytes = URL_SAFE_NO_PAD.decode(close(&seal, "abc")).unwrap();
    bytes[0] = LAYOUT + 1;
    assert_eq!(open(&seal, &URL_SAFE_NO_PAD.encode(&bytes)), Err(NotOpened::OtherLayout));
    for text in ["", "x", "abc", "=", "ä", "0123456789abcdef0123456789abcdef"] {
        assert_eq!(open(&seal, text), Err(NotOpened::Malformed), "{text}");
    }
}

#[test]
fn a_token_is_no_longer_than_its_purpose_allows() {
    let seal = ring(&[A]);
    for purpose in [Purpose::Cursor, Purpose::RequestState, Purpose::Session] {
        let most = vec![b'x'; purpose.max_content()];
        let token = seal.close(&of(purpose), &most, HOUR).unwrap().text;
        assert_eq!(seal.open(&of(purpose), &token).unwrap().content, most);
        let more = vec![b'x'; purpose.max_content() + 1];
        assert!(seal.close(&of(purpose), &more, HOUR).is_err(), "{purpose:?}");
        let long = "A".repeat(purpose.max_letters() + 1);
        assert_eq!(seal.open(&of(purpose), &long).unwrap_err(), NotOpened::Malformed);
    }
    // An id of a session is a header.
    assert!(Purpose::Session.max_letters() < 1024);
}

#[test]
fn no_two_tokens_are_the_same_and_none_shows_its_content() {
    let seal = ring(&[A]);
    let (first, second) = (close(&seal, "abc"), close(&seal, "abc"));
    assert_ne!(first, second);
    let bytes = URL_SAFE_NO_PAD.decode(first).unwrap();
    assert!(!bytes.windows(3).any(|part| part == b"abc"));
}

#[test]
fn t42_a_million_guesses_open_nothing() {
    let ring = Ring::new(&[A]).unwrap();
    let token = URL_SAFE_NO_PAD.decode(FOREIGN).unwrap();
    let (head, inner) = token.split_at(HEAD_BYTES);
    let seed = head[1 + KEY_ID_BYTES..].try_into().unwrap();
    let (cipher, nonce) = ring.first().cipher(seed);
    let (nonce, associated) = (*nonce.as_ref(), associated(head, &STATE));
    let opens = |inner: &mut [u8]| {
        let nonce = Nonce::assume_unique_for_key(nonce);
        cipher.open_in_place(nonce, Aad::from(&associated), inner).is_ok()
    };
    assert!(opens(&mut inner.to_vec()), "the true one does");
    let tag = inner.len() - TAG_BYTES;
    for guess in 0..1_000_000_u64 {
        let mut inner = inner.to_vec();
        // Half of them differ from the true one in a few bits, half are mere chance.
        let part = if guess % 2 == 0 { guess + 1 } else { rand::random() };
        inner[tag..][..8].copy_from_slice(&part.to_le_bytes());
        assert!(!opens(&mut inner));
    }
}

proptest! {
    #[test]
    fn what_is_closed_opens_as_it_was(content: Vec<u8>, about: String, whom: Option<String>) {
        let seal = ring(&[A, B]);
        let it = Use { purpose: Purpose::RequestState, whom: whom.as_deref(), about: &about };
        let sealed = seal.close(&it, &content, HOUR).unwrap();
        let opened = seal.open(&it, &sealed.text).unwrap();
        prop_assert_eq!(opened, Opened { content, ticket: sealed.ticket });
    }

    #[test]
    fn a_token_with_any_bit_changed_or_any_byte_missing_does_not_open(
        content: Vec<u8>, place: prop::sample::Index, bit in 0..8_u8,
    ) {
        let seal = ring(&[A, B]);
        let token = seal.close(&STATE, &content, HOUR).unwrap().text;
        let bytes = URL_SAFE_NO_PAD.decode(token).unwrap();
        let place = place.index(bytes.len());
        let mut changed = bytes.clone();
        changed[place] ^= 1 << bit;
        prop_assert!(seal.open(&STATE, &URL_SAFE_NO_PAD.encode(&changed)).is_err());
        prop_assert!(seal.open(&STATE, &URL_SAFE_NO_PAD.encode(&bytes[..place])).is_err());
    }
}

#[test]
fn t50_fuzz_tokens() {
    // The corpus holds a token of this ring, so that mutations reach every check.
    let seal = ring(&[A]);
    trove_fuzz::feed("token", |input| {
        let text = String::from_utf8_lossy(input);
        seal.open_at(UNIX_EPOCH, &STATE, &text)
            .map(|opened| opened.content.len())
            .map_err(|why| why.to_string())
    });
}
