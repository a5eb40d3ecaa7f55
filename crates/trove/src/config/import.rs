//! Servers from the files of other clients, read as they are.
//!
//! A file is recognised by its shape, never by its name alone; nothing in it is changed
//! or run. One bad entry is reported and left out; the others are used.

use std::{collections::BTreeMap, path::Path};

use trove_core::SourceId;
use trove_mcp::upstream::UpstreamConfig;

pub use client::Client;
pub(crate) use whole::{ClientFile, ClientServer, read_client_file};

use super::{
    problem::Problems,
    read::Spot,
    resolve::Surroundings,
    tree::{Format, Node, Value},
};

mod client;
mod entry;
#[cfg(test)]
mod tests;
mod whole;

/// The keys under which clients keep servers, for a file that has none of them.
pub(super) const KNOWN_KEYS: &str = "`mcpServers`, `servers`, `context_servers`, `mcp_servers`, \
                                     `extensions`, `mcp`, `amp.mcpServers`";

/// A client's file: whose it is, and its servers.
pub(super) struct Recognised<'a> {
    pub(super) client: Client,
    entries: Vec<Named<'a>>,
}

/// One server under the name the client gave it.
struct Named<'a> {
    name: Spot<String>,
    node: &'a Node,
}

/// Says whose file it is, if it has the shape of any client's.
///
/// | shape | client |
/// |---|---|
/// | TOML with `mcp_servers` and no `servers` | Codex |
/// | YAML with `extensions` | goose |
/// | `mcpServers`, or `projects` with it | by path, else by marks: see [`Client::of`] |
/// | `amp.mcpServers` | Amp |
/// | `context_servers` | Zed |
/// | `servers`, or `mcp` with it | VS Code |
/// | `mcp` | opencode |
pub(super) fn recognise<'a>(
    format: Format,
    root: &'a Node,
    path: &Path,
    cwd: &Path,
) -> Option<Recognised<'a>> {
    let of = |client, node| Some(Recognised { client, entries: named(node) });
    if format == Format::Toml {
        let servers = root.get("mcp_servers").filter(|_| root.get("servers").is_none())?;
        return of(Client::Codex, servers);
    }
    if let Some(entries) = mcp_servers(root, cwd) {
        let nodes: Vec<&Node> = entries.iter().map(|entry| entry.node).collect();
        let client = Client::of(format, root, path, &nodes);
        return Some(Recognised { client, entries });
    }
    let shapes = [
        ("amp.mcpServers", Client::Amp),
        ("context_servers", Client::Zed),
        ("servers", Client::VsCode),
    ];
    for (key, client) in shapes {
        if let Some(servers) = root.get(key) {
            return of(client, servers);
        }
    }
    if format == Format::Yaml
        && let Some(extensions) = root.get("extensions")
    {
        return of(Client::Goose, extensions);
    }
    let mcp = root.get("mcp")?;
    // VS Code once kept them in its settings, a level deeper.
    match mcp.get("servers") {
        Some(servers) if servers.get("type").is_none() => of(Client::VsCode, servers),
        _ => of(Client::OpenCode, mcp),
    }
}

/// `mcpServers`, after those that Claude Code keeps for the project in `cwd`, which win.
fn mcp_servers<'a>(root: &'a Node, cwd: &Path) -> Option<Vec<Named<'a>>> {
    let projects = root.get("projects").filter(|projects| projects.is_map());
    let here = projects.and_then(|projects| {
        let mut entries = projects.entries().iter();
        entries.find(|project| Path::new(&project.key) == cwd)?.node.get("mcpServers")
    });
    let everywhere = root.get("mcpServers");
    if everywhere.is_none() && projects.is_none() {
        return None;
    }
    let mut entries = here.map(named).unwrap_or_default();
    for entry in everywhere.map(named).unwrap_or_default() {
        if here.is_none_or(|here| here.get(&entry.name.value).is_none()) {
            entries.push(entry);
        }
    }
    Some(entries)
}

/// The entries of a map, or of a list whose elements say their `name`. Anything else
/// stands as an entry itself, to be refused like any bad one.
fn named(servers: &Node) -> Vec<Named<'_>> {
    let mut all = Vec::new();
    if !matches!(servers.value, Value::Map(_) | Value::List(_) | Value::Null) {
        let name = Spot { at: servers.at, value: "the list of servers".into() };
        all.push(Named { name, node: servers });
    }
    for entry in servers.entries() {
        let name = Spot { at: entry.at, value: entry.key.clone() };
        all.push(Named { name, node: &entry.node });
    }
    for (index, node) in servers.elements().iter().enumerate() {
        let name = match node.get("name").map(|name| (name.at, &name.value)) {
            Some((at, Value::Text(name))) => Spot { at, value: name.clone() },
            _ => Spot { at: node.at, value: format!("server-{}", index + 1) },
        };
        all.push(Named { name, node });
    }
    all
}

/// The purpose for which servers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be started: all it needs must be there.
    Use,
    /// To be written down elsewhere: nothing needs to be there yet.
    Import,
}

/// The servers of a recognised file that can be used.
pub(super) fn upstreams(
    file: &Recognised<'_>,
    folder: &Path,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Vec<UpstreamConfig> {
    let mut usable = Vec::new();
    let mut taken: BTreeMap<SourceId, &str> = BTreeMap::new();
    for Named { name, node } in &file.entries {
        let (client, purpose) = (file.client, Purpose::Use);
        let mut reader = entry::Reader { client, purpose, folder, around, problems };
        let Some(server) = reader.read(&name.value, name.at, node) else { continue };
        if let Some(other) = taken.get(&server.id) {
            let message = format!("`{other}` and `{}` both become `{}`", name.value, server.id);
            problems.error(name.at, message, "rename one of them");
            continue;
        }
        if server.id.as_str() != name.value {
            let message = format!("`{}` is called `{}` here", name.value, server.id);
            problems.note(name.at, message, "ids have lower-case letters, digits and `-` only");
        }
        taken.insert(server.id.clone(), &name.value);
        usable.push(server);
    }
    usable
}
