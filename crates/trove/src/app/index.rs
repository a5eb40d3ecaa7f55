//! The search index of this installation, fed and asked by the gateway.

use std::{path::PathBuf, sync::Arc};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use trove_core::{
    Gateway,
    gateway::Opening,
    search::{Config, Encode, Search},
};

/// An index that is to be opened.
pub(super) struct Opened {
    pub(super) place: Opening,
    pub(super) folder: PathBuf,
    /// Whether it finds by meaning.
    pub(super) is_semantic: bool,
    pub(super) max_bytes: u64,
}

impl Opened {
    /// Opens the index and feeds it, in the background: only a search waits for it, and without
    /// one Trove serves all the same.
    pub(super) fn open(
        self,
        gateway: &Arc<Gateway>,
        stop: &CancellationToken,
        tasks: &mut JoinSet<()>,
    ) {
        let Opened { place, folder, is_semantic, max_bytes } = self;
        let encoder = encoder(is_semantic);
        let config = Config { max_index_bytes: max_bytes, ..Config::default() };
        let opening = move || Search::open(Some(folder), config, encoder);
        let (gateway, stop) = (gateway.clone(), stop.clone());
        tasks.spawn(async move {
            match tokio::task::spawn_blocking(opening).await {
                Ok(Ok(search)) => place.adopt(search),
                Ok(Err(error)) => return warn!(%error, "resources cannot be searched"),
                Err(_) => {
                    return warn!("resources cannot be searched: opening the index broke off");
                }
            }
            gateway.crawl(stop).await;
        });
    }
}

#[cfg(feature = "semantic")]
fn encoder(is_semantic: bool) -> Option<Arc<dyn Encode>> {
    is_semantic.then(|| Arc::new(Meaning::default()) as Arc<dyn Encode>)
}

#[cfg(not(feature = "semantic"))]
fn encoder(_is_semantic: bool) -> Option<Arc<dyn Encode>> {
    None
}

/// The encoder that is part of the program, made when it is first needed.
#[cfg(feature = "semantic")]
#[derive(Default)]
struct Meaning(std::sync::OnceLock<trove_meaning::Encoder>);

#[cfg(feature = "semantic")]
impl Encode for Meaning {
    fn name(&self) -> &str {
        "granite-30m"
    }

    fn dimension(&self) -> usize {
        384
    }

    fn encode(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let encoder = self.0.get_or_init(trove_meaning::Encoder::embedded);
        encoder.encode_batch(texts, 1).into_iter().map(|vector| vector.to_vec()).collect()
    }
}
