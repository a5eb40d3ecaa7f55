//! `trove summary`: how many resources there are, by server and type.

use std::fmt::Write as _;

use clap::ValueEnum as _;
use serde_json::{Value, json};

use super::{Failed, errand, ls::plain, say};
use crate::{
    cli::{Global, Summary},
    errand::{Until, What},
};

pub(super) fn summary(global: &Global, command: &Summary) -> Result<(), Failed> {
    let by = command.by.to_possible_value();
    let by = by.as_ref().map(|word| word.get_name());
    let arguments = json!({ "groupBy": by, "includeStats": command.stats });
    // How much is indexed is only worth telling once there was time for it.
    let until = if command.stats { Until::Indexed } else { Until::Listed };
    let tool = "resource_summary".to_owned();
    let body = errand(global, What::Call { tool, arguments, until }, command.wait.wait)?;
    say(&if command.wait.output.json {
        format!("{body}\n")
    } else {
        as_text(&serde_json::from_str(&body).unwrap_or_default())
    });
    Ok(())
}

fn as_text(answer: &Value) -> String {
    let summary = &answer["summary"];
    let mut text = format!(
        "{} resources, {} templates, {} servers\n",
        summary["totalResources"], summary["totalTemplates"], summary["serverCount"],
    );
    for group in answer["resourceGroups"].as_array().into_iter().flatten() {
        let name = group["groupName"].as_str().map(plain).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:>8}  {name}", group["total"]);
    }
    for without in answer["serversWithoutResources"].as_array().into_iter().flatten() {
        let word = |key: &str| without[key].as_str().map(plain).unwrap_or_default();
        let _ = writeln!(text, "{:>8}  {}  ({})", 0, word("server"), word("why"));
    }
    if let Some(left_out) = answer["groupsLeftOut"].as_u64() {
        let _ = writeln!(text, "and {left_out} smaller groups");
    }
    let stats = &summary["stats"];
    if stats.is_object() {
        let (coverage, cache) = (&stats["coverage"], &stats["cache"]);
        let _ = writeln!(text, "indexed: {} of {}", coverage["indexed"], coverage["indexable"]);
        let _ = writeln!(text, "listed bytes: {}", stats["listedBytes"]);
        let _ = writeln!(text, "cache: {} hits, {} misses", cache["hits"], cache["misses"]);
    }
    text
}
