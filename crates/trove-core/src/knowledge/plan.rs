//! A change of categories and collections being worked out: the groups after it, and the edits to
//! be written down. Nothing is written here.

use std::collections::BTreeMap;

use super::{
    Edit, Expression, Groups, KnowledgeError, ProjectSettings, address, collection, name,
    pattern::Patterns,
    settings::{CategorySettings, CollectionSettings},
};
use crate::source::Visible;

/// A change being worked out.
pub(super) struct Plan {
    pub(super) groups: Groups,
    /// Every category there is, whether written down or found as a folder.
    pub(super) known: Vec<String>,
    pub(super) edits: Vec<Edit>,
    pub(super) make_folder: Option<String>,
    /// The entries that the maker of the change may know of.
    visible: Visible,
}

impl Plan {
    pub(super) fn of(groups: Groups, known: Vec<String>, visible: Visible) -> Plan {
        Plan { groups, known, edits: Vec::new(), make_folder: None, visible }
    }

    fn shows_category(&self, name: &str) -> bool {
        self.visible.allows(&address::category(name))
    }

    fn shows_collection(&self, name: &str) -> bool {
        self.visible.allows(&address::collection(name))
    }

    /// The categories that may be known of.
    fn known_categories(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(String::as_str).filter(|name| self.shows_category(name))
    }

    /// The collections that may be known of.
    fn known_collections(&self) -> impl Iterator<Item = &str> {
        let all = self.groups.collections.keys().map(String::as_str);
        all.filter(|name| self.shows_collection(name))
    }

    /// A name that a rule hides cannot be given, whether something has it or not.
    pub(super) fn check_free(&self, uri: &str, name: &str) -> Result<(), KnowledgeError> {
        if self.visible.allows(uri) {
            return Ok(());
        }
        Err(bad_change(&format!("the name `{name}` is not open to you; choose another")))
    }

    /// Writes down every category that so far was simply a folder: once one is written
    /// down, only those that are written down count.
    pub(super) fn name_categories(&mut self) {
        if self.groups.categories.is_some() {
            return;
        }
        let all = self.known.iter().map(|name| (name.clone(), CategorySettings::folder(name)));
        let all: BTreeMap<String, CategorySettings> = all.collect();
        let edits = all.iter().map(|(name, c)| Edit::SetCategory(name.clone(), c.clone()));
        self.edits.extend(edits);
        self.groups.categories = Some(all);
    }

    pub(super) fn categories(&mut self) -> &mut BTreeMap<String, CategorySettings> {
        self.groups.categories.get_or_insert_default()
    }

    pub(super) fn category(&mut self, name: &str) -> Result<CategorySettings, KnowledgeError> {
        let is_shown = self.shows_category(name);
        let found = self.categories().get(name).filter(|_| is_shown).cloned();
        found.ok_or_else(|| {
            let near = name::near(name, self.known_categories());
            KnowledgeError::not_found(format!("the category `{name}`"), near)
        })
    }

    pub(super) fn collection(&self, name: &str) -> Result<CollectionSettings, KnowledgeError> {
        let found = self.groups.collections.get(name).filter(|_| self.shows_collection(name));
        found.cloned().ok_or_else(|| {
            let near = name::near(name, self.known_collections());
            KnowledgeError::not_found(format!("the collection `{name}`"), near)
        })
    }

    pub(super) fn set_category(&mut self, name: &str, category: CategorySettings) {
        self.edits.retain(|edit| !matches!(edit, Edit::SetCategory(known, _) if known == name));
        self.edits.push(Edit::SetCategory(name.to_owned(), category.clone()));
        self.categories().insert(name.to_owned(), category);
    }

    pub(super) fn set_collection(
        &mut self,
        name: &str,
        collection: CollectionSettings,
    ) -> Result<(), KnowledgeError> {
        if collection.members.is_empty() {
            return Err(bad_change("a collection needs at least one member, as in `lang/python`"));
        }
        let is_known = |part: &str| {
            self.known_categories().any(|known| known.eq_ignore_ascii_case(part))
                || self.known_collections().any(|known| known.eq_ignore_ascii_case(part))
        };
        for part in collection::read(&collection)?.iter().flat_map(|member| &member.parts) {
            if !is_known(&part.name) && part.name != name {
                let all = self.known_categories().chain(self.known_collections());
                let near = name::near(&part.name, all);
                return Err(KnowledgeError::ContextNotFound { name: part.name.clone(), near });
            }
            Patterns::new(part.patterns.iter().map(String::as_str))?;
        }
        self.edits.push(Edit::SetCollection(name.to_owned(), collection.clone()));
        self.groups.collections.insert(name.to_owned(), collection);
        Ok(())
    }

    pub(super) fn rename_category(&mut self, from: &str, to: &str) -> Result<(), KnowledgeError> {
        name::check_name(to)?;
        self.check_free(&address::category(to), to)?;
        if self.categories().contains_key(to) {
            return Err(exists(format!("the category `{to}`")));
        }
        self.keep_meaning(to)?;
        if let Some(category) = self.categories().remove(from) {
            self.categories().insert(to.to_owned(), category);
        }
        self.edits.push(Edit::RenameCategory(from.to_owned(), to.to_owned()));
        let names_it = self.names_category(from);
        self.rename_members(to, names_it);
        self.rename_in_projects(
            from,
            to,
            |project| &mut project.categories,
            Edit::SetProjectCategories,
        );
        Ok(())
    }

    pub(super) fn rename_collection(&mut self, from: &str, to: &str) -> Result<(), KnowledgeError> {
        name::check_name(to)?;
        self.check_free(&address::collection(to), to)?;
        if self.groups.collections.contains_key(to) {
            return Err(exists(format!("the collection `{to}`")));
        }
        let names_it = self.names_collection(from);
        if meant(&self.known, to).is_some() {
            // Under the new name members would mean the category.
            self.refuse_if_named(&format!("the collection `{from}`"), &names_it)?;
        }
        if let Some(collection) = self.groups.collections.remove(from) {
            self.groups.collections.insert(to.to_owned(), collection);
        }
        self.edits.push(Edit::RenameCollection(from.to_owned(), to.to_owned()));
        self.rename_members(to, names_it);
        self.rename_in_projects(
            from,
            to,
            |project| &mut project.collections,
            Edit::SetProjectCollections,
        );
        Ok(())
    }

    /// Refuses a name for a category that members use for a collection: they would mean the
    /// category from then on.
    pub(super) fn keep_meaning(&self, category: &str) -> Result<(), KnowledgeError> {
        let Some(collection) = self.groups.collections.keys().find(|name| **name == category)
        else {
            return Ok(());
        };
        let names_it = self.names_collection(collection);
        self.refuse_if_named(&format!("the collection `{collection}`"), names_it)
    }

    /// Whether the name of a part means this category.
    pub(super) fn names_category(&self, wanted: &str) -> impl Fn(&str) -> bool + use<> {
        let (known, wanted) = (self.known.clone(), wanted.to_owned());
        move |part| meant(&known, part) == Some(&wanted)
    }

    /// Whether the name of a part means this collection: categories are meant before.
    pub(super) fn names_collection(&self, wanted: &str) -> impl Fn(&str) -> bool + use<> {
        let (known, wanted) = (self.known.clone(), wanted.to_owned());
        let all: Vec<String> = self.groups.collections.keys().cloned().collect();
        move |part| meant(&known, part).is_none() && meant(&all, part) == Some(&wanted)
    }

    /// Puts the new name wherever a member names what has it now.
    fn rename_members(&mut self, to: &str, names_it: impl Fn(&str) -> bool) {
        for (name, collection) in &mut self.groups.collections {
            let mut is_other = false;
            for member in &mut collection.members {
                // A member that cannot be read is left for its author to mend.
                let Ok(mut expression) = Expression::parse(member) else { continue };
                let mut names =
                    expression.parts.iter_mut().filter(|part| names_it(&part.name)).peekable();
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
    }

    fn rename_in_projects(
        &mut self,
        from: &str,
        to: &str,
        pick: impl Fn(&mut ProjectSettings) -> &mut Option<Vec<String>>,
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

    pub(super) fn refuse_if_named(
        &self,
        what: &str,
        names_it: impl Fn(&str) -> bool,
    ) -> Result<(), KnowledgeError> {
        let names = |collection: &CollectionSettings| {
            let members = collection::read(collection).unwrap_or_default();
            members.iter().flat_map(|member| &member.parts).any(|part| names_it(&part.name))
        };
        let all = self.groups.collections.iter();
        let by: Vec<String> = all
            .filter(|(_, collection)| names(collection))
            .map(|(name, _)| {
                if self.shows_collection(name) {
                    format!("the collection `{name}`")
                } else {
                    "something else".to_owned()
                }
            })
            .collect();
        if by.is_empty() {
            Ok(())
        } else {
            Err(KnowledgeError::InUse { what: what.to_owned(), by })
        }
    }

    /// No change may leave a collection that leads back to itself.
    pub(super) fn check(&self) -> Result<(), KnowledgeError> {
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

/// The name among these that is meant: the one called so, else the only one that differs in case.
fn meant<'a>(all: &'a [String], name: &str) -> Option<&'a String> {
    if let Some(exact) = all.iter().find(|known| *known == name) {
        return Some(exact);
    }
    let lower = name.to_lowercase();
    let mut alike = all.iter().filter(|known| known.to_lowercase() == lower);
    match (alike.next(), alike.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}

pub(super) fn exists(what: String) -> KnowledgeError {
    KnowledgeError::Exists { what }
}

pub(super) fn bad_change(why: &str) -> KnowledgeError {
    KnowledgeError::BadChange { why: why.to_owned() }
}
