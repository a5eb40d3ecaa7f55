//! The Debian package.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};

use super::{Goods, VERSION, architecture, put, smoke};
use crate::{notices, steps};

/// Packs it; gives the file.
pub(super) fn pack(goods: &Goods, packages: &Path) -> anyhow::Result<PathBuf> {
    let (architecture, _) = architecture()?;
    let root = packages.join("debian");
    let binary = fs::read(&goods.binary)?;
    put(&root, "usr/bin/trove", &binary, 0o755)?;
    put(&root, "usr/share/bash-completion/completions/trove", goods.bash.as_bytes(), 0o644)?;
    put(&root, "usr/share/zsh/vendor-completions/_trove", goods.zsh.as_bytes(), 0o644)?;
    put(&root, "usr/share/fish/vendor_completions.d/trove.fish", goods.fish.as_bytes(), 0o644)?;
    for page in fs::read_dir(&goods.manual)? {
        let page = page?;
        let name = page.file_name();
        let path = format!("usr/share/man/man1/{}", name.to_string_lossy());
        put(&root, &path, &fs::read(page.path())?, 0o644)?;
    }
    let top = steps::root();
    for (from, to) in [
        ("packaging/systemd/trove.service", "usr/lib/systemd/user/trove.service"),
        ("README.md", "usr/share/doc/trove/README.md"),
        ("CHANGELOG.md", "usr/share/doc/trove/changelog"),
        ("LICENSE-APACHE", "usr/share/doc/trove/LICENSE-APACHE"),
        ("LICENSE-MIT", "usr/share/doc/trove/LICENSE-MIT"),
        (notices::FILE, "usr/share/doc/trove/THIRD-PARTY-NOTICES"),
    ] {
        put(&root, to, &fs::read(top.join(from))?, 0o644)?;
    }
    put(&root, "usr/share/doc/trove/copyright", COPYRIGHT.as_bytes(), 0o644)?;
    compress(&root)?;
    let size = size_of(&root)?.div_ceil(1024);
    let libc = needed_libc(&binary).context("the program names no version of glibc")?;
    let control = format!(
        "Package: trove\nVersion: {VERSION}\nArchitecture: {architecture}\n\
         Maintainer: Trove maintainers <maintainers@trove.invalid>\nInstalled-Size: {size}\n\
         Depends: libc6 (>= {libc}), libgcc-s1\nSection: utils\nPriority: optional\n\
         Description: one door to every MCP resource\n Trove gathers the resources of many MCP servers into \
         one catalogue, finds\n and reads them, and serves them to every client.\n"
    );
    put(&root, "DEBIAN/control", control.as_bytes(), 0o644)?;
    let file = packages.join(format!("trove_{VERSION}_{architecture}.deb"));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&file);
    steps::run("debian package", &mut dpkg)?;
    Ok(file)
}

const COPYRIGHT: &str = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: trove

Files: *
Copyright: the Trove maintainers
License: Apache-2.0 or MIT
 The texts are LICENSE-APACHE and LICENSE-MIT beside this file. What others made of it
 stands with its licences in THIRD-PARTY-NOTICES.gz.
";

/// Compresses the files that Debian wants so, without the time, so that equal goods give an equal
/// package.
fn compress(root: &Path) -> anyhow::Result<()> {
    let mut gzip = Command::new("gzip");
    gzip.args(["-9n", "-r"]).arg(root.join("usr/share/man"));
    for document in ["changelog", notices::FILE] {
        gzip.arg(root.join("usr/share/doc/trove").join(document));
    }
    steps::run("compress the manual", &mut gzip)
}

fn size_of(folder: &Path) -> anyhow::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        size += if metadata.is_dir() { size_of(&entry.path())? } else { metadata.len() };
    }
    Ok(size)
}

/// The newest version of glibc that a symbol of the program asks for.
pub(super) fn needed_libc(binary: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"GLIBC_2.";
    let starts = binary.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    let minor = starts.filter_map(|(at, _)| {
        let rest = &binary[at + MARK.len()..];
        let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        std::str::from_utf8(&rest[..end]).ok()?.parse::<u32>().ok()
    });
    Some(format!("2.{}", minor.max()?))
}

/// Installs it below an empty folder, tries it, and removes it again.
pub(super) fn try_out(package: &Path, prefix: &Path) -> anyhow::Result<()> {
    let admin = prefix.join("var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(admin.join(folder))?;
    }
    fs::write(admin.join("status"), "")?;
    fs::create_dir_all(prefix.join("var/log"))?;
    let dpkg = || {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", prefix.display()));
        // Below this folder there is no C library, and perhaps no root.
        dpkg.args(["--force-depends", "--force-not-root", "--force-script-chrootless"]);
        dpkg
    };
    steps::run("install the debian package", dpkg().arg("--install").arg(package))?;
    let program = prefix.join("usr/bin/trove");
    smoke::try_out(&program, &prefix.join("home"))?;
    for file in [
        "usr/share/man/man1/trove.1.gz",
        "usr/share/man/man1/trove-up.1.gz",
        "usr/share/bash-completion/completions/trove",
        "usr/lib/systemd/user/trove.service",
        "usr/share/doc/trove/THIRD-PARTY-NOTICES.gz",
    ] {
        ensure!(prefix.join(file).is_file(), "{file} is not in the package");
    }
    let page = prefix.join("usr/share/man/man1/trove.1.gz");
    let text = steps::output("manual page", Command::new("zcat").arg(page))?;
    ensure!(text.contains(".TH trove"), "the manual page is none");
    steps::run("remove the debian package", dpkg().args(["--purge", "trove"]))?;
    ensure!(!program.exists(), "removing the package left its program behind");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::needed_libc;

    #[test]
    fn the_newest_symbol_decides() {
        let binary = b"\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.17\0GLIBC_PRIVATE\0";
        assert_eq!(needed_libc(binary).as_deref(), Some("2.34"));
        assert_eq!(needed_libc(b"static"), None);
    }
}
