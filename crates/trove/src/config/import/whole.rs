//! A client's file read to be imported: every server with its name and place.
//!
//! Reads as for use, but variables need not be set and questions to a person may be asked. Both are
//! settled where the servers go.

use std::path::Path;

use trove_mcp::upstream::UpstreamConfig;

use super::{
    super::{
        EnvLookup, MAX_FILE, Overrides,
        problem::{Problem, Problems},
        resolve::Surroundings,
        tree,
    },
    Client, Named, Purpose,
    entry::{self, not_followed},
    recognise,
};

/// The contents of a client's file.
pub(crate) struct ClientFile {
    pub(crate) client: Client,
    pub(crate) servers: Vec<ClientServer>,
    /// The problems of entries; each costs only its entry.
    pub(crate) problems: Vec<Problem>,
}

/// One server of it.
pub(crate) struct ClientServer {
    /// The name the client knows it by.
    pub(crate) name: String,
    /// The line it begins in.
    pub(crate) line: u32,
    pub(crate) server: UpstreamConfig,
    /// Keys whose meaning is not taken over.
    pub(crate) not_followed: Vec<String>,
}

/// Reads a client's file. `None`: it holds no servers. `Err`: it cannot be read at all.
pub(crate) fn read_client_file(
    path: &Path,
    cwd: &Path,
    env: &dyn EnvLookup,
) -> Result<Option<ClientFile>, Vec<Problem>> {
    let mut problems = Problems::of(Some(path.to_owned()));
    let text = match trove_core::files::read_text(path, MAX_FILE) {
        Ok(text) => text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text),
        Err(error) => {
            let message = format!("the file cannot be read: {error}");
            problems.unreadable(message, "let yourself read it, or name another");
            return Err(problems.into_sorted());
        }
    };
    let (format, root) = match tree::parse(&text, path) {
        Ok(parsed) => parsed,
        Err(errors) => {
            for error in errors {
                problems.error(error.at, error.message, "mend the syntax here");
            }
            return Err(problems.into_sorted());
        }
    };
    let Some(found) = recognise(format, &root, path, cwd) else { return Ok(None) };
    let flags = Overrides::default();
    let around = Surroundings { folder: cwd, cwd, env, flags: &flags };
    let folder = path.parent().unwrap_or(cwd);
    let mut servers = Vec::new();
    for Named { name, node } in &found.entries {
        let (client, purpose, problems) = (found.client, Purpose::Import, &mut problems);
        let mut reader = entry::Reader { client, purpose, folder, around: &around, problems };
        let Some(server) = reader.read(&name.value, name.at, node) else { continue };
        let not_followed = not_followed(node).into_iter().map(|(key, _)| key).collect();
        let (name, line) = (name.value.clone(), name.at.line);
        servers.push(ClientServer { name, line, server, not_followed });
    }
    let problems = problems.into_sorted();
    Ok(Some(ClientFile { client: found.client, servers, problems }))
}
