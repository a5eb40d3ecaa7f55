//! One client as the server sees it: where to send what it did not ask for, and what it has running.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::wire::Frame;

/// How many frames may wait for a slow reader before the sender waits too.
pub(super) const OUTBOX: usize = 256;

/// One connection (stdio, HTTP+SSE) or session (Streamable HTTP).
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// Where unasked messages go, while the client keeps a stream open for them.
    pub out: Mutex<Option<mpsc::Sender<Frame>>>,
    /// The URIs it follows with `resources/subscribe`.
    pub subscribed: Mutex<HashSet<String>>,
    /// Its running requests, by id as spelled.
    pub in_flight: Mutex<HashMap<String, CancellationToken>>,
    /// How often it has read.
    pub reads: AtomicU64,
    /// An answer for which it must come back.
    pub held: Mutex<Option<mpsc::Receiver<Frame>>>,
    /// Cancelled when the client has left.
    pub closed: CancellationToken,
}

impl Peer {
    /// A client with an open stream.
    pub(super) fn with_outlet(out: mpsc::Sender<Frame>) -> Self {
        Self { out: Mutex::new(Some(out)), ..Self::default() }
    }

    /// Waits a while for the client to open its stream, which in Streamable HTTP comes after `initialize`.
    pub(super) async fn opened(&self) {
        for _ in 0..200 {
            if lock(&self.out).is_some() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Sends an unasked message, if there is a stream to send it on.
    pub(super) async fn tell(&self, message: &str) {
        let out = lock(&self.out).clone();
        if let Some(out) = out {
            let _client_gone = out.send(Frame::message(message)).await;
        }
    }
}

/// Locks a mutex whose holder cannot leave it half-changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
