//! Tools that answer in one call, some of them after asking the client something on the way.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ResourceContents,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::fixtures::{PNG, WAV};
use super::{ChangedList, ConformanceServer, asking, is_modern};

/// How long a tool pauses between the messages it sends while it runs.
const STEP: Duration = Duration::from_millis(50);

/// Runs one of the tools of this module.
pub(super) async fn call(
    server: &ConformanceServer,
    call: CallToolRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = call.arguments.unwrap_or_default();
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
    let result = match call.name.as_ref() {
        "test_tool_with_logging" => log_three_times(cx).await,
        "test_tool_with_progress" => progress_three_times(cx).await,
        "test_sampling" => sample(cx, argument("prompt").unwrap_or("Hello")).await,
        "test_elicitation" => {
            elicit(cx, argument("message").unwrap_or("Who are you?"), contact_form()).await
        }
        "test_elicitation_sep1034_defaults" => {
            elicit(cx, "All have defaults", defaults_form()).await
        }
        "test_elicitation_sep1330_enums" => {
            elicit(cx, "Every kind of choice", choices_form()).await
        }
        "test_logging_tool" => log_when_asked(cx).await,
        "test_reconnection" => {
            tokio::time::sleep(2 * STEP).await;
            text("Reconnection test completed")
        }
        "test_trigger_tool_change" => {
            server.announce(ChangedList::Tools).await;
            text("Tool list change triggered")
        }
        "test_trigger_prompt_change" => {
            server.announce(ChangedList::Prompts).await;
            text("Prompt list change triggered")
        }
        "test_missing_capability" => sampling_only(cx)?,
        "json_schema_2020_12_tool" => {
            text(&format!("Hello, {}!", argument("name").unwrap_or("world")))
        }
        "test_custom_header" => text(
            argument("value")
                .ok_or_else(|| ErrorData::invalid_params("value must be a string", None))?,
        ),
        name => immediate(name)
            .ok_or_else(|| ErrorData::invalid_params(format!("no tool {name}"), None))?,
    };
    Ok(result.into())
}

/// The tools that need nothing but their name.
fn immediate(name: &str) -> Option<CallToolResult> {
    let embedded = |uri: &str, text: &str, mime: &str| {
        ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime))
    };
    let blocks = match name {
        "test_simple_text" => {
            vec![ContentBlock::text("This is a simple text response for testing.")]
        }
        "test_image_content" => vec![ContentBlock::image(PNG, "image/png")],
        "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
        "test_embedded_resource" => {
            vec![embedded(
                "test://embedded-resource",
                "This is an embedded resource content.",
                "text/plain",
            )]
        }
        "test_multiple_content_types" => vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PNG, "image/png"),
            embedded(
                "test://mixed-content-resource",
                r#"{"test":"data","value":123}"#,
                "application/json",
            ),
        ],
        "test_error_handling" => {
            let text = ContentBlock::text("This tool intentionally returns an error for testing");
            return Some(CallToolResult::error(vec![text]));
        }
        _ => return None,
    };
    Some(CallToolResult::success(blocks))
}

async fn log_three_times(cx: &RequestContext<RoleServer>) -> CallToolResult {
    for step in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        // Without a level in the request, the stateless revision forbids log messages.
        if !is_modern(cx) || cx.meta.log_level().is_some() {
            log(cx, LoggingLevel::Info, step).await;
        }
        tokio::time::sleep(STEP).await;
    }
    text("Logging test completed")
}

async fn log_when_asked(cx: &RequestContext<RoleServer>) -> CallToolResult {
    if let Some(level) = cx.meta.log_level() {
        log(cx, level, "a level was requested").await;
    }
    text("Logging tool completed")
}

async fn log(cx: &RequestContext<RoleServer>, level: LoggingLevel, message: &str) {
    let message = LoggingMessageNotificationParam::new(level, json!(message))
        .with_logger("conformance-upstream");
    let _peer_gone = cx.peer.notify_logging_message(message).await;
}

async fn progress_three_times(cx: &RequestContext<RoleServer>) -> CallToolResult {
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = cx.meta.get_progress_token() {
            let step = ProgressNotificationParam::new(token, progress).with_total(100.0);
            let _peer_gone = cx.peer.notify_progress(step).await;
        }
        tokio::time::sleep(STEP).await;
    }
    text("Progress test completed")
}

async fn sample(cx: &RequestContext<RoleServer>, prompt: &str) -> CallToolResult {
    match cx.peer.create_message(asking::message(prompt)).await {
        Ok(answer) => {
            let first = answer.message.content.first().and_then(|block| block.as_text());
            text(&format!("LLM response: {}", first.map_or("(no text)", |block| &block.text)))
        }
        Err(e) => CallToolResult::error(vec![ContentBlock::text(format!("no sampling: {e}"))]),
    }
}

async fn elicit(cx: &RequestContext<RoleServer>, message: &str, schema: Value) -> CallToolResult {
    match cx.peer.create_elicitation(asking::form(message, schema)).await {
        Ok(answer) => {
            let answer = json!({ "action": answer.action, "content": answer.content });
            text(&format!(
                "User response: action={}, content={}",
                answer["action"], answer["content"]
            ))
        }
        Err(e) => CallToolResult::error(vec![ContentBlock::text(format!("no elicitation: {e}"))]),
    }
}

fn sampling_only(cx: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    if cx.meta.client_capabilities().unwrap_or_default().sampling.is_none() {
        let missing = ClientCapabilities::builder().enable_sampling().build();
        return Err(ErrorData::missing_required_client_capability(missing));
    }
    Ok(text("Required capability declared"))
}

fn contact_form() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

fn defaults_form() -> Value {
    json!({ "type": "object", "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    } })
}

fn choices_form() -> Value {
    let plain = json!(["option1", "option2", "option3"]);
    let titled = |noun: &str| {
        json!([
            { "const": "value1", "title": format!("First {noun}") },
            { "const": "value2", "title": format!("Second {noun}") },
            { "const": "value3", "title": format!("Third {noun}") },
        ])
    };
    let names = json!(["Option One", "Option Two", "Option Three"]);
    json!({ "type": "object", "properties": {
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    } })
}

fn text(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}
