//! `call_tool` and `call_read_only_tool`: a call of a tool that is not listed.
//!
//! Two, so that a client which asks its person before what may change something can tell one from
//! the other. Both go the road of a direct call: the same owner, record and answer.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{given, only_reads};
use crate::{
    catalogue::{NamedEntry, Snapshot},
    content::escape_line,
    failure::{Class, Failure},
    gateway::{self, Action, Answer, AskError},
    json::Json,
    tools::{
        Answers, Call, Effect, Example, Outcome, Prefix, Tool, Toolset, any_json::AnyJson,
        outcome::Given,
    },
};

/// The most names that are offered in place of a wrong one.
const MAX_NEAR: usize = 3;
/// Names that differ in so many letters are near.
const MAX_DISTANCE: usize = 3;

/// Call a tool of a server that changes nothing.
///
/// For tools that say of themselves that they only read; find_tool finds them. Others are refused.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct CallReadOnlyTool {
    /// As find_tool gave it
    ///
    /// The name of the tool.
    name: String,
    /// A JSON object; default {}
    ///
    /// Its arguments, as its inputSchema says: an object, or the text of one.
    #[serde(default)]
    arguments: AnyJson,
}

/// Call a tool of a server that may change things.
///
/// For tools that find_tool found and that do not only read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct CallTool {
    /// As find_tool gave it
    ///
    /// The name of the tool.
    name: String,
    /// A JSON object; default {}
    ///
    /// Its arguments, as its inputSchema says: an object, or the text of one.
    #[serde(default)]
    arguments: AnyJson,
}

const EXAMPLES: &[Example] = &[Example {
    says: "A tool that find_tool gave.",
    arguments: r#"{"name": "github_search_issues", "arguments": "{\"q\": \"leak\"}"}"#,
}];

impl Tool for CallReadOnlyTool {
    const NAME: &'static str = "call_read_only_tool";
    const TOOLSET: Toolset = Toolset::ToolSearch;
    const EFFECT: Effect = Effect::Reads;
    const PREFIX: Prefix = Prefix::None;
    const ANSWERS: Answers = Answers::Passed;
    const EXAMPLES: &'static [Example] = EXAMPLES;

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let snapshot = call.gateway.current();
        let tool = tool_of(&snapshot, &self.name)?;
        if !only_reads(&tool.entry) {
            let message = format!("{} does not say that it only reads", tool.public);
            return Err(Failure::new(Class::InvalidArguments, message, "Call it by call_tool.")
                .with("field", "name"));
        }
        pass_on(call, tool, self.arguments).await
    }
}

impl Tool for CallTool {
    const NAME: &'static str = "call_tool";
    const TOOLSET: Toolset = Toolset::ToolSearch;
    const EFFECT: Effect = Effect::PassesOn;
    const PREFIX: Prefix = Prefix::None;
    const ANSWERS: Answers = Answers::Passed;
    const EXAMPLES: &'static [Example] = EXAMPLES;

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let snapshot = call.gateway.current();
        let tool = tool_of(&snapshot, &self.name)?;
        pass_on(call, tool, self.arguments).await
    }
}

/// Calls the tool; its answer is the answer.
async fn pass_on(
    call: &Call<'_>,
    tool: &NamedEntry,
    arguments: AnyJson,
) -> Result<Outcome, Failure> {
    let arguments = object_of(arguments)?;
    let schema: Value = match tool.entry.get("inputSchema") {
        Some(schema) => schema.to().unwrap_or_default(),
        None => Value::Null,
    };
    given::check(&schema, &arguments)?;
    let params = Json::of(&json!({ "name": &*tool.public, "arguments": arguments }));
    let asked = gateway::Call::Act(Action::CallTool, params, call.ask());
    match call.gateway.run(call.caller, asked).await.map_err(failure)? {
        Answer::Reply(reply) if reply.needs_input => Ok(Outcome::needs_input(reply)),
        Answer::Reply(reply) => Ok(Outcome(Given::Written(reply))),
        _ => Err(Failure::new(
            Class::InternalError,
            "a call was answered by something else",
            "Ask once more.",
        )),
    }
}

fn failure(error: AskError) -> Failure {
    Failure::from(error)
}

/// The arguments as an object.
fn object_of(arguments: AnyJson) -> Result<Map<String, Value>, Failure> {
    match arguments.value() {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(_) => {
            let message = "`arguments` must be an object, e.g. {\"id\": 7}";
            Err(Failure::arguments(message).with("field", "arguments"))
        }
    }
}

fn tool_of<'s>(snapshot: &'s Snapshot, name: &str) -> Result<&'s NamedEntry, Failure> {
    if let Some(tool) = snapshot.tool(name) {
        return Ok(tool);
    }
    let near = near(snapshot, name);
    let shown = escape_line(name);
    let message = format!("no server has a tool `{shown}`");
    let action = match near.first() {
        Some(first) => format!("Call `{first}`, or look for it by find_tool."),
        None => "Look for it by find_tool.".to_owned(),
    };
    Err(Failure::new(Class::NotFound, message, action).with("field", "name").with("near", near))
}

/// Names that may be meant: those of the same tool without its server, then those that are spelt
/// nearly so.
fn near(snapshot: &Snapshot, name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = Vec::new();
    for tool in snapshot.tools() {
        let local = tool.local.to_lowercase();
        let distance = strsim::damerau_levenshtein(&tool.public.to_lowercase(), &name)
            .min(strsim::damerau_levenshtein(&local, &name));
        let is_part = local.len() > MAX_DISTANCE && name.contains(&local);
        if distance <= MAX_DISTANCE || is_part {
            ranked.push((distance, &tool.public));
        }
    }
    ranked.sort_unstable();
    ranked.into_iter().take(MAX_NEAR).map(|(_, name)| name.to_owned()).collect()
}
