//! Writes changes that a command makes without a gateway into the audit log.

use std::time::SystemTime;

use trove_core::{
    access::audit::{Entry, Outcome},
    caller::{Door, Via},
};

use super::{Failed, runtime};
use crate::{app::open_audit, config::Config, errand};

/// One action, its targets and how it ended.
pub(super) struct Deed<'a> {
    pub(super) action: &'static str,
    pub(super) targets: &'a [String],
    pub(super) outcome: Outcome,
}

/// Writes it down, a line for each target. A log that cannot be written does not undo the action.
pub(super) async fn note(config: &Config, deed: Deed<'_>) {
    let audit = open_audit(config);
    for target in deed.targets {
        let door = Door::CommandLine.as_str();
        audit.record(Entry {
            client: Some(errand::CLIENT.into()),
            target: Some(target.clone()),
            outcome: deed.outcome,
            ..Entry::new(SystemTime::now(), door, Via::CommandLine, deed.action)
        });
    }
    audit.close().await;
}

/// Writes down approvals, from a command that does not wait for anything else.
pub(super) fn note_approvals(config: &Config, servers: &[String]) -> Result<(), Failed> {
    let deed = Deed { action: "approve", targets: servers, outcome: Outcome::Done };
    runtime()?.block_on(note(config, deed));
    Ok(())
}
