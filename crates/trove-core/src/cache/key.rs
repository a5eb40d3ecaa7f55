//! What was asked, and for whom.

use std::sync::Arc;

use crate::{source_id::SourceId, uri::LocalUri};

/// What was asked, and who asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The owner.
    pub source: SourceId,
    /// Its name there.
    pub uri: LocalUri,
    /// Who asks; an answer is kept for them, or for everyone if the Source allows it.
    pub audience: Audience,
}

/// Who may be shown an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Anybody who may ask.
    Everyone,
    /// Whoever asks with this authorization.
    Only(Arc<str>),
}

impl Key {
    /// The same for another audience.
    pub(super) fn seen_by(&self, audience: Audience) -> Key {
        Key { source: self.source.clone(), uri: self.uri.clone(), audience }
    }
}
