//! Folders of this machine as Sources: no server, no process.
//!
//! A [`Folder`] lists and reads the files below one root and tells of changes. [`Folders`] keeps
//! those of the configuration running. Nothing outside of a root is ever opened.

mod complete;
mod entry;
mod folder;
mod folders;
mod life;
mod look;
mod names;
mod read;
mod rules;
mod settings;
mod skills;
mod tree;
mod watch;

pub use folder::Folder;
pub use folders::Folders;
pub use settings::{BadFolder, FolderSettings};
