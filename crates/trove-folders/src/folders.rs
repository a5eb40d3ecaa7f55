//! The folders of the configuration, each with a life of its own.

use std::{collections::BTreeMap, sync::Arc};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use trove_core::{Gateway, SourceId, catalogue::Feed, status::StatusBoard};

use crate::{folder::Folder, life::Life, settings::FolderSettings};

/// The word for how a folder is reached.
const TRANSPORT: &str = "folder";

/// All folders that are served.
pub struct Folders {
    feed: Feed,
    board: Arc<StatusBoard>,
    running: tokio::sync::Mutex<BTreeMap<SourceId, Running>>,
}

struct Running {
    settings: FolderSettings,
    stop: CancellationToken,
    life: JoinHandle<()>,
}

impl Folders {
    /// None yet.
    pub fn new(gateway: &Gateway) -> Folders {
        Folders {
            feed: gateway.feed(),
            board: gateway.board().clone(),
            running: tokio::sync::Mutex::default(),
        }
    }

    /// Makes the folders that are served those of `wanted`. One that did not change is left alone.
    pub async fn replace(&self, wanted: Vec<FolderSettings>) {
        let mut running = self.running.lock().await;
        let mut wanted: BTreeMap<SourceId, FolderSettings> =
            wanted.into_iter().map(|settings| (settings.id.clone(), settings)).collect();
        let ids: Vec<SourceId> = running.keys().cloned().collect();
        for id in ids {
            let is_same = wanted.get(&id) == running.get(&id).map(|one| &one.settings);
            if is_same {
                wanted.remove(&id);
                continue;
            }
            if let Some(one) = running.remove(&id) {
                one.end().await;
            }
            if !wanted.contains_key(&id) {
                self.feed.detach(id.clone()).await;
                self.board.remove(&id);
            }
        }
        for (id, settings) in wanted {
            match Folder::new(settings.clone()) {
                Ok(folder) => {
                    let one = self.start(folder).await;
                    running.insert(id, one);
                }
                // It was reported with the rest of the file.
                Err(error) => warn!(source = %id, %error, "a folder is not served"),
            }
        }
    }

    async fn start(&self, folder: Folder) -> Running {
        let folder = Arc::new(folder);
        let settings = folder.settings().clone();
        self.board.add(&settings.id, TRANSPORT);
        self.feed.attach(folder.clone().into_source()).await;
        let life = Life { folder, feed: self.feed.clone(), board: self.board.clone() };
        let stop = CancellationToken::new();
        let life = tokio::spawn(life.live(stop.clone()));
        Running { settings, stop, life }
    }

    /// Ends all.
    pub async fn shutdown(&self) {
        let all = std::mem::take(&mut *self.running.lock().await);
        for one in all.into_values() {
            one.end().await;
        }
    }
}

impl Running {
    async fn end(self) {
        self.stop.cancel();
        // A life that panicked has ended too.
        let _ = self.life.await;
    }
}
