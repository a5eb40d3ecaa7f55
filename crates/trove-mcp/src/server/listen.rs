//! Tells a client of changes it asked to hear of.
//!
//! One loop serves both eras. A legacy session hears of all lists and of its subscriptions. A
//! modern stream hears of the names in its filter, each message tagged with its id.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use trove_core::{
    Caller, Gateway, Json, LocalUri, PublicUri, SourceId,
    changes::{Change, Reader},
    gateway::{Answer, AskError, Call, News, Watched},
    json::{Object, items, quote, string},
    resource::ListsChanged,
};

use super::{
    Server,
    asking::{level, level_name},
    early::{Early, Wishes},
};
use crate::{
    era::meta,
    wire::{self, Request},
};

/// How many wishes of one stream are under way at a time. They are so many that those for a silent
/// server hold up the others no longer than one.
const WATCHES_AT_ONCE: usize = 1000;

/// No log messages are wanted.
pub(crate) const NO_LOGS: u8 = u8::MAX;

/// The changes that one client wants to hear of.
pub(crate) struct Interest {
    pub(crate) lists: ListsChanged,
    /// The listener, and the print of the list it sees; `None`: it sees all.
    sight: Mutex<(Caller, Option<u64>)>,
    /// The resources it watches, under the names it used, and their last news for the client.
    watched: Mutex<HashMap<Watched, (Vec<PublicUri>, News)>>,
    /// The resources it is about to watch.
    wishes: Wishes,
    /// The client is gone: nothing is watched for it any more.
    is_over: AtomicBool,
    /// The least grave log message it wants.
    pub(crate) log_level: Arc<AtomicU8>,
    /// The id of the modern stream.
    pub(crate) stream: Option<Json>,
    /// The most that may be watched.
    most: usize,
}

impl Interest {
    pub(crate) fn new(
        (gateway, caller): (&Gateway, Caller),
        lists: ListsChanged,
        stream: Option<Json>,
        most: usize,
    ) -> Interest {
        let seen = gateway.current_view(&caller).print();
        Interest {
            lists,
            sight: Mutex::new((caller, seen)),
            watched: Mutex::default(),
            wishes: Wishes::default(),
            is_over: AtomicBool::new(false),
            log_level: Arc::new(AtomicU8::new(NO_LOGS)),
            stream,
            most,
        }
    }

    /// Takes note of the present listener. It may have another project, or other roles, than when
    /// it began.
    pub(crate) fn note(&self, gateway: &Gateway, caller: &Caller) {
        let mut sight = self.sight();
        if (&sight.0.project, &sight.0.roles) != (&caller.project, &caller.roles) {
            *sight = (caller.clone(), gateway.current_view(caller).print());
        }
    }

    /// Begins to watch one resource under the name the client used.
    pub(crate) async fn watch(
        &self,
        gateway: &Gateway,
        caller: &Caller,
        uri: &PublicUri,
    ) -> Result<(), AskError> {
        let names: usize = self.watched().values().map(|(names, _)| names.len()).sum();
        let full_at = if names >= self.most { Some(self.most) } else { None };
        let _wish = self.wishes.begin();
        let watch = Call::Watch(uri.clone(), full_at);
        let Answer::Watched(watched) = gateway.run(caller, watch).await? else { return Ok(()) };
        let news = gateway.news(caller, &watched.0, &watched.1);
        let is_repeat = {
            let mut all = self.watched();
            let (names, before) = all.entry(watched.clone()).or_insert((Vec::new(), news));
            *before = news;
            let is_repeat = names.contains(uri);
            names.extend((!is_repeat).then(|| uri.clone()));
            is_repeat
        };
        if is_repeat {
            gateway.unwatch(&watched);
        }
        if self.is_over.load(Ordering::Acquire) {
            // The client went while its wish was on its way.
            self.release(gateway);
        }
        Ok(())
    }

    /// Begins to watch all of these, and tells which of them it does.
    pub(crate) async fn watch_all(
        &self,
        gateway: &Gateway,
        caller: &Caller,
        uris: Vec<PublicUri>,
    ) -> Vec<String> {
        let watch = |uri| async move {
            let watched = self.watch(gateway, caller, uri).await;
            watched.is_ok().then(|| quote(uri.as_str()))
        };
        // The surplus is known only once the rest is watched.
        let mut first: Vec<_> = uris.iter().map(watch).collect();
        let rest = first.split_off(first.len().min(self.most));
        let first = stream::iter(first).buffered(WATCHES_AT_ONCE);
        let rest = stream::iter(rest).buffered(1);
        let kept = first.chain(rest).filter_map(std::future::ready).collect().await;
        self.put_in_order(&uris);
        kept
    }

    /// Names of one resource are told in the order they were given, whichever was first
    /// to be watched.
    fn put_in_order(&self, uris: &[PublicUri]) {
        let places = uris.iter().enumerate().rev().map(|(place, uri)| (uri, place));
        let places: HashMap<_, _> = places.collect();
        for (names, _) in self.watched().values_mut() {
            names.sort_by_key(|name| places.get(name));
        }
    }

    pub(crate) async fn unwatch(&self, gateway: &Gateway, caller: &Caller, uri: &PublicUri) {
        let found = {
            let mut all = self.watched();
            let found = all.iter().find(|(_, (names, _))| names.contains(uri));
            let found = found.map(|(watched, _)| watched.clone());
            if let Some((names, _)) = found.as_ref().and_then(|watched| all.get_mut(watched)) {
                names.retain(|name| name != uri);
            }
            all.retain(|_, (names, _)| !names.is_empty());
            found
        };
        // One that was never begun is written down as that; the client is told none of it.
        let _ = gateway.run(caller, Call::Unwatch(uri.clone(), found)).await;
    }

    /// Sets the least grave log message that the client wants, by its name.
    pub(crate) async fn set_level(
        &self,
        gateway: &Gateway,
        caller: &Caller,
        name: &str,
    ) -> Result<(), AskError> {
        let Some(rank) = level(name) else { return Ok(()) };
        self.log_level.store(rank, Ordering::Relaxed);
        let lowest = gateway.lowest_level(&self.log_level);
        let lowest = level_name(lowest).unwrap_or(name).to_owned();
        gateway.run(caller, Call::SetLogLevel(lowest)).await?;
        Ok(())
    }

    /// Lets go of everything, at the end.
    pub(crate) fn release(&self, gateway: &Gateway) {
        self.is_over.store(true, Ordering::Release);
        let all: Vec<_> = self.watched().drain().collect();
        for (watched, (names, _)) in all {
            for _ in names {
                gateway.unwatch(&watched);
            }
        }
    }

    /// Writes what the client wants to hear until it or the gateway is gone.
    pub(crate) async fn pump(
        &self,
        gateway: &Gateway,
        mut changes: Reader,
        out: &mpsc::Sender<Bytes>,
    ) {
        let mut early = Early::default();
        loop {
            let messages = tokio::select! {
                change = changes.recv() => match change {
                    Ok(Change::Missed) => {
                        if self.wishes.are_under_way() {
                            early.lose();
                        }
                        self.everything_seen(gateway)
                    }
                    Ok(change) => self.told(gateway, change, &mut early),
                    Err(_) => return,
                },
                () = self.wishes.settled(), if !early.is_empty() => match early.take(self.wishes.are_under_way()) {
                    Some(kept) => kept
                        .into_iter()
                        .flat_map(|change| self.told(gateway, change, &mut early))
                        .collect(),
                    None => self.everything_seen(gateway),
                },
            };
            let has_missed = messages.into_iter().any(|message| {
                matches!(out.try_send(message), Err(mpsc::error::TrySendError::Full(_)))
            });
            if has_missed {
                // Too slow, or a legacy client that is not listening: once there is room
                // it is told to look at everything.
                for message in self.everything() {
                    if out.send(message).await.is_err() {
                        return;
                    }
                }
            }
            if out.is_closed() {
                return;
            }
        }
    }

    /// The messages for a change. A change that may be wanted in a moment is kept.
    fn told(&self, gateway: &Gateway, change: Change, early: &mut Early) -> Vec<Bytes> {
        // Asked before the watches are looked up: a wish may be settled in between.
        let may_be_wanted = self.wishes.are_under_way();
        let Some(change) = self.as_seen(gateway, change) else { return Vec::new() };
        let messages = self.messages(&change);
        if messages.is_empty() && may_be_wanted {
            early.keep(change);
        }
        messages
    }

    /// A change as the client may know of it; `None` if it is none to the client.
    fn as_seen(&self, gateway: &Gateway, change: Change) -> Option<Change> {
        match change {
            Change::Lists(lists) => {
                let resources = lists.resources && self.sees_other_list(gateway, true);
                let lists = ListsChanged { resources, ..lists };
                lists.any().then_some(Change::Lists(lists))
            }
            Change::Rules => {
                let resources = self.sees_other_list(gateway, false);
                let lists = ListsChanged { resources, ..ListsChanged::default() };
                resources.then_some(Change::Lists(lists))
            }
            Change::Updated { source, uri } => {
                let watched = (source, uri);
                let is_news = self.is_news(gateway, &watched);
                is_news.then_some(Change::Updated { source: watched.0, uri: watched.1 })
            }
            log @ Change::Log { .. } => Some(log),
            Change::Doubted(_) | Change::Listed | Change::Missed => None,
        }
    }

    /// Whether the client is listed something else than before. A client that sees all is taken to
    /// be, where the lists themselves changed.
    fn sees_other_list(&self, gateway: &Gateway, have_changed: bool) -> bool {
        let mut sight = self.sight();
        let now = gateway.current_view(&sight.0).print();
        let before = std::mem::replace(&mut sight.1, now);
        before != now || (now.is_none() && have_changed)
    }

    /// Whether a change at what is watched is one to the client.
    fn is_news(&self, gateway: &Gateway, watched: &Watched) -> bool {
        let news = gateway.news(&self.sight().0, &watched.0, &watched.1);
        match (news, self.watched().get_mut(watched)) {
            (News::All, _) => true,
            (News::None, _) => false,
            // Another client watches this URI. News of it reaches this client under its own name
            // for it.
            (News::When(_), None) => false,
            (News::When(_), Some((_, before))) => std::mem::replace(before, news) != news,
        }
    }

    fn messages(&self, change: &Change) -> Vec<Bytes> {
        match change {
            Change::Lists(lists) => self.list_messages(*lists),
            Change::Updated { source, uri } => {
                self.names_of(source, uri).iter().map(|name| self.updated(name)).collect()
            }
            Change::Rules | Change::Doubted(_) | Change::Listed | Change::Missed => Vec::new(),
            Change::Log { message, .. } => {
                let wanted = self.log_level.load(Ordering::Relaxed);
                let rank = message.get_str("level").and_then(|l| level(&l)).unwrap_or(0);
                let is_wanted = wanted != NO_LOGS && rank >= wanted;
                let log = || wire::notification("notifications/message", Some(message.as_str()));
                is_wanted.then(log).into_iter().collect()
            }
        }
    }

    /// The names under which the client watches a resource, or the one that holds it. A server may
    /// also report the part that changed, e.g. `doc://a/1` of `doc://a`.
    fn names_of(&self, source: &SourceId, uri: &LocalUri) -> Vec<PublicUri> {
        let watched = self.watched();
        if let Some((names, _)) = watched.get(&(source.clone(), uri.clone())) {
            return names.clone();
        }
        let holding = watched.iter().find_map(|((owner, whole), (names, _))| {
            let part = uri.as_str().strip_prefix(whole.as_str())?;
            let is_part =
                owner == source && (part.starts_with('/') || whole.as_str().ends_with('/'));
            is_part.then_some((names, part))
        });
        let Some((names, part)) = holding else { return Vec::new() };
        // The client's name of the whole, with the rest added, leads to the part.
        names.iter().map(|name| PublicUri::new(format!("{name}{part}"))).collect()
    }

    /// The messages after changes were missed: look again at all of it.
    pub(crate) fn everything(&self) -> Vec<Bytes> {
        let mut all = self.list_messages(ListsChanged::ALL);
        let names: Vec<PublicUri> =
            self.watched().values().flat_map(|(names, _)| names.clone()).collect();
        all.extend(names.iter().map(|name| self.updated(name)));
        all
    }

    /// The messages after changes were missed before it was known whether the client may know of
    /// them.
    fn everything_seen(&self, gateway: &Gateway) -> Vec<Bytes> {
        let resources = self.sees_other_list(gateway, true);
        let mut all = self.list_messages(ListsChanged { resources, ..ListsChanged::ALL });
        let watched: Vec<(Watched, Vec<PublicUri>)> =
            self.watched().iter().map(|(one, (names, _))| (one.clone(), names.clone())).collect();
        let news = watched.iter().filter(|(watched, _)| self.is_news(gateway, watched));
        all.extend(news.flat_map(|(_, names)| names).map(|name| self.updated(name)));
        all
    }

    fn list_messages(&self, lists: ListsChanged) -> Vec<Bytes> {
        let mut all = Vec::new();
        let mut say = |is_wanted: bool, method: &str| {
            if is_wanted {
                all.push(wire::notification(method, self.tagged(Object::new()).as_deref()));
            }
        };
        say(lists.resources && self.lists.resources, "notifications/resources/list_changed");
        say(lists.tools && self.lists.tools, "notifications/tools/list_changed");
        say(lists.prompts && self.lists.prompts, "notifications/prompts/list_changed");
        all
    }

    fn updated(&self, name: &PublicUri) -> Bytes {
        let mut params = Object::new();
        params.set_str("uri", name.as_str());
        wire::notification("notifications/resources/updated", self.tagged(params).as_deref())
    }

    /// The answer to the request that opened the stream: we have ended it.
    fn farewell(&self, request: &Json) -> Bytes {
        let mut result = Object::new();
        result.set_str("resultType", "complete");
        let result = self.tagged(result).and_then(|text| Json::parse(text).ok());
        wire::response(request, &Ok(result.unwrap_or_else(Json::empty_object).into()))
    }

    fn tagged(&self, mut params: Object<'_>) -> Option<String> {
        if let Some(stream) = &self.stream {
            params.set("_meta", format!("{{\"{}\":{}}}", meta::SUBSCRIPTION_ID, stream.as_str()));
        }
        (!params.is_empty()).then(|| params.to_text())
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<Watched, (Vec<PublicUri>, News)>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sight(&self) -> MutexGuard<'_, (Caller, Option<u64>)> {
        self.sight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The side that ended a stream of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The client, which expects nothing more.
    ByClient,
    /// We, which is said as the answer to the request.
    ByUs,
}

/// Runs one `subscriptions/listen` until its end or until the client is gone. Not to be
/// dropped before that: it lets go of what it watches there.
pub(crate) async fn listen(
    server: &Server,
    caller: &Caller,
    request: &Request,
    out: mpsc::Sender<Bytes>,
    end: impl Future<Output = Ended>,
) {
    let gateway = &*server.gateway;
    // It is never refused; this writes it down.
    let _ = gateway.run(caller, Call::Listen).await;
    let changes = gateway.changes();
    let filter = request.params.as_ref().and_then(|params| params.get("notifications"));
    let filter = filter.as_ref().and_then(|filter| filter.object()).unwrap_or_default();
    let wants = |key: &str| filter.get(key) == Some("true");
    let lists = ListsChanged {
        resources: wants("resourcesListChanged"),
        tools: wants("toolsListChanged"),
        prompts: wants("promptsListChanged"),
    };
    let most = server.bounds.watches_per_client;
    let interest = Interest::new((gateway, caller.clone()), lists, Some(request.id.clone()), most);
    let wanted = filter.get("resourceSubscriptions").and_then(items);
    let wanted = wanted.filter(|wanted| !wanted.is_empty());
    let conversation = async {
        let accepted = match &wanted {
            Some(wanted) => {
                let uris = wanted.iter().filter_map(|text| string(text));
                let uris = uris.map(|uri| PublicUri::new(&*uri)).collect();
                Some(interest.watch_all(gateway, caller, uris).await)
            }
            None => None,
        };
        if out.send(acknowledge(&interest, accepted.as_deref())).await.is_ok() {
            interest.pump(gateway, changes, &out).await;
        }
        Ended::ByClient
    };
    let ended = tokio::select! {
        ended = conversation => ended,
        () = out.closed() => Ended::ByClient,
        ended = end => ended,
    };
    if ended == Ended::ByUs {
        // A client that does not keep up hears of the end by the end of its connection.
        let _ = out.try_send(interest.farewell(&request.id));
    }
    drop(out);
    interest.release(gateway);
}

/// Says which part of the filter is honoured.
fn acknowledge(interest: &Interest, accepted: Option<&[String]>) -> Bytes {
    let mut filter = Object::new();
    for (wanted, key) in [
        (interest.lists.resources, "resourcesListChanged"),
        (interest.lists.tools, "toolsListChanged"),
        (interest.lists.prompts, "promptsListChanged"),
    ] {
        if wanted {
            filter.set(key, "true");
        }
    }
    if let Some(accepted) = accepted {
        filter.set("resourceSubscriptions", format!("[{}]", accepted.join(",")));
    }
    let mut params = Object::new();
    params.set("notifications", filter.to_text());
    let params = interest.tagged(params);
    wire::notification("notifications/subscriptions/acknowledged", params.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interest(lists: ListsChanged, stream: Option<Json>) -> Interest {
        Interest {
            lists,
            sight: Mutex::new((Caller::local(), None)),
            watched: Mutex::default(),
            wishes: Wishes::default(),
            is_over: AtomicBool::new(false),
            log_level: Arc::new(AtomicU8::new(NO_LOGS)),
            stream,
            most: 1,
        }
    }

    fn text(messages: Vec<Bytes>) -> Vec<String> {
        messages.into_iter().map(|m| String::from_utf8(m.to_vec()).unwrap()).collect()
    }

    #[test]
    fn a_stream_hears_only_what_its_filter_names_and_is_tagged() {
        let lists = ListsChanged { tools: true, ..ListsChanged::default() };
        let interest = interest(lists, Some(Json::parse("7").unwrap()));
        let said = text(interest.messages(&Change::Lists(ListsChanged::ALL)));
        assert_eq!(
            said,
            [
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#
            ]
        );
    }

    #[test]
    fn an_update_carries_the_name_the_client_used() {
        let interest = interest(ListsChanged::ALL, None);
        let watched = (SourceId::new("a").unwrap(), "x:1".into());
        interest.watched().insert(watched, (vec![PublicUri::new("a+x:1")], News::All));
        let change =
            |uri: &str| Change::Updated { source: SourceId::new("a").unwrap(), uri: uri.into() };
        assert_eq!(
            text(interest.messages(&change("x:1"))),
            [
                r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a+x:1"}}"#
            ]
        );
        assert!(interest.messages(&change("x:2")).is_empty());
        assert!(interest.messages(&change("x:12")).is_empty());
        assert!(text(interest.messages(&change("x:1/part")))[0].contains(r#""uri":"a+x:1/part""#));
    }

    #[test]
    fn log_messages_below_the_wanted_level_are_not_sent() {
        let interest = interest(ListsChanged::ALL, None);
        let log = |l: &str| Change::Log {
            source: SourceId::new("a").unwrap(),
            message: Json::parse(format!("{{\"level\":\"{l}\"}}")).unwrap(),
        };
        assert!(interest.messages(&log("error")).is_empty());
        interest.log_level.store(level("warning").unwrap(), Ordering::Relaxed);
        assert_eq!(interest.messages(&log("error")).len(), 1);
        assert!(interest.messages(&log("info")).is_empty());
    }
}
