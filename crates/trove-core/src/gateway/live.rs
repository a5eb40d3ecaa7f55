//! Asking servers that can search by themselves, beside our own index and at the same time.
//!
//! A question is told to those servers and to none else. One that is slow, fails, or has been
//! asked too often costs only its own hits, and is named.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::Instant,
};

use super::{Found, Gateway, Named};
use crate::{
    access::Standing,
    caller::Caller,
    catalogue::Snapshot,
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

/// The answer of one server.
type Answered = (SourceId, Result<Vec<LiveHit>, SourceError>);

/// The servers that are being asked.
#[derive(Default)]
pub(super) struct Asking {
    under_way: JoinSet<Answered>,
    waited_for: Vec<SourceId>,
    unasked: Vec<SourceId>,
}

/// The hits of servers, and the servers that gave no answer.
#[derive(Default)]
pub(super) struct Heard {
    hits: Vec<(SourceId, LiveHit)>,
    silent: Vec<(SourceId, String)>,
}

impl Asking {
    /// Waits for answers, but no longer than this.
    pub(super) async fn end(mut self, wait: Duration) -> Heard {
        let deadline = Instant::now() + wait;
        let mut heard = Heard::default();
        let mut waited_for: HashSet<SourceId> = self.waited_for.into_iter().collect();
        while let Ok(Some(ended)) =
            tokio::time::timeout_at(deadline, self.under_way.join_next()).await
        {
            let Ok((id, outcome)) = ended else { continue };
            waited_for.remove(&id);
            match outcome {
                Ok(hits) => heard.hits.extend(hits.into_iter().map(|hit| (id.clone(), hit))),
                Err(error) => heard.silent.push((id, error.to_string())),
            }
        }
        let late = format!("its own search did not answer within {} ms", wait.as_millis());
        heard.silent.extend(waited_for.into_iter().map(|id| (id, late.clone())));
        let often = "its own search was asked too often; ask again in a minute";
        heard.silent.extend(self.unasked.into_iter().map(|id| (id, often.to_owned())));
        heard.silent.sort();
        // Dropping the set takes back what is still asked.
        heard
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
    /// Begins to ask the servers that can search.
    pub(super) fn ask_live(&self, caller: &Caller, query: &Query) -> Asking {
        let mut asking = Asking::default();
        let Some(text) = text_of(query) else { return asking };
        let snapshot = self.current();
        let is_wanted = |id: &SourceId| query.sources.is_empty() || query.sources.contains(id);
        let sources = snapshot.members().iter().map(|member| &member.source);
        let able = sources.filter(|source| is_wanted(source.id()) && source.searches());
        for source in able.take(MAX_SERVERS) {
            let id = source.id().clone();
            let Some(place) = self.live.take(&id) else {
                asking.unasked.push(id);
                continue;
            };
            let ask = Ask {
                caller: caller.clone(),
                visible: self.visible(caller, &id),
                ..Ask::default()
            };
            asking.waited_for.push(id);
            asking.under_way.spawn(ask_one(source.clone(), text.clone(), ask, place));
        }
        asking
    }

    /// Puts what servers found among our own results, by the same relevance.
    pub(super) async fn join_live(
        &self,
        caller: &Caller,
        query: &Query,
        heard: Heard,
        found: &mut Found,
    ) {
        let is_told = !self.access().withholds_causes_from(caller);
        let told = |(id, why): (SourceId, String)| {
            let why = if is_told { why } else { "its own search gave no answer".to_owned() };
            (id, why)
        };
        found.silent = heard.silent.into_iter().map(told).collect();
        let mut hits = self.seen(caller, heard.hits, found);
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

    /// The hits that the caller may read, and that are not among our own results, as results.
    fn seen(&self, caller: &Caller, hits: Vec<(SourceId, LiveHit)>, found: &Found) -> Vec<Hit> {
        let (snapshot, rules) = (self.current(), self.rules());
        let mut known: HashSet<PublicUri> =
            found.hits.hits.iter().map(|hit| hit.public.clone()).collect();
        let mut seen = Vec::new();
        for (id, hit) in hits {
            let named = Named::given(&snapshot, &id, hit.uri.as_str());
            let (standing, _) = rules.standing(caller, named);
            let public = public_name(&snapshot, &id, &hit);
            if standing == Standing::Open && known.insert(public.clone()) {
                seen.push(result(id, public, hit));
            }
        }
        seen
    }
}

async fn ask_one(
    source: Arc<dyn Source>,
    text: String,
    ask: Ask,
    _place: OwnedSemaphorePermit,
) -> Answered {
    let outcome = source.search(&text, MAX_HITS, ask).await;
    let outcome = outcome.map(|hits| hits.into_iter().take(MAX_HITS).collect());
    (source.id().clone(), outcome)
}

fn public_name(snapshot: &Snapshot, id: &SourceId, hit: &LiveHit) -> PublicUri {
    let renamed = snapshot.public_name(id, hit.uri.as_str());
    renamed.unwrap_or_else(|| PublicUri::new(hit.uri.shared()))
}

/// A hit as a result, not weighed yet.
fn result(source: SourceId, public: PublicUri, hit: LiveHit) -> Hit {
    let LiveHit { uri, name, title, description, mime, modified, snippet } = hit;
    Hit {
        key: Key { source, local: uri },
        public,
        name,
        title,
        description: description.or_else(|| snippet.clone()),
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
