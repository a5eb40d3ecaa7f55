//! Templates: what there is, values for their variables, and the URI they make.

use std::{borrow::Cow, sync::Arc};

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};
use serde_json::{Value, json};
use trove_core::{
    Json,
    catalogue::TemplateEntry,
    content::escape_line,
    source::Ask,
    template::{Bindings, UriTemplate},
};

use super::{
    Web,
    answer::{Answer, explain, json_of, missing, refuse},
    query::Query,
};

/// The most templates of one answer.
const MAX_TEMPLATES: usize = 1000;
/// Stands before the name of a value in an address, e.g. `v.id=7`.
const VALUE: &str = "v.";

/// `GET /api/templates`.
pub(super) async fn list(State(web): State<Arc<Web>>) -> Response {
    let view = web.gateway.view(&web.caller()).await;
    let shown = |(entry, is_closed): (&TemplateEntry, bool)| -> Value {
        let compiled = UriTemplate::parse(entry.public.as_str()).ok();
        let variables: Option<Vec<String>> =
            compiled.as_ref().map(|c| c.variables().map(str::to_owned).collect());
        let details = entry.template.details();
        let shown = |text: Option<Cow<'_, str>>| text.map(|text| escape_line(&text).into_owned());
        json!({
            "template": entry.public.as_str(),
            "name": shown(details.shown_name()),
            "description": shown(details.description()),
            "type": shown(details.mime()),
            "server": view.snapshot().owner(entry.member).id().as_str(),
            "closed": is_closed,
            "variables": variables.unwrap_or_default(),
            "usable": compiled.is_some(),
        })
    };
    let templates: Vec<Value> = view.templates().take(MAX_TEMPLATES).map(shown).collect();
    json_of(&json!({ "total": view.template_count(), "templates": templates }))
}

/// `GET /api/expand?template=…&v.NAME=…`: the URI for these values.
pub(super) async fn expand(request: Request) -> Answer {
    let query = Query::of(request.uri());
    let text = query.get("template").ok_or_else(|| missing("template"))?;
    let template = UriTemplate::parse(text).map_err(|error| {
        let next = ["Tell whoever runs its server: the template breaks RFC 6570."];
        refuse(StatusCode::BAD_REQUEST, &error.to_string(), &next)
    })?;
    let mut values = Bindings::new();
    for name in template.variables() {
        if let Some(value) = query.get(&format!("{VALUE}{name}")) {
            values.bind(name, value);
        }
    }
    Ok(match template.expand(&values) {
        Ok(uri) => json_of(&json!({ "uri": uri })),
        Err(error) => json_of(&json!({ "uri": null, "lacks": error.to_string() })),
    })
}

/// `GET /api/complete?template=…&name=…&value=…`: what its server offers for a variable.
pub(super) async fn complete(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let template = query.get("template").ok_or_else(|| missing("template"))?;
    let name = query.get("name").ok_or_else(|| missing("name"))?;
    let others = UriTemplate::parse(template).ok();
    let others = others.iter().flat_map(UriTemplate::variables).filter(|other| *other != name);
    let given: serde_json::Map<String, Value> = others
        .filter_map(|other| Some((other.to_owned(), query.get(&format!("{VALUE}{other}"))?.into())))
        .collect();
    let mut arguments = json!({
        "ref": { "type": "ref/resource", "uri": template },
        "argument": { "name": name, "value": query.get("value").unwrap_or_default() },
    });
    if !given.is_empty() {
        arguments["context"] = json!({ "arguments": given });
    }
    let answer = web.gateway.complete(&web.caller(), &Json::of(&arguments), Ask::default()).await;
    let none = json!({ "values": [] });
    Ok(match answer {
        Ok(reply) => match reply.body.get("completion") {
            Some(completion) => json_of(&completion),
            None => json_of(&none),
        },
        // A server that completes nothing has no values to offer; that is no error here.
        Err(trove_core::gateway::AskError::Source { .. }) => json_of(&none),
        Err(error) => return Err(explain(&error)),
    })
}
