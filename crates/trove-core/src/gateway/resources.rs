//! Lists, reading, completion and watching.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use tracing::debug;

use super::{AskError, Gateway, Named, View, absence::reported_as_text, settle::Asked, unfit};
use crate::{
    access::Standing,
    cache::Cached,
    caller::Caller,
    catalogue::{List, Page, Route, RouteError, RoutedBy, Snapshot, naming, rewrite},
    changes::Reader,
    content::meant_uri,
    json::{Json, Object},
    search::Key,
    source::{Ask, Operation, Reply, Source, SourceError, SourceId},
    uri::{LocalUri, PublicUri, scheme},
};

/// What a read gave, and where it came from.
pub struct Reading {
    /// The result object, names made public.
    pub reply: Reply,
    /// Who owns it.
    pub source: SourceId,
    /// What the owner calls it.
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
}

/// A page of a list, with the Snapshot it was cut from.
pub struct ListAnswer {
    /// The page.
    pub page: Page,
    /// The Snapshot, for freshness and staleness.
    pub snapshot: Arc<Snapshot>,
}

/// What no client could make anything of.
const NO_CONTENTS: &str = "its answer to a read has no `contents`";

/// The way to what `uri` names: as it is listed, or as lists of ours show a name with controls.
fn route_as_shown(snapshot: &Snapshot, uri: &str) -> Result<Route, RouteError> {
    let route = snapshot.route(uri);
    let is_listed =
        |route: &Result<Route, _>| route.as_ref().is_ok_and(|r| r.by == RoutedBy::Listing);
    if is_listed(&route) {
        return route;
    }
    let meant = meant_uri(uri).map(|meant| snapshot.route(&meant));
    meant.filter(is_listed).unwrap_or(route)
}

/// What is watched: the owner and its name for it.
pub type Watched = (SourceId, LocalUri);

impl Gateway {
    /// A page of one of the lists, all Sources together.
    pub async fn list(
        &self,
        caller: &Caller,
        list: List,
        cursor: Option<&str>,
    ) -> Result<ListAnswer, AskError> {
        let asked = Asked::new(caller, "list", list.as_str());
        if cursor.is_none_or(str::is_empty) {
            self.catalogue.renewed().await;
        }
        let view = self.view(caller).await;
        let cursor = cursor.filter(|cursor| !cursor.is_empty()).map(|cursor| list.place_in(cursor));
        let page = cursor.transpose().and_then(|place| view.page(list, place));
        let page = page.map(|page| Page { next: page.next.map(|at| list.cursor_to(&at)), ..page });
        let page = page.map_err(AskError::from);
        self.settle_end(&asked, &page);
        Ok(ListAnswer { page: page?, snapshot: view.snapshot().clone() })
    }

    /// Has old lists read again, and waits for them a moment.
    pub(crate) async fn look_again(&self) {
        self.catalogue.renewed().await;
    }

    /// The whole of what a caller sees, for a door that shows it in a form of its own.
    pub async fn browse(&self, caller: &Caller) -> Arc<View> {
        let asked = Asked::new(caller, "list", List::Resources.as_str());
        self.catalogue.renewed().await;
        let view = self.view(caller).await;
        self.settle_end(&asked, &Ok::<(), AskError>(()));
        view
    }

    /// Reads one resource: the result object as its Source wrote it, names made public.
    pub async fn read(
        &self,
        caller: &Caller,
        uri: &PublicUri,
        ask: Ask,
    ) -> Result<Reading, AskError> {
        let asked = Asked::new(caller, "read", uri.as_str());
        let result = self.read_admitted(caller, uri, ask).await;
        if let (Ok(reading), Some(search)) = (&result, self.search()) {
            let (source, local) = (reading.source.clone(), reading.local.clone());
            search.note_use(&Key { source, local });
        }
        self.settle_read(&asked, &result);
        result
    }

    async fn read_admitted(
        &self,
        caller: &Caller,
        uri: &PublicUri,
        mut ask: Ask,
    ) -> Result<Reading, AskError> {
        let (snapshot, mut route) = self.admitted(caller, uri).await?;
        // Whoever watches the index grow, in our health, must not hold it up.
        if !route.source.is_builtin() {
            self.demand.note();
        }
        ask.caller = caller.clone();
        ask.visible = self.visible(caller, route.source.id());
        let is_alone = ask.answers.is_some();
        let again = route.source.is_builtin().then(|| ask.clone());
        let mut passer = self.passer(caller, &route, is_alone);
        let mut answer = self.fetch(caller, &route, ask).await;
        if let (Err(error), Some(mut ask)) = (&answer, again)
            && error.means_absence_of(route.local.as_str())
            && let Some(other) = snapshot.route_elsewhere(uri.as_str())
        {
            // It is under a scheme of ours, but not ours.
            route = self.judge(caller, &snapshot, uri, other)?;
            ask.visible = self.visible(caller, route.source.id());
            passer = self.passer(caller, &route, is_alone);
            answer = self.fetch(caller, &route, ask).await;
        }
        if let Some(passer) = passer {
            self.pass(passer, &route, &answer);
        }
        let source = route.source.id().clone();
        self.views.refusals.note(&source, &route.local, answer.as_ref().err());
        let answer = answer.map_err(|error| {
            let has_words = matches!(error, SourceError::Refused { .. } | SourceError::NotFound);
            if has_words && self.has_secrets(caller, &snapshot, &route) {
                debug!(%source, "what a server says of a name is kept from who may not see all");
                return AskError::not_found(uri);
            }
            AskError::Source { source_id: source.clone(), uri: Some(uri.clone()), error }
        })?;
        let Cached { reply, fetched_at, age, hit, stale } = answer;
        let given = match route.source.is_builtin() {
            true => reply.body.clone(),
            false => self.readable(caller, &source, &reply.body),
        };
        let body = match rewrite::contents(&snapshot, &source, &given) {
            Some(body) => body,
            None if reply.needs_input => reply.body.clone(),
            None => {
                let error = SourceError::Malformed { what: NO_CONTENTS.to_owned() };
                return Err(AskError::Source { source_id: source, uri: Some(uri.clone()), error });
            }
        };
        let reply = Reply { body, ..reply };
        let (local, by) = (route.local.clone(), route.by);
        let reading = Reading { reply, source, local, by, fetched_at, age, hit, stale };
        let is_absent = reported_as_text(&snapshot, &reading).is_some();
        if is_absent && self.has_secrets(caller, &snapshot, &route) {
            return Err(AskError::not_found(uri));
        }
        Ok(reading)
    }

    /// Whether a read of this would give contents. Nothing is recorded of it.
    pub(crate) async fn is_there(&self, caller: &Caller, uri: &PublicUri) -> bool {
        match self.read_admitted(caller, uri, Ask::default()).await {
            Ok(reading) => reported_as_text(&self.current(), &reading).is_none(),
            Err(_) => false,
        }
    }

    /// Offers values for an argument of a template or prompt.
    pub async fn complete(
        &self,
        caller: &Caller,
        arguments: &Json,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let reference = arguments.get("ref");
        let member = |key: &str| reference.as_ref().and_then(|reference| reference.get_str(key));
        let target = member("uri").or_else(|| member("name")).unwrap_or_default();
        let asked = Asked::new(caller, "complete", &target);
        let result = self.complete_admitted(caller, arguments, ask).await;
        self.settle(&asked, &result);
        result
    }

    async fn complete_admitted(
        &self,
        caller: &Caller,
        arguments: &Json,
        mut ask: Ask,
    ) -> Result<Reply, AskError> {
        let find = |snapshot: &Snapshot| self.localise_reference(caller, snapshot, arguments);
        let (source, arguments) = self.once_known(None, find).await.1?;
        ask.caller = caller.clone();
        ask.visible = self.visible(caller, source.id());
        let operation = Operation::Complete { arguments: arguments.clone() };
        let reply = perform(&source, None, operation, ask).await?;
        Ok(self.without_hidden_values(caller, source.id(), &arguments, reply))
    }

    /// The way to what `uri` names, once that can be known, and the Snapshot it is in.
    async fn admitted(
        &self,
        caller: &Caller,
        uri: &PublicUri,
    ) -> Result<(Arc<Snapshot>, Route), AskError> {
        let find = |snapshot: &Snapshot| self.admit(caller, snapshot, uri);
        let (snapshot, route) = self.once_known(Some(uri.as_str()), find).await;
        match route {
            Ok(route) => Ok((snapshot, route)),
            Err(error) => Err(self.as_if_absent(caller, &snapshot, uri, error).await),
        }
    }

    /// The way to what `uri` names, if the caller may go it. What is hidden from the
    /// caller is not there.
    pub(super) fn admit(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        uri: &PublicUri,
    ) -> Result<Route, AskError> {
        let route = self.fitting(uri).and_then(|()| route_as_shown(snapshot, uri.as_str()));
        let route = match route {
            Err(RouteError::Unknown) => {
                snapshot.route_elsewhere(uri.as_str()).unwrap_or(Err(RouteError::Unknown))
            }
            route => route,
        };
        let route = self.judge(caller, snapshot, uri, route)?;
        match unfit::refusal(snapshot, &route) {
            Some(what) => Err(AskError::BadArguments { what }),
            None => Ok(route),
        }
    }

    /// Refuses a name that is longer than any that is served.
    fn fitting(&self, uri: &PublicUri) -> Result<(), RouteError> {
        let limit = self.limits.uri_bytes;
        if uri.as_str().len() > limit { Err(RouteError::TooLong { limit }) } else { Ok(()) }
    }

    fn judge(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        uri: &PublicUri,
        route: Result<Route, RouteError>,
    ) -> Result<Route, AskError> {
        let judged = self.judge_known(caller, snapshot, uri, route);
        match judged {
            Err(AskError::NotFound { .. }) => Err(self
                .not_in_use(caller, snapshot, uri)
                .unwrap_or_else(|| AskError::not_found(uri))),
            other => other,
        }
    }

    fn judge_known(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        uri: &PublicUri,
        route: Result<Route, RouteError>,
    ) -> Result<Route, AskError> {
        let rules = self.rules();
        if rules.access().policy.is_empty() {
            return route.map_err(|error| AskError::route(uri, error));
        }
        let route = match route {
            Err(RouteError::Ambiguous { candidates }) => self.choose(caller, snapshot, candidates),
            other => other,
        };
        let route = route.map_err(|error| AskError::route(uri, error))?;
        match rules
            .standing(caller, Named::given(snapshot, route.source.id(), route.local.as_str()))
        {
            (Standing::Open, _) => Ok(route),
            (Standing::Shown, rule) => Err(AskError::Forbidden {
                uri: uri.clone(),
                roles: rule.map(|rule| rule.roles.clone()).unwrap_or_default(),
            }),
            (Standing::Hidden, _) => Err(AskError::not_found(uri)),
        }
    }

    /// Whether the owner's own words, that nothing is there, would tell this name from one of its
    /// scheme that is hidden: of what is hidden the owner is never asked.
    fn has_secrets(&self, caller: &Caller, snapshot: &Snapshot, route: &Route) -> bool {
        let (id, local) = (route.source.id(), route.local.as_str());
        if route.source.is_builtin() || snapshot.listed(id, local).is_some() {
            return false;
        }
        let rules = self.rules();
        let standings = rules.access().standings(caller);
        let start = scheme(local).map_or_else(String::new, |scheme| format!("{scheme}:"));
        let mut near = rules.access().policy.beginning(id.as_str(), &start);
        near.any(|n| standings[n] == Standing::Hidden)
    }

    /// Among several owners only those count that the caller may know of.
    fn choose(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        mut candidates: Vec<PublicUri>,
    ) -> Result<Route, RouteError> {
        let rules = self.rules();
        candidates.retain(|candidate| {
            naming::split_qualified(candidate.as_str()).is_some_and(|(id, local)| {
                rules.standing(caller, Named::given(snapshot, &id, local.as_str())).0
                    != Standing::Hidden
            })
        });
        match &candidates[..] {
            [] => Err(RouteError::Unknown),
            [one] => snapshot.route(one.as_str()),
            _ => Err(RouteError::Ambiguous { candidates }),
        }
    }

    /// Begins to report changes of a resource as [`crate::catalogue::Change::Updated`].
    /// Each success must be followed by one [`Gateway::unwatch`].
    pub async fn watch(&self, caller: &Caller, uri: &PublicUri) -> Result<Watched, AskError> {
        let asked = Asked::new(caller, "subscribe", uri.as_str());
        let result = self.watch_admitted(caller, uri).await;
        self.settle_end(&asked, &result);
        result
    }

    /// Refuses to watch anything more for a client that watches `limit` resources already.
    pub fn refuse_watch(&self, caller: &Caller, uri: &PublicUri, limit: usize) -> AskError {
        let refused = Err::<(), _>(AskError::TooManyWatches { limit });
        self.settle_end(&Asked::new(caller, "subscribe", uri.as_str()), &refused);
        AskError::TooManyWatches { limit }
    }

    /// Ends what a client asked to be told of; nothing if it never did.
    pub fn unsubscribe(&self, caller: &Caller, uri: &PublicUri, watched: Option<&Watched>) {
        let asked = Asked::new(caller, "unsubscribe", uri.as_str());
        let result = match watched {
            Some(watched) => {
                self.unwatch(watched);
                Ok(())
            }
            None => Err(AskError::not_found(uri)),
        };
        self.settle_end(&asked, &result);
    }

    /// Changes from now on, for a client that asked to be told of them.
    pub fn listen(&self, caller: &Caller) -> Reader {
        self.settle_end(&Asked::new(caller, "listen", ""), &Ok::<(), AskError>(()));
        self.changes()
    }

    async fn watch_admitted(&self, caller: &Caller, uri: &PublicUri) -> Result<Watched, AskError> {
        let (snapshot, route) = self.admitted(caller, uri).await?;
        self.check_there(caller, uri, &route).await?;
        if self.has_secrets(caller, &snapshot, &route) {
            // Many a server promises to report on any name, and so would tell an absent one
            // from a hidden one.
            let _place = self.watches.place(route.source.id()).await;
            self.read_admitted(caller, uri, Ask::default()).await?;
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

    /// Finds the owner of the `ref` among arguments and puts the owner's name there.
    fn localise_reference(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        arguments: &Json,
    ) -> Result<(Arc<dyn Source>, Json), AskError> {
        let bad = |what: &str| AskError::BadArguments { what: what.to_owned() };
        let mut object = arguments.object().ok_or_else(|| bad("params must be an object"))?;
        let reference = object.get("ref").and_then(Object::parse);
        let mut reference = reference.ok_or_else(|| bad("`ref` is missing"))?;
        AskError::check_once(&object, &["ref"])?;
        AskError::check_once(&reference, &["type", "uri", "name"])?;
        let member = |key: &str| reference.get_str(key).map(|text| text.into_owned());
        let source = match member("type").as_deref() {
            Some("ref/resource") => {
                let uri = PublicUri::new(member("uri").ok_or_else(|| bad("`ref.uri` is missing"))?);
                let route = self.fitting(&uri).and_then(|()| snapshot.route_template(uri.as_str()));
                let route = self.judge(caller, snapshot, &uri, route)?;
                reference.set_str("uri", route.local.as_str());
                route.source
            }
            Some("ref/prompt") => {
                let name = member("name").ok_or_else(|| bad("`ref.name` is missing"))?;
                let Some((source, local)) = snapshot.route_prompt(&name) else {
                    return Err(AskError::UnknownName { what: "prompt", name });
                };
                reference.set_str("name", local);
                source.clone()
            }
            Some(_) | None => return Err(bad("`ref.type` must be ref/resource or ref/prompt")),
        };
        let reference = reference.to_text();
        object.set("ref", reference);
        Ok((source, object.to_json()))
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
