//! Tools of their own for each server, for those who rely on them: a list and a read.
//!
//! They are made from the catalogue, so they are no rows of the table; they do as `get_resource`
//! does for one server.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{
    Answers, Call, Effect, Example, Failure, Outcome, Tool as _, Toolset, arguments::Shape,
    describe, get_resource::GetResource, offer::Need, schema,
};
use crate::{about::Item, catalogue::Snapshot, json::Json, source::SourceId};

const LIST: &str = "_list_resources";
const READ: &str = "_read_resource";
const LISTING: &[Example] = &[Example { says: "The first of them", arguments: "{}" }];
const READING: &[Example] =
    &[Example { says: "One of them", arguments: r#"{"uri": "file:///notes/today.md"}"# }];

/// The meaning of a name of this kind.
pub(super) enum Meant {
    List(SourceId),
    Read(SourceId),
}

/// The meaning of `name`, if it is of this kind.
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

/// The names of the tools of these servers, e.g. `wiki_list_resources` and `wiki_read_resource`.
pub(super) fn names(servers: &[&SourceId]) -> impl Iterator<Item = String> {
    let prefixes = servers.iter().map(|id| prefix_of(id));
    prefixes.flat_map(|prefix| [LIST, READ].map(|name| format!("{prefix}{name}")))
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
                "inputSchema": &*LIST_TAKES,
                "outputSchema": Answers::short(),
                "annotations": annotations,
            }),
            json!({
                "name": format!("{prefix}{READ}"),
                "description": format!("Read one resource of the server {id}."),
                "inputSchema": &*READ_TAKES,
                "outputSchema": Answers::short(),
                "annotations": annotations,
            }),
        ]
    });
    both.map(|entry| Json::of(&entry)).collect()
}

/// The gateway's summaries of them.
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
    let kind = (Toolset::PerServer, Effect::Reads);
    let document = describe::written(name, kind, &schema, examples);
    Some(document + &Answers::Resource.document())
}

/// The schemas of the tools: arguments of `get_resource`.
static LIST_TAKES: LazyLock<Value> = LazyLock::new(|| {
    let mut properties = bridge_properties(&["cursor", "maxSize"]);
    // A list has more room than a text unless it is to have less.
    properties["maxSize"].as_object_mut().map(|size| size.remove("default"));
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
});
static READ_TAKES: LazyLock<Value> = LazyLock::new(|| {
    let mut properties = bridge_properties(&["uri", "maxSize", "offset"]);
    properties["uri"] =
        json!({ "type": "string", "description": "Its URI, as the server lists it." });
    json!({
        "type": "object", "properties": properties, "required": ["uri"],
        "additionalProperties": false,
    })
});

fn bridge_properties(names: &[&str]) -> Value {
    let all = schema::of::<GetResource>();
    names.iter().map(|name| ((*name).to_owned(), all["properties"][*name].clone())).collect()
}

/// Does what is meant.
pub(super) async fn run(
    meant: Meant,
    mut arguments: Value,
    call: &Call<'_>,
) -> Result<Outcome, Failure> {
    let id = match &meant {
        Meant::List(id) => id,
        Meant::Read(id) => {
            let uri = arguments.get("uri").and_then(Value::as_str).unwrap_or_default().trim();
            if uri.is_empty() {
                let message = "`uri` is missing: its URI, as the server lists it";
                return Err(Failure::arguments(message).with("field", "uri"));
            }
            id
        }
    };
    arguments["server"] = id.as_str().into();
    let asked: GetResource =
        serde_json::from_value(arguments).map_err(|error| Failure::arguments(error.to_string()))?;
    // A caller who asks for the list of one server is to have all of it.
    asked.run(&call.needing(Need::All)).await
}

/// The shape of its arguments.
pub(super) fn takes(meant: &Meant) -> Shape {
    Shape::of(match meant {
        Meant::List(_) => &LIST_TAKES,
        Meant::Read(_) => &READ_TAKES,
    })
}
