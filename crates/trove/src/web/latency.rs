//! How long each server took for its answers lately, for the small curves of the page.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use trove_core::Gateway;

/// How many values are kept of each server, and how often one is taken.
const KEPT: usize = 60;
const INTERVAL: Duration = Duration::from_secs(5);

/// The last values of each server, in milliseconds, the newest last.
#[derive(Default)]
pub(super) struct Latency(Mutex<BTreeMap<String, VecDeque<f64>>>);

impl Latency {
    /// Takes a value now and then until told to stop.
    pub(super) async fn follow(&self, gateway: &Gateway, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            self.sample(gateway);
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    }

    fn sample(&self, gateway: &Gateway) {
        let board = gateway.board().all();
        let mut all = self.0.lock();
        all.retain(|id, _| board.keys().any(|known| known.as_str() == id));
        for (id, status) in board {
            let Some(us) = status.latency_us else { continue };
            let values = all.entry(id.to_string()).or_default();
            if values.len() >= KEPT {
                values.pop_front();
            }
            values.push_back(us as f64 / 1000.0);
        }
    }

    /// The values of every server.
    pub(super) fn all(&self) -> BTreeMap<String, VecDeque<f64>> {
        self.0.lock().clone()
    }
}
