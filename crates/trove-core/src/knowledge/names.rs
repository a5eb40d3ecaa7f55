//! Every name one file has: a document of each category its folder lies in, a file of
//! each skill it belongs to, and the same again for each link to it.
//!
//! Rules on who may read what are about files, whatever they are called.

use std::{collections::HashMap, sync::Arc};

use super::{
    Picks,
    address::{self, Address},
    index::Index,
    scan::Scan,
    select::View,
    skills::{self, Place},
};
use crate::source::Visible;

/// The guide at one moment.
#[derive(Debug, Clone)]
pub struct Edition(Arc<Index>);

/// One listed name of a file, and other ways to ask for it there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// As it is listed.
    pub listed: String,
    /// As it may be asked for too.
    pub also: Vec<String>,
}

impl Edition {
    pub(super) fn new(index: Arc<Index>) -> Edition {
        Edition(index)
    }

    /// Whether nothing was looked at between the two.
    pub fn is_same(&self, other: &Edition) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// All names of the file that `local` is one of, whether it is there or could be; none if
    /// it names no single file.
    pub fn names(&self, local: &str) -> Vec<Names> {
        let Some(path) = self.path(local) else { return Vec::new() };
        let linked = self.0.files.get(&*path).and_then(|file| self.0.links.get(&file.stamp.inode));
        match linked {
            Some(paths) => paths.iter().flat_map(|path| self.names_at(path)).collect(),
            None => self.names_at(&path).collect(),
        }
    }

    /// Whether what is listed under this URI is among what a project picks. A skill is if a
    /// category with it is; one in no category is everybody's.
    pub fn is_picked(&self, picks: &Picks, local: &str) -> bool {
        if !local.starts_with(skills::PREFIX) {
            return picks.allow(local);
        }
        let Some(path) = self.path(local) else { return true };
        let mut documents = self.documents_at(&path).peekable();
        documents.peek().is_none() || documents.any(|names| picks.allow(&names.listed))
    }

    /// Where the file lies that a URI names, from the root.
    fn path(&self, local: &str) -> Option<Arc<str>> {
        let all = Visible::ALL;
        if local.starts_with(skills::PREFIX) {
            return match skills::place(&self.0.skills, local, &all)? {
                Place::File(file) => Some(file.path.clone()),
                Place::Folder(..) => None,
            };
        }
        let Ok(Address::Document(context, id)) = Address::parse(local) else { return None };
        let view = View { index: &self.0, project: None, visible: &all };
        if let Ok(document) = view.document(&context, &id) {
            return Some(document.file.path.clone());
        }
        // One that is not there has the names it would have, so that rules on it tell nothing.
        let dir = view.find_category(&context)?.dir.trim_end_matches('/');
        Some(if matches!(dir, "." | "") { id.into() } else { format!("{dir}/{id}").into() })
    }

    pub(super) fn names_at(&self, path: &str) -> impl Iterator<Item = Names> {
        let in_skills = skills_above(path).filter_map(|(folder, below)| {
            let skill = self.0.skills.get(self.0.skill_folders.get(folder)?)?;
            Some(Names { listed: skill.uri(below), also: Vec::new() })
        });
        self.documents_at(path).chain(in_skills)
    }

    fn documents_at(&self, path: &str) -> impl Iterator<Item = Names> {
        self.0.categories.values().filter_map(move |category| {
            let below = match category.dir.trim_end_matches('/') {
                "." | "" => path,
                dir => path.strip_prefix(dir)?.strip_prefix('/')?,
            };
            let name = &category.name;
            let matching =
                |path: &str| format!("{}/{}", address::category(name), address::encode(path, true));
            let mut also = vec![matching(below)];
            if let Some(stem) = super::document::stem(below) {
                also.extend([matching(stem), address::document(name, stem)]);
            }
            Some(Names { listed: address::document(name, below), also })
        })
    }
}

/// The folders a file lies in, with what is left of its path there.
fn skills_above(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.match_indices('/').map(|(slash, _)| (&path[..slash], &path[slash + 1..]))
}

/// The paths of files that have several, by inode.
pub(super) fn links(scan: &Scan) -> HashMap<u64, Vec<Arc<str>>> {
    let mut first: HashMap<u64, &Arc<str>> = HashMap::with_capacity(scan.files.len());
    let mut links: HashMap<u64, Vec<Arc<str>>> = HashMap::new();
    for (path, stamp) in &scan.files {
        if let Some(known) = first.insert(stamp.inode, path) {
            let paths = links.entry(stamp.inode).or_insert_with(|| vec![known.clone()]);
            paths.push(path.clone());
        }
    }
    links
}
