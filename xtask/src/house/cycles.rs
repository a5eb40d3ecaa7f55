//! Finds files that need each other in a circle, crate by crate.
//!
//! A path such as `crate::search::Key` leads to the file that defines `Key`, through any
//! re-exports. Paths in macros are not seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use syn::visit::{self, Visit};

/// How many re-exports are followed until a name counts as unknown.
const MAX_HOPS: usize = 8;

type Path = Vec<String>;

/// The files of one crate, by module path.
#[derive(Default)]
pub(super) struct Crate {
    modules: BTreeMap<Path, Module>,
}

#[derive(Default)]
struct Module {
    file: String,
    /// Names that the file makes itself.
    defined: BTreeSet<String>,
    /// Names that come from elsewhere, with the paths they are used by.
    imported: HashMap<String, Path>,
    /// Every path that begins in this crate.
    paths: BTreeSet<Path>,
}

impl Crate {
    /// Adds a file; its path is relative to the folder of the sources.
    pub(super) fn add(&mut self, file: &str, parsed: &syn::File) {
        let path = module_path(file);
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        let mut reader = Reader { own: &path, module: &mut module };
        reader.visit_file(parsed);
        self.modules.insert(path, module);
    }

    /// The groups of files that need each other, the largest first.
    pub(super) fn circles(&self) -> Vec<Vec<&str>> {
        let mut needs: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for (own, module) in &self.modules {
            let targets = module.paths.iter().filter_map(|path| self.file_of(path, MAX_HOPS));
            needs.insert(own, targets.filter(|target| *target != own).collect());
        }
        let mut circles = Vec::new();
        let mut placed: BTreeSet<&Path> = BTreeSet::new();
        for &start in needs.keys() {
            if placed.contains(start) {
                continue;
            }
            let ahead = reachable(start, &needs);
            let mut circle: Vec<&Path> = Vec::new();
            for &other in &ahead {
                if reachable(other, &needs).contains(start) {
                    circle.push(other);
                }
            }
            placed.extend(&circle);
            if circle.len() > 1 {
                circles.push(circle.iter().map(|path| self.modules[*path].file.as_str()).collect());
            }
        }
        circles.sort_by_key(|circle: &Vec<&str>| std::cmp::Reverse(circle.len()));
        circles
    }

    /// The module whose file defines what a path names.
    fn file_of(&self, path: &Path, hops: usize) -> Option<&Path> {
        let (own, module) = (0..=path.len())
            .rev()
            .find_map(|length| self.modules.get_key_value(&path[..length]))?;
        let Some(name) = path.get(own.len()) else { return Some(own) };
        if module.defined.contains(name) || hops == 0 {
            return Some(own);
        }
        match module.imported.get(name) {
            Some(elsewhere) => self.file_of(elsewhere, hops - 1),
            None => Some(own),
        }
    }
}

fn reachable<'a>(
    start: &'a Path,
    needs: &BTreeMap<&'a Path, BTreeSet<&'a Path>>,
) -> BTreeSet<&'a Path> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(path) = open.pop() {
        for &next in needs.get(path).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// `a/b.rs` and `a/b/mod.rs` are both `a::b`.
fn module_path(file: &str) -> Path {
    let stem = file.trim_end_matches(".rs");
    let stem = stem.strip_suffix("mod").unwrap_or(stem).trim_end_matches('/');
    let is_root = matches!(stem, "lib" | "main" | "");
    if is_root { Vec::new() } else { stem.split('/').map(str::to_owned).collect() }
}

struct Reader<'a> {
    own: &'a Path,
    module: &'a mut Module,
}

impl Reader<'_> {
    /// The path from the root of the crate, if it begins in this crate.
    fn absolute(&self, segments: &[String]) -> Option<Path> {
        let mut base = self.own.clone();
        let mut rest = segments;
        match rest.first()?.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
            }
            name if self.module.defined.contains(name) => {
                return Some([base, segments.to_vec()].concat());
            }
            _ => return None,
        }
        rest = &rest[1..];
        while rest.first().is_some_and(|segment| segment == "super") {
            base.pop();
            rest = &rest[1..];
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    fn import(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before);
                }
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                self.import_as(before.to_vec(), None)
            }
            syn::UseTree::Name(name) => self.import_as(with(&name.ident), None),
            syn::UseTree::Rename(rename) => {
                self.import_as(with(&rename.ident), Some(rename.rename.to_string()));
            }
            syn::UseTree::Glob(_) => self.import_as(before.to_vec(), None),
        }
    }

    fn import_as(&mut self, path: Path, name: Option<String>) {
        let Some(absolute) = self.absolute(&path) else { return };
        let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
        self.module.imported.insert(name, absolute.clone());
        self.module.paths.insert(absolute);
    }

    fn define(&mut self, name: &syn::Ident) {
        self.module.defined.insert(name.to_string());
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_file(&mut self, file: &'ast syn::File) {
        // A child module is known by name before paths that begin with it are read.
        for item in &file.items {
            if let syn::Item::Mod(module) = item {
                self.define(&module.ident);
            }
        }
        visit::visit_file(self, file);
        for item in &file.items {
            if let syn::Item::Mod(module) = item {
                self.module.defined.remove(&module.ident.to_string());
            }
        }
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Struct(item) => self.define(&item.ident),
            syn::Item::Enum(item) => self.define(&item.ident),
            syn::Item::Trait(item) => self.define(&item.ident),
            syn::Item::Type(item) => self.define(&item.ident),
            syn::Item::Fn(item) => self.define(&item.sig.ident),
            syn::Item::Const(item) => self.define(&item.ident),
            syn::Item::Static(item) => self.define(&item.ident),
            // Tests may name all they like.
            syn::Item::Mod(item) if super::functions::is_for_tests(&item.attrs) => return,
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Path = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if segments.len() > 1
            && let Some(absolute) = self.absolute(&segments)
        {
            self.module.paths.insert(absolute);
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_need_each_other_are_found_through_re_exports() {
        let mut tree = Crate::default();
        for (file, source) in [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod inner; pub use inner::Key;"),
            ("a/inner.rs", "use crate::b::ask; pub struct Key;"),
            ("b.rs", "pub fn ask() -> crate::a::Key { todo() }"),
            ("c.rs", "use crate::a::Key;"),
        ] {
            tree.add(file, &syn::parse_file(source).expect("it is Rust"));
        }
        assert_eq!(tree.circles(), [vec!["a/inner.rs", "b.rs"]]);
    }
}
