//! Consent: a tool that destroys needs its exact word, and where the client can ask the
//! person, the person's yes to exactly these arguments.

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::{
    ToolSpec,
    outcome::{Class, Failure, Outcome},
};
use crate::{
    hex::hex,
    json::Json,
    source::{Ask, Reply},
};

/// What the question is called in the exchange with the client.
const QUESTION: &str = "consent";

/// Whether the tool may run: nothing, or the question that must be answered first.
pub(super) fn ask(
    spec: &ToolSpec,
    arguments: &Value,
    ask: &Ask,
) -> Result<Option<Outcome>, Failure> {
    let Some(word) = spec.consent else { return Ok(None) };
    if arguments.get("explicit_action").and_then(Value::as_str) != Some(word) {
        return Err(refused(spec, word));
    }
    let can_ask = ask.capabilities.as_ref().is_some_and(|all| all.get("elicitation").is_some());
    if !can_ask {
        return Ok(None);
    }
    let state = state_of(spec, arguments);
    let Some(answers) = &ask.answers else {
        return Ok(Some(Outcome::needs_input(question(spec, arguments, &state))));
    };
    let is_same = answers.get_str("requestState").is_some_and(|given| given == state);
    let answer = answers.get("inputResponses").and_then(|all| all.get(QUESTION));
    let accepts = answer.as_ref().is_some_and(|answer| {
        answer.get_str("action").is_some_and(|action| action == "accept")
            && answer
                .get("content")
                .and_then(|content| content.get("confirm"))
                .is_some_and(|confirm| confirm.as_str() == "true")
    });
    if is_same && accepts { Ok(None) } else { Err(declined(spec)) }
}

/// The arguments the question was about: a yes to one thing is no yes to another.
fn state_of(spec: &ToolSpec, arguments: &Value) -> String {
    let text = format!("{}{arguments}", spec.name);
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

fn question(spec: &ToolSpec, arguments: &Value, state: &str) -> Reply {
    let mut shown = arguments.clone();
    if let Some(object) = shown.as_object_mut() {
        object.remove("explicit_action");
    }
    let message = format!("Shall {} really be done with {shown}? It cannot be undone.", spec.name);
    let body = json!({
        "resultType": "input_required",
        "inputRequests": { QUESTION: {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": message,
                "requestedSchema": {
                    "type": "object",
                    "properties": { "confirm": { "type": "boolean", "title": "Yes, do it" } },
                    "required": ["confirm"],
                },
            },
        } },
        "requestState": state,
    });
    Reply { needs_input: true, ..Reply::plain(Json::of(&body)) }
}

fn refused(spec: &ToolSpec, word: &str) -> Failure {
    let message = format!("{} destroys; nothing was changed", spec.name);
    let action = format!(
        "Ask the user whether this shall really be done; only if so, call again with explicit_action \"{word}\"."
    );
    Failure::new(Class::ConsentRequired, message, action)
        .with("field", "explicit_action")
        .with("allowed", vec![word])
        .instruction("Do not repeat the call on your own: ask the user first.")
}

fn declined(spec: &ToolSpec) -> Failure {
    let message = format!("the user did not agree to {}; nothing was changed", spec.name);
    Failure::new(Class::ConsentRequired, message, "Leave it as it is, or ask the user what to do.")
        .instruction("Do not repeat the call.")
}
