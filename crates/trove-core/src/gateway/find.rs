//! Finding resources: by word, by meaning, or all of them by rank.

use std::{sync::Arc, time::SystemTime};

use super::{Gateway, Named, Rules};
use crate::{
    access::Standing,
    caller::Caller,
    catalogue::Snapshot,
    failure::Class,
    knowledge::Picks,
    search::{Coverage, EntryRef, Hits, Query, QueryError, Seen, Sight},
    source::SourceId,
    status::State,
    uri::PublicUri,
};

/// The results of a search, and the gaps in them.
#[derive(Default)]
pub struct Found {
    pub hits: Hits,
    /// The Sources that were looked through, by id.
    pub searched: Vec<SourceId>,
    /// The Sources that do not answer now, with the reason; their last lists are still searched.
    pub down: Vec<(SourceId, String)>,
    /// Those of them that are still being started or listed for the first time.
    pub starting: Vec<SourceId>,
    /// The Sources whose own search gave no answer, with the reason.
    pub silent: Vec<(SourceId, String)>,
}

/// Why nothing could be looked for.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The question is wrong.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The index takes long to open.
    #[error("the search index is still being opened")]
    Opening,
    /// There is no index.
    #[error("this gateway has no search index; see `search` in config://server")]
    NoIndex,
}

impl FindError {
    /// The class of failure it is told as.
    pub(super) fn class(&self) -> Class {
        match self {
            FindError::Query(QueryError::Index { .. })
            | FindError::Opening
            | FindError::NoIndex => Class::ResourceExecutionError,
            FindError::Query(_) => Class::InvalidArguments,
        }
    }
}

impl Gateway {
    /// Looks for resources in the index, among those the caller may read.
    pub(super) async fn look_for(
        &self,
        caller: &Caller,
        mut query: Query,
    ) -> Result<Found, FindError> {
        let search = self.index.opened().await?.clone();
        self.demand.note();
        self.catalogue.want();
        query.now = seconds(SystemTime::now());
        let snapshot = self.current();
        let own = own_sources(&snapshot);
        query.come_last.clone_from(&own);
        let wanted = query.sources.clone();
        let sight = self.sight_in(snapshot.clone(), caller);
        let work = tokio::task::spawn_blocking(move || search.find(&query, &sight));
        let mut hits =
            work.await.unwrap_or_else(|_| Err(QueryError::Index { why: "it broke off".into() }))?;
        date_listed(&snapshot, &mut hits);
        // Stable: only near misses that tell of the gateway itself give way to all others.
        hits.hits.sort_by_key(|hit| hit.is_near_miss && own.contains(&hit.key.source));
        let is_wanted = |id: &SourceId| wanted.is_empty() || wanted.contains(id);
        let down: Vec<(SourceId, String)> =
            self.down(caller).into_iter().filter(|(id, _)| is_wanted(id)).collect();
        let starting: Vec<SourceId> = self.starting().into_iter().filter(is_wanted).collect();
        let is_away = |id: &SourceId| starting.contains(id) || down.iter().any(|(it, _)| it == id);
        let mut searched = Vec::new();
        for member in snapshot.members() {
            let id = member.source.id();
            // Of a server that is away, what it listed before can be searched, if it did.
            let has_any = !is_away(id) || !member.listing.resources.is_empty();
            if is_wanted(id) && has_any {
                searched.push(id.clone());
            }
        }
        Ok(Found { hits, searched, down, starting, silent: Vec::new() })
    }

    /// The resources that an unknown name may have meant, by its words and their meaning; only
    /// those that the caller may read. The search is not recorded.
    pub async fn alike(&self, caller: &Caller, name: &str, limit: usize) -> Vec<PublicUri> {
        let Some(search) = self.search().cloned() else { return Vec::new() };
        let words: Vec<&str> =
            name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let query = Query { max_results: limit, ..Query::text(words.join(" ")) };
        let sight = self.sight(caller);
        let work = tokio::task::spawn_blocking(move || search.find(&query, &sight));
        let hits = work.await.ok().and_then(Result::ok).unwrap_or_default();
        hits.hits.into_iter().map(|hit| hit.public).collect()
    }

    /// How much of what the caller may read is indexed.
    pub fn coverage(&self, caller: &Caller) -> Option<Coverage> {
        self.search().map(|search| search.coverage(&self.sight(caller)))
    }

    /// The resources that were read most, of those the caller may read, and how often.
    pub fn most_read(&self, caller: &Caller, limit: usize) -> Vec<(PublicUri, u64)> {
        let search = self.search();
        search.map(|search| search.most_used(limit, &self.sight(caller))).unwrap_or_default()
    }

    fn sight(&self, caller: &Caller) -> CallerSight {
        self.sight_in(self.current(), caller)
    }

    fn sight_in(&self, snapshot: Arc<Snapshot>, caller: &Caller) -> CallerSight {
        CallerSight {
            rules: self.rules(),
            snapshot,
            caller: caller.clone(),
            scope: caller.scope(),
            picks: self.picks_of(caller),
        }
    }

    /// The Sources that are still being started or listed, so that asking again may give more.
    pub(crate) fn starting(&self) -> Vec<SourceId> {
        let all = self.board.all().into_iter();
        all.filter(|(_, status)| !status.is_settled()).map(|(id, _)| id).collect()
    }

    /// The Sources that do not answer now, and why, as far as the caller may know.
    pub(crate) fn down(&self, caller: &Caller) -> Vec<(SourceId, String)> {
        let is_told = !self.access().withholds_causes_from(caller);
        let all = self.board.all().into_iter();
        let down = all.filter(|(_, s)| s.state != State::Ready || s.stale_since.is_some());
        down.map(|(id, s)| {
            let state = match s.state {
                State::Ready => "its list is still being read",
                other => other.as_str(),
            };
            let why = s.last_error.filter(|_| is_told);
            (id, why.map_or_else(|| state.to_owned(), |why| why.to_string()))
        })
        .collect()
    }
}

/// The Sources that tell of the gateway itself: no client looks for them first.
fn own_sources(snapshot: &Snapshot) -> Vec<SourceId> {
    let sources = snapshot.members().iter().map(|member| &member.source);
    let own = sources.filter(|source| source.is_builtin() && *source.id() != SourceId::guide());
    own.map(|source| source.id().clone()).collect()
}

/// Says of hits without a text when they were listed.
fn date_listed(snapshot: &Snapshot, hits: &mut Hits) {
    for hit in hits.hits.iter_mut().filter(|hit| hit.as_of.is_none()) {
        let listed_at = snapshot.member(&hit.key.source).and_then(|it| it.age.listed_at());
        hit.as_of = listed_at.map(seconds);
    }
}

/// A moment in seconds since 1970.
pub(super) fn seconds(moment: SystemTime) -> i64 {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Lets a caller find exactly the entries that he may read.
struct CallerSight {
    rules: Arc<Rules>,
    /// The current lists: entries that only the index still has are not found.
    snapshot: Arc<Snapshot>,
    caller: Caller,
    scope: Arc<str>,
    /// The part of the guide that his project picks.
    picks: Option<Picks>,
}

impl Sight for CallerSight {
    fn owner(&self) -> Option<&str> {
        Some(&self.scope)
    }

    fn of_source(&self, source: &SourceId) -> Seen {
        if self.snapshot.member(source).is_none() {
            return Seen::Nothing;
        }
        let is_picked = self.picks.is_some() && *source == SourceId::guide();
        if self.rules.access().policy.is_empty() && !is_picked { Seen::All } else { Seen::Some }
    }

    fn sees(&self, entry: EntryRef<'_>) -> bool {
        let is_guide = *entry.source == SourceId::guide();
        if is_guide
            && self.picks.as_ref().is_some_and(|picks| !self.rules.is_picked(picks, entry.local))
        {
            return false;
        }
        let (standing, _) =
            self.rules.standing(&self.caller, Named::listed(entry.source, entry.local));
        standing == Standing::Open
    }
}
