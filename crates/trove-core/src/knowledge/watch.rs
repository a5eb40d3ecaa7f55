//! Follows the folder of the guide: changes on disk are seen at once.
//!
//! Many changes at once become one look. Where the system cannot tell of changes, and while there
//! is no folder, the disk is looked at every second.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{AtFlags, CWD};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::Knowledge;

/// This long after the last change the disk is looked at.
const QUIET: Duration = Duration::from_millis(80);
/// How long in a burst: a program that unpacks or checks out many files may pause.
const QUIET_IN_A_BURST: Duration = Duration::from_millis(250);
/// From this many files on it is a burst.
const BURST: usize = 8;
/// This long after the first one at the latest, so that it is told of within a second.
const MAX_WAIT: Duration = Duration::from_millis(600);
/// How often the folder itself is looked for.
const TICK: Duration = Duration::from_millis(500);
/// How many changed files are remembered by name.
const MAX_TOUCHED: usize = 10_000;

/// The changes that the system told, until they are taken.
#[derive(Default)]
struct Told {
    touched: Mutex<HashSet<String>>,
    news: Notify,
}

impl Told {
    fn touched(&self) -> MutexGuard<'_, HashSet<String>> {
        self.touched.lock()
    }
}

impl Knowledge {
    /// Follows the folder until told to stop.
    pub async fn follow(self: Arc<Knowledge>, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.follow_for_ever() => {}
        }
    }

    async fn follow_for_ever(&self) {
        drop(self.indexed().await);
        loop {
            let root = self.settings.load().root.clone();
            let told = Arc::new(Told::default());
            let place = place(&root);
            let watcher = if place.is_some() { watch(&root, &told).await } else { None };
            // Changes from before the watcher was there.
            self.look(HashSet::new()).await;
            while self.next(&told, watcher.is_some()).await {
                if place != self::place(&root) {
                    break;
                }
            }
        }
    }

    /// Waits for something to happen and looks; false when the folder is another one.
    async fn next(&self, told: &Told, is_watched: bool) -> bool {
        tokio::select! {
            () = self.moved.notified() => return false,
            () = told.news.notified() => settle(told).await,
            () = tokio::time::sleep(TICK) => {
                if is_watched || !self.settings.load().root.is_dir() {
                    // Nothing to look at, unless the folder is not what it was.
                    return true;
                }
            }
        }
        let touched = std::mem::take(&mut *told.touched());
        self.look(touched).await;
        true
    }
}

/// Waits until nothing more happens, or long enough.
async fn settle(told: &Told) {
    let end = Instant::now() + MAX_WAIT;
    loop {
        let is_burst = told.touched().len() >= BURST;
        let quiet = if is_burst { QUIET_IN_A_BURST } else { QUIET };
        let until = end.min(Instant::now() + quiet);
        if timeout_at(until, told.news.notified()).await.is_err() || Instant::now() >= end {
            return;
        }
    }
}

/// Which folder this is: one that is replaced has another number.
fn place(root: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::statat(CWD, root, AtFlags::empty()).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// Asks the system to tell of changes, off the threads of requests: a large tree takes long.
async fn watch(root: &Path, told: &Arc<Told>) -> Option<RecommendedWatcher> {
    let (root, told) = (root.to_owned(), told.clone());
    let watching = tokio::task::spawn_blocking(move || start(root, told)).await.ok()?;
    match watching {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            warn!(%error, "the guide cannot be watched; it is looked at every second instead");
            None
        }
    }
}

fn start(root: PathBuf, told: Arc<Told>) -> notify::Result<RecommendedWatcher> {
    let base = root.clone();
    let hear = move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return told.news.notify_one() };
        if event.kind.is_access() {
            return;
        }
        let mut touched = told.touched();
        for path in &event.paths {
            let below = path.strip_prefix(&base).ok().and_then(Path::to_str);
            if let Some(below) = below.filter(|_| touched.len() < MAX_TOUCHED) {
                touched.insert(below.to_owned());
            }
        }
        drop(touched);
        told.news.notify_one();
    };
    // A link may lead out of the guide; nothing there is our business.
    let config = notify::Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(hear, config)?;
    watcher.watch(&root, RecursiveMode::Recursive)?;
    Ok(watcher)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long it takes to settle while `files` change, one every `pause`.
    async fn settled(files: usize, pause: Duration) -> Duration {
        let told = Arc::new(Told::default());
        let heard = told.clone();
        let change = async move {
            for n in 0..files {
                heard.touched().insert(n.to_string());
                heard.news.notify_one();
                tokio::time::sleep(pause).await;
            }
            std::future::pending::<()>().await;
        };
        let began = Instant::now();
        tokio::select! {
            () = settle(&told) => began.elapsed(),
            () = change => unreachable!("it never ends"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_saved_file_is_looked_at_soon() {
        assert_eq!(settled(1, Duration::ZERO).await, QUIET);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_waited_for_though_it_pauses() {
        // All there at once, then two stragglers.
        let told = Arc::new(Told::default());
        let heard = told.clone();
        let change = tokio::spawn(async move {
            for n in 0..1000 {
                heard.touched().insert(n.to_string());
                heard.news.notify_one();
            }
            for late in ["a", "b"] {
                tokio::time::sleep(Duration::from_millis(150)).await;
                heard.touched().insert(late.to_owned());
                heard.news.notify_one();
            }
        });
        told.news.notified().await;
        settle(&told).await;
        assert_eq!(told.touched().len(), 1002);
        change.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn what_never_rests_is_looked_at_all_the_same() {
        assert_eq!(settled(100_000, Duration::from_millis(10)).await, MAX_WAIT);
    }
}
