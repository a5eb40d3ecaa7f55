//! The search index of this installation, fed and asked by the gateway.

use std::{path::PathBuf, sync::Arc};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use trove_core::{
    Gateway,
    search::{Config, Encode, Search},
};

/// Opens the index and feeds it, in the background: only whoever looks for something waits for
/// it, and without one Trove serves all the same.
pub(super) fn attach_search(
    gateway: &Arc<Gateway>,
    folder: PathBuf,
    (is_semantic, max_index_bytes): (bool, u64),
    stop: &CancellationToken,
    tasks: &mut JoinSet<()>,
) {
    let encoder = encoder(is_semantic);
    let config = Config { max_index_bytes, ..Config::default() };
    let opening = move || Search::open(Some(folder), config, encoder);
    let (gateway, stop) = (gateway.clone(), stop.clone());
    // Said before anybody can ask.
    let place = gateway.open_search();
    tasks.spawn(async move {
        match tokio::task::spawn_blocking(opening).await {
            Ok(Ok(search)) => place.adopt(search),
            Ok(Err(error)) => return warn!(%error, "resources cannot be searched"),
            Err(_) => return warn!("resources cannot be searched: opening the index broke off"),
        }
        gateway.crawl(stop).await;
    });
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
