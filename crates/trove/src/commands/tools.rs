//! `trove tools`: the tools that clients can be given. No server is started for it.

use std::fmt::Write as _;

use serde_json::{Value, json};
use trove_core::tools::{TOOLS, ToolSpec, document, listed};

use super::{Class, Failed, say};
use crate::cli::{Output, Tools, ToolsCommand};

pub(super) fn tools(tools: &Tools) -> Result<(), Failed> {
    match &tools.command {
        None => {
            say(&if tools.output.json { format!("{}\n", as_json()) } else { as_text() });
            Ok(())
        }
        Some(ToolsCommand::Show { name, output }) => {
            let tool = find(name)?;
            say(&if output.json { format!("{}\n", listed(tool).as_str()) } else { document(tool) });
            Ok(())
        }
    }
}

impl Tools {
    pub(super) fn output(&self) -> Output {
        match &self.command {
            Some(ToolsCommand::Show { output, .. }) => *output,
            None => self.output,
        }
    }
}

fn find(name: &str) -> Result<&'static ToolSpec, Failed> {
    TOOLS.iter().find(|tool| tool.name == name || tool.aliases.contains(&name)).ok_or_else(|| {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        let message = format!("there is no tool `{name}`; there are: {}", names.join(", "));
        Failed::new(Class::InvalidArguments, message)
    })
}

fn as_json() -> Value {
    let tool = |tool: &ToolSpec| {
        let (toolset, effect) = (tool.toolset.as_str(), tool.effect.as_str());
        let listed: Value = serde_json::from_str(listed(tool).as_str()).unwrap_or_default();
        json!({ "name": tool.name, "toolset": toolset, "effect": effect, "listed": listed })
    };
    json!({ "success": true, "tools": TOOLS.iter().map(tool).collect::<Vec<_>>() })
}

fn as_text() -> String {
    let mut text = String::new();
    for tool in TOOLS {
        let description = listed(tool).get_str("description").unwrap_or_default();
        let first = description.lines().next().unwrap_or_default().to_owned();
        let first = first.split_once(". ").map_or(first.as_str(), |(first, _)| first);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<22} {:<10} {first}", tool.name, tool.toolset.as_str());
    }
    text.push_str("\n`trove tools show NAME` prints one whole; which of them are offered is `toolsets` in trove.toml.\n");
    text
}
