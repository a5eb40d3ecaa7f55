//! Tools and a prompt that answer `input_required` until the client has supplied what they ask for (SEP-2322).
//!
//! State between rounds travels in the sealed `requestState` alone; the server remembers nothing.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, InputRequest, InputRequiredResult, InputResponses,
    PromptMessage, RequestMetaObject, RequestStateCodec, Role,
};
use serde_json::{Value, json};

use super::asking;

/// The one prompt that needs input.
pub(super) const PROMPT: &str = "test_input_required_result_prompt";

const PREFIX: &str = "test_input_required_result_";

/// Whether a tool of this name lives here.
pub(super) fn owns(tool: &str) -> bool {
    tool.starts_with(PREFIX) || tool == "test_streaming_elicitation"
}

/// Runs one round of the tool.
pub(super) fn call(
    codec: &RequestStateCodec,
    call: CallToolRequestParams,
    meta: &RequestMetaObject,
) -> Result<CallToolResponse, ErrorData> {
    let answers = call.input_responses.as_ref();
    let state = call.request_state.as_deref().map(|sealed| unseal(codec, sealed)).transpose()?;
    match call.name.strip_prefix(PREFIX).unwrap_or(&call.name) {
        "elicitation" => Ok(name(answers)),
        "sampling" => Ok(capital(answers)),
        "list_roots" => Ok(client_roots(answers)),
        "request_state" | "tampered_state" => match state {
            Some(_) => Ok(done("Confirmed: state-ok")),
            None => ask(
                [("confirm", asking::field("Please confirm", "ok", "boolean"))],
                codec,
                json!("confirm"),
            ),
        },
        "multiple_inputs" => {
            let complete = ["user_name", "greeting", "client_roots"]
                .iter()
                .all(|key| answer(answers, key).is_some());
            if complete && state.is_some() {
                return Ok(done("All inputs received"));
            }
            ask(all_questions(), codec, json!("gather"))
        }
        "multi_round" => match state {
            None => ask(
                [("step1", asking::field("Step 1: What is your name?", "name", "string"))],
                codec,
                json!(1),
            ),
            Some(round) if round == 1 => ask(
                [(
                    "step2",
                    asking::field("Step 2: What is your favorite color?", "color", "string"),
                )],
                codec,
                json!(2),
            ),
            Some(_) => Ok(done("Multi-round flow complete")),
        },
        "capabilities" if answers.is_some() => Ok(done("Capability-aware flow complete")),
        "capabilities" => Ok(only_what_the_client_can(meta)),
        "test_streaming_elicitation" => Ok(need([(
            "streaming_elicitation",
            asking::field("Provide a value", "value", "string"),
        )])
        .into()),
        _ => Err(ErrorData::invalid_params(format!("no tool {}", call.name), None)),
    }
}

/// Runs one round of [`PROMPT`].
pub(super) fn prompt(get: &GetPromptRequestParams) -> GetPromptResponse {
    let Some(given) = answer(get.input_responses.as_ref(), "user_context") else {
        let question = asking::field("What context should the prompt use?", "context", "string");
        return need([("user_context", question)]).into();
    };
    let context = given["content"]["context"].as_str().unwrap_or("(no context)");
    let text = format!("Prompt with elicited context: {context}");
    GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into()
}

/// The answer the client gave under `key`. One that is not an object counts as not given, so the tool asks again.
pub(super) fn answer<'a>(answers: Option<&'a InputResponses>, key: &str) -> Option<&'a Value> {
    answers?.get(key).filter(|value| value.is_object())
}

/// A result that asks these questions and carries no state.
pub(super) fn need<const N: usize>(questions: [(&str, InputRequest); N]) -> InputRequiredResult {
    let questions = questions.into_iter().map(|(key, request)| (key.to_owned(), request));
    InputRequiredResult::from_input_requests(questions.collect())
}

fn name(answers: Option<&InputResponses>) -> CallToolResponse {
    let Some(given) = answer(answers, "user_name") else {
        return need([("user_name", asking::field("What is your name?", "name", "string"))]).into();
    };
    done(&format!("Hello, {}!", given["content"]["name"].as_str().unwrap_or("friend")))
}

fn capital(answers: Option<&InputResponses>) -> CallToolResponse {
    let Some(given) = answer(answers, "capital_question") else {
        return need([("capital_question", asking::sample("What is the capital of France?"))])
            .into();
    };
    done(&format!(
        "Sampling response: {}",
        given["content"]["text"].as_str().unwrap_or("(no text)")
    ))
}

fn client_roots(answers: Option<&InputResponses>) -> CallToolResponse {
    let Some(given) = answer(answers, "client_roots") else {
        return need([("client_roots", asking::roots())]).into();
    };
    let uris: Vec<&str> = given["roots"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|root| root["uri"].as_str())
        .collect();
    done(&format!("Client roots: [{}]", uris.join(", ")))
}

fn only_what_the_client_can(meta: &RequestMetaObject) -> CallToolResponse {
    let can = meta.client_capabilities().unwrap_or_default();
    let declared = [can.elicitation.is_some(), can.sampling.is_some(), can.roots.is_some()];
    let questions = all_questions().into_iter().zip(declared).filter(|(_, declared)| *declared);
    let questions: std::collections::BTreeMap<_, _> =
        questions.map(|((key, request), _)| (key.to_owned(), request)).collect();
    if questions.is_empty() {
        return done("The client declared nothing that could be asked for");
    }
    InputRequiredResult::from_input_requests(questions).into()
}

fn all_questions() -> [(&'static str, InputRequest); 3] {
    [
        ("user_name", asking::field("What is your name?", "name", "string")),
        ("greeting", asking::sample("Generate a greeting")),
        ("client_roots", asking::roots()),
    ]
}

fn ask<const N: usize>(
    questions: [(&str, InputRequest); N],
    codec: &RequestStateCodec,
    state: Value,
) -> Result<CallToolResponse, ErrorData> {
    let mut result = need(questions);
    result.request_state =
        Some(codec.seal_json(&state).map_err(|e| ErrorData::internal_error(e.to_string(), None))?);
    Ok(result.into())
}

fn unseal(codec: &RequestStateCodec, sealed: &str) -> Result<Value, ErrorData> {
    codec
        .open_json(sealed)
        .map_err(|_| ErrorData::invalid_params("requestState was not sealed here", None))
}

fn done(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}
