//! The life of one folder: looks at it, follows the disk, and says how it is.

use std::{path::Path, sync::Arc, time::Duration};

use rustix::fs::{AtFlags, CWD};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use trove_core::{
    catalogue::Feed,
    resource::ListsChanged,
    source::{Outage, SourceError, SourceEvent},
    status::{State, StatusBoard},
};

use crate::{
    folder::{Change, Folder},
    watch::{Told, Watching},
};

/// How often the folder itself is looked for.
const TICK: Duration = Duration::from_millis(500);
/// Where the system cannot tell of changes, the disk is looked at so often at the most.
const MIN_POLL: Duration = Duration::from_secs(1);
/// And so much of the time is rest.
const POLL_SHARE: u32 = 10;
/// How often folders that appear while others are watched are looked at again in one go.
const MAX_ROUNDS: usize = 8;

/// Said of a folder whose changes the system does not tell of.
const UNWATCHED: &str = "the system does not tell of its changes, so it is looked at now and then; see fs.inotify.max_user_watches";

pub(crate) struct Life {
    pub(crate) folder: Arc<Folder>,
    pub(crate) feed: Feed,
    pub(crate) board: Arc<StatusBoard>,
}

impl Life {
    /// Lives until told to stop.
    pub(crate) async fn live(self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.live_for_ever() => {}
        }
    }

    async fn live_for_ever(&self) {
        loop {
            let place = place(&self.folder.settings().path);
            match self.folder.look(None).await {
                Ok(_) => {
                    self.arrived().await;
                    self.follow(place).await;
                }
                Err(error) => self.lost(&error).await,
            }
            self.folder.leave();
            tokio::time::sleep(TICK).await;
        }
    }

    async fn arrived(&self) {
        self.board.update(&self.folder.settings().id, |status| {
            status.state = State::Ready;
            status.last_error = None;
            status.failures = 0;
            status.connects += 1;
        });
        self.tell(SourceEvent::Ready).await;
    }

    /// Says so once; the earlier list stands.
    async fn lost(&self, error: &SourceError) {
        let why = match error {
            SourceError::Unavailable(outage) => outage.clone(),
            other => Outage::passing(other.to_string()),
        };
        let id = &self.folder.settings().id;
        let is_known = self.board.of(id).is_some_and(|it| it.last_error.as_ref() == Some(&why));
        if !is_known {
            warn!(source = %id, why = %why.told, "a folder cannot be served");
        }
        self.board.update(id, |status| {
            status.state = State::Backoff;
            status.last_error = Some(why);
            status.failures += 1;
        });
        if !is_known {
            self.tell(SourceEvent::Down).await;
        }
    }

    /// Follows the disk until the folder is another one, or gone.
    async fn follow(&self, place: Option<(u64, u64)>) {
        let told = Arc::new(Told::default());
        let mut watching = self.watch(&told).await;
        let is_watched = watching.is_some();
        self.board.update(&self.folder.settings().id, |status| {
            status.warning = if is_watched { None } else { Some(UNWATCHED) };
        });
        let mut poll = MIN_POLL;
        let mut looked_at = Instant::now();
        loop {
            let touched = tokio::select! {
                () = told.news(), if watching.is_some() => told.settled().await.folders(),
                () = tokio::time::sleep(TICK) => {
                    if place != self::place(&self.folder.settings().path) {
                        return;
                    }
                    if watching.is_some() || looked_at.elapsed() < poll {
                        continue;
                    }
                    None
                }
            };
            looked_at = Instant::now();
            let Ok(change) = self.folder.look(touched).await else { return };
            poll = MIN_POLL.max(looked_at.elapsed() * POLL_SHARE);
            self.pass_on(change).await;
            watching = self.watch_more(watching).await;
        }
    }

    async fn watch(&self, told: &Arc<Told>) -> Option<Watching> {
        let here = self.folder.here().ok()?;
        let told = told.clone();
        // A large tree takes long.
        let starting = tokio::task::spawn_blocking(move || Watching::new(&here.place, &told));
        match starting.await.ok()? {
            Ok(watching) => self.watch_more(Some(watching)).await,
            Err(error) => self.unwatched(&error),
        }
    }

    /// Watches the folders that are new, and looks at them again: something may have happened in
    /// them before they were watched.
    async fn watch_more(&self, watching: Option<Watching>) -> Option<Watching> {
        let mut watching = watching?;
        for _ in 0..MAX_ROUNDS {
            let tree = self.folder.tree();
            let following = tokio::task::spawn_blocking(move || {
                let new = watching.follow(&tree);
                (watching, new)
            });
            let (kept, new) = following.await.ok()?;
            watching = kept;
            let new = match new {
                Ok(new) => new,
                Err(error) => return self.unwatched(&error),
            };
            if new.is_empty() {
                break;
            }
            let Ok(change) = self.folder.look(Some(new)).await else { break };
            self.pass_on(change).await;
        }
        Some(watching)
    }

    fn unwatched(&self, error: &notify::Error) -> Option<Watching> {
        let id = &self.folder.settings().id;
        warn!(source = %id, %error, "changes of a folder are seen late");
        self.board.update(id, |status| status.warning = Some(UNWATCHED));
        None
    }

    async fn pass_on(&self, change: Change) {
        for uri in change.updated {
            self.tell(SourceEvent::Updated(uri)).await;
        }
        if change.is_other {
            let lists = ListsChanged { resources: true, ..ListsChanged::default() };
            self.tell(SourceEvent::ListsChanged(lists)).await;
        }
    }

    async fn tell(&self, event: SourceEvent) {
        self.feed.report(&self.folder.settings().id, event).await;
    }
}

/// Which folder this is: one that is replaced has another number.
fn place(path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::statat(CWD, path, AtFlags::empty()).ok()?;
    Some((stat.st_dev, stat.st_ino))
}
