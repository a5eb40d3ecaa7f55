//! Texts that somebody reads, on their way to the index.
//!
//! A read hands over what it got and goes on. Only later it is compared with what the index
//! has. Where too much waits, a text is passed over: the crawler finds it at its next look.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::mpsc;

use super::{MAX_YIELD, Outcome, When, text_for_index};
use crate::{
    access::Standing,
    cache::Cached,
    caller::{Caller, Door},
    catalogue::Route,
    gateway::{Gateway, Named},
    search::{Content, Key, Pending, Search, Skip},
    source::{Reply, SourceError},
};

/// How many texts may wait.
const MAX_WAITING: usize = 256;
/// How many bytes of them may wait.
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;
/// How long others gather after some were compared: of many reads of one text one is compared.
const GATHER: Duration = Duration::from_millis(100);

/// Something that somebody read.
struct Passed {
    key: Key,
    /// Whose credentials it was asked with.
    scope: Arc<str>,
    /// When its Source was asked for it, by the clock of the index.
    asked_at: i64,
    /// `None` if its Source would not give it.
    reply: Option<Reply>,
}

/// Where texts wait for the index.
pub(in crate::gateway) struct Passing {
    sender: mpsc::Sender<Passed>,
    inbox: Mutex<Option<mpsc::Receiver<Passed>>>,
    bytes: AtomicUsize,
}

impl Passing {
    pub(in crate::gateway) fn new() -> Passing {
        let (sender, inbox) = mpsc::channel(MAX_WAITING);
        Passing { sender, inbox: Mutex::new(Some(inbox)), bytes: AtomicUsize::new(0) }
    }

    /// Hands over what was read, if there is room for it.
    fn offer(&self, passed: Passed) {
        let bytes = passed.bytes();
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > MAX_WAITING_BYTES || self.sender.try_send(passed).is_err() {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Takes what waits; of several reads of one text the last.
    fn take(&self, first: Passed, inbox: &mut mpsc::Receiver<Passed>) -> Vec<Passed> {
        let mut latest = HashMap::new();
        let mut next = Some(first);
        while let Some(passed) = next {
            self.bytes.fetch_sub(passed.bytes(), Ordering::Relaxed);
            latest.insert((passed.key.clone(), passed.scope.clone()), passed);
            next = inbox.try_recv().ok();
        }
        latest.into_values().collect()
    }
}

impl Passed {
    fn bytes(&self) -> usize {
        self.reply.as_ref().map_or(0, |reply| reply.body.as_str().len())
    }
}

/// What a read tells the index.
enum News {
    Text(Key, Content),
    /// The text it has is to be looked at.
    Doubtful(Key),
}

/// A read whose result the index may want.
pub(in crate::gateway) struct Passer {
    scope: Arc<str>,
    asked_at: i64,
}

impl Gateway {
    /// Notes that a read begins; `None` if its result is nothing for the index.
    pub(in crate::gateway) fn passer(
        &self,
        caller: &Caller,
        route: &Route,
        is_alone: bool,
    ) -> Option<Passer> {
        // What is ours tells of every change, and differs by who asks.
        if is_alone || route.source.is_builtin() {
            return None;
        }
        let asked_at = self.search()?.moment_of_read(route.source.id());
        Some(Passer { scope: caller.scope(), asked_at })
    }

    /// Hands what a read gave to the index.
    pub(in crate::gateway) fn pass(
        &self,
        passer: Passer,
        route: &Route,
        answer: &Result<Cached, SourceError>,
    ) {
        let reply = match answer {
            // What is kept has passed before.
            Ok(cached) if cached.hit || cached.reply.needs_input => return,
            Ok(cached) => Some(cached.reply.clone()),
            // It says nothing of the text.
            Err(error) if error.is_retryable() => return,
            Err(_) => None,
        };
        let key = Key { source: route.source.id().clone(), local: route.local.clone() };
        let Passer { scope, asked_at } = passer;
        self.passing.offer(Passed { key, scope, asked_at, reply });
    }

    /// Compares what passes with what the index has, for as long as this is polled.
    pub(super) async fn index_passing(self: &Arc<Self>, search: &Arc<Search>) {
        let taken = self.passing.inbox.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut inbox) = taken else { return std::future::pending().await };
        while let Some(first) = inbox.recv().await {
            self.stand_aside(MAX_YIELD).await;
            let batch = self.passing.take(first, &mut inbox);
            let (gateway, index) = (self.clone(), search.clone());
            // Texts may be long; this is no place to hold others up.
            let work = tokio::task::spawn_blocking(move || {
                let news = batch.into_iter().filter_map(|it| gateway.news_of(&index, it));
                news.collect::<Vec<News>>()
            });
            for news in work.await.unwrap_or_default() {
                match news {
                    News::Text(key, content) => search.put_passing(key, content).await,
                    News::Doubtful(key) => search.content_changed(key).await,
                }
            }
            tokio::time::sleep(GATHER).await;
        }
    }

    /// What the index should make of one read; `None` if it is nothing for it.
    fn news_of(&self, search: &Search, passed: Passed) -> Option<News> {
        let pending = search.looked_into(&passed.key)?;
        let text = match &passed.reply {
            Some(reply) => self.text_of_passed(&pending, &passed, reply),
            // One caller was refused. Whether the text is gone the crawler finds out.
            None => Outcome::Skip(Skip::Unreadable),
        };
        match text {
            Outcome::Content(content) => Some(News::Text(passed.key, content)),
            Outcome::Skip(_) if pending.has_text => Some(News::Doubtful(passed.key)),
            Outcome::Skip(_) | Outcome::Failed | Outcome::Refused => None,
        }
    }

    fn text_of_passed(&self, pending: &Pending, passed: &Passed, reply: &Reply) -> Outcome {
        let (source, local) = (&pending.key.source, &pending.key.local);
        let snapshot = self.current();
        let named = Named::given(&snapshot, source, local.as_str());
        // The index is for everybody, so it takes what a caller without a name may read.
        let nobody = Caller::behind(Door::Http);
        let (standing, _) = self.rules().standing(&nobody, named);
        if standing != Standing::Open {
            return Outcome::Failed;
        }
        // Text of papers is made by the crawler alone.
        if self.form_for_index(pending.mime.as_deref(), local.as_str()).is_some() {
            return Outcome::Failed;
        }
        let body = self.readable(&nobody, &snapshot, source, &reply.body);
        let believed = self.believed(source, reply.freshness);
        let max = self.crawl_settings.max_content_bytes.load(Ordering::Relaxed);
        let reply = Reply { body, ..reply.clone() };
        let when = When { asked_at: passed.asked_at, believed };
        text_for_index(&reply, pending, max, &passed.scope, when)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{json::Json, source::SourceId, uri::LocalUri};

    fn passed(n: usize, asked_at: i64, bytes: usize) -> Passed {
        let local = LocalUri::from(format!("doc://{n}").as_str());
        let key = Key { source: SourceId::normalise("s"), local };
        let body = Json::parse(format!("\"{}\"", " ".repeat(bytes))).expect("it is JSON");
        let reply = Some(Reply::plain(body));
        Passed { key, scope: Caller::local().scope(), asked_at, reply }
    }

    fn taken(passing: &Passing) -> Vec<Passed> {
        let inbox = passing.inbox.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut inbox = inbox.expect("it is taken once");
        let first = inbox.try_recv().expect("something waits");
        passing.take(first, &mut inbox)
    }

    #[test]
    fn what_waits_is_bounded_in_number_and_bytes() {
        let many = Passing::new();
        (0..10 * MAX_WAITING).for_each(|n| many.offer(passed(n, 0, 1)));
        assert_eq!(taken(&many).len(), MAX_WAITING);
        let large = Passing::new();
        (0..8).for_each(|n| large.offer(passed(n, 0, MAX_WAITING_BYTES / 4)));
        let waiting = large.bytes.load(Ordering::Relaxed);
        assert!(waiting > 0 && waiting <= MAX_WAITING_BYTES, "{waiting}");
        taken(&large);
        assert_eq!(large.bytes.load(Ordering::Relaxed), 0, "room comes back");
    }

    #[test]
    fn of_many_reads_of_one_text_the_last_is_compared() {
        let passing = Passing::new();
        (0..100).for_each(|at| passing.offer(passed(1, at, 1)));
        let taken = taken(&passing);
        assert_eq!(taken.iter().map(|it| it.asked_at).collect::<Vec<i64>>(), [99]);
    }
}
