//! Which servers stand beside Trove in a client: there, their tools are at hand already.

use trove_mcp::upstream::{Expose, UpstreamConfig};

use super::{
    backup::Original,
    edit::Spot,
    gather::{LeftOut, Request, gather},
    locate::Host,
    ours,
    table::{Form, Row, TABLE},
    text::Dressed,
};
use crate::config::{Loaded, tree::Node};

/// Notes of each server that was moved here which clients have it beside Trove. Files of clients
/// are read only if there is such a server.
pub(crate) fn mark_beside(loaded: &mut Loaded, host: &Host<'_>) {
    let is_moved = |one: &UpstreamConfig| one.expose == Expose::Auto && one.moved.from.is_some();
    if !loaded.config.upstreams.iter().any(is_moved) {
        return;
    }
    let own_url = format!("http://{}/mcp", loaded.config.http.addr.value);
    for row in TABLE.iter().filter(|row| has_trove(host, row)) {
        let existing = loaded.config.upstreams.clone();
        let request = Request {
            rows: vec![row],
            from: None,
            only: None,
            existing: &existing,
            own_url: own_url.clone(),
        };
        let client = row.client.to_string();
        for LeftOut { twin, .. } in gather(host, &request).left_out {
            let Some(twin) = twin else { continue };
            let servers = loaded.config.upstreams.iter_mut();
            for server in servers.filter(|one| one.id == twin.id) {
                if !server.moved.beside.contains(&client) {
                    server.moved.beside.push(client.clone());
                }
            }
        }
    }
}

/// Whether Trove stands in any file of a client, under whichever name.
fn has_trove(host: &Host<'_>, row: &Row) -> bool {
    let files = host.readable_files(row);
    files.iter().any(|(_, path)| {
        let Ok(original) = Original::read(path) else { return false };
        let Some(dressed) = Dressed::of(original.bytes.as_deref().unwrap_or_default()) else {
            return false;
        };
        let Ok(root) = Spot::of(row, path, "").read(&dressed.text) else { return false };
        let Some(servers) = root.get(row.key) else { return false };
        entries(row.form, servers).iter().any(|entry| ours::is_ours(entry, &host.program))
    })
}

/// The entries of servers below the key that holds them.
pub(super) fn entries(form: Form, servers: &Node) -> Vec<&Node> {
    match form {
        Form::OwnYaml => servers.elements().iter().collect(),
        _ => servers.entries().iter().map(|entry| &entry.node).collect(),
    }
}
