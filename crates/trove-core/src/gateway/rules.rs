//! The rules in force, applied to every name a resource has.
//!
//! A document of the guide may have several names: in categories that share a folder, in a skill,
//! in collections, by a link. A rule that hides it under one of them hides it under all.

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::Gateway;
use crate::{
    access::{Access, Policy, Rule, Standing},
    caller::Caller,
    catalogue::Snapshot,
    knowledge::{Edition, Knowledge, Picks},
    source::SourceId,
    source_id::{GUIDE, is_ours},
};

/// The most names of documents whose rules are remembered.
const MAX_KEPT: usize = 100_000;

/// The longest name that is.
const MAX_KEPT_NAME: usize = 512;

/// The rules in force, for what is known of the guide at one moment.
pub struct Rules {
    access: Arc<Access>,
    guide: Option<Edition>,
    /// The places of the rules that decide about a document, by one of its names.
    kept: RwLock<HashMap<Box<str>, Arc<[usize]>>>,
}

/// A Source's name for something, and where we have it from.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    /// The Source.
    pub id: &'a SourceId,
    /// The name.
    pub local: &'a str,
    /// Where it may be listed. `None` if it is known to be.
    unlisted_in: Option<&'a Snapshot>,
}

impl<'a> Named<'a> {
    /// A name that the Source lists.
    pub fn listed(id: &'a SourceId, local: &'a str) -> Named<'a> {
        Named { id, local, unlisted_in: None }
    }

    /// A name that a caller gave, and that may be none that the Source lists.
    pub fn given(snapshot: &'a Snapshot, id: &'a SourceId, local: &'a str) -> Named<'a> {
        Named { id, local, unlisted_in: Some(snapshot) }
    }

    /// Whether programs may differ in what they take it for. Our own Sources know no name but
    /// those they list and those they read themselves.
    fn is_open_to_reading(&self) -> bool {
        let is_listed = |snapshot: &Snapshot| snapshot.lists(self.id, self.local);
        !is_ours(self.id.as_str()) && self.unlisted_in.is_some_and(|all| !is_listed(all))
    }
}

impl Rules {
    fn new(access: Arc<Access>, guide: Option<Edition>) -> Rules {
        Rules { access, guide, kept: RwLock::default() }
    }

    /// The rules as they are written.
    pub fn access(&self) -> &Arc<Access> {
        &self.access
    }

    /// Decides what the caller may do with what is named so. Gives the rule that says it.
    pub fn standing(&self, caller: &Caller, named: Named<'_>) -> (Standing, Option<&Rule>) {
        self.standing_of(self.access.roles(caller), named)
    }

    /// Decides it for a caller with these roles.
    pub(super) fn standing_of(
        &self,
        roles: &[String],
        named: Named<'_>,
    ) -> (Standing, Option<&Rule>) {
        let rules = self.access.policy.rules();
        match self.decide(named, |n| rules[n].standing(roles)) {
            Some((standing, n)) => (standing, Some(&rules[n])),
            None => (Standing::Open, None),
        }
    }

    /// The worst that the rules on it leave, with the place of the rule that says so; `None` if
    /// there is no rule on it.
    pub(super) fn decide(
        &self,
        named: Named<'_>,
        leaves: impl Fn(usize) -> Standing,
    ) -> Option<(Standing, usize)> {
        let policy = &self.access.policy;
        if policy.is_empty() {
            return None;
        }
        let (id, local) = (named.id.as_str(), named.local);
        if id == GUIDE {
            return Policy::worst(&self.of_document(id, local), leaves);
        }
        let near = policy.places_near(id, local);
        let is_unsure = !near.is_empty() && named.is_open_to_reading();
        let may_be = if is_unsure { Policy::worst(&near, &leaves) } else { None };
        // Nothing worse can come of its spellings, which take longer to find.
        if let Some((Standing::Hidden, _)) = may_be {
            return may_be;
        }
        let is = Policy::worst(&policy.places_for(id, local), &leaves);
        // Of two that leave the same the first rule is named.
        [is, may_be].into_iter().flatten().max_by_key(|(left, n)| (*left, Reverse(*n)))
    }

    /// Whether a project that picks these sees what is listed under this URI.
    pub(super) fn is_picked(&self, picks: &Picks, local: &str) -> bool {
        self.guide
            .as_ref()
            .map_or_else(|| picks.allow(local), |guide| guide.is_picked(picks, local))
    }

    fn of_document(&self, id: &str, local: &str) -> Arc<[usize]> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner).get(local).cloned();
        if let Some(kept) = kept {
            return kept;
        }
        let policy = &self.access.policy;
        let mut rules = policy.places_for(id, local);
        let mut is_listed = false;
        let all = self
            .guide
            .iter()
            .flat_map(|guide| guide.names(local).into_iter().map(move |n| (guide, n)));
        for (guide, names) in all {
            is_listed |= names.listed == local;
            let listed = policy.places_for(id, &names.listed);
            // A rule on another way to ask for it counts unless an earlier one is on the
            // listed name: that is an exception, and the way to ask follows it.
            let before = listed.first().copied().unwrap_or(policy.rules().len());
            rules.extend(listed);
            let in_collections =
                guide.in_collections(&names, |start| policy.may_begin(id, start, before));
            let also = names.also.iter().chain(&in_collections);
            let also = also.flat_map(|name| policy.places_for(id, name));
            rules.extend(also.filter(|also| *also < before));
        }
        rules.sort_unstable();
        rules.dedup();
        let rules: Arc<[usize]> = rules.into();
        // Other spellings are without number, and so is what may be asked for.
        if is_listed && local.len() <= MAX_KEPT_NAME {
            let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= MAX_KEPT {
                kept.clear();
            }
            kept.insert(local.into(), rules.clone());
        }
        rules
    }
}

impl Gateway {
    /// The rules in force, on every name that things have now.
    pub fn rules(&self) -> Arc<Rules> {
        let access = self.access();
        // Kept only where it decides something: it is as large as the guide is.
        let decides = |guide: &&Arc<Knowledge>| {
            !access.policy.is_empty() || !guide.settings().groups.projects.is_empty()
        };
        let guide = self.knowledge().filter(decides).map(|guide| guide.edition());
        let known = self.rules.load_full();
        let is_same_guide = match (&known.guide, &guide) {
            (Some(known), Some(now)) => known.is_same(now),
            (known, now) => known.is_none() && now.is_none(),
        };
        if is_same_guide && Arc::ptr_eq(&known.access, &access) {
            return known;
        }
        let rules = Arc::new(Rules::new(access, guide));
        self.rules.store(rules.clone());
        rules
    }
}

impl Default for Rules {
    fn default() -> Rules {
        Rules::new(Arc::default(), None)
    }
}
