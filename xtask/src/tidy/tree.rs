//! Finds the text files of the checkout.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// Folders that hold no source: build output, version control, installed packages.
const SKIPPED_FOLDERS: [&str; 5] = ["target", ".git", ".cache", "node_modules", "__pycache__"];

/// A file and its text; the path is relative to the root, with forward slashes.
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

pub(super) fn text_files(root: &Path) -> anyhow::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    collect(root, String::new(), &mut files)?;
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}

fn collect(folder: &Path, prefix: String, files: &mut Vec<TextFile>) -> anyhow::Result<()> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !SKIPPED_FOLDERS.contains(&name.as_str()) {
                collect(&entry.path(), path, files)?;
            }
        } else if kind.is_file() {
            // A file that is not UTF-8 is an image or the like, and follows no rule of text.
            if let Ok(text) = String::from_utf8(fs::read(entry.path())?) {
                files.push(TextFile { path, text });
            }
        }
    }
    Ok(())
}
