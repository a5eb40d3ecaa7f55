//! Why a Source gave no answer.

use std::time::Duration;

use super::{Class, Outage};
use crate::json::Json;

/// Why a Source gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SourceError {
    /// It is not connected.
    #[error("not connected: {0}")]
    Unavailable(Outage),
    /// The connection was lost before the answer came; nothing is tried twice.
    #[error("the connection was lost before the answer came")]
    Lost,
    /// It took too long.
    #[error("no answer within {waited:?}")]
    TimedOut {
        /// How long we waited.
        waited: Duration,
    },
    /// It answered with an error of its own.
    #[error("{message}")]
    Refused {
        /// Its code.
        code: i64,
        /// Its words.
        message: String,
        /// Its data.
        data: Option<Json>,
    },
    /// A Source of our own failed, in a class of ours.
    #[error("{message}")]
    Told {
        /// The class.
        class: Class,
        /// The words for the caller.
        message: String,
    },
    /// There is no such thing at the Source.
    #[error("not found")]
    NotFound,
    /// Its answer was larger than the limit.
    #[error("the answer is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// Too many requests are waiting for it.
    #[error("{limit} requests are already waiting for it")]
    Busy {
        /// The limit.
        limit: usize,
    },
    /// It cannot do that at all.
    #[error("it does not offer {what}")]
    NotOffered {
        /// The kind of request, e.g. `a list`.
        what: &'static str,
    },
    /// Its answer made no sense.
    #[error("malformed answer: {what}")]
    Malformed {
        /// The fault of the answer.
        what: String,
    },
}

impl SourceError {
    /// Whether asking again later may help.
    pub fn is_retryable(&self) -> bool {
        match self {
            SourceError::Unavailable(_)
            | SourceError::Lost
            | SourceError::TimedOut { .. }
            | SourceError::Busy { .. } => true,
            SourceError::Told { class, .. } => *class == Class::Busy,
            SourceError::Refused { .. }
            | SourceError::NotFound
            | SourceError::TooLarge { .. }
            | SourceError::NotOffered { .. }
            | SourceError::Malformed { .. } => false,
        }
    }
}
