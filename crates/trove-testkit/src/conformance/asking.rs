//! The questions a tool may put to the client, by a server-initiated request or by an `input_required` result.

use rmcp::model::{
    CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    InputRequest, ListRootsRequest, SamplingMessage,
};
use serde_json::{Value, json};

/// A form with the given message and JSON Schema.
pub(super) fn form(message: &str, schema: Value) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: serde_json::from_value(schema)
            .expect("every fixture form is a valid elicitation schema"),
    }
}

/// A prompt for the client's model.
pub(super) fn message(prompt: &str) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100)
}

/// An input request for one required form field.
pub(super) fn field(message: &str, name: &str, kind: &str) -> InputRequest {
    let schema =
        json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] });
    InputRequest::Elicitation(ElicitRequest::new(form(message, schema)))
}

/// An input request for a completion by the client's model.
pub(super) fn sample(prompt: &str) -> InputRequest {
    InputRequest::CreateMessage(CreateMessageRequest::new(message(prompt)))
}

/// An input request for the client's roots.
pub(super) fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}
