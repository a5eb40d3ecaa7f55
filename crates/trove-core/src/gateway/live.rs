//! Asking servers that can search by themselves, beside our own index and at the same time.
//!
//! Each question to a server is a [`super::Call`] of its own: admitted, fetched and settled as every
//! other. A question is told to those servers and to none else. One that is slow, fails, or has been
//! asked too often costs only its own hits, and is named.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{AskError, FindError, Found, Gateway, Named};
use crate::{
    access::Standing,
    caller::Caller,
    catalogue::Snapshot,
    failure::Class,
    metrics::Ending,
    search::{Evidence, Foreign, Hit, Key, NEAR_MISS_SCORE, Query, Scope, Wanted, Weighed, Why},
    source::{Ask, LiveHit, Source, SourceError, SourceId},
    uri::PublicUri,
};

/// How long servers are waited for once our own answer is there, unless the question says.
pub const LIVE_WAIT: Duration = Duration::from_millis(300);
/// The longest a question may have them waited for.
pub const MAX_LIVE_WAIT: Duration = Duration::from_secs(10);
/// The most servers that one question is put to.
const MAX_SERVERS: usize = 8;
/// The most hits that are taken of one server.
const MAX_HITS: usize = 10;
/// The most characters that are taken of a name, a description or a snippet of a hit.
const MAX_TEXT_CHARS: usize = 1000;
/// The most questions to servers under way, of all callers together.
const MAX_UNDER_WAY: usize = 32;
/// How often one server is asked in a minute.
const A_MINUTE: usize = 30;
const MINUTE: Duration = Duration::from_secs(60);

/// How many questions servers may still be asked.
pub(super) struct Budget {
    places: Arc<Semaphore>,
    /// When each server was asked in the last minute.
    asked: Mutex<HashMap<SourceId, Vec<Instant>>>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { places: Arc::new(Semaphore::new(MAX_UNDER_WAY)), asked: Mutex::default() }
    }
}

impl Budget {
    /// A place for one question to a server; `None` if it has been asked enough.
    fn take(&self, id: &SourceId) -> Option<OwnedSemaphorePermit> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        let mut all = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = all.entry(id.clone()).or_default();
        asked.retain(|moment| moment.elapsed() < MINUTE);
        if asked.len() >= A_MINUTE {
            return None;
        }
        asked.push(Instant::now());
        Some(place)
    }
}

/// A question to one server that searches by itself.
pub struct LiveQuestion {
    /// The server.
    pub source: SourceId,
    /// The text to search for.
    pub text: String,
    /// How long the server may take once the index has answered. It is told in the failure of a
    /// late server.
    pub wait: Duration,
    /// The end of the wait.
    pub given_up: CancellationToken,
}

impl LiveQuestion {
    /// A question that is asked by itself. It ends with the server's answer or its timeout.
    pub fn alone(source: SourceId, text: impl Into<String>) -> LiveQuestion {
        let given_up = CancellationToken::new();
        LiveQuestion { source, text: text.into(), wait: MAX_LIVE_WAIT, given_up }
    }
}

/// The hits of one server, under public names; only those that the caller may read.
pub struct LiveAnswer {
    /// The server.
    pub source: SourceId,
    /// The hits, not weighed yet.
    pub hits: Vec<Hit>,
}

/// The hits of all servers, and the servers that gave no answer.
#[derive(Default)]
struct Heard {
    hits: Vec<Hit>,
    silent: Vec<(SourceId, String)>,
}

impl Heard {
    fn take(&mut self, id: SourceId, answer: Result<LiveAnswer, AskError>) {
        match answer {
            Ok(answer) => self.hits.extend(answer.hits),
            Err(AskError::Source { error, .. }) => self.silent.push((id, error.to_string())),
            Err(error) => self.silent.push((id, error.to_string())),
        }
    }
}

/// Whether a question is one that servers can be asked.
fn text_of(query: &Query) -> Option<String> {
    let is_plain = query.offset == 0
        && query.scope == Scope::All
        && query.after.is_none()
        && query.before.is_none()
        && query.content_types.is_empty();
    let text = match &query.wanted {
        Wanted::Everything => return None,
        Wanted::Text(text) => text.trim().to_owned(),
        Wanted::Terms(terms) => terms.join(" "),
    };
    (is_plain && !text.is_empty()).then_some(text)
}

impl Gateway {
    /// Looks for resources in the index, and meanwhile has servers look that can search by
    /// themselves.
    pub(super) async fn look_everywhere(
        &self,
        caller: &Caller,
        query: Query,
    ) -> Result<Found, FindError> {
        let wait = query.live_wait.min(MAX_LIVE_WAIT);
        let (given_up, all_heard) = (CancellationToken::new(), CancellationToken::new());
        let questions = self.live_questions(&query, wait, &given_up);
        let mut asked: FuturesUnordered<_> =
            questions.into_iter().map(|question| self.ask_live(caller, question)).collect();
        let ours = async {
            let found = self.look_for(caller, query.clone()).await;
            if found.is_ok() {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = all_heard.cancelled() => {}
                }
            }
            given_up.cancel();
            found
        };
        let hearing = async {
            let mut heard = Heard::default();
            while let Some((id, answer)) = asked.next().await {
                heard.take(id, answer);
            }
            all_heard.cancel();
            heard
        };
        let (found, heard) = tokio::join!(ours, hearing);
        let mut found = found?;
        self.join_live(caller, &query, heard, &mut found).await;
        Ok(found)
    }

    /// A question for each server that can search and is wanted.
    fn live_questions(
        &self,
        query: &Query,
        wait: Duration,
        given_up: &CancellationToken,
    ) -> Vec<LiveQuestion> {
        if wait.is_zero() {
            return Vec::new();
        }
        let Some(text) = text_of(query) else { return Vec::new() };
        let snapshot = self.current();
        let is_wanted = |id: &SourceId| query.sources.is_empty() || query.sources.contains(id);
        let sources = snapshot.members().iter().map(|member| &member.source);
        let able = sources.filter(|source| is_wanted(source.id()) && source.searches());
        let question = |source: &Arc<dyn Source>| LiveQuestion {
            source: source.id().clone(),
            text: text.clone(),
            wait,
            given_up: given_up.clone(),
        };
        able.take(MAX_SERVERS).map(question).collect()
    }

    /// Puts one question on the road of all calls.
    fn ask_live<'a>(
        &'a self,
        caller: &'a Caller,
        question: LiveQuestion,
    ) -> BoxFuture<'a, (SourceId, Result<LiveAnswer, AskError>)> {
        let id = question.source.clone();
        async move { (id, self.search_live(caller, question).await) }.boxed()
    }

    /// Has one server search, within its budget and until the wait for it ends.
    pub(super) async fn fetch_live(
        &self,
        caller: &Caller,
        question: LiveQuestion,
    ) -> Result<LiveAnswer, AskError> {
        let LiveQuestion { source: id, text, wait, given_up } = question;
        let snapshot = self.current();
        let failed = |error| AskError::Source { source_id: id.clone(), uri: None, error };
        let Some(source) = snapshot.member(&id).map(|member| member.source.clone()) else {
            return Err(AskError::UnknownName { what: "server", name: id.to_string() });
        };
        if !source.searches() {
            return Err(failed(SourceError::NotOffered { what: "a search" }));
        }
        let Some(place) = self.live.take(&id) else {
            let message = "its own search was asked too often; ask again in a minute".to_owned();
            return Err(failed(SourceError::Told { class: Class::Busy, message }));
        };
        let visible = self.visible(caller, &id);
        let ask = Ask { caller: caller.clone(), visible, ..Ask::default() };
        let timer = self.metrics.sources.begin(id.as_str());
        // A task of its own takes a long answer apart, so that it holds up none but itself. The
        // set ends the task when it is dropped.
        let mut asked = JoinSet::new();
        asked.spawn(async move {
            let _place = place;
            source.search(&text, MAX_HITS, ask).await
        });
        let outcome = tokio::select! {
            ended = asked.join_next() => match ended {
                Some(Ok(outcome)) => outcome,
                Some(Err(_)) | None => {
                    Err(SourceError::Malformed { what: "its own search broke off".to_owned() })
                }
            },
            () = given_up.cancelled() => Err(SourceError::TimedOut { waited: wait }),
        };
        timer.end(if outcome.is_ok() { Ending::Ok } else { Ending::Error });
        let hits = outcome.map_err(failed)?;
        let hits = self.readable_hits(caller, &snapshot, &id, hits);
        Ok(LiveAnswer { source: id, hits })
    }

    /// The first hits that the caller may read, under their public names.
    fn readable_hits(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        id: &SourceId,
        hits: Vec<LiveHit>,
    ) -> Vec<Hit> {
        let rules = self.rules();
        let mut readable = Vec::new();
        for hit in hits.into_iter().take(MAX_HITS) {
            let local = hit.uri.as_str();
            let (standing, _) = rules.standing(caller, Named::given(snapshot, id, local));
            if standing != Standing::Open || local.len() > self.limits.uri_bytes {
                continue;
            }
            let renamed = snapshot.public_name(id, local);
            let public = renamed.unwrap_or_else(|| PublicUri::new(hit.uri.shared()));
            readable.push(result(id.clone(), public, hit));
        }
        readable
    }

    /// Puts what servers found among our own results, by the same relevance.
    async fn join_live(&self, caller: &Caller, query: &Query, heard: Heard, found: &mut Found) {
        let is_told = !self.access().withholds_causes_from(caller);
        for (id, why) in heard.silent {
            let why = if is_told { why } else { "its own search gave no answer".to_owned() };
            found.silent.push((id, why));
        }
        found.silent.sort();
        let mut known: HashSet<PublicUri> =
            found.hits.hits.iter().map(|hit| hit.public.clone()).collect();
        let mut hits = heard.hits;
        hits.retain(|hit| known.insert(hit.public.clone()));
        let Some(search) = self.search().cloned().filter(|_| !hits.is_empty()) else { return };
        let asked = query.clone();
        let weighing = tokio::task::spawn_blocking(move || {
            let texts: Vec<Foreign<'_>> = hits.iter().map(foreign).collect();
            let weighed = search.weigh(&asked, &texts).unwrap_or_default();
            for (hit, weighed) in hits.iter_mut().zip(weighed) {
                weigh(hit, weighed);
            }
            hits
        });
        let Ok(hits) = weighing.await else { return };
        for hit in hits {
            place(hit, query, found);
        }
        found.hits.hits.truncate(query.max_results.max(1));
    }
}

/// At most so many characters of a text.
fn cut(text: String) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

/// A hit as a result, not weighed yet.
fn result(source: SourceId, public: PublicUri, hit: LiveHit) -> Hit {
    let LiveHit { uri, name, title, description, mime, modified, snippet } = hit;
    let snippet = snippet.map(cut);
    Hit {
        key: Key { source, local: uri },
        public,
        name: cut(name),
        title: title.map(cut),
        description: description.map(cut).or_else(|| snippet.clone()),
        mime,
        size: None,
        modified,
        as_of: None,
        is_text_old: false,
        score: 0.0,
        is_near_miss: false,
        is_live: true,
        why: Vec::new(),
        highlights: Vec::new(),
        matched_terms: Vec::new(),
        preview: snippet,
        evidence: Evidence::default(),
    }
}

fn foreign(hit: &Hit) -> Foreign<'_> {
    let title = hit.title.as_deref().unwrap_or(&hit.name);
    let body = hit.preview.as_deref().or(hit.description.as_deref()).unwrap_or_default();
    Foreign { title, body }
}

fn weigh(hit: &mut Hit, weighed: Weighed) {
    hit.score = weighed.evidence.score();
    hit.evidence = weighed.evidence;
    hit.why = weighed.why;
    if hit.why.is_empty() {
        hit.why.push(Why::Server);
    }
    hit.matched_terms = weighed.matched_terms;
}

/// Puts a result where its relevance places it. One below the threshold is a near miss.
fn place(mut hit: Hit, query: &Query, found: &mut Found) {
    let hits = &mut found.hits.hits;
    hit.is_near_miss = hit.score < query.threshold;
    if hit.is_near_miss {
        let misses = hits.iter().filter(|one| one.is_near_miss).count();
        let is_worth_it = hit.score >= NEAR_MISS_SCORE && misses < query.near_misses;
        if !is_worth_it {
            found.hits.below_threshold += 1;
            return;
        }
    } else {
        found.hits.total += 1;
    }
    let at = hits.iter().position(|one| is_behind(one, &hit)).unwrap_or(hits.len());
    hits.insert(at, hit);
}

/// Whether `one` stands behind `hit`: near misses stand behind all others, then less relevant ones.
fn is_behind(one: &Hit, hit: &Hit) -> bool {
    if one.is_near_miss != hit.is_near_miss {
        return one.is_near_miss;
    }
    one.score < hit.score
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uri::LocalUri;

    #[test]
    fn one_server_is_not_asked_more_often_than_its_budget() {
        let budget = Budget::default();
        let id = SourceId::new("one").expect("an id");
        let asked = (0..A_MINUTE + 5).filter(|_| budget.take(&id).is_some()).count();
        assert_eq!(asked, A_MINUTE);
        assert!(budget.take(&SourceId::new("two").expect("an id")).is_some());
    }

    #[test]
    fn no_more_is_asked_at_once_than_there_are_places() {
        let budget = Budget::default();
        let id = |n: usize| SourceId::new(&format!("s{n}")).expect("an id");
        let held: Vec<_> = (0..MAX_UNDER_WAY + 3).filter_map(|n| budget.take(&id(n))).collect();
        assert_eq!(held.len(), MAX_UNDER_WAY);
    }

    #[test]
    fn a_hit_stands_where_its_relevance_places_it() {
        let hit = |score: f32| {
            let uri = LocalUri::new("x:1");
            let (title, description, mime) = (None, None, None);
            let (modified, snippet, name) = (None, None, "x".to_owned());
            let live = LiveHit { uri, name, title, description, mime, modified, snippet };
            let id = SourceId::new("one").expect("an id");
            Hit { score, ..result(id, PublicUri::new("x:1"), live) }
        };
        let mut found = Found::default();
        found.hits.hits = vec![hit(0.9), hit(0.5)];
        let query = Query { threshold: 0.3, near_misses: 1, ..Query::text("x") };
        for score in [0.7, 0.95, 0.2, 0.1] {
            place(hit(score), &query, &mut found);
        }
        let scores: Vec<f32> = found.hits.hits.iter().map(|hit| hit.score).collect();
        assert_eq!(scores, [0.95, 0.9, 0.7, 0.5, 0.2]);
        assert_eq!((found.hits.total, found.hits.below_threshold), (2, 1));
    }
}
