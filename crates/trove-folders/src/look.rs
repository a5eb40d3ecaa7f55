//! Looks at one folder: which of its files and folders are served.
//!
//! Looks at names and states only; the files that are opened are those with rules.

use std::{os::fd::OwnedFd, sync::Arc};

use rustix::{
    fs::{AtFlags, Dir, FileType},
    io::Errno,
};
use trove_core::resource::Resource;

use crate::{
    entry,
    names::{as_path, join},
    read::Stamp,
    rules::{Candidate, Chain, Rules, open_folder},
};

/// The most names of one folder that are looked at.
pub(crate) const MAX_NAMES: usize = 2_000_000;

/// The root, and the rules for all that lies below it.
pub(crate) struct Ground {
    pub(crate) root: OwnedFd,
    /// The URI of the root, with a slash at its end.
    pub(crate) uri: String,
    pub(crate) rules: Rules,
}

/// One folder as it was looked at.
#[derive(Debug)]
pub(crate) struct Looked {
    /// Its number on the disk.
    pub(crate) inode: u64,
    pub(crate) chain: Arc<Chain>,
    /// Its files, by name.
    pub(crate) files: Vec<File>,
    /// Its folders, by name.
    pub(crate) folders: Vec<Below>,
    /// The names of links in it.
    pub(crate) links: Vec<Box<[u8]>>,
    /// How many files of it are served and not listed.
    pub(crate) left_out: usize,
    pub(crate) is_cut: bool,
}

/// One file that is listed.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) name: Box<[u8]>,
    pub(crate) stamp: Stamp,
    pub(crate) resource: Resource,
}

/// A folder in another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Below {
    pub(crate) name: Box<[u8]>,
    /// Its number on the disk: another folder under the old name has another.
    pub(crate) inode: u64,
}

impl Looked {
    /// Looks at the folder at `path`. `room`: so many files may be listed.
    pub(crate) fn at(
        ground: &Ground,
        path: &[u8],
        above: Option<&Arc<Chain>>,
        room: usize,
    ) -> Result<Looked, Errno> {
        let folder = open_folder(&ground.root, path)?;
        let chain = Chain::of(&folder, path, above);
        let inode = Stamp::of(&rustix::fs::fstat(&folder)?).inode;
        let mut looked = Looked {
            inode,
            chain,
            files: Vec::new(),
            folders: Vec::new(),
            links: Vec::new(),
            left_out: 0,
            is_cut: false,
        };
        let entries = entries(&folder, &mut looked.is_cut)?;
        let has_beside = |name: &str| {
            entries.binary_search_by(|entry| (*entry.name).cmp(name.as_bytes())).is_ok()
        };
        for entry in &entries {
            let below = join(path, &entry.name);
            let kind = entry.kind(&folder);
            let candidate = Candidate { path: &below, is_folder: kind == FileType::Directory };
            if !ground.rules.serves(&candidate, &looked.chain, has_beside) {
                continue;
            }
            match kind {
                FileType::Directory => {
                    let name = entry.name.clone();
                    looked.folders.push(Below { name, inode: entry.inode });
                }
                FileType::Symlink => looked.links.push(entry.name.clone()),
                FileType::RegularFile if looked.files.len() >= room => looked.left_out += 1,
                FileType::RegularFile => looked.file(ground, &folder, entry, &below),
                _ => {}
            }
        }
        Ok(looked)
    }

    fn file(&mut self, ground: &Ground, folder: &OwnedFd, entry: &Entry, path: &[u8]) {
        let name = as_path(&entry.name);
        // It may have gone since the folder was read.
        let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let stamp = Stamp::of(&stat);
        match entry::of_file(&ground.uri, path, &stamp) {
            Some(resource) => {
                self.files.push(File { name: entry.name.clone(), stamp, resource });
            }
            None => self.left_out += 1,
        }
    }
}

struct Entry {
    name: Box<[u8]>,
    kind: FileType,
    inode: u64,
}

impl Entry {
    /// Some file systems do not say in the folder what each name is.
    fn kind(&self, folder: &OwnedFd) -> FileType {
        if self.kind != FileType::Unknown {
            return self.kind;
        }
        match rustix::fs::statat(folder, as_path(&self.name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            Err(_) => FileType::Unknown,
        }
    }
}

/// All names in a folder, sorted.
fn entries(folder: &OwnedFd, is_cut: &mut bool) -> Result<Vec<Entry>, Errno> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if entries.len() >= MAX_NAMES {
            *is_cut = true;
            break;
        }
        entries.push(Entry { name: name.into(), kind: entry.file_type(), inode: entry.ino() });
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}
