//! One question on its way: everything it needs to be answered on any thread.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Content, Flags, KnowledgeError, ProjectSettings, Settings, content,
    index::Index,
    render::Scene,
    select::{Selection, View},
    store::Store,
};
use crate::source::Visible;

/// One question on its way: everything it needs, so that it can be answered on any thread.
pub(super) struct Task {
    pub(super) index: Arc<Index>,
    pub(super) settings: Arc<Settings>,
    pub(super) flags: Arc<dyn Flags>,
    pub(super) project: Option<String>,
    pub(super) date: String,
    pub(super) visible: Visible,
}

/// How several documents become one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Mime,
    Plain,
    Parts,
}

impl Task {
    pub(super) fn project(&self) -> Option<(&str, &ProjectSettings)> {
        let name = self.project.as_deref()?;
        self.settings.groups.projects.get_key_value(name).map(|(name, p)| (name.as_str(), p))
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            index: &self.index,
            project: self.project().map(|(_, project)| project),
            visible: &self.visible,
        }
    }

    pub(super) fn gather(&self, selection: Selection) -> Result<Content, KnowledgeError> {
        let store = Store::new(&self.settings.root);
        let unnamed = ProjectSettings::default();
        let named = self.project.as_deref().map(|name| (name, &unnamed));
        let scene = Scene {
            store: &store,
            flags: self.flags.clone(),
            project: self.project().or(named),
            date: &self.date,
        };
        let dir_of = |name: &str| {
            self.index
                .categories
                .get(name)
                .map_or_else(String::new, |category| category.dir.clone())
        };
        content::gather(&scene, selection, self.settings.max_documents, dir_of)
    }

    pub(super) fn format(&self) -> Format {
        const FLAG: &str = "content-format";
        let own = self.project().and_then(|(_, project)| project.flags.get(FLAG));
        let value = self.flags.flag(self.project.as_deref(), FLAG, own);
        match value.as_ref().and_then(Value::as_str) {
            Some("plain") => Format::Plain,
            Some("parts") => Format::Parts,
            _ => Format::Mime,
        }
    }
}
