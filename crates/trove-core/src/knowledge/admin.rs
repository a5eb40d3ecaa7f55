//! Changes to local knowledge: checked first, written whole, seen at once.

use std::{collections::HashSet, sync::Arc};

use super::{
    Document, Edit, Groups, Knowledge, KnowledgeError, Settings, View, collection, name,
    pattern::Patterns,
    settings::{CategorySettings, CollectionSettings},
    store::Store,
    write::{Place, WriteError},
};

/// What is to become of a category; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategoryChange {
    /// Another name. Whatever names the category follows.
    pub name: Option<String>,
    /// Another folder, from the root.
    pub dir: Option<String>,
    /// What it gives when nobody says which documents.
    pub patterns: Option<Vec<String>>,
    /// What it is about; empty: nothing is said.
    pub description: Option<String>,
}

/// What is to become of a collection; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionChange {
    /// Another name. Whatever names the collection follows.
    pub name: Option<String>,
    /// Its members.
    pub members: Option<Vec<String>>,
    /// What it is about; empty: nothing is said.
    pub description: Option<String>,
}

impl Knowledge {
    /// Adds a category; its folder is made if need be.
    pub async fn add_category(
        &self,
        name: &str,
        wanted: CategoryChange,
    ) -> Result<(), KnowledgeError> {
        name::check_name(name)?;
        let (name, mut category) = (name.to_owned(), CategorySettings::folder(name));
        wanted.apply(&mut category)?;
        self.change(move |plan| {
            plan.name_categories();
            if plan.categories().contains_key(&name) {
                return Err(exists(format!("the category `{name}`")));
            }
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
        name: &str,
        wanted: CategoryChange,
    ) -> Result<(), KnowledgeError> {
        let name = name.to_owned();
        self.change(move |plan| {
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
    pub async fn remove_category(&self, name: &str) -> Result<(), KnowledgeError> {
        let name = name.to_owned();
        self.change(move |plan| {
            plan.name_categories();
            plan.category(&name)?;
            plan.refuse_if_named(&format!("the category `{name}`"), &name)?;
            plan.categories().remove(&name);
            plan.edits.push(Edit::RemoveCategory(name));
            Ok(())
        })
        .await
    }

    /// Adds a collection.
    pub async fn add_collection(
        &self,
        name: &str,
        members: Vec<String>,
        description: Option<String>,
    ) -> Result<(), KnowledgeError> {
        name::check_name(name)?;
        let (name, collection) = (name.to_owned(), CollectionSettings { members, description });
        self.change(move |plan| {
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
        name: &str,
        wanted: CollectionChange,
    ) -> Result<(), KnowledgeError> {
        let name = name.to_owned();
        self.change(move |plan| {
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
    pub async fn remove_collection(&self, name: &str) -> Result<(), KnowledgeError> {
        let name = name.to_owned();
        self.change(move |plan| {
            plan.collection(&name)?;
            let is_category = plan.known.contains(&name);
            if !is_category {
                plan.refuse_if_named(&format!("the collection `{name}`"), &name)?;
            }
            plan.groups.collections.remove(&name);
            plan.edits.push(Edit::RemoveCollection(name));
            Ok(())
        })
        .await
    }

    /// Adds a document to a category; without an extension it is markdown.
    pub async fn add_document(
        &self,
        category: &str,
        path: &str,
        text: &str,
    ) -> Result<Arc<Document>, KnowledgeError> {
        name::check_path(path)?;
        let last = path.rsplit('/').next().unwrap_or(path);
        let path = if last.contains('.') { path.to_owned() } else { format!("{path}.md") };
        self.write_document(category, &path, text, Place::New).await
    }

    /// Replaces what a document holds.
    pub async fn update_document(
        &self,
        category: &str,
        path: &str,
        text: &str,
    ) -> Result<Arc<Document>, KnowledgeError> {
        let document = self.find_document(category, path).await?;
        self.write_document(category, &document.path, text, Place::Taken).await
    }

    /// Removes a document.
    pub async fn remove_document(&self, category: &str, path: &str) -> Result<(), KnowledgeError> {
        let _one_at_a_time = self.writing.lock().await;
        let document = self.find_document(category, path).await?;
        let store = Store::new(&self.settings.load().root);
        let file = document.file.path.clone();
        let done = blocking(move || store.remove(&file)).await;
        done.map_err(|error| not_written(error, &document.path))?;
        self.look(HashSet::from([document.file.path.to_string()])).await;
        Ok(())
    }

    async fn find_document(
        &self,
        category: &str,
        path: &str,
    ) -> Result<Arc<Document>, KnowledgeError> {
        name::safe(path).map_err(|why| name::BadName { name: path.to_owned(), why })?;
        let index = self.indexed().await;
        let view = View { index: &index, project: None };
        view.category(category)?;
        view.document(category, path)
    }

    async fn write_document(
        &self,
        category: &str,
        path: &str,
        text: &str,
        place: Place,
    ) -> Result<Arc<Document>, KnowledgeError> {
        let size = text.len() as u64;
        if size > super::MAX_DOCUMENT_BYTES {
            let limit = super::MAX_DOCUMENT_BYTES;
            return Err(KnowledgeError::TooLarge { what: path.to_owned(), size, limit });
        }
        let _one_at_a_time = self.writing.lock().await;
        let index = self.indexed().await;
        let found = View { index: &index, project: None }.category(category)?.clone();
        let file = match found.dir.trim_end_matches('/') {
            "." | "" => path.to_owned(),
            dir => format!("{dir}/{path}"),
        };
        let store = Store::new(&self.settings.load().root);
        let (target, bytes) = (file.clone(), text.to_owned());
        let done = blocking(move || store.write(&target, bytes.as_bytes(), place)).await;
        done.map_err(|error| not_written(error, path))?;
        self.look(HashSet::from([file])).await;
        self.find_document(&found.name, path).await
    }

    /// Works out a change, writes it down, and takes it over: all of it or nothing.
    async fn change(
        &self,
        decide: impl FnOnce(&mut Plan) -> Result<(), KnowledgeError>,
    ) -> Result<(), KnowledgeError> {
        let ledger = self.givens.ledger.clone().ok_or_else(|| KnowledgeError::NotKept {
            why: "there is no configuration file to write to; run `trove init`".into(),
        })?;
        let _one_at_a_time = self.writing.lock().await;
        let index = self.indexed().await;
        let settings = self.settings.load_full();
        let known = index.categories.keys().map(ToString::to_string).collect();
        let mut plan = Plan::of(settings.groups.clone(), known);
        decide(&mut plan)?;
        plan.check()?;
        let (edits, folder) = (plan.edits, plan.make_folder);
        let store = Store::new(&settings.root);
        let kept = tokio::task::spawn_blocking(move || {
            if let Some(folder) = folder {
                store.make_folder(&folder).map_err(|error| match error {
                    WriteError::System(why) => why,
                    WriteError::Exists | WriteError::Missing => "the folder cannot be made".into(),
                })?;
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

/// A change being worked out.
struct Plan {
    groups: Groups,
    /// Every category there is, whether written down or found as a folder.
    known: Vec<String>,
    edits: Vec<Edit>,
    make_folder: Option<String>,
}

impl Plan {
    fn of(groups: Groups, known: Vec<String>) -> Plan {
        Plan { groups, known, edits: Vec::new(), make_folder: None }
    }

    /// Writes down every category that so far was simply a folder: once one is written
    /// down, only those that are written down count.
    fn name_categories(&mut self) {
        if self.groups.categories.is_some() {
            return;
        }
        let all = self.known.iter().map(|name| (name.clone(), CategorySettings::folder(name)));
        let all: std::collections::BTreeMap<String, CategorySettings> = all.collect();
        let edits = all.iter().map(|(name, c)| Edit::SetCategory(name.clone(), c.clone()));
        self.edits.extend(edits);
        self.groups.categories = Some(all);
    }

    fn categories(&mut self) -> &mut std::collections::BTreeMap<String, CategorySettings> {
        self.groups.categories.get_or_insert_default()
    }

    fn category(&mut self, name: &str) -> Result<CategorySettings, KnowledgeError> {
        let found = self.categories().get(name).cloned();
        found.ok_or_else(|| {
            let near = name::near(name, self.known.iter().map(String::as_str));
            KnowledgeError::not_found(format!("the category `{name}`"), near)
        })
    }

    fn collection(&self, name: &str) -> Result<CollectionSettings, KnowledgeError> {
        let all = &self.groups.collections;
        all.get(name).cloned().ok_or_else(|| {
            let near = name::near(name, all.keys().map(String::as_str));
            KnowledgeError::not_found(format!("the collection `{name}`"), near)
        })
    }

    fn set_category(&mut self, name: &str, category: CategorySettings) {
        self.edits.retain(|edit| !matches!(edit, Edit::SetCategory(known, _) if known == name));
        self.edits.push(Edit::SetCategory(name.to_owned(), category.clone()));
        self.categories().insert(name.to_owned(), category);
    }

    fn set_collection(
        &mut self,
        name: &str,
        collection: CollectionSettings,
    ) -> Result<(), KnowledgeError> {
        if collection.members.is_empty() {
            return Err(bad_change("a collection needs at least one member, as in `lang/python`"));
        }
        let is_known = |part: &str| {
            self.known.iter().any(|known| known.eq_ignore_ascii_case(part))
                || self.groups.collections.keys().any(|known| known.eq_ignore_ascii_case(part))
        };
        for part in collection::read(&collection)?.iter().flat_map(|member| &member.parts) {
            if !is_known(&part.name) && part.name != name {
                let all = self.known.iter().chain(self.groups.collections.keys());
                let near = name::near(&part.name, all.map(String::as_str));
                return Err(KnowledgeError::ContextNotFound { name: part.name.clone(), near });
            }
            Patterns::new(part.patterns.iter().map(String::as_str))?;
        }
        self.edits.push(Edit::SetCollection(name.to_owned(), collection.clone()));
        self.groups.collections.insert(name.to_owned(), collection);
        Ok(())
    }

    fn rename_category(&mut self, from: &str, to: &str) -> Result<(), KnowledgeError> {
        name::check_name(to)?;
        if self.categories().contains_key(to) {
            return Err(exists(format!("the category `{to}`")));
        }
        if let Some(category) = self.categories().remove(from) {
            self.categories().insert(to.to_owned(), category);
        }
        self.edits.push(Edit::RenameCategory(from.to_owned(), to.to_owned()));
        self.rename_members(from, to)?;
        self.rename_in_projects(
            from,
            to,
            |project| &mut project.categories,
            Edit::SetProjectCategories,
        );
        Ok(())
    }

    fn rename_collection(&mut self, from: &str, to: &str) -> Result<(), KnowledgeError> {
        name::check_name(to)?;
        if self.groups.collections.contains_key(to) {
            return Err(exists(format!("the collection `{to}`")));
        }
        if let Some(collection) = self.groups.collections.remove(from) {
            self.groups.collections.insert(to.to_owned(), collection);
        }
        self.edits.push(Edit::RenameCollection(from.to_owned(), to.to_owned()));
        // Where a category has the same name, it is the category that members mean.
        if !self.known.iter().any(|known| known == from) {
            self.rename_members(from, to)?;
        }
        self.rename_in_projects(
            from,
            to,
            |project| &mut project.collections,
            Edit::SetProjectCollections,
        );
        Ok(())
    }

    /// Puts the new name wherever a member has the old one.
    fn rename_members(&mut self, from: &str, to: &str) -> Result<(), KnowledgeError> {
        for (name, collection) in &mut self.groups.collections {
            let mut is_other = false;
            for member in &mut collection.members {
                // One that cannot be read is left for whoever mends it.
                let Ok(mut expression) = super::Expression::parse(member) else { continue };
                let mut names =
                    expression.parts.iter_mut().filter(|part| part.name == from).peekable();
                if names.peek().is_some() {
                    names.for_each(|part| to.clone_into(&mut part.name));
                    *member = expression.to_string();
                    is_other = true;
                }
            }
            if is_other {
                self.edits.push(Edit::SetCollection(name.clone(), collection.clone()));
            }
        }
        Ok(())
    }

    fn rename_in_projects(
        &mut self,
        from: &str,
        to: &str,
        pick: impl Fn(&mut super::ProjectSettings) -> &mut Option<Vec<String>>,
        edit: impl Fn(String, Vec<String>) -> Edit,
    ) {
        for (name, project) in &mut self.groups.projects {
            let Some(picked) = pick(project) else { continue };
            if picked.iter().any(|picked| picked == from) {
                picked.iter_mut().filter(|p| *p == from).for_each(|p| to.clone_into(p));
                self.edits.push(edit(name.clone(), picked.clone()));
            }
        }
    }

    fn refuse_if_named(&self, what: &str, wanted: &str) -> Result<(), KnowledgeError> {
        let names = |collection: &CollectionSettings| {
            let members = collection::read(collection).unwrap_or_default();
            members.iter().flat_map(|member| &member.parts).any(|part| part.name == wanted)
        };
        let all = self.groups.collections.iter();
        let by: Vec<String> = all
            .filter(|(name, collection)| *name != wanted && names(collection))
            .map(|(name, _)| format!("the collection `{name}`"))
            .collect();
        if by.is_empty() {
            Ok(())
        } else {
            Err(KnowledgeError::InUse { what: what.to_owned(), by })
        }
    }

    /// No change may leave a collection that leads back to itself.
    fn check(&self) -> Result<(), KnowledgeError> {
        let named = self.groups.categories.as_ref();
        let is_category = |name: &str| match named {
            Some(categories) => categories.contains_key(name),
            None => self.known.iter().any(|known| known == name),
        };
        let touched: Vec<&str> = self
            .edits
            .iter()
            .filter_map(|edit| match edit {
                Edit::SetCollection(name, _) | Edit::RenameCollection(_, name) => {
                    Some(name.as_str())
                }
                _ => None,
            })
            .collect();
        for (name, collection) in collection::all(&self.groups.collections, is_category) {
            if let Some(why) = collection.problem().filter(|_| touched.contains(&&*name)) {
                return Err(bad_change(&format!("the collection `{name}` cannot be so: {why}")));
            }
        }
        Ok(())
    }
}

fn exists(what: String) -> KnowledgeError {
    KnowledgeError::Exists { what }
}

fn bad_change(why: &str) -> KnowledgeError {
    KnowledgeError::BadChange { why: why.to_owned() }
}

fn not_written(error: WriteError, path: &str) -> KnowledgeError {
    match error {
        WriteError::Exists => exists(format!("the document `{path}`")),
        WriteError::Missing => {
            KnowledgeError::not_found(format!("the document `{path}`"), Vec::new())
        }
        WriteError::System(why) => KnowledgeError::NotKept { why },
    }
}

async fn blocking(
    work: impl FnOnce() -> Result<(), WriteError> + Send + 'static,
) -> Result<(), WriteError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(WriteError::System("writing broke off".into())))
}
