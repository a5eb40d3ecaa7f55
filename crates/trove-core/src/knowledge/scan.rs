//! Walks the guide: which files are there, in what state.
//!
//! Looks at names and states only; no file is opened. Files that cannot be served are left out,
//! with the reason.

use std::{ffi::CStr, os::fd::OwnedFd, sync::Arc};

use rustix::fs::{Dir, FileType, OFlags};

use super::{
    name,
    store::{self, OpenError, Stamp, Store, open_beneath},
};

/// The most files that are served.
pub(super) const MAX_FILES: usize = 200_000;
/// The deepest folder that is looked into.
const MAX_DEPTH: usize = 32;
/// The most that is said about what was left out.
const MAX_PROBLEMS: usize = 50;

/// Where templates find what they include.
pub(super) const PARTIALS: &str = "_partials";

/// The files and folders of the guide.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Whether the root is there.
    pub(super) has_root: bool,
    /// Every file that can be served, by path, sorted.
    pub(super) files: Vec<(Arc<str>, Stamp)>,
    /// The files that templates may include.
    pub(super) partials: Vec<(Arc<str>, Stamp)>,
    /// The folders right below the root, sorted.
    pub(super) folders: Vec<String>,
    /// The files that were left out, and why.
    pub(super) problems: Vec<String>,
}

impl Scan {
    /// Walks everything below the root.
    pub(super) fn of(store: &Store) -> Scan {
        let mut scan = Scan::default();
        let root = match store.open_root() {
            Ok(root) => root,
            Err(OpenError::Missing) => return scan,
            Err(error) => {
                scan.problem(format!("the guide {}: {error}", store.root().display()));
                return scan;
            }
        };
        scan.has_root = true;
        let mut waiting = vec![Folder { path: String::new(), depth: 0, is_partial: false }];
        while let Some(folder) = waiting.pop() {
            if scan.files.len() >= MAX_FILES {
                scan.problem(format!("only the first {MAX_FILES} documents are served"));
                break;
            }
            if let Err(error) = scan.folder(&root, &folder, &mut waiting) {
                scan.problem(format!("{}: {error}", folder.path));
            }
        }
        scan.files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        scan.partials.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        scan.folders.sort_unstable();
        scan
    }

    fn folder(
        &mut self,
        root: &OwnedFd,
        folder: &Folder,
        waiting: &mut Vec<Folder>,
    ) -> Result<(), OpenError> {
        let path = if folder.path.is_empty() { "." } else { &folder.path };
        // No link: each folder is walked once, under its own name.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let fd = open_beneath(root, path, flags)?;
        for entry in Dir::read_from(&fd).map_err(OpenError::from)? {
            let entry = entry.map_err(OpenError::from)?;
            let Ok(name) = entry.file_name().to_str() else {
                self.problem(format!("a name in `{path}` is not UTF-8"));
                continue;
            };
            let is_partials = name == PARTIALS;
            if matches!(name, "." | "..")
                || (name::is_hidden(name) && !is_partials && !folder.is_partial)
            {
                continue;
            }
            if name.contains(['\\']) || name.chars().any(char::is_control) {
                self.problem(format!("a name in `{path}` holds a backslash or control character"));
                continue;
            }
            let below = folder.join(name, is_partials);
            match kind(&fd, entry.file_name(), entry.file_type()) {
                FileType::Directory if below.depth > MAX_DEPTH => {
                    self.problem(format!("{}: more than {MAX_DEPTH} folders deep", below.path));
                }
                FileType::Directory => {
                    if below.depth == 1 && !is_partials {
                        self.folders.push(name.to_owned());
                    }
                    waiting.push(below);
                }
                FileType::RegularFile => {
                    let stamp = Stamp::of(&store::stat(&fd, entry.file_name())?);
                    self.file(below, stamp);
                }
                FileType::Symlink => self.link(root, below),
                _ => self.problem(format!("{}: no regular file", below.path)),
            }
        }
        Ok(())
    }

    fn file(&mut self, file: Folder, stamp: Stamp) {
        let list = if file.is_partial { &mut self.partials } else { &mut self.files };
        list.push((file.path.into(), stamp));
    }

    /// A link to a file that stays inside is as good as the file.
    fn link(&mut self, root: &OwnedFd, link: Folder) {
        let target = open_beneath(root, &link.path, OFlags::PATH);
        let stat = target.and_then(|fd| rustix::fs::fstat(&fd).map_err(OpenError::from));
        match stat {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                self.file(link, Stamp::of(&stat));
            }
            Ok(_) => self.problem(format!("{}: a link to a folder is not followed", link.path)),
            Err(error) => self.problem(format!("{}: {error}", link.path)),
        }
    }

    fn problem(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// A folder to walk, or a file in one.
struct Folder {
    path: String,
    depth: usize,
    is_partial: bool,
}

impl Folder {
    fn join(&self, name: &str, is_partials: bool) -> Folder {
        let path =
            if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) };
        Folder { path, depth: self.depth + 1, is_partial: self.is_partial || is_partials }
    }
}

/// Some file systems do not say in the folder what each name is.
fn kind(folder: &OwnedFd, name: &CStr, said: FileType) -> FileType {
    match said {
        FileType::Unknown => store::stat(folder, name)
            .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
        known => known,
    }
}
