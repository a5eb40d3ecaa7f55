//! The requests a client waits for, so that it can take one back.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Mutex, PoisonError},
};

use tokio_util::sync::CancellationToken;
use trove_core::Json;

use super::CANCELLED;
use crate::wire::{Outcome, RpcError};

/// Those of one client, by id.
#[derive(Default)]
pub(crate) struct UnderWay(Mutex<HashMap<Vec<u8>, CancellationToken>>);

impl UnderWay {
    /// Does the work unless it is cancelled meanwhile.
    pub(crate) async fn run(
        &self,
        id: &Json,
        work: Pin<&mut impl Future<Output = Outcome>>,
    ) -> Outcome {
        let entry = self.begin(id);
        tokio::select! {
            biased;
            outcome = work => outcome,
            () = entry.token.cancelled() => Err(RpcError::new(CANCELLED, "cancelled at the client's request")),
        }
    }

    /// Remembers a request until that is dropped.
    pub(crate) fn begin(&self, id: &Json) -> Entry<'_> {
        let (key, token) = (id.as_bytes().to_vec(), CancellationToken::new());
        self.table().insert(key.clone(), token.clone());
        Entry { table: self, key, token }
    }

    pub(crate) fn cancel(&self, id: &Json) {
        if let Some(token) = self.table().get(&id.as_bytes().to_vec()) {
            token.cancel();
        }
    }

    pub(crate) fn cancel_all(&self) {
        for token in self.table().values() {
            token.cancel();
        }
    }

    fn table(&self) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way, forgotten however its work ends.
pub(crate) struct Entry<'a> {
    table: &'a UnderWay,
    key: Vec<u8>,
    /// Cancelled when its client takes it back.
    pub(crate) token: CancellationToken,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.table.table().remove(&self.key);
    }
}
