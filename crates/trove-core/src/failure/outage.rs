//! Why a Source is out of use: a reason that programs read, and words for people.

use std::fmt;

use crate::status::Remedy;

/// Why a Source is out of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// The reason.
    pub why: Why,
    /// The reason in words for people; no code parses them.
    pub told: String,
    /// The command that ends it, e.g. `trove auth login wiki`.
    pub command: Option<String>,
}

/// The reason of an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is tried again, and may come back by itself.
    Passing,
    /// The server asks who we are, and a user can log in.
    AsksWho,
    /// The server does not believe what the configuration says of who we are.
    NotBelieved,
    /// The server knows who we are, and refuses.
    Forbidden,
    /// A person has not approved what would be run.
    Unapproved,
    /// It cannot work as it is configured.
    Misconfigured,
    /// It was stopped or removed.
    Gone,
}

impl Why {
    /// The reason that an HTTP status gives, e.g. of a proxy before the server.
    pub fn of_status(status: u16) -> Why {
        match status {
            401 => Why::NotBelieved,
            403 => Why::Forbidden,
            _ => Why::Passing,
        }
    }

    /// The command that ends it, if there is one.
    pub fn remedy(self) -> Option<Remedy> {
        match self {
            Why::AsksWho => Some(Remedy::LogIn),
            Why::Unapproved => Some(Remedy::Approve),
            Why::Passing | Why::NotBelieved | Why::Forbidden | Why::Misconfigured | Why::Gone => {
                None
            }
        }
    }
}

impl Outage {
    /// An outage for this reason.
    pub fn new(why: Why, told: impl Into<String>) -> Outage {
        Outage { why, told: told.into(), command: None }
    }

    /// One that may end by itself.
    pub fn passing(told: impl Into<String>) -> Outage {
        Outage::new(Why::Passing, told)
    }

    /// One that ends when the configuration is mended.
    pub fn misconfigured(told: impl Into<String>) -> Outage {
        Outage::new(Why::Misconfigured, told)
    }

    /// The outage with other words.
    #[must_use]
    pub fn told(self, told: impl Into<String>) -> Outage {
        Outage { told: told.into(), ..self }
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told)?;
        match &self.command {
            Some(command) => write!(f, ": run `{command}`"),
            None => Ok(()),
        }
    }
}
