//! `trove guide`: local knowledge, through the tools that clients have for it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Failed, errand, ls::plain, say};
use crate::{
    cli::{Global, GuideCommand, Output},
    errand::{Until, What},
};

pub(super) fn guide(global: &Global, command: &GuideCommand) -> Result<(), Failed> {
    match command {
        GuideCommand::List(output) => {
            let categories = call(global, "category_list", json!({}))?;
            let collections = call(global, "collection_list", json!({}))?;
            if output.json {
                let both = json!({
                    "success": true,
                    "categories": categories["value"]["categories"],
                    "collections": collections["value"]["collections"],
                });
                say(&format!("{both}\n"));
                return Ok(());
            }
            let mut text = lines("category", &categories["value"]["categories"]);
            text.push_str(&lines("collection", &collections["value"]["collections"]));
            if text.is_empty() {
                text.push_str("There is no guide here; `trove init` writes one to start from.\n");
            }
            say(&text);
        }
        GuideCommand::Documents { category, output } => {
            let answer = call(global, "category_list_files", json!({ "name": category }))?;
            say(&if output.json {
                format!("{answer}\n")
            } else {
                lines("", &answer["value"]["documents"])
            });
        }
        GuideCommand::Show { expression, output } => {
            let answer = call(global, "get_content", json!({ "expression": expression }))?;
            say(&match (output.json, answer["value"]["content"].as_str()) {
                (false, Some(content)) => format!("{}\n", content.trim_end()),
                _ => format!("{answer}\n"),
            });
        }
    }
    Ok(())
}

impl GuideCommand {
    pub(super) fn output(&self) -> Output {
        match self {
            GuideCommand::List(output)
            | GuideCommand::Documents { output, .. }
            | GuideCommand::Show { output, .. } => *output,
        }
    }
}

/// No server has to answer for this.
fn call(global: &Global, tool: &str, arguments: Value) -> Result<Value, Failed> {
    let (tool, until) = (tool.to_owned(), Until::Now);
    let body = errand(global, What::Call { tool, arguments, until }, 0)?;
    Ok(serde_json::from_str(&body).unwrap_or_default())
}

/// A line for each: its kind, its name, its description.
fn lines(what: &str, all: &Value) -> String {
    let mut text = String::new();
    for one in all.as_array().into_iter().flatten() {
        let name = one["name"].as_str().or_else(|| one["path"].as_str()).or_else(|| one.as_str());
        let about = one["description"].as_str().or_else(|| one["title"].as_str());
        let (name, about) = (plain(name.unwrap_or_default()), plain(about.unwrap_or_default()));
        let what = if what.is_empty() { String::new() } else { format!("{what:<11} ") };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{what}{name:<24} {about}");
    }
    text
}
