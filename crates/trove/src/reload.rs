//! Follows the configuration file: a good change is taken over, a broken one changes
//! nothing and is reported.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use notify::{RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    app::Live,
    borrow::Extras,
    config::{self, Found, Overrides, ProcessEnv, Request},
    machine::host,
};

/// Editors write a file in several steps; this long after the last one it is read.
const SETTLE: Duration = Duration::from_millis(150);
/// So often it is looked for a change that no event tells of: behind a link, in a folder that was
/// replaced, on a disk of another machine.
const LOOK: Duration = Duration::from_secs(2);

/// The file to follow, and how it was loaded.
pub struct Followed {
    /// Nothing: there is none, and only approvals are followed.
    pub file: Option<PathBuf>,
    pub found: Found,
    /// What was added to it, to be added again.
    pub extras: Extras,
    pub cwd: PathBuf,
    pub flags: Overrides,
}

/// Follows the file until told to stop.
pub(crate) async fn follow(followed: Followed, live: Arc<Live>, stop: CancellationToken) {
    let (changed, mut changes) = mpsc::channel(1);
    let approvals = live.admission.approvals_file();
    let files: Vec<PathBuf> = followed.file.iter().chain([&approvals]).cloned().collect();
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_ours = event.is_ok_and(|event| {
            !event.kind.is_access() && event.paths.iter().any(|path| files.contains(path))
        });
        if is_ours {
            // One waiting change is enough to look again.
            let _ = changed.try_send(());
        }
    });
    // The folder, not the file: editors replace the file, and a watch would stay with the old one.
    let folder = followed.file.as_deref().and_then(Path::parent);
    let watching = watcher.and_then(|mut watcher| match folder {
        Some(folder) => watcher.watch(folder, RecursiveMode::NonRecursive).map(|()| watcher),
        None => Ok(watcher),
    });
    let mut watcher = match watching {
        Ok(watcher) => watcher,
        Err(error) => {
            return warn!(%error, "changes of the configuration will not be seen; restart to take them over");
        }
    };
    let state = approvals.parent().unwrap_or(&approvals);
    if let Err(error) = watcher.watch(state, RecursiveMode::NonRecursive) {
        warn!(%error, "approvals will not be seen; restart to take them over");
    }
    let stamp = || followed.file.as_deref().and_then(Stamp::of);
    let mut known = stamp();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            change = changes.recv() => if change.is_none() { return },
            () = tokio::time::sleep(LOOK) => if stamp() == known { continue },
        }
        tokio::time::sleep(SETTLE).await;
        let _ = changes.try_recv();
        known = stamp();
        take_over(&followed, &live).await;
    }
}

/// What changes with a file, wherever its name leads.
#[derive(PartialEq, Eq)]
struct Stamp {
    file: PathBuf,
    len: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// Nothing: there is no file.
    fn of(name: &Path) -> Option<Stamp> {
        let file = name.canonicalize().ok()?;
        let about = file.metadata().ok()?;
        Some(Stamp { len: about.len(), modified: about.modified().ok(), file })
    }
}

async fn take_over(followed: &Followed, live: &Live) {
    let file = followed.file.as_deref().unwrap_or(Path::new("none")).display().to_string();
    let mut loaded = config::load(&Request {
        explicit: followed.file.clone(),
        cwd: followed.cwd.clone(),
        env: &ProcessEnv,
        flags: followed.flags.clone(),
    });
    for problem in &loaded.problems {
        warn!("{problem}");
    }
    if !loaded.is_usable() {
        return warn!(file, "the changed configuration has errors; nothing was changed");
    }
    if followed.file.is_some() {
        // Named by us now, but found as it was at the start.
        loaded.found = followed.found;
    }
    if let Ok(host) = host() {
        followed.extras.add_to(&mut loaded, &host);
    }
    let servers = loaded.config.upstreams.len() + loaded.borrowed.len();
    live.apply(&loaded).await;
    let later = live.unsettled(&loaded.config);
    if !later.is_empty() {
        let sections = later.join(", ");
        warn!(file, sections, "these sections are taken over by a restart only");
    }
    info!(file, servers, "configuration taken over");
}
