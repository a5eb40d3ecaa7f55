//! Local knowledge for those who do not go by URIs: expressions, categories, collections.

use std::{path::PathBuf, sync::Arc};

use super::{AskError, Gateway, Named, settle::Asked};
use crate::{
    access::Standing,
    caller::Caller,
    catalogue::{Route, Snapshot},
    flags::Written,
    json::Json,
    knowledge::{Content, Knowledge, KnowledgeError, Picks, Sight},
    project::ProjectName,
    source::{Reply, Source as _, SourceId, Visible},
    uri::PublicUri,
};

impl Gateway {
    /// Gives the gateway its local knowledge; once, at the start.
    pub fn adopt_knowledge(&self, knowledge: Arc<Knowledge>) {
        let _ = self.knowledge.set(knowledge);
    }

    /// Local knowledge, if there is any.
    pub fn knowledge(&self) -> Option<&Arc<Knowledge>> {
        self.knowledge.get()
    }

    /// The project a caller works on: his own, else the one of the settings.
    pub fn project_of(&self, caller: &Caller) -> Option<ProjectName> {
        let of_settings = || {
            let settings = self.knowledge()?.settings();
            ProjectName::new(settings.project.as_deref()?).ok()
        };
        caller.project.clone().or_else(of_settings)
    }

    /// What of local knowledge the caller's project picks; nothing: all.
    pub(super) fn picks_of(&self, caller: &Caller) -> Option<Picks> {
        self.knowledge()?.picks(caller.project.as_ref().map(ProjectName::as_str))
    }

    /// The flags that the settings give to a project.
    pub fn flags_written_for(&self, project: &ProjectName) -> Written {
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

    /// Whether the folder somebody works in may decide about the project.
    pub fn has_project_folders(&self) -> bool {
        let has = |knowledge: &Arc<Knowledge>| {
            let settings = knowledge.settings();
            settings.groups.projects.values().any(|project| project.root.is_some())
        };
        self.knowledge().is_some_and(has)
    }

    /// The documents an expression means, as far as the caller may read them.
    pub async fn content(
        &self,
        caller: &Caller,
        knowledge: &Knowledge,
        expression: &str,
        pattern: Option<&str>,
    ) -> Result<Content, KnowledgeError> {
        let asked = Asked::new(caller, "get_content", expression);
        let sight = self.sight_of_guide(caller);
        let result = knowledge.get_content(sight, expression, pattern).await;
        let told = match &result {
            Ok(_) => Ok(Reply::plain(Json::empty_object())),
            Err(_) => Err(AskError::not_found(&PublicUri::new(expression))),
        };
        self.settle(&asked, &told);
        result
    }

    /// Refuses a URI of local knowledge that names nothing the caller may know of, though
    /// the rules are silent about this spelling of it.
    pub(super) async fn check_there(
        &self,
        caller: &Caller,
        uri: &PublicUri,
        route: &Route,
    ) -> Result<(), AskError> {
        let knowledge = self.knowledge().filter(|knowledge| knowledge.id() == route.source.id());
        let Some(knowledge) = knowledge.filter(|_| !self.access().policy.is_empty()) else {
            return Ok(());
        };
        let sight = self.sight_of_guide(caller);
        let absence = knowledge.absence(sight, route.local.as_str()).await;
        absence.map_or(Ok(()), |error| {
            let source_id = knowledge.id().clone();
            Err(AskError::Source { source_id, uri: Some(uri.clone()), error })
        })
    }

    /// What of local knowledge the caller may know of.
    pub fn sight_of_guide(&self, caller: &Caller) -> Sight {
        Sight {
            project: caller.project.as_ref().map(|project| project.as_str().to_owned()),
            visible: self.visible(caller, &SourceId::guide()),
        }
    }

    /// What a caller is told who asks for what is hidden from him: what he would be told
    /// if it were not there. Sources that are not ours have their own words; their resources
    /// are not there at all.
    pub(super) async fn as_if_absent(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        uri: &PublicUri,
        error: AskError,
    ) -> AskError {
        let (AskError::NotFound { .. }, Some(knowledge)) = (&error, self.knowledge()) else {
            return error;
        };
        let route = snapshot.route(uri.as_str()).ok();
        let Some(route) = route.filter(|route| route.source.id() == knowledge.id()) else {
            return error;
        };
        let sight = self.sight_of_guide(caller);
        match knowledge.absence(sight, route.local.as_str()).await {
            Some(said) => AskError::Source {
                source_id: knowledge.id().clone(),
                uri: Some(uri.clone()),
                error: said,
            },
            None => error,
        }
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
