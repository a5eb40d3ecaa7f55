//! The key of an answer, and how long and by which callers it may be believed.

use std::{sync::Arc, time::Duration};

use crate::{
    resource::{Freshness, Scope},
    source::{Reply, Told},
    source_id::SourceId,
    uri::LocalUri,
};

/// The longest an answer is believed, even if its Source says longer.
pub const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// A resource that was asked for, and who asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub source: SourceId,
    /// Its name there.
    pub uri: LocalUri,
    /// Who asks; an answer is kept for them, or for everyone if the Source allows it.
    pub audience: Audience,
}

/// Who may be shown an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Every caller who may ask.
    Everyone,
    /// Every caller with this authorization.
    Only(Arc<str>),
}

impl Key {
    /// The key for another audience.
    pub(super) fn seen_by(&self, audience: Audience) -> Key {
        Key { source: self.source.clone(), uri: self.uri.clone(), audience }
    }
}

/// The configured rules on keeping answers of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// How long an answer may be believed, and shown to everyone, if its Source does not say.
    /// `None`: it is not kept, as the protocol wants, unless the resource is public by
    /// configuration.
    pub public_ttl: Option<Duration>,
    /// The Source reports each change of the resource: an answer is believed until then.
    pub told: Option<Told>,
}

/// The callers who may be shown an answer to `asker`; `None`: only the asker, this once.
pub(super) fn audience(reply: &Reply, policy: Policy, asker: &Audience) -> Option<Audience> {
    if reply.needs_input {
        return None;
    }
    match (reply.freshness.map(|said| said.scope), policy.public_ttl) {
        (Some(Scope::Public), _) | (None, Some(_)) => Some(Audience::Everyone),
        // An answer that is private to no caller in particular is kept for none.
        (Some(Scope::Private), _) if *asker == Audience::Everyone => None,
        (Some(Scope::Private), _) | (None, None) => Some(asker.clone()),
    }
}

/// How long an answer is believed; `None` if it must not be kept.
pub(super) fn ttl(reply: &Reply, policy: Policy) -> Option<Duration> {
    let said = reply.freshness.map(|said| Duration::from_millis(said.ttl_ms));
    let until_told = policy.told.map(|_| MAX_TTL);
    let ttl = said.or(until_told).or(policy.public_ttl)?.min(MAX_TTL);
    (!reply.needs_input && !ttl.is_zero()).then_some(ttl)
}

/// The freshness that is left of an answer after some time, e.g. 40 s of 60 s after 20 s.
pub(super) fn remaining(freshness: Option<Freshness>, age: Duration) -> Option<Freshness> {
    let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    freshness.map(|said| Freshness { ttl_ms: said.ttl_ms.saturating_sub(age_ms), ..said })
}
