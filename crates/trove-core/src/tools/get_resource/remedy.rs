//! The failures of servers that wait for a person, with the command that ends the wait.
//!
//! The command is told to every caller, also where causes are masked.

use super::failures::{details, shown};
use crate::{
    gateway::Gateway,
    source::{Outage, SourceError, SourceId},
    status::{Remedy, State},
    tools::{Advice, Class, Failure},
    uri::PublicUri,
};

/// The failure of a read whose server waits for a person.
pub(super) fn awaited(
    gateway: &Gateway,
    uri: &PublicUri,
    source: &SourceId,
    error: &SourceError,
) -> Option<Failure> {
    let SourceError::Unavailable(outage) = error else { return None };
    let remedy = outage.why.remedy()?;
    let name = shown(uri.as_str());
    let failure = match remedy {
        Remedy::LogIn => {
            let message = format!("{source} asks who you are before it gives {name}.");
            Failure::new(Class::Unauthorized, message, advice(gateway, source, remedy))
        }
        Remedy::Approve | Remedy::Examine => {
            let message = format!("{source} is not in use yet, so {name} cannot be read.");
            Failure::new(Class::ResourceExecutionError, message, advice(gateway, source, remedy))
        }
    };
    Some(failure.details(details(source, error)))
}

/// Advice to look at a server that could not be connected to, which only a person can mend.
pub(super) fn examination(
    gateway: &Gateway,
    source: &SourceId,
    error: &SourceError,
) -> Option<Advice> {
    let is_out = matches!(error, SourceError::Unavailable(_));
    let state = gateway.board().of(source).map(|status| status.state);
    let is_given_up = matches!(state, Some(State::Backoff | State::CircuitOpen | State::Stopped));
    (is_out && is_given_up).then(|| advice(gateway, source, Remedy::Examine))
}

/// Advice for the user about a server that is not in use, by the reason.
pub(super) fn of_server(gateway: &Gateway, source: &SourceId, outage: Option<&Outage>) -> Advice {
    let remedy = outage.and_then(|outage| outage.why.remedy());
    advice(gateway, source, remedy.unwrap_or(Remedy::Examine))
}

fn advice(gateway: &Gateway, source: &SourceId, remedy: Remedy) -> Advice {
    let command = gateway.board().command(remedy, source);
    let why = match remedy {
        Remedy::LogIn => "Tell the user to log in where Trove runs: ",
        Remedy::Approve => "Tell the user to approve what would be run, where Trove runs: ",
        Remedy::Examine => "Tell the user to find out what is wrong, where Trove runs: ",
    };
    Advice::from(why).telling(format!("`{command}`"))
}
