//! The state of the gateway for the page: servers, settings, logs, collisions, figures.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use serde_json::{Map, Value, json};
use trove_core::{SourceId, about::Facts as _, content::escape_controls};

use super::{
    Web,
    answer::{Answer, json_of, missing},
    query::Query,
};

/// `GET /api/overview`: everything the first view needs.
pub(super) async fn overview(State(web): State<Arc<Web>>) -> Response {
    let caller = web.caller();
    let view = web.gateway.view(&caller).await;
    let words = last_words(&web).await;
    json_of(&json!({
        "health": web.gateway.health(&caller),
        "latency": web.latency.all(),
        "words": words,
        "resources": view.resource_count(),
        "templates": view.template_count(),
        "collisions": web.gateway.collisions(&caller).len(),
        "revision": view.snapshot().revision(),
        "pending": web.live.pending(),
        "waiting": web.live.admission.waiting().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "standing": web.gateway.standing(&caller),
    }))
}

/// The last line that each failing server wrote to its stderr: it mostly says why.
async fn last_words(web: &Web) -> Map<String, Value> {
    let mut words = Map::new();
    for (id, status) in web.gateway.board().all() {
        if status.last_error.is_some() {
            let lines = web.upstreams().stderr(&id).await;
            let last = lines.iter().rfind(|line| !line.trim().is_empty());
            words.extend(last.map(|line| (id.to_string(), escape_controls(line).into())));
        }
    }
    words
}

/// `GET /api/collisions`.
pub(super) async fn collisions(State(web): State<Arc<Web>>) -> Response {
    json_of(&json!({ "collisions": web.gateway.collisions(&web.caller()) }))
}

/// `GET /api/capabilities`.
pub(super) async fn capabilities(State(web): State<Arc<Web>>) -> Response {
    json_of(&web.gateway.capabilities(&web.caller()))
}

/// `GET /api/settings`: the configuration in force with who decided it, and the limits.
pub(super) async fn settings(State(web): State<Arc<Web>>) -> Response {
    let caller = web.caller();
    json_of(&json!({
        "settings": web.live.shown(),
        "server": web.gateway.server(),
        "security": web.gateway.security(&caller),
        "standing": web.gateway.standing(&caller),
    }))
}

/// `GET /api/logs?server=…`: what a server wrote to its stderr lately.
pub(super) async fn logs(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let id = SourceId::normalise(query.get("server").ok_or_else(|| missing("server"))?);
    let lines = web.upstreams().stderr(&id).await;
    let lines: Vec<Value> = lines.iter().map(|line| escape_controls(line).into()).collect();
    Ok(json_of(&json!({ "server": id.as_str(), "lines": lines })))
}

/// `GET /api/figures`: what is counted, as Prometheus reads it.
pub(super) async fn figures(State(web): State<Arc<Web>>) -> Response {
    json_of(&json!({ "figures": web.gateway.figures(), "latency": web.latency.all() }))
}
