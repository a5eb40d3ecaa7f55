//! Opens what lies below a folder, and nothing else.
//!
//! The kernel's own guarded lookup walks the path, so that no `..`, absolute path, link or race
//! leads out. Where the kernel has none, the path is walked folder by folder and no link is
//! followed.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::{Component, Path},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags},
    io::{Errno, Result},
};

/// How often a lookup is tried again that a rename elsewhere disturbed.
const MAX_RACES: usize = 64;

/// Which links below the folder are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Those that stay below it, where the kernel can tell.
    Inside,
    /// None.
    Never,
}

/// The folder itself. It may be a link: its name was chosen by the person who configured it.
pub fn root(folder: &Path) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, folder, flags, Mode::empty())
}

/// Opens what lies below `root` at `path`; `.` is the root itself.
pub fn open(root: impl AsFd, path: &Path, flags: OFlags, links: Links) -> Result<OwnedFd> {
    if path != Path::new(".") && !stays_below(path) {
        return Err(Errno::XDEV);
    }
    let root = root.as_fd();
    let flags = flags | OFlags::CLOEXEC;
    let guard = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let resolve = match links {
        Links::Inside => guard,
        Links::Never => guard | ResolveFlags::NO_SYMLINKS,
    };
    for _ in 0..MAX_RACES {
        match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Old kernels do not know the call, and some sandboxes forbid it.
            Err(Errno::NOSYS | Errno::PERM) => return open_by_parts(root, path, flags),
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens it folder by folder; no link is followed.
pub fn open_by_parts(root: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = rustix::fs::openat(root, ".", folder, Mode::empty())?;
    let mut parts: Vec<Component<'_>> = path.components().collect();
    let last = parts.pop().unwrap_or(Component::CurDir);
    for part in parts {
        here = rustix::fs::openat(&here, part.as_os_str(), folder, Mode::empty())?;
    }
    rustix::fs::openat(&here, last.as_os_str(), flags | OFlags::NOFOLLOW, Mode::empty())
}

/// Whether a path has nothing but names in it.
pub fn stays_below(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}
