//! Which files of a folder are served.
//!
//! The first rule that matches decides. The lines of `ignore` in the configuration come first. Then
//! come `.ignore` and `.gitignore` of the file's own folder, and of those above it, up to the root.
//! Last come the defaults, which leave out hidden files and build output.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    os::fd::AsFd,
    path::Path,
    sync::Arc,
};

use globset::GlobSet;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use rustix::fs::{AtFlags, OFlags};
use trove_core::files::beneath::{self, Links};

use crate::{
    names::{as_path, join},
    read::read_file,
    settings::{BadFolder, FolderSettings},
};

/// The files whose lines say what is left out, those that win first.
const RULE_FILES: [&str; 2] = [".ignore", ".gitignore"];
/// The longest of them that is read.
const MAX_RULE_FILE: u64 = 64 * 1024;
/// Files and folders that are left out by default.
const LEFT_OUT: [&str; 5] = [".*", "node_modules/", "bower_components/", "__pycache__/", "*.pyc"];
/// Folders of build output, where one of the files beside them tells that something is built.
const BUILT: [(&str, &[&str]); 6] = [
    ("target", &["Cargo.toml", "pom.xml", "build.sbt"]),
    ("build", BUILD_FILES),
    ("dist", BUILD_FILES),
    ("out", BUILD_FILES),
    ("bin", &["packages.config", "Directory.Build.props"]),
    ("venv", &["pyproject.toml", "requirements.txt", "setup.py"]),
];
const BUILD_FILES: &[&str] = &[
    "package.json",
    "pyproject.toml",
    "setup.py",
    "build.gradle",
    "build.gradle.kts",
    "CMakeLists.txt",
    "meson.build",
];
/// The store of git. No rule can bring it back.
const GIT: &[u8] = b".git";

/// The rules of one folder of the configuration.
pub(crate) struct Rules {
    own: Gitignore,
    left_out: Gitignore,
    included: Option<GlobSet>,
}

/// The rule files that hold in one folder: its own, then those of the folders above.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    own: Vec<Gitignore>,
    above: Option<Arc<Chain>>,
    /// Tells one state of the rule files from another.
    print: u64,
}

/// A file or folder that rules are asked about.
pub(crate) struct Candidate<'a> {
    /// Its path from the root.
    pub(crate) path: &'a [u8],
    pub(crate) is_folder: bool,
}

impl Rules {
    pub(crate) fn of(settings: &FolderSettings) -> Result<Rules, BadFolder> {
        let lines: Vec<String> = LEFT_OUT.map(str::to_owned).into();
        Ok(Rules {
            own: own_rules(&settings.ignore)?,
            left_out: own_rules(&lines)?,
            included: settings.included()?,
        })
    }

    /// Whether something is served. `has_beside` tells which files lie beside it.
    pub(crate) fn serves(
        &self,
        candidate: &Candidate<'_>,
        chain: &Chain,
        has_beside: impl Fn(&str) -> bool,
    ) -> bool {
        let path = as_path(candidate.path);
        let name = path.file_name().map(std::os::unix::ffi::OsStrExt::as_bytes);
        if name == Some(GIT) {
            return false;
        }
        let is_left_out = match self.own.matched(path, candidate.is_folder) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => chain.leaves_out(path, candidate.is_folder).unwrap_or_else(|| {
                let is_usual = self.left_out.matched(path, candidate.is_folder).is_ignore();
                is_usual || (candidate.is_folder && is_built(name, has_beside))
            }),
        };
        if is_left_out {
            return false;
        }
        let Some(included) = &self.included else { return true };
        candidate.is_folder || included.is_match(path)
    }
}

fn is_built(name: Option<&[u8]>, has_beside: impl Fn(&str) -> bool) -> bool {
    let built = BUILT.iter().find(|(built, _)| Some(built.as_bytes()) == name);
    built.is_some_and(|(_, tells)| tells.iter().any(|file| has_beside(file)))
}

/// The lines of `ignore` in the configuration, e.g. `*.log`.
pub(crate) fn own_rules(lines: &[String]) -> Result<Gitignore, BadFolder> {
    let mut rules = GitignoreBuilder::new("");
    for line in lines {
        let bad =
            |error: ignore::Error| BadFolder::Ignore { line: line.clone(), why: error.to_string() };
        rules.add_line(None, line).map_err(bad)?;
    }
    rules
        .build()
        .map_err(|error| BadFolder::Ignore { line: lines.join(", "), why: error.to_string() })
}

impl Chain {
    /// The rule files of the folder at `path`, which is open as `folder`.
    pub(crate) fn of(folder: impl AsFd, path: &[u8], above: Option<&Arc<Chain>>) -> Arc<Chain> {
        let mut chain = Chain { above: above.cloned(), ..Chain::default() };
        let mut hasher = DefaultHasher::new();
        for name in RULE_FILES {
            let Ok((bytes, _)) = read_file(&folder, Path::new(name), MAX_RULE_FILE) else {
                continue;
            };
            (name, &bytes).hash(&mut hasher);
            let text = String::from_utf8_lossy(&bytes);
            let mut rules = GitignoreBuilder::new(as_path(path));
            for line in text.lines() {
                // A line that is none is left out, as git does.
                let _ = rules.add_line(None, line);
            }
            chain.own.extend(rules.build());
        }
        chain.print = hasher.finish();
        match above {
            // Most folders have no rule files, and share those of the folder above.
            Some(above) if chain.own.is_empty() => above.clone(),
            _ => Arc::new(chain),
        }
    }

    /// Whether the rule files leave something out; `None` if they say nothing of it.
    fn leaves_out(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let mut chain = self;
        loop {
            for rules in &chain.own {
                match rules.matched(path, is_folder) {
                    Match::Ignore(_) => return Some(true),
                    Match::Whitelist(_) => return Some(false),
                    Match::None => {}
                }
            }
            chain = chain.above.as_deref()?;
        }
    }

    /// Whether both hold the rules of the same files.
    pub(crate) fn is_same(&self, other: &Chain) -> bool {
        let is_alike = self.print == other.print && self.own.len() == other.own.len();
        is_alike
            && match (&self.above, &other.above) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one.is_same(other),
                (None, None) => true,
                _ => false,
            }
    }
}

/// Whether a file of that name lies in an open folder.
pub(crate) fn lies_in(folder: impl AsFd, name: &str) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Opens a folder below the root, to look what lies in it.
pub(crate) fn open_folder(
    root: impl AsFd,
    path: &[u8],
) -> rustix::io::Result<std::os::fd::OwnedFd> {
    let path = if path.is_empty() { Path::new(".") } else { as_path(path) };
    beneath::open(root, path, OFlags::RDONLY | OFlags::DIRECTORY, Links::Never)
}

/// Whether a file that the last look did not list would be served. The file may be new, or left out
/// because there are too many.
pub(crate) fn admits(rules: &Rules, root: impl AsFd, path: &[u8]) -> bool {
    let root = root.as_fd();
    let mut chain: Option<Arc<Chain>> = None;
    let mut folder: Vec<u8> = Vec::new();
    let mut parts = path.split(|byte| *byte == b'/').peekable();
    while let Some(part) = parts.next() {
        let Ok(here) = open_folder(root, &folder) else { return false };
        let rules_here = Chain::of(&here, &folder, chain.as_ref());
        let below = join(&folder, part);
        let candidate = Candidate { path: &below, is_folder: parts.peek().is_some() };
        if !rules.serves(&candidate, &rules_here, |name| lies_in(&here, name)) {
            return false;
        }
        (folder, chain) = (below, Some(rules_here));
    }
    true
}
