//! Every name one file has: as a document of each category its folder lies in, as a file of each
//! skill, and likewise for each link to it.
//!
//! Rules on who may read what are about files, under all of their names.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use super::{
    Picks,
    address::{self, Address},
    help,
    index::Index,
    scan::Scan,
    select::View,
    skills::{self, Place},
};
use crate::source::Visible;

/// The collections each file is in, by its path.
type Members = HashMap<Arc<str>, Vec<Arc<str>>>;

/// The guide at one moment.
#[derive(Debug, Clone)]
pub struct Edition {
    index: Arc<Index>,
    /// The collections each file is in, once they were asked for.
    collections: Arc<OnceLock<Members>>,
}

/// One listed name of a file, and other ways to ask for it there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// As it is listed.
    pub listed: String,
    /// As it may be asked for too.
    pub also: Vec<String>,
    /// The category it is listed in; `None` for a file of a skill.
    category: Option<Arc<str>>,
    /// Where it lies from the root, and how it may be called in its category.
    path: Arc<str>,
    spellings: Vec<String>,
}

impl Edition {
    pub(super) fn new(index: Arc<Index>) -> Edition {
        Edition { index, collections: Arc::default() }
    }

    /// Whether nothing was looked at between the two.
    pub fn is_same(&self, other: &Edition) -> bool {
        Arc::ptr_eq(&self.index, &other.index)
    }

    /// All names of the file that `local` is one of, whether it is there or could be; none if
    /// it names no single file.
    pub fn names(&self, local: &str) -> Vec<Names> {
        let Some(path) = self.path(local) else { return Vec::new() };
        let linked =
            self.index.files.get(&*path).and_then(|file| self.index.links.get(&file.stamp.inode));
        match linked {
            Some(paths) => paths.iter().flat_map(|path| self.names_at(path)).collect(),
            None => self.names_at(&path).collect(),
        }
    }

    /// The files that have no name at all, because they lie in no category; but not the
    /// guide's own help.
    pub(super) fn nameless(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .index
            .files
            .keys()
            .filter(|path| &***path != help::OWN && self.names_at(path).next().is_none())
            .map(ToString::to_string)
            .collect();
        all.sort_unstable();
        all
    }

    /// Whether a project that picks these sees the entry at this URI. It sees a skill if it picks a
    /// category with it; one in no category is seen by all projects.
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
            return match skills::place(&self.index.skills, local, &all)? {
                Place::File(file) => Some(file.path.clone()),
                Place::Folder(..) => None,
            };
        }
        let Ok(Address::Document(context, id)) = Address::parse(local) else { return None };
        let view = View { index: &self.index, project: None, visible: &all };
        if let Ok(document) = view.document(&context, &id) {
            return Some(document.file.path.clone());
        }
        // One that is not there has the names it would have, so that rules on it tell nothing.
        let dir = view.find_category(&context)?.dir.trim_end_matches('/');
        Some(if matches!(dir, "." | "") { id.into() } else { format!("{dir}/{id}").into() })
    }

    pub(super) fn names_at(&self, path: &str) -> impl Iterator<Item = Names> {
        let in_skills = skills_above(path).filter_map(|(folder, below)| {
            let skill = self.index.skills.get(self.index.skill_folders.get(folder)?)?;
            Some(Names {
                listed: skill.uri(below),
                also: Vec::new(),
                category: None,
                path: path.into(),
                spellings: Vec::new(),
            })
        });
        self.documents_at(path).chain(in_skills)
    }

    fn documents_at(&self, path: &str) -> impl Iterator<Item = Names> {
        self.index.categories.values().filter_map(move |category| {
            let below = match category.dir.trim_end_matches('/') {
                "." | "" => path,
                dir => path.strip_prefix(dir)?.strip_prefix('/')?,
            };
            let name = &category.name;
            let matching =
                |path: &str| format!("{}/{}", address::category(name), address::encode(path, true));
            let spellings: Vec<String> = spellings(below).map(str::to_owned).collect();
            let mut also: Vec<String> = spellings.iter().map(|path| matching(path)).collect();
            also.extend(spellings.iter().skip(1).map(|path| address::document(name, path)));
            Some(Names {
                listed: address::document(name, below),
                also,
                category: Some(name.clone()),
                path: path.into(),
                spellings,
            })
        })
    }

    /// The ways to ask for a document as one of a collection it is in. `is_wanted` is asked with
    /// the start of them all, so that unwanted names are not made.
    pub fn in_collections(&self, names: &Names, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let Some(category) = &names.category else { return Vec::new() };
        let collections = self.collections.get_or_init(|| members(&self.index));
        let mut all = Vec::new();
        for collection in collections.get(&names.path).into_iter().flatten() {
            if !is_wanted(&address::document(collection, "")) {
                continue;
            }
            for path in &names.spellings {
                all.push(address::document(collection, path));
                all.push(address::document(collection, &format!("{category}/{path}")));
            }
        }
        all
    }
}

/// A path, and its names without extensions, e.g. `a.md.j2`, `a.md` and `a`.
fn spellings(path: &str) -> impl Iterator<Item = &str> {
    let from = path.rfind('/').map_or(0, |slash| slash + 1);
    let dots = path[from..].rmatch_indices('.').map(move |(at, _)| from + at);
    std::iter::once(path).chain(dots.filter(move |at| *at > from).map(|at| &path[..at]))
}

fn members(index: &Index) -> Members {
    let view = View { index, project: None, visible: &Visible::ALL };
    let mut members = Members::new();
    for name in index.collections.keys() {
        // A collection that cannot be followed gives no documents.
        let found = view.address(&Address::Collection(name.to_string())).unwrap_or_default();
        for document in found.documents {
            members.entry(document.file.path.clone()).or_default().push(name.clone());
        }
    }
    members
}

/// The folders a file lies in, with the rest of its path, e.g. `a` and `b/c.md` for `a/b/c.md`.
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
