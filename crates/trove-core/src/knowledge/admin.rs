//! Changes to local knowledge: checked first, written whole, seen at once.

use std::{collections::HashSet, sync::Arc};

use super::{
    Document, Edit, Knowledge, KnowledgeError, Settings, address, name,
    pattern::Patterns,
    plan::{Plan, bad_change, exists},
    select::View,
    settings::{CategorySettings, CollectionSettings},
    store::Store,
    write::{Place, WriteError},
};
use crate::source::Visible;

/// The change of a category; absent members stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategoryChange {
    /// Another name. Members and projects that name the category follow.
    pub name: Option<String>,
    /// Another folder, from the root.
    pub dir: Option<String>,
    /// The documents it gives by default, e.g. `**/*.md`.
    pub patterns: Option<Vec<String>>,
    /// The description; an empty one is removed.
    pub description: Option<String>,
}

/// The change of a collection; absent members stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionChange {
    /// Another name. Members and projects that name the collection follow.
    pub name: Option<String>,
    pub members: Option<Vec<String>>,
    /// The description; an empty one is removed.
    pub description: Option<String>,
}

/// A document with its new text.
#[derive(Debug)]
pub struct Replaced {
    pub document: Arc<Document>,
    /// Where the file lies that it was before, from the root of the guide.
    pub kept: String,
}

impl Knowledge {
    /// Adds a category; its folder is made if need be.
    pub async fn add_category(
        &self,
        visible: &Visible,
        name: &str,
        wanted: CategoryChange,
    ) -> Result<(), KnowledgeError> {
        name::check_name(name)?;
        let (name, mut category) = (name.to_owned(), CategorySettings::folder(name));
        wanted.apply(&mut category)?;
        self.change(visible, move |plan| {
            plan.name_categories();
            plan.check_free(&address::category(&name), &name)?;
            if plan.categories().contains_key(&name) {
                return Err(exists(format!("the category `{name}`")));
            }
            plan.keep_meaning(&name)?;
            plan.make_folder = Some(category.dir.clone());
            plan.set_category(&name, category);
            Ok(())
        })
        .await
    }

    /// Changes a category. With another name, every collection and project that names it
    /// is rewritten too. Its folder stays where it is.
    pub async fn change_category(
        &self,
        visible: &Visible,
        name: &str,
        wanted: CategoryChange,
    ) -> Result<(), KnowledgeError> {
        let name = name.to_owned();
        self.change(visible, move |plan| {
            plan.name_categories();
            let mut category = plan.category(&name)?;
            wanted.apply(&mut category)?;
            plan.make_folder = wanted.dir.clone();
            plan.set_category(&name, category);
            match wanted.name.as_ref().filter(|new| **new != name) {
                Some(new) => plan.rename_category(&name, new),
                None => Ok(()),
            }
        })
        .await
    }

    /// Removes a category; its documents stay on disk.
    pub async fn remove_category(
        &self,
        visible: &Visible,
        name: &str,
    ) -> Result<(), KnowledgeError> {
        let name = name.to_owned();
        self.change(visible, move |plan| {
            plan.name_categories();
            plan.category(&name)?;
            plan.refuse_if_named(&format!("the category `{name}`"), plan.names_category(&name))?;
            plan.categories().remove(&name);
            plan.edits.push(Edit::RemoveCategory(name));
            Ok(())
        })
        .await
    }

    pub async fn add_collection(
        &self,
        visible: &Visible,
        name: &str,
        members: Vec<String>,
        description: Option<String>,
    ) -> Result<(), KnowledgeError> {
        name::check_name(name)?;
        let (name, collection) = (name.to_owned(), CollectionSettings { members, description });
        self.change(visible, move |plan| {
            plan.check_free(&address::collection(&name), &name)?;
            if plan.groups.collections.contains_key(&name) {
                return Err(exists(format!("the collection `{name}`")));
            }
            plan.set_collection(&name, collection)
        })
        .await
    }

    /// Changes a collection. With another name, every collection and project that names it
    /// is rewritten too.
    pub async fn change_collection(
        &self,
        visible: &Visible,
        name: &str,
        wanted: CollectionChange,
    ) -> Result<(), KnowledgeError> {
        let name = name.to_owned();
        self.change(visible, move |plan| {
            let mut collection = plan.collection(&name)?;
            if let Some(members) = wanted.members {
                collection.members = members;
            }
            if let Some(description) = wanted.description {
                collection.description = Some(description).filter(|text| !text.is_empty());
            }
            plan.set_collection(&name, collection)?;
            match wanted.name.as_ref().filter(|new| **new != name) {
                Some(new) => plan.rename_collection(&name, new),
                None => Ok(()),
            }
        })
        .await
    }

    /// Removes a collection; its documents stay.
    pub async fn remove_collection(
        &self,
        visible: &Visible,
        name: &str,
    ) -> Result<(), KnowledgeError> {
        let name = name.to_owned();
        self.change(visible, move |plan| {
            plan.collection(&name)?;
            let names_it = plan.names_collection(&name);
            plan.refuse_if_named(&format!("the collection `{name}`"), names_it)?;
            plan.groups.collections.remove(&name);
            plan.edits.push(Edit::RemoveCollection(name));
            Ok(())
        })
        .await
    }

    /// Adds a document to a category; without an extension it is markdown.
    pub async fn add_document(
        &self,
        visible: &Visible,
        category: &str,
        path: &str,
        text: &str,
    ) -> Result<Arc<Document>, KnowledgeError> {
        name::check_path(path)?;
        let last = path.rsplit('/').next().unwrap_or(path);
        let path = if last.contains('.') { path.to_owned() } else { format!("{path}.md") };
        let (document, _) =
            self.write_document(visible, (category, &path), text, Place::New).await?;
        Ok(document)
    }

    /// Replaces the text of a document. The file as it was is kept.
    pub async fn update_document(
        &self,
        visible: &Visible,
        category: &str,
        path: &str,
        text: &str,
    ) -> Result<Replaced, KnowledgeError> {
        let document = self.find_document(visible, category, path).await?;
        let written = self.write_document(visible, (category, &document.path), text, Place::Taken);
        let (document, kept) = written.await?;
        let kept = kept.unwrap_or_default();
        Ok(Replaced { document, kept })
    }

    /// The text of a document as it was written, not as it is served: for an editor.
    pub async fn source_text(
        &self,
        visible: &Visible,
        category: &str,
        path: &str,
    ) -> Result<String, KnowledgeError> {
        let document = self.find_document(visible, category, path).await?;
        let store = Store::new(&self.settings.load().root);
        let file = document.file.path.clone();
        let unreadable =
            |why: &str| KnowledgeError::Unreadable { what: path.to_owned(), why: why.to_owned() };
        let reading = move || store.read(&file, super::MAX_DOCUMENT_BYTES);
        let read = tokio::task::spawn_blocking(reading).await;
        let (bytes, _) = read
            .map_err(|_| unreadable("reading broke off"))?
            .map_err(|error| unreadable(&error.to_string()))?;
        String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text"))
    }

    pub async fn remove_document(
        &self,
        visible: &Visible,
        category: &str,
        path: &str,
    ) -> Result<(), KnowledgeError> {
        let _one_at_a_time = self.writing.lock().await;
        let document = self.find_document(visible, category, path).await?;
        let store = Store::new(&self.settings.load().root);
        let file = document.file.path.clone();
        let target = file.clone();
        let done = blocking(move || store.remove(&target)).await;
        done.map_err(|error| not_written(error, &document.path, &file))?;
        self.look(HashSet::from([document.file.path.to_string()])).await;
        Ok(())
    }

    async fn find_document(
        &self,
        visible: &Visible,
        category: &str,
        path: &str,
    ) -> Result<Arc<Document>, KnowledgeError> {
        name::safe(path).map_err(|why| name::BadName { name: path.to_owned(), why })?;
        let index = self.indexed().await;
        let view = View { index: &index, project: None, visible };
        view.category(category)?;
        view.document(category, path)
    }

    async fn write_document(
        &self,
        visible: &Visible,
        (category, path): (&str, &str),
        text: &str,
        place: Place,
    ) -> Result<(Arc<Document>, Option<String>), KnowledgeError> {
        let size = text.len() as u64;
        if size > super::MAX_DOCUMENT_BYTES {
            let limit = super::MAX_DOCUMENT_BYTES;
            return Err(KnowledgeError::TooLarge { what: path.to_owned(), size, limit });
        }
        let _one_at_a_time = self.writing.lock().await;
        let index = self.indexed().await;
        let view = View { index: &index, project: None, visible };
        let found = view.category(category)?.clone();
        if !visible.allows(&address::document(&found.name, path)) {
            // Said of the name alone, whether there is such a document or not.
            return Err(bad_change(&format!("`{path}` is not open to you; choose another name")));
        }
        let file = match found.dir.trim_end_matches('/') {
            "." | "" => path.to_owned(),
            dir => format!("{dir}/{path}"),
        };
        let store = Store::new(&self.settings.load().root);
        let (target, bytes) = (file.clone(), text.to_owned());
        let done = blocking(move || store.write(&target, bytes.as_bytes(), place)).await;
        let kept = done.map_err(|error| not_written(error, path, &file))?;
        self.look(HashSet::from([file])).await;
        Ok((self.find_document(visible, &found.name, path).await?, kept))
    }

    /// Works out a change, writes it down, and takes it over: all of it or nothing.
    async fn change(
        &self,
        visible: &Visible,
        decide: impl FnOnce(&mut Plan) -> Result<(), KnowledgeError>,
    ) -> Result<(), KnowledgeError> {
        let ledger = self.givens.ledger.clone().ok_or_else(|| KnowledgeError::NotKept {
            why: "there is no configuration file to write to; run `trove init`".into(),
        })?;
        let _one_at_a_time = self.writing.lock().await;
        let index = self.indexed().await;
        let settings = self.settings.load_full();
        let known = index.categories.keys().map(ToString::to_string).collect();
        let mut plan = Plan::of(settings.groups.clone(), known, visible.clone());
        decide(&mut plan)?;
        plan.check()?;
        let (edits, folder) = (plan.edits, plan.make_folder);
        let store = Store::new(&settings.root);
        let kept = tokio::task::spawn_blocking(move || {
            if let Some(folder) = folder {
                let why = |error| match error {
                    WriteError::System(why) => why,
                    WriteError::Exists | WriteError::Missing => "it cannot be made".into(),
                };
                let made = store.make_folder(&folder).map_err(why);
                made.map_err(|why| format!("{folder} in the folder of the guide: {why}"))?;
            }
            ledger.keep(&edits)
        });
        let kept = kept.await.unwrap_or_else(|_| Err("writing broke off".into()));
        kept.map_err(|why| KnowledgeError::NotKept { why })?;
        let settings = Settings { groups: plan.groups, ..Settings::clone(&settings) };
        self.settings.store(Arc::new(settings));
        self.look(HashSet::new()).await;
        Ok(())
    }
}

impl CategoryChange {
    fn apply(&self, category: &mut CategorySettings) -> Result<(), KnowledgeError> {
        if let Some(dir) = &self.dir {
            if dir != "." {
                name::check_path(dir.trim_end_matches('/'))?;
            }
            category.dir.clone_from(dir);
        }
        if let Some(patterns) = &self.patterns {
            if patterns.is_empty() {
                return Err(bad_change("a category needs at least one pattern, as in `**/*.md`"));
            }
            Patterns::new(patterns.iter().map(String::as_str))?;
            category.patterns.clone_from(patterns);
        }
        if let Some(description) = &self.description {
            category.description = Some(description.clone()).filter(|text| !text.is_empty());
        }
        Ok(())
    }
}

/// The error of a document that could not be written; `file` is where it lies in the guide.
fn not_written(error: WriteError, path: &str, file: &str) -> KnowledgeError {
    match error {
        WriteError::Exists => exists(format!("the document `{path}`")),
        WriteError::Missing => {
            KnowledgeError::not_found(format!("the document `{path}`"), Vec::new())
        }
        WriteError::System(why) => {
            KnowledgeError::NotKept { why: format!("{file} in the folder of the guide: {why}") }
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WriteError> + Send + 'static,
) -> Result<T, WriteError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(WriteError::System("writing broke off".into())))
}
