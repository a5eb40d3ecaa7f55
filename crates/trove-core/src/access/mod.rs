//! Who may see and read what. One place for every door.

pub mod audit;
mod canonical;
mod fold;
mod near;
mod pattern;
mod policy;
mod spelling;

pub use policy::{ANYBODY, BadPattern, MAX_RULES, Policy, Rule};

use crate::caller::{Caller, Door, Roles};

/// The rules in force, and the roles of the user who started the program.
#[derive(Debug, Default)]
pub struct Access {
    /// Who may read what.
    pub policy: Policy,
    /// The roles of callers at a local door.
    pub local_roles: Roles,
    /// Why something failed is told to those who run the gateway only.
    pub withholds_causes: bool,
}

/// The role of those who run the gateway.
pub const ADMIN: &str = "admin";

/// The rights that a rule leaves to a caller, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// To read it.
    Open,
    /// To know that it is there.
    Shown,
    /// Nothing: it might as well not be there.
    Hidden,
}

impl Access {
    /// The roles of a caller.
    pub fn roles<'a>(&'a self, caller: &'a Caller) -> &'a [String] {
        let roles = if caller.door.is_local() { &self.local_roles } else { &caller.roles };
        roles.as_slice()
    }

    /// Whether the caller is not told why something failed. A user at the command line can read the
    /// log.
    pub fn withholds_causes_from(&self, caller: &Caller) -> bool {
        let is_trusted =
            || caller.door == Door::CommandLine || self.roles(caller).iter().any(|r| r == ADMIN);
        self.withholds_causes && !is_trusted()
    }

    /// The rights that each rule leaves to the caller. Callers with equal rights see equal lists.
    pub fn standings(&self, caller: &Caller) -> Vec<Standing> {
        let roles = self.roles(caller);
        self.policy.rules().iter().map(|rule| rule.standing(roles)).collect()
    }
}
