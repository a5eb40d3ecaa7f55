//! The exchange with one client, through any door.
//!
//! Sessions, cancellation, batches and notices live here. Doors move bytes: they read messages,
//! hand them in, and write what comes of them.

mod session;

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use trove_core::{Json, source::Notice};

pub(super) use session::{Greeting, Session};

use super::asking::Asking;
use crate::{
    bounds::{MAX_BATCH, MAX_NOTICES},
    era::Version,
    wire::{self, Outcome, RpcError},
};

/// The answer to a request its client took back; by the protocol it is never sent.
const CANCELLED: i64 = -32800;

/// The message with the answer to a request; `None` if its client took it back.
pub(super) fn answered(id: &Json, outcome: &Outcome) -> Option<Bytes> {
    match outcome {
        Err(error) if error.code == CANCELLED => None,
        _ => Some(wire::response(id, outcome)),
    }
}

/// Whether a client may send so many messages at once: batches exist in 2025-03-26 only.
pub(super) fn takes_batch(session: Option<&Session>, messages: usize) -> bool {
    let is_known = session.is_some_and(|session| session.version == Version::V2025_03_26);
    is_known && (1..=MAX_BATCH).contains(&messages)
}

/// Does the work, and tells the client what is said about it meanwhile: all of it before the
/// answer.
pub(super) async fn telling<F>(
    asking: &Asking,
    out: &mpsc::Sender<Bytes>,
    work: impl FnOnce(Option<mpsc::Sender<Notice>>) -> F,
) -> Outcome
where
    F: Future<Output = Outcome>,
{
    if !asking.wants_notices() {
        return work(None).await;
    }
    let (sender, mut notices) = mpsc::channel(MAX_NOTICES);
    let work = work(Some(sender));
    let pass_on = async {
        while let Some(notice) = notices.recv().await {
            if let Some(message) = asking.encode_notice(&notice) {
                // A client that is gone misses none of it.
                let _ = out.send(message).await;
            }
        }
    };
    // The sender goes with the work, so both end together.
    let (outcome, ()) = tokio::join!(work, pass_on);
    outcome
}

/// The most letters of the name a legacy client gives itself: the name travels in each request.
const MAX_CLIENT_LETTERS: usize = 64;

/// The name a legacy client gives itself.
fn client_name(params: Option<&Json>) -> Option<String> {
    let name = params?.get("clientInfo")?.get_str("name")?;
    Some(name.chars().take(MAX_CLIENT_LETTERS).collect())
}

/// The requests a client waits for, by id, so that it can take one back.
#[derive(Default)]
pub(super) struct UnderWay(Mutex<HashMap<Vec<u8>, CancellationToken>>);

impl UnderWay {
    /// Does the work unless it is cancelled meanwhile.
    pub(super) async fn run(
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
    pub(super) fn begin(&self, id: &Json) -> Entry<'_> {
        let (key, token) = (id.as_bytes().to_vec(), CancellationToken::new());
        self.table().insert(key.clone(), token.clone());
        Entry { table: self, key, token }
    }

    pub(super) fn cancel(&self, id: &Json) {
        if let Some(token) = self.table().get(&id.as_bytes().to_vec()) {
            token.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        for token in self.table().values() {
            token.cancel();
        }
    }

    fn table(&self) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way, forgotten however its work ends.
pub(super) struct Entry<'a> {
    table: &'a UnderWay,
    key: Vec<u8>,
    /// Cancelled when its client takes it back.
    pub(super) token: CancellationToken,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.table.table().remove(&self.key);
    }
}
