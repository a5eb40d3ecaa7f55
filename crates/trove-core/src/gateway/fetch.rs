//! Fetching: the answer behind a name, from the cache or from its Source, made public.
//!
//! One answer of a Source is kept where that is allowed. A success may be none: the third way to
//! say "not found" is a text that is an error. The others are told by [`crate::source::meaning`].

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use tracing::debug;

use super::{AskError, Gateway, Limits, Purpose, Read, View, admit::Admitted};
use crate::{
    cache::{Audience, Cached, Config, Key, Policy},
    caller::Caller,
    catalogue::{List, Page, Route, RoutedBy, Snapshot, rewrite},
    json::{Object, items},
    metrics::{Ending, Metrics},
    search,
    source::{Ask, Operation, Reply, Source, SourceError, SourceId, meaning::says_not_found},
    uri::{LocalUri, PublicUri},
};

/// The answer to a read, and its origin.
pub struct Reading {
    /// The result object, names made public.
    pub reply: Reply,
    pub source: SourceId,
    /// The owner's name for it.
    pub local: LocalUri,
    /// How the name was understood.
    pub by: RoutedBy,
    /// When the Source gave it.
    pub fetched_at: SystemTime,
    /// How long ago that was.
    pub age: Duration,
    /// It was kept from an earlier read.
    pub hit: bool,
    /// It is older than it may be, given because the Source failed.
    pub stale: bool,
    /// The error that the text says, where a success is none.
    pub absence: Option<String>,
    /// The Snapshot that answered.
    pub snapshot: Arc<Snapshot>,
}

/// A page of a list, with the Snapshot it was cut from.
pub struct ListAnswer {
    pub page: Page,
    /// The Snapshot, for freshness and staleness.
    pub snapshot: Arc<Snapshot>,
}

/// The fault of an answer that no client could use.
const NO_CONTENTS: &str = "its answer to a read has no `contents`";

impl Gateway {
    /// A page of one of the lists, all Sources together.
    pub(super) async fn page_of(
        &self,
        caller: &Caller,
        list: List,
        cursor: Option<&str>,
    ) -> Result<ListAnswer, AskError> {
        let cursor = cursor.filter(|cursor| !cursor.is_empty());
        let view = match cursor {
            Some(_) => self.view(caller).await,
            None => self.renewed_view(caller).await,
        };
        let place = match cursor {
            Some(cursor) => Some(list.place_in(cursor)?),
            None => None,
        };
        let mut page = view.page(list, place)?;
        page.next = page.next.map(|next| list.cursor_to(&next));
        Ok(ListAnswer { page, snapshot: view.snapshot().clone() })
    }

    /// The caller's view once old lists were read again, or a moment was waited for them.
    pub(crate) async fn renewed_view(&self, caller: &Caller) -> Arc<View> {
        self.catalogue.renewed().await;
        self.view(caller).await
    }

    /// Reads one resource.
    pub(super) async fn fetch_reading(
        &self,
        caller: &Caller,
        read: Read,
    ) -> Result<Reading, AskError> {
        let Read { uri, ask, found_in, purpose } = read;
        let mut admitted = self.admitted(caller, &uri, found_in).await?;
        // A client that watches the index grow, in our health, must not hold it up.
        if purpose == Purpose::Use && !admitted.route.source.is_builtin() {
            self.demand.note();
        }
        let is_for_index = matches!(purpose, Purpose::Index { .. });
        let may_be_elsewhere = admitted.route.source.is_builtin() && !is_for_index;
        let again = if may_be_elsewhere { Some(ask.clone()) } else { None };
        let mut answer = self.fetch_for(caller, &admitted, ask, purpose).await;
        if let (Err(error), Some(ask)) = (&answer, again)
            && error.means_absence_of(admitted.route.local.as_str())
            && let Some(other) = admitted.snapshot.route_elsewhere(uri.as_str())
        {
            // It is under a scheme of ours, but not ours.
            admitted.route = self.judge(caller, &admitted.snapshot, &uri, other)?;
            answer = self.fetch_for(caller, &admitted, ask, purpose).await;
        }
        let reading = self.made_public(caller, &uri, admitted, answer)?;
        if purpose == Purpose::Use
            && let Some(index) = self.search()
        {
            let (source, local) = (reading.source.clone(), reading.local.clone());
            index.note_use(&search::Key { source, local });
        }
        Ok(reading)
    }

    /// Fetches what a name leads to, and hands it to the index where that may want it.
    async fn fetch_for(
        &self,
        caller: &Caller,
        admitted: &Admitted,
        mut ask: Ask,
        purpose: Purpose,
    ) -> Result<Cached, SourceError> {
        let route = &admitted.route;
        ask.caller = caller.clone();
        ask.visible = self.visible(caller, route.source.id());
        if let Purpose::Index { .. } = purpose {
            return self.fetch(route, Wanted { ask, purpose }).await;
        }
        let passer = self.passer(caller, route, ask.answers.is_some());
        let answer = self.fetch(route, Wanted { ask, purpose }).await;
        if let Some(passer) = passer {
            self.pass(passer, route, &answer);
        }
        self.views.refusals.note(route.source.id(), &route.local, answer.as_ref().err());
        answer
    }

    /// The fetched answer, as far as the caller may read it and under names that clients know.
    fn made_public(
        &self,
        caller: &Caller,
        uri: &PublicUri,
        admitted: Admitted,
        answer: Result<Cached, SourceError>,
    ) -> Result<Reading, AskError> {
        let Admitted { snapshot, route } = admitted;
        let Route { source: owner, local, by } = &route;
        let source = owner.id().clone();
        let failed =
            |error| AskError::Source { source_id: source.clone(), uri: Some(uri.clone()), error };
        let Cached { reply, fetched_at, age, hit, stale } = match answer {
            Ok(answer) => answer,
            Err(SourceError::Refused { .. } | SourceError::Told { .. } | SourceError::NotFound)
                if self.has_secrets(caller, &snapshot, &route) =>
            {
                debug!(%source, "what a server says of a name is kept from who may not see all");
                return Err(AskError::not_found(uri));
            }
            Err(error) => return Err(failed(error)),
        };
        let given = if owner.is_builtin() {
            reply.body.clone()
        } else {
            let readable = self.readable(caller, &snapshot, &source, &reply.body);
            let Some(readable) = readable else {
                debug!(%source, "all contents of an answer are closed to the caller");
                return Err(AskError::not_found(uri));
            };
            readable
        };
        let body = match rewrite::contents(&snapshot, &source, &given) {
            Some(body) => body,
            None if reply.needs_input => reply.body.clone(),
            None => return Err(failed(SourceError::Malformed { what: NO_CONTENTS.to_owned() })),
        };
        let reply = Reply { body, ..reply };
        let (local, by) = (local.clone(), *by);
        let absence = None;
        let mut reading =
            Reading { reply, source, local, by, fetched_at, age, hit, stale, absence, snapshot };
        reading.absence = reported_as_text(&reading);
        if reading.absence.is_some() && self.has_secrets(caller, &reading.snapshot, &route) {
            return Err(AskError::not_found(uri));
        }
        Ok(reading)
    }

    /// Whether a read of this would give contents. Nothing is recorded of it.
    pub(crate) async fn is_there(&self, caller: &Caller, uri: &PublicUri) -> bool {
        let read = Read { purpose: Purpose::Check, ..Read::of(uri, Ask::default()) };
        self.read_as(caller, read).await.is_ok_and(|reading| reading.absence.is_none())
    }
}

/// Asks a Source; `uri` is what the caller asked for, if that is one resource.
pub(super) async fn perform(
    source: &Arc<dyn Source>,
    uri: Option<&PublicUri>,
    operation: Operation,
    ask: Ask,
) -> Result<Reply, AskError> {
    source.perform(operation, ask).await.map_err(|error| AskError::Source {
        source_id: source.id().clone(),
        uri: uri.cloned(),
        error,
    })
}

/// The most bytes of answers kept, of all Sources together and of one, unless configured.
pub const MAX_CACHE_BYTES: u64 = 64 * 1024 * 1024;
pub const MAX_CACHED_ANSWER: usize = 4 * 1024 * 1024;
/// How long an answer may stand in for a Source that fails.
const STALE_FOR: Duration = Duration::from_secs(3600);

/// The limits of the cache.
pub(super) fn config(limits: &Limits) -> Config {
    Config {
        max_bytes: limits.cache_bytes,
        max_entry_bytes: limits.cached_answer_bytes,
        stale_for: STALE_FOR,
        now: SystemTime::now,
    }
}

/// The Sources that have ever allowed an answer to be kept. The others are always asked: the answer
/// to one caller must not stand for another's a moment later.
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

/// A read on its way to the cache or to a Source.
pub(super) struct Wanted {
    pub(super) ask: Ask,
    pub(super) purpose: Purpose,
}

/// Asks a Source, and counts and times it.
async fn timed(
    metrics: &Metrics,
    source: &dyn Source,
    operation: Operation,
    ask: Ask,
) -> Result<Reply, SourceError> {
    let timer = metrics.sources.begin(source.id().as_str());
    let result = source.perform(operation, ask).await;
    timer.end(if result.is_ok() { Ending::Ok } else { Ending::Error });
    result
}

impl Gateway {
    /// Reads what a Route leads to: from the cache, else from its Source.
    pub(super) async fn fetch(&self, route: &Route, wanted: Wanted) -> Result<Cached, SourceError> {
        let Wanted { ask, purpose } = wanted;
        let id = route.source.id();
        let policy = self.cache_policy(&*route.source, &route.local);
        // An answer to what a Source asked belongs to one exchange alone, and so does what is
        // said on the way to one.
        let is_alone = ask.answers.is_some() || ask.notices.is_some();
        let may_keep = match purpose {
            Purpose::Use | Purpose::Check => !is_alone && self.may_keep(id, policy),
            // Our own answers differ by caller, and cost no message.
            Purpose::Index { .. } => !route.source.is_builtin(),
        };
        let audience = Audience::Only(ask.caller.scope());
        let operation = Operation::Read { uri: route.local.clone() };
        if !may_keep {
            let reply = timed(&self.metrics, &*route.source, operation, ask).await?;
            self.note_keeper(id, &reply);
            let fetched_at = SystemTime::now();
            return Ok(Cached { reply, fetched_at, age: Duration::ZERO, hit: false, stale: false });
        }
        let key = Key { source: id.clone(), uri: route.local.clone(), audience };
        let Purpose::Index { anew } = purpose else {
            let (source, metrics) = (route.source.clone(), self.metrics.clone());
            let fetch = move || async move { timed(&metrics, &*source, operation, ask).await };
            return self.cache.get_or_fetch(key, policy, fetch).await;
        };
        if !anew && let Some(kept) = self.cache.kept(&key, policy).await {
            return Ok(kept);
        }
        let fetch = async {
            let reply = timed(&self.metrics, &*route.source, operation, ask).await?;
            self.note_keeper(id, &reply);
            Ok(reply)
        };
        self.cache.fetch_anew(key, policy, fetch).await
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

/// The longest text that is taken for an error and not for a document.
const MAX_SAID: usize = 400;
/// How a sentence begins that says that something is missing.
const DENIALS: [&str; 6] =
    ["no ", "not found", "unknown ", "could not ", "cannot ", "there is no "];
/// How it goes on behind the kind of thing that is missing.
const LACKS: [&str; 2] = [" not found: ", " does not exist: "];
/// The shortest value without quotes by which such a text is known to speak of what was asked for.
const LEAST_VALUE: usize = 2;

/// The error that a success is in truth. Only a resource that is not listed is doubted: the text of
/// a listed one is data. Only a short line counts, and only if it denies the resource, e.g.
/// `Not found: docs`.
fn reported_as_text(reading: &Reading) -> Option<String> {
    let snapshot = &reading.snapshot;
    let body = &reading.reply.body;
    if reading.by == RoutedBy::Listing || body.as_bytes().len() > 4 * MAX_SAID {
        return None;
    }
    let local = reading.local.as_str();
    if snapshot.listed(&reading.source, local).is_some() {
        return None;
    }
    let contents = body.get("contents")?;
    let [one] = items(contents.as_str())?[..] else { return None };
    let content = Object::parse(one)?;
    let is_plain = content.get_str("mimeType").is_none_or(|mime| mime.starts_with("text/plain"));
    let text = content.get_str("text")?;
    let said = text.trim();
    if !is_plain || said.len() > MAX_SAID || said.contains('\n') {
        return None;
    }
    let lower = said.to_ascii_lowercase();
    let begins = ["error: resource not found", "resource not found", "unknown resource"];
    let is_plain_word = begins.iter().any(|words| lower.starts_with(words));
    let speaks_of_it = || {
        let values = snapshot.template_of(&reading.source, local).map(|(_, values)| values);
        let values: Vec<String> =
            values.iter().flat_map(|all| all.iter()).map(|(_, value)| value.to_string()).collect();
        said.contains(local) || values.iter().any(|value| names(said, value))
    };
    (says_not_found(said) && (is_plain_word || speaks_of_it())).then(|| said.to_owned())
}

/// Whether a sentence names a value: in quotes, e.g. `Category 'x' not found`, or at the end of a
/// denial, e.g. `Not found: docs`.
fn names(said: &str, value: &str) -> bool {
    let quoted = |quote: char| said.contains(&format!("{quote}{value}{quote}"));
    let lower = said.to_ascii_lowercase();
    let lower = lower.strip_prefix("error: ").unwrap_or(&lower);
    // `note not found: 5`, and nothing longer before it: a log has many words.
    let is_named_kind = || {
        let kind = LACKS.iter().find_map(|words| lower.split_once(words)).map(|(kind, _)| kind);
        kind.is_some_and(|kind| {
            let is_word = |word: &str| word.chars().all(char::is_alphabetic);
            kind.split_whitespace().count() <= 2 && kind.split_whitespace().all(is_word)
        })
    };
    let is_missing = || DENIALS.iter().any(|words| lower.starts_with(words)) || is_named_kind();
    let is_last = || said.trim_end_matches('.').ends_with(&format!(" {value}"));
    !value.is_empty() && ['\'', '"', '`'].into_iter().any(quoted)
        || value.len() >= LEAST_VALUE && is_missing() && is_last()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_sentence_names_what_it_quotes_or_denies() {
        for (said, value, is_it) in [
            ("Category 'x' not found", "x", true),
            ("Error: Note \"5\" not found", "5", true),
            ("No matching content found for docs.", "docs", true),
            ("Not found: docs", "docs", true),
            ("Category not found: docs", "docs", true),
            ("Error: User does not exist: bob", "bob", true),
            ("the file of users was not found: bob", "bob", false),
            ("2026-11-19 ERROR dependency does not exist: auth", "auth", false),
            ("The lost ark was not found", "found", false),
            ("404 not found is a common error", "error", false),
            ("Category '' not found", "", false),
        ] {
            assert_eq!(names(said, value), is_it, "{said}: {value}");
        }
    }
}
