//! The bearer token of this installation: made once, kept for its owner alone.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// Where the token lies.
pub(crate) fn path(state: &Path) -> PathBuf {
    state.join("token")
}

/// The token, made if there is none.
pub(crate) fn load_or_make(state: &Path) -> io::Result<String> {
    let path = path(state);
    match fs::read_to_string(&path) {
        Ok(token) if !token.trim().is_empty() => return Ok(token.trim().to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    fs::create_dir_all(state)?;
    let token = trove_core::hex(&rand::random::<[u8; 24]>());
    // The draft is made anew, so that nobody who knew it before can read it.
    let draft = path.with_extension("draft");
    let _ = fs::remove_file(&draft);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(token.as_bytes())?;
    file.sync_all()?;
    fs::rename(draft, path)?;
    Ok(token)
}
