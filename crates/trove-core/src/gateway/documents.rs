//! Local knowledge for those who do not go by URIs: expressions, categories, collections.

use std::{path::PathBuf, sync::Arc};

use super::{AskError, Gateway, Named};
use crate::{
    access::Standing,
    caller::Caller,
    catalogue::{Route, Snapshot},
    flags,
    knowledge::{
        Category, CollectionInfo, Content, Document, Knowledge, KnowledgeError, Picks, Sight,
        document_uri,
    },
    project::ProjectName,
    source::{Source as _, SourceId, Visible},
    uri::PublicUri,
};

/// The guide as far as a caller may read it.
pub struct GuideShelf {
    /// The categories, each with its documents.
    pub categories: Vec<(Arc<Category>, Vec<Arc<Document>>)>,
    pub collections: Vec<CollectionInfo>,
}

/// A document as it was written.
pub struct Written {
    /// Which it is.
    pub document: Arc<Document>,
    /// Its text, or why that cannot be edited.
    pub text: Result<String, KnowledgeError>,
}

impl Gateway {
    /// The project a caller works on: his own, else the one of the settings.
    pub fn project_of(&self, caller: &Caller) -> Option<ProjectName> {
        let of_settings = || {
            let settings = self.knowledge()?.settings();
            ProjectName::new(settings.project.as_deref()?).ok()
        };
        caller.project.clone().or_else(of_settings)
    }

    /// The part of local knowledge that the caller's project picks; `None`: all of it.
    pub(super) fn picks_of(&self, caller: &Caller) -> Option<Picks> {
        self.knowledge()?.picks(caller.project.as_ref().map(ProjectName::as_str))
    }

    /// The flags that the settings give to a project.
    pub fn flags_written_for(&self, project: &ProjectName) -> flags::Written {
        let settings = self.knowledge().map(|knowledge| knowledge.settings());
        let project = settings.as_ref().and_then(|s| s.groups.projects.get(project.as_str()));
        project.map(|project| project.flags.clone()).unwrap_or_default()
    }

    /// The names of the projects in the settings.
    pub fn projects(&self) -> Vec<String> {
        let settings = self.knowledge().map(|knowledge| knowledge.settings());
        let names = settings.map(|settings| settings.groups.projects.keys().cloned().collect());
        names.unwrap_or_default()
    }

    /// The project that is worked on in the first of these folders that belongs to one.
    pub fn project_in(&self, folders: &[PathBuf]) -> Option<ProjectName> {
        let settings = self.knowledge()?.settings();
        let found = folders.iter().find_map(|folder| settings.groups.project_at(folder))?;
        ProjectName::new(found).ok()
    }

    /// Whether the folder a user works in may decide about the project.
    pub fn has_project_folders(&self) -> bool {
        let has = |knowledge: &Arc<Knowledge>| {
            let settings = knowledge.settings();
            settings.groups.projects.values().any(|project| project.root.is_some())
        };
        self.knowledge().is_some_and(has)
    }

    /// The documents an expression means, as far as the caller may read them.
    pub(super) async fn documents_of(
        &self,
        caller: &Caller,
        expression: &str,
        pattern: Option<&str>,
    ) -> Result<Content, KnowledgeError> {
        let Some(knowledge) = self.knowledge() else {
            let what = "the guide".to_owned();
            return Err(KnowledgeError::NotFound { what, near: Vec::new() });
        };
        knowledge.get_content(self.sight_of_guide(caller), expression, pattern).await
    }

    /// The categories with their documents, and the collections.
    pub(super) async fn guide_shelf(&self, caller: &Caller) -> Result<GuideShelf, AskError> {
        let knowledge = self.guide()?;
        let sight = self.sight_of_guide(caller);
        let mut categories = Vec::new();
        for (category, _) in knowledge.categories(sight.clone()).await {
            let documents = knowledge.category_files(sight.clone(), category.name(), None).await;
            categories.push((category, documents.unwrap_or_default()));
        }
        Ok(GuideShelf { categories, collections: knowledge.collections(sight).await })
    }

    /// A document for its editor.
    pub(super) async fn written(
        &self,
        caller: &Caller,
        category: &str,
        path: &str,
    ) -> Result<Written, AskError> {
        let knowledge = self.guide()?;
        let sight = self.sight_of_guide(caller);
        let visible = sight.visible.clone();
        let files = knowledge.category_files(sight, category, None).await.unwrap_or_default();
        let Some(document) = files.into_iter().find(|one| one.path() == path) else {
            return Err(AskError::not_found(&PublicUri::new(document_uri(category, path))));
        };
        let text = knowledge.source_text(&visible, category, path).await;
        Ok(Written { document, text })
    }

    fn guide(&self) -> Result<&Arc<Knowledge>, AskError> {
        self.knowledge().ok_or_else(|| AskError::not_found(&"guide://".into()))
    }

    /// Refuses a URI of local knowledge that names nothing the caller may know of, though
    /// the rules are silent about this spelling of it.
    pub(super) async fn check_there(
        &self,
        caller: &Caller,
        uri: &PublicUri,
        route: &Route,
    ) -> Result<(), AskError> {
        if self.access().policy.is_empty() {
            return Ok(());
        }
        match self.absence_in_guide(caller, uri, route).await {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Why a URI of local knowledge names nothing the caller may know of; `None` if it names
    /// something, or is none of local knowledge.
    async fn absence_in_guide(
        &self,
        caller: &Caller,
        uri: &PublicUri,
        route: &Route,
    ) -> Option<AskError> {
        let knowledge = self.knowledge().filter(|knowledge| knowledge.id() == route.source.id())?;
        let sight = self.sight_of_guide(caller);
        let error = knowledge.absence(sight, route.local.as_str()).await?;
        Some(AskError::Source { source_id: knowledge.id().clone(), uri: Some(uri.clone()), error })
    }

    /// The part of local knowledge that the caller may know of.
    pub(crate) fn sight_of_guide(&self, caller: &Caller) -> Sight {
        Sight {
            project: caller.project.as_ref().map(|project| project.as_str().to_owned()),
            visible: self.visible(caller, &SourceId::guide()),
        }
    }

    /// The error for a caller who asks for a hidden resource: the answer if it were not there.
    /// Sources that are not ours have their own words; their resources are not there at all.
    pub(super) async fn as_if_absent(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        uri: &PublicUri,
        error: AskError,
    ) -> AskError {
        let (AskError::NotFound { .. }, Ok(route)) = (&error, snapshot.route(uri.as_str())) else {
            return error;
        };
        self.absence_in_guide(caller, uri, &route).await.unwrap_or(error)
    }

    /// Which resources of a Source the caller may read.
    pub(super) fn visible(&self, caller: &Caller, id: &SourceId) -> Visible {
        let rules = self.rules();
        if rules.access().policy.is_empty() {
            return Visible::default();
        }
        let (caller, id) = (caller.clone(), id.clone());
        Visible::when(move |local| {
            rules.standing(&caller, Named::listed(&id, local)).0 == Standing::Open
        })
    }
}
