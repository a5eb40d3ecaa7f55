//! Asking a server to search by itself: by the recipe, or by a tool that is plainly a search.

use serde_json::{Map, Value, json};
use trove_core::{Json, LocalUri, SourceError, source::Ask, source::LiveHit};

use super::{
    Items, Path,
    answer::Answer,
    listing::{entry, moment},
    source::{Fit, Made, Toolbox},
    words::Values,
};

/// How much of a snippet is kept.
const MAX_SNIPPET_CHARS: usize = 600;

/// Whether the server can search.
pub(super) fn is_offered(fit: &Fit) -> bool {
    match &fit.recipe {
        Some(recipe) => !recipe.searches.is_empty(),
        None => own_search(fit).is_some(),
    }
}

/// The tool that is plainly a search, and its argument for the question.
fn own_search(fit: &Fit) -> Option<(&str, &str)> {
    let mut offered: Vec<(&str, &str)> = fit
        .tools
        .iter()
        .filter_map(|(name, tool)| Some((name.as_str(), tool.question(name)?)))
        .collect();
    offered.sort_unstable();
    offered.first().copied()
}

/// The hits of the server, at most `max` of each search it has.
pub(super) async fn hits<T: Toolbox>(
    made: &Made<T>,
    fit: &Fit,
    query: &str,
    max: usize,
    ask: Ask,
) -> Result<Vec<LiveHit>, SourceError> {
    let Some(recipe) = &fit.recipe else {
        let Some((tool, question)) = own_search(fit) else {
            return Err(SourceError::NotOffered { what: "a search" });
        };
        let arguments = Map::from_iter([(question.to_owned(), Value::from(query))]);
        let answer = made.ask_tool(tool, arguments, ask, false).await?;
        return named_in(&answer, max);
    };
    let asked = json!({ "query": query, "max": max });
    let values = Values::of(&fit.given).and(&asked);
    let calls = recipe.searches.iter().map(async |step| {
        let answer = made.call(fit, &step.call, &values, None, ask.clone(), false).await?;
        let items = answer.items(&step.items, max)?;
        let hit = |item: &Value| {
            let values = values.and(item);
            let snippet = step.snippet.as_ref().and_then(|words| words.filled(&values));
            hit_of(&entry(&step.entry, &values)?, snippet)
        };
        Ok(items.iter().filter_map(hit).collect::<Vec<LiveHit>>())
    });
    let outcomes: Vec<Result<Vec<LiveHit>, SourceError>> =
        futures_util::future::join_all(calls).await;
    let mut found = Vec::new();
    let mut failure = None;
    for outcome in outcomes {
        match outcome {
            Ok(hits) => found.extend(hits),
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

fn hit_of(entry: &Json, snippet: Option<String>) -> Option<LiveHit> {
    let object = entry.object()?;
    let member = |key: &str| object.get_str(key).map(std::borrow::Cow::into_owned);
    let uri = member("uri")?;
    let notes = object.get("annotations").and_then(trove_core::json::Object::parse);
    let modified = notes.as_ref().and_then(|notes| notes.get_str("lastModified"));
    let modified = modified.and_then(|at| moment(&at)).map(|at| at.unix_timestamp());
    Some(LiveHit {
        name: member("name").unwrap_or_else(|| uri.clone()),
        uri: LocalUri::new(uri),
        title: member("title"),
        description: member("description"),
        mime: member("mimeType"),
        modified,
        snippet: snippet.map(|text| text.chars().take(MAX_SNIPPET_CHARS).collect()),
    })
}

/// The resources that an answer names: links and embedded ones, or data with a `uri`.
fn named_in(answer: &Answer, max: usize) -> Result<Vec<LiveHit>, SourceError> {
    let mut found: Vec<LiveHit> = answer.links().iter().filter_map(|e| hit_of(e, None)).collect();
    if found.is_empty()
        && let Ok(path) = Path::parse("$..[?@.uri]")
    {
        for item in answer.items(&Items::Found { path, trail: None }, max)? {
            let text = |key: &str| item[key].as_str().map(str::to_owned);
            let snippet = text("snippet").or_else(|| text("text"));
            found.extend(hit_of(&Json::of(&item), snippet));
        }
    }
    found.truncate(max);
    Ok(found)
}
