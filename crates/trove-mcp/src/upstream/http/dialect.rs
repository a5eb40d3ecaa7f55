//! Whether a server still speaks the era that was agreed on.
//!
//! Behind a URL a server may be replaced by one of the other era while its port stays open. From
//! then on it refuses every request for how it is put. A refusal that sounds like that is a
//! suspicion and no more. The server is asked, now and then at most, before it is given up.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::info;
use trove_core::Json;

use super::{DISCOVER, Shared};
use crate::{
    upstream::{
        handshake,
        link::{Call, LinkError},
    },
    wire::{RpcError, code},
};

/// How often a server is asked at most.
const LEAST_PAUSE: Duration = Duration::from_secs(10);
/// How long it may take to answer.
const MAX_ANSWER: Duration = Duration::from_secs(5);
/// The id of what we ask by ourselves; requests of others are counted from 1.
const OURS: u64 = 0;

/// Our knowledge of the era that a server speaks by now.
#[derive(Default)]
pub(super) struct Dialect {
    asked: Mutex<Option<Instant>>,
    has_changed: AtomicBool,
}

impl Dialect {
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::Acquire)
    }

    /// Whether the server may be asked now. A caller who hears yes must ask.
    fn is_due(&self) -> bool {
        let mut asked = self.asked.lock();
        let is_due = asked.is_none_or(|asked| asked.elapsed() >= LEAST_PAUSE);
        if is_due {
            *asked = Some(Instant::now());
        }
        is_due
    }
}

impl Shared {
    /// Whether a request was refused because the server speaks another era by now.
    pub(super) async fn has_changed_era(&self, method: &str, error: &LinkError) -> bool {
        let is_agreed = self.version.get().is_some();
        if !is_agreed || !is_about_dialect(method, error) || !self.dialect.is_due() {
            return false;
        }
        let has_changed = if self.is_modern() {
            is_refusal(&self.ask_anew(DISCOVER, handshake::discover_params()).await)
        } else {
            self.is_modern_by_now().await
        };
        if has_changed {
            info!(source = %self.source, "the server speaks another era than it did");
            self.dialect.has_changed.store(true, Ordering::Release);
        }
        has_changed
    }

    /// Whether a server that was met in the old way takes nothing that is put so, and is one of
    /// the new era. One of both has not changed.
    async fn is_modern_by_now(&self) -> bool {
        let pong = self.ask_anew("ping", "{}".to_owned()).await;
        if !is_refusal(&pong) {
            return false;
        }
        let said = self.ask_anew(DISCOVER, handshake::discover_params()).await;
        said.is_ok_and(|said| said.object().is_some_and(|said| handshake::is_of_our_era(&said)))
    }

    async fn ask_anew(&self, method: &'static str, params: String) -> Result<Json, LinkError> {
        let call = Call { id: OURS, method, params, repeated: Vec::new(), notices: None };
        let answer = tokio::time::timeout(MAX_ANSWER, self.exchange(call)).await;
        answer.unwrap_or(Err(LinkError::TimedOut(MAX_ANSWER)))
    }
}

/// Whether the server was there and said no, for a reason of its own.
fn is_refusal(outcome: &Result<Json, LinkError>) -> bool {
    match outcome {
        Err(LinkError::Rpc(_)) => true,
        Err(LinkError::Status(status, _)) => is_complaint(*status),
        _ => false,
    }
}

/// Statuses that blame the request; not those that blame the caller, or how often or how much it
/// asks.
fn is_complaint(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 401 | 403 | 407 | 408 | 413 | 429)
}

/// Whether a refusal may be about how we speak rather than about what was asked.
fn is_about_dialect(method: &str, error: &LinkError) -> bool {
    match error {
        LinkError::Status(status, _) => is_complaint(*status),
        LinkError::Rpc(RpcError { code, .. })
            if matches!(*code, code::UNSUPPORTED_VERSION | code::HEADER_MISMATCH) =>
        {
            true
        }
        LinkError::Rpc(error) if error.code == code::METHOD_NOT_FOUND => is_basic(method),
        LinkError::Rpc(error) => speaks_of_dialect(error),
        _ => false,
    }
}

/// Whether every server has this method that lists resources or tools at all.
fn is_basic(method: &str) -> bool {
    matches!(method, "resources/list" | "resources/read" | "tools/list" | "tools/call")
}

fn speaks_of_dialect(error: &RpcError) -> bool {
    let said = error.message.to_ascii_lowercase();
    ["_meta", "protocol", "session", "initializ"].iter().any(|word| said.contains(word))
}
