//! Why a question got no answer.

use crate::{
    catalogue::{BadCursor, RouteError},
    failure::{Class, Failure},
    json::Object,
    source::{SourceError, SourceId},
    uri::PublicUri,
};

/// Why a question got no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AskError {
    /// No resource or template fits.
    #[error("{}no source serves {uri}{}", if *is_foreign { FOREIGN } else { "" }, if *awaits_lists { NOT_ALL_LISTED } else { "" })]
    NotFound {
        /// The name that was asked for.
        uri: PublicUri,
        /// Its scheme is that of no resource and no template.
        is_foreign: bool,
        /// Some server has not said yet what it has.
        awaits_lists: bool,
    },
    /// Several Sources own it, and none is picked silently.
    #[error("several sources serve {uri}; ask for one of {}", list(candidates))]
    Ambiguous {
        /// The name that was asked for.
        uri: PublicUri,
        /// The names that settle it.
        candidates: Vec<PublicUri>,
    },
    /// The caller lacks the role it takes.
    #[error("{uri} takes {}; read auth://status to see your own roles", needed(roles))]
    Forbidden {
        /// The name that was asked for.
        uri: PublicUri,
        /// The roles of which one is needed; none if the resource is closed to every caller.
        roles: Vec<String>,
    },
    /// No tool or prompt of that name.
    #[error("unknown {what}: {name}")]
    UnknownName {
        /// `tool` or `prompt`.
        what: &'static str,
        /// The name that was asked for.
        name: String,
    },
    /// The cursor is not one of ours.
    #[error(transparent)]
    BadCursor(#[from] BadCursor),
    /// The arguments are not what the operation takes.
    #[error("{what}")]
    BadArguments {
        /// The fault in them.
        what: String,
    },
    /// Too much is being watched.
    #[error("{limit} resources are being watched already; unsubscribe from some")]
    TooManyWatches {
        /// The limit.
        limit: usize,
    },
    /// The Source failed.
    #[error("{}", of_source(source_id, uri.as_ref(), error))]
    Source {
        /// Who.
        source_id: SourceId,
        /// The resource it was asked for, if it was one resource.
        uri: Option<PublicUri>,
        /// Why.
        error: SourceError,
    },
}

/// The words before the rest of a message where the scheme already leads nowhere.
const FOREIGN: &str = "Invalid URI scheme: ";
/// The end of a message on a name that may become known.
const NOT_ALL_LISTED: &str = "; not every server has been listed yet: try again in a while";

impl AskError {
    /// There is nothing of that name.
    pub(super) fn not_found(uri: &PublicUri) -> AskError {
        AskError::NotFound { uri: uri.clone(), is_foreign: false, awaits_lists: false }
    }

    /// Refuses arguments that hold a deciding member twice: a server they are passed on to might
    /// take the other one.
    pub(super) fn check_once(object: &Object<'_>, keys: &[&str]) -> Result<(), AskError> {
        match keys.iter().find(|key| object.is_given_twice(key)) {
            Some(key) => Err(AskError::BadArguments { what: format!("`{key}` is given twice") }),
            None => Ok(()),
        }
    }

    /// The class of failure it is told as.
    pub fn class(&self) -> Class {
        match self {
            AskError::NotFound { .. } => Class::InvalidUri,
            AskError::Ambiguous { .. } => Class::AmbiguousUri,
            AskError::Forbidden { .. } => Class::Unauthorized,
            AskError::UnknownName { .. }
            | AskError::BadCursor(_)
            | AskError::BadArguments { .. } => Class::InvalidArguments,
            AskError::TooManyWatches { .. } => Class::TooManyWatches,
            AskError::Source { error: SourceError::Told { class, .. }, .. } => *class,
            AskError::Source { error, uri, .. } => {
                error.meaning(uri.as_ref().map(PublicUri::as_str)).class()
            }
        }
    }

    /// The resource that was asked for, if it is one.
    pub fn subject(&self) -> Option<&PublicUri> {
        match self {
            AskError::NotFound { uri, .. }
            | AskError::Ambiguous { uri, .. }
            | AskError::Forbidden { uri, .. } => Some(uri),
            AskError::Source { uri, .. } => uri.as_ref(),
            AskError::UnknownName { .. }
            | AskError::BadCursor(_)
            | AskError::BadArguments { .. }
            | AskError::TooManyWatches { .. } => None,
        }
    }

    /// Whether what was asked for is not in the catalogue.
    pub(super) fn is_unknown_name(&self) -> bool {
        matches!(self, AskError::NotFound { .. } | AskError::UnknownName { .. })
    }

    pub(super) fn route(uri: &PublicUri, error: RouteError) -> AskError {
        match error {
            RouteError::Unknown => AskError::not_found(uri),
            RouteError::TooLong { .. } => AskError::BadArguments { what: error.to_string() },
            RouteError::Ambiguous { candidates } => {
                AskError::Ambiguous { uri: uri.clone(), candidates }
            }
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        let class = error.class();
        let failure = Failure::new(class, error.to_string(), class.next());
        let failure = match error.subject() {
            Some(subject) => failure.about(subject.clone()),
            None => failure,
        };
        match error {
            AskError::NotFound { awaits_lists, .. } => failure.retryable(awaits_lists),
            AskError::Ambiguous { candidates, .. } => {
                let names: Vec<&str> = candidates.iter().map(PublicUri::as_str).collect();
                failure.with("candidates", names)
            }
            AskError::Forbidden { roles, .. } => failure.with("roles", roles),
            AskError::Source { source_id, uri, error } => {
                let failure = failure.by_source(&error);
                if matches!(error, SourceError::NotFound | SourceError::Told { .. }) {
                    return failure;
                }
                let may_pass = error.meaning(uri.as_ref().map(PublicUri::as_str)).may_pass();
                failure
                    .with("source", source_id.as_str())
                    .with("retryable", may_pass)
                    .retryable(may_pass)
            }
            AskError::UnknownName { .. }
            | AskError::BadCursor(_)
            | AskError::BadArguments { .. }
            | AskError::TooManyWatches { .. } => failure,
        }
    }
}

fn needed(roles: &[String]) -> String {
    match roles {
        [] => "a role that nobody has".to_owned(),
        [one] => format!("the role {one}"),
        several => format!("one of the roles {}", several.join(", ")),
    }
}

fn of_source(id: &SourceId, uri: Option<&PublicUri>, error: &SourceError) -> String {
    match (error, uri) {
        (SourceError::NotFound, Some(uri)) => format!("{id} has no resource {uri}"),
        // The words are our own, and name what they are about.
        (SourceError::Told { message, .. }, _) => message.clone(),
        _ => format!("{id}: {error}"),
    }
}

fn list(candidates: &[PublicUri]) -> String {
    candidates.iter().map(PublicUri::as_str).collect::<Vec<_>>().join(", ")
}
