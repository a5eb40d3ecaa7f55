//! Counting resources: `resource_summary`.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answers, Call, Effect, Example, Failure, Outcome, Prefix, Tool, Toolset,
    find::{coverage, put, rfc3339},
    get_resource::Uses,
    shown::tidy,
};
use crate::{
    catalogue::{ResourceEntry, Snapshot},
    content::one_line,
    gateway::View,
    json::Object,
    resource::Details,
    search::Key,
    source::SourceId,
};

/// How many resources of a group a summary shows.
const TOP: usize = 10;
/// How many groups a summary shows.
const MAX_GROUPS: usize = 100;
/// Up to so many resources, each group shows its top at any length.
const FEW_RESOURCES: usize = 200;
/// The most bytes that the groups of a larger catalogue take. A result holds them twice, as text
/// and as structured content, and the whole of it stays below 12 KB.
const USUAL_BYTES: usize = 3000;
/// The most bytes that each count by server or by type takes in a larger catalogue.
const COUNT_BYTES: usize = 600;
/// How many of the freshest and of the most read are told.
const FEW: usize = 5;

/// Count the resources by server and type.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ResourceSummary {
    /// Default false
    ///
    /// Whether to add figures.
    #[serde(default)]
    include_stats: bool,
    /// Default server
    ///
    /// How to group.
    #[serde(default)]
    group_by: GroupBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum GroupBy {
    #[default]
    Server,
    Type,
    None,
}

impl Tool for ResourceSummary {
    const NAME: &'static str = "resource_summary";
    const TOOLSET: Toolset = Toolset::Resources;
    const EFFECT: Effect = Effect::Reads;
    const PREFIX: Prefix = Prefix::None;
    const ANSWERS: Answers = Answers::Summary;
    const EXAMPLES: &'static [Example] = &[
        Example { says: "What is there, by server?", arguments: "{}" },
        Example {
            says: "By type, with figures.",
            arguments: r#"{"groupBy": "type", "includeStats": true}"#,
        },
    ];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let view = call.gateway.view(call.caller).await;
        let snapshot = view.snapshot();
        let mut by_server: BTreeMap<String, usize> = BTreeMap::new();
        let mut by_type: BTreeMap<String, usize> = BTreeMap::new();
        let mut groups: HashMap<String, Group> = HashMap::new();
        let mut figures = Figures::default();
        let uses = Uses::of(call);
        for (resource, _) in view.resources() {
            let server = snapshot.owner(resource.member).id().to_string();
            let details = snapshot.details(resource);
            let mime = details.mime().map(|mime| one_line(&mime).into_owned());
            let mime = mime.or_else(|| found_type(call, snapshot, resource));
            let kind = mime.clone().unwrap_or_else(|| "unknown".to_owned());
            if self.include_stats {
                figures.add(resource.public.as_str(), details);
            }
            let group = match self.group_by {
                GroupBy::Server => server.clone(),
                GroupBy::Type => kind.clone(),
                GroupBy::None => "all".to_owned(),
            };
            *by_server.entry(server).or_default() += 1;
            *by_type.entry(kind).or_default() += 1;
            let group = groups.entry(group).or_default();
            group.total += 1;
            let usefulness = uses.usefulness(resource.public.as_str(), details);
            if let Some(place) = group.place_of(usefulness) {
                let name = details.name().unwrap_or_default();
                let mut one = json!({ "uri": resource.public.as_str(), "name": name });
                put(&mut one, "mimeType", mime);
                put(&mut one, "size", details.size());
                group.top.insert(place, (usefulness, one));
                group.top.truncate(TOP);
            }
        }
        let without = without_resources(call, &view, &by_server);
        for (server, _) in &without {
            by_server.insert(server.to_string(), 0);
        }
        let is_large = view.resource_count() > FEW_RESOURCES;
        let room = if is_large { USUAL_BYTES } else { usize::MAX };
        let (groups, left_out) = shown(groups, room);
        let figures = self.include_stats.then(|| figures.told(call));
        let room = if is_large { COUNT_BYTES } else { usize::MAX };
        let summary = summed(&view, &by_server, &by_type, room, figures);
        let mut out = Object::new();
        out.set("success", "true");
        out.set("summary", tidy(summary).to_string());
        out.set("resourceGroups", tidy(Value::Array(groups)).to_string());
        if left_out > 0 {
            out.set("groupsLeftOut", left_out.to_string());
        }
        if !without.is_empty() {
            let told = told_within(&without, room);
            out.set("serversWithoutResources", tidy(told).to_string());
        }
        Ok(Outcome::flat(out))
    }
}

/// The resources of one server or of one type.
#[derive(Default)]
struct Group {
    total: usize,
    /// The most useful of them, as they are shown.
    top: Vec<(f32, Value)>,
}

impl Group {
    /// The place of a resource of this usefulness among the top, if it has one. Equals stand as
    /// they are listed.
    fn place_of(&self, usefulness: f32) -> Option<usize> {
        let place = self.top.partition_point(|(other, _)| *other >= usefulness);
        (place < TOP).then_some(place)
    }
}

/// The largest groups as they are shown within `room` bytes, and how many are left out.
///
/// Heads of groups take at most half of the room. Each group shows its first resource before any
/// shows its second.
fn shown(groups: HashMap<String, Group>, mut room: usize) -> (Vec<Value>, usize) {
    let mut groups: Vec<(String, Group)> = groups.into_iter().collect();
    groups.sort_by(|(a, one), (b, other)| other.total.cmp(&one.total).then(a.cmp(b)));
    let mut shown: Vec<ShownGroup> = Vec::new();
    let all = groups.len();
    let for_resources = room / 2;
    for (name, group) in groups.into_iter().take(MAX_GROUPS) {
        let head = json!({ "groupName": name, "total": group.total, "more": group.total, "resources": [] });
        match room.checked_sub(length(&head)) {
            Some(left) if left >= for_resources => room = left,
            _ => break,
        }
        let top: Vec<Value> = group.top.into_iter().map(|(_, shown)| shown).collect();
        shown.push(ShownGroup { head, top: top.into_iter(), resources: Vec::new() });
    }
    for _ in 0..TOP {
        for group in &mut shown {
            let Some(resource) = group.top.next() else { continue };
            let Some(left) = room.checked_sub(length(&resource)) else { continue };
            room = left;
            group.resources.push(resource);
        }
    }
    let left_out = all - shown.len();
    (shown.into_iter().map(ShownGroup::told).collect(), left_out)
}

/// A group while its resources are chosen.
struct ShownGroup {
    head: Value,
    /// The resources that were not looked at yet.
    top: std::vec::IntoIter<Value>,
    resources: Vec<Value>,
}

impl ShownGroup {
    fn told(mut self) -> Value {
        let total = self.head["total"].as_u64().unwrap_or_default();
        self.head["more"] = (total - self.resources.len() as u64).into();
        self.head["resources"] = Value::Array(self.resources);
        self.head
    }
}

/// How many bytes a value takes in an answer, with the comma behind it.
fn length(value: &Value) -> usize {
    value.to_string().len() + 1
}

/// The servers without resources, as many as fit.
fn told_within(without: &[(SourceId, String)], mut room: usize) -> Value {
    let mut told = Vec::new();
    for (server, why) in without.iter().take(MAX_GROUPS) {
        let one = json!({ "server": server.as_str(), "why": why });
        let Some(left) = room.checked_sub(length(&one)) else { break };
        room = left;
        told.push(one);
    }
    Value::Array(told)
}

/// The largest counts within `room` bytes, and how many are left out.
fn largest(counts: &BTreeMap<String, usize>, mut room: usize) -> (Value, usize) {
    let mut sorted: Vec<(&String, &usize)> = counts.iter().collect();
    sorted.sort_by(|(a, one), (b, other)| other.cmp(one).then(a.cmp(b)));
    let mut shown = serde_json::Map::new();
    for (name, count) in sorted {
        let Some(left) = room.checked_sub(name.len() + 12) else { break };
        room = left;
        shown.insert(name.clone(), (*count).into());
    }
    let left_out = counts.len() - shown.len();
    (Value::Object(shown), left_out)
}

/// The servers of which the caller sees no resource, and why.
fn without_resources(
    call: &Call<'_>,
    view: &View,
    by_server: &BTreeMap<String, usize>,
) -> Vec<(SourceId, String)> {
    let mut templates_of: HashMap<SourceId, usize> = HashMap::new();
    for (template, _) in view.templates() {
        let owner = view.snapshot().owner(template.member).id().clone();
        *templates_of.entry(owner).or_default() += 1;
    }
    let down: HashMap<SourceId, String> = call.gateway.down(call.caller).into_iter().collect();
    let starting = call.gateway.starting();
    let mut all = Vec::new();
    for (id, status) in call.gateway.board().all() {
        if by_server.contains_key(id.as_str()) {
            continue;
        }
        let templates = templates_of.get(&id).copied().unwrap_or_default();
        let why = if starting.contains(&id) {
            "still starting; ask again in a few seconds".to_owned()
        } else if let Some(why) = down.get(&id) {
            why.clone()
        } else if templates > 0 {
            let templates = counted(templates, "template");
            format!("lists no resource that you may read; it has {templates}")
        } else if let Some(said) = status.from_tools() {
            said
        } else if status.counts.tools > 0 || status.counts.prompts > 0 {
            let tools = counted(status.counts.tools, "tool");
            let prompts = counted(status.counts.prompts, "prompt");
            format!("lists no resource that you may read; it has {tools} and {prompts}")
        } else {
            "lists no resource that you may read".to_owned()
        };
        all.push((id, why));
    }
    all
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// The type that reading for the index told, where none is listed.
fn found_type(call: &Call<'_>, snapshot: &Snapshot, resource: &ResourceEntry) -> Option<String> {
    let source = snapshot.owner(resource.member).id().clone();
    let key = Key { source, local: resource.local.clone() };
    call.gateway.search()?.type_of(&key)
}

fn summed(
    view: &View,
    by_server: &BTreeMap<String, usize>,
    by_type: &BTreeMap<String, usize>,
    room: usize,
    stats: Option<Value>,
) -> Value {
    let (servers, servers_left_out) = largest(by_server, room);
    let (types, types_left_out) = largest(by_type, room);
    let mut summary = json!({
        "totalResources": view.resource_count(),
        "totalTemplates": view.template_count(),
        "serverCount": by_server.len(),
        "resourcesByServer": servers,
        "resourcesByType": types,
    });
    if servers_left_out > 0 {
        summary["serversLeftOut"] = servers_left_out.into();
    }
    if types_left_out > 0 {
        summary["typesLeftOut"] = types_left_out.into();
    }
    put(&mut summary, "stats", stats);
    summary
}

/// Figures for those who ask for `includeStats`.
#[derive(Default)]
struct Figures {
    bytes: u64,
    sized: usize,
    largest: Option<(u64, String)>,
    /// The newest, by the date that their server gives.
    freshest: Vec<(i64, String)>,
}

impl Figures {
    fn add(&mut self, uri: &str, details: Details<'_>) {
        if let Some(size) = details.size() {
            self.bytes = self.bytes.saturating_add(size);
            self.sized += 1;
            if self.largest.as_ref().is_none_or(|(largest, _)| size > *largest) {
                self.largest = Some((size, uri.to_owned()));
            }
        }
        let Some(at) = details.annotations().modified() else { return };
        let place = self.freshest.partition_point(|(other, _)| *other >= at);
        if place < FEW {
            self.freshest.insert(place, (at, uri.to_owned()));
            self.freshest.truncate(FEW);
        }
    }

    fn told(self, call: &Call<'_>) -> Value {
        let cache = call.gateway.cache_stats();
        let asked = cache.hits + cache.misses;
        let rate = (asked > 0).then(|| cache.hits as f64 / asked as f64);
        let freshest = self
            .freshest
            .into_iter()
            .map(|(at, uri)| json!({ "uri": uri, "lastModified": rfc3339(at) }));
        let read = call.gateway.most_read(call.caller, FEW);
        let read =
            read.into_iter().map(|(uri, reads)| json!({ "uri": uri.as_str(), "reads": reads }));
        let largest = self.largest.map(|(size, uri)| json!({ "uri": uri, "size": size }));
        json!({
            "listedBytes": self.bytes,
            "sizeKnown": self.sized,
            "largest": largest,
            "freshest": freshest.collect::<Vec<_>>(),
            "mostRead": read.collect::<Vec<_>>(),
            "coverage": call.gateway.coverage(call.caller).map(|all| coverage(&all)),
            "cache": { "hits": cache.hits, "misses": cache.misses, "hitRate": rate, "bytes": cache.bytes },
        })
    }
}
