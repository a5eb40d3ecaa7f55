//! Consent: a tool that destroys needs its exact word, and where the client can ask the
//! person, the person's yes to exactly these arguments.

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::{ToolSpec, outcome::Outcome};
use crate::{
    content::escape_line,
    failure::{Class, Failure},
    hex::hex,
    json::{Json, Object},
    source::{Ask, Reply},
};

/// The name of the question in the exchange with the client.
const QUESTION: &str = "consent";

/// The consent that a tool needs.
#[derive(Debug, Clone, Copy)]
pub struct Consent {
    /// The word without which the tool does nothing.
    pub word: &'static str,
    /// One sentence on the loss, for the person who is asked.
    pub loss: &'static str,
}

/// How much of one argument the question to the person shows, in characters.
const MAX_SHOWN: usize = 300;

/// Refuses a call of a tool that destroys without its exact word.
pub(super) fn expect_word(spec: &ToolSpec, arguments: &Map<String, Value>) -> Result<(), Failure> {
    match spec.consent.map(|consent| consent.word) {
        Some(word) if arguments.get("explicit_action").and_then(Value::as_str) != Some(word) => {
            Err(refused(spec, word))
        }
        _ => Ok(()),
    }
}

/// The answer instead of a run of the tool, if it may not run: the question that must be answered
/// first, or that the answer was no.
pub(super) fn ask(
    spec: &ToolSpec,
    arguments: &Value,
    ask: &Ask,
) -> Option<Result<Outcome, Failure>> {
    spec.consent?;
    ask.capabilities.as_ref().filter(|it| can_be_asked(it))?;
    let state = state_of(spec, arguments);
    let Some(answers) = &ask.answers else {
        return Some(Ok(Outcome::needs_input(question(spec, arguments, &state))));
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
    (!is_same || !accepts).then(|| Err(declined(spec)))
}

/// Whether a client that says this of itself can put a form before the person.
pub fn can_be_asked(capabilities: &Json) -> bool {
    let elicitation = capabilities.get("elicitation");
    // One that names no kind knows forms only.
    let is_form = |kinds: &Object<'_>| kinds.is_empty() || kinds.get("form").is_some();
    elicitation.is_some_and(|it| it.object().as_ref().is_some_and(is_form))
}

/// A question for a client that is asked before its call is done.
pub struct Question {
    /// The params of `elicitation/create`.
    pub params: Json,
    state: String,
}

impl Question {
    /// The question before a call with these arguments, if the tool needs consent.
    pub(super) fn of(spec: &ToolSpec, arguments: &Value) -> Option<Question> {
        spec.consent?;
        let params = Json::of(&form(spec, arguments));
        Some(Question { params, state: state_of(spec, arguments) })
    }

    /// The person's answer as it comes with a call; `None`: there was none.
    pub fn answered(&self, answer: Option<&Json>) -> Json {
        let answer = answer.map_or(r#"{"action":"cancel"}"#, Json::as_str);
        let mut responses = Object::new();
        responses.set(QUESTION, answer.to_owned());
        let mut answers = Object::new();
        answers.set("inputResponses", responses.to_text());
        answers.set_str("requestState", &self.state);
        answers.to_json()
    }
}

/// The arguments the question was about: a yes to one thing is no yes to another.
fn state_of(spec: &ToolSpec, arguments: &Value) -> String {
    let text = format!("{}{arguments}", spec.name);
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

fn question(spec: &ToolSpec, arguments: &Value, state: &str) -> Reply {
    let mut params = form(spec, arguments);
    params["mode"] = json!("form");
    let body = json!({
        "resultType": "input_required",
        "inputRequests": { QUESTION: { "method": "elicitation/create", "params": params } },
        "requestState": state,
    });
    Reply { needs_input: true, ..Reply::plain(Json::of(&body)) }
}

/// The question as a form.
fn form(spec: &ToolSpec, arguments: &Value) -> Value {
    let mut shown = arguments.clone();
    if let Some(object) = shown.as_object_mut() {
        object.remove("explicit_action");
        object.values_mut().for_each(shorten);
    }
    let loss = spec.consent.map_or("", |consent| consent.loss);
    let message = format!("Shall {} really be done with {shown}? {loss}", spec.name);
    json!({
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": { "confirm": { "type": "boolean", "title": "Yes, do it" } },
            "required": ["confirm"],
        },
    })
}

/// Cuts a long text, so that a whole document does not hide the question.
fn shorten(value: &mut Value) {
    let Value::String(text) = value else { return };
    let length = text.chars().count();
    if length > MAX_SHOWN {
        let start: String = text.chars().take(MAX_SHOWN).collect();
        *text = format!("{start}… ({length} characters)");
    }
    *text = escape_line(text).into_owned();
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
