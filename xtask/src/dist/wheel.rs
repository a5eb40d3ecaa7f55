//! The wheel for PyPI: the program as a script, and nothing in Python.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use super::{Goods, LICENSES, VERSION, debian::needed_libc, put, smoke, zip};
use crate::steps;

const NAME: &str = "trove_mcp";

/// Packs it; gives the file. Its tag says which C library it needs at least.
pub(super) fn pack(goods: &Goods, packages: &Path) -> anyhow::Result<PathBuf> {
    let top = steps::root();
    let root = packages.join("wheel");
    let binary = fs::read(&goods.binary)?;
    let libc = needed_libc(&binary).context("the program names no version of glibc")?;
    let tag = format!("manylinux_{}_{}", libc.replace('.', "_"), std::env::consts::ARCH);
    let info = format!("{NAME}-{VERSION}.dist-info");
    let metadata = format!(
        "Metadata-Version: 2.4\nName: trove-mcp\nVersion: {VERSION}\n\
         Summary: One door to every MCP resource: many MCP servers, one catalogue.\n\
         License-Expression: Apache-2.0 OR MIT\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
         License-File: THIRD-PARTY-NOTICES\n\
         Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{}",
        fs::read_to_string(top.join("README.md"))?
    );
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: xtask {VERSION}\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
    );
    let mut files = vec![
        (format!("{NAME}-{VERSION}.data/scripts/trove"), binary),
        (format!("{info}/METADATA"), metadata.into_bytes()),
        (format!("{info}/WHEEL"), wheel.into_bytes()),
    ];
    for license in LICENSES {
        files.push((format!("{info}/licenses/{license}"), fs::read(top.join(license))?));
    }
    let mut record = String::new();
    for (path, contents) in &files {
        let mode = if path.ends_with("/trove") { 0o755 } else { 0o644 };
        put(&root, path, contents, mode)?;
        let digest = base64_url(&Sha256::digest(contents));
        writeln!(record, "{path},sha256={digest},{}", contents.len())?;
    }
    writeln!(record, "{info}/RECORD,,")?;
    put(&root, &format!("{info}/RECORD"), record.as_bytes(), 0o644)?;
    let file = packages.join(format!("{NAME}-{VERSION}-py3-none-{tag}.whl"));
    zip(&root, &file)?;
    Ok(file)
}

/// As records of wheels have it: for URLs, without padding.
fn base64_url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = group.iter().fold(0u32, |number, byte| (number << 8) | u32::from(*byte));
        let number = number << (8 * (3 - group.len()));
        for n in 0..=group.len() {
            text.push(char::from(LETTERS[(number >> (18 - 6 * n)) as usize & 63]));
        }
    }
    text
}

/// Installs it in an environment of its own, without the network, and tries the program.
pub(super) fn try_out(wheel: &Path, prefix: &Path) -> anyhow::Result<()> {
    let mut make = Command::new("python3");
    steps::run("python environment", make.args(["-m", "venv"]).arg(prefix))?;
    let mut pip = Command::new(prefix.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]);
    steps::run("install the wheel", pip.arg(wheel))?;
    smoke::try_out(&prefix.join("bin/trove"), &prefix.join("home"))
}

#[cfg(test)]
mod tests {
    use super::base64_url;

    #[test]
    fn letters_are_those_of_urls() {
        assert_eq!(base64_url(b""), "");
        assert_eq!(base64_url(b"f"), "Zg");
        assert_eq!(base64_url(b"fo"), "Zm8");
        assert_eq!(base64_url(b"foo"), "Zm9v");
        assert_eq!(base64_url(&[0xfb, 0xff]), "-_8");
    }
}
