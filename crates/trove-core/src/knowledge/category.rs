//! A category: a folder with the patterns that say what it gives by itself.

use std::sync::Arc;

use super::{Document, KnowledgeError, pattern::Patterns};
use crate::source::Visible;

/// A folder of documents.
#[derive(Debug)]
pub struct Category {
    pub(super) name: Arc<str>,
    pub(super) dir: String,
    pub(super) description: Option<String>,
    pub(super) patterns: Patterns,
    /// By path.
    pub(super) documents: Vec<Arc<Document>>,
}

/// The documents that a name without signs may mean.
pub(super) enum Exact<'a> {
    None,
    One(&'a Arc<Document>),
    Several(Vec<&'a Arc<Document>>),
}

impl Category {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its folder, from the root.
    pub fn dir(&self) -> &str {
        &self.dir
    }

    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The documents it gives by default, as patterns.
    pub fn patterns(&self) -> &[String] {
        self.patterns.texts()
    }

    /// Everything in its folder, by path.
    pub fn documents(&self) -> &[Arc<Document>] {
        &self.documents
    }

    /// Everything in its folder that may be known of, by path.
    pub(super) fn shown<'a>(
        &'a self,
        visible: &'a Visible,
    ) -> impl Iterator<Item = &'a Arc<Document>> {
        self.documents.iter().filter(|document| visible.allows(document.uri()))
    }

    pub(super) fn by_default<'a>(
        &'a self,
        visible: &'a Visible,
    ) -> impl Iterator<Item = &'a Arc<Document>> {
        let all = self.documents.iter().filter(|document| self.patterns.matches(&document.path));
        all.filter(|document| visible.allows(document.uri()))
    }

    /// The document of exactly this name, then with an extension, then in another case.
    pub(super) fn exact(&self, id: &str, visible: &Visible) -> Exact<'_> {
        for suffix in ["", ".md", ".md.j2"] {
            if let Some(document) = self.at(&format!("{id}{suffix}"), visible) {
                return Exact::One(document);
            }
        }
        let found = self.with_stem(id, visible);
        match found[..] {
            [] => self.in_another_case(id, visible),
            [one] => Exact::One(one),
            _ => Exact::Several(found),
        }
    }

    /// The documents that a pattern matches, by path.
    pub(super) fn matching(
        &self,
        pattern: &str,
        visible: &Visible,
    ) -> Result<Vec<&Arc<Document>>, KnowledgeError> {
        let patterns = Patterns::new([pattern])?;
        if pattern.contains(['*', '?', '[', '{']) {
            let found = self.documents.iter().filter(|d| patterns.matches(&d.path));
            return Ok(found.filter(|document| visible.allows(document.uri())).collect());
        }
        // Without signs it can only be the name, or the name before an extension.
        let last = pattern.rsplit('/').next().unwrap_or(pattern);
        let mut found: Vec<&Arc<Document>> = self.at(pattern, visible).into_iter().collect();
        if !last.contains('.') {
            found.extend(self.with_stem(pattern, visible));
        }
        Ok(found)
    }

    fn at(&self, path: &str, visible: &Visible) -> Option<&Arc<Document>> {
        let found = self.documents.binary_search_by(|document| (*document.path).cmp(path));
        found.ok().map(|n| &self.documents[n]).filter(|document| visible.allows(document.uri()))
    }

    /// Documents whose path is `stem` and an extension, e.g. `python.md` for `python`.
    fn with_stem<'a>(&'a self, stem: &str, visible: &Visible) -> Vec<&'a Arc<Document>> {
        let first = self.documents.partition_point(|document| &*document.path < stem);
        let after = self.documents[first..].iter();
        after
            .take_while(|document| document.path.starts_with(stem))
            .filter(|document| {
                let rest = &document.path[stem.len()..];
                rest.starts_with('.') && !rest.contains('/') && visible.allows(document.uri())
            })
            .collect()
    }

    fn in_another_case(&self, id: &str, visible: &Visible) -> Exact<'_> {
        let wanted = id.to_lowercase();
        let is_alike = |document: &&Arc<Document>| {
            let path = document.path.to_lowercase();
            let rest = path.strip_prefix(&wanted);
            rest.is_some_and(|rest| matches!(rest, "" | ".md" | ".md.j2"))
                && visible.allows(document.uri())
        };
        let mut alike = self.documents.iter().filter(is_alike);
        match (alike.next(), alike.next()) {
            (Some(one), None) => Exact::One(one),
            _ => Exact::None,
        }
    }
}
