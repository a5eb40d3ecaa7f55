//! The MCPB bundle, which desktop clients install with one click.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::ensure;
use serde_json::{Value, json};

use super::{Goods, LICENSES, VERSION, architecture, put, smoke, zip};
use crate::steps;

/// Unpacks a file into a folder, with the modes it has in there.
const UNPACK: &str = "
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as file:
    for one in file.infolist():
        path = file.extract(one, sys.argv[2])
        os.chmod(path, (one.external_attr >> 16) & 0o777)
";

/// Packs it; gives the file.
pub(super) fn pack(goods: &Goods, packages: &Path) -> anyhow::Result<PathBuf> {
    let (_, cpu) = architecture()?;
    let root = packages.join("bundle");
    let manifest = json!({
        "manifest_version": "0.2",
        "name": "trove",
        "display_name": "Trove",
        "version": VERSION,
        "description": "One door to every MCP resource: many MCP servers, one catalogue.",
        "author": { "name": "Trove maintainers" },
        "license": "Apache-2.0 OR MIT",
        "server": {
            "type": "binary",
            "entry_point": "server/trove",
            "mcp_config": { "command": "${__dirname}/server/trove", "args": ["serve", "--stdio"] },
        },
        "compatibility": { "platforms": ["linux"] },
    });
    let manifest = format!("{}\n", serde_json::to_string_pretty(&manifest)?);
    put(&root, "manifest.json", manifest.as_bytes(), 0o644)?;
    put(&root, "server/trove", &fs::read(&goods.binary)?, 0o755)?;
    for license in LICENSES {
        put(&root, license, &fs::read(steps::root().join(license))?, 0o644)?;
    }
    let file = packages.join(format!("trove-{VERSION}-linux-{cpu}.mcpb"));
    zip(&root, &file)?;
    Ok(file)
}

/// Unpacks it as a client does; gives the program that its manifest names.
pub(super) fn unpack(bundle: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let mut python = Command::new("python3");
    steps::run("unpack the bundle", python.args(["-c", UNPACK]).args([bundle, folder]))?;
    let manifest: Value = serde_json::from_str(&fs::read_to_string(folder.join("manifest.json"))?)?;
    let command = manifest["server"]["mcp_config"]["command"].as_str().unwrap_or_default();
    let program = PathBuf::from(command.replace("${__dirname}", &folder.display().to_string()));
    ensure!(program.is_file(), "the manifest names {command}, which is not there");
    Ok(program)
}

/// Unpacks it and tries the program.
pub(super) fn try_out(bundle: &Path, prefix: &Path) -> anyhow::Result<()> {
    let program = unpack(bundle, prefix)?;
    smoke::try_out(&program, &prefix.join("home"))
}
