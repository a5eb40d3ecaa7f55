//! Keeps a server reporting on what our clients watch.
//!
//! The set of watched URIs is the truth. This module brings the server in line with it, also after
//! a restart. It uses `resources/subscribe` or one `subscriptions/listen`. Where a server cannot
//! notify, it reads and compares.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
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
    polling::Polled,
    subscriptions::{QUICK_ATTEMPTS, Step, Subscriptions},
};

/// How long a server may take to acknowledge a subscription.
pub(crate) const MAX_WAIT_FOR_ACKNOWLEDGEMENT: Duration = Duration::from_secs(5);

/// How often we read a resource that the server turns out not to report on after that was promised.
/// While the server was away, its refusal could not be known.
const KEEP_PROMISES_EVERY: Duration = Duration::from_secs(5);

/// Stands for the contents of what is not there.
const ABSENT: &str = "absent";

/// The URIs that clients watch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// Each with the revision in which it was wanted last.
    pub(super) uris: BTreeMap<LocalUri, u64>,
    /// Grows with every change: a URI that goes and comes back is not the one that is known.
    pub(super) revision: u64,
}

impl Wanted {
    fn uris(&self) -> BTreeSet<LocalUri> {
        self.uris.keys().cloned().collect()
    }

    /// Adds a URI; the server knows of it once the revision returned is in force.
    pub(crate) fn insert(&mut self, uri: LocalUri) -> u64 {
        self.revision += 1;
        self.uris.insert(uri, self.revision);
        self.revision
    }

    pub(crate) fn remove(&mut self, uri: &LocalUri) {
        self.uris.remove(uri);
        self.revision += 1;
    }
}

/// The server's knowledge of the URIs that are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct InForce {
    /// The newest revision it is told of.
    pub(super) revision: u64,
    /// URIs that it would not report on, and why.
    pub(super) refused: BTreeMap<LocalUri, SourceError>,
    /// URIs that it has not answered yet.
    pub(super) open: BTreeSet<LocalUri>,
    /// Since when what it reports is sure to be heard; `None` as long as it is not.
    pub(super) heard_since: Option<Instant>,
}

impl InForce {
    /// The outcome of a wish; `None` as long as that is open.
    pub(crate) fn outcome(&self, uri: &LocalUri, revision: u64) -> Option<Result<(), SourceError>> {
        if self.revision < revision || self.open.contains(uri) {
            return None;
        }
        Some(self.refused.get(uri).cloned().map_or(Ok(()), Err))
    }
}

/// The parts that keep one connection's subscriptions.
#[derive(Clone)]
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
        // Reports on an earlier connection say nothing of this one.
        self.note_deaf();
        let had = self.wanted.borrow().uris();
        let can_notify = self.conversation.hello.offers.subscribe;
        let every = match self.mode {
            Watch::Poll { every } => every,
            Watch::Notify if can_notify => return self.hear(had).await,
            Watch::Notify => KEEP_PROMISES_EVERY,
        };
        // Its unasked messages are heard as well, of its lists above all.
        let (nobody, nothing) = watch::channel(Wanted::default());
        let mut said = self.clone();
        said.in_force = Arc::default();
        if !can_notify {
            said.wanted = nothing;
        }
        tokio::select! {
            () = self.poll(every, had) => {}
            () = said.hear(BTreeSet::new()) => {}
        }
        drop(nobody);
    }

    /// Has the server report.
    async fn hear(&mut self, had: BTreeSet<LocalUri>) {
        if self.conversation.hello.version.is_modern() {
            self.listen(had).await;
        } else {
            self.subscribe(had).await;
        }
    }

    /// A client that watched across a restart may have missed a change.
    async fn report_missed(&self, had: &BTreeSet<LocalUri>) {
        for uri in had {
            self.report(uri).await;
        }
    }

    async fn report(&self, uri: &LocalUri) {
        self.feed.report(&self.source, SourceEvent::Updated(uri.clone())).await;
    }

    async fn subscribe(&mut self, had: BTreeSet<LocalUri>) {
        let mut gaps = self.inbox.gaps();
        let mut known = Subscriptions::new(had);
        let mut under_way = FuturesUnordered::new();
        self.take_over(|wanted, now| known.take_over(wanted, now));
        loop {
            while let Some((uri, step)) = known.next(Instant::now()) {
                under_way.push(tell(self.conversation.clone(), uri, step, self.timeout));
            }
            let wakes_at = known.wakes_at();
            tokio::select! {
                changed = self.wanted.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.take_over(|wanted, now| known.take_over(wanted, now));
                }
                Some((uri, step, outcome)) = under_way.next() => {
                    let (mut is_missed, now) = (false, Instant::now());
                    self.in_force.send_modify(|in_force| {
                        is_missed = known.note(&uri, (step, outcome), in_force, now);
                    });
                    if is_missed {
                        self.report(&uri).await;
                    }
                }
                Ok(()) = gaps.changed() => {
                    known.heard_since = Instant::now();
                    let since = Some(known.heard_since);
                    self.in_force.send_modify(|in_force| in_force.heard_since = since);
                    self.report_missed(&known.heard_of()).await;
                }
                () = sleep_until(wakes_at), if wakes_at.is_some() => {}
            }
        }
    }

    fn take_over(&mut self, take_over: impl FnOnce(Wanted, Instant) -> InForce) {
        let wanted = self.wanted.borrow_and_update().clone();
        self.in_force.send_replace(take_over(wanted, Instant::now()));
    }

    /// One stream for everything. A new one replaces it when the set changes. The old one ends only
    /// once the new one is acknowledged, so that no change falls between.
    async fn listen(&mut self, had: BTreeSet<LocalUri>) {
        let mut current = Current::default();
        let mut unheard = Unheard { missed: had, ..Unheard::default() };
        let (mut ended_early, mut in_vain) = (0, 0);
        loop {
            let began = Instant::now();
            let (wanted, revision) = {
                let wanted = self.wanted.borrow_and_update();
                (wanted.uris(), wanted.revision)
            };
            let (mut fresh, mut opening) = self.open(&wanted).await;
            // Some servers keep one stream at a time, or have no place for another.
            let needs_its_place = match &opening {
                Opening::Open { .. } => false,
                Opening::Refused(_) => true,
                Opening::Failed => in_vain > 0,
            };
            if needs_its_place && let Some(mut old) = current.streams.take() {
                old.shutdown().await;
                self.note_deaf();
                unheard.note_gap(&wanted);
                (fresh, opening) = self.open(&wanted).await;
            }
            let opened = matches!(opening, Opening::Open { .. });
            let left_out = self.note_opening(opening, &wanted, revision);
            let is_whole = opened && left_out.is_empty();
            in_vain = if is_whole { 0 } else { in_vain + 1 };
            let again = (!is_whole).then(|| {
                if opened {
                    // A URI that the server does not report on is no emergency.
                    Instant::now() + backoff::delay(in_vain + QUICK_ATTEMPTS)
                } else {
                    Instant::now() + backoff::delay(in_vain)
                }
            });
            if opened {
                if current.replace(fresh) {
                    unheard.note_gap(&wanted);
                    self.note_break();
                }
                self.make_up_for(unheard.heard(&wanted, left_out)).await;
            } else {
                unheard.missed.extend(wanted.iter().cloned());
            }
            unheard.missed.retain(|uri| wanted.contains(uri));
            tokio::select! {
                differs = self.differs_from(&wanted, is_whole) => if !differs { return },
                () = sleep_until(again), if again.is_some() => {}
                () = current.end() => {
                    self.note_deaf();
                    let was_stable = began.elapsed() >= STABLE_AFTER;
                    ended_early = if was_stable { 1 } else { ended_early + 1 };
                    unheard.note_gap(&wanted);
                    // A new watch does not wait for that.
                    tokio::select! {
                        () = tokio::time::sleep(backoff::delay(ended_early)) => {}
                        changed = self.wanted.changed() => if changed.is_err() { return },
                    }
                }
            }
        }
    }

    /// Takes note of what came of opening a stream; gives what the server does not report on.
    fn note_opening(
        &self,
        opening: Opening,
        wanted: &BTreeSet<LocalUri>,
        revision: u64,
    ) -> BTreeSet<LocalUri> {
        let is_acknowledged = matches!(opening, Opening::Open { is_acknowledged: true, .. });
        // The old stream is open as well: there is no break.
        let before = self.in_force.borrow().heard_since;
        let heard_since = is_acknowledged.then(|| before.unwrap_or_else(Instant::now));
        let refused = opening.refused(wanted);
        let left_out = refused.keys().cloned().collect();
        let in_force = InForce { revision, refused, heard_since, ..InForce::default() };
        self.in_force.send_replace(in_force);
        left_out
    }

    /// Reports of the server may not have been heard until now.
    fn note_break(&self) {
        self.in_force.send_modify(|in_force| {
            in_force.heard_since = in_force.heard_since.map(|_| Instant::now());
        });
    }

    /// Reports of the server are not heard from now on.
    fn note_deaf(&self) {
        self.in_force.send_modify(|in_force| in_force.heard_since = None);
    }

    /// Opens a stream. One that is never acknowledged is believed after a while.
    async fn open(&self, wanted: &BTreeSet<LocalUri>) -> (JoinSet<Ended>, Opening) {
        let mut acknowledged = self.inbox.acknowledged();
        let id = self.conversation.tickets.next();
        let mut fresh = JoinSet::new();
        fresh.spawn(listen_once(self.conversation.clone(), id, listen_params(wanted)));
        let opening = tokio::select! {
            biased;
            left_out = acknowledgement(&mut acknowledged, id, wanted) => Opening::Open {
                is_acknowledged: left_out.is_some(),
                left_out: left_out.unwrap_or_default(),
            },
            ended = fresh.join_next() => match ended {
                Some(Ok(Ended::Refused(error))) => Opening::Refused(error),
                Some(Ok(Ended::Otherwise) | Err(_)) | None => Opening::Failed,
            },
        };
        (fresh, opening)
    }

    /// Has looked at again the URIs that may have changed while no report was heard.
    async fn make_up_for(&self, unheard: Unheard) {
        if unheard.is_all {
            self.feed.report(&self.source, SourceEvent::Ready).await;
        }
        self.report_missed(&unheard.missed).await;
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
                (wanted.uris.keys().eq(known), wanted.revision)
            };
            if !is_same || !is_whole {
                // The change was seen here. The next reader must see it once more to act on it.
                self.wanted.mark_changed();
                return true;
            }
            self.in_force.send_modify(|in_force| in_force.revision = revision);
        }
    }

    /// Reads every watched resource now and then, and reports those that differ.
    async fn poll(&mut self, every: Duration, had: BTreeSet<LocalUri>) {
        let mut known = Polled::new(had);
        let mut under_way = FuturesUnordered::new();
        let mut round = Instant::now() + every;
        self.take_over(|wanted, now| known.take_over(wanted, now));
        loop {
            while let Some(uri) = known.next() {
                under_way.push(digest(self.conversation.clone(), uri, self.timeout));
            }
            tokio::select! {
                changed = self.wanted.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.take_over(|wanted, now| known.take_over(wanted, now));
                }
                Some((uri, digest)) = under_way.next() => {
                    let (mut is_changed, now) = (false, Instant::now());
                    self.in_force.send_modify(|in_force| {
                        is_changed = known.note(&uri, digest, in_force, now);
                    });
                    if is_changed {
                        self.report(&uri).await;
                    }
                }
                () = tokio::time::sleep_until(round), if known.is_through() => {
                    known.begin_round();
                    round = Instant::now() + every;
                }
            }
        }
    }
}

async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn params_of(uri: &LocalUri) -> Object<'static> {
    let mut params = Object::new();
    params.set_str("uri", uri.as_str());
    params
}

async fn tell(
    conversation: Arc<Conversation>,
    uri: LocalUri,
    step: Step,
    timeout: Duration,
) -> (LocalUri, Step, Result<(), SourceError>) {
    let told = conversation.ask(step.method(), params_of(&uri), Ask::default(), timeout).await;
    (uri, step, told.map(|_| ()))
}

/// A digest of a resource at this moment; `None` if it cannot be told.
async fn digest(
    conversation: Arc<Conversation>,
    uri: LocalUri,
    timeout: Duration,
) -> (LocalUri, Option<u64>) {
    let read = conversation.ask("resources/read", params_of(&uri), Ask::default(), timeout).await;
    let mut hasher = DefaultHasher::new();
    match read {
        Ok(result) => match result.get("contents") {
            Some(contents) => contents.as_bytes().hash(&mut hasher),
            None => return (uri, None),
        },
        // That it is gone is a change too.
        Err(error) if error.means_absence_of(uri.as_str()) => ABSENT.hash(&mut hasher),
        Err(_) => return (uri, None),
    }
    (uri, Some(hasher.finish()))
}

/// How a stream ended.
enum Ended {
    /// The server said that there is none.
    Refused(SourceError),
    Otherwise,
}

/// The result of opening a stream.
enum Opening {
    Open {
        /// URIs that the server does not report on.
        left_out: BTreeSet<LocalUri>,
        /// It said so itself.
        is_acknowledged: bool,
    },
    /// There is none, and so no report on anything.
    Refused(SourceError),
    /// There is none now.
    Failed,
}

impl Opening {
    /// URIs without reports, and why.
    fn refused(self, wanted: &BTreeSet<LocalUri>) -> BTreeMap<LocalUri, SourceError> {
        let (uris, error) = match self {
            Opening::Open { left_out, .. } => {
                (left_out, SourceError::NotOffered { what: "notice of its changes" })
            }
            Opening::Refused(error) => (wanted.clone(), error),
            Opening::Failed => return BTreeMap::new(),
        };
        uris.into_iter().map(|uri| (uri, error.clone())).collect()
    }
}

/// URIs that may have changed while no report could be heard.
#[derive(Debug, Default)]
struct Unheard {
    /// URIs that were watched then.
    missed: BTreeSet<LocalUri>,
    /// URIs that the server did not report on.
    refused: BTreeSet<LocalUri>,
    /// The lists too.
    is_all: bool,
}

impl Unheard {
    /// Nothing could be heard for a while, while this was watched.
    fn note_gap(&mut self, watched: &BTreeSet<LocalUri>) {
        self.missed.extend(watched.iter().cloned());
        self.is_all = true;
    }

    /// The changes to make up for once a stream is open that leaves these URIs out.
    fn heard(&mut self, wanted: &BTreeSet<LocalUri>, left_out: BTreeSet<LocalUri>) -> Unheard {
        let refused = std::mem::replace(&mut self.refused, left_out);
        let mut before = std::mem::take(self);
        self.refused = std::mem::take(&mut before.refused);
        let honoured = refused.intersection(wanted).filter(|uri| !self.refused.contains(*uri));
        before.missed.extend(honoured.cloned());
        before
    }
}

/// Waits until a stream is acknowledged, for a while, and says what of it is not; `None` if it
/// never was.
async fn acknowledgement(
    acknowledged: &mut watch::Receiver<Acknowledged>,
    id: u64,
    wanted: &BTreeSet<LocalUri>,
) -> Option<BTreeSet<LocalUri>> {
    let ready = acknowledged.wait_for(|newest| newest.id >= id);
    match tokio::time::timeout(MAX_WAIT_FOR_ACKNOWLEDGEMENT, ready).await {
        Ok(Ok(ready)) => Some(ready.left_out(wanted)),
        Ok(Err(_)) | Err(_) => None,
    }
}

/// The stream on which the server reports now, if there is one.
#[derive(Default)]
struct Current {
    streams: Option<JoinSet<Ended>>,
}

impl Current {
    /// Puts another in its place; true if it had ended by then.
    fn replace(&mut self, fresh: JoinSet<Ended>) -> bool {
        self.streams.replace(fresh).is_some_and(|mut old| old.try_join_next().is_some())
    }

    /// Waits for its end, after which there is none.
    async fn end(&mut self) {
        match &mut self.streams {
            Some(streams) => drop(streams.join_next().await),
            None => std::future::pending().await,
        }
        self.streams = None;
    }
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

async fn listen_once(conversation: Arc<Conversation>, id: u64, params: String) -> Ended {
    let call =
        Call { id, method: "subscriptions/listen", params, repeated: Vec::new(), notices: None };
    let ended = conversation.link.request(call).await;
    debug!(error = ?ended.as_ref().err(), "the stream of changes ended");
    match ended {
        Err(error @ LinkError::Rpc(_)) => Ended::Refused(error.into()),
        Err(LinkError::Unreachable(_)) => {
            // The server is gone: its life begins anew, with all that follows from it.
            conversation.link.closed().cancel();
            Ended::Otherwise
        }
        Ok(_) | Err(_) => Ended::Otherwise,
    }
}
