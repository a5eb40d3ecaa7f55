//! The catalogue as one kind of caller sees it.
//!
//! Made once for each Snapshot and each set of standings, then shared. A list costs no more with
//! rules than without. A hidden entry is absent before any count.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{Named, Rules, rights::Refusals, trim::without_hidden};
use crate::{
    access::Standing,
    catalogue::{
        BadCursor, List, NamedEntry, PAGE_ENTRIES, Page, ResourceEntry, Snapshot, TemplateEntry,
        naming, page::cut,
    },
    json::Json,
    knowledge::Picks,
    source::SourceId,
    template::Bindings,
};

/// The most views kept at once; callers differ by roles, of which there are few.
const MAX_VIEWS: usize = 64;

/// The catalogue as one kind of caller sees it.
pub struct View {
    snapshot: Arc<Snapshot>,
    /// `None` if every rule is open to the caller, or there is none.
    seen: Option<Seen>,
    print: OnceLock<u64>,
    pub(super) rules: Arc<Rules>,
    pub(super) refusals: Arc<Refusals>,
}

struct Seen {
    resources: Vec<Place>,
    templates: Vec<Place>,
    skills: Vec<Place>,
    /// Skills of which some files are hidden, without those.
    trimmed: HashMap<u32, Json>,
}

/// Where an entry stands in the Snapshot, and whether the caller may only know of it.
struct Place {
    index: u32,
    is_closed: bool,
}

impl View {
    fn new(
        snapshot: Arc<Snapshot>,
        rules: &Arc<Rules>,
        kind: &Kind,
        refusals: Arc<Refusals>,
    ) -> View {
        let Kind { standings, picks } = kind;
        let is_open = standings.iter().all(|standing| *standing == Standing::Open);
        let guide = SourceId::guide();
        let seen = (!is_open || picks.is_some()).then(|| {
            let judge = |member: u32, local: &str, index: u32| {
                let id = snapshot.owner(member).id();
                if *id == guide
                    && picks.as_ref().is_some_and(|picks| !rules.is_picked(picks, local))
                {
                    return None;
                }
                let decided = rules.decide(Named::listed(id, local), |n| standings[n]);
                match decided.map_or(Standing::Open, |(standing, _)| standing) {
                    Standing::Open => Some(Place { index, is_closed: false }),
                    Standing::Shown => Some(Place { index, is_closed: true }),
                    Standing::Hidden => None,
                }
            };
            let resources = snapshot.resources().iter().zip(0u32..);
            let templates = snapshot.templates().iter().zip(0u32..);
            let skills = snapshot.skills().iter().zip(0u32..);
            let skill_uri = |entry: &Json| entry.get_str("uri").unwrap_or_default();
            let trim = |(skill, n): (&NamedEntry, u32)| {
                let is_hidden = |uri: &str| judge(skill.member, uri, n).is_none();
                Some((n, without_hidden(&skill.entry, is_hidden)?))
            };
            Seen {
                trimmed: snapshot.skills().iter().zip(0u32..).filter_map(trim).collect(),
                resources: resources
                    .filter_map(|(r, n)| judge(r.member, r.local.as_str(), n))
                    .collect(),
                templates: templates
                    .filter_map(|(t, n)| judge(t.member, t.template.text.as_str(), n))
                    .collect(),
                skills: skills
                    .filter_map(|(s, n)| judge(s.member, &skill_uri(&s.entry), n))
                    .collect(),
            }
        });
        View { snapshot, seen, print: OnceLock::new(), rules: rules.clone(), refusals }
    }

    /// The Snapshot it is a view of.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// A number that differs if the caller's lists do; `None` if he sees all.
    pub fn print(&self) -> Option<u64> {
        self.seen.as_ref()?;
        let make = || {
            let mut hasher = DefaultHasher::new();
            for (resource, is_closed) in self.resources() {
                (resource.entry.as_bytes(), is_closed).hash(&mut hasher);
            }
            for (template, is_closed) in self.templates() {
                (template.entry.as_bytes(), is_closed).hash(&mut hasher);
            }
            hasher.finish()
        };
        Some(*self.print.get_or_init(make))
    }

    /// How many resources there are to the caller.
    pub fn resource_count(&self) -> usize {
        self.seen.as_ref().map_or(self.snapshot.resources().len(), |seen| seen.resources.len())
    }

    /// How many templates there are to the caller.
    pub fn template_count(&self) -> usize {
        self.seen.as_ref().map_or(self.snapshot.templates().len(), |seen| seen.templates.len())
    }

    /// How many resources and templates of one Source there are to the caller; `None` if he sees
    /// all.
    pub fn counts_of(&self, id: &str) -> Option<(usize, usize)> {
        let seen = self.seen.as_ref()?;
        let is_own = |member: u32| self.snapshot.owner(member).id().as_str() == id;
        let resources = seen.resources.iter().map(|p| &self.snapshot.resources()[p.index as usize]);
        let templates = seen.templates.iter().map(|p| &self.snapshot.templates()[p.index as usize]);
        Some((
            resources.filter(|r| is_own(r.member)).count(),
            templates.filter(|t| is_own(t.member)).count(),
        ))
    }

    /// A listed resource by its public name, if there is one to the caller.
    pub fn resource(&self, uri: &str) -> Option<&ResourceEntry> {
        let entry = self.snapshot.resource(uri)?;
        let Some(seen) = &self.seen else { return Some(entry) };
        let index = self.snapshot.resources().element_offset(entry)?;
        let found = seen.resources.binary_search_by_key(&index, |place| place.index as usize);
        found.is_ok().then_some(entry)
    }

    /// A listed resource by its owner and its name there, if there is one to the caller.
    pub fn owned(&self, id: &SourceId, local: &str) -> Option<&ResourceEntry> {
        self.resource(self.snapshot.listed(id, local)?.public.as_str())
    }

    /// The Source that a URI names, if any, and the rest, e.g. `wiki` and `docs://x` of
    /// `wiki+docs://x`.
    pub fn split<'a>(&self, uri: &'a str) -> (Option<SourceId>, &'a str) {
        let named = naming::split_qualified(uri);
        match named.filter(|(id, _)| self.snapshot.member(id).is_some()) {
            Some((id, local)) => (Some(id), &uri[uri.len() - local.as_str().len()..]),
            None => (None, uri),
        }
    }

    /// The resources there are to the caller, in order, and whether each is closed.
    pub fn resources(&self) -> impl Iterator<Item = (&ResourceEntry, bool)> {
        pick(self.snapshot.resources(), self.seen.as_ref().map(|seen| &seen.resources))
    }

    /// The templates there are to the caller, in order, and whether each is closed.
    pub fn templates(&self) -> impl Iterator<Item = (&TemplateEntry, bool)> {
        pick(self.snapshot.templates(), self.seen.as_ref().map(|seen| &seen.templates))
    }

    /// The template that the name of something of a Source fits, if there is one to the
    /// caller, with the values.
    pub fn template_of(&self, id: &SourceId, local: &str) -> Option<(&TemplateEntry, Bindings)> {
        let (entry, values) = self.snapshot.template_of(id, local)?;
        let is_seen =
            self.seen.is_none() || self.templates().any(|(known, _)| std::ptr::eq(known, entry));
        is_seen.then_some((entry, values))
    }

    /// The page of a list that follows `cursor`.
    pub fn page(&self, list: List, cursor: Option<&str>) -> Result<Page, BadCursor> {
        let Some(seen) = &self.seen else { return self.snapshot.page(list, cursor) };
        let snapshot = &self.snapshot;
        match list {
            List::Resources => cut(&seen.resources, cursor, PAGE_ENTRIES, |place| {
                let entry = &snapshot.resources()[place.index as usize];
                (entry.public.as_str(), &entry.entry)
            }),
            List::Templates => cut(&seen.templates, cursor, PAGE_ENTRIES, |place| {
                let entry = &snapshot.templates()[place.index as usize];
                (entry.public.as_str(), &entry.entry)
            }),
            List::Skills => cut(&seen.skills, cursor, PAGE_ENTRIES, |place| {
                let entry: &NamedEntry = &snapshot.skills()[place.index as usize];
                (&entry.public, seen.trimmed.get(&place.index).unwrap_or(&entry.entry))
            }),
            List::Tools | List::Prompts => snapshot.page(list, cursor),
        }
    }
}

fn pick<'a, T>(
    all: &'a [T],
    seen: Option<&'a Vec<Place>>,
) -> impl Iterator<Item = (&'a T, bool)> + use<'a, T> {
    let whole = seen.is_none().then(|| all.iter().map(|entry| (entry, false)));
    let part = seen.map(|places| places.iter().map(|p| (&all[p.index as usize], p.is_closed)));
    whole.into_iter().flatten().chain(part.into_iter().flatten())
}

/// The views of the current Snapshot, by what the rules leave to the caller.
#[derive(Default)]
pub(super) struct Views {
    kept: Mutex<Kept>,
    /// Shared with every view.
    pub(super) refusals: Arc<Refusals>,
}

#[derive(Default)]
struct Kept {
    revision: u64,
    rules: Option<Arc<Rules>>,
    views: HashMap<Kind, Arc<View>>,
}

/// The marks of one kind of caller: the rights that the rules leave, and the part of the guide that
/// its project picks.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) standings: Vec<Standing>,
    pub(super) picks: Option<Picks>,
}

impl Views {
    /// The view that this kind of caller has of `snapshot`.
    pub(super) fn of(&self, snapshot: Arc<Snapshot>, rules: &Arc<Rules>, kind: Kind) -> Arc<View> {
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let is_same = kept.revision == snapshot.revision()
                && kept.rules.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, rules));
            if !is_same || kept.views.len() >= MAX_VIEWS {
                *kept = Kept {
                    revision: snapshot.revision(),
                    rules: Some(rules.clone()),
                    views: HashMap::new(),
                };
            }
            if let Some(view) = kept.views.get(&kind) {
                return view.clone();
            }
        }
        // Made without the lock: a large catalogue must not hold up the others.
        let revision = snapshot.revision();
        let view = Arc::new(View::new(snapshot, rules, &kind, self.refusals.clone()));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // A view made meanwhile by other rules stands by them, not by ours.
        let is_ours = kept.rules.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, rules));
        if kept.revision == revision && is_ours {
            kept.views.insert(kind, view.clone());
        }
        view
    }
}
