//! `trove find`: resources by what somebody wants to know; and how hits are printed.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Map, Value, json};
use trove_core::Json;

use super::{Failed, call_tool, ls::plain, once, say, settle, unsettled};
use crate::{
    app::App,
    cli::{Find, Global, Hits, Wait},
};

/// How often we look whether all meanings are known.
const LOOK: Duration = Duration::from_millis(20);

pub(super) fn find(global: &Global, command: &Find) -> Result<(), Failed> {
    let mut arguments = filters(&command.hits);
    arguments.insert("query".into(), json!(command.query.join(" ")));
    arguments.insert("includeContent".into(), json!(command.hits.preview));
    if let Some(threshold) = command.threshold {
        arguments.insert("relevanceThreshold".into(), json!(threshold));
    }
    once(global, async |app| {
        ready(app, command.hits.wait).await;
        let object = call_tool(app, "discover_resources", &arguments.into()).await?;
        print(&object, &command.hits);
        Ok(())
    })
}

/// The arguments that both ways to find share.
pub(super) fn filters(hits: &Hits) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("servers".into(), json!(hits.servers));
    arguments.insert("contentTypes".into(), json!(hits.types));
    arguments.insert("maxResults".into(), json!(hits.max));
    if let Some(cursor) = &hits.cursor {
        arguments.insert("cursor".into(), json!(cursor));
    }
    arguments
}

/// Waits until what is there can be found: first for the servers, then as long again for
/// names, contents and meanings.
#[expect(clippy::print_stderr, reason = "what is missing is for whoever sits at the terminal")]
pub(super) async fn ready(app: &App, wait: Wait) {
    settle(app, wait, async || false).await;
    for id in unsettled(app) {
        eprintln!("note: {id} has not answered yet; found is what it listed last time");
    }
    let indexed = async {
        app.gateway.crawled().await;
        let Some(search) = app.gateway.search() else { return };
        while search.awaiting_meaning() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(wait.wait), indexed).await.is_err() {
        eprintln!("note: not everything is indexed yet; --wait gives it more seconds");
    }
}

/// Prints what was found.
pub(super) fn print(object: &Json, hits: &Hits) {
    if hits.wait.output.json {
        return say(&format!("{}\n", object.as_str()));
    }
    let found: Value = serde_json::from_str(object.as_str()).unwrap_or_default();
    say(&as_text(&found, hits.preview));
}

/// A line a hit: score, URI, name, why; then what may be missing.
fn as_text(found: &Value, with_preview: bool) -> String {
    let word = |value: &Value| value.as_str().map(plain).unwrap_or_default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let hits = list(&found["resources"]);
    let mut text = String::new();
    for hit in &hits {
        let score = hit["relevanceScore"].as_f64().unwrap_or_default();
        let why: Vec<String> = list(&hit["why"]).iter().map(word).collect();
        let stale = if hit["stale"] == true { ", its server is down" } else { "" };
        // Writing to a String cannot fail.
        let (uri, name) = (word(&hit["uri"]), word(&hit["name"]));
        let _ = writeln!(text, "{score:.2}  {uri}  {name}  ({}{stale})", why.join(", "));
        let snippets = list(&hit["highlights"]).into_iter().map(|one| one["snippet"].clone());
        let pieces = snippets.chain([hit["contentPreview"].clone()]);
        for piece in pieces.filter(|piece| with_preview && piece.is_string()) {
            let _ = writeln!(text, "      {}", word(&piece));
        }
    }
    if hits.is_empty() {
        text.push_str("nothing found\n");
    }
    for error in list(&found["errors"]) {
        let _ = writeln!(text, "note: {}: {}", word(&error["server"]), word(&error["error"]));
    }
    if let Some(message) = found["message"].as_str() {
        let _ = writeln!(text, "note: {}", plain(message));
    }
    if let Some(cursor) = found["cursor"].as_str() {
        let total = &found["totalFound"];
        let _ = writeln!(text, "note: {total} in all; go on with --cursor {}", plain(cursor));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_is_a_line_and_steers_no_terminal() {
        let found = json!({ "resources": [{
            "uri": "docs://a", "name": "A\u{1b}[2Jb", "relevanceScore": 0.876, "why": ["name"],
            "contentPreview": "one", "highlights": [{ "snippet": "two" }],
        }], "totalFound": 7, "cursor": "1", "errors": [{ "server": "x", "error": "gone\u{7}" }] });
        let plain = as_text(&found, false);
        assert!(plain.starts_with("0.88  docs://a  A\\u{1b}[2Jb  (name)\n"), "{plain}");
        assert!(plain.contains("note: x: gone\\u{7}\n") && plain.contains("--cursor 1"));
        assert!(!plain.contains("\n      one"));
        assert!(as_text(&found, true).contains("\n      two\n      one\n"));
    }
}
