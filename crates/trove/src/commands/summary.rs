//! `trove summary`: how many resources there are, by server and type.

use std::{fmt::Write as _, time::Duration};

use clap::ValueEnum as _;
use serde_json::{Value, json};

use super::{Failed, call_tool, ls::plain, once, say, settle};
use crate::cli::{Global, Summary};

pub(super) fn summary(global: &Global, command: &Summary) -> Result<(), Failed> {
    let by = command.by.to_possible_value();
    let by = by.as_ref().map(|word| word.get_name());
    let arguments = json!({ "groupBy": by, "includeStats": command.stats });
    once(global, async |app| {
        settle(app, command.wait, async || false).await;
        if command.stats {
            // How much is indexed is only worth telling once there was time for it.
            let deadline = Duration::from_secs(command.wait.wait);
            let _ = tokio::time::timeout(deadline, app.gateway.crawled()).await;
        }
        let object = call_tool(app, "resource_summary", &arguments).await?;
        if command.wait.output.json {
            say(&format!("{}\n", object.as_str()));
        } else {
            say(&as_text(&serde_json::from_str(object.as_str()).unwrap_or_default()));
        }
        Ok(())
    })
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
    if let Some(left_out) = answer["groupsLeftOut"].as_u64() {
        let _ = writeln!(text, "{left_out} groups more");
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
