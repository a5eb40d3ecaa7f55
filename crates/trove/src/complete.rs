//! Offers a shell the words that may end a line: servers and URIs of the configuration in force.
//! They come from a running Trove, else from the last listing.
//!
//! Starts nothing, and says nothing where it knows nothing.

use std::{collections::BTreeMap, ffi::OsStr, time::Duration};

use clap_complete::engine::CompletionCandidate;
use trove_core::{
    catalogue::shelf::{FileShelf, Shelf as _},
    files::Home,
};

use crate::{
    app::memory_of,
    config::{Loaded, Overrides, ProcessEnv, Request, load},
    errand::{Errand, Names, What, ask},
};

/// The most that a shell is given.
const MAX_CANDIDATES: usize = 2_000;
/// How long a shell waits for a Trove that runs.
const MAX_ASKING: Duration = Duration::from_secs(1);

/// The servers whose names begin so.
pub(crate) fn servers(start: &OsStr) -> Vec<CompletionCandidate> {
    candidates(start, Names::Servers)
}

/// The URIs that begin so.
pub(crate) fn uris(start: &OsStr) -> Vec<CompletionCandidate> {
    candidates(start, Names::Uris)
}

fn candidates(start: &OsStr, of: Names) -> Vec<CompletionCandidate> {
    let Some(start) = start.to_str() else { return Vec::new() };
    let Ok(cwd) = std::env::current_dir() else { return Vec::new() };
    let loaded =
        load(&Request { explicit: None, cwd, env: &ProcessEnv, flags: Overrides::default() });
    let what = What::Names { of, start: start.to_owned() };
    let state = &loaded.config.state_dir.value;
    let names = match ask(state, &memory_of(&loaded), &Errand::new(what, 0), MAX_ASKING) {
        Some(Ok(answer)) => serde_json::from_slice(&answer.body).unwrap_or_default(),
        _ => remembered(&loaded, of, start),
    };
    names.into_iter().take(MAX_CANDIDATES).map(CompletionCandidate::new).collect()
}

/// The names in the files of the last run.
fn remembered(loaded: &Loaded, of: Names, start: &str) -> Vec<String> {
    let servers = loaded.config.server_ids();
    match of {
        Names::Servers => {
            servers.map(ToString::to_string).filter(|id| id.starts_with(start)).collect()
        }
        Names::Uris => {
            let state = &loaded.config.state_dir.value;
            let shelf = state.join("catalogue").join(memory_of(loaded));
            let shelf = FileShelf::new(Home::at(state), shelf);
            // A name that two servers use must say which is meant.
            let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for id in servers {
                let listed = shelf.load(id).into_iter();
                for resource in listed.flat_map(|(_, listing)| listing.resources) {
                    owners.entry(resource.uri.to_string()).or_default().push(id.to_string());
                }
            }
            let named = |(uri, ids): (String, Vec<String>)| match ids.len() {
                1 => vec![uri],
                _ => ids.iter().map(|id| format!("{id}+{uri}")).collect(),
            };
            owners.into_iter().flat_map(named).filter(|uri| uri.starts_with(start)).collect()
        }
    }
}
