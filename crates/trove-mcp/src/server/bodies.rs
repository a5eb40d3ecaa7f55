//! The bodies of requests: how long each may be, and how much memory all take together.
//!
//! A body is counted as it arrives. A large `Content-Length` alone takes no room. The beginning of
//! each body is free. Small requests are let in however many large ones there are.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::StreamExt as _;

use crate::bounds::{Bounds, FREE_BODY_BYTES};

/// When a body that found no room is worth sending again.
pub(super) const ROOM_WAIT: Duration = Duration::from_secs(1);

/// The room for all bodies beyond their free beginnings.
pub(super) struct Room {
    most: usize,
    taken: AtomicUsize,
}

/// The room that one request has, until it is dropped.
pub(crate) struct Held {
    room: Arc<Room>,
    bytes: usize,
}

/// Why there is no body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    TooLong,
    NoRoom,
    TooLate,
    CutOff,
}

impl Room {
    pub(super) fn of(bounds: &Bounds) -> Arc<Room> {
        // One request as long as may be must fit.
        let most = bounds.body_bytes.max(bounds.request_bytes);
        Arc::new(Room { most, taken: AtomicUsize::new(0) })
    }

    /// Reads a body to its end.
    pub(super) async fn read(
        self: &Arc<Room>,
        body: Body,
        bounds: &Bounds,
    ) -> Result<(Bytes, Held), Unread> {
        let mut held = Held { room: self.clone(), bytes: 0 };
        let reading = held.fill(body, bounds.request_bytes);
        match tokio::time::timeout(bounds.body_time, reading).await {
            Ok(read) => read.map(|body| (body, held)),
            Err(_) => Err(Unread::TooLate),
        }
    }

    /// Takes so many bytes more, if they are free.
    fn take(&self, bytes: usize) -> bool {
        let more = |taken: usize| Some(taken + bytes).filter(|all| *all <= self.most);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }
}

impl Held {
    async fn fill(&mut self, body: Body, longest: usize) -> Result<Bytes, Unread> {
        let mut parts = body.into_data_stream();
        let mut read: Vec<Bytes> = Vec::new();
        let mut len = 0;
        while let Some(part) = parts.next().await {
            let part = part.map_err(|_| Unread::CutOff)?;
            len += part.len();
            if len > longest {
                return Err(Unread::TooLong);
            }
            let more = len.saturating_sub(FREE_BODY_BYTES) - self.bytes;
            if !self.room.take(more) {
                return Err(Unread::NoRoom);
            }
            self.bytes += more;
            read.push(part);
        }
        // Most come in one part, which need not be copied.
        match &read[..] {
            [whole] => Ok(whole.clone()),
            parts => Ok(parts.concat().into()),
        }
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Held({})", self.bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = FREE_BODY_BYTES + 1000;

    async fn read(room: &Arc<Room>, len: usize, bounds: &Bounds) -> Result<Held, Unread> {
        let (body, held) = room.read(Body::from(vec![b'x'; len]), bounds).await?;
        assert_eq!(body.len(), len);
        Ok(held)
    }

    #[tokio::test]
    async fn so_many_large_bodies_are_held_as_there_is_room_for() {
        let bounds = Bounds { body_bytes: 3500, request_bytes: 2000, ..Bounds::default() };
        let room = Room::of(&bounds);
        let bounds = Bounds { request_bytes: LARGE, ..bounds };
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(read(&room, LARGE, &bounds).await.unwrap());
        }
        assert_eq!(read(&room, LARGE, &bounds).await.unwrap_err(), Unread::NoRoom);
        let _small = read(&room, FREE_BODY_BYTES, &bounds).await.unwrap();
        assert_eq!(read(&room, LARGE + 1, &bounds).await.unwrap_err(), Unread::TooLong);
        held.pop();
        held.push(read(&room, LARGE, &bounds).await.unwrap());
        drop(held);
        assert_eq!(room.taken.load(Ordering::Relaxed), 0, "all is given back");
    }
}
