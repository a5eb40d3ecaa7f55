//! The bearer token of this installation: made once, kept for its owner alone.

use std::{
    io,
    path::{Path, PathBuf},
};

use trove_core::{
    files::Home,
    state_file::{Damaged, Form, StateFile},
};

/// The longest token, with spaces around it.
static FORM: Form = Form {
    max_bytes: 4096,
    version: 1,
    damaged: Damaged::Refused("delete it, and a new one is made"),
};

/// The name of its file in the state folder.
pub(crate) const FILE: &str = "token";

/// Where the token lies.
pub(crate) fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

/// The token that is there; empty where the file is.
pub(crate) fn read(state: &Path) -> io::Result<String> {
    Ok(kept(state)?.ok_or(io::ErrorKind::NotFound)?)
}

fn kept(state: &Path) -> io::Result<Option<String>> {
    let decode = |bytes| match String::from_utf8(bytes) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(_) => Err("it is not text in UTF-8".to_owned()),
    };
    Ok(file(state).read(decode)?)
}

fn file(state: &Path) -> StateFile {
    StateFile::inside(&Home::at(state), path(state), &FORM)
}

/// The weakness of a token that was not made by us, e.g. that it is too short.
pub(crate) fn weakness(token: &str) -> Option<&'static str> {
    weakness_within(token, LEAST_LENGTH)
}

/// The weakness of a secret that should have so many letters.
pub(crate) fn weakness_within(token: &str, least_length: usize) -> Option<&'static str> {
    let mut letters: Vec<char> = token.chars().collect();
    letters.sort_unstable();
    letters.dedup();
    if token.chars().count() < least_length {
        return Some("it is so short that it can be guessed");
    }
    (letters.len() < LEAST_LETTERS)
        .then_some("it has so few different letters that it can be guessed")
}

/// A random token of so many letters, and so many different ones, takes too long to guess: 22
/// letters of Base64 are 128 bits.
const LEAST_LENGTH: usize = 22;
const LEAST_LETTERS: usize = 8;

/// The token, made if there is none.
pub(crate) fn load_or_make(state: &Path) -> io::Result<String> {
    if let Some(token) = kept(state)?
        && !token.is_empty()
    {
        return Ok(token);
    }
    let token = trove_core::hex(&rand::random::<[u8; 24]>());
    file(state).write(token.as_bytes())?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t63_a_token_that_can_be_guessed_is_weak() {
        for weak in ["", "secret", "hunter2hunter2hunter2", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
            assert!(weakness(weak).is_some(), "{weak}");
        }
        let own =
            trove_core::hex(&[0x1f, 0x2e, 0x3d, 0x4c, 0x5b, 0x6a, 0x79, 0x88, 0x97, 0xa6, 0xb5]);
        assert_eq!(weakness(&own), None);
    }
}
