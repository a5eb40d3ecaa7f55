//! Changing local knowledge: categories, collections, documents.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    Call, Consent, Effect, Example, Failure, Outcome, Tool, Toolset,
    guide::{described, failure, knowledge},
};
use crate::{
    knowledge::{CategoryChange, CollectionChange, Replaced},
    source::Visible,
};

/// The longest document that can be written by a tool.
const MAX_DOCUMENT: usize = 1024 * 1024;

/// Add a category to the guide.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CategoryAdd {
    /// Its name: at most 30 characters, no blanks, no `/`, `\` or `!`.
    name: String,
    /// Its folder below the guide; default: its name
    #[serde(default)]
    dir: Option<String>,
    /// What belongs to it; default `**/*.md` and `**/*.md.j2`
    #[serde(default)]
    #[schemars(length(max = 100))]
    patterns: Option<Vec<String>>,
    /// What it is about; default: nothing is said
    #[serde(default)]
    description: Option<String>,
}

/// Change or rename a category of the guide.
///
/// Collections that name it follow a new name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CategoryChangeTool {
    /// Its name now.
    name: String,
    /// Its new name; default: as it is
    #[serde(default)]
    new_name: Option<String>,
    /// Its new folder below the guide; default: as it is
    #[serde(default)]
    dir: Option<String>,
    /// What belongs to it from now on; default: as it is
    #[serde(default)]
    #[schemars(length(max = 100))]
    patterns: Option<Vec<String>>,
    /// What it is about; default: as it is; empty removes it
    #[serde(default)]
    description: Option<String>,
}

/// Remove a category from the guide.
///
/// REQUIRES EXPLICIT USER INSTRUCTION: clients lose the way to its documents. The files
/// stay on disk. Do not use it lightly, or to tidy up on your own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CategoryRemove {
    /// The category.
    name: String,
    /// The word that says the user wants it.
    #[serde(rename = "explicit_action")]
    _explicit_action: RemoveCategoryWord,
}

/// Add a collection to the guide.
///
/// Its members are expressions over categories and other collections.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CollectionAdd {
    /// Its name: at most 30 characters, no blanks, no `/`, `\` or `!`.
    name: String,
    /// Its members, as in `lang/rust+python`.
    #[schemars(length(max = 1000))]
    members: Vec<String>,
    /// What it is for; default: nothing is said
    #[serde(default)]
    description: Option<String>,
}

/// Change or rename a collection of the guide.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CollectionChangeTool {
    /// Its name now.
    name: String,
    /// Its new name; default: as it is
    #[serde(default)]
    new_name: Option<String>,
    /// Its members from now on; default: as they are
    #[serde(default)]
    #[schemars(length(max = 1000))]
    members: Option<Vec<String>>,
    /// What it is for; default: as it is; empty removes it
    #[serde(default)]
    description: Option<String>,
}

/// Remove a collection from the guide.
///
/// REQUIRES EXPLICIT USER INSTRUCTION: whoever reads it by name finds nothing any more.
/// Documents stay. Do not use it lightly, or to tidy up on your own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CollectionRemove {
    /// The collection.
    name: String,
    /// The word that says the user wants it.
    #[serde(rename = "explicit_action")]
    _explicit_action: RemoveCollectionWord,
}

/// Add a document to the guide.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentAdd {
    /// The category.
    category: String,
    /// Its path in the category; `.md` is added where there is no extension.
    path: String,
    /// Its whole text.
    #[schemars(length(max = MAX_DOCUMENT))]
    text: String,
}

/// Replace the text of a document of the guide.
///
/// REQUIRES EXPLICIT USER INSTRUCTION: the text it has now is served no more. That text is kept
/// in the hidden folder `.replaced` of the guide, the last ten of each document. Do not use it
/// lightly, or to tidy up on your own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentUpdate {
    /// The category.
    category: String,
    /// Its path in the category.
    path: String,
    /// Its whole new text.
    #[schemars(length(max = MAX_DOCUMENT))]
    text: String,
    /// The word that says the user wants it.
    #[serde(rename = "explicit_action")]
    _explicit_action: ReplaceDocumentWord,
}

/// Remove a document from the guide, for good.
///
/// REQUIRES EXPLICIT USER INSTRUCTION: the file is deleted and cannot be brought back. Do
/// not use it lightly, or to tidy up on your own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentRemove {
    /// The category.
    category: String,
    /// Its path in the category.
    path: String,
    /// The word that says the user wants it.
    #[serde(rename = "explicit_action")]
    _explicit_action: RemoveDocumentWord,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum RemoveCategoryWord {
    #[serde(rename = "REMOVE_CATEGORY")]
    Yes,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum RemoveCollectionWord {
    #[serde(rename = "REMOVE_COLLECTION")]
    Yes,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum ReplaceDocumentWord {
    #[serde(rename = "REPLACE_DOCUMENT")]
    Yes,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum RemoveDocumentWord {
    #[serde(rename = "REMOVE_DOCUMENT")]
    Yes,
}

impl Tool for CategoryAdd {
    const NAME: &'static str = "category_add";
    const TOOLSET: Toolset = Toolset::GuideAdmin;
    const EFFECT: Effect = Effect::Writes;
    const EXAMPLES: &'static [Example] = &[Example {
        says: "A category for runbooks.",
        arguments: r#"{"name": "runbooks", "description": "What to do when it burns"}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let CategoryAdd { name, dir, patterns, description } = self;
        let wanted = CategoryChange { name: None, dir, patterns, description };
        knowledge(call)?.add_category(&visible(call), &name, wanted).await.map_err(failure)?;
        Ok(Outcome::ok(json!({ "category": name })).message("The category was added."))
    }
}

impl Tool for CategoryChangeTool {
    const NAME: &'static str = "category_change";
    const TOOLSET: Toolset = Toolset::GuideAdmin;
    const EFFECT: Effect = Effect::Writes;
    const EXAMPLES: &'static [Example] = &[Example {
        says: "Another name; collections follow.",
        arguments: r#"{"name": "lang", "new_name": "languages"}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let CategoryChangeTool { name, new_name, dir, patterns, description } = self;
        let now = new_name.clone().unwrap_or_else(|| name.clone());
        let wanted = CategoryChange { name: new_name, dir, patterns, description };
        knowledge(call)?.change_category(&visible(call), &name, wanted).await.map_err(failure)?;
        Ok(Outcome::ok(json!({ "category": now })).message("The category was changed."))
    }
}

impl Tool for CategoryRemove {
    const NAME: &'static str = "category_remove";
    const TOOLSET: Toolset = Toolset::GuideAdmin;
    const EFFECT: Effect = Effect::Destroys;
    const CONSENT: Option<Consent> = Some(Consent {
        word: "REMOVE_CATEGORY",
        loss: "Its documents stay on the disk, but clients no longer find them in it.",
    });
    const EXAMPLES: &'static [Example] = &[Example {
        says: "Only after the user said so.",
        arguments: r#"{"name": "drafts", "explicit_action": "REMOVE_CATEGORY"}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        knowledge(call)?.remove_category(&visible(call), &self.name).await.map_err(failure)?;
        Ok(Outcome::ok(json!({ "category": self.name, "removed": true })))
    }
}

impl Tool for CollectionAdd {
    const NAME: &'static str = "collection_add";
    const TOOLSET: Toolset = Toolset::GuideAdmin;
    const EFFECT: Effect = Effect::Writes;
    const EXAMPLES: &'static [Example] = &[Example {
        says: "What a reviewer needs.",
        arguments: r#"{"name": "onboarding", "members": ["lang/rust+python", "checklists"]}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let CollectionAdd { name, members, description } = self;
        let knowledge = knowledge(call)?;
        knowledge
            .add_collection(&visible(call), &name, members, description)
            .await
            .map_err(failure)?;
        Ok(Outcome::ok(json!({ "collection": name })).message("The collection was added."))
    }
}

impl Tool for CollectionChangeTool {
    const NAME: &'static str = "collection_change";
    const TOOLSET: Toolset = Toolset::GuideAdmin;
    const EFFECT: Effect = Effect::Writes;
    const EXAMPLES: &'static [Example] = &[Example {
        says: "Other members.",
        arguments: r#"{"name": "review", "members": ["lang/rust"]}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let CollectionChangeTool { name, new_name, members, description } = self;
        let now = new_name.clone().unwrap_or_else(|| name.clone());
        let wanted = CollectionChange { name: new_name, members, description };
        knowledge(call)?.change_collection(&visible(call), &name, wanted).await.map_err(failure)?;
        Ok(Outcome::ok(json!({ "collection": now })).message("The collection was changed."))
    }
}

impl Tool for CollectionRemove {
    const NAME: &'static str = "collection_remove";
    const TOOLSET: Toolset = Toolset::GuideAdmin;
    const EFFECT: Effect = Effect::Destroys;
    const CONSENT: Option<Consent> = Some(Consent {
        word: "REMOVE_COLLECTION",
        loss: "Its documents stay, but it cannot be read by its name any more.",
    });
    const EXAMPLES: &'static [Example] = &[Example {
        says: "Only after the user said so.",
        arguments: r#"{"name": "old", "explicit_action": "REMOVE_COLLECTION"}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        knowledge(call)?.remove_collection(&visible(call), &self.name).await.map_err(failure)?;
        Ok(Outcome::ok(json!({ "collection": self.name, "removed": true })))
    }
}

impl Tool for DocumentAdd {
    const NAME: &'static str = "document_add";
    const TOOLSET: Toolset = Toolset::GuideAdmin;
    const EFFECT: Effect = Effect::Writes;
    const EXAMPLES: &'static [Example] = &[Example {
        says: "A new guideline.",
        arguments: r##"{"category": "lang", "path": "go", "text": "# Go\n\nUse gofmt."}"##,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let added = knowledge(call)?
            .add_document(&visible(call), &self.category, &self.path, &self.text)
            .await;
        Ok(Outcome::ok(described(&*added.map_err(failure)?)).message("The document was added."))
    }
}

impl Tool for DocumentUpdate {
    const NAME: &'static str = "document_update";
    const TOOLSET: Toolset = Toolset::GuideAdmin;
    const EFFECT: Effect = Effect::Destroys;
    const CONSENT: Option<Consent> = Some(Consent {
        word: "REPLACE_DOCUMENT",
        loss: "The text it has now is kept in the folder `.replaced` of the guide.",
    });
    const EXAMPLES: &'static [Example] = &[Example {
        says: "Another text in place of the old, after the user said so.",
        arguments: r##"{"category": "lang", "path": "rust.md", "text": "# Rust\n\nUse clippy.", "explicit_action": "REPLACE_DOCUMENT"}"##,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let updated = knowledge(call)?
            .update_document(&visible(call), &self.category, &self.path, &self.text)
            .await;
        let Replaced { document, kept } = updated.map_err(failure)?;
        let mut told = described(&document);
        told["replaced"] = json!(kept);
        let message = format!(
            "The document was replaced; its former text is kept in `{kept}`, below the guide."
        );
        Ok(Outcome::ok(told).message(&message))
    }
}

impl Tool for DocumentRemove {
    const NAME: &'static str = "document_remove";
    const TOOLSET: Toolset = Toolset::GuideAdmin;
    const EFFECT: Effect = Effect::Destroys;
    const CONSENT: Option<Consent> = Some(Consent {
        word: "REMOVE_DOCUMENT",
        loss: "The file is deleted and cannot be brought back.",
    });
    const EXAMPLES: &'static [Example] = &[Example {
        says: "Only after the user said so.",
        arguments: r#"{"category": "lang", "path": "cobol.md", "explicit_action": "REMOVE_DOCUMENT"}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let knowledge = knowledge(call)?;
        knowledge
            .remove_document(&visible(call), &self.category, &self.path)
            .await
            .map_err(failure)?;
        let path = format!("{}/{}", self.category, self.path);
        Ok(Outcome::ok(json!({ "document": path, "removed": true })))
    }
}

/// The part of the guide that the changer may know of.
fn visible(call: &Call<'_>) -> Visible {
    call.gateway.sight_of_guide(call.caller).visible
}
