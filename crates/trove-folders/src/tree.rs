//! The files below a root as they were last looked at: one immutable value.
//!
//! A further look shares all that did not change. Folders near the root are looked at first, so
//! that of too many files those far below are left out.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    ops::Bound,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::Arc,
};

use trove_core::resource::Resource;

use crate::{
    entry,
    look::{Below, File, Ground, Looked},
    names::{as_path, join, split},
    read::Stamp,
};

/// The most files of one folder of the configuration that are listed.
pub(crate) const MAX_FILES: usize = 200_000;
/// The most folders below it that are looked into.
pub(crate) const MAX_FOLDERS: usize = 50_000;
/// How deep it is looked.
const MAX_DEPTH: usize = 64;
/// The most links that are followed.
const MAX_LINKS: usize = 10_000;
/// The most that is said of folders that cannot be looked into.
const MAX_PROBLEMS: usize = 20;

/// The files and folders below a root.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tree {
    /// Nothing before the first look.
    pub(crate) is_built: bool,
    /// Every folder that was looked into, by its path from the root.
    pub(crate) folders: BTreeMap<Arc<[u8]>, Arc<Looked>>,
    /// Links to files that are listed, by path.
    links: BTreeMap<Box<[u8]>, Link>,
    /// How many files `folders` list.
    files: usize,
    /// Folders that could not be looked into, and why.
    problems: BTreeMap<Arc<[u8]>, String>,
    /// How many folders were not looked into, because there are too many or they lie too deep.
    unlooked: usize,
    /// How many links were not followed, because there are too many.
    unfollowed: usize,
}

/// A link to a listed file.
#[derive(Debug, Clone)]
struct Link {
    target: Arc<[u8]>,
    file: File,
}

/// A file that is listed: the path to open, and its state.
pub(crate) struct Found<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) file: &'a File,
}

/// A folder that waits to be looked at.
struct Waiting {
    path: Arc<[u8]>,
    depth: usize,
}

impl Tree {
    /// Looks at everything.
    pub(crate) fn of(ground: &Ground, place: &Path) -> Tree {
        let mut tree = Tree { is_built: true, ..Tree::default() };
        tree.walk(ground, Arc::from(&b""[..]));
        tree.follow_links(ground, place);
        tree
    }

    /// Looks again at the folders in `touched`, and at those that are new.
    pub(crate) fn renewed(
        &self,
        ground: &Ground,
        place: &Path,
        touched: &BTreeSet<Vec<u8>>,
    ) -> Tree {
        let mut tree = self.clone();
        // Folders above come first: those below a lost one need no look.
        for path in touched {
            tree.renew(ground, path);
        }
        tree.follow_links(ground, place);
        tree
    }

    fn renew(&mut self, ground: &Ground, path: &[u8]) {
        let Some((path, before)) = self.folders.get_key_value(path) else { return };
        let (path, before) = (path.clone(), before.clone());
        let above = self.chain_above(&path);
        let room = MAX_FILES.saturating_sub(self.files - before.files.len());
        let looked = match Looked::at(ground, &path, above.as_ref(), room) {
            Ok(looked) => looked,
            // It went away: the look at the folder above finds that.
            Err(_) if !path.is_empty() && !self.is_named_above(ground, &path) => {
                return self.forget(&path);
            }
            Err(error) => {
                self.forget(&path);
                return self.problem(path, error.to_string());
            }
        };
        if !looked.chain.is_same(&before.chain) {
            self.forget(&path);
            return self.walk(ground, path);
        }
        for gone in before.folders.iter().filter(|one| !looked.folders.contains(one)) {
            self.forget(&join(&path, &gone.name));
        }
        let new: Vec<Below> =
            looked.folders.iter().filter(|one| !before.folders.contains(one)).cloned().collect();
        self.files = self.files - before.files.len() + looked.files.len();
        self.folders.insert(path.clone(), Arc::new(looked));
        for folder in new {
            self.walk(ground, join(&path, &folder.name).into());
        }
    }

    /// Looks at a folder and all below it.
    fn walk(&mut self, ground: &Ground, start: Arc<[u8]>) {
        let depth =
            if start.is_empty() { 0 } else { 1 + start.iter().filter(|b| **b == b'/').count() };
        let mut waiting = VecDeque::from([Waiting { path: start, depth }]);
        while let Some(Waiting { path, depth }) = waiting.pop_front() {
            if self.folders.len() >= MAX_FOLDERS || depth > MAX_DEPTH {
                self.unlooked += 1;
                continue;
            }
            let above = self.chain_above(&path);
            let room = MAX_FILES.saturating_sub(self.files);
            match Looked::at(ground, &path, above.as_ref(), room) {
                Ok(looked) => {
                    self.files += looked.files.len();
                    for below in &looked.folders {
                        let path = join(&path, &below.name).into();
                        waiting.push_back(Waiting { path, depth: depth + 1 });
                    }
                    self.folders.insert(path, Arc::new(looked));
                }
                Err(error) => self.problem(path, error.to_string()),
            }
        }
    }

    fn chain_above(&self, path: &[u8]) -> Option<Arc<crate::rules::Chain>> {
        if path.is_empty() {
            return None;
        }
        let above = self.folders.get(split(path).0)?;
        Some(above.chain.clone())
    }

    fn is_named_above(&self, ground: &Ground, path: &[u8]) -> bool {
        let folder = crate::rules::open_folder(&ground.root, split(path).0);
        let name = as_path(split(path).1);
        folder.is_ok_and(|folder| {
            rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
        })
    }

    /// Forgets a folder and all below it.
    fn forget(&mut self, path: &[u8]) {
        let mut gone: Vec<Arc<[u8]>> = Vec::new();
        let below = if path.is_empty() { Vec::new() } else { [path, b"/"].concat() };
        gone.extend(self.folders.get_key_value(path).map(|(path, _)| path.clone()));
        let later =
            self.folders.range::<[u8], _>((Bound::Included(below.as_slice()), Bound::Unbounded));
        gone.extend(
            later.take_while(|(one, _)| one.starts_with(&below)).map(|(path, _)| path.clone()),
        );
        for path in gone {
            if let Some(looked) = self.folders.remove(&path) {
                self.files -= looked.files.len();
            }
        }
        self.problems.retain(|one, _| **one != *path && !one.starts_with(&below));
    }

    fn problem(&mut self, path: Arc<[u8]>, problem: String) {
        self.problems.insert(path, problem);
    }

    /// A link to a file that is listed is as good as the file. Its target is found by names alone:
    /// no file is opened for it.
    fn follow_links(&mut self, ground: &Ground, place: &Path) {
        self.links.clear();
        self.unfollowed = 0;
        let mut links = BTreeMap::new();
        for (folder, looked) in &self.folders {
            for name in &looked.links {
                if links.len() >= MAX_LINKS {
                    self.unfollowed += 1;
                    continue;
                }
                let path = join(folder, name);
                let Some(link) = self.link(ground, place, &path, name) else { continue };
                links.insert(path.into_boxed_slice(), link);
            }
        }
        self.links = links;
    }

    fn link(&self, ground: &Ground, place: &Path, path: &[u8], name: &[u8]) -> Option<Link> {
        let target = place.join(as_path(path)).canonicalize().ok()?;
        let target = target.strip_prefix(place).ok()?.as_os_str().as_bytes();
        let file = self.listed(target)?;
        let resource = entry::of_file(&ground.uri, path, &file.stamp)?;
        let file = File { name: name.into(), stamp: file.stamp, resource };
        Some(Link { target: target.into(), file })
    }

    fn listed(&self, path: &[u8]) -> Option<&File> {
        let (folder, name) = split(path);
        let files = &self.folders.get(folder)?.files;
        let at = files.binary_search_by(|file| (*file.name).cmp(name)).ok()?;
        files.get(at)
    }

    /// The listed file at `path`.
    pub(crate) fn find<'a>(&'a self, path: &'a [u8]) -> Option<Found<'a>> {
        if let Some(file) = self.listed(path) {
            return Some(Found { path, file });
        }
        let link = self.links.get(path)?;
        Some(Found { path: &link.target, file: &link.file })
    }

    /// Every file that is listed, with its path.
    pub(crate) fn files(&self) -> impl Iterator<Item = (Vec<u8>, &File)> {
        let own = self.folders.iter().flat_map(|(folder, looked)| {
            looked.files.iter().map(move |file| (join(folder, &file.name), file))
        });
        own.chain(self.links.iter().map(|(path, link)| (path.to_vec(), &link.file)))
    }

    /// The files as they are listed.
    pub(crate) fn resources(&self) -> Vec<Resource> {
        let mut resources = Vec::with_capacity(self.files + self.links.len());
        for looked in self.folders.values() {
            resources.extend(looked.files.iter().map(|file| file.resource.clone()));
        }
        resources.extend(self.links.values().map(|link| link.file.resource.clone()));
        resources
    }

    /// Links that lie right in a folder.
    pub(crate) fn links_in(&self, folder: &[u8]) -> impl Iterator<Item = &File> {
        let looked = self.folders.get(folder);
        let names = looked.into_iter().flat_map(|looked| &looked.links);
        names.filter_map(move |name| {
            self.links.get(join(folder, name).as_slice()).map(|link| &link.file)
        })
    }

    /// Tells one state of a file or folder from another; 0: there is none.
    pub(crate) fn print(&self, path: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        if let Some(found) = self.find(path) {
            found.file.stamp.hash(&mut hasher);
            return hasher.finish().max(1);
        }
        let Some(looked) = self.folders.get(path) else { return 0 };
        for file in &looked.files {
            (&file.name, file.stamp).hash(&mut hasher);
        }
        for below in &looked.folders {
            below.name.hash(&mut hasher);
        }
        hasher.finish().max(1)
    }

    /// Whether another look found nothing else.
    pub(crate) fn is_same(&self, other: &Tree) -> bool {
        let stamps = |tree: &Tree| -> Vec<Stamp> {
            tree.links.values().map(|link| link.file.stamp).collect()
        };
        let links = self.links.keys().eq(other.links.keys()) && stamps(self) == stamps(other);
        let is_alike = |one: &Looked, other: &Looked| {
            one.left_out == other.left_out
                && one.files.len() == other.files.len()
                && one
                    .files
                    .iter()
                    .zip(&other.files)
                    .all(|(a, b)| (&a.name, a.stamp) == (&b.name, b.stamp))
        };
        links
            && self.omissions() == other.omissions()
            && self.folders.len() == other.folders.len()
            && self.folders.iter().zip(&other.folders).all(|((a, one), (b, other))| {
                a == b && (Arc::ptr_eq(one, other) || is_alike(one, other))
            })
    }

    /// Each reason why files are not listed.
    pub(crate) fn omissions(&self) -> Vec<String> {
        let mut omissions = Vec::new();
        let left_out: usize = self.folders.values().map(|looked| looked.left_out).sum();
        if left_out > 0 {
            omissions.push(format!(
                "{left_out} files are not listed, because {MAX_FILES} are the most; each can still be read by its URI; serve smaller folders, or narrow `include`"
            ));
        }
        if self.unlooked > 0 {
            omissions.push(format!(
                "{} folders were not looked into: {MAX_FOLDERS} folders, {MAX_DEPTH} deep, are the most",
                self.unlooked
            ));
        }
        if self.unfollowed > 0 {
            omissions.push(format!(
                "{} links were not followed: {MAX_LINKS} are the most",
                self.unfollowed
            ));
        }
        if self.folders.values().any(|looked| looked.is_cut) {
            omissions.push("a folder has more names than are looked at".to_owned());
        }
        for (path, problem) in self.problems.iter().take(MAX_PROBLEMS) {
            let path = if path.is_empty() { ".".into() } else { String::from_utf8_lossy(path) };
            omissions.push(format!("{path}: {problem}"));
        }
        if self.problems.len() > MAX_PROBLEMS {
            let more = self.problems.len() - MAX_PROBLEMS;
            omissions.push(format!("{more} more folders cannot be looked into"));
        }
        omissions
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use trove_core::{SourceId, files::beneath, source::Indexing};

    use super::*;
    use crate::{names, rules::Rules, settings::FolderSettings};

    struct Place {
        dir: tempfile::TempDir,
        ignore: Vec<String>,
        include: Vec<String>,
    }

    impl Place {
        fn with(files: &[(&str, &str)]) -> Place {
            let dir = tempfile::tempdir().unwrap();
            let place = Place { dir, ignore: Vec::new(), include: Vec::new() };
            for (path, text) in files {
                place.put(path, text);
            }
            place
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn ground(&self) -> Ground {
            let settings = FolderSettings {
                id: SourceId::new("docs").unwrap(),
                path: self.dir.path().to_owned(),
                ignore: self.ignore.clone(),
                include: self.include.clone(),
                index: Indexing::Content,
            };
            Ground {
                root: beneath::root(self.dir.path()).unwrap(),
                uri: names::uri_of_root(self.dir.path()),
                rules: Rules::of(&settings).unwrap(),
            }
        }

        fn tree(&self) -> Tree {
            Tree::of(&self.ground(), self.dir.path())
        }

        #[track_caller]
        fn serves(&self, expected: &[&str]) {
            assert_eq!(paths(&self.tree()), expected);
            let ground = self.ground();
            for path in expected {
                assert!(
                    crate::rules::admits(&ground.rules, &ground.root, path.as_bytes()),
                    "{path}"
                );
            }
        }
    }

    fn paths(tree: &Tree) -> Vec<String> {
        let mut paths: Vec<String> =
            tree.files().map(|(path, _)| String::from_utf8_lossy(&path).into_owned()).collect();
        paths.sort();
        paths
    }

    #[test]
    fn hidden_files_build_output_and_what_rule_files_name_are_left_out() {
        let mut place = Place::with(&[
            ("a.md", ""),
            (".env", ""),
            (".git/config", ""),
            ("node_modules/x/index.js", ""),
            ("app/Cargo.toml", ""),
            ("app/target/out.txt", ""),
            ("sales/target/goals.md", ""),
            (".gitignore", "*.log\n/only-here\n!keep.log\n"),
            ("x.log", ""),
            ("keep.log", ""),
            ("only-here", ""),
            ("sub/only-here", ""),
            ("sub/.gitignore", "!y.log\n"),
            ("sub/y.log", ""),
            ("sub/z.log", ""),
        ]);
        let usual = [
            "a.md",
            "app/Cargo.toml",
            "keep.log",
            "sales/target/goals.md",
            "sub/only-here",
            "sub/y.log",
        ];
        place.serves(&usual);
        for left_out in
            [".env", ".git/config", "x.log", "app/target/out.txt", "sub/z.log", "gone/a"]
        {
            let ground = place.ground();
            let is_served = crate::rules::admits(&ground.rules, &ground.root, left_out.as_bytes());
            assert!(!is_served || left_out == "gone/a", "{left_out}");
        }
        // The configuration has the last word, but for the store of git.
        place.ignore = vec!["!x.log".into(), "!.*".into(), "sub/".into()];
        place.include = vec!["*".into(), ".git/*".into()];
        place.serves(&[".env", ".gitignore", "a.md", "keep.log", "x.log"]);
    }

    #[test]
    fn a_further_look_finds_what_a_whole_one_finds() {
        let place = Place::with(&[("a/b/c.md", "1"), ("a/d.md", "1"), ("e/f.md", "1")]);
        let ground = place.ground();
        let look = |tree: &Tree, touched: &[&str]| {
            let touched = touched.iter().map(|path| path.as_bytes().to_vec()).collect();
            let renewed = tree.renewed(&ground, place.dir.path(), &touched);
            assert_eq!(paths(&renewed), paths(&place.tree()));
            assert_eq!(renewed.files, place.tree().files);
            assert!(renewed.is_same(&place.tree()));
            renewed
        };
        let tree = place.tree();
        place.put("a/new/deep/g.md", "1");
        let tree = look(&tree, &["a"]);
        place.put("a/d.md", "22");
        let tree = look(&tree, &["a"]);
        fs::remove_dir_all(place.dir.path().join("a/new")).unwrap();
        let tree = look(&tree, &["a", "a/new", "a/new/deep"]);
        // Another folder under the old name.
        fs::rename(place.dir.path().join("a/b"), place.dir.path().join("away")).unwrap();
        fs::rename(place.dir.path().join("e"), place.dir.path().join("a/b")).unwrap();
        let tree = look(&tree, &["", "a"]);
        place.put("a/.gitignore", "d.md\n");
        let tree = look(&tree, &["a"]);
        fs::remove_dir_all(place.dir.path().join("a")).unwrap();
        look(&tree, &["", "a", "a/b"]);
    }

    #[test]
    fn what_did_not_change_is_shared() {
        let place = Place::with(&[("a/x.md", "1"), ("b/y.md", "1")]);
        let tree = place.tree();
        place.put("a/x.md", "22");
        let touched = BTreeSet::from([b"a".to_vec()]);
        let renewed = tree.renewed(&place.ground(), place.dir.path(), &touched);
        let (before, now) = (&tree.folders, &renewed.folders);
        assert!(Arc::ptr_eq(&before[&b"b"[..]], &now[&b"b"[..]]));
        assert!(!renewed.is_same(&tree));
        assert_ne!(tree.print(b"a/x.md"), renewed.print(b"a/x.md"));
        assert_eq!(tree.print(b"b/y.md"), renewed.print(b"b/y.md"));
    }

    #[test]
    fn what_cannot_be_looked_into_is_said() {
        let mut deep = String::new();
        for _ in 0..=MAX_DEPTH {
            deep.push_str("d/");
        }
        let place = Place::with(&[("a.md", "")]);
        fs::create_dir_all(place.dir.path().join(&deep)).unwrap();
        place.put(&format!("{deep}far.md"), "");
        let tree = place.tree();
        assert_eq!(paths(&tree), ["a.md"]);
        assert!(
            tree.omissions()[0].contains("1 folders were not looked into"),
            "{:?}",
            tree.omissions()
        );
    }

    #[test]
    fn a_farm_of_links_is_followed_to_a_bound_and_leads_nowhere_else() {
        use std::os::unix::fs::symlink;
        let place = Place::with(&[("a.md", "")]);
        let farm = place.dir.path().join("farm");
        fs::create_dir(&farm).unwrap();
        for link in 0..MAX_LINKS + 5 {
            symlink("../a.md", farm.join(format!("link-{link}"))).unwrap();
        }
        symlink("..", place.dir.path().join("up")).unwrap();
        symlink("round", place.dir.path().join("round")).unwrap();
        symlink("/etc/hostname", place.dir.path().join("out")).unwrap();
        let tree = place.tree();
        assert_eq!(tree.links.len(), MAX_LINKS);
        assert!(paths(&tree).iter().all(|path| path == "a.md" || path.starts_with("farm/link-")));
        let said = tree.omissions();
        assert!(said.iter().any(|why| why.contains("links were not followed")), "{said:?}");
    }

    #[test]
    fn of_too_many_files_the_rest_is_counted() {
        let place = Place::with(&[("a.md", ""), ("b.md", ""), ("c.md", "")]);
        let looked = Looked::at(&place.ground(), b"", None, 2).unwrap();
        assert_eq!((looked.files.len(), looked.left_out), (2, 1));
    }
}
