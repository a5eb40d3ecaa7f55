//! Follows the configuration file: a good change is taken over, a broken one changes
//! nothing and is reported. It also looks whether the state folder is still there.
//!
//! Every look at a file is made on a thread for such work: a disk that does not answer keeps only
//! this task waiting.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use trove_core::files::Home;

use crate::{
    app::{Live, Pending},
    borrow::Extras,
    config::{self, Found, Loaded, Overrides, ProcessEnv, Request},
    machine::host,
    signals::Signals,
};

/// Editors write a file in several steps; this long after the last one it is read.
const SETTLE: Duration = Duration::from_millis(150);
/// The time between two looks for a change that no event tells of, e.g. behind a link, or on a disk
/// of another machine.
const LOOK: Duration = Duration::from_secs(2);
/// A disk that has not answered for so long is worth a word.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file to follow, and how it was loaded.
pub struct Followed {
    /// `None`: there is none, and only approvals are followed.
    pub file: Option<PathBuf>,
    pub found: Found,
    /// Whether it has servers of its own.
    pub has_servers: bool,
    /// The additions to it, to be added again.
    pub extras: Extras,
    pub cwd: PathBuf,
    pub flags: Overrides,
    /// The state folder.
    pub home: Home,
}

/// The state of the files at one look.
#[derive(Default, PartialEq, Eq)]
struct Sight {
    file: Option<Stamp>,
    /// Why the state folder cannot be written to.
    gone: Option<String>,
}

/// Follows the file until told to stop.
pub(crate) async fn follow(
    followed: Followed,
    live: Arc<Live>,
    signals: Signals,
    stop: CancellationToken,
) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = keep_looking(followed, live, signals) => {}
    }
}

async fn keep_looking(followed: Followed, live: Arc<Live>, signals: Signals) {
    let (changed, mut changes) = mpsc::channel(1);
    let approvals = live.admission.approvals_file();
    let mut has_servers = followed.has_servers;
    let followed = Arc::new(followed);
    let started = aside("watched", {
        let followed = followed.clone();
        move || (watch(&followed, &approvals, changed), look(&followed))
    });
    let (_watcher, mut known) = started.await.unwrap_or_default();
    loop {
        let mut is_asked = true;
        tokio::select! {
            Some(()) = changes.recv() => {}
            () = signals.reload() => info!("the configuration is read again, as a signal asks"),
            () = tokio::time::sleep(LOOK) => is_asked = false,
        }
        if is_asked {
            tokio::time::sleep(SETTLE).await;
            let _ = changes.try_recv();
        }
        let looking = followed.clone();
        let Some(now) = aside("looked at", move || look(&looking)).await else { continue };
        if now.gone != known.gone {
            tell_of_home(&live, now.gone.as_deref());
        }
        let is_changed = now.file != known.file;
        known = now;
        if is_asked || is_changed {
            take_over(&followed, &live, &mut has_servers).await;
        }
    }
}

/// Does something with files on a thread for such work; says so if the disk keeps it waiting.
/// `None` if it broke off.
async fn aside<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let mut work = tokio::task::spawn_blocking(work);
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done.ok();
    }
    warn!("the configuration cannot be {what}: its disk does not answer; what is in force stays");
    let done = work.await.ok();
    info!("the disk of the configuration answers again");
    done
}

/// Has changes of the files told. Without it they are seen at the next look.
fn watch(
    followed: &Followed,
    approvals: &Path,
    changed: mpsc::Sender<()>,
) -> Option<RecommendedWatcher> {
    let files: Vec<PathBuf> = followed.file.iter().cloned().chain([approvals.to_owned()]).collect();
    let told = move |event: notify::Result<notify::Event>| {
        let is_ours = event.is_ok_and(|event| {
            !event.kind.is_access() && event.paths.iter().any(|path| files.contains(path))
        });
        if is_ours {
            // One waiting change is enough to look again.
            let _ = changed.try_send(());
        }
    };
    let mut watcher = match notify::recommended_watcher(told) {
        Ok(watcher) => watcher,
        Err(error) => {
            warn!(%error, "changes of the configuration are seen late, and approvals at a restart or SIGHUP");
            return None;
        }
    };
    // The folder, not the file: editors replace the file, and a watch would stay with the old one.
    let folders = [followed.file.as_deref().and_then(Path::parent), approvals.parent()];
    for folder in folders.into_iter().flatten() {
        if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
            let folder = folder.display().to_string();
            warn!(folder, %error, "changes in this folder are seen late, or after SIGHUP");
        }
    }
    Some(watcher)
}

fn look(followed: &Followed) -> Sight {
    let file = followed.file.as_deref().and_then(Stamp::of);
    let gone = followed.home.check().err().map(|error| error.to_string());
    Sight { file, gone }
}

/// The features that change with a file, wherever its name leads.
#[derive(PartialEq, Eq)]
struct Stamp {
    file: PathBuf,
    len: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// `None`: there is no file.
    fn of(name: &Path) -> Option<Stamp> {
        let file = name.canonicalize().ok()?;
        let about = file.metadata().ok()?;
        Some(Stamp { len: about.len(), modified: about.modified().ok(), file })
    }
}

fn tell_of_home(live: &Live, gone: Option<&str>) {
    live.gateway().note_state_folder(gone.is_none());
    match gone {
        Some(why) => warn!("{why}"),
        None => info!("the state folder is there again"),
    }
}

async fn take_over(followed: &Arc<Followed>, live: &Live, has_servers: &mut bool) {
    let file = followed.file.as_deref().unwrap_or(Path::new("none")).display().to_string();
    let reading = followed.clone();
    let Some(loaded) = aside("read", move || read(&reading)).await else { return };
    for problem in &loaded.problems {
        warn!("{problem}");
    }
    let refusal = refusal(&loaded, *has_servers);
    live.set_pending(Pending {
        refused: refusal,
        problems: loaded.problems.clone(),
        after_restart: live.unsettled(&loaded.config),
    });
    live.gateway().note_configuration(refusal.is_none());
    if let Some(why) = refusal {
        return warn!(file, "{why}; nothing was changed");
    }
    if let Err(error) = live.take_keys(&loaded.config) {
        live.gateway().note_configuration(false);
        return warn!(file, "{error}; nothing was changed");
    }
    *has_servers = loaded.config.has_servers();
    let servers = loaded.config.server_ids().count() + loaded.borrowed.len();
    live.apply(&loaded).await;
    let later = live.unsettled(&loaded.config);
    if !later.is_empty() {
        let sections = later.join(", ");
        warn!(file, sections, "these sections are taken over by a restart only");
    }
    info!(file, servers, "configuration taken over");
}

/// The file as it is now, with what was added to it at the start.
fn read(followed: &Followed) -> Loaded {
    let mut loaded = config::load(&Request {
        explicit: followed.file.clone(),
        cwd: followed.cwd.clone(),
        env: &ProcessEnv,
        flags: followed.flags.clone(),
    });
    if followed.file.is_some() {
        // Named by us now, but found as it was at the start.
        loaded.found = followed.found;
    }
    if loaded.is_usable()
        && let Ok(host) = host()
    {
        followed.extras.add_to(&mut loaded, &host);
    }
    loaded
}

/// Why the configuration is not taken over.
fn refusal(loaded: &Loaded, has_servers: bool) -> Option<&'static str> {
    if !loaded.is_usable() {
        return Some("the changed configuration has errors");
    }
    // An editor, a full disk or a script may leave an empty file. It must not stop every server.
    if has_servers && loaded.is_emptied() {
        return Some(
            "the changed configuration names no servers any more. \
             To stop all of them, leave an empty `[servers]` in it",
        );
    }
    None
}
