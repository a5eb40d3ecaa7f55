//! Counting resources: `resource_summary`.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    Answers, Call, Effect, Example, Failure, Outcome, Prefix, Tool, Toolset,
    find::{coverage, put, rfc3339},
    shown::tidy,
};
use crate::{
    catalogue::{ResourceEntry, Snapshot},
    content::one_line,
    gateway::View,
    json::Object,
    search::Key,
    source::SourceId,
};

/// How many resources of a group a summary shows.
const TOP: usize = 10;
/// How many groups a summary shows.
const MAX_GROUPS: usize = 100;
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
    const ANSWERS: Answers = Answers::Members;
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
        let mut groups: HashMap<String, (usize, Vec<Value>)> = HashMap::new();
        let mut figures = Figures::default();
        for (resource, _) in view.resources() {
            let server = snapshot.owner(resource.member).id().to_string();
            let object = resource.entry.object().unwrap_or_default();
            let mime = object.get_str("mimeType").map(|mime| one_line(&mime).into_owned());
            let mime = mime.or_else(|| found_type(call, snapshot, resource));
            let kind = mime.clone().unwrap_or_else(|| "unknown".to_owned());
            let size: Option<u64> = object.get_original("size").and_then(|size| size.parse().ok());
            if self.include_stats {
                figures.add(resource.public.as_str(), &object, size);
            }
            let group = match self.group_by {
                GroupBy::Server => server.clone(),
                GroupBy::Type => kind.clone(),
                GroupBy::None => "all".to_owned(),
            };
            *by_server.entry(server).or_default() += 1;
            *by_type.entry(kind).or_default() += 1;
            let (count, top) = groups.entry(group).or_default();
            *count += 1;
            if top.len() < TOP {
                let name = object.get_str("name").unwrap_or_default();
                let mut one = json!({ "uri": resource.public.as_str(), "name": name });
                put(&mut one, "mimeType", mime);
                put(&mut one, "size", size);
                top.push(one);
            }
        }
        let without = without_resources(call, &view, &by_server);
        for (server, _) in &without {
            by_server.insert(server.to_string(), 0);
        }
        let (groups, left_out) = largest(groups);
        let summary =
            summed(&view, &by_server, &by_type, self.include_stats.then(|| figures.told(call)));
        let mut out = Object::new();
        out.set("success", "true");
        out.set("summary", tidy(summary).to_string());
        out.set("resourceGroups", tidy(Value::Array(groups)).to_string());
        if left_out > 0 {
            out.set("groupsLeftOut", left_out.to_string());
        }
        if !without.is_empty() {
            let told = without.iter().take(MAX_GROUPS);
            let told = told.map(|(server, why)| json!({ "server": server.as_str(), "why": why }));
            out.set("serversWithoutResources", tidy(told.collect()).to_string());
        }
        Ok(Outcome::flat(out))
    }
}

/// The largest groups as they are shown, and how many are left out.
fn largest(groups: HashMap<String, (usize, Vec<Value>)>) -> (Vec<Value>, usize) {
    let mut groups: Vec<(String, (usize, Vec<Value>))> = groups.into_iter().collect();
    groups.sort_by(|(a, (n, _)), (b, (m, _))| m.cmp(n).then(a.cmp(b)));
    let left_out = groups.len().saturating_sub(MAX_GROUPS);
    let shown = groups.into_iter().take(MAX_GROUPS).map(|(name, (count, resources))| {
        let more = count - resources.len();
        json!({ "groupName": name, "total": count, "more": more, "resources": resources })
    });
    (shown.collect(), left_out)
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
    stats: Option<Value>,
) -> Value {
    let mut summary = json!({
        "totalResources": view.resource_count(),
        "totalTemplates": view.template_count(),
        "serverCount": by_server.len(),
        "resourcesByServer": by_server,
        "resourcesByType": by_type,
    });
    put(&mut summary, "stats", stats);
    summary
}

/// What is told on top where it is asked for.
#[derive(Default)]
struct Figures {
    bytes: u64,
    sized: usize,
    largest: Option<(u64, String)>,
    /// The newest, by the date that their server gives.
    freshest: Vec<(i64, String)>,
}

impl Figures {
    fn add(&mut self, uri: &str, entry: &Object<'_>, size: Option<u64>) {
        if let Some(size) = size {
            self.bytes = self.bytes.saturating_add(size);
            self.sized += 1;
            if self.largest.as_ref().is_none_or(|(largest, _)| size > *largest) {
                self.largest = Some((size, uri.to_owned()));
            }
        }
        let annotations = entry.get_original("annotations").and_then(Object::parse);
        let date = annotations.as_ref().and_then(|all| all.get_str("lastModified"));
        let date = date.and_then(|date| OffsetDateTime::parse(&date, &Rfc3339).ok());
        let Some(at) = date.map(OffsetDateTime::unix_timestamp) else { return };
        let place = self.freshest.partition_point(|(other, _)| *other >= at);
        if place < FEW {
            self.freshest.insert(place, (at, uri.to_owned()));
            self.freshest.truncate(FEW);
        }
    }

    fn told(self, call: &Call<'_>) -> Value {
        let cache = call.gateway.cache_stats();
        let asked = cache.hits + cache.misses;
        let rate = if asked == 0 { 0.0 } else { cache.hits as f64 / asked as f64 };
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
