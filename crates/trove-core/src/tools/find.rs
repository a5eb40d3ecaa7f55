//! Finding resources: `discover_resources` and `search_resources`.

use std::{collections::HashSet, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    Answers, Call, Class, Effect, Example, Failure, Outcome, Prefix, Tool, Toolset,
    dates::Between,
    hint,
    shown::tidy,
    unread::{still_starting, without_resources},
};
use crate::{
    content::{escape_line, one_line},
    gateway::{FindError, Found, LIVE_WAIT},
    json::{Json, Object},
    search::{Coverage, Hit, Hits, MAX_RESULTS, MAX_TERMS, Query, Scope, Wanted, common_words},
    source::SourceId,
};

/// From this share of indexable resources on an answer calls itself complete, in percent.
pub const COVERAGE_THRESHOLD: u8 = 95;

/// So many of the best are given even if they are hardly relevant. So a model that asked in other
/// words than a resource's own has it in one call.
const NEAR_MISSES: usize = 3;

/// Find resources by what you need to know.
///
/// # Details
///
/// Looks through names, descriptions and contents of all servers, by words and meaning. Read
/// what looks right with get_resource or natively.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct DiscoverResources {
    /// Your question; default: recommend
    ///
    /// What you want to know. Without it the answer shows what there is.
    #[serde(default)]
    query: Option<String>,
    /// As text/*; default all
    ///
    /// Only resources of these types.
    #[serde(default)]
    #[schemars(length(max = 256))]
    content_types: Vec<String>,
    /// Default all
    ///
    /// Only resources of these servers.
    #[serde(default)]
    #[schemars(length(max = 256))]
    servers: Vec<String>,
    /// Default 20
    ///
    /// How many results to give.
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = MAX_RESULTS))]
    max_results: usize,
    /// Show a piece; default false
    ///
    /// Whether to show a piece of each content.
    #[serde(default)]
    include_content: bool,
    /// Default 0.3
    ///
    /// Leave out what is less relevant. Unless it is given, the three best come as near misses.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    relevance_threshold: Option<f32>,
    /// Default 300
    ///
    /// How many milliseconds to wait for servers that search by themselves; with 0 they are not asked.
    #[serde(default = "live_wait")]
    #[schemars(range(min = 0, max = 10000))]
    live_wait_ms: u64,
    /// Default: start
    ///
    /// The cursor of the answer before.
    #[serde(default)]
    cursor: Option<String>,
}

/// Search resources for words that must all occur.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SearchResources {
    /// Words or "phrases"
    #[schemars(length(min = 1, max = MAX_TERMS))]
    search_terms: Vec<String>,
    /// Default all
    ///
    /// Where to look.
    #[serde(default)]
    search_scope: SearchScope,
    /// Misspelt too; default false
    ///
    /// Whether to find misspelt words too.
    #[serde(default)]
    fuzzy_match: bool,
    /// As 2026-11-01; default any
    ///
    /// Only what was changed since then.
    #[serde(default)]
    after: Option<String>,
    /// Default any
    ///
    /// Only what was changed until then.
    #[serde(default)]
    before: Option<String>,
    /// `2026-11-01/2026-11-30`; default any
    ///
    /// Both at once, as an interval.
    #[serde(default)]
    date_range: Option<String>,
    /// Default all
    ///
    /// Only resources of these servers.
    #[serde(default)]
    #[schemars(length(max = 256))]
    servers: Vec<String>,
    /// As text/*; default all
    ///
    /// Only resources of these types.
    #[serde(default)]
    #[schemars(length(max = 256))]
    content_types: Vec<String>,
    /// Default 20
    ///
    /// How many results to give.
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = MAX_RESULTS))]
    max_results: usize,
    /// Default true
    ///
    /// Whether meaning counts beside words.
    #[serde(default = "yes")]
    semantic: bool,
    /// Default: start
    ///
    /// The cursor of the answer before.
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

fn live_wait() -> u64 {
    u64::try_from(LIVE_WAIT.as_millis()).unwrap_or(u64::MAX)
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
    const ANSWERS: Answers = Answers::Found;
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "Which resource documents something?",
            arguments: r#"{"query": "state of the servers"}"#,
        },
        Example {
            says: "One type only, with a piece of each.",
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
        let (sources, hint) = servers(call, &self.servers);
        let asked = Query {
            wanted,
            content_types: self.content_types,
            sources,
            max_results: self.max_results,
            offset,
            threshold,
            near_misses: match self.relevance_threshold {
                // A caller who names a threshold means it.
                Some(_) => 0,
                None => NEAR_MISSES,
            },
            with_coverage: true,
            live_wait: Duration::from_millis(self.live_wait_ms),
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
        let tools = without_resources(call, &found);
        say(&mut out, [hint, advice(&found.hits), still_starting(&found.starting), tools]);
        Ok(Outcome::flat(out))
    }
}

impl Tool for SearchResources {
    const NAME: &'static str = "search_resources";
    const TOOLSET: Toolset = Toolset::Resources;
    const EFFECT: Effect = Effect::Reads;
    const PREFIX: Prefix = Prefix::None;
    const ANSWERS: Answers = Answers::Found;
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
        let between = self.between()?;
        let (sources, hint) = servers(call, &self.servers);
        let narrowed = self.narrowed(&sources);
        let asked = Query {
            scope,
            is_fuzzy: self.fuzzy_match,
            after: between.after,
            before: between.before,
            content_types: self.content_types,
            sources,
            max_results: self.max_results,
            offset,
            is_semantic: self.semantic,
            with_coverage: true,
            live_wait: LIVE_WAIT,
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
        if between.is_bounded() {
            out.set("undatedLeftOut", found.hits.undated.to_string());
        }
        let said = [
            hint,
            advice_on_terms(&found.hits, &narrowed),
            undated(&found.hits),
            passed_over(&text),
            still_starting(&found.starting),
        ];
        say(&mut out, said);
        Ok(Outcome::flat(out))
    }
}

impl SearchResources {
    /// The dates that are asked for, in either form.
    fn between(&self) -> Result<Between, Failure> {
        let range = self.date_range.as_deref().map(str::trim).filter(|range| !range.is_empty());
        let Some(range) = range else {
            return Between::ends(self.after.as_deref(), self.before.as_deref());
        };
        if self.after.is_some() || self.before.is_some() {
            let message = "`dateRange` says the same as `after` and `before`; give one of them";
            return Err(Failure::arguments(message).with("field", "dateRange"));
        }
        Between::range(range)
    }

    /// The arguments that keep resources out even if they hold the terms.
    fn narrowed(&self, sources: &[SourceId]) -> Vec<&'static str> {
        let arguments = [
            ("searchScope", self.search_scope != SearchScope::All),
            ("after", self.after.is_some()),
            ("before", self.before.is_some()),
            ("dateRange", self.date_range.is_some()),
            ("servers", !sources.is_empty()),
            ("contentTypes", !self.content_types.is_empty()),
        ];
        arguments.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }
}

/// Adds the sentences that there are, as one message.
pub(super) fn say<const N: usize>(out: &mut Object<'static>, sentences: [Option<String>; N]) {
    let said: Vec<String> = sentences.into_iter().flatten().collect();
    if !said.is_empty() {
        out.set_str("message", &one_line(&said.join(" ")));
    }
}

/// How many results a question with dates leaves out for want of a date.
fn undated(hits: &Hits) -> Option<String> {
    let (count, verb, them) = match hits.undated {
        0 => return None,
        1 => ("1 resource".to_owned(), "holds", "it"),
        n => (format!("{n} resources"), "hold", "them"),
    };
    Some(format!(
        "{count} without a date {verb} the terms too and were left out: ask without dates to see {them}."
    ))
}

/// So many names are told at most.
const MAX_NAMES: usize = 10;

/// Names as they stand in a sentence, the first few of them.
pub(super) fn some_of(names: &[&str]) -> String {
    let told = names.iter().take(MAX_NAMES).map(|name| format!("`{name}`"));
    let told: Vec<String> = told.collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}

/// Which words did not count.
fn passed_over(text: &str) -> Option<String> {
    let words = common_words(text);
    let names = words.join("`, `");
    (!words.is_empty()).then(|| format!("Too common to be looked for, and passed over: `{names}`."))
}

/// The meaning of a search in which no resource holds all the terms, and the next step.
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

/// The next step if no result is relevant enough.
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

/// The results of discovery for a program: the best first, those that are hardly relevant marked.
pub(super) async fn discover(
    call: &Call<'_>,
    query: &str,
    named: &[String],
    max: usize,
) -> Result<Vec<Value>, Failure> {
    let asked = Query {
        sources: servers(call, named).0,
        max_results: max.clamp(1, MAX_RESULTS),
        threshold: call.settings.relevance_threshold,
        near_misses: NEAR_MISSES,
        ..Query::text(query)
    };
    let found = call.gateway.find(call.caller, asked).await.map_err(failure)?;
    log(call, query, &found);
    let down: HashSet<&SourceId> = found.down.iter().map(|(id, _)| id).collect();
    let hits = found.hits.hits.iter();
    Ok(hits.map(|hit| tidy(shown(hit, down.contains(&hit.key.source), false))).collect())
}

/// The words of a question are private, unless the settings say otherwise.
fn log(call: &Call<'_>, text: &str, found: &Found) {
    let query = if call.settings.logs_queries { escape_line(text) } else { "".into() };
    let ms = found.hits.took.as_millis();
    tracing::debug!(length = text.len(), total = found.hits.total, ms, query = %query, "search");
}

/// The members that both answers share.
fn answer(found: &Found, resources: Vec<Value>) -> Object<'static> {
    let hits = &found.hits;
    let searched: Vec<&str> = found.searched.iter().map(SourceId::as_str).collect();
    let mut out = Object::new();
    out.set("success", "true");
    out.set("resources", tidy(Value::Array(resources)).to_string());
    out.set("totalFound", hits.total.to_string());
    if !hits.is_total_exact {
        out.set("totalIsAtLeast", "true");
    }
    out.set("serversSearched", Json::of(&searched).as_str().to_owned());
    if !found.down.is_empty() {
        out.set("errors", down_as_told(&found.down));
    }
    if !found.silent.is_empty() {
        out.set("liveErrors", down_as_told(&found.silent));
    }
    if let Some(next) = hits.next_offset {
        out.set_str("cursor", &next.to_string());
    }
    out
}

/// The servers that do not answer now, and why.
pub(super) fn down_as_told(down: &[(SourceId, String)]) -> String {
    let error = |(id, why): &(SourceId, String)| json!({ "server": id.as_str(), "error": why });
    tidy(down.iter().map(error).collect()).to_string()
}

fn shown(hit: &Hit, is_stale: bool, with_content: bool) -> Value {
    let mut one = json!({
        "uri": hit.public.as_str(),
        "name": hit.title.as_deref().unwrap_or(&hit.name),
        "server": hit.key.source.as_str(),
        "relevanceScore": (f64::from(hit.score) * 1000.0).round() / 1000.0,
        "why": hit.why.iter().map(|why| why.as_str()).collect::<Vec<_>>(),
    });
    put(&mut one, "description", hit.description.as_deref());
    put(&mut one, "mimeType", hit.mime.as_deref());
    put(&mut one, "size", hit.size);
    put(&mut one, "lastModified", hit.modified.and_then(rfc3339));
    put(&mut one, "asOf", hit.as_of.and_then(rfc3339));
    if hit.is_text_old {
        one["previewStale"] = json!(true);
    }
    if with_content {
        put(&mut one, "contentPreview", hit.preview.as_deref());
    }
    if hit.is_live {
        one["live"] = json!(true);
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
        let mut one = json!({ "field": highlight.field, "snippet": highlight.snippet });
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

/// The servers that are named and exist, and what to say of the others. A wrong name is no error:
/// without a right one everything is searched.
fn servers(call: &Call<'_>, named: &[String]) -> (Vec<SourceId>, Option<String>) {
    let snapshot = call.gateway.current();
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for name in named.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        match SourceId::of_anyone(name).filter(|id| snapshot.member(id).is_some()) {
            Some(id) => known.push(id),
            None => unknown.push(name),
        }
    }
    let hint = hint::of(call, &unknown, &known);
    (known, hint)
}

fn offset(cursor: Option<&str>) -> Result<usize, Failure> {
    let Some(cursor) = cursor.map(str::trim).filter(|cursor| !cursor.is_empty()) else {
        return Ok(0);
    };
    let bad =
        |_| Failure::arguments("`cursor` is not one that was given out here; ask again without it");
    cursor.parse().map_err(bad)
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
