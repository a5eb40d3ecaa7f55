//! Changes below a folder as the system tells of them, kept until the next look.
//!
//! Each folder that is listed is watched by itself, so that those that are left out, such as build
//! output, cost nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::RemoveKind};
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::{
    names::{as_path, split},
    tree::Tree,
};

/// This long after the last change the disk is looked at.
const QUIET: Duration = Duration::from_millis(50);
/// This long after the first one at the latest, so that it is told of within half a second.
const MAX_WAIT: Duration = Duration::from_millis(250);
/// How many changed folders are remembered by name; of more, everything is looked at.
const MAX_TOUCHED: usize = 1_000;

/// The changes that the system told of.
#[derive(Default)]
pub(crate) struct Told {
    touched: Mutex<Touched>,
    removed: Mutex<Removed>,
    news: Notify,
}

/// The folders that were removed since they were watched. The disk may give the number of one to
/// the next folder, so the number does not tell them apart.
#[derive(Default)]
struct Removed {
    folders: BTreeSet<Vec<u8>>,
    is_everywhere: bool,
}

/// Where something changed.
#[derive(Default)]
pub(crate) struct Touched {
    folders: BTreeSet<Vec<u8>>,
    is_everywhere: bool,
}

impl Touched {
    /// The folders to look at; `None`: all.
    pub(crate) fn folders(self) -> Option<BTreeSet<Vec<u8>>> {
        if self.is_everywhere { None } else { Some(self.folders) }
    }

    fn add(&mut self, folder: &[u8]) {
        if self.folders.len() < MAX_TOUCHED {
            self.folders.insert(folder.to_vec());
        } else {
            self.is_everywhere = true;
        }
    }
}

impl Told {
    fn touched(&self) -> MutexGuard<'_, Touched> {
        self.touched.lock()
    }

    /// Waits for something to happen.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }

    /// Waits until nothing more happens, or long enough. This must be awaited to its end: the
    /// news that began it are heard once.
    pub(crate) async fn settled(&self) -> Touched {
        let end = Instant::now() + MAX_WAIT;
        loop {
            let until = end.min(Instant::now() + QUIET);
            if timeout_at(until, self.news.notified()).await.is_err() || Instant::now() >= end {
                return std::mem::take(&mut *self.touched());
            }
        }
    }

    fn note_removed(&self, place: &Path, event: Result<&notify::Event, &notify::Error>) {
        let mut removed = self.removed.lock();
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            _ => {
                removed.is_everywhere = true;
                return;
            }
        };
        if !matches!(event.kind, EventKind::Remove(kind) if kind != RemoveKind::File) {
            return;
        }
        for path in &event.paths {
            let Ok(below) = path.strip_prefix(place) else { continue };
            if removed.folders.len() < MAX_TOUCHED {
                removed.folders.insert(below.as_os_str().as_bytes().to_vec());
            } else {
                removed.is_everywhere = true;
            }
        }
    }

    fn hear(&self, place: &Path, event: notify::Result<notify::Event>) {
        self.note_removed(place, event.as_ref());
        let mut touched = self.touched();
        match event {
            Ok(event) if event.kind.is_access() => return,
            // Events were lost.
            Ok(event) if event.need_rescan() => touched.is_everywhere = true,
            Err(_) => touched.is_everywhere = true,
            Ok(event) => {
                for path in &event.paths {
                    let Ok(below) = path.strip_prefix(place) else { continue };
                    let below = below.as_os_str().as_bytes();
                    touched.add(split(below).0);
                    // It may be a folder that is listed, with other rights or rules.
                    touched.add(below);
                }
            }
        }
        drop(touched);
        self.news.notify_one();
    }
}

/// The folders that the system watches for us.
pub(crate) struct Watching {
    watcher: RecommendedWatcher,
    told: Arc<Told>,
    place: PathBuf,
    /// Each folder that is watched, and its number on the disk.
    watched: BTreeMap<Arc<[u8]>, u64>,
}

impl Watching {
    /// Watches no folder yet.
    pub(crate) fn new(place: &Path, told: &Arc<Told>) -> notify::Result<Watching> {
        let (base, heard) = (place.to_owned(), told.clone());
        let hear = move |event: notify::Result<notify::Event>| heard.hear(&base, event);
        let config = notify::Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(hear, config)?;
        let (place, told) = (place.to_owned(), told.clone());
        Ok(Watching { watcher, told, place, watched: BTreeMap::new() })
    }

    /// Watches the folders of the tree; gives those that were not watched before, which may have
    /// changed since they were looked at.
    pub(crate) fn follow(&mut self, tree: &Tree) -> notify::Result<BTreeSet<Vec<u8>>> {
        let removed = std::mem::take(&mut *self.told.removed.lock());
        // Another folder under an old name is not the one that was watched.
        let is_watched = |path: &Arc<[u8]>, inode: &u64| {
            let is_removed = removed.is_everywhere || removed.folders.contains(&path[..]);
            !is_removed && tree.folders.get(path).is_some_and(|looked| looked.inode == *inode)
        };
        let all = self.watched.iter();
        let gone = all.filter(|(path, inode)| !is_watched(path, inode));
        let gone: Vec<Arc<[u8]>> = gone.map(|(path, _)| path.clone()).collect();
        for path in gone {
            // The system has forgotten most of them by itself.
            let _ = self.watcher.unwatch(&self.place.join(as_path(&path)));
            self.watched.remove(&path);
        }
        let mut new = BTreeSet::new();
        for (path, looked) in &tree.folders {
            if self.watched.contains_key(path) {
                continue;
            }
            let place = self.place.join(as_path(path));
            match self.watcher.watch(&place, RecursiveMode::NonRecursive) {
                Ok(()) => {}
                // It went away meanwhile; the look at the folder above finds that.
                Err(error) if is_absence(&error) => continue,
                Err(error) => return Err(error),
            }
            self.watched.insert(path.clone(), looked.inode);
            new.insert(path.to_vec());
        }
        Ok(new)
    }
}

fn is_absence(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}
