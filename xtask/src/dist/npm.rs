//! The npm packages: one that everybody installs, and one with the program for a platform,
//! which npm chooses by itself. Nothing runs while they are installed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::{Goods, LICENSES, VERSION, architecture, put, smoke};
use crate::{notices, steps};

/// The package that everybody installs.
pub(super) const ROOT: &str = "trove-mcp";

/// Packs both; gives the archives, the root package first.
pub(super) fn pack(
    goods: &Goods,
    registry_name: &str,
    packages: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    let (_, cpu) = architecture()?;
    let platform = format!("{ROOT}-linux-{cpu}");
    let top = steps::root();
    let readme = fs::read(top.join("README.md"))?;

    let root = packages.join("npm").join(ROOT);
    let manifest = json!({
        "name": ROOT,
        "version": VERSION,
        // Which server of the MCP registry it is.
        "mcpName": registry_name,
        "description": "One door to every MCP resource: many MCP servers, one catalogue.",
        "license": "Apache-2.0 OR MIT",
        "bin": { "trove": "bin/trove.js" },
        "files": ["bin", notices::FILE],
        "engines": { "node": ">=18" },
        "optionalDependencies": { (platform.as_str()): VERSION },
    });
    put(&root, "package.json", pretty(&manifest)?.as_bytes(), 0o644)?;
    put(&root, "bin/trove.js", &fs::read(top.join("packaging/npm/launcher.js"))?, 0o755)?;
    put(&root, "README.md", &readme, 0o644)?;

    let own = packages.join("npm").join(&platform);
    let manifest = json!({
        "name": platform,
        "version": VERSION,
        "description": "The program of trove-mcp for this platform.",
        "license": "Apache-2.0 OR MIT",
        "os": ["linux"],
        "cpu": [cpu],
        "libc": ["glibc"],
        "files": ["bin", notices::FILE],
        "preferUnplugged": true,
    });
    put(&own, "package.json", pretty(&manifest)?.as_bytes(), 0o644)?;
    put(&own, "bin/trove", &fs::read(&goods.binary)?, 0o755)?;
    for license in LICENSES {
        for package in [&root, &own] {
            put(package, license, &fs::read(top.join(license))?, 0o644)?;
        }
    }
    [&root, &own].into_iter().map(|folder| archive(folder, packages)).collect()
}

fn pretty(manifest: &Value) -> anyhow::Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(manifest)?))
}

fn archive(folder: &Path, packages: &Path) -> anyhow::Result<PathBuf> {
    let mut npm = Command::new("npm");
    npm.args(["pack", "--json", "--ignore-scripts", "--pack-destination"]).arg(packages);
    let printed = steps::output("npm pack", npm.arg(folder))?;
    let printed: Value = serde_json::from_str(&printed)?;
    // Newer versions of npm give a table by name, older ones a list.
    let one = printed.get(0).or_else(|| printed.as_object().and_then(|all| all.values().next()));
    let name = one.and_then(|one| one["filename"].as_str()).context("npm names no archive")?;
    Ok(packages.join(name))
}

/// Installs both in an empty folder, without the network, and tries the launcher.
pub(super) fn try_out(archives: &[PathBuf], prefix: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(prefix)?;
    put(prefix, "package.json", b"{ \"private\": true }\n", 0o644)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"]);
    npm.arg("--cache").arg(prefix.join("cache")).args(archives).current_dir(prefix);
    steps::run("install the npm packages", &mut npm)?;
    for installed in fs::read_dir(prefix.join("node_modules"))? {
        let manifest = installed?.path().join("package.json");
        if manifest.is_file() {
            let manifest: Value = serde_json::from_str(&fs::read_to_string(manifest)?)?;
            ensure!(manifest.get("scripts").is_none(), "a package would run something");
            let name = manifest["name"].as_str().unwrap_or_default();
            let notices = prefix.join("node_modules").join(name).join(notices::FILE);
            ensure!(notices.is_file(), "{name} has no notices");
        }
    }
    smoke::try_out(&prefix.join("node_modules/.bin/trove"), &prefix.join("home"))
}
