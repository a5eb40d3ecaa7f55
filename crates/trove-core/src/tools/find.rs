//! Finding resources: `discover_resources` and `search_resources`.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use time::{
    Date, OffsetDateTime, format_description::well_known::Rfc3339, macros::format_description,
};

use super::{Answers, Call, Class, Effect, Example, Failure, Outcome, Prefix, Tool, Toolset};
use crate::{
    content::escape_line,
    gateway::{FindError, Found},
    json::{Json, Object},
    search::{Coverage, Hit, Hits, MAX_RESULTS, MAX_TERMS, Query, Scope, Wanted, common_words},
    source::SourceId,
};

/// From this share of indexable resources on an answer calls itself complete, in percent.
pub const COVERAGE_THRESHOLD: u8 = 95;

/// So many of the best are given whatever their relevance, so that a model that asked in
/// other words than a resource's own has it in one call.
const NEAR_MISSES: usize = 3;

/// Find resources by what you need to know.
///
/// Looks through names, descriptions and contents of all servers, by words and meaning. Read
/// what looks right with get_resource or natively.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct DiscoverResources {
    /// What you want to know.
    #[serde(default)]
    query: Option<String>,
    /// Only these types: `text/*`.
    #[serde(default)]
    #[schemars(length(max = 256))]
    content_types: Vec<String>,
    /// Only these servers.
    #[serde(default)]
    #[schemars(length(max = 256))]
    servers: Vec<String>,
    /// How many to give.
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = MAX_RESULTS))]
    max_results: usize,
    /// Show a piece of each.
    #[serde(default)]
    include_content: bool,
    /// Leave out what is less relevant.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    relevance_threshold: Option<f32>,
    /// Go on.
    #[serde(default)]
    cursor: Option<String>,
}

/// Search resources for words that must all be there.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SearchResources {
    /// Words or "quoted phrases".
    #[schemars(length(min = 1, max = MAX_TERMS))]
    search_terms: Vec<String>,
    /// Where to look.
    #[serde(default)]
    search_scope: SearchScope,
    /// Find misspelt words too.
    #[serde(default)]
    fuzzy_match: bool,
    /// Changed since: `2026-11-01`.
    #[serde(default)]
    after: Option<String>,
    /// Changed until.
    #[serde(default)]
    before: Option<String>,
    /// Only these servers.
    #[serde(default)]
    #[schemars(length(max = 256))]
    servers: Vec<String>,
    /// Only these types: `text/*`.
    #[serde(default)]
    #[schemars(length(max = 256))]
    content_types: Vec<String>,
    /// How many to give.
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = MAX_RESULTS))]
    max_results: usize,
    /// Let meaning join in.
    #[serde(default = "yes")]
    semantic: bool,
    /// Go on.
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SearchScope {
    Name,
    Description,
    Content,
    #[default]
    All,
}

fn default_results() -> usize {
    20
}

fn yes() -> bool {
    true
}

impl Tool for DiscoverResources {
    const NAME: &'static str = "discover_resources";
    const TOOLSET: Toolset = Toolset::Resources;
    const EFFECT: Effect = Effect::Reads;
    const PREFIX: Prefix = Prefix::None;
    const ANSWERS: Answers = Answers::Members;
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "Which resource documents something?",
            arguments: r#"{"query": "state of the servers"}"#,
        },
        Example {
            says: "Texts only, with a piece of each.",
            arguments: r#"{"query": "settings", "contentTypes": ["application/json"], "includeContent": true}"#,
        },
    ];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let offset = offset(self.cursor.as_deref())?;
        let query = self.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
        let wanted = query.map_or(Wanted::Everything, |query| Wanted::Text(query.to_owned()));
        let threshold = match query {
            None => 0.0,
            Some(_) => self.relevance_threshold.unwrap_or(call.settings.relevance_threshold),
        };
        let asked = Query {
            wanted,
            content_types: self.content_types,
            sources: servers(call, &self.servers)?,
            max_results: self.max_results,
            offset,
            threshold,
            near_misses: match self.relevance_threshold {
                // Whoever names a threshold means it.
                Some(_) => 0,
                None => NEAR_MISSES,
            },
            with_coverage: true,
            ..Query::everything()
        };
        let with_content = self.include_content && call.settings.has_previews;
        let found = call.gateway.find(call.caller, asked).await.map_err(failure)?;
        log(call, query.unwrap_or_default(), &found);
        let down: HashSet<&SourceId> = found.down.iter().map(|(id, _)| id).collect();
        let resources: Vec<Value> = found
            .hits
            .hits
            .iter()
            .map(|hit| shown(hit, down.contains(&hit.key.source), with_content))
            .collect();
        let mut out = answer(&found, resources);
        out.set("complete", yes_no(is_complete(&found, offset)));
        if let Some(message) = advice(&found.hits) {
            out.set_str("message", &message);
        }
        Ok(Outcome::flat(out))
    }
}

impl Tool for SearchResources {
    const NAME: &'static str = "search_resources";
    const TOOLSET: Toolset = Toolset::Resources;
    const EFFECT: Effect = Effect::Reads;
    const PREFIX: Prefix = Prefix::None;
    const ANSWERS: Answers = Answers::Members;
    const EXAMPLES: &'static [Example] = &[
        Example { says: "Both words.", arguments: r#"{"searchTerms": ["server", "settings"]}"# },
        Example {
            says: "A phrase, in names only, with a letter wrong.",
            arguments: r#"{"searchTerms": ["capabilites"], "searchScope": "name", "fuzzyMatch": true}"#,
        },
    ];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let offset = offset(self.cursor.as_deref())?;
        let text = self.search_terms.join(" ");
        let scope = match self.search_scope {
            SearchScope::Name => Scope::Name,
            SearchScope::Description => Scope::Description,
            SearchScope::Content => Scope::Content,
            SearchScope::All => Scope::All,
        };
        let narrowed = self.narrowed();
        let after = date("after", self.after.as_deref(), Edge::Begin)?;
        let before = date("before", self.before.as_deref(), Edge::End)?;
        let asked = Query {
            scope,
            is_fuzzy: self.fuzzy_match,
            after,
            before,
            content_types: self.content_types,
            sources: servers(call, &self.servers)?,
            max_results: self.max_results,
            offset,
            is_semantic: self.semantic,
            with_coverage: true,
            ..Query::terms(self.search_terms)
        };
        let found = call.gateway.find(call.caller, asked).await.map_err(failure)?;
        log(call, &text, &found);
        let down: HashSet<&SourceId> = found.down.iter().map(|(id, _)| id).collect();
        let resources: Vec<Value> = found
            .hits
            .hits
            .iter()
            .map(|hit| {
                let mut one = shown(hit, down.contains(&hit.key.source), false);
                one["highlights"] = highlights(hit, call.settings.has_previews);
                one["matchedTerms"] = json!(hit.matched_terms);
                one
            })
            .collect();
        let mut out = answer(&found, resources);
        let ms = found.hits.took.as_secs_f64() * 1000.0;
        out.set("searchTimeMs", format!("{ms:.3}"));
        out.set("coverage", coverage(&found.hits.coverage).to_string());
        out.set("complete", yes_no(is_complete(&found, offset)));
        let advice = advice_on_terms(&found.hits, &narrowed);
        let said: Vec<String> = advice.into_iter().chain(passed_over(&text)).collect();
        if !said.is_empty() {
            out.set_str("message", &said.join(" "));
        }
        Ok(Outcome::flat(out))
    }
}

impl SearchResources {
    /// The arguments that keep resources out whatever terms they hold.
    fn narrowed(&self) -> Vec<&'static str> {
        let arguments = [
            ("searchScope", self.search_scope != SearchScope::All),
            ("after", self.after.is_some()),
            ("before", self.before.is_some()),
            ("servers", !self.servers.is_empty()),
            ("contentTypes", !self.content_types.is_empty()),
        ];
        arguments.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }
}

/// Which words did not count.
fn passed_over(text: &str) -> Option<String> {
    let words = common_words(text);
    let names = words.join("`, `");
    (!words.is_empty()).then(|| format!("Too common to be looked for, and passed over: `{names}`."))
}

/// What it means where no resource holds all the terms, and what to do.
fn advice_on_terms(hits: &Hits, narrowed: &[&str]) -> Option<String> {
    if hits.total > 0 && !hits.is_relaxed {
        return None;
    }
    let within = match narrowed {
        [] => String::new(),
        names => format!(" within `{}`", names.join("`, `")),
    };
    let none = format!("No resource{within} holds all the terms");
    if hits.total > 0 {
        return Some(format!("{none}; these are near in meaning."));
    }
    let meaning = if hits.is_relaxed { ", and none is near in meaning" } else { "" };
    let wider = if narrowed.is_empty() { "" } else { ", leave one of these out" };
    Some(format!("{none}{meaning}: ask with fewer or other terms{wider}, or with fuzzyMatch."))
}

/// What to do where nothing is relevant enough.
fn advice(hits: &Hits) -> Option<String> {
    let below = hits.below_threshold;
    if hits.total > 0 || below == 0 {
        return None;
    }
    let (is, rest) = match hits.hits.len() {
        0 => ("Nothing is relevant enough.", format!("{below} are less so")),
        n => (
            "Nothing is surely relevant; these come nearest.",
            format!("{} more are less so", below - n),
        ),
    };
    Some(format!("{is} {rest}: ask with relevanceThreshold 0, or in other words."))
}

/// Looks for words as a person types them; at most `max` results.
pub(super) async fn search(call: &Call<'_>, words: &str, max: usize) -> Result<Found, Failure> {
    let terms = words.split_whitespace().take(MAX_TERMS);
    let asked = Query { max_results: max, is_semantic: true, ..Query::terms(terms) };
    let found = call.gateway.find(call.caller, asked).await.map_err(failure)?;
    log(call, words, &found);
    Ok(found)
}

/// What discovery finds for a program: the best first, those that are hardly relevant marked.
pub(super) async fn discover(
    call: &Call<'_>,
    query: &str,
    named: &[String],
    max: usize,
) -> Result<Vec<Value>, Failure> {
    let asked = Query {
        sources: servers(call, named)?,
        max_results: max.clamp(1, MAX_RESULTS),
        threshold: call.settings.relevance_threshold,
        near_misses: NEAR_MISSES,
        ..Query::text(query)
    };
    let found = call.gateway.find(call.caller, asked).await.map_err(failure)?;
    log(call, query, &found);
    let down: HashSet<&SourceId> = found.down.iter().map(|(id, _)| id).collect();
    let hits = found.hits.hits.iter();
    Ok(hits.map(|hit| shown(hit, down.contains(&hit.key.source), false)).collect())
}

/// What was asked for is whoever asks's own affair, unless the settings say otherwise.
fn log(call: &Call<'_>, text: &str, found: &Found) {
    let query = if call.settings.logs_queries { escape_line(text) } else { "".into() };
    let ms = found.hits.took.as_millis();
    tracing::debug!(length = text.len(), total = found.hits.total, ms, query = %query, "search");
}

/// What both answers share.
fn answer(found: &Found, resources: Vec<Value>) -> Object<'static> {
    let hits = &found.hits;
    let searched: Vec<&str> = found.searched.iter().map(SourceId::as_str).collect();
    let mut out = Object::new();
    out.set("success", "true");
    out.set("resources", Value::Array(resources).to_string());
    out.set("totalFound", hits.total.to_string());
    if !hits.is_total_exact {
        out.set("totalIsAtLeast", "true");
    }
    out.set("serversSearched", Json::of(&searched).as_str().to_owned());
    if !found.down.is_empty() {
        out.set("errors", down_as_told(&found.down));
    }
    if let Some(next) = hits.next_offset {
        out.set_str("cursor", &next.to_string());
    }
    out
}

/// The servers that do not answer now, and why.
pub(super) fn down_as_told(down: &[(SourceId, String)]) -> String {
    let error = |(id, why): &(SourceId, String)| json!({ "server": id.as_str(), "error": escape_line(why) });
    Value::Array(down.iter().map(error).collect()).to_string()
}

fn shown(hit: &Hit, is_stale: bool, with_content: bool) -> Value {
    let mut one = json!({
        "uri": hit.public.as_str(),
        "name": escape_line(hit.title.as_deref().unwrap_or(&hit.name)),
        "server": hit.key.source.as_str(),
        "relevanceScore": (f64::from(hit.score) * 1000.0).round() / 1000.0,
        "why": hit.why.iter().map(|why| why.as_str()).collect::<Vec<_>>(),
    });
    put(&mut one, "description", hit.description.as_deref().map(escape_line));
    put(&mut one, "mimeType", hit.mime.as_deref());
    put(&mut one, "size", hit.size);
    put(&mut one, "lastModified", hit.modified.and_then(rfc3339));
    if with_content {
        put(&mut one, "contentPreview", hit.preview.as_deref().map(escape_line));
    }
    if hit.is_near_miss {
        one["nearMiss"] = json!(true);
    }
    if is_stale {
        one["stale"] = json!(true);
    }
    one
}

fn highlights(hit: &Hit, with_content: bool) -> Value {
    let shown = hit.highlights.iter().filter(|one| with_content || one.field != "content");
    let all = shown.map(|highlight| {
        let mut one =
            json!({ "field": highlight.field, "snippet": escape_line(&highlight.snippet) });
        put(&mut one, "offset", highlight.offset);
        one
    });
    all.collect()
}

pub(super) fn coverage(coverage: &Coverage) -> Value {
    let skipped: Map<String, Value> =
        coverage.skipped.iter().map(|(why, n)| (why.as_str().to_owned(), json!(n))).collect();
    json!({ "indexed": coverage.indexed, "indexable": coverage.indexable, "skipped": skipped })
}

/// Whether the answer, which begins at `offset`, can be taken for the end of all there is.
fn is_complete(found: &Found, offset: usize) -> bool {
    let hits = &found.hits;
    let Coverage { indexed, indexable, .. } = hits.coverage;
    let is_indexed = indexed * 100 >= indexable * usize::from(COVERAGE_THRESHOLD);
    let is_end = hits.is_total_exact && offset + hits.hits.len() >= hits.total;
    is_indexed && is_end && found.down.is_empty() && hits.next_offset.is_none()
}

pub(super) fn put(object: &mut Value, key: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        object[key] = json!(value);
    }
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "true" } else { "false" }
}

pub(super) fn rfc3339(seconds: i64) -> Option<String> {
    OffsetDateTime::from_unix_timestamp(seconds).ok()?.format(&Rfc3339).ok()
}

/// The servers that are named, all of which must exist.
fn servers(call: &Call<'_>, named: &[String]) -> Result<Vec<SourceId>, Failure> {
    let snapshot = call.gateway.current();
    let known = |name: &String| {
        let id = SourceId::of_anyone(name.trim()).filter(|id| snapshot.member(id).is_some());
        id.ok_or_else(|| {
            let all: Vec<&str> =
                snapshot.members().iter().map(|m| m.source.id().as_str()).collect();
            let name = escape_line(name);
            Failure::arguments(format!("`servers`: there is no server {name:?}"))
                .with("field", "servers")
                .with("allowed", all)
        })
    };
    named.iter().map(known).collect()
}

fn offset(cursor: Option<&str>) -> Result<usize, Failure> {
    let Some(cursor) = cursor.map(str::trim).filter(|cursor| !cursor.is_empty()) else {
        return Ok(0);
    };
    let bad =
        |_| Failure::arguments("`cursor` is not one that was given out here; ask again without it");
    cursor.parse().map_err(bad)
}

#[derive(Clone, Copy)]
enum Edge {
    Begin,
    End,
}

/// A date, or a moment: the whole day counts.
fn date(field: &str, text: Option<&str>, edge: Edge) -> Result<Option<i64>, Failure> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    if let Ok(moment) = OffsetDateTime::parse(text, &Rfc3339) {
        return Ok(Some(moment.unix_timestamp()));
    }
    let day = Date::parse(text, format_description!("[year]-[month]-[day]"));
    let day = day.map_err(|_| {
        let message =
            format!("`{field}` must be a date such as `2026-11-01` or `2026-11-01T08:00:00Z`");
        Failure::arguments(message).with("field", field)
    })?;
    let begin = day.midnight().assume_utc().unix_timestamp();
    Ok(Some(match edge {
        Edge::Begin => begin,
        Edge::End => begin + 24 * 60 * 60 - 1,
    }))
}

fn failure(error: FindError) -> Failure {
    match &error {
        FindError::Query(query) => match query {
            crate::search::QueryError::Index { .. } => {
                let action = "Try again in a minute; until then list with get_resource.";
                Failure::new(Class::ResourceExecutionError, error.to_string(), action)
                    .retryable(true)
            }
            _ => Failure::arguments(error.to_string()),
        },
        FindError::Opening => {
            let action = "Try again in a few seconds; until then list with get_resource.";
            Failure::new(Class::ResourceExecutionError, error.to_string(), action).retryable(true)
        }
        FindError::NoIndex => {
            let action = "List with get_resource instead.";
            Failure::new(Class::ResourceExecutionError, error.to_string(), action)
        }
    }
}
