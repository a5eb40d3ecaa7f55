//! Admission: the owner of what is named, if the rules let the caller know of it.
//!
//! Right after a first start servers have not been listed: their first moments are waited for.
//! No server is asked for a name whose values are empty or malformed. Many servers answer such a
//! name with anything, e.g. `note://` with the first note. A URI that only misses literal text of
//! a template may be a resource that its server does not list, and is asked for.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use super::{AskError, Gateway, Named};
use crate::{
    access::Standing,
    caller::Caller,
    catalogue::{MAX_ATTEMPTS, MAX_MATCHED_BYTES, Route, RouteError, RoutedBy, Snapshot, naming},
    content::meant_uri,
    json::{Json, Object},
    source::{Outage, Source, SourceError},
    status::SourceStatus,
    template::{Bindings, Fit, UriTemplate, VariableRule},
    uri::{PublicUri, scheme},
};

/// A name that was let in: the way to what it names, and the Snapshot that answers for it.
pub(super) struct Admitted {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) route: Route,
}

impl Gateway {
    /// The way to what `uri` names, once that can be known. `found_in` is the Snapshot in which
    /// the caller looked the name up.
    pub(super) async fn admitted(
        &self,
        caller: &Caller,
        uri: &PublicUri,
        found_in: Option<Arc<Snapshot>>,
    ) -> Result<Admitted, AskError> {
        let find = |snapshot: &Snapshot| self.admit(caller, snapshot, uri);
        let (snapshot, route) = self.once_known(Some(uri.as_str()), found_in, find).await;
        match route {
            Ok(route) => Ok(Admitted { snapshot, route }),
            Err(error) => Err(self.as_if_absent(caller, &snapshot, uri, error).await),
        }
    }

    /// The way to the target of `uri`, if the caller may go it. A target hidden from the caller is
    /// not there.
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
        match refusal(snapshot, &route) {
            Some(what) => Err(AskError::BadArguments { what }),
            None => Ok(route),
        }
    }

    /// Refuses a name that is longer than any that is served.
    fn fitting(&self, uri: &PublicUri) -> Result<(), RouteError> {
        let limit = self.limits.uri_bytes;
        if uri.as_str().len() > limit { Err(RouteError::TooLong { limit }) } else { Ok(()) }
    }

    pub(super) fn judge(
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
    pub(super) fn has_secrets(&self, caller: &Caller, snapshot: &Snapshot, route: &Route) -> bool {
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

    /// Finds the owner of the `ref` among arguments and puts the owner's name there.
    pub(super) fn localise_reference(
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

/// How long after it was added a server is waited for, when a client asks for a name that no server
/// has.
const FIRST_MOMENTS: Duration = Duration::from_secs(3);
/// How often it is looked whether the name is known by now.
const LOOK: Duration = Duration::from_millis(20);

impl Gateway {
    /// Looks for a name in the given Snapshot, else in the current one, and returns both. A server
    /// that is listed for the first time may have it; only its first moments are waited for. For a
    /// name of ours there is no wait: a delay would tell of an entry that is hidden.
    pub(super) async fn once_known<T>(
        &self,
        name: Option<&str>,
        found_in: Option<Arc<Snapshot>>,
        find: impl Fn(&Snapshot) -> Result<T, AskError>,
    ) -> (Arc<Snapshot>, Result<T, AskError>) {
        let snapshot = match found_in {
            Some(snapshot) => snapshot,
            None => self.snapshot().await,
        };
        let found = find(&snapshot);
        if !found.as_ref().is_err_and(AskError::is_unknown_name) {
            return (snapshot, found);
        }
        loop {
            // Asked first: a server that is listed by now has its list in the Snapshot.
            let is_worth_waiting = self.board.any(is_arriving);
            let snapshot = self.current();
            let found = find(&snapshot);
            let is_ours = |name| snapshot.route(name).is_ok_and(|route| route.source.is_builtin());
            match found {
                Err(error)
                    if error.is_unknown_name()
                        && is_worth_waiting
                        && !name.is_some_and(is_ours) =>
                {
                    tokio::time::sleep(LOOK).await;
                }
                Err(error) => {
                    let error = self.with_hope(&snapshot, error);
                    return (snapshot, Err(error));
                }
                found => return (snapshot, found),
            }
        }
    }

    /// The failure of a server that is configured and not in use, if the name says it is meant.
    pub(super) fn not_in_use(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        uri: &PublicUri,
    ) -> Option<AskError> {
        let (source_id, local) = naming::split_qualified(uri.as_str())?;
        if snapshot.member(&source_id).is_some() {
            return None;
        }
        let status = self.board.of(&source_id)?;
        let rules = self.rules();
        let named = Named::given(snapshot, &source_id, local.as_str());
        if rules.standing(caller, named).0 == Standing::Hidden {
            return None;
        }
        let state = status.state.as_str();
        let outage = status.last_error.unwrap_or_else(|| Outage::passing(state));
        let error = SourceError::Unavailable(outage);
        Some(AskError::Source { source_id, uri: Some(uri.clone()), error })
    }

    /// Whether some server has not said yet what it has.
    pub(crate) fn awaits_lists(&self) -> bool {
        self.board.any(SourceStatus::is_unlisted)
    }

    /// Says that the name may become known, where that is so, else whether its scheme is used at
    /// all. Where rules hide something no scheme is called unused: it may be that of a hidden
    /// entry.
    fn with_hope(&self, snapshot: &Snapshot, error: AskError) -> AskError {
        let AskError::NotFound { uri, .. } = error else { return error };
        let awaits_lists = self.awaits_lists();
        let is_open = self.access().policy.is_empty();
        let is_foreign = is_open && !awaits_lists && !snapshot.uses_scheme_of(uri.as_str());
        AskError::NotFound { uri, is_foreign, awaits_lists }
    }
}

fn is_arriving(status: &SourceStatus) -> bool {
    status.is_unlisted() && status.since.elapsed() < FIRST_MOMENTS
}

/// The fault of a template that was copied as it is, and whose variables Trove cannot read.
const UNREADABLE: &str = "is a template whose braces Trove cannot read: they are not of RFC 6570";
/// A value of one byte that every template takes.
const PROBE: &str = "x";

/// Why no server is asked for the URI behind a route, e.g. "`id` of note://{id} needs a value".
fn refusal(snapshot: &Snapshot, route: &Route) -> Option<String> {
    if route.by == RoutedBy::Listing || route.source.is_builtin() {
        return None;
    }
    let (id, local) = (route.source.id(), route.local.as_str());
    // Only values that the URI names can be empty where a template fits.
    if route.by == RoutedBy::Template && !local.contains('=') {
        return None;
    }
    if snapshot.listed(id, local).is_some() {
        return None;
    }
    if local.len() > MAX_MATCHED_BYTES {
        return malformed(local);
    }
    if let Some((entry, values)) = snapshot.template_of(id, local) {
        let (_, empty) = values.without_empty(local);
        let name = empty.first()?;
        return Some(format!("`{name}` of {} needs a value", entry.public));
    }
    let mut near = Vec::new();
    for entry in snapshot.templates() {
        if snapshot.owner(entry.member).id() != id {
            continue;
        }
        let Some(compiled) = &entry.template.compiled else {
            if entry.template.text.as_str() == local {
                return Some(format!("{} {UNREADABLE}", entry.public));
            }
            continue;
        };
        let prefix = compiled.literal_prefix();
        if prefix.contains(':') && local.starts_with(prefix) {
            near.push((entry, compiled));
        }
    }
    near.sort_by_key(|(_, compiled)| Reverse(compiled.literal_prefix().len()));
    for (entry, compiled) in near.into_iter().take(MAX_ATTEMPTS) {
        if let Some((name, why)) = wrong(compiled, local) {
            return Some(format!("`{name}` of {} {why}", entry.public));
        }
    }
    malformed(local)
}

/// Why no resource can have this name, if none can.
fn malformed(local: &str) -> Option<String> {
    // Names with blanks are usual; braces tell that a template was not filled.
    let is_odd = |c: &char| c.is_ascii_control() || matches!(c, '{' | '}');
    if let Some(odd) = local.chars().find(is_odd) {
        return Some(format!(
            "no URI holds {odd:?}; percent-encode it, or fill in what stands for a value"
        ));
    }
    let (scheme, rest) = local.split_once(':')?;
    let is_empty = rest.is_empty() || rest == "//";
    is_empty.then(|| format!("nothing stands behind `{scheme}:` in the URI"))
}

/// A variable whose value is empty or malformed, and how.
fn wrong(template: &UriTemplate, local: &str) -> Option<(String, String)> {
    if local == template.literal_prefix() {
        return Some((template.variables().next()?.to_owned(), "needs a value".to_owned()));
    }
    match template.fit(local) {
        Fit::MissingVariable { names, given }
            if is_empty(template, local, &names, given.clone()) =>
        {
            Some((names.first()?.clone(), "needs a value".to_owned()))
        }
        Fit::InvalidVariable { name, rule } if is_malformed(rule, local) => {
            Some((name, rule.to_string()))
        }
        _ => None,
    }
}

/// Whether the URI is the whole template with nothing in the places of `names`.
fn is_empty(template: &UriTemplate, local: &str, names: &[String], given: Bindings) -> bool {
    let mut values = given;
    for name in names {
        values.bind(name.clone(), PROBE.to_owned());
    }
    let whole = template.expand(&values);
    whole.is_ok_and(|whole| whole.len() == local.len() + names.len() * PROBE.len())
}

/// Whether a value breaks its rule in a way that no server can mean: a server may take characters
/// that its template does not, such as a slash.
fn is_malformed(rule: VariableRule, local: &str) -> bool {
    match rule {
        VariableRule::Filled
        | VariableRule::Escape
        | VariableRule::NoParentSegment
        | VariableRule::AtMost(_) => true,
        VariableRule::Simple | VariableRule::Reserved => local.chars().any(is_in_no_uri),
        VariableRule::SameEverywhere | VariableRule::GivenOnce | VariableRule::KnownName => false,
    }
}

fn is_in_no_uri(c: char) -> bool {
    c.is_ascii_control() || " \"<>\\^`{|}".contains(c)
}
