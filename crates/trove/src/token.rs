//! The bearer token of this installation: made once, kept for its owner alone.

use std::{
    io,
    path::{Path, PathBuf},
};

use trove_core::files;

/// The longest token, with what stands around it in its file.
const MAX_FILE_BYTES: u64 = 4096;

/// Where the token lies.
pub(crate) fn path(state: &Path) -> PathBuf {
    state.join("token")
}

/// The token that is there; empty where the file is.
pub(crate) fn read(state: &Path) -> io::Result<String> {
    let text = files::read_text(&path(state), MAX_FILE_BYTES)?;
    Ok(text.trim().to_owned())
}

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
