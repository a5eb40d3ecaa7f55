//! `server.json`: the entry of a release for the MCP registry.
//!
//! The registry keeps no packages, it points to those that are published elsewhere: here the npm
//! package, which any client can start by name. The publisher gives the name, because its first
//! part must be theirs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::{VERSION, npm, put};

/// The name where no publisher is given: of a domain that has no owner.
pub(super) const NAME: &str = "org.example/trove";
/// The form that is meant.
const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
/// The longest name and description that the registry takes, in characters.
const MAX_NAME: usize = 200;
const MAX_DESCRIPTION: usize = 100;

/// Writes it; gives the file.
pub(super) fn write(name: &str, packages: &Path) -> anyhow::Result<PathBuf> {
    let server = server(name);
    check(&server)?;
    let text = format!("{}\n", serde_json::to_string_pretty(&server)?);
    put(packages, "server.json", text.as_bytes(), 0o644)?;
    Ok(packages.join("server.json"))
}

fn server(name: &str) -> Value {
    let word = |text: &str| json!({ "type": "positional", "value": text });
    let config = json!({
        "name": "TROVE_CONFIG",
        "description": "The configuration: trove.toml, or any client's own file",
        "format": "filepath",
        "isRequired": false,
    });
    json!({
        "$schema": SCHEMA,
        "name": name,
        "title": "Trove",
        "description": "One door to every MCP resource: many MCP servers, one catalogue.",
        "version": VERSION,
        "packages": [{
            "registryType": "npm",
            "identifier": npm::ROOT,
            "version": VERSION,
            "runtimeHint": "npx",
            "transport": { "type": "stdio" },
            "packageArguments": [word("serve"), { "type": "named", "name": "--stdio" }],
            "environmentVariables": [config],
        }],
    })
}

/// Holds it against the rules of the registry that can be known here.
pub(super) fn check(server: &Value) -> anyhow::Result<()> {
    let text = |key: &str| server[key].as_str().with_context(|| format!("no `{key}`"));
    ensure!(text("$schema")? == SCHEMA, "another schema");
    let name = text("name")?;
    let (owner, own) = name.split_once('/').with_context(|| {
        format!("the name {name:?} has no `/`: write it like io.github.you/trove")
    })?;
    let fits = |part: &str, more: &[char]| {
        let may = |c: char| c.is_ascii_alphanumeric() || more.contains(&c);
        !part.is_empty() && part.chars().all(may)
    };
    ensure!(
        fits(owner, &['.', '-']) && fits(own, &['.', '-', '_']) && name.len() <= MAX_NAME,
        "the name {name:?} is not one the registry takes: write it like io.github.you/trove"
    );
    let length = text("description")?.chars().count();
    ensure!((1..=MAX_DESCRIPTION).contains(&length), "a description of {length} characters");
    ensure!(is_version(text("version")?), "the version is not exact");
    let packages = server["packages"].as_array().context("no packages")?;
    ensure!(!packages.is_empty(), "no packages");
    for package in packages {
        let of = |key: &str| package[key].as_str().unwrap_or_default();
        let known = ["npm", "pypi", "oci", "nuget", "mcpb"];
        ensure!(known.contains(&of("registryType")), "an unknown kind of package: {package}");
        ensure!(!of("identifier").is_empty(), "a package without a name: {package}");
        ensure!(of("version") == text("version")?, "a package of another version: {package}");
        ensure!(package["transport"]["type"] == "stdio", "another transport: {package}");
    }
    Ok(())
}

/// One version, and no range of them.
fn is_version(text: &str) -> bool {
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = numbers.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| part.parse::<u64>().is_ok())
}

/// The registry believes a name only if the package says it too.
pub(super) fn check_package(server: &Path, manifest: &Path) -> anyhow::Result<()> {
    let read = |path: &Path| -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
    };
    let (server, manifest) = (read(server)?, read(manifest)?);
    let package = &server["packages"][0];
    for (told, held) in [
        (&server["name"], &manifest["mcpName"]),
        (&package["identifier"], &manifest["name"]),
        (&package["version"], &manifest["version"]),
    ] {
        ensure!(told == held, "server.json says {told}, the package {held}");
    }
    // By its package's name npm starts the only program there is.
    let programs = manifest["bin"].as_object().map_or(0, serde_json::Map::len);
    ensure!(programs == 1, "the package has {programs} programs");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_registry_is_told_keeps_its_rules() {
        check(&server(NAME)).expect("our own");
        check(&server("io.github.some-one/trove_2")).expect("somebody's");
        for name in ["trove", "/trove", "io.github.x/", "a b/c", "a/b/c", "ä/b"] {
            assert!(check(&server(name)).is_err(), "{name}");
        }
        let broken = |place: &str, value: Value| {
            let mut server = server(NAME);
            *server.pointer_mut(place).expect("it is there") = value;
            assert!(check(&server).is_err(), "{place}");
        };
        broken("/version", json!("^1.0.0"));
        broken("/version", json!("latest"));
        broken("/description", json!("x".repeat(101)));
        broken("/packages", json!([]));
        broken("/packages/0/registryType", json!("cargo"));
        broken("/packages/0/version", json!("0.0.9"));
        broken("/$schema", json!("https://example.org/other.json"));
    }

    #[test]
    fn the_package_must_say_the_same_name() {
        let folder = std::env::temp_dir().join(format!("xtask-registry-{}", std::process::id()));
        let server = write(NAME, &folder).expect("it can be written");
        let manifest = folder.join("package.json");
        let held = |name: &str| {
            let text = json!({
                "name": npm::ROOT, "version": VERSION, "mcpName": name, "bin": { "trove": "x" },
            });
            fs::write(&manifest, text.to_string()).expect("it can be written");
            check_package(&server, &manifest)
        };
        held(NAME).expect("the same");
        assert!(held("org.example/other").is_err());
        fs::remove_dir_all(folder).expect("the folder can be removed");
    }
}
