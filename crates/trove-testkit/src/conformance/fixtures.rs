//! The entries that the suite expects to find listed: resources, templates, prompts and tools, with
//! their immutable contents.

use rmcp::model::{
    ContentBlock, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Resource,
    ResourceContents, ResourceTemplate, Role, Tool,
};
use serde_json::{Value, json};

use super::{rounds, skills, tasks};

/// A PNG of one pixel, in base64.
pub(super) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A WAV file without samples, in base64.
pub(super) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// Tools without arguments: name and description.
const PLAIN_TOOLS: [(&str, &str); 23] = [
    ("test_simple_text", "Returns one text block."),
    ("test_image_content", "Returns one image block."),
    ("test_audio_content", "Returns one audio block."),
    ("test_embedded_resource", "Returns one embedded resource."),
    ("test_multiple_content_types", "Returns text, an image and an embedded resource."),
    ("test_tool_with_logging", "Logs three messages while it runs."),
    ("test_error_handling", "Always returns a tool error."),
    ("test_tool_with_progress", "Reports progress three times."),
    ("test_elicitation_sep1034_defaults", "Asks for a form whose fields have defaults."),
    ("test_elicitation_sep1330_enums", "Asks for a form with every kind of choice."),
    ("test_reconnection", "Answers after a short pause."),
    ("test_trigger_tool_change", "Announces that the tool list changed."),
    ("test_trigger_prompt_change", "Announces that the prompt list changed."),
    ("test_missing_capability", "Refuses clients that cannot sample."),
    ("test_streaming_elicitation", "Needs one form field."),
    ("test_logging_tool", "Logs only when the request names a level."),
    ("test_input_required_result_elicitation", "Needs a form."),
    ("test_input_required_result_sampling", "Needs a completion by the client's model."),
    ("test_input_required_result_list_roots", "Needs the client's roots."),
    ("test_input_required_result_request_state", "Carries state through one round."),
    ("test_input_required_result_multiple_inputs", "Needs three answers in one round."),
    ("test_input_required_result_multi_round", "Needs two rounds."),
    ("test_input_required_result_tampered_state", "Refuses state it did not seal."),
];

/// Every tool, in a fixed order.
pub(super) fn tools() -> Vec<Tool> {
    let nothing = || json!({ "type": "object", "properties": {} });
    let one_string =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    let mut tools: Vec<Tool> =
        PLAIN_TOOLS.iter().map(|(name, description)| tool(name, description, nothing())).collect();
    tools.extend([
        tool(
            "test_input_required_result_capabilities",
            "Asks only what the client declared.",
            nothing(),
        ),
        tool("test_sampling", "Asks the client's model.", one_string("prompt")),
        tool("test_elicitation", "Asks the user for a name and an address.", one_string("message")),
        tool("json_schema_2020_12_tool", "Has a schema with the newer keywords.", modern_schema()),
        tool("test_custom_header", "Mirrors its argument in a header.", header_schema()),
    ]);
    tools.extend(tasks::listed().map(|(name, description)| tool(name, description, nothing())));
    tools
}

fn tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    let Value::Object(schema) = schema else { unreachable!("every fixture schema is an object") };
    Tool::new(name, description, schema)
}

fn modern_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "address",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
        "allOf": [{ "anyOf": [{ "required": ["name"] }, { "required": ["address"] }] }],
        "if": { "required": ["address"] },
        "then": { "properties": { "address": { "required": ["street"] } } },
        "else": { "required": ["name"] },
        "additionalProperties": false,
    })
}

fn header_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "value": { "type": "string", "x-mcp-header": "Value" } },
        "required": ["value"],
    })
}

/// Every listed resource.
pub(super) fn resources() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, mime: &str| {
        Resource::new(uri, name)
            .with_description(format!("{name} of the suite"))
            .with_mime_type(mime)
    };
    vec![
        resource("test://static-text", "Static text", "text/plain"),
        resource("test://static-binary", "Static binary", "image/png"),
        resource("test://watched-resource", "Watched resource", "text/plain"),
        skills::listed(),
    ]
}

/// Every resource template.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("test://template/{id}/data", "Template");
    vec![template.with_description("Data for one id").with_mime_type("application/json")]
}

/// The contents behind a URI, listed or made by a template.
pub(super) fn contents(uri: &str) -> Option<ResourceContents> {
    match uri {
        "test://static-text" => {
            Some(ResourceContents::text("This is the content of the static text resource.", uri))
        }
        "test://static-binary" => {
            Some(ResourceContents::blob(PNG, uri).with_mime_type("image/png"))
        }
        "test://watched-resource" => Some(ResourceContents::text("Nothing has changed yet.", uri)),
        _ => template_contents(uri).or_else(|| skills::contents(uri)),
    }
}

fn template_contents(uri: &str) -> Option<ResourceContents> {
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
    Some(ResourceContents::text(data.to_string(), uri).with_mime_type("application/json"))
}

/// Every prompt.
pub(super) fn prompts() -> Vec<Prompt> {
    let argument = |name: &str| {
        PromptArgument::new(name).with_description("A test argument").with_required(true)
    };
    let arguments = vec![argument("arg1"), argument("arg2")];
    vec![
        Prompt::new("test_simple_prompt", Some("A prompt without arguments"), None),
        Prompt::new(
            "test_prompt_with_arguments",
            Some("A prompt with two arguments"),
            Some(arguments),
        ),
        Prompt::new(
            "test_prompt_with_embedded_resource",
            Some("A prompt that embeds a resource"),
            Some(vec![argument("resourceUri")]),
        ),
        Prompt::new("test_prompt_with_image", Some("A prompt with an image"), None),
        Prompt::new(rounds::PROMPT, Some("A prompt that needs input first"), None),
    ]
}

/// The messages of one prompt, or `None` when there is no prompt of that name.
pub(super) fn prompt(name: &str, arguments: &JsonObject) -> Option<GetPromptResult> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let text = |text: &str| PromptMessage::new_text(Role::User, text);
    let messages = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (arg1, arg2) = (argument("arg1"), argument("arg2"));
            vec![text(&format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let asked = argument("resourceUri");
            let uri = if asked.is_empty() { "test://example-resource" } else { asked };
            let embedded = ResourceContents::text("Embedded resource content for testing.", uri);
            vec![
                PromptMessage::new(Role::User, ContentBlock::resource(embedded)),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            PromptMessage::new(Role::User, ContentBlock::image(PNG, "image/png")),
            text("Please analyze the image above."),
        ],
        _ => return None,
    };
    Some(GetPromptResult::new(messages))
}
