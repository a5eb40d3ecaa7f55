//! The MCP clients of this machine: where each keeps its servers, and how one entry of
//! ours gets into that file and out of it again.
//!
//! Everything that differs between clients is a row of [`table`]. Nothing here reads the
//! environment, the clock or the current folder by itself: the [`Host`] is given. Nothing
//! here prints, and nothing a file names is ever run.

mod backup;
mod beside;
mod change;
mod convert;
mod diff;
mod edit;
mod edit_json;
mod edit_toml;
mod edit_yaml;
mod entry;
mod error;
mod gather;
mod guard;
mod journal;
mod links;
mod locate;
mod moving;
mod ours;
#[cfg(test)]
mod properties;
mod survey;
mod table;
mod text;
mod verify;
mod written;

pub(crate) use backup::{Original, replace};
pub(crate) use beside::mark_beside;
pub(crate) use change::{Outcome, Plan, Wish, plan_install, plan_uninstall};
pub(crate) use convert::{Converted, Imported, Needed, Origin};
pub(crate) use diff::unified;
pub(crate) use entry::{Access, Launch, in_workspace};
pub(crate) use error::ClientError;
pub(crate) use gather::{Gathered, LeftOut, Request as GatherRequest, gather};
pub(crate) use journal::{Kept, Record, kept, relied_on};
pub(crate) use links::{Link, links};
pub(crate) use locate::{Host, Os, Scope};
pub(crate) use moving::{FileChange, Found, config_with, find_movable};
pub(crate) use survey::{Standing, Survey, survey};
pub(crate) use table::{Row, TABLE, row, word};
pub(crate) use text::Dressed;
pub(crate) use trove_mcp::upstream::secretive::is_secret;
pub(crate) use written::toml_with;
