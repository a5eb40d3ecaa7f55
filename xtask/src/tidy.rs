//! Checks the rules of the source tree that no compiler checks.
//!
//! Every rule reads files only and reports every breach it finds, so that one run
//! shows the whole of what is to be mended.

mod documents;
mod files;
mod layers;
mod manifests;
mod sources;
mod tree;

use std::path::Path;

use anyhow::bail;

use crate::steps;

/// Every Rust source below a folder.
pub(crate) fn rust_files(root: &Path) -> anyhow::Result<Vec<tree::TextFile>> {
    let mut files = tree::text_files(root)?;
    files.retain(|file| file.path.ends_with(".rs"));
    Ok(files)
}

/// The text of every Rust source of ours.
pub(crate) fn sources_of_crates() -> anyhow::Result<Vec<String>> {
    let files = tree::text_files(&steps::root())?;
    let is_source = |path: &str| {
        path.ends_with(".rs") && (path.starts_with("crates/") || path.starts_with("xtask/"))
    };
    Ok(files.into_iter().filter(|f| is_source(&f.path)).map(|file| file.text).collect())
}

pub(crate) fn tidy() -> anyhow::Result<()> {
    let files = tree::text_files(&steps::root())?;
    let mut breaches = Vec::new();
    for file in &files {
        sources::check(file, &mut breaches);
        files::check(file, &mut breaches);
        layers::check(file, &mut breaches);
        manifests::check(file, &mut breaches);
    }
    manifests::check_use(&files, &mut breaches);
    documents::check(&files, &mut breaches);
    for breach in &breaches {
        eprintln!("{breach}");
    }
    if !breaches.is_empty() {
        bail!("{} breaches of the rules of the tree", breaches.len());
    }
    crate::faults::check()?;
    eprintln!("tidy: {} files keep the rules", files.len());
    Ok(())
}
