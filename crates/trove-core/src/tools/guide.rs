//! Reading local knowledge by expression, and what there is of it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Advice, Call, Class, Effect, Example, Failure, Outcome, Tool, Toolset};
use crate::{
    knowledge::{Category, Content, Document, Knowledge, KnowledgeError, Piece},
    project::ProjectName,
};

/// Get guide documents by an expression.
///
/// # Details
///
/// `lang/python` is the document python of the category lang; `lang/python+rust` either;
/// `lang/python,docs/api,review` all three in order, each document once. A name may be a
/// category or a collection. Patterns know `*`, `**`, `?`, `[a-z]` and `{a,b}`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetContent {
    /// As `lang/rust+python,docs`
    #[schemars(length(max = 4096))]
    expression: String,
    /// Default none
    ///
    /// For parts of the expression that have no pattern of their own.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pattern: Option<String>,
}

/// List the guide's categories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CategoryList {}

/// List the guide's collections.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CollectionList {}

/// List the documents of a category.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CategoryListFiles {
    /// Category
    name: String,
    /// Default all
    ///
    /// Only documents that match.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pattern: Option<String>,
}

impl Tool for GetContent {
    const NAME: &'static str = "get_content";
    const TOOLSET: Toolset = Toolset::Guide;
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLES: &'static [Example] = &[
        Example { says: "One document.", arguments: r#"{"expression": "lang/rust"}"# },
        Example {
            says: "Whatever is there on either language.",
            arguments: r#"{"expression": "lang/rust+python"}"#,
        },
        Example {
            says: "The same pattern in two categories.",
            arguments: r#"{"expression": "lang,checklists", "pattern": "r*"}"#,
        },
    ];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let knowledge = knowledge(call)?;
        let (expression, pattern) = (self.expression.trim(), self.pattern.as_deref());
        let content = call.gateway.content(call.caller, expression, pattern).await;
        let content = content.map_err(failure)?;
        let content = fitting(content, call.settings.max_answer)?;
        let text = knowledge.as_text(&content, project(call));
        let outcome = Outcome::ok(json!({
            "content": text,
            "documents": content.pieces.iter().map(|p| described(&p.document)).collect::<Vec<_>>(),
            "left_out": content.left_out,
            "cut": content.cut,
        }));
        let outcome = match instructions(&content) {
            Some(instructions) => outcome.instruction(&instructions),
            None => outcome,
        };
        Ok(match notes(&content) {
            Some(notes) => outcome.message(&notes),
            None => outcome,
        })
    }
}

impl Tool for CategoryList {
    const NAME: &'static str = "category_list";
    const TOOLSET: Toolset = Toolset::Guide;
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLES: &'static [Example] =
        &[Example { says: "See what the guide is divided into.", arguments: "{}" }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let sight = call.gateway.sight_of_guide(call.caller);
        let categories = knowledge(call)?.categories(sight).await;
        let one = |(category, documents): &(Arc<Category>, usize)| {
            known(json!({
                "name": category.name(),
                "description": category.description(),
                "dir": category.dir(),
                "patterns": category.patterns(),
                "documents": documents,
            }))
        };
        Ok(Outcome::ok(json!({ "categories": categories.iter().map(one).collect::<Vec<_>>() })))
    }
}

impl Tool for CollectionList {
    const NAME: &'static str = "collection_list";
    const TOOLSET: Toolset = Toolset::Guide;
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLES: &'static [Example] =
        &[Example { says: "See what is gathered for a purpose.", arguments: "{}" }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let sight = call.gateway.sight_of_guide(call.caller);
        let collections = knowledge(call)?.collections(sight).await;
        let all: Vec<Value> = collections
            .into_iter()
            .map(|collection| {
                known(json!({
                    "name": collection.name,
                    "description": collection.description,
                    "members": collection.members,
                    "problem": collection.problem,
                }))
            })
            .collect();
        Ok(Outcome::ok(json!({ "collections": all })))
    }
}

impl Tool for CategoryListFiles {
    const NAME: &'static str = "category_list_files";
    const TOOLSET: Toolset = Toolset::Guide;
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLES: &'static [Example] = &[
        Example { says: "Everything of a category.", arguments: r#"{"name": "lang"}"# },
        Example {
            says: "What matches.",
            arguments: r#"{"name": "lang", "pattern": "{rust,python}"}"#,
        },
    ];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let knowledge = knowledge(call)?;
        let name = self.name.trim();
        let sight = call.gateway.sight_of_guide(call.caller);
        let files = knowledge.category_files(sight, name, self.pattern.as_deref()).await;
        let files = files.map_err(failure)?;
        let documents: Vec<Value> = files.iter().map(|document| described(document)).collect();
        Ok(Outcome::ok(json!({ "category": name, "documents": documents })))
    }
}

/// Local knowledge, or why there is none.
pub(super) fn knowledge<'a>(call: &'a Call<'_>) -> Result<&'a Arc<Knowledge>, Failure> {
    call.gateway.knowledge().ok_or_else(|| {
        let action = "Run `trove init` in the folder of the configuration.";
        Failure::new(Class::NotFound, "this gateway has no guide", action)
    })
}

/// The project the caller works on.
pub(super) fn project<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    call.caller.project.as_ref().map(ProjectName::as_str)
}

/// A document as lists show it.
pub(super) fn described(document: &Document) -> Value {
    known(json!({
        "uri": document.uri(),
        "category": document.category(),
        "path": document.path(),
        "title": document.title(),
        "description": document.description(),
        "mimeType": document.media(),
        "size": document.size(),
        "lastModified": document.modified(),
        "type": document.kind(),
        "instruction": document.instruction(),
    }))
}

/// What is not known is not told, rather than told to be null.
fn known(mut entry: Value) -> Value {
    if let Some(members) = entry.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    entry
}

/// What documents tell whoever reads them to do, each once. They are the user's own words;
/// nothing of a server comes here.
fn instructions(content: &Content) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for said in content.pieces.iter().filter_map(|piece| piece.document.instruction()) {
        if !all.contains(&said) {
            all.push(said);
        }
    }
    (!all.is_empty()).then(|| all.join("\n"))
}

/// As many documents as one answer may hold, and how to have the others.
fn fitting(mut content: Content, most: usize) -> Result<Content, Failure> {
    let mut bytes = 0;
    let is_within = |piece: &&Piece| {
        bytes += piece.body.len();
        bytes <= most
    };
    let fits = content.pieces.iter().take_while(is_within).count();
    let Some(next) = content.pieces.get(fits) else { return Ok(content) };
    let uri = next.document.uri();
    if fits == 0 {
        let size = next.body.len();
        let message = format!("{uri} has {size} bytes; one answer holds at most {most}");
        let action = Advice::from("Call get_resource with uri ").telling(uri);
        let action = action.and(": it gives it part by part.");
        return Err(Failure::new(Class::TooLarge, message, action).with("limit", most));
    }
    let note = format!(
        "cut after {fits} documents, as one answer holds at most {most} bytes; the next is {uri}: \
         ask for less with `pattern`, or call get_resource with its URI"
    );
    content.cut += content.pieces.len() - fits;
    content.pieces.truncate(fits);
    content.notes.insert(0, note);
    Ok(content)
}

fn notes(content: &Content) -> Option<String> {
    (!content.notes.is_empty()).then(|| content.notes.join("\n"))
}

/// An error of local knowledge, in its class.
pub(super) fn failure(error: KnowledgeError) -> Failure {
    let of = |action: &'static str| Failure::new(error.class(), error.to_string(), action);
    match &error {
        KnowledgeError::NotFound { near, .. } | KnowledgeError::ContextNotFound { near, .. } => {
            of("Call category_list or collection_list to see what there is.")
                .with("near", near.clone())
        }
        KnowledgeError::Ambiguous { candidates, .. } => {
            of("Ask for one of the candidates.").with("candidates", candidates.clone())
        }
        KnowledgeError::FlagsUnmet { .. } => {
            of("Set the flags it needs with set_project_flag, if that is meant.")
        }
        KnowledgeError::TooLarge { limit, .. } => {
            of("Split the document or shorten it.").with("limit", *limit)
        }
        KnowledgeError::TooSlow => of("Ask for fewer documents.").retryable(true),
        KnowledgeError::Unreadable { .. } | KnowledgeError::Template { .. } => {
            of("Mend the document; `trove doctor` shows more.").caused_by(&error)
        }
        KnowledgeError::Exists { .. } => of("Change it, or choose another name."),
        KnowledgeError::InUse { by, .. } => {
            of("Change what names it first.").with("named_by", by.clone())
        }
        KnowledgeError::NotKept { .. } => {
            of("Mend what the message names, then try again.").caused_by(&error)
        }
        KnowledgeError::BadScheme { .. }
        | KnowledgeError::BadAddress { .. }
        | KnowledgeError::BadExpression(_)
        | KnowledgeError::BadPattern { .. }
        | KnowledgeError::BadName(_)
        | KnowledgeError::BadChange { .. } => Failure::arguments(error.to_string()),
    }
}
