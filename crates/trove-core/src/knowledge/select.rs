//! Finds the documents that an address or an expression means, in order, each once.
//!
//! Works on one index: nothing is read from disk here.

use std::{collections::HashSet, sync::Arc};

use super::{
    Category, Collection, Document, Expression, KnowledgeError, Part,
    address::{self, Address},
    category::Exact,
    index::Index,
    name,
    settings::ProjectSettings,
};
use crate::{source::Visible, uri::scheme};

/// The guide as one project sees it, without the parts that the asker may not know of.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) index: &'a Index,
    pub(super) project: Option<&'a ProjectSettings>,
    pub(super) visible: &'a Visible,
}

/// The documents that are meant.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) documents: Vec<Arc<Document>>,
    /// Names that were asked for and not found, though others were.
    pub(super) notes: Vec<String>,
    seen: HashSet<Arc<str>>,
    /// Collections that are in already, with the patterns they were asked with.
    followed: HashSet<(Arc<str>, Vec<String>)>,
    /// Collections whose matching documents are being sought.
    within: Vec<Arc<str>>,
}

impl Selection {
    fn add(&mut self, document: &Arc<Document>) {
        if self.seen.insert(document.file.path.clone()) {
            self.documents.push(document.clone());
        }
    }
}

impl<'a> View<'a> {
    /// The categories this project sees.
    pub(super) fn categories(self) -> impl Iterator<Item = &'a Arc<Category>> {
        let all = self.index.categories.values();
        all.filter(move |category| self.sees_category(&category.name))
            .filter(move |category| self.shows_category(&category.name))
    }

    /// The collections this project sees.
    pub(super) fn collections(self) -> impl Iterator<Item = &'a Collection> {
        self.index.collections.values().filter(move |c| self.sees_collection(&c.name))
    }

    fn sees_category(self, name: &str) -> bool {
        let picked = self.project.and_then(|project| project.categories.as_ref());
        picked.is_none_or(|picked| picked.iter().any(|picked| picked == name))
    }

    fn sees_collection(self, name: &str) -> bool {
        let picked = self.project.and_then(|project| project.collections.as_ref());
        picked.is_none_or(|picked| picked.iter().any(|picked| picked == name))
            && self.visible.allows(&address::collection(name))
    }

    fn shows_category(self, name: &str) -> bool {
        self.visible.allows(&address::category(name))
    }

    pub(super) fn find_category(self, name: &str) -> Option<&'a Arc<Category>> {
        let exact = self.index.categories.get(name);
        let exact =
            exact.filter(|found| self.sees_category(name) && self.shows_category(&found.name));
        exact.or_else(|| alike(self.categories(), |category| &category.name, name))
    }

    /// As [`View::find_category`], also if the category is hidden: a document in it may be seen.
    fn find_folder(self, name: &str) -> Option<&'a Arc<Category>> {
        let all = self.index.categories.values();
        let seen = all.filter(move |category| self.sees_category(&category.name));
        let exact = self.index.categories.get(name).filter(|_| self.sees_category(name));
        exact.or_else(|| alike(seen, |category| &category.name, name))
    }

    fn find_collection(self, name: &str) -> Option<&'a Collection> {
        let exact = self.index.collections.get(name).filter(|_| self.sees_collection(name));
        exact.or_else(|| alike(self.collections(), |collection| &collection.name, name))
    }

    pub(super) fn category(self, name: &str) -> Result<&'a Arc<Category>, KnowledgeError> {
        self.find_category(name).ok_or_else(|| {
            let near = name::near(name, self.categories().map(|category| &*category.name));
            KnowledgeError::not_found(format!("the category `{name}`"), near)
        })
    }

    pub(super) fn collection(self, name: &str) -> Result<&'a Collection, KnowledgeError> {
        self.find_collection(name).ok_or_else(|| {
            let near = name::near(name, self.collections().map(|collection| &*collection.name));
            KnowledgeError::not_found(format!("the collection `{name}`"), near)
        })
    }

    /// The documents an address means; nothing of help.
    pub(super) fn address(self, address: &Address) -> Result<Selection, KnowledgeError> {
        let mut selection = Selection::default();
        match address {
            Address::Help => {}
            Address::Collection(name) => {
                self.follow(self.collection(name)?, &[], &mut selection)?;
                if selection.documents.is_empty() {
                    let what = format!("any document of the collection `{name}`");
                    return Err(KnowledgeError::not_found(what, Vec::new()));
                }
            }
            Address::Category(name) => self.pick(self.category(name)?, &[], &mut selection)?,
            Address::Matching(name, id) => {
                let patterns = std::slice::from_ref(id);
                self.pick(self.category(name)?, patterns, &mut selection)?;
            }
            Address::Document(context, id) => selection.add(&self.document(context, id)?),
        }
        Ok(selection)
    }

    /// The documents an expression means.
    pub(super) fn expression(self, expression: &Expression) -> Result<Selection, KnowledgeError> {
        let mut selection = Selection::default();
        let mut missing = None;
        for part in &expression.parts {
            match self.context(part, &mut selection) {
                Ok(()) => {}
                // Nothing in one part is worth a note if there is something in another.
                Err(error @ KnowledgeError::NotFound { .. }) => {
                    selection.notes.push(error.to_string());
                    missing.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        match missing {
            Some(missing) if selection.documents.is_empty() => Err(missing),
            _ => Ok(selection),
        }
    }

    /// The documents of a part that was asked for: of the category and of the collection of that
    /// name, if there are both.
    fn context(self, part: &Part, selection: &mut Selection) -> Result<(), KnowledgeError> {
        let (category, collection) =
            (self.find_category(&part.name), self.find_collection(&part.name));
        let (Some(category), Some(collection)) = (category, collection) else {
            return self.part(part, selection);
        };
        let of_category = self.pick(category, &part.patterns, selection);
        let of_collection = self.follow(collection, &part.patterns, selection);
        match (of_category, of_collection) {
            (Ok(()), Ok(()) | Err(KnowledgeError::NotFound { .. })) => Ok(()),
            (Ok(()), Err(error)) => {
                selection.notes.push(error.to_string());
                Ok(())
            }
            (Err(KnowledgeError::NotFound { .. }), of_collection) => of_collection,
            (Err(error), _) => Err(error),
        }
    }

    /// The documents of a member of a collection. One that has the name of the collection itself
    /// means the category.
    fn member(
        self,
        collection: &Collection,
        part: &Part,
        selection: &mut Selection,
    ) -> Result<(), KnowledgeError> {
        let meant = self.find_collection(&part.name);
        let is_itself = meant.is_some_and(|meant| meant.name == collection.name);
        if collection.means_both && !is_itself {
            return self.context(part, selection);
        }
        self.part(part, selection)
    }

    /// The documents of the category of that name, else of the collection.
    fn part(self, part: &Part, selection: &mut Selection) -> Result<(), KnowledgeError> {
        if let Some(category) = self.find_category(&part.name) {
            return self.pick(category, &part.patterns, selection);
        }
        match self.find_collection(&part.name) {
            Some(collection) => self.follow(collection, &part.patterns, selection),
            None => Err(self.no_context(&part.name)),
        }
    }

    fn no_context(self, name: &str) -> KnowledgeError {
        let is_context =
            |name| self.find_category(name).is_some() || self.find_collection(name).is_some();
        let head = name.split_once(':').map(|(head, _)| head);
        if head.is_some_and(|head| scheme(name).is_some() && !is_context(head)) {
            return KnowledgeError::BadScheme { uri: name.to_owned() };
        }
        let categories = self.categories().map(|category| &*category.name);
        let all = categories.chain(self.collections().map(|collection| &*collection.name));
        KnowledgeError::ContextNotFound { name: name.to_owned(), near: name::near(name, all) }
    }

    /// Documents of a category: each name as it is, then what it matches; without names, by
    /// the category's own patterns.
    fn pick(
        self,
        category: &Category,
        patterns: &[String],
        selection: &mut Selection,
    ) -> Result<(), KnowledgeError> {
        let mut found = 0;
        if patterns.is_empty() {
            for document in category.by_default(self.visible) {
                found += 1;
                selection.add(document);
            }
        }
        for pattern in patterns {
            let matching = category.matching(pattern, self.visible)?;
            if let Exact::One(document) = category.exact(pattern, self.visible) {
                found += 1;
                selection.add(document);
            }
            found += matching.len();
            matching.into_iter().for_each(|document| selection.add(document));
        }
        if found > 0 {
            return Ok(());
        }
        let (wanted, near) = match patterns {
            [] => (category.patterns().join("`, `"), Vec::new()),
            some => (some.join("`, `"), self.near_documents(category, &some[0])),
        };
        let what = format!("anything that matches `{wanted}` in the category `{}`", category.name);
        Err(KnowledgeError::not_found(what, near))
    }

    fn near_documents(self, category: &Category, wanted: &str) -> Vec<String> {
        let paths = category.shown(self.visible).map(|document| &*document.path);
        let near = name::near(wanted, paths);
        if !near.is_empty() {
            return near;
        }
        category.shown(self.visible).take(5).map(|document| document.path.to_string()).collect()
    }

    /// Documents of a collection, those that match if there are patterns.
    fn follow(
        self,
        collection: &Collection,
        patterns: &[String],
        selection: &mut Selection,
    ) -> Result<(), KnowledgeError> {
        if !patterns.is_empty() {
            return self.follow_matching(collection, patterns, selection);
        }
        let members = collection.members.as_ref().map_err(|why| KnowledgeError::Unreadable {
            what: format!("the collection `{}`", collection.name),
            why: why.clone(),
        })?;
        // A collection that is in already need not be followed again, so that the work stays linear
        // even if collections name each other often.
        if !selection.followed.insert((collection.name.clone(), Vec::new())) {
            return Ok(());
        }
        for part in members.iter().flat_map(|member| &member.parts) {
            match self.member(collection, part, selection) {
                Ok(()) => {}
                Err(
                    error @ (KnowledgeError::NotFound { .. }
                    | KnowledgeError::ContextNotFound { .. }),
                ) => selection
                    .notes
                    .push(format!("in the collection `{}`: {error}", collection.name)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn follow_matching(
        self,
        collection: &Collection,
        patterns: &[String],
        selection: &mut Selection,
    ) -> Result<(), KnowledgeError> {
        if !selection.followed.insert((collection.name.clone(), patterns.to_vec())) {
            return Ok(());
        }
        // It leads back to itself where a category of its name is not shown.
        if selection.within.contains(&collection.name) {
            return Ok(());
        }
        let mut whole = Selection { within: selection.within.clone(), ..Selection::default() };
        whole.within.push(collection.name.clone());
        self.follow(collection, &[], &mut whole)?;
        let mut found = 0;
        for pattern in patterns {
            let compiled = super::pattern::Patterns::new([pattern.as_str()])?;
            for document in &whole.documents {
                let full = format!("{}/{}", document.category, document.path);
                if compiled.matches(&document.path) || compiled.matches(&full) {
                    found += 1;
                    selection.add(document);
                }
            }
        }
        if found > 0 {
            return Ok(());
        }
        let near = name::near(&patterns[0], whole.documents.iter().map(|d| &*d.path));
        let wanted = patterns.join("`, `");
        let what =
            format!("anything that matches `{wanted}` in the collection `{}`", collection.name);
        Err(KnowledgeError::not_found(what, near))
    }

    /// One document of a category, else of the collection of that name.
    pub(super) fn document(self, context: &str, id: &str) -> Result<Arc<Document>, KnowledgeError> {
        let ambiguous = |found: &[&Arc<Document>]| KnowledgeError::Ambiguous {
            what: format!("`{id}` in `{context}`"),
            candidates: found.iter().map(|d| d.uri().to_owned()).collect(),
        };
        if let Some(category) = self.find_folder(context) {
            match category.exact(id, self.visible) {
                Exact::One(document) => return Ok(document.clone()),
                Exact::Several(found) => return Err(ambiguous(&found)),
                Exact::None => {}
            }
        }
        let Some(collection) = self.find_collection(context) else {
            return Err(self.no_document(context, id));
        };
        let mut whole = Selection::default();
        self.follow(collection, &[], &mut whole)?;
        for is_it in [Document::is_at, Document::is_alike, Document::is_in_another_case] {
            let found: Vec<&Arc<Document>> =
                whole.documents.iter().filter(|d| is_it(d, id)).collect();
            match found[..] {
                [] => {}
                [one] => return Ok(one.clone()),
                _ => return Err(ambiguous(&found)),
            }
        }
        let mut near = name::near(id, whole.documents.iter().map(|d| &*d.path));
        let mut what = format!("the document `{id}` in the collection `{}`", collection.name);
        if let Some(category) = self.find_category(context) {
            near.extend(self.near_documents(category, id));
            what = format!("the document `{id}` in the category or the collection `{context}`");
        }
        Err(KnowledgeError::not_found(what, near))
    }

    /// Why there is no such document where no collection has the name of the context.
    fn no_document(self, context: &str, id: &str) -> KnowledgeError {
        match self.find_category(context) {
            Some(category) => {
                let what = format!("the document `{id}` in the category `{}`", category.name);
                KnowledgeError::not_found(what, self.near_documents(category, id))
            }
            None => self.no_context(context),
        }
    }

    /// A number that changes when a read of this address would.
    pub(super) fn print(self, address: &Address) -> u64 {
        let Ok(selection) = self.address(address) else { return 0 };
        let mut has_template = false;
        let stamps: Vec<_> = selection
            .documents
            .iter()
            .map(|document| {
                has_template |= document.file.is_template;
                (&document.file.path, document.file.stamp)
            })
            .collect();
        let partials = if has_template { self.index.partials } else { 0 };
        super::index::hash_of(&(stamps, partials, &selection.notes)).max(1)
    }
}

impl Document {
    /// Whether it is called exactly so, with or without its category.
    fn is_at(&self, id: &str) -> bool {
        &*self.path == id
            || id
                .strip_prefix(&*self.category)
                .is_some_and(|rest| rest.strip_prefix('/').is_some_and(|rest| rest == &*self.path))
    }

    /// Whether it is called so but for its extension, with or without its category.
    fn is_alike(&self, id: &str) -> bool {
        self.stem().is_some_and(|stem| {
            stem == id
                || id
                    .strip_prefix(&*self.category)
                    .is_some_and(|rest| rest.strip_prefix('/').is_some_and(|rest| rest == stem))
        })
    }

    /// Whether it is called so but for the case of letters, and perhaps for its extension.
    fn is_in_another_case(&self, id: &str) -> bool {
        let wanted = id.to_lowercase();
        let path = self.path.to_lowercase();
        let whole = format!("{}/{path}", self.category.to_lowercase());
        [path.as_str(), &whole].into_iter().any(|path| {
            let rest = path.strip_prefix(&*wanted);
            rest.is_some_and(|rest| matches!(rest, "" | ".md" | ".md.j2"))
        })
    }
}

/// The only one whose name differs in case alone.
fn alike<'a, T: 'a>(
    all: impl Iterator<Item = &'a T>,
    name_of: impl Fn(&T) -> &str,
    name: &str,
) -> Option<&'a T> {
    let lower = name.to_lowercase();
    let mut alike = all.filter(|one| name_of(one).to_lowercase() == lower);
    match (alike.next(), alike.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}
