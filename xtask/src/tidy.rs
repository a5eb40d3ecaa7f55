//! Checks the rules of the source tree that no compiler checks.
//!
//! Every rule reads files only and reports every breach it finds, so that one run
//! shows the whole of what is to be mended.

mod layers;
mod manifests;
mod sources;
mod tree;

use anyhow::bail;

use crate::steps;

pub(crate) fn tidy() -> anyhow::Result<()> {
    let files = tree::text_files(&steps::root())?;
    let mut breaches = Vec::new();
    for file in &files {
        sources::check(file, &mut breaches);
        layers::check(file, &mut breaches);
        manifests::check(file, &mut breaches);
    }
    for breach in &breaches {
        eprintln!("{breach}");
    }
    if !breaches.is_empty() {
        bail!("{} breaches of the rules of the tree", breaches.len());
    }
    eprintln!("tidy: {} files keep the rules", files.len());
    Ok(())
}
