//! One fetch per key at a time, shared by all who wait for it.
//!
//! The fetch lives as long as a caller waits. One who leaves changes nothing for the others. When
//! all have left the fetch is dropped, which cancels it. No task is spawned, so none needs an
//! owner.

use std::{collections::HashMap, sync::Arc};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use parking_lot::{Mutex, MutexGuard};

use super::{freshness::Key, store::Entry};
use crate::source::SourceError;

/// How a fetch ended.
pub(super) type Landed = Result<Arc<Entry>, SourceError>;

type Work = Shared<BoxFuture<'static, Landed>>;

/// The fetches under way; never more than there are requests waiting for them.
#[derive(Default)]
pub(super) struct Flights {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of the last fetch.
    last: u64,
    under_way: HashMap<Key, Flight>,
}

struct Flight {
    number: u64,
    /// The moment it began.
    began: u64,
    work: Work,
    waiting: usize,
}

/// A fetch to be begun.
pub(super) struct Departure {
    /// The moment it begins.
    pub(super) began: u64,
    /// The fetch.
    pub(super) work: BoxFuture<'static, Landed>,
}

/// A place in a fetch that is under way.
pub(super) struct Waiting<'a> {
    flights: &'a Flights,
    key: Key,
    number: u64,
    work: Work,
}

impl Flights {
    /// Joins the fetch of `key` that is under way, if it `is_believed` by the moment it began. Else
    /// it begins one under the number given to `depart`.
    pub(super) fn board(
        &self,
        key: &Key,
        is_believed: impl FnOnce(u64) -> bool,
        depart: impl FnOnce(u64) -> Departure,
    ) -> Waiting<'_> {
        let mut state = self.state();
        if let Some(flight) = state.under_way.get_mut(key)
            && is_believed(flight.began)
        {
            flight.waiting += 1;
            let (number, work) = (flight.number, flight.work.clone());
            return Waiting { flights: self, key: key.clone(), number, work };
        }
        state.last += 1;
        let number = state.last;
        let Departure { began, work } = depart(number);
        let work = work.shared();
        let flight = Flight { number, began, work: work.clone(), waiting: 1 };
        // A fetch that is no longer believed goes on for those who wait for it; no new caller will
        // find it.
        let outdated = state.under_way.insert(key.clone(), flight);
        drop(state);
        drop(outdated);
        Waiting { flights: self, key: key.clone(), number, work }
    }

    /// A fetch has ended: the next caller begins another.
    pub(super) fn end(&self, key: &Key, number: u64) {
        self.leave(key, number, |_| true);
    }

    /// How many fetches can be joined.
    pub(super) fn len(&self) -> usize {
        self.state().under_way.len()
    }

    fn leave(&self, key: &Key, number: u64, is_over: impl FnOnce(&mut Flight) -> bool) {
        let mut state = self.state();
        let own = state.under_way.get_mut(key).filter(|flight| flight.number == number);
        let over = if own.is_some_and(is_over) { state.under_way.remove(key) } else { None };
        drop(state);
        // Dropping a fetch runs code of a Source, which must not happen under the lock.
        drop(over);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Waiting<'_> {
    /// Waits for the fetch to end.
    pub(super) async fn landed(self) -> Landed {
        self.work.clone().await
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.flights.leave(&self.key, self.number, |flight| {
            flight.waiting -= 1;
            flight.waiting == 0
        });
    }
}
