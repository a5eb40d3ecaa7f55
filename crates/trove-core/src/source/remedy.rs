//! What a person can do about a server, told by its state.

use super::meaning::ASKS_WHO;
use crate::status::{AWAITS_APPROVAL, NOT_AS_APPROVED, Remedy};

/// The command that lets a server in this state work again, if that is known.
pub fn of_state(state: &str) -> Option<Remedy> {
    if state.contains(ASKS_WHO) {
        return Some(Remedy::LogIn);
    }
    let awaits = state.contains(AWAITS_APPROVAL) || state.contains(NOT_AS_APPROVED);
    awaits.then_some(Remedy::Approve)
}
