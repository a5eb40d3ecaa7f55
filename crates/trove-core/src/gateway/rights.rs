//! Which resources take the rights of an administrator, for every caller.
//!
//! A rule says so, the server refused a read for lack of rights, or the description says so.

use std::{
    collections::HashSet,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{Named, View};
use crate::{
    access::Standing,
    resource::Details,
    source::{SourceError, SourceId, meaning::Meaning},
    uri::LocalUri,
};

/// How many refusals are remembered.
const MAX_REFUSALS: usize = 10_000;
/// How much of a description is looked at.
const MAX_LOOKED_AT: usize = 1000;

/// How descriptions say that only an administrator may read a resource.
const ADMIN_ONLY: [&str; 14] = [
    "requires admin",
    "require admin",
    "requires an admin",
    "needs admin",
    "needs an admin",
    "admin only",
    "admin-only",
    "admins only",
    "administrators only",
    "only for admin",
    "only admin",
    "restricted to admin",
    "admin rights",
    "admin privileges",
];
/// Words that make a sentence say the opposite.
const DENIALS: [&str; 6] = ["not", "no", "without", "never", "doesn't", "isn't"];

/// The resources whose servers refused a read for lack of rights.
#[derive(Default)]
pub(super) struct Refusals {
    known: RwLock<HashSet<(SourceId, LocalUri)>>,
    revision: AtomicU64,
}

impl Refusals {
    /// Notes how a read of a resource ended.
    pub(super) fn note(&self, id: &SourceId, local: &LocalUri, error: Option<&SourceError>) {
        // Most gateways never meet a refusal, and reads are many.
        if error.is_none() && self.revision() == 0 {
            return;
        }
        let is_refused = error.is_some_and(|error| is_refusal(error, local));
        let key = (id.clone(), local.clone());
        if is_refused == self.has(&key) || (!is_refused && error.is_some()) {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if !is_refused {
            known.remove(&key);
        } else if known.len() < MAX_REFUSALS {
            known.insert(key);
        }
        self.revision.fetch_add(1, Ordering::Relaxed);
    }

    /// A number that differs when other resources are refused.
    pub(super) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    fn has(&self, key: &(SourceId, LocalUri)) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).contains(key)
    }
}

/// Whether a server refused one resource; one that asks for a login refuses all.
fn is_refusal(error: &SourceError, local: &LocalUri) -> bool {
    let is_own_word = matches!(error, SourceError::Refused { .. });
    is_own_word && error.meaning(Some(local.as_str())) == Meaning::Forbidden
}

impl View {
    /// Whether a listed resource or template takes the rights of an administrator, for
    /// every caller.
    pub fn requires_admin(&self, id: &SourceId, local: &LocalUri, details: Details<'_>) -> bool {
        let named = Named::listed(id, local.as_str());
        let has_rule = self.rules.standing_of(&[], named).0 != Standing::Open;
        has_rule
            || self.refusals.has(&(id.clone(), local.clone()))
            || says_admin_only(&details.description().unwrap_or_default())
    }

    /// A number that differs where [`View::requires_admin`] may.
    pub fn rights_revision(&self) -> u64 {
        self.refusals.revision()
    }
}

/// Whether a description says that only an administrator may read, e.g. by "requires admin".
fn says_admin_only(description: &str) -> bool {
    let text = &description[..description.floor_char_boundary(MAX_LOOKED_AT)];
    let text = text.to_lowercase();
    ADMIN_ONLY.iter().any(|words| {
        let Some(at) = text.find(words) else { return false };
        let sentence = text[..at].rsplit(['.', ';', '\n']).next().unwrap_or_default();
        !sentence.split_whitespace().any(|word| DENIALS.contains(&word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_says_who_may_read() {
        for (description, is_said) in [
            ("All keys. Requires admin role.", true),
            ("Admin only: the audit log", true),
            ("Needs administrator access", true),
            ("Does not require admin rights", false),
            ("Read it without admin privileges", false),
            ("How to become an admin", false),
            ("", false),
        ] {
            assert_eq!(says_admin_only(description), is_said, "{description}");
        }
    }
}
