//! How calls of our own tools and prompts ended, for the audit log.
//!
//! A tool that reads or searches is written down as that, by the Gateway. All others are written
//! down here, and so is one that failed before it came to it.

use serde_json::Value;

use super::{Call, Effect, Failure, Outcome, outcome::Given};
use crate::{access::audit, failure::Class, json::Json};

/// The arguments that name the thing that a tool changes, in the order in which they are told.
const SUBJECT: [&str; 4] = ["project", "category", "path", "name"];

pub(super) fn call(
    call: &Call<'_>,
    (name, effect): (&str, Effect),
    arguments: Option<&Json>,
    result: &Result<Outcome, Failure>,
) {
    if call.caller.trail.is_noted() {
        return;
    }
    let outcome = match result {
        Ok(Outcome(Given::Answer(_) | Given::Written(_))) => audit::Outcome::Done,
        Ok(Outcome(Given::NeedsInput(_))) => audit::Outcome::Failed(Class::ConsentRequired),
        Err(failure) => ending(failure),
    };
    let subject = match effect {
        // The words of a question are private.
        Effect::Reads => None,
        Effect::Writes | Effect::Destroys | Effect::PassesOn => arguments.and_then(subject),
    };
    let target = subject.map_or_else(|| name.to_owned(), |subject| format!("{name} {subject}"));
    call.gateway.settle_own(call.caller, ("call_tool", &target), call.began, outcome);
}

pub(super) fn prompt(call: &Call<'_>, name: &str, result: &Result<String, Failure>) {
    let outcome = result.as_ref().map_or_else(ending, |_| audit::Outcome::Done);
    call.gateway.settle_own(call.caller, ("get_prompt", name), call.began, outcome);
}

fn ending(failure: &Failure) -> audit::Outcome {
    audit::Outcome::Failed(failure.class())
}

/// The thing that is changed, without its new value, e.g. `lang/python.md`.
fn subject(arguments: &Json) -> Option<String> {
    let given: Value = arguments.to().ok()?;
    let named = SUBJECT.iter().filter_map(|key| given.get(*key)?.as_str());
    let named = named.collect::<Vec<_>>().join("/");
    (!named.is_empty()).then_some(named)
}
