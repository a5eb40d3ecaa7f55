//! The exchange with one client, through whatever door its bytes come.
//!
//! Sessions, cancellation, batches and notices live here. Doors move bytes: they read messages,
//! hand them in, and write what comes of them.

mod session;
mod under_way;

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use trove_core::{Json, source::Notice};

pub(super) use session::Session;
pub(super) use under_way::UnderWay;

use super::asking::Asking;
use crate::{
    bounds::{MAX_BATCH, MAX_NOTICES},
    era::Version,
    wire::{self, Outcome},
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

/// The name a legacy client gives itself.
fn client_name(params: Option<&Json>) -> Option<Arc<str>> {
    params?.get("clientInfo")?.get_str("name").map(Into::into)
}
