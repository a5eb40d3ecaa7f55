//! One answer of a Source: kept from before where that is allowed, else asked for.

use std::{
    collections::HashSet,
    sync::{PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use super::{Gateway, Limits};
use crate::{
    cache::{Audience, Cached, Config, Key, Policy},
    caller::Caller,
    catalogue::Route,
    metrics::Ending,
    source::{Ask, Operation, Reply, Source, SourceError, SourceId},
    uri::LocalUri,
};

/// The most bytes of answers kept, of all Sources together and of one, unless configured.
pub const MAX_CACHE_BYTES: u64 = 64 * 1024 * 1024;
pub const MAX_CACHED_ANSWER: usize = 4 * 1024 * 1024;
/// How long an answer may stand in for a Source that fails.
const STALE_FOR: Duration = Duration::from_secs(3600);

/// What the cache may take.
pub(super) fn config(limits: &Limits) -> Config {
    Config {
        max_bytes: limits.cache_bytes,
        max_entry_bytes: limits.cached_answer_bytes,
        stale_for: STALE_FOR,
        now: SystemTime::now,
    }
}

/// The Sources that have ever allowed an answer to be kept. The others are always asked:
/// what one caller fetches must not stand for what another asks a moment later.
#[derive(Default)]
pub(super) struct Keepers(RwLock<HashSet<SourceId>>);

impl Keepers {
    fn has(&self, id: &SourceId) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    fn add(&self, id: &SourceId) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
    }
}

impl Gateway {
    /// Reads what a Route leads to.
    pub(super) async fn fetch(
        &self,
        caller: &Caller,
        route: &Route,
        ask: Ask,
    ) -> Result<Cached, SourceError> {
        let id = route.source.id();
        let policy = self.cache_policy(&*route.source, &route.local);
        // An answer to what a Source asked belongs to one exchange alone, and so does what is
        // said on the way to one.
        let is_alone = ask.answers.is_some() || ask.notices.is_some();
        let may_keep = !is_alone && self.may_keep(id, policy);
        let operation = Operation::Read { uri: route.local.clone() };
        if may_keep {
            let audience = Audience::Only(caller.scope());
            let key = Key { source: id.clone(), uri: route.local.clone(), audience };
            let source = route.source.clone();
            let metrics = self.metrics.clone();
            let fetch = move || async move {
                let timer = metrics.sources.begin(source.id().as_str());
                let result = source.perform(operation, ask).await;
                timer.end(if result.is_ok() { Ending::Ok } else { Ending::Error });
                result
            };
            return self.cache.get_or_fetch(key, policy, fetch).await;
        }
        let timer = self.metrics().sources.begin(id.as_str());
        let result = route.source.perform(operation, ask).await;
        timer.end(if result.is_ok() { Ending::Ok } else { Ending::Error });
        let reply = result?;
        self.note_keeper(id, &reply);
        let fetched_at = SystemTime::now();
        Ok(Cached { reply, fetched_at, age: Duration::ZERO, hit: false, stale: false })
    }

    /// Reads a resource of a Source for the index: always anew, and what may be kept warms the
    /// cache for whoever asks next.
    pub(super) async fn fetch_anew(
        &self,
        source: &dyn Source,
        uri: &LocalUri,
        ask: Ask,
    ) -> Result<Reply, SourceError> {
        let (id, policy) = (source.id(), self.cache_policy(source, uri));
        let audience = Audience::Only(ask.caller.scope());
        let fetch = source.perform(Operation::Read { uri: uri.clone() }, ask);
        // What is our own differs with who asks, and costs no message.
        if source.is_builtin() {
            return fetch.await;
        }
        let noting = async {
            let reply = fetch.await?;
            self.note_keeper(id, &reply);
            Ok(reply)
        };
        let key = Key { source: id.clone(), uri: uri.clone(), audience };
        self.cache.fetch_anew(key, policy, noting).await
    }

    /// Where answers may be kept, and until when.
    fn cache_policy(&self, source: &dyn Source, uri: &LocalUri) -> Policy {
        Policy { public_ttl: source.is_public().then(|| self.cache_ttl()), told: source.told(uri) }
    }

    fn may_keep(&self, id: &SourceId, policy: Policy) -> bool {
        policy.public_ttl.is_some() || policy.told.is_some() || self.keepers.has(id)
    }

    fn note_keeper(&self, id: &SourceId, reply: &Reply) {
        if reply.freshness.is_some_and(|freshness| freshness.ttl_ms > 0) {
            self.keepers.add(id);
        }
    }
}
