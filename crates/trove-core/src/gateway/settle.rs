//! How each question ended, for the audit log: who, what, when, how.

use std::time::SystemTime;

use tokio::time::Instant;

use super::{AskError, Gateway, Reading};
use crate::{
    access::audit::{Cache, Entry, Knock, Outcome},
    caller::Caller,
    source::{Reply, SourceId},
};

/// A question on its way: settled once, whatever its end.
pub(super) struct Asked<'a> {
    pub(super) caller: &'a Caller,
    pub(super) action: &'static str,
    pub(super) target: &'a str,
    began: Instant,
}

impl<'a> Asked<'a> {
    pub(super) fn new(caller: &'a Caller, action: &'static str, target: &'a str) -> Asked<'a> {
        Asked { caller, action, target, began: Instant::now() }
    }

    fn entry(&self) -> Entry {
        let caller = self.caller;
        let at = SystemTime::now();
        Entry {
            client: caller.client.clone(),
            principal: caller.principal.clone(),
            target: Some(self.target.to_owned()),
            took: Some(self.began.elapsed()),
            ..Entry::new(at, caller.door.as_str(), caller.via, self.action)
        }
    }
}

impl Gateway {
    /// Writes down how something ended: the one place where that is done.
    fn record(&self, asked: &Asked<'_>, fill: impl FnOnce(&mut Entry)) {
        asked.caller.trail.note();
        let Some(audit) = self.audit.get().filter(|audit| audit.is_on()) else { return };
        let mut entry = asked.entry();
        fill(&mut entry);
        audit.record(entry);
    }

    pub(super) fn settle_read(&self, asked: &Asked<'_>, result: &Result<Reading, AskError>) {
        let ended = self.ended(result.as_ref().err());
        self.record(asked, |entry| {
            (entry.source, entry.outcome) = ended;
            let Ok(reading) = result else { return };
            entry.source = Some(reading.source.clone());
            entry.given = Some(reading.reply.body.as_bytes().clone());
            entry.cache = Some(match (reading.stale, reading.hit) {
                (true, _) => Cache::Stale,
                (false, true) => Cache::Hit,
                (false, false) => Cache::Miss,
            });
        });
    }

    pub(super) fn settle(&self, asked: &Asked<'_>, result: &Result<Reply, AskError>) {
        let ended = self.ended(result.as_ref().err());
        self.record(asked, |entry| {
            (entry.source, entry.outcome) = ended;
            entry.given = result.as_ref().ok().map(|reply| reply.body.as_bytes().clone());
        });
    }

    /// Settles a question whose answer has nothing that could be digested.
    pub(super) fn settle_end<T>(&self, asked: &Asked<'_>, result: &Result<T, AskError>) {
        let ended = self.ended(result.as_ref().err());
        self.record(asked, |entry| (entry.source, entry.outcome) = ended);
    }

    /// Counts a failure, and says how the question ended: at which Source, and in which class.
    fn ended(&self, error: Option<&AskError>) -> (Option<SourceId>, Outcome) {
        let Some(error) = error else { return (None, Outcome::Done) };
        let class = error.class();
        self.metrics.failures.count(class);
        let source = match error {
            AskError::Source { source_id, .. } => Some(source_id.clone()),
            _ => None,
        };
        (source, Outcome::Failed(class))
    }

    /// Writes down that somebody was not let in at a door.
    pub fn settle_turned_away(&self, knock: Knock<'_>) {
        self.metrics.failures.count(knock.class);
        if let Some(audit) = self.audit.get() {
            audit.turn_away(knock);
        }
    }

    /// Writes down a tool or a prompt of ours: what it is called, and with what.
    pub(crate) fn settle_own(
        &self,
        caller: &Caller,
        (action, target): (&'static str, &str),
        began: Instant,
        outcome: Outcome,
    ) {
        if let Outcome::Failed(class) = outcome {
            self.metrics.failures.count(class);
        }
        let asked = Asked { caller, action, target, began };
        self.record(&asked, |entry| entry.outcome = outcome);
    }
}
