//! Keeps a server reporting on what our clients watch.
//!
//! The set of watched URIs is the truth; this brings the server in line with it, also
//! after a restart: by `resources/subscribe`, by one `subscriptions/listen`, or, where a
//! server cannot notify, by reading and comparing.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use tokio::{sync::watch, task::JoinSet, time::Instant};
use tracing::debug;
use trove_core::{
    SourceError, SourceId,
    catalogue::Feed,
    json::{Object, quote},
    source::{Ask, SourceEvent},
    uri::LocalUri,
};

use super::{
    backoff::{self, STABLE_AFTER},
    config::Watch,
    conversation::{Conversation, dress_modern},
    link::{Acknowledged, Call, Inbox, LinkError},
};

/// How long a server may take to acknowledge a subscription.
pub(crate) const MAX_WAIT_FOR_ACKNOWLEDGEMENT: Duration = Duration::from_secs(5);

/// A refusal to report is no emergency: the first attempts come as late as later ones of a
/// connection.
const QUICK_ATTEMPTS: u32 = 3;

/// Stands for the contents of what is not there.
const ABSENT: &str = "absent";

/// The URIs that somebody watches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    uris: BTreeSet<LocalUri>,
    /// Grows with every change: a URI that goes and comes back is not the one that is known.
    revision: u64,
}

impl Wanted {
    /// Adds a URI; the server knows of it once the revision returned is in force.
    pub(crate) fn insert(&mut self, uri: LocalUri) -> u64 {
        self.uris.insert(uri);
        self.revision += 1;
        self.revision
    }

    pub(crate) fn remove(&mut self, uri: &LocalUri) {
        self.uris.remove(uri);
        self.revision += 1;
    }
}

/// What the server knows of the URIs that are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct InForce {
    /// The newest revision it was told of.
    pub(crate) revision: u64,
    /// What it would not report on, and why.
    pub(crate) refused: BTreeMap<LocalUri, SourceError>,
}

/// What is needed to keep one connection's subscriptions.
pub(crate) struct Watching {
    pub(crate) source: SourceId,
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) feed: Feed,
    pub(crate) wanted: watch::Receiver<Wanted>,
    /// Told what the server knows.
    pub(crate) in_force: Arc<watch::Sender<InForce>>,
    pub(crate) timeout: Duration,
    pub(crate) mode: Watch,
}

impl Watching {
    /// Runs until dropped.
    pub(crate) async fn run(mut self) {
        let had = self.wanted.borrow().uris.clone();
        let is_modern = self.conversation.hello.version.is_modern();
        if let Watch::Poll { every } = self.mode
            && !self.conversation.hello.offers.subscribe
        {
            return self.poll(every, had).await;
        }
        if is_modern {
            self.listen(had).await;
        } else {
            self.subscribe(had).await;
        }
    }

    /// Whoever watched across a restart may have missed a change.
    async fn report_missed(&self, had: &BTreeSet<LocalUri>) {
        for uri in had {
            self.feed.report(&self.source, SourceEvent::Updated(uri.clone())).await;
        }
    }

    async fn subscribe(&mut self, had: BTreeSet<LocalUri>) {
        let mut told = BTreeSet::new();
        let mut is_first = true;
        let mut gaps = self.inbox.gaps();
        let mut refused = BTreeMap::new();
        let mut attempts = 0;
        loop {
            let Wanted { uris: wanted, revision } = self.wanted.borrow_and_update().clone();
            let refused_before = std::mem::take(&mut refused);
            for uri in wanted.difference(&told) {
                match self.ask("resources/subscribe", uri).await {
                    Err(error) => drop(refused.insert(uri.clone(), error)),
                    // What changed until now was reported to nobody.
                    Ok(()) if refused_before.contains_key(uri) => {
                        self.report_missed(&BTreeSet::from([uri.clone()])).await;
                    }
                    Ok(()) => {}
                }
            }
            for uri in told.difference(&wanted) {
                // One that goes on reporting is not listened to.
                let _ = self.ask("resources/unsubscribe", uri).await;
            }
            told = wanted;
            told.retain(|uri| !refused.contains_key(uri));
            self.in_force.send_replace(InForce { revision, refused: refused.clone() });
            // Whoever still wants it after a refusal, such as one after a restart, is not given up.
            attempts = if refused.is_empty() { 0 } else { attempts + 1 };
            let again = backoff::delay(attempts + QUICK_ATTEMPTS);
            if std::mem::take(&mut is_first) {
                self.report_missed(&had).await;
            }
            tokio::select! {
                changed = self.wanted.changed() => if changed.is_err() { return },
                Ok(()) = gaps.changed() => self.report_missed(&told).await,
                () = tokio::time::sleep(again), if attempts > 0 => {}
            }
        }
    }

    async fn ask(&self, method: &'static str, uri: &LocalUri) -> Result<(), SourceError> {
        let mut params = Object::new();
        params.set_str("uri", uri.as_str());
        self.conversation.ask(method, params, Ask::default(), self.timeout).await.map(|_| ())
    }

    /// One stream for everything; a new one replaces it when the set changes, and the
    /// old one ends only once the new one is acknowledged, so that nothing falls between.
    async fn listen(&mut self, had: BTreeSet<LocalUri>) {
        let mut acknowledged = self.inbox.acknowledged();
        let mut current: Option<JoinSet<()>> = None;
        let mut missed = Some(had);
        let mut ended_early = 0;
        loop {
            let Wanted { uris: wanted, revision } = self.wanted.borrow_and_update().clone();
            let id = self.conversation.tickets.next();
            let began = Instant::now();
            let mut fresh = JoinSet::new();
            fresh.spawn(listen_once(self.conversation.clone(), id, listen_params(&wanted)));
            let left_out = acknowledgement(&mut acknowledged, id, &wanted).await;
            let opened = left_out.is_some();
            let refuse = |uri| (uri, SourceError::NotOffered { what: "notice of its changes" });
            let refused = left_out.into_iter().flatten().map(refuse).collect();
            let streams = current.insert(fresh);
            self.in_force.send_replace(InForce { revision, refused });
            if let Some(missed) = missed.take() {
                self.report_missed(&missed).await;
            }
            let is_whole = opened && self.in_force.borrow().refused.is_empty();
            tokio::select! {
                differs = self.differs_from(&wanted, is_whole) => if !differs { return },
                _ = streams.join_next() => {
                    let was_stable = began.elapsed() >= STABLE_AFTER;
                    ended_early = if was_stable { 1 } else { ended_early + 1 };
                    // Whoever begins to watch now does not wait for that.
                    tokio::select! {
                        () = tokio::time::sleep(backoff::delay(ended_early)) => {}
                        changed = self.wanted.changed() => if changed.is_err() { return },
                    }
                    if opened {
                        // The lists, too, may have changed while nobody listened.
                        self.feed.report(&self.source, SourceEvent::Ready).await;
                        missed = Some(self.wanted.borrow().uris.clone());
                    }
                }
            }
        }
    }

    /// Waits until other URIs are wanted than the server reports on; false when nothing will
    /// ever be wanted again. That more of our clients want the same is no news to it, if it
    /// reports on all of them.
    async fn differs_from(&mut self, known: &BTreeSet<LocalUri>, is_whole: bool) -> bool {
        loop {
            if self.wanted.changed().await.is_err() {
                return false;
            }
            let (is_same, revision) = {
                let wanted = self.wanted.borrow_and_update();
                (wanted.uris == *known, wanted.revision)
            };
            if !is_same || !is_whole {
                // Seen here, it must be seen once more by whoever acts on it.
                self.wanted.mark_changed();
                return true;
            }
            self.in_force.send_modify(|in_force| in_force.revision = revision);
        }
    }

    /// Reads every watched resource now and then, and reports those that differ.
    async fn poll(&mut self, every: Duration, had: BTreeSet<LocalUri>) {
        let mut seen: BTreeMap<LocalUri, u64> = BTreeMap::new();
        let mut missed = Some(had);
        let mut round = Instant::now();
        loop {
            let Wanted { uris: wanted, revision } = self.wanted.borrow_and_update().clone();
            seen.retain(|uri, _| wanted.contains(uri));
            let is_due = Instant::now() >= round;
            if is_due {
                round = Instant::now() + every;
            }
            // Whoever begins to watch is not kept waiting for all that others watch.
            for uri in &wanted {
                if !is_due && seen.contains_key(uri) {
                    continue;
                }
                let digest = self.digest(uri).await;
                // One that cannot be read for another reason than its absence has not changed.
                let Some(digest) = digest else { continue };
                let before = seen.insert(uri.clone(), digest);
                if before.is_some_and(|before| before != digest) {
                    self.feed.report(&self.source, SourceEvent::Updated(uri.clone())).await;
                }
            }
            self.in_force.send_replace(InForce { revision, ..InForce::default() });
            if let Some(missed) = missed.take() {
                self.report_missed(&missed).await;
            }
            tokio::select! {
                changed = self.wanted.changed() => if changed.is_err() { return },
                () = tokio::time::sleep_until(round) => {}
            }
        }
    }

    async fn digest(&self, uri: &LocalUri) -> Option<u64> {
        let mut params = Object::new();
        params.set_str("uri", uri.as_str());
        let read =
            self.conversation.ask("resources/read", params, Ask::default(), self.timeout).await;
        let mut hasher = DefaultHasher::new();
        match read {
            Ok(result) => result.get("contents")?.as_bytes().hash(&mut hasher),
            // That it is gone is a change too.
            Err(error) if error.means_not_found() => ABSENT.hash(&mut hasher),
            Err(_) => return None,
        }
        Some(hasher.finish())
    }
}

/// Waits until a stream is acknowledged, for a while, and says what of it is not.
async fn acknowledgement(
    acknowledged: &mut watch::Receiver<Acknowledged>,
    id: u64,
    wanted: &BTreeSet<LocalUri>,
) -> Option<BTreeSet<LocalUri>> {
    let ready = acknowledged.wait_for(|newest| newest.id >= id);
    let ready = tokio::time::timeout(MAX_WAIT_FOR_ACKNOWLEDGEMENT, ready).await.ok()?;
    Some(ready.ok()?.left_out(wanted))
}

/// The stream's filter: all lists, and the watched resources.
fn listen_params(wanted: &BTreeSet<LocalUri>) -> String {
    let mut meta = Object::new();
    dress_modern(&mut meta, None);
    let uris: Vec<String> = wanted.iter().map(|uri| quote(uri.as_str())).collect();
    let subscriptions = if uris.is_empty() {
        String::new()
    } else {
        format!(",\"resourceSubscriptions\":[{}]", uris.join(","))
    };
    format!(
        "{{\"notifications\":{{\"toolsListChanged\":true,\"promptsListChanged\":true,\
         \"resourcesListChanged\":true{subscriptions}}},\"_meta\":{}}}",
        meta.to_text()
    )
}

async fn listen_once(conversation: Arc<Conversation>, id: u64, params: String) {
    let call =
        Call { id, method: "subscriptions/listen", params, repeated: Vec::new(), notices: None };
    match conversation.link.request(call).await {
        Ok(_) => debug!("the stream of changes ended"),
        Err(error @ LinkError::Unreachable(_)) => {
            debug!(%error, "the server is gone");
            // The life of this upstream begins anew, with all that follows from it.
            conversation.link.closed().cancel();
        }
        Err(error) => debug!(%error, "the stream of changes ended"),
    }
}
