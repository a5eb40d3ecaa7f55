//! Why a command ended badly: a message, a class, and an exit code by class.

use serde::{Deserialize, Serialize};
use trove_core::{Failure, SourceError, gateway::AskError, source::meaning::Meaning};

pub(crate) use trove_core::Class;
pub use trove_core::failure::exit;

/// Why a command ended badly.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failed {
    pub(crate) code: u8,
    pub(crate) class: Class,
    pub(crate) message: String,
    /// The answer of a tool, where one failed: printed instead with `--json`.
    pub(crate) object: Option<String>,
}

impl Failed {
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Failed {
        Failed { code: class.exit(), class, message: message.into(), object: None }
    }

    /// The failure with another exit code than its class has.
    pub(crate) fn exiting(self, code: u8) -> Failed {
        Failed { code, ..self }
    }
}

impl From<&Failure> for Failed {
    fn from(failure: &Failure) -> Failed {
        Failed::new(failure.class(), failure.message()).exiting(failure.exit())
    }
}

impl From<AskError> for Failed {
    fn from(error: AskError) -> Failed {
        let hint = hint(&error);
        let mut failed = Failed::from(&Failure::from(error));
        failed.message.push_str(hint);
        failed
    }
}

/// The next step, where the message does not tell one.
fn hint(error: &AskError) -> &'static str {
    match error {
        AskError::NotFound { .. } => "; `trove ls` shows what there is",
        AskError::Source { uri, error: error @ SourceError::Refused { .. }, .. } => {
            match error.meaning(uri.as_ref().map(|uri| uri.as_str())) {
                Meaning::WhoAreYou | Meaning::Forbidden => {
                    "; check that server's credentials in the configuration"
                }
                Meaning::Passing | Meaning::Busy(_) | Meaning::Cancelled => {
                    "; try again in a few seconds"
                }
                Meaning::Unknown => "; try once more, then see `trove doctor`",
                Meaning::NotFound
                | Meaning::BadArgument
                | Meaning::OwnFault
                | Meaning::Hopeless
                | Meaning::TooLarge(_) => "",
            }
        }
        _ => "",
    }
}
