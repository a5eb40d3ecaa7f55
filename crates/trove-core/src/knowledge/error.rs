//! Why local knowledge gave no answer, in the words of the asker.

use crate::{failure::Class, source::SourceError};

use super::{expression::BadExpression, name::BadName};

/// Why local knowledge gave no answer, or made no change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KnowledgeError {
    /// The URI is of another scheme.
    #[error("Invalid URI scheme: {uri} does not begin with guide://")]
    BadScheme {
        /// The name that was asked for.
        uri: String,
    },
    /// The URI is none of the patterns.
    #[error("{uri} is no guide URI: {why}; guide://help shows every pattern")]
    BadAddress {
        /// The name that was asked for.
        uri: String,
        /// The fault.
        why: &'static str,
    },
    /// The expression cannot be read.
    #[error(transparent)]
    BadExpression(#[from] BadExpression),
    /// The pattern cannot be read.
    #[error("`{pattern}` is no pattern: {why}")]
    BadPattern {
        /// The pattern as written.
        pattern: String,
        /// The fault.
        why: String,
    },
    /// Nothing of that name, or nothing that matches.
    #[error("not found: {what}{}", hint(.near))]
    NotFound {
        /// The name that was sought.
        what: String,
        /// The names that exist nearby.
        near: Vec<String>,
    },
    /// Neither a category nor a collection of that name.
    #[error("Context not found: no category or collection is called `{name}`{}", hint(.near))]
    ContextNotFound {
        /// The name that was sought.
        name: String,
        /// The names that exist nearby.
        near: Vec<String>,
    },
    /// Several documents fit where one was asked for.
    #[error("several documents fit {what}; ask for one of {}", .candidates.join(", "))]
    Ambiguous {
        /// The name that was sought.
        what: String,
        /// The names that settle it.
        candidates: Vec<String>,
    },
    /// Everything found needs flags that are not set so.
    #[error("{what} is left out because of flags; it needs {needs}")]
    FlagsUnmet {
        /// The name that was sought.
        what: String,
        /// The flags and the values wanted.
        needs: String,
    },
    /// A document is larger than what is served.
    #[error(
        "{what} is {size} bytes long, more than the {limit} that are served; split it or shorten it"
    )]
    TooLarge {
        /// Which.
        what: String,
        /// How large it is.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A document could not be read.
    #[error("{what} could not be read: {why}")]
    Unreadable {
        /// Which.
        what: String,
        /// The words of the system.
        why: String,
    },
    /// A template could not be rendered.
    #[error("the template {what} could not be rendered: {why}")]
    Template {
        /// Which.
        what: String,
        /// The fault.
        why: String,
    },
    /// The work took too long, or too much of it was waiting.
    #[error("reading took too long; ask for fewer documents")]
    TooSlow,
    /// The name cannot be given.
    #[error(transparent)]
    BadName(#[from] BadName),
    /// There is one of that name already.
    #[error("{what} exists already; change it, or choose another name")]
    Exists {
        /// What.
        what: String,
    },
    /// Others name it.
    #[error("{what} is named by {}; change that first", .by.join(", "))]
    InUse {
        /// What.
        what: String,
        /// The names of those who use it.
        by: Vec<String>,
    },
    /// The change makes no sense.
    #[error("{why}")]
    BadChange {
        /// The fault.
        why: String,
    },
    /// The change could not be written down; nothing was changed.
    #[error("nothing was changed: {why}")]
    NotKept {
        /// The fault.
        why: String,
    },
}

impl KnowledgeError {
    /// A name that was not found, with what is called alike.
    pub(super) fn not_found(what: impl Into<String>, near: Vec<String>) -> KnowledgeError {
        KnowledgeError::NotFound { what: what.into(), near }
    }

    pub fn class(&self) -> Class {
        match self {
            KnowledgeError::NotFound { .. }
            | KnowledgeError::ContextNotFound { .. }
            | KnowledgeError::FlagsUnmet { .. } => Class::NotFound,
            KnowledgeError::Ambiguous { .. } => Class::AmbiguousUri,
            KnowledgeError::BadScheme { .. }
            | KnowledgeError::BadAddress { .. }
            | KnowledgeError::BadExpression(_)
            | KnowledgeError::BadPattern { .. }
            | KnowledgeError::BadName(_)
            | KnowledgeError::BadChange { .. } => Class::InvalidArguments,
            KnowledgeError::TooLarge { .. } => Class::TooLarge,
            KnowledgeError::TooSlow => Class::Busy,
            KnowledgeError::Unreadable { .. } | KnowledgeError::Template { .. } => {
                Class::ResourceExecutionError
            }
            KnowledgeError::Exists { .. } | KnowledgeError::InUse { .. } => Class::Conflict,
            KnowledgeError::NotKept { .. } => Class::StorageError,
        }
    }

    /// The error for a caller that asked by URI, and who gave no other argument.
    pub(super) fn for_uri(self) -> SourceError {
        if let KnowledgeError::TooLarge { limit, .. } = self {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            return SourceError::TooLarge { limit };
        }
        let class = match self.class() {
            Class::InvalidArguments => Class::InvalidUri,
            // Nothing has that very name.
            Class::AmbiguousUri => Class::NotFound,
            class => class,
        };
        SourceError::Told { class, message: self.to_string() }
    }

    /// Whether it says that nothing is there.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            KnowledgeError::NotFound { .. }
                | KnowledgeError::ContextNotFound { .. }
                | KnowledgeError::FlagsUnmet { .. }
        )
    }
}

fn hint(near: &[String]) -> String {
    match near {
        [] => "; guide://help shows what there is".to_owned(),
        [one] => format!("; did you mean `{one}`?"),
        several => format!("; nearby: {}", several.join(", ")),
    }
}
