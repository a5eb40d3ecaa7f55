//! Searching what resources hold and mean: the index, asked as every other door asks it.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::StatusCode,
};
use serde_json::{Value, json};
use trove_core::{
    SourceId,
    content::escape_line,
    gateway::FindError,
    search::{Hit, Query as Question, Why},
};

use super::{
    Web,
    answer::{Answer, json_of, refuse},
    query::Query,
};

/// How many hits are given.
const MAX_HITS: usize = 40;

/// `GET /api/search?q=…`: what fits best by word and by meaning, with a piece of it.
pub(super) async fn answer(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let text = query.get("q").unwrap_or_default();
    let sources = query.all("server").filter_map(SourceId::of_anyone).collect();
    let limit = query.number("limit", MAX_HITS).min(MAX_HITS);
    let question =
        Question { sources, max_results: limit, with_coverage: true, ..Question::text(text) };
    let found = match web.gateway.find(&web.caller(), question).await {
        Ok(found) => found,
        Err(FindError::NoIndex) => return Ok(json_of(&json!({ "indexed": false, "hits": [] }))),
        Err(error @ FindError::Opening) => {
            let message = error.to_string();
            return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, &message, &["Try again soon."]));
        }
        Err(FindError::Query(error)) => {
            let message = error.to_string();
            return Err(refuse(StatusCode::BAD_REQUEST, &message, &["Change the words."]));
        }
    };
    let hits = &found.hits;
    Ok(json_of(&json!({
        "indexed": true,
        "total": hits.total,
        "hits": hits.hits.iter().map(shown).collect::<Vec<_>>(),
        "took_ms": hits.took.as_secs_f64() * 1000.0,
        "covered": hits.coverage.indexed,
        "indexable": hits.coverage.indexable,
    })))
}

fn shown(hit: &Hit) -> Value {
    let name = hit.title.as_ref().unwrap_or(&hit.name);
    let line = |text: &Option<String>| text.as_deref().map(|text| escape_line(text).into_owned());
    json!({
        "uri": hit.public.as_str(),
        "name": escape_line(name),
        "description": line(&hit.description),
        "preview": hit.preview.as_deref().map(one_line),
        "type": hit.mime,
        "size": hit.size,
        "modified": hit.modified,
        "as_of": hit.as_of,
        "preview_stale": hit.is_text_old,
        "server": hit.key.source.as_str(),
        "score": hit.score,
        "why": hit.why.iter().copied().map(Why::as_str).collect::<Vec<_>>(),
        "words": hit.matched_terms,
    })
}

/// A piece of a document as one line: its line ends are no more than spaces here.
fn one_line(piece: &str) -> String {
    let words: Vec<&str> = piece.split_whitespace().collect();
    escape_line(&words.join(" ")).into_owned()
}
