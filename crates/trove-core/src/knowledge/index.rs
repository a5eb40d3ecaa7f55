//! All that is known of the guide at one moment, as one immutable value.
//!
//! Built off the path of requests and swapped in whole. A rebuild looks at the state of
//! every file but opens only those that changed.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use super::{
    Category, Collection, Document, collection,
    document::FileFacts,
    name, names,
    pattern::Patterns,
    scan::Scan,
    settings::{CategorySettings, Groups},
    skills::{self, Skill},
    store::{Stamp, Store},
};

/// How many threads look into files at once, and how many files are worth one.
const MAX_LOOKERS: usize = 4;
const MIN_SHARE: usize = 100;
/// The most that is said about what is odd.
const MAX_PROBLEMS: usize = 50;

/// All that is known of the guide at one moment.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Nothing before the first look.
    pub(super) is_built: bool,
    pub(super) has_root: bool,
    pub(super) categories: BTreeMap<Arc<str>, Arc<Category>>,
    pub(super) collections: BTreeMap<Arc<str>, Collection>,
    pub(super) skills: BTreeMap<String, Skill>,
    /// The URIs of skills by their folders.
    pub(super) skill_folders: HashMap<String, String>,
    /// The paths of files that have several, by inode.
    pub(super) links: HashMap<u64, Vec<Arc<str>>>,
    /// The faults of the guide, in words.
    pub(super) problems: Vec<String>,
    /// Changes when anything that a template may include does.
    pub(super) partials: u64,
    /// Every file, by its path from the root.
    pub(super) files: HashMap<Arc<str>, Arc<FileFacts>>,
}

impl Index {
    /// Looks at the guide. Known facts are taken over if the file is the same and not among
    /// `touched`.
    pub(super) fn build(
        store: &Store,
        groups: &Groups,
        before: &Index,
        touched: &HashSet<String>,
    ) -> Index {
        let scan = Scan::of(store);
        let mut index = Index {
            is_built: true,
            has_root: scan.has_root,
            problems: scan.problems.clone(),
            partials: hash_of(&scan.partials),
            files: files(store, &scan, before, touched),
            links: names::links(&scan),
            ..Index::default()
        };
        let paths: Vec<&Arc<str>> = scan.files.iter().map(|(path, _)| path).collect();
        for (name, settings) in categories(groups, &scan) {
            match index.category(&name, &settings, &paths, before) {
                Ok(category) => drop(index.categories.insert(category.name.clone(), category)),
                Err(why) => index.problem(format!("the category `{name}`: {why}")),
            }
        }
        let is_category = |name: &str| lookup(&index.categories, name).is_some();
        let collections = collection::all(&groups.collections, is_category);
        index.collections = collections;
        let told: Vec<String> = index.told().collect();
        told.into_iter().for_each(|problem| index.problem(problem));
        let (skills, problems) = skills::find(store, &index.files, &paths);
        let folder = |(uri, skill): (&String, &Skill)| (skill.folder.clone(), uri.clone());
        index.skill_folders = skills.iter().map(folder).collect();
        index.skills = skills;
        problems.into_iter().for_each(|problem| index.problem(problem));
        index
    }

    fn category(
        &self,
        name: &str,
        settings: &CategorySettings,
        paths: &[&Arc<str>],
        before: &Index,
    ) -> Result<Arc<Category>, String> {
        let patterns = settings.patterns.iter().map(String::as_str);
        let patterns = Patterns::new(patterns).map_err(|error| error.to_string())?;
        let prefix = match settings.dir.trim_end_matches('/') {
            "." | "" => String::new(),
            dir => {
                name::safe(dir).map_err(str::to_owned)?;
                format!("{dir}/")
            }
        };
        let name: Arc<str> = name.into();
        let known: HashMap<&str, &Arc<Document>> = before
            .categories
            .get(&name)
            .map(|before| before.documents.iter().map(|d| (&*d.path, d)).collect())
            .unwrap_or_default();
        let first = paths.partition_point(|path| &***path < prefix.as_str());
        let below = paths[first..].iter().take_while(|path| path.starts_with(&prefix));
        let mut documents = Vec::new();
        for path in below {
            let Some(file) = self.files.get(&***path) else { continue };
            let path = &path[prefix.len()..];
            let same = known.get(path).filter(|before| Arc::ptr_eq(&before.file, file));
            documents.push(match same {
                Some(document) => Arc::clone(document),
                None => Arc::new(Document::new(&name, path, file)),
            });
        }
        let (dir, description) = (settings.dir.clone(), settings.description.clone());
        Ok(Arc::new(Category { name, dir, description, patterns, documents }))
    }

    /// The faults of documents and collections.
    fn told(&self) -> impl Iterator<Item = String> {
        let documents = self.categories.values().flat_map(|category| &category.documents);
        let documents = documents.filter_map(|document| {
            let problem = document.file.problem.as_ref()?;
            Some(format!("{}/{}: {problem}", document.category, document.path))
        });
        let collections = self.collections.values().filter_map(|collection| {
            Some(format!("the collection `{}`: {}", collection.name, collection.problem()?))
        });
        collections.chain(documents)
    }

    fn problem(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// A number that differs where lists would.
    pub(super) fn print(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for category in self.categories.values() {
            (&category.name, &category.description).hash(&mut hasher);
            for document in &category.documents {
                (&document.path, document.file.stamp).hash(&mut hasher);
            }
        }
        for collection in self.collections.values() {
            (&collection.name, &collection.description, &collection.texts).hash(&mut hasher);
        }
        for (uri, skill) in &self.skills {
            (uri, skill.entry.as_str()).hash(&mut hasher);
        }
        (self.has_root, &self.problems).hash(&mut hasher);
        hasher.finish()
    }
}

/// The categories that were configured, or one for each folder.
fn categories(groups: &Groups, scan: &Scan) -> Vec<(String, CategorySettings)> {
    match &groups.categories {
        Some(categories) => categories.iter().map(|(n, c)| (n.clone(), c.clone())).collect(),
        None => {
            let of = |name: &String| (name.clone(), CategorySettings::folder(name));
            scan.folders.iter().map(of).collect()
        }
    }
}

fn files(
    store: &Store,
    scan: &Scan,
    before: &Index,
    touched: &HashSet<String>,
) -> HashMap<Arc<str>, Arc<FileFacts>> {
    let mut files = HashMap::with_capacity(scan.files.len());
    let mut others: Vec<&(Arc<str>, Stamp)> = Vec::new();
    for file @ (path, stamp) in &scan.files {
        let known = before.files.get(path).filter(|known| known.stamp == *stamp);
        match known.filter(|_| !touched.contains(&**path)) {
            Some(known) => drop(files.insert(known.path.clone(), known.clone())),
            None => others.push(file),
        }
    }
    for facts in look_into(store, &others) {
        files.insert(facts.path.clone(), facts);
    }
    files
}

/// Looks into files, many at once by several threads: most of the time goes by waiting for
/// the disk.
fn look_into(store: &Store, files: &[&(Arc<str>, Stamp)]) -> Vec<Arc<FileFacts>> {
    let Ok(root) = store.open_root() else { return Vec::new() };
    let look = |files: &[&(Arc<str>, Stamp)]| -> Vec<Arc<FileFacts>> {
        let of =
            |(path, stamp): &&(Arc<str>, Stamp)| FileFacts::of(store, &root, path.clone(), *stamp);
        files.iter().map(of).map(Arc::new).collect()
    };
    let share = files.len().div_ceil(MAX_LOOKERS);
    if share < MIN_SHARE {
        return look(files);
    }
    std::thread::scope(|scope| {
        let shares: Vec<_> = files.chunks(share).map(|share| scope.spawn(|| look(share))).collect();
        // A share that broke is as if its files were not there.
        shares.into_iter().flat_map(|share| share.join().unwrap_or_default()).collect()
    })
}

/// A name as it is, else in another case if only one is meant.
pub(super) fn lookup<'a, V>(all: &'a BTreeMap<Arc<str>, V>, name: &str) -> Option<&'a V> {
    if let Some(found) = all.get(name) {
        return Some(found);
    }
    let lower = name.to_lowercase();
    let mut alike = all.iter().filter(|(known, _)| known.to_lowercase() == lower);
    match (alike.next(), alike.next()) {
        (Some((_, one)), None) => Some(one),
        _ => None,
    }
}

pub(super) fn hash_of(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
