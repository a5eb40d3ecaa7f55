//! Places for programs: few run at once, one of each caller, the others in turn.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::policy::{MAX_QUEUE_TIME, MAX_RUNNING, MAX_WAITING};

/// The places, and the callers who want one.
#[derive(Debug)]
pub(crate) struct Queue {
    places: Arc<Semaphore>,
    room: Arc<Semaphore>,
    /// One place for each caller that runs a program or waits to.
    callers: Arc<Mutex<HashMap<Arc<str>, Arc<Semaphore>>>>,
}

/// A place; the next may come when it is dropped.
pub(crate) struct Place {
    _place: OwnedSemaphorePermit,
    _turn: Turn,
    _room: OwnedSemaphorePermit,
}

impl Queue {
    pub(crate) fn new() -> Queue {
        Queue {
            places: Arc::new(Semaphore::new(MAX_RUNNING)),
            room: Arc::new(Semaphore::new(MAX_RUNNING + MAX_WAITING)),
            callers: Arc::default(),
        }
    }

    /// A place for a program of this caller; `None` where it takes too long to get one.
    pub(crate) async fn place(&self, caller: Arc<str>) -> Option<Place> {
        let room = self.room.clone().try_acquire_owned().ok()?;
        let get = async {
            let turn = self.turn(caller).await?;
            let place = self.places.clone().acquire_owned().await.ok()?;
            Some(Place { _place: place, _turn: turn, _room: room })
        };
        timeout(MAX_QUEUE_TIME, get).await.ok().flatten()
    }

    /// The turn of one caller, whose programs wait for one another.
    async fn turn(&self, caller: Arc<str>) -> Option<Turn> {
        let own = {
            let mut callers = lock(&self.callers);
            callers.entry(caller.clone()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
        };
        let mut turn =
            Turn { callers: self.callers.clone(), caller, own: Some(own.clone()), held: None };
        turn.held = Some(own.acquire_owned().await.ok()?);
        Some(turn)
    }
}

/// One caller's turn, or the wait for it; with the last of a caller goes what is known of it.
struct Turn {
    callers: Arc<Mutex<HashMap<Arc<str>, Arc<Semaphore>>>>,
    caller: Arc<str>,
    own: Option<Arc<Semaphore>>,
    held: Option<OwnedSemaphorePermit>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut callers = lock(&self.callers);
        self.held = None;
        self.own = None;
        if callers.get(&self.caller).is_some_and(|own| Arc::strong_count(own) == 1) {
            callers.remove(&self.caller);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> parking_lot::MutexGuard<'_, T> {
    mutex.lock()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_caller_leaves_a_place_for_others() {
        let queue = Queue::new();
        let (ada, bob): (Arc<str>, Arc<str>) = ("ada".into(), "bob".into());
        let first = queue.place(ada.clone()).await.expect("a place");
        assert!(queue.place(ada.clone()).now_or_never().is_none(), "she has one already");
        let other = queue.place(bob).now_or_never().flatten().expect("there is one for him");
        drop((first, other));
        assert!(queue.place(ada).now_or_never().flatten().is_some());
        assert!(lock(&queue.callers).is_empty(), "nobody is remembered");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_too_long_or_behind_too_many_is_told() {
        let queue = Queue::new();
        let _first = queue.place("ada".into()).await.expect("a place");
        assert!(queue.place("ada".into()).await.is_none(), "it takes too long");
        let held: Vec<_> = (0..MAX_RUNNING + MAX_WAITING - 1)
            .map(|_| queue.room.clone().try_acquire_owned().expect("room"))
            .collect();
        assert!(queue.place("bob".into()).now_or_never().flatten().is_none());
        drop(held);
        assert!(queue.place("bob".into()).now_or_never().flatten().is_some());
    }
}
