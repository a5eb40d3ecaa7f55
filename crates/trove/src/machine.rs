//! This machine, for what looks at other programs' files.

use std::path::PathBuf;

use crate::{
    clients::{Host, Os},
    config::ProcessEnv,
    failed::{Class, Failed},
};

/// This machine as the program finds it.
pub(crate) fn host() -> Result<Host<'static>, Failed> {
    let program = this_program().map_err(|error| {
        let message = format!("where this program lies cannot be told: {error}");
        Failed::new(Class::Config, message)
    })?;
    let now = std::time::SystemTime::now();
    Ok(Host { os: Os::this(), env: &ProcessEnv, cwd: current_folder()?, program, now })
}

pub(crate) fn current_folder() -> Result<PathBuf, Failed> {
    std::env::current_dir()
        .map_err(|error| Failed::new(Class::Config, format!("the current folder is gone: {error}")))
}

/// This program under the name it is found by on `PATH`, which outlives its next version;
/// else by its own path.
fn this_program() -> std::io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let name = own.file_name().unwrap_or_default().to_owned();
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&folders).map(|folder| folder.join(&name));
    let is_this =
        |path: &PathBuf| path.is_absolute() && path.canonicalize().is_ok_and(|p| p == own);
    Ok(found.find(is_this).unwrap_or(own))
}

/// The word to type to run this program: its name where `PATH` leads to it, e.g. `trove`, else its
/// path.
pub(crate) fn to_type(host: &Host<'_>) -> String {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_on_path = std::env::split_paths(&folders)
        .any(|folder| Some(folder.as_path()) == host.program.parent());
    match host.program.file_name().filter(|_| is_on_path) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => host.program.display().to_string(),
    }
}
