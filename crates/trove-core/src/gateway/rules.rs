//! The rules in force, applied to every name a resource has.
//!
//! A document of the guide may have several names: in categories that share a folder, in
//! a skill, in collections, by a link. Whatever hides it under one of them hides it under all.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::Gateway;
use crate::{
    access::{Access, Policy, Rule, Standing},
    caller::Caller,
    knowledge::{Edition, Knowledge, Picks},
    source_id::GUIDE,
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

impl Rules {
    fn new(access: Arc<Access>, guide: Option<Edition>) -> Rules {
        Rules { access, guide, kept: RwLock::default() }
    }

    /// The rules as they are written.
    pub fn access(&self) -> &Arc<Access> {
        &self.access
    }

    /// What the caller may do with what the Source `id` calls `local`, and the rule that
    /// says so.
    pub fn standing(&self, caller: &Caller, id: &str, local: &str) -> (Standing, Option<&Rule>) {
        self.standing_of(self.access.roles(caller), id, local)
    }

    /// The same for whoever has these roles.
    pub(super) fn standing_of(
        &self,
        roles: &[String],
        id: &str,
        local: &str,
    ) -> (Standing, Option<&Rule>) {
        let rules = self.access.policy.rules();
        match self.decide(id, local, |n| rules[n].standing(roles)) {
            Some((standing, n)) => (standing, Some(&rules[n])),
            None => (Standing::Open, None),
        }
    }

    /// The worst that the rules on it leave, with the place of the rule that says so;
    /// nothing if there is no rule on it.
    pub(super) fn decide(
        &self,
        id: &str,
        local: &str,
        leaves: impl Fn(usize) -> Standing,
    ) -> Option<(Standing, usize)> {
        if self.access.policy.is_empty() {
            return None;
        }
        if id != GUIDE {
            return Policy::worst(&self.access.policy.places_for(id, local), leaves);
        }
        Policy::worst(&self.of_document(id, local), leaves)
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
