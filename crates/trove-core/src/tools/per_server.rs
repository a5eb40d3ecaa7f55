//! Tools of their own for each server, for those who rely on them: a list and a read.
//!
//! They are made from the catalogue, so they are no rows of the table.

use serde_json::{Value, json};

use super::{Call, Class, Effect, Example, Failure, Outcome, TOOLS, Toolset, describe, schema};
use crate::{
    about::Item,
    catalogue::Snapshot,
    json::{Json, Object},
    source::SourceId,
};

const LIST: &str = "_list_resources";
const READ: &str = "_read_resource";
/// How many resources one answer lists.
const PAGE: usize = 200;
const LISTING: &[Example] = &[Example { says: "The first of them", arguments: "{}" }];
const READING: &[Example] =
    &[Example { says: "One of them", arguments: r#"{"uri": "file:///notes/today.md"}"# }];

/// What a name of this kind means.
pub(super) enum Meant {
    List(SourceId),
    Read(SourceId),
}

/// What `name` means, if it is of this kind.
pub(super) fn meant(snapshot: &Snapshot, name: &str) -> Option<Meant> {
    let of = |prefix: &str| {
        let members = snapshot.members().iter().map(|member| &member.source);
        members
            .filter(|s| !s.is_builtin())
            .find(|s| prefix_of(s.id()) == prefix)
            .map(|s| s.id().clone())
    };
    match (name.strip_suffix(LIST), name.strip_suffix(READ)) {
        (Some(prefix), _) => of(prefix).map(Meant::List),
        (_, Some(prefix)) => of(prefix).map(Meant::Read),
        (None, None) => None,
    }
}

fn prefix_of(id: &SourceId) -> String {
    id.as_str().replace('-', "_")
}

/// The entries of all servers' tools.
pub(super) fn entries(snapshot: &Snapshot) -> Vec<Json> {
    let upstreams = snapshot.members().iter().filter(|member| !member.source.is_builtin());
    let both = upstreams.flat_map(|member| {
        let (id, prefix) = (member.source.id(), prefix_of(member.source.id()));
        let annotations = json!({
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
            "openWorldHint": true,
        });
        [
            json!({
                "name": format!("{prefix}{LIST}"),
                "description": format!("List the resources of the server {id}."),
                "inputSchema": { "type": "object", "additionalProperties": false, "properties": {
                    "cursor": { "type": "string", "description": "Go on with a list." } } },
                "annotations": annotations,
            }),
            json!({
                "name": format!("{prefix}{READ}"),
                "description": format!("Read one resource of the server {id}."),
                "inputSchema": { "type": "object", "additionalProperties": false, "properties": {
                    "uri": { "type": "string", "description": "Its URI, as the server lists it." } },
                    "required": ["uri"] },
                "annotations": annotations,
            }),
        ]
    });
    both.map(|entry| Json::of(&entry)).collect()
}

/// What the gateway says of them.
pub(super) fn summaries(entries: &[Json]) -> impl Iterator<Item = Item> {
    entries.iter().map(|entry| Item {
        uri: None,
        name: entry.get_str("name"),
        description: entry.get_str("description"),
        toolset: Some(Toolset::PerServer.as_str()),
        effect: Some(Effect::Reads.as_str()),
    })
}

/// The document of the tool with this entry.
pub(super) fn document(entry: &Json) -> Option<String> {
    let entry: Value = entry.to().ok()?;
    let name = entry["name"].as_str()?;
    let mut schema = entry["inputSchema"].clone();
    schema["description"] = entry["description"].clone();
    let examples = if name.ends_with(LIST) { LISTING } else { READING };
    Some(describe::written(name, (Toolset::PerServer, Effect::Reads), &schema, examples))
}

/// Does what is meant.
pub(super) async fn run(
    meant: Meant,
    arguments: Value,
    call: &Call<'_>,
) -> Result<Outcome, Failure> {
    match meant {
        Meant::List(id) => list(&id, &arguments, call).await,
        Meant::Read(id) => {
            let uri = arguments.get("uri").and_then(Value::as_str).unwrap_or_default().trim();
            if uri.is_empty() {
                return Err(Failure::arguments(
                    "`uri` is missing: its URI, as the server lists it",
                ));
            }
            let asked = json!({ "uri": uri, "server": id.as_str() });
            let read = TOOLS.iter().find(|spec| spec.name == "get_resource");
            let read = read.ok_or_else(|| {
                Failure::new(Class::InternalError, "get_resource is gone", "Report it.")
            })?;
            (read.run)(asked, call).await
        }
    }
}

async fn list(id: &SourceId, arguments: &Value, call: &Call<'_>) -> Result<Outcome, Failure> {
    let view = call.gateway.view(call.caller).await;
    let snapshot = view.snapshot();
    let skip: usize = match arguments.get("cursor").and_then(Value::as_str) {
        None | Some("") => 0,
        Some(cursor) => cursor
            .parse()
            .map_err(|_| Failure::arguments("`cursor` is not one that was given out here"))?,
    };
    let own = view.resources().filter(|(r, _)| snapshot.owner(r.member).id() == id);
    let mut rest = own.skip(skip);
    let page: Vec<&str> = rest.by_ref().take(PAGE).map(|(r, _)| r.entry.as_str()).collect();
    let mut out = Object::new();
    out.set("success", "true");
    out.set_str("server", id.as_str());
    out.set("resources", format!("[{}]", page.join(",")));
    if rest.next().is_some() {
        out.set_str("cursor", &(skip + page.len()).to_string());
    }
    Ok(Outcome::flat(out))
}

/// The schema of arguments, for the check.
pub(super) fn schema_of(meant: &Meant) -> Value {
    let properties = match meant {
        Meant::List(_) => json!({ "cursor": { "type": "string" } }),
        Meant::Read(_) => json!({ "uri": { "type": "string" } }),
    };
    schema::published(&json!({ "type": "object", "properties": properties }))
}
