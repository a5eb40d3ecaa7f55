//! Why local knowledge gave no answer, in the words of whoever asked.

use crate::{json::Json, source::SourceError};

use super::{expression::BadExpression, name::BadName};

/// How a Source says that there is no such resource; doors put it in their client's words.
const NOT_FOUND: i64 = -32002;
/// How a Source says that the question cannot be understood.
const BAD_QUESTION: i64 = -32602;
/// How a Source says that it failed.
const FAILED: i64 = -32603;

/// Why local knowledge gave no answer, or made no change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KnowledgeError {
    /// The URI is of another scheme.
    #[error("Invalid URI scheme: {uri} does not begin with guide://")]
    BadScheme {
        /// What was asked for.
        uri: String,
    },
    /// The URI is none of the patterns.
    #[error("{uri} is no guide URI: {why}; guide://help shows every pattern")]
    BadAddress {
        /// What was asked for.
        uri: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The expression cannot be read.
    #[error(transparent)]
    BadExpression(#[from] BadExpression),
    /// The pattern cannot be read.
    #[error("`{pattern}` is no pattern: {why}")]
    BadPattern {
        /// What was written.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing of that name, or nothing that matches.
    #[error("not found: {what}{}", hint(.near))]
    NotFound {
        /// What was sought.
        what: String,
        /// What exists nearby.
        near: Vec<String>,
    },
    /// Neither a category nor a collection of that name.
    #[error("Context not found: no category or collection is called `{name}`{}", hint(.near))]
    ContextNotFound {
        /// What was sought.
        name: String,
        /// What exists nearby.
        near: Vec<String>,
    },
    /// Several documents fit where one was asked for.
    #[error("several documents fit {what}; ask for one of {}", .candidates.join(", "))]
    Ambiguous {
        /// What was sought.
        what: String,
        /// The names that settle it.
        candidates: Vec<String>,
    },
    /// Everything found needs flags that are not set so.
    #[error("{what} is left out because of flags; it needs {needs}")]
    FlagsUnmet {
        /// What was sought.
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
        /// What the system said.
        why: String,
    },
    /// A template could not be rendered.
    #[error("the template {what} could not be rendered: {why}")]
    Template {
        /// Which.
        what: String,
        /// What is wrong with it.
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
        /// By whom.
        by: Vec<String>,
    },
    /// The change makes no sense.
    #[error("{why}")]
    BadChange {
        /// What is wrong with it.
        why: String,
    },
    /// The change could not be written down; nothing was changed.
    #[error("nothing was changed: {why}")]
    NotKept {
        /// What went wrong.
        why: String,
    },
}

impl KnowledgeError {
    /// A name that was not found, with what is called alike.
    pub(super) fn not_found(what: impl Into<String>, near: Vec<String>) -> KnowledgeError {
        KnowledgeError::NotFound { what: what.into(), near }
    }

    /// The same for whoever asked by URI.
    pub(super) fn for_uri(self, uri: &str) -> SourceError {
        let code = match &self {
            KnowledgeError::TooLarge { limit, .. } => {
                return SourceError::TooLarge {
                    limit: usize::try_from(*limit).unwrap_or(usize::MAX),
                };
            }
            KnowledgeError::NotFound { .. }
            | KnowledgeError::ContextNotFound { .. }
            | KnowledgeError::Ambiguous { .. }
            | KnowledgeError::FlagsUnmet { .. } => NOT_FOUND,
            KnowledgeError::BadScheme { .. }
            | KnowledgeError::BadAddress { .. }
            | KnowledgeError::BadExpression(_)
            | KnowledgeError::BadPattern { .. }
            | KnowledgeError::BadName(_)
            | KnowledgeError::BadChange { .. } => BAD_QUESTION,
            KnowledgeError::Unreadable { .. }
            | KnowledgeError::Template { .. }
            | KnowledgeError::TooSlow
            | KnowledgeError::Exists { .. }
            | KnowledgeError::InUse { .. }
            | KnowledgeError::NotKept { .. } => FAILED,
        };
        let data = Some(Json::of(&serde_json::json!({ "uri": uri })));
        SourceError::Refused { code, message: self.to_string(), data }
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
