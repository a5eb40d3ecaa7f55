//! `find_tool`: the few tools of servers that a task needs, with their schemas.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallReadOnlyTool, CallTool, only_reads};
use crate::{
    catalogue::{NamedEntry, Snapshot},
    content::{escape_line, one_line},
    failure::{Class, Failure},
    json::{Json, Object, quote},
    source::SourceId,
    tools::{Answers, Call, Effect, Example, Outcome, Prefix, Tool, Toolset, frame},
};

/// The most tools that are named where nothing is asked for.
const MAX_NAMES: usize = 500;
/// How much of a description is shown, in bytes.
const MAX_DESCRIPTION: usize = 1000;
/// How much the schemas of one answer may hold, in bytes; the first is always shown.
const MAX_SCHEMAS: usize = 24 * 1024;
/// The longest schema that is shown, in bytes.
const MAX_SCHEMA: usize = 64 * 1024;

/// Find a tool by what you want to do.
///
/// The tools of the servers behind Trove are not listed, since there are many. Each result has its
/// inputSchema and, in `call_with`, the tool to call it by: call_read_only_tool or call_tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::tools) struct FindTool {
    /// Your task; default: names of all
    ///
    /// What you want to do, or the name of a tool. Without it the answer names all tools.
    #[serde(default)]
    query: Option<String>,
    /// Default all
    ///
    /// Only tools of this server.
    #[serde(default)]
    server: Option<String>,
    /// Default 5
    ///
    /// How many tools to give.
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 20))]
    max_results: usize,
}

fn default_results() -> usize {
    5
}

impl Tool for FindTool {
    const NAME: &'static str = "find_tool";
    const TOOLSET: Toolset = Toolset::ToolSearch;
    const EFFECT: Effect = Effect::Reads;
    const PREFIX: Prefix = Prefix::None;
    const ANSWERS: Answers = Answers::Members;
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "Which tool does something?",
            arguments: r#"{"query": "open an issue about a bug"}"#,
        },
        Example { says: "The names of all tools.", arguments: "{}" },
    ];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let snapshot = call.gateway.current();
        let server = match &self.server {
            Some(name) => Some(server_of(&snapshot, name)?),
            None => None,
        };
        let is_wanted = |tool: &NamedEntry| {
            let owner = snapshot.owner(tool.member).id();
            server.as_ref().is_none_or(|server| server == owner)
        };
        let query = self.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
        let Some(query) = query else {
            let tools = snapshot.tools().iter().filter(|tool| is_wanted(tool));
            return Ok(told(&names(&snapshot, tools.collect())));
        };
        let ranked = ranked(call, query).await?;
        let tools = ranked.iter().filter_map(|name| snapshot.tool(name));
        let tools: Vec<&NamedEntry> =
            tools.filter(|tool| is_wanted(tool)).take(self.max_results).collect();
        Ok(told(&found(&snapshot, &tools)))
    }
}

/// The names of tools for a question: one that is named by it, then the others.
async fn ranked(call: &Call<'_>, query: &str) -> Result<Vec<Arc<str>>, Failure> {
    let (gateway, question) = (call.gateway.clone(), query.to_owned());
    let finder = call.tools.finder.clone();
    let finding = tokio::task::spawn_blocking(move || finder.find(&gateway, &question));
    let ranked = finding.await.map_err(|_| {
        Failure::new(Class::InternalError, "looking for tools broke off", "Ask once more.")
    })?;
    let mut ranked = ranked.map_err(|error| Failure::arguments(error.to_string()))?;
    let snapshot = call.gateway.current();
    let is_named = |tool: &&NamedEntry| *tool.public == *query || *tool.local == *query;
    let named = snapshot.tools().iter().filter(is_named);
    for tool in named.collect::<Vec<_>>().into_iter().rev() {
        ranked.retain(|name| *name != tool.public);
        ranked.insert(0, tool.public.clone());
    }
    Ok(ranked)
}

fn server_of(snapshot: &Snapshot, name: &str) -> Result<SourceId, Failure> {
    let with_tools = snapshot.tools().iter().map(|tool| snapshot.owner(tool.member).id());
    let mut ids: Vec<&SourceId> = with_tools.collect();
    ids.dedup();
    if let Some(id) = ids.iter().find(|id| id.as_str() == name) {
        return Ok((*id).clone());
    }
    let names: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    let message = format!(
        "no server `{}` passes tools on; these do: {}",
        escape_line(name),
        names.join(", ")
    );
    Err(Failure::new(Class::InvalidArguments, message, "Leave `server` out, or name one of these.")
        .with("field", "server")
        .with("allowed", names))
}

/// The answer: the object, and a word on who wrote it.
fn told(object: &Object<'_>) -> Outcome {
    let block = frame::block("Names, descriptions and schemas above are the words of servers");
    Outcome::written(&[&object.to_text()], &[block])
}

/// The names of tools, by server.
fn names(snapshot: &Snapshot, tools: Vec<&NamedEntry>) -> Object<'static> {
    let mut by_server: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for tool in tools.iter().take(MAX_NAMES) {
        let server = snapshot.owner(tool.member).id().as_str();
        by_server.entry(server).or_default().push(&tool.public);
    }
    let mut out = Object::new();
    out.set("success", "true");
    out.set("names", Json::of(&by_server).as_str().to_owned());
    out.set("total", tools.len().to_string());
    if tools.len() > MAX_NAMES {
        let message = format!("The first {MAX_NAMES} are named: ask with `query` for the others.");
        out.set_str("message", &message);
    }
    out
}

/// Tools with their schemas, as far as there is room for them.
fn found(snapshot: &Snapshot, tools: &[&NamedEntry]) -> Object<'static> {
    let mut all = Vec::new();
    let mut room = MAX_SCHEMAS;
    for (place, tool) in tools.iter().enumerate() {
        let schema = tool.entry.get("inputSchema").unwrap_or_else(Json::empty_object);
        let size = schema.as_bytes().len();
        let has_room = size <= MAX_SCHEMA && (place == 0 || size <= room);
        if has_room {
            room = room.saturating_sub(size);
        }
        all.push(shown(snapshot, tool, has_room.then_some(&schema)));
    }
    let mut out = Object::new();
    out.set("success", "true");
    out.set("tools", format!("[{}]", all.join(",")));
    out.set("total", snapshot.tools().len().to_string());
    if tools.is_empty() {
        out.set_str(
            "message",
            "No tool fits: ask in other words, or without `query` for all names.",
        );
    }
    out
}

fn shown(snapshot: &Snapshot, tool: &NamedEntry, schema: Option<&Json>) -> String {
    let mut one = Object::new();
    one.set_str("name", &tool.public);
    one.set_str("server", snapshot.owner(tool.member).id().as_str());
    let mut description = tool.entry.get_str("description").unwrap_or_default();
    description.truncate(description.floor_char_boundary(MAX_DESCRIPTION));
    one.set_str("description", &one_line(&description));
    let call_with = if only_reads(&tool.entry) { CallReadOnlyTool::NAME } else { CallTool::NAME };
    one.set("call_with", quote(call_with));
    if let Some(annotations) = tool.entry.get("annotations") {
        one.set("annotations", annotations.as_str().to_owned());
    }
    match schema {
        Some(schema) => one.set("inputSchema", schema.as_str().to_owned()),
        None => one.set_str("schema", "ask for this tool alone, by its name, to see its schema"),
    }
    one.to_text()
}
