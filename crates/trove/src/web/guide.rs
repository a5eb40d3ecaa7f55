//! Local knowledge on the page: what there is, and documents to edit.
//!
//! A document is written by the tool that clients have for it, so that the same checks hold
//! and the same record is kept. Only what the caller may read can be edited.

use std::sync::Arc;

use axum::{
    body::to_bytes,
    extract::{Request, State},
    http::{StatusCode, header},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use trove_core::{
    Json,
    content::escape_line,
    gateway::{Answer as Answered, Call, Written},
    knowledge::Document,
    source::Ask,
};

use super::{
    Web,
    answer::{Answer, failed, json_of, missing, refuse},
    query::Query,
};

/// The longest text that is taken from a page.
const MAX_TEXT_BYTES: usize = 2 << 20;
/// The most documents of one category that are listed.
const MAX_LISTED: usize = 2_000;

/// `GET /api/guide`: categories with their documents, and collections.
pub(super) async fn list(State(web): State<Arc<Web>>) -> Answer {
    let Ok(Answered::Guide(guide)) = web.gateway.run(&web.caller(), Call::Guide).await else {
        let next = ["Run `trove init` in the folder of the configuration."];
        return Err(refuse(StatusCode::NOT_FOUND, "this gateway has no guide", &next));
    };
    let mut categories = Vec::new();
    for (category, documents) in &guide.categories {
        let shown: Vec<Value> =
            documents.iter().take(MAX_LISTED).map(|one| described(one)).collect();
        categories.push(json!({
            "name": category.name(),
            "description": category.description().map(escape_line),
            "total": documents.len(),
            "documents": shown,
        }));
    }
    let mut collections = Vec::new();
    for one in &guide.collections {
        collections.push(json!({
            "name": one.name,
            "description": one.description,
            "members": one.members,
            "problem": one.problem,
        }));
    }
    Ok(json_of(&json!({ "categories": categories, "collections": collections })))
}

fn described(document: &Document) -> Value {
    json!({
        "uri": document.uri(),
        "path": document.path(),
        "title": document.title().map(escape_line),
        "description": document.description().map(escape_line),
        "size": document.size(),
    })
}

/// `GET /api/guide/source?category=…&path=…`: the text as it was written.
pub(super) async fn source(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let category = query.get("category").ok_or_else(|| missing("category"))?;
    let path = query.get("path").ok_or_else(|| missing("path"))?;
    let Written { document, text } = written(&web, category, path).await?;
    let text = text.map_err(|error| {
        refuse(StatusCode::CONFLICT, &error.to_string(), &["Edit the file itself."])
    })?;
    Ok(json_of(&json!({ "document": described(&document), "text": text })))
}

#[derive(Deserialize)]
struct Draft {
    name: String,
    text: String,
}

/// `POST /api/guide/preview`: holds a draft, to be shown in a frame that can do nothing.
pub(super) async fn preview(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let draft: Draft = given(request).await?;
    let (ticket, looks) = web.held.keep_draft(&draft.name, &draft.text);
    Ok(json_of(&json!({ "ticket": ticket, "looks": looks })))
}

#[derive(Deserialize)]
struct Change {
    category: String,
    path: String,
    /// The text when editing began; `None`: the document is new.
    before: Option<String>,
    text: String,
}

/// `POST /api/guide/save`: writes a document, unless it changed meanwhile.
pub(super) async fn save(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let change: Change = given(request).await?;
    let Change { category, path, before, text } = &change;
    if let Some(before) = before {
        let now = written(&web, category, path).await?.text.unwrap_or_default();
        if now != *before {
            let message = "somebody else changed it while you were editing";
            let next = ["Copy your text, open the document again, and put your change in."];
            return Err(refuse(StatusCode::CONFLICT, message, &next));
        }
    }
    let mut arguments = json!({ "category": category, "path": path, "text": text });
    let tool = if before.is_some() {
        // The person who pressed the button is the one who would be asked.
        arguments["explicit_action"] = json!("REPLACE_DOCUMENT");
        "document_update"
    } else {
        "document_add"
    };
    apply(&web, tool, &arguments).await
}

#[derive(Deserialize)]
struct Place {
    category: String,
    path: String,
    /// The new name.
    #[serde(default)]
    to: String,
}

/// `POST /api/guide/remove`: deletes a document. The person at the page was asked.
pub(super) async fn remove(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let place: Place = given(request).await?;
    apply(&web, "document_remove", &removal(&place)).await
}

/// `POST /api/guide/rename`: the document under another name. It is there under both for a
/// moment, never under none.
pub(super) async fn rename(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let place: Place = given(request).await?;
    let Written { text, .. } = written(&web, &place.category, &place.path).await?;
    let text = text.map_err(|error| {
        refuse(StatusCode::CONFLICT, &error.to_string(), &["Rename the file itself."])
    })?;
    let arguments = json!({ "category": place.category, "path": place.to, "text": text });
    let added = apply(&web, "document_add", &arguments).await?;
    apply(&web, "document_remove", &removal(&place)).await?;
    Ok(added)
}

fn removal(place: &Place) -> Value {
    json!({
        "category": place.category,
        "path": place.path,
        "explicit_action": "REMOVE_DOCUMENT",
    })
}

/// Changes the guide by a tool that clients have for it.
async fn apply(web: &Web, tool: &str, arguments: &Value) -> Answer {
    let arguments = Json::of(arguments);
    let tools = web.live.tools().all();
    match tools.attempt(&web.caller(), tool, Some(&arguments), Ask::default()).await {
        Some(Err(failure)) => Err(failed(&failure, &[])),
        Some(Ok(reply)) => Ok(json_of(&reply.body.get("structuredContent"))),
        None => Err(refuse(StatusCode::NOT_FOUND, "this gateway has no guide", &[])),
    }
}

/// The document as it was written, if the caller may read it.
async fn written(
    web: &Web,
    category: &str,
    path: &str,
) -> Result<Written, axum::response::Response> {
    let call = Call::Written(category.to_owned(), path.to_owned());
    match web.gateway.run(&web.caller(), call).await {
        Ok(Answered::Written(written)) => Ok(written),
        Ok(_) | Err(_) => {
            let message = format!("there is no document {category}/{path}");
            Err(refuse(StatusCode::NOT_FOUND, &message, &["Choose another on the left."]))
        }
    }
}

/// What our own page sent: only it can send this type, a form elsewhere cannot.
pub(super) async fn given<T: DeserializeOwned>(
    request: Request,
) -> Result<T, axum::response::Response> {
    let is_json = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let body = to_bytes(request.into_body(), MAX_TEXT_BYTES).await;
    let given = body.ok().filter(|_| is_json).and_then(|body| serde_json::from_slice(&body).ok());
    given.ok_or_else(|| {
        let next = ["Edit larger documents as files."];
        refuse(StatusCode::BAD_REQUEST, "a text of at most 2 MiB is expected", &next)
    })
}
