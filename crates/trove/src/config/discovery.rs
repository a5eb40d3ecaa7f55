//! `[discovery]`, and the `resourceDiscovery` of a client's JSON file.

use std::time::Duration;

use serde_json::{Value, json};
use trove_core::source::Indexing;

use super::{
    env::{
        RESOURCE_DISCOVERY_CACHE_TTL, RESOURCE_DISCOVERY_MAX_CONTENT_SIZE,
        RESOURCE_DISCOVERY_PARALLEL_REQUESTS, non_empty,
    },
    file,
    problem::Problems,
    read::{Fields, Key, Spot, Word as _},
    resolve::{Surroundings, pick},
    settings::{Discovery, IndexSetting, Origin, Setting, Share},
    tree::Node,
};

const DEFAULT_CACHE_TTL_MS: u64 = 300_000;
const DEFAULT_MAX_CONTENT: u64 = 1024 * 1024;
const DEFAULT_PARALLEL: u64 = 5;
/// More contents at a time would only wait for each other.
const MAX_PARALLEL: u64 = 64;
const DEFAULT_THRESHOLD: Share = Share::of_thousandths(300);

pub(super) fn discovery(
    file: file::Discovery,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Discovery {
    if let Some(count) = file.parallel_requests.get()
        && !(1..=MAX_PARALLEL).contains(&count.value)
    {
        let message = format!("`parallel_requests` is {}", count.value);
        problems.error(count.at, message, format!("write a number from 1 to {MAX_PARALLEL}"));
    }
    let parallel = file.parallel_requests.take().filter(|n| (1..=MAX_PARALLEL).contains(n));
    let threshold = threshold(&file.relevance_threshold, problems);
    let mut number = |name, written, default, max| {
        let from_env = env_number(name, max, around, problems);
        match from_env {
            Some(value) => Setting { value, origin: Origin::Env },
            None => pick(None, written, default),
        }
    };
    let ttl = number(
        RESOURCE_DISCOVERY_CACHE_TTL,
        file.cache_ttl_ms.take(),
        DEFAULT_CACHE_TTL_MS,
        u64::MAX,
    );
    let max_content = number(
        RESOURCE_DISCOVERY_MAX_CONTENT_SIZE,
        file.max_content_size.take(),
        DEFAULT_MAX_CONTENT,
        u64::MAX,
    );
    let parallel =
        number(RESOURCE_DISCOVERY_PARALLEL_REQUESTS, parallel, DEFAULT_PARALLEL, MAX_PARALLEL);
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    Discovery {
        cache_ttl: Setting { value: Duration::from_millis(ttl.value), origin: ttl.origin },
        max_content_bytes: Setting { value: size(max_content.value), origin: max_content.origin },
        parallel: Setting { value: size(parallel.value), origin: parallel.origin },
        has_previews: pick(None, file.content_previews.take(), true),
        relevance_threshold: pick(None, threshold, DEFAULT_THRESHOLD),
        is_semantic: pick(None, file.semantic.take(), true),
        logs_queries: pick(None, file.log_queries.take(), false),
        index: file.index.iter().filter_map(|rule| index_rule(rule, problems)).collect(),
    }
}

fn index_rule(rule: &Spot<file::IndexRule>, problems: &mut Problems) -> Option<IndexSetting> {
    let file::IndexRule { r#match, index } = &rule.value;
    if r#match.is_absent() || r#match.get().is_some_and(|pattern| pattern.value.is_empty()) {
        let hint = "add the resources it is about: match = \"wiki://drafts/*\"";
        problems.error(rule.at, "a [[discovery.index]] has no `match`", hint);
    }
    if index.is_absent() {
        let hint = "add what search may read of them: index = \"metadata\"";
        problems.error(rule.at, "a [[discovery.index]] has no `index`", hint);
    }
    let (pattern, index) = (r#match.get()?.value.clone(), index.get()?.value);
    if let Err(error) = trove_core::gateway::IndexRule::new(&pattern, Indexing::Off) {
        problems.error(rule.at, error.to_string(), "`*` stands for anything");
    }
    Some(IndexSetting { pattern, index: index.into() })
}

fn threshold(written: &Key<f64>, problems: &mut Problems) -> Option<Share> {
    let written = written.get()?;
    let share = Share::new(written.value);
    if share.is_none() {
        let message = format!("a relevance threshold of {} is none", written.value);
        problems.error(written.at, message, "write a number from 0 to 1");
    }
    share
}

fn env_number(
    name: &str,
    max: u64,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Option<u64> {
    let text = non_empty(around.env, name)?;
    let number = text.trim().parse().ok().filter(|n| *n <= max && (*n > 0 || max == u64::MAX));
    if number.is_none() {
        let message = format!("`{name}` is {text:?}, which cannot be used");
        let hint = match max {
            u64::MAX => "write a whole number, or unset it".to_owned(),
            _ => format!("write a number from 1 to {max}, or unset it"),
        };
        problems.error_outside(message, hint);
    }
    number
}

/// These settings, as other clients' JSON files have them.
pub(super) fn of_client(node: &Node, problems: &mut Problems) -> Option<file::Discovery> {
    let known = [
        "cacheTTL",
        "maxContentSize",
        "parallelRequests",
        "enableContentPreviews",
        "defaultRelevanceThreshold",
    ];
    let mut fields = Fields::open(node, "resourceDiscovery", &known, problems)?;
    Some(file::Discovery {
        cache_ttl_ms: fields.read("cacheTTL"),
        max_content_size: fields.read("maxContentSize"),
        parallel_requests: fields.read("parallelRequests"),
        content_previews: fields.read("enableContentPreviews"),
        relevance_threshold: fields.read("defaultRelevanceThreshold"),
        ..file::Discovery::default()
    })
}

/// The section as it is in force.
pub(super) fn shown(discovery: &Discovery) -> Value {
    let mut shown = json!({
        "cache_ttl_ms": u64::try_from(discovery.cache_ttl.as_millis()).unwrap_or(u64::MAX),
        "max_content_size": discovery.max_content_bytes.value,
        "parallel_requests": discovery.parallel.value,
        "content_previews": discovery.has_previews.value,
        "relevance_threshold": discovery.relevance_threshold.get(),
        "semantic": discovery.is_semantic.value,
        "log_queries": discovery.logs_queries.value,
    });
    if !discovery.index.is_empty() {
        let rule = |rule: &IndexSetting| json!({ "match": rule.pattern, "index": file::Index::from(rule.index).as_str() });
        shown["index"] = discovery.index.iter().map(rule).collect();
    }
    shown
}
