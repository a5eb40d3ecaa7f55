//! The servers of other clients, which are served where none is configured. Failing these, a small
//! guide to start from.
//!
//! The files of clients are read and nothing else. Their servers are served in place, secrets and
//! all, and so are never copied. None of them is started before it is approved.

use std::path::{Path, PathBuf};

use tracing::warn;
use trove_core::files;

use crate::{
    approval::{Approvals, judge},
    clients::{GatherRequest, Gathered, Host, TABLE, gather, mark_beside},
    config::{Borrowed, HostScope, Loaded, ProcessEnv},
};

/// The documents of the starter guide: the path and the text.
pub(crate) const GUIDE: [(&str, &str); 6] = [
    ("trove/connect-a-server.md", include_str!("../starter/guide/trove/connect-a-server.md")),
    ("trove/connect-a-client.md", include_str!("../starter/guide/trove/connect-a-client.md")),
    ("trove/find-and-read.md", include_str!("../starter/guide/trove/find-and-read.md")),
    ("trove/write-a-guide.md", include_str!("../starter/guide/trove/write-a-guide.md")),
    (
        "trove/when-something-fails.md",
        include_str!("../starter/guide/trove/when-something-fails.md"),
    ),
    ("skills/use-trove/SKILL.md", include_str!("../starter/guide/skills/use-trove/SKILL.md")),
];

/// Additions to a configuration that names no server.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    lends: Lends,
    /// Where the starter guide lies, if it is served.
    starter: Option<PathBuf>,
}

/// Which servers of other clients are taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Lends {
    /// All; those that are not approved wait.
    All,
    /// Those that were approved; the others are not mentioned.
    #[default]
    Approved,
}

impl Extras {
    pub(crate) fn new(lends: Lends) -> Extras {
        Extras { lends, starter: None }
    }

    /// Adds the servers; gives how many were found.
    pub(crate) fn add_to(&self, loaded: &mut Loaded, host: &Host<'_>) -> usize {
        if let Some(starter) = &self.starter {
            loaded.config.guide_root.value.clone_from(starter);
        }
        mark_beside(loaded, host);
        let found = borrow(loaded, host);
        if self.lends == Lends::Approved {
            keep_approved(loaded, host);
        }
        found
    }

    /// Serves the starter guide as well, if there is neither a guide nor a server.
    pub(crate) fn begin(&mut self, loaded: &mut Loaded) -> bool {
        let has_servers = loaded.config.has_servers() || !loaded.borrowed.is_empty();
        if has_servers || loaded.config.guide_root.value.exists() {
            return false;
        }
        let folder = loaded.config.state_dir.value.join("starter");
        if let Err(error) = write(&folder) {
            warn!(%error, "the guide to start from cannot be written");
            return false;
        }
        loaded.config.guide_root.value.clone_from(&folder);
        self.starter = Some(folder);
        true
    }
}

/// An existing file stays as it is: it may have been edited.
fn write(folder: &Path) -> std::io::Result<()> {
    for (path, text) in GUIDE {
        let path = folder.join(path);
        if !path.exists() {
            files::make_folder(path.parent().unwrap_or(folder))?;
            files::replace(&path, text.as_bytes())?;
        }
    }
    Ok(())
}

/// Finds the servers of other clients, if the configuration has none; gives how many.
pub(crate) fn borrow(loaded: &mut Loaded, host: &Host<'_>) -> usize {
    if loaded.config.has_servers() || loaded.client.is_some() {
        return 0;
    }
    let borrowed = found(loaded, host).servers.into_iter().map(|server| Borrowed {
        upstream: server.as_found,
        file: server.origin.path,
        client: server.origin.client,
    });
    loaded.borrowed = borrowed.collect();
    loaded.borrowed.len()
}

fn keep_approved(loaded: &mut Loaded, host: &Host<'_>) {
    if loaded.borrowed.is_empty() {
        return;
    }
    let approvals = Approvals::load(&loaded.config.state_dir.value).unwrap_or_default();
    let scope = HostScope::new(ProcessEnv, host.cwd.clone());
    let candidates = judge(loaded, &approvals, &scope);
    let may_run: Vec<_> = candidates.iter().filter(|one| one.verdict.may_run()).collect();
    let ids: Vec<_> = may_run.iter().map(|one| one.upstream.id.clone()).collect();
    loaded.borrowed.retain(|one| ids.contains(&one.upstream.id));
}

/// How many servers of other clients are not in the configuration.
pub(crate) fn not_taken_over(loaded: &Loaded, host: &Host<'_>) -> usize {
    match loaded.client {
        Some(_) => 0,
        None => found(loaded, host).servers.len(),
    }
}

fn found(loaded: &Loaded, host: &Host<'_>) -> Gathered {
    let address = loaded.config.http.addr.value;
    gather(
        host,
        &GatherRequest {
            rows: TABLE.iter().collect(),
            from: None,
            only: None,
            existing: &loaded.config.upstreams,
            own_url: format!("http://{address}/mcp"),
        },
    )
}
