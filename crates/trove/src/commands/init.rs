//! `trove init`: a configuration and a small guide to start from.
//!
//! Nothing that is there is ever replaced.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use serde_json::json;

use super::{Class, Failed, say};
use crate::{borrow::GUIDE, cli::Output};

/// The configuration that is written beside the guide.
const CONFIG: (&str, &str) = ("trove.toml", include_str!("../../starter/trove.toml"));

/// Writes what is not there yet into the current folder.
pub(super) fn init(output: Output) -> Result<(), Failed> {
    let folder = std::env::current_dir().map_err(|error| {
        Failed::new(Class::Config, format!("the current folder is gone: {error}"))
    })?;
    let (mut said, mut files) = (String::new(), Vec::new());
    let guide = GUIDE.iter().map(|(path, text)| (format!("guide/{path}"), *text));
    for (path, text) in std::iter::once((CONFIG.0.to_owned(), CONFIG.1)).chain(guide) {
        let is_new = write_new(&folder.join(&path), text)
            .map_err(|error| Failed::new(Class::Config, format!("{path}: {error}")))?;
        files.push(json!({ "path": path, "written": is_new }));
        said.push_str(if is_new { "wrote " } else { "kept  " });
        said.push_str(&path);
        said.push('\n');
    }
    said.push_str(
        "\nNext: `trove ls` shows what is served, `trove read guide://help` how to use it.\n",
    );
    if output.json {
        said = format!("{}\n", json!({ "success": true, "files": files }));
    }
    say(&said);
    Ok(())
}

/// Whether the file was written; one that exists, even as a broken link, stays as it is.
fn write_new(path: &Path, text: &str) -> io::Result<bool> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match trove_core::files::new_shared(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
