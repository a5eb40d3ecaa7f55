//! The bearer token of this installation: made once, kept for its owner alone.

use std::{
    io,
    path::{Path, PathBuf},
};

use trove_core::files;

/// The longest token, with what stands around it in its file.
const MAX_FILE_BYTES: u64 = 4096;

/// The name of its file in the state folder.
pub(crate) const FILE: &str = "token";

/// Where the token lies.
pub(crate) fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

/// The token that is there; empty where the file is.
pub(crate) fn read(state: &Path) -> io::Result<String> {
    let text = files::read_text(&path(state), MAX_FILE_BYTES)?;
    Ok(text.trim().to_owned())
}

/// What is weak about a token that somebody else made.
pub(crate) fn weakness(token: &str) -> Option<&'static str> {
    let mut letters: Vec<char> = token.chars().collect();
    letters.sort_unstable();
    letters.dedup();
    if token.chars().count() < LEAST_LENGTH {
        return Some("it is so short that it can be guessed");
    }
    (letters.len() < LEAST_LETTERS)
        .then_some("it has so few different letters that it can be guessed")
}

/// A token made by chance of so many letters, of so many different ones, takes longer to guess
/// than anybody has; 22 letters of Base64 are 128 bits.
const LEAST_LENGTH: usize = 22;
const LEAST_LETTERS: usize = 8;

/// The token, made if there is none.
pub(crate) fn load_or_make(state: &Path) -> io::Result<String> {
    match read(state) {
        Ok(token) if !token.is_empty() => return Ok(token),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    files::make_folder(state)?;
    let token = trove_core::hex(&rand::random::<[u8; 24]>());
    files::replace(&path(state), token.as_bytes())?;
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
