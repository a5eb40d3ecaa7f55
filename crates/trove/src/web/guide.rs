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
    knowledge::{Document, Knowledge, KnowledgeError},
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
    let knowledge = knowledge(&web)?;
    let (sight, mut categories) = (web.gateway.sight_of_guide(&web.caller()), Vec::new());
    for (category, _) in knowledge.categories(sight.clone()).await {
        let documents = knowledge.category_files(sight.clone(), category.name(), None).await;
        let documents = documents.unwrap_or_default();
        categories.push(json!({
            "name": category.name(),
            "description": category.description().map(escape_line),
            "total": documents.len(),
            "documents": documents.iter().take(MAX_LISTED).map(|one| described(one)).collect::<Vec<_>>(),
        }));
    }
    let collections: Vec<Value> = knowledge
        .collections(sight)
        .await
        .into_iter()
        .map(|one| {
            json!({
                "name": one.name,
                "description": one.description,
                "members": one.members,
                "problem": one.problem,
            })
        })
        .collect();
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
    let document = document(&web, category, path).await?;
    let text = source_text(&web, category, path).await?.map_err(|error| {
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
    /// What was there when editing began; nothing: the document is new.
    before: Option<String>,
    text: String,
}

/// `POST /api/guide/save`: writes a document, unless somebody else did meanwhile.
pub(super) async fn save(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let change: Change = given(request).await?;
    let Change { category, path, before, text } = &change;
    if let Some(before) = before {
        document(&web, category, path).await?;
        let now = source_text(&web, category, path).await?.unwrap_or_default();
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
    let arguments = Json::of(&arguments);
    let tools = web.live.tools().all();
    match tools.attempt(&web.caller(), tool, Some(&arguments), Ask::default()).await {
        Some(Err(failure)) => Err(failed(&failure, &[])),
        Some(Ok(reply)) => Ok(json_of(&reply.body.get("structuredContent"))),
        None => Err(refuse(StatusCode::NOT_FOUND, "this gateway has no guide", &[])),
    }
}

#[expect(clippy::result_large_err, reason = "the error is the response itself")]
fn knowledge(web: &Web) -> Result<&Arc<Knowledge>, axum::response::Response> {
    let next = ["Run `trove init` in the folder of the configuration."];
    web.gateway
        .knowledge()
        .ok_or_else(|| refuse(StatusCode::NOT_FOUND, "this gateway has no guide", &next))
}

/// The document, if the caller may read it.
async fn document(
    web: &Web,
    category: &str,
    path: &str,
) -> Result<Arc<Document>, axum::response::Response> {
    let sight = web.gateway.sight_of_guide(&web.caller());
    let all = knowledge(web)?.category_files(sight, category, None).await;
    let mut all = all.unwrap_or_default().into_iter();
    all.find(|one| one.path() == path).ok_or_else(|| {
        let message = format!("there is no document {category}/{path}");
        refuse(StatusCode::NOT_FOUND, &message, &["Choose another on the left."])
    })
}

async fn source_text(
    web: &Web,
    category: &str,
    path: &str,
) -> Result<Result<String, KnowledgeError>, axum::response::Response> {
    let visible = web.gateway.sight_of_guide(&web.caller()).visible;
    Ok(knowledge(web)?.source_text(&visible, category, path).await)
}

/// What our own page sent: only it can send this type, a form elsewhere cannot.
async fn given<T: DeserializeOwned>(request: Request) -> Result<T, axum::response::Response> {
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
