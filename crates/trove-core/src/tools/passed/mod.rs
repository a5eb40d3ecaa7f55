//! Tools of servers that are passed on: listed as they are, or looked for where there are too many.
//!
//! Twenty servers would cost a client a window full of schemas in each conversation. Past a budget
//! their tools are left out of the list, and `find_tool` gives the few that a task needs. They are
//! called by [`CallTool`] or [`CallReadOnlyTool`], on the same road as a direct call.

mod call_tool;
mod find_tool;
mod finder;
mod given;
mod intent;

pub(super) use call_tool::{CallReadOnlyTool, CallTool};
pub(super) use find_tool::FindTool;
pub(super) use finder::Finder;

use super::Settings;
use crate::{catalogue::Snapshot, json::Json};

/// About how many bytes of JSON a model counts as a token.
pub const BYTES_PER_TOKEN: usize = 4;
/// How many tokens the tools of servers may take in a list unless the settings say otherwise.
pub const DEFAULT_TOOL_BUDGET: usize = 6000;

/// When tools of servers are looked for instead of listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ToolSearch {
    /// Where their list would take more than the budget.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// Whether the tools of a Snapshot are looked for instead of listed.
pub(super) fn searches(settings: &Settings, snapshot: &Snapshot) -> bool {
    match settings.tool_search {
        ToolSearch::On => true,
        ToolSearch::Off => false,
        ToolSearch::Auto => {
            let sizes = snapshot.tools().iter().map(|tool| tool.entry.as_bytes().len());
            sizes.sum::<usize>().div_ceil(BYTES_PER_TOKEN) > settings.tool_budget
        }
    }
}

/// Whether a tool says of itself that it changes nothing.
fn only_reads(entry: &Json) -> bool {
    let annotations = entry.get("annotations");
    let hint = annotations.and_then(|annotations| annotations.get("readOnlyHint"));
    hint.is_some_and(|hint| hint.as_str() == "true")
}
