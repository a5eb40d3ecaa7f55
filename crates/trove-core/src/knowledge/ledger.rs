//! Where categories and collections are written down.
//!
//! The file belongs to the program; here are only the edits to be written into it.

use super::{CategorySettings, CollectionSettings, Groups, collection, name, pattern::Patterns};

/// Writes changes down, all of them or none, keeping what else stands there.
pub trait Ledger: Send + Sync + std::fmt::Debug {
    /// Writes the changes; if that cannot be done, nothing is changed and the text says why.
    fn keep(&self, edits: &[Edit]) -> Result<(), String>;
}

/// One change to what is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Adds or replaces a category.
    SetCategory(String, CategorySettings),
    /// Gives a category another name.
    RenameCategory(String, String),
    RemoveCategory(String),
    /// Adds or replaces a collection.
    SetCollection(String, CollectionSettings),
    /// Gives a collection another name.
    RenameCollection(String, String),
    RemoveCollection(String),
    /// Sets the categories of a project.
    SetProjectCategories(String, Vec<String>),
    /// Sets the collections of a project.
    SetProjectCollections(String, Vec<String>),
}

/// Everything wrong with hand-written groups: the key, e.g. `categories.lang`, and why.
pub fn check_groups(groups: &Groups) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    for (name, category) in groups.categories.iter().flatten() {
        let key = format!("categories.{name}");
        if let Err(error) = name::check_name(name) {
            problems.push((key.clone(), error.to_string()));
        }
        let dir = category.dir.trim_end_matches('/');
        if dir != "."
            && let Err(why) = name::safe(dir)
        {
            problems.push((key.clone(), format!("`dir` must lie in the guide: {why}")));
        }
        let patterns = category.patterns.iter().map(String::as_str);
        if let Err(error) = Patterns::new(patterns) {
            problems.push((key, error.to_string()));
        }
    }
    let categories = groups.categories.as_ref();
    let is_category = |name: &str| categories.is_some_and(|all| all.contains_key(name));
    for (name, collection) in collection::all(&groups.collections, is_category) {
        let key = format!("collections.{name}");
        if let Err(error) = name::check_name(&name) {
            problems.push((key.clone(), error.to_string()));
        }
        if let Some(why) = collection.problem() {
            problems.push((key, why.to_owned()));
        }
    }
    for name in groups.projects.keys() {
        if let Err(error) = name::check_name(name) {
            problems.push((format!("projects.{name}"), error.to_string()));
        }
    }
    problems
}
