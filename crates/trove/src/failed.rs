//! Why a command ended badly: a message, a class, and an exit code by class.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use trove_core::{SourceError, gateway::AskError, source::meaning::Meaning};

/// Exit codes by class.
pub mod exit {
    /// The command line is wrong.
    pub const USAGE: u8 = 1;
    /// `doctor` found something that must be mended.
    pub const TO_MEND: u8 = 1;
    /// The configuration is wrong.
    pub const CONFIG: u8 = 2;
    /// The caller lacks the role it takes.
    pub const UNAUTHORISED: u8 = 3;
    /// A server, or an address, cannot be reached.
    pub const UNREACHABLE: u8 = 4;
    /// A server answered with an error, or there is no such resource.
    pub const SOURCE: u8 = 5;
}

/// The code with which a Source says that there is no such resource.
const NOT_FOUND: i64 = -32002;

/// Why a command ended badly.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failed {
    pub(crate) code: u8,
    pub(crate) class: Cow<'static, str>,
    pub(crate) message: String,
    /// What a tool answered, where one did: printed instead with `--json`.
    pub(crate) object: Option<String>,
}

impl Failed {
    pub(crate) fn new(code: u8, class: &'static str, message: impl Into<String>) -> Failed {
        Failed { code, class: class.into(), message: message.into(), object: None }
    }
}

impl From<AskError> for Failed {
    fn from(error: AskError) -> Failed {
        let message = error.to_string();
        let meaning = match &error {
            AskError::Source { uri, error, .. } => {
                Some(error.meaning(uri.as_ref().map(|uri| uri.as_str())))
            }
            _ => None,
        };
        match error {
            AskError::Source { error, .. } if error.is_retryable() => {
                Failed::new(exit::UNREACHABLE, "ResourceExecutionError", message)
            }
            AskError::NotFound { .. } => {
                let message = format!("{message}; `trove ls` shows what there is");
                Failed::new(exit::SOURCE, "InvalidURI", message)
            }
            // What our own guide says of a name that leads nowhere; it names what is near.
            AskError::Source { error: SourceError::Refused { code: NOT_FOUND, .. }, .. } => {
                Failed::new(exit::SOURCE, "InvalidURI", message)
            }
            AskError::Source { error: SourceError::Refused { .. }, .. } => {
                let (class, hint) = told_as(meaning.unwrap_or(Meaning::Unknown));
                Failed::new(exit::SOURCE, class, format!("{message}{hint}"))
            }
            AskError::Forbidden { .. } => Failed::new(exit::UNAUTHORISED, "Unauthorized", message),
            AskError::Ambiguous { .. } => Failed::new(exit::SOURCE, "AmbiguousURI", message),
            _ => Failed::new(exit::SOURCE, "ResourceExecutionError", message),
        }
    }
}

/// The class of a server's refusal, and what to do about it.
fn told_as(meaning: Meaning) -> (&'static str, &'static str) {
    match meaning {
        Meaning::NotFound => ("NotFound", ""),
        Meaning::WhoAreYou | Meaning::Forbidden => {
            ("Unauthorized", "; check that server's credentials in the configuration")
        }
        Meaning::Passing | Meaning::Busy(_) | Meaning::Cancelled => {
            ("ResourceExecutionError", "; try again in a few seconds")
        }
        Meaning::Unknown => ("ResourceExecutionError", "; try once more, then see `trove doctor`"),
        Meaning::BadArgument | Meaning::OwnFault | Meaning::Hopeless | Meaning::TooLarge(_) => {
            ("ResourceExecutionError", "")
        }
    }
}
