//! From a public name to its owner.
//!
//! An exact name is one hash. A template is found by the literal text it begins with, so
//! that templates of other places cost nothing.

use std::{collections::HashMap, sync::Arc};

use super::{
    naming,
    snapshot::{Snapshot, TemplateEntry},
};
use crate::{
    source::{Source, SourceId},
    uri::{LocalUri, MAX_URI_BYTES, PublicUri, scheme},
};

/// The longest URI that is matched against templates, and the most templates tried for
/// one: together they bound what a hostile server's templates can cost.
pub const MAX_MATCHED_BYTES: usize = 4096;
/// See [`MAX_MATCHED_BYTES`].
pub const MAX_ATTEMPTS: usize = 64;
/// How far above a file of a skill its `SKILL.md` is sought.
const MAX_SKILL_DEPTH: usize = 32;

/// The Source and the name behind a PublicUri.
#[derive(Clone)]
pub struct Route {
    pub source: Arc<dyn Source>,
    /// The owner's name for it.
    pub local: LocalUri,
    /// How the name was understood.
    pub by: RoutedBy,
}

/// How a name was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutedBy {
    /// It is listed.
    Listing,
    /// It says which Source is meant.
    Qualifier,
    /// It fits a template.
    Template,
    /// One Source alone uses its scheme.
    Scheme,
}

impl RoutedBy {
    /// Its name in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            RoutedBy::Listing => "static",
            RoutedBy::Qualifier => "qualified",
            RoutedBy::Template => "template",
            RoutedBy::Scheme => "scheme",
        }
    }
}

/// Why a name leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No Source owns it.
    #[error("no source serves it")]
    Unknown,
    /// It is longer than any that is listed.
    #[error("the URI is longer than {limit} bytes")]
    TooLong {
        /// The most it may have.
        limit: usize,
    },
    /// Several own it.
    #[error("several sources serve it")]
    Ambiguous {
        /// The names that settle it.
        candidates: Vec<PublicUri>,
    },
}

/// The templates that may match a bare URI, by the literal text they begin with.
#[derive(Default)]
pub(super) struct Matching {
    /// Indices into the templates, most specific first.
    order: Vec<u32>,
    /// Places in `order`, by literal prefix.
    by_prefix: HashMap<String, Vec<u32>>,
    /// The lengths of the prefixes there are.
    lengths: Vec<usize>,
}

impl Matching {
    pub(super) fn new(
        templates: &[TemplateEntry],
        may_match: impl Fn(&TemplateEntry) -> bool,
    ) -> Matching {
        let prefix = |n: u32| {
            let compiled = templates[n as usize].template.compiled.as_ref();
            compiled.map_or("", |compiled| compiled.literal_prefix())
        };
        // One that begins with a variable would be tried for every URI there is; it is read
        // by its qualified name.
        let is_placed = |entry: &TemplateEntry| {
            entry.template.compiled.is_some() && !entry.template.begins_anyhow()
        };
        let mut order: Vec<u32> = (0u32..)
            .zip(templates)
            .filter(|(_, template)| is_placed(template) && may_match(template))
            .map(|(n, _)| n)
            .collect();
        let specificity =
            |n: u32| templates[n as usize].template.compiled.as_ref().map(|c| c.specificity());
        order.sort_by_key(|&n| std::cmp::Reverse(specificity(n)));
        let mut by_prefix: HashMap<String, Vec<u32>> = HashMap::new();
        for (place, &n) in (0u32..).zip(&order) {
            by_prefix.entry(prefix(n).to_owned()).or_default().push(place);
        }
        let mut lengths: Vec<usize> = by_prefix.keys().map(String::len).collect();
        lengths.sort_unstable();
        lengths.dedup();
        Matching { order, by_prefix, lengths }
    }

    /// The templates whose literal beginning `uri` has, most specific first.
    fn candidates(&self, uri: &str) -> impl Iterator<Item = u32> {
        let lengths = self.lengths.iter().take_while(|&&length| length <= uri.len());
        let prefixes = lengths.filter_map(|&length| uri.get(..length));
        let mut places: Vec<u32> =
            prefixes.filter_map(|prefix| self.by_prefix.get(prefix)).flatten().copied().collect();
        places.sort_unstable();
        places.into_iter().take(MAX_ATTEMPTS).map(|place| self.order[place as usize])
    }
}

/// Whether a template names more than a scheme, e.g. `auth://keys/{id}`. One like `auth://{x}`
/// would catch everything there is under a scheme of ours.
fn names_a_place(entry: &TemplateEntry) -> bool {
    let compiled = entry.template.compiled.as_ref();
    let prefix = compiled.map_or("", |compiled| compiled.literal_prefix());
    let place = prefix.split_once(':').map_or("", |(_, place)| place);
    !place.trim_matches('/').is_empty()
}

impl Snapshot {
    /// The owner of a URI and its name there: exact, then qualified, then by template,
    /// then by the scheme if only one Source uses it.
    pub fn route(&self, uri: &str) -> Result<Route, RouteError> {
        if uri.len() > MAX_URI_BYTES {
            return Err(RouteError::TooLong { limit: MAX_URI_BYTES });
        }
        if let Some(&n) = self.by_uri.get(uri) {
            let entry = &self.resources[n as usize];
            return Ok(self.route_to(entry.member, entry.local.clone(), RoutedBy::Listing));
        }
        if let Some((id, local)) = naming::split_qualified(uri)
            && let Some(&member) = self.by_id.get(&id)
        {
            let is_ours = self.owner(member).is_builtin();
            // No template takes a `..`, and to name the server must not be a way round that.
            if !is_ours
                && naming::climbs(local.as_str())
                && self.listed(&id, local.as_str()).is_none()
            {
                return Err(RouteError::Unknown);
            }
            let usual = is_ours.then(|| naming::usual_spelling(local.as_str())).flatten();
            let local = usual.map_or(local, LocalUri::new);
            return Ok(self.route_to(member, local, RoutedBy::Qualifier));
        }
        if let Some(usual) = naming::usual_spelling(uri) {
            // Rules on a name of ours hold for this spelling too, e.g. `Guide://x`.
            return self.route(&usual);
        }
        if let Some(owners) = self.contested.get(uri) {
            return Err(RouteError::Ambiguous { candidates: self.qualified(owners, uri) });
        }
        self.route_by_template(uri).unwrap_or_else(|| self.route_by_scheme(uri))
    }

    /// The way to a URI under a scheme of ours that we do not have: to the server that lists it or
    /// has a template for it. `None` if no server has it.
    pub fn route_elsewhere(&self, uri: &str) -> Option<Result<Route, RouteError>> {
        if !naming::is_reserved(uri) || naming::climbs(uri) || uri.len() > MAX_MATCHED_BYTES {
            return None;
        }
        let mut owners = self.strangers(|id| self.listed(id, uri).is_some());
        if owners.is_empty() {
            owners = self.strangers(|id| {
                self.template_of(id, uri).is_some_and(|(entry, _)| names_a_place(entry))
            });
        }
        match owners[..] {
            [] => None,
            [member] => Some(Ok(self.route_to(member, LocalUri::new(uri), RoutedBy::Scheme))),
            _ => Some(Err(RouteError::Ambiguous { candidates: self.qualified(&owners, uri) })),
        }
    }

    /// The members that are no part of us and of which something holds.
    fn strangers(&self, holds: impl Fn(&SourceId) -> bool) -> Vec<u32> {
        let mut all = Vec::new();
        for (member, n) in self.members.iter().zip(0u32..) {
            if !member.source.is_builtin() && holds(member.source.id()) {
                all.push(n);
            }
        }
        all
    }

    /// The owner of a template, by the text our clients see.
    pub fn route_template(&self, text: &str) -> Result<Route, RouteError> {
        if text.len() > MAX_URI_BYTES {
            return Err(RouteError::TooLong { limit: MAX_URI_BYTES });
        }
        if let Some(usual) = naming::usual_spelling(text) {
            return self.route_template(&usual);
        }
        if let Some(entry) = self.templates.iter().find(|t| t.public.as_str() == text) {
            let local = entry.template.text.clone();
            return Ok(self.route_to(entry.member, local, RoutedBy::Template));
        }
        // A client may also name a concrete URI, or a contested template.
        let owners: Vec<u32> = self
            .templates
            .iter()
            .filter(|t| t.template.text.as_str() == text)
            .map(|t| t.member)
            .collect();
        if owners.len() > 1 {
            return Err(RouteError::Ambiguous { candidates: self.qualified(&owners, text) });
        }
        self.route(text)
    }

    fn route_to(&self, member: u32, local: LocalUri, by: RoutedBy) -> Route {
        Route { source: self.owner(member).clone(), local, by }
    }

    fn route_by_template(&self, uri: &str) -> Option<Result<Route, RouteError>> {
        if uri.len() > MAX_MATCHED_BYTES {
            return None;
        }
        let mut owners: Vec<u32> = Vec::new();
        let mut best = None;
        // A server's `{+anything}` must not catch what is ours.
        let is_ours = naming::is_reserved(uri);
        for n in self.matching.candidates(uri) {
            let entry = &self.templates[n as usize];
            if is_ours && !self.owner(entry.member).is_builtin() {
                continue;
            }
            let Some(compiled) = &entry.template.compiled else { continue };
            if best.is_some_and(|best| compiled.specificity() != best) {
                break;
            }
            if !owners.contains(&entry.member) && compiled.matches(uri).is_some() {
                best = Some(compiled.specificity());
                owners.push(entry.member);
            }
        }
        match owners[..] {
            [] => None,
            [member] => Some(Ok(self.route_to(member, LocalUri::new(uri), RoutedBy::Template))),
            _ => {
                owners.sort_unstable();
                Some(Err(RouteError::Ambiguous { candidates: self.qualified(&owners, uri) }))
            }
        }
    }

    /// Routes a URI that no Source lists, e.g. a link a tool returned, to the one Source that uses
    /// its scheme. A file of a skill goes to the Source that lists the skill. A URI of ours stays
    /// with us: we serve more than we list.
    fn route_by_scheme(&self, uri: &str) -> Result<Route, RouteError> {
        // No template takes a `..`, so nothing else may pass one on behind its back.
        let scheme = scheme(uri).filter(|_| !naming::climbs(uri)).ok_or(RouteError::Unknown)?;
        if let Some(member) = self.owner_of_skill(uri) {
            return Ok(self.route_to(member, LocalUri::new(uri), RoutedBy::Scheme));
        }
        let is_ours = naming::is_reserved(uri);
        let users = self.by_scheme.get(scheme).map(Vec::as_slice).unwrap_or_default();
        let mut users = users.iter().filter(|&&member| {
            let source = &self.members[member as usize].source;
            source.accepts_unlisted() && (!is_ours || source.is_builtin())
        });
        match (users.next(), users.next()) {
            (Some(&member), None) => {
                Ok(self.route_to(member, LocalUri::new(uri), RoutedBy::Scheme))
            }
            _ => Err(RouteError::Unknown),
        }
    }

    /// Whether anything that is listed has the scheme of a URI. A text without a scheme counts as
    /// one that has.
    pub fn uses_scheme_of(&self, uri: &str) -> bool {
        let Some(scheme) = scheme(uri) else { return true };
        naming::is_reserved(uri) || self.by_scheme.contains_key(scheme)
    }

    /// The member that lists the `SKILL.md` in or above what is asked for.
    fn owner_of_skill(&self, uri: &str) -> Option<u32> {
        let mut folder = uri.strip_prefix("skill://").map(|_| uri.trim_end_matches('/'))?;
        for _ in 0..MAX_SKILL_DEPTH {
            if let Some(&n) = self.by_uri.get(format!("{folder}/SKILL.md").as_str()) {
                return Some(self.resources[n as usize].member);
            }
            folder = &folder[..folder.rfind('/').filter(|at| *at > "skill://".len())?];
        }
        None
    }

    pub(super) fn qualified(&self, owners: &[u32], uri: &str) -> Vec<PublicUri> {
        owners.iter().map(|&n| naming::qualify(self.owner(n).id(), uri)).collect()
    }
}
