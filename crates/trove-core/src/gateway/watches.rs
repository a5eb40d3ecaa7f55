//! How many callers watch each resource: its Source is told of the first and the last.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{AskError, Gateway, Named, Purpose, Read, admit::Admitted};
use crate::{
    access::Standing,
    caller::Caller,
    source::{Ask, Source as _, SourceId},
    uri::{LocalUri, PublicUri},
};

/// The most resources watched at once, unless configured.
pub const MAX_WATCHES: usize = 10_000;

/// How many resources of one Source are read at once to tell whether they may be watched.
const MAX_READS: usize = 16;

/// A watched resource: its Source and its local URI.
pub type Watched = (SourceId, LocalUri);

/// The news that a caller may have of a watched resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Everything that its owner tells.
    All,
    /// That it changed, when this number does.
    When(u64),
    /// Nothing: it is hidden from the caller by now.
    None,
}

impl Gateway {
    /// Begins to report changes of one resource.
    pub(super) async fn begin_watch(
        &self,
        caller: &Caller,
        uri: &PublicUri,
    ) -> Result<Watched, AskError> {
        let admitted = self.admitted(caller, uri, None).await?;
        let Admitted { snapshot, route } = admitted;
        self.check_there(caller, uri, &route).await?;
        if self.has_secrets(caller, &snapshot, &route) {
            // Many a server promises to report on any name, and so would tell an absent one
            // from a hidden one.
            let _place = self.watches.place(route.source.id()).await;
            let read = Read::of(uri, Ask::default());
            let found_in = Some(snapshot);
            self.fetch_reading(caller, Read { found_in, purpose: Purpose::Check, ..read }).await?;
        }
        let held = self.hold((route.source.id().clone(), route.local.clone()))?;
        // Also if others watch it already: the Source may just be refusing them.
        let told = route.source.watch(&route.local).await;
        told.map_err(|error| AskError::Source {
            source_id: route.source.id().clone(),
            uri: Some(uri.clone()),
            error,
        })?;
        Ok(held.keep())
    }

    /// Counts one more watcher until that is dropped, or for good once it is kept.
    pub(super) fn hold(&self, watched: Watched) -> Result<Held<'_>, AskError> {
        self.watches.hold(&watched)?;
        Ok(Held { gateway: self, watched: Some(watched) })
    }

    /// Ends what [`Gateway::watch`] began.
    pub fn unwatch(&self, watched: &Watched) {
        self.watches.release(watched, || {
            if let Some(member) = self.catalogue.snapshot().member(&watched.0) {
                member.source.unwatch(&watched.1);
            }
        });
    }

    /// The news that the caller may have of a change at `uri`. A resource that joins others changes
    /// for a caller only if a part that he may read changes.
    pub fn news(&self, caller: &Caller, source: &SourceId, uri: &LocalUri) -> News {
        let rules = self.rules();
        let has_rules = !rules.access().policy.is_empty();
        if let Some(knowledge) = self.knowledge().filter(|knowledge| knowledge.id() == source) {
            return match has_rules || self.picks_of(caller).is_some() {
                true => News::When(knowledge.state(self.sight_of_guide(caller), uri.as_str())),
                false => News::All,
            };
        }
        match rules.standing(caller, Named::given(&self.current(), source, uri.as_str())).0 {
            Standing::Open => News::All,
            Standing::Shown | Standing::Hidden => News::None,
        }
    }
}

/// A watcher that is counted while its Source is told of it: the caller may go meanwhile.
pub(super) struct Held<'a> {
    gateway: &'a Gateway,
    watched: Option<Watched>,
}

impl Held<'_> {
    pub(super) fn keep(mut self) -> Watched {
        self.watched.take().expect("it is taken only here and at the end")
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(watched) = self.watched.take() {
            self.gateway.unwatch(&watched);
        }
    }
}

pub(super) struct Watches {
    limit: usize,
    counts: Mutex<HashMap<Watched, u32>>,
    /// Places for reads that tell whether something may be watched.
    reads: Mutex<HashMap<SourceId, Arc<Semaphore>>>,
}

impl Watches {
    /// None yet, and never more than `limit`.
    pub(super) fn within(limit: usize) -> Watches {
        Watches { limit, counts: Mutex::default(), reads: Mutex::default() }
    }

    /// A place for one read of a Source.
    pub(super) async fn place(&self, source: &SourceId) -> Option<OwnedSemaphorePermit> {
        let places = {
            let mut all = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, places| Arc::strong_count(places) > 1);
            let places = all.entry(source.clone());
            places.or_insert_with(|| Arc::new(Semaphore::new(MAX_READS))).clone()
        };
        places.acquire_owned().await.ok()
    }

    /// Whether a client watches a resource.
    pub(super) fn has(&self, source: &SourceId, local: &str) -> bool {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        !counts.is_empty() && counts.contains_key(&(source.clone(), LocalUri::from(local)))
    }

    /// Counts one more watcher.
    fn hold(&self, watched: &Watched) -> Result<(), AskError> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= self.limit && !counts.contains_key(watched) {
            return Err(AskError::TooManyWatches { limit: self.limit });
        }
        *counts.entry(watched.clone()).or_default() += 1;
        Ok(())
    }

    /// Counts one watcher less. After the last its Source is told, before the next watcher is
    /// counted; that one tells it anew after that.
    fn release(&self, watched: &Watched, tell: impl FnOnce()) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(watched) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(watched);
            tell();
        }
    }
}
