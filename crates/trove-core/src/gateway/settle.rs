//! How each question ended, for the audit log: who, what, when, how.

use std::{sync::Arc, time::SystemTime};

use tokio::time::Instant;

use super::{
    AskError, Gateway,
    road::{Answer, Call},
};
use crate::{
    access::audit::{Cache, Entry, Knock, Outcome},
    caller::{Caller, Via},
    failure::Class,
    source::SourceId,
};

/// A question on its way: settled once, however it ends.
pub(super) struct Asked<'a> {
    caller: &'a Caller,
    via: Via,
    action: &'static str,
    target: Arc<str>,
    began: Instant,
}

impl<'a> Asked<'a> {
    /// A call that begins; `None` if it is not written down.
    pub(super) fn of(caller: &'a Caller, call: &Call) -> Option<Asked<'a>> {
        let (action, target) = call.line()?;
        let via = match (call, caller.via) {
            (Call::Find(_) | Call::LiveSearch(_), Via::Native | Via::Bridge) => Via::Search,
            (_, via) => via,
        };
        Some(Asked { caller, via, action, target, began: Instant::now() })
    }

    fn entry(&self) -> Entry {
        let caller = self.caller;
        let at = SystemTime::now();
        let client = match self.via.client() {
            Some(client) => Some(client.into()),
            None => caller.client.clone(),
        };
        Entry {
            client,
            principal: caller.principal.clone(),
            target: Some(self.target.to_string()),
            took: Some(self.began.elapsed()),
            ..Entry::new(at, caller.door.as_str(), self.via, self.action)
        }
    }
}

impl Gateway {
    /// Writes down how something ended: the one place where that is done.
    fn record(&self, asked: &Asked<'_>, fill: impl FnOnce(&mut Entry)) {
        asked.caller.trail.note();
        if self.audit.is_on() {
            let mut entry = asked.entry();
            fill(&mut entry);
            self.audit.record(entry);
        }
    }

    /// Writes down how a call ended.
    pub(super) fn settle(&self, asked: &Asked<'_>, result: &Result<Answer, AskError>) {
        let failed = class_of(result);
        if let Some(class) = failed {
            self.metrics.failures.count(class);
        }
        self.record(asked, |entry| {
            if let Some(class) = failed {
                entry.outcome = Outcome::Failed(class);
            }
            match result {
                Ok(Answer::Reading(reading)) => {
                    entry.source = Some(reading.source.clone());
                    entry.given = Some(reading.reply.body.as_bytes().clone());
                    entry.cache = Some(match (reading.stale, reading.hit) {
                        (true, _) => Cache::Stale,
                        (false, true) => Cache::Hit,
                        (false, false) => Cache::Miss,
                    });
                }
                Ok(Answer::Live(answer)) => entry.source = Some(answer.source.clone()),
                Ok(Answer::Reply(reply)) => entry.given = Some(reply.body.as_bytes().clone()),
                Ok(Answer::Written(written)) => {
                    entry.source = Some(SourceId::guide());
                    entry.given = written.text.as_ref().ok().map(|text| text.clone().into());
                }
                Err(AskError::Source { source_id, .. }) => entry.source = Some(source_id.clone()),
                Ok(_) | Err(_) => {}
            }
        });
    }

    /// Writes down that a caller was not let in at a door.
    pub fn settle_turned_away(&self, knock: Knock<'_>) {
        self.metrics.failures.count(knock.class);
        self.audit.turn_away(knock);
    }

    /// Writes down the use of a tool or a prompt of ours: its name and its subject.
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
        let asked = Asked { caller, via: caller.via, action, target: target.into(), began };
        self.record(&asked, |entry| entry.outcome = outcome);
    }
}

/// The class in which a call failed; `None` if it did not.
fn class_of(result: &Result<Answer, AskError>) -> Option<Class> {
    match result {
        Ok(Answer::Found(Err(error))) => Some(error.class()),
        Ok(Answer::Documents(Err(_))) => Some(Class::InvalidUri),
        Ok(_) => None,
        Err(error) => Some(error.class()),
    }
}
