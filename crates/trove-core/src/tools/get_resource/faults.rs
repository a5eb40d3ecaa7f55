//! The words for a failed read: one row for each meaning of a server's error.

use crate::source::meaning::Meaning;

/// How a failure is told; its class is that of the meaning.
pub(super) struct Fault {
    /// How the sentence goes on behind the server's name; the resource follows.
    pub(super) says: &'static str,
    /// The first thing to do, which needs no tool.
    pub(super) action: &'static str,
    /// One more thing to do.
    pub(super) then: Option<&'static str>,
}

const COULD_NOT_GIVE: &str = "could not give";
const LOOK: &str = "If it fails again, call health_check to see how the server is.";
const CREDENTIALS: &str = "Check the credentials of that server in the configuration; auth://status shows who you are here.";

/// How an error of this meaning is told.
pub(super) fn fault_of(meaning: Meaning) -> Fault {
    let failed = |action: &'static str, then: Option<&'static str>| Fault {
        says: COULD_NOT_GIVE,
        action,
        then,
    };
    match meaning {
        Meaning::WhoAreYou => Fault {
            says: "does not know who asks, and so does not give",
            action: CREDENTIALS,
            then: None,
        },
        Meaning::Forbidden => {
            Fault { says: "does not let this gateway read", action: CREDENTIALS, then: None }
        }
        Meaning::Cancelled => Fault {
            says: "was told to stop reading",
            action: "Ask again if it is still wanted.",
            then: None,
        },
        Meaning::Passing => failed("Try again in a few seconds.", Some(LOOK)),
        Meaning::BadArgument => failed(
            "Ask for another value: the server takes the one in this URI for wrong, and says why in `details`.",
            Some("Or call health_check, if the URI is one that was listed."),
        ),
        Meaning::OwnFault | Meaning::TooLarge(_) | Meaning::NotFound => failed(
            "Tell the user that the server itself is at fault; `details` has its words.",
            Some("Call health_check to see how it is; waiting seldom mends such a fault."),
        ),
        Meaning::Hopeless => failed(
            "Call health_check to see what is wrong with the server; asking again will not help.",
            Some("Tell the user what the server lacks."),
        ),
        Meaning::Unknown | Meaning::Busy(_) => {
            failed("It is not known whether asking again helps: try once more.", Some(LOOK))
        }
    }
}
