//! The user's decisions about local knowledge.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde_json::Value;

use super::address::Address;

/// How many documents one answer may hold, unless the user says otherwise.
pub const DEFAULT_MAX_DOCUMENTS: usize = 1000;
/// The documents that a category gives by default.
pub const DEFAULT_PATTERNS: [&str; 2] = ["**/*.md", "**/*.md.j2"];

/// The user's decisions about local knowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The folder of the guide, absolute.
    pub root: PathBuf,
    /// How many documents one answer may hold.
    pub max_documents: usize,
    pub groups: Groups,
    /// The project that is meant by default.
    pub project: Option<String>,
}

/// Categories, collections and projects by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Groups {
    /// The categories; `None`: each folder below the root is one.
    pub categories: Option<BTreeMap<String, CategorySettings>>,
    pub collections: BTreeMap<String, CollectionSettings>,
    pub projects: BTreeMap<String, ProjectSettings>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategorySettings {
    /// Its folder, from the root.
    pub dir: String,
    /// The documents it gives by default.
    pub patterns: Vec<String>,
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectionSettings {
    /// Expressions over categories and collections.
    pub members: Vec<String>,
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectSettings {
    /// The folder in which it is worked on, absolute.
    pub root: Option<PathBuf>,
    /// The target of `root`, if that is a link, by its own path.
    pub real_root: Option<PathBuf>,
    /// Its categories; `None`: all.
    pub categories: Option<Vec<String>>,
    /// Its collections; `None`: all.
    pub collections: Option<Vec<String>>,
    /// Flags it sets.
    pub flags: BTreeMap<String, Value>,
    pub description: Option<String>,
}

impl Settings {
    /// A guide in `root` about which nothing was decided.
    pub fn new(root: impl Into<PathBuf>) -> Settings {
        Settings {
            root: root.into(),
            max_documents: DEFAULT_MAX_DOCUMENTS,
            groups: Groups::default(),
            project: None,
        }
    }
}

impl CategorySettings {
    /// A category that is the folder of the same name.
    pub fn folder(name: &str) -> CategorySettings {
        CategorySettings {
            dir: name.to_owned(),
            patterns: DEFAULT_PATTERNS.map(str::to_owned).to_vec(),
            description: None,
        }
    }
}

impl Groups {
    /// The project with the nearest root above `folder`, e.g. root `/src/app` for `/src/app/lib`.
    pub fn project_at(&self, folder: &std::path::Path) -> Option<&str> {
        let at = |project: &ProjectSettings| {
            let roots = [&project.root, &project.real_root].into_iter().flatten();
            let at = roots.filter(|root| folder.starts_with(root));
            at.map(|root| root.components().count()).max()
        };
        let found = self.projects.iter().filter_map(|(name, project)| Some((at(project)?, name)));
        found.max_by_key(|(depth, _)| *depth).map(|(_, name)| name.as_str())
    }
}

/// The categories and collections that a project picks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Picks {
    categories: Option<BTreeSet<String>>,
    collections: Option<BTreeSet<String>>,
}

impl Picks {
    pub(super) fn of(project: &ProjectSettings) -> Option<Picks> {
        let set = |names: &Option<Vec<String>>| names.as_ref().map(|n| n.iter().cloned().collect());
        let (categories, collections) = (set(&project.categories), set(&project.collections));
        let is_all = categories.is_none() && collections.is_none();
        (!is_all).then_some(Picks { categories, collections })
    }

    /// Whether the entry listed under this URI is among them. A template is: its values are checked
    /// when it is read.
    pub fn allow(&self, local: &str) -> bool {
        if local.contains('{') {
            return true;
        }
        let has = |picked: &Option<BTreeSet<String>>, name: &str| {
            picked.as_ref().is_none_or(|picked| picked.contains(name))
        };
        match Address::parse(local) {
            Ok(Address::Collection(name)) => has(&self.collections, &name),
            Ok(
                Address::Category(name) | Address::Matching(name, _) | Address::Document(name, _),
            ) => has(&self.categories, &name),
            Ok(Address::Help) | Err(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_project_above_a_folder_is_meant() {
        let mut groups = Groups::default();
        for (name, root) in [("all", "/src"), ("one", "/src/one"), ("other", "/else")] {
            let project = ProjectSettings { root: Some(root.into()), ..Default::default() };
            groups.projects.insert(name.into(), project);
        }
        assert_eq!(groups.project_at("/src/one/deep".as_ref()), Some("one"));
        assert_eq!(groups.project_at("/src/two".as_ref()), Some("all"));
        assert_eq!(groups.project_at("/srcs".as_ref()), None);
    }
}
