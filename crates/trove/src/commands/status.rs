//! `trove status`: the state of every server.

use std::{fmt::Write as _, io::Write as _};

use trove_core::{Caller, Json, PublicUri, SourceId, json::items, source::Ask, status::State};

use super::{Failed, ls::plain, once, settle};
use crate::{
    app::App,
    cli::{Global, Wait},
};

/// How many of a failing server's last words are shown.
const LAST_WORDS: usize = 5;

pub(super) fn status(global: &Global, wait: Wait) -> Result<(), Failed> {
    once(global, async |app| {
        settle(app, wait, async || false).await;
        // Through the front door, so that it is the object every other reader gets.
        let uri = PublicUri::new("info://health");
        let result = app.gateway.read(&Caller::local(), &uri, Ask::default()).await?.reply.body;
        let text = health_text(&result).unwrap_or_default();
        let text = if wait.output.json { format!("{text}\n") } else { table(app, &text).await };
        let _ = std::io::stdout().write_all(text.as_bytes());
        Ok(())
    })
}

fn health_text(result: &Json) -> Option<String> {
    let contents = result.get("contents")?;
    let first = contents.part(items(contents.as_str())?.first()?);
    first.get_str("text")
}

async fn table(app: &App, health: &str) -> String {
    let health: serde_json::Value = serde_json::from_str(health).unwrap_or_default();
    let mut text = String::new();
    let word = |value: &serde_json::Value| value.as_str().map_or_else(|| "-".to_owned(), plain);
    for source in health["sources"].as_array().into_iter().flatten() {
        let id = word(&source["id"]);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{id:<20} {:<13} {:<8} {:<11} {:>6} resources {:>4} templates  {}",
            word(&source["state"]),
            word(&source["transport"]),
            word(&source["protocol"]),
            source["resources"],
            source["templates"],
            word(&source["server"]),
        );
        for omission in source["omissions"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "  listing is not whole: {}", word(omission));
        }
        if let Some(warning) = source["warning"].as_str() {
            let _ = writeln!(text, "  note: {}", plain(warning));
        }
        if let Some(error) = source["last_error"].as_str() {
            // What was never started has made no error; the text says what it waits for.
            let is_idle = source["state"] == State::Idle.as_str();
            let prefix = if is_idle { "" } else { "last error: " };
            let _ = writeln!(text, "  {prefix}{}", plain(error));
            let id = SourceId::normalise(&id);
            let lines = app.upstreams().stderr(&id).await;
            for line in lines.iter().skip(lines.len().saturating_sub(LAST_WORDS)) {
                let _ = writeln!(text, "  its stderr: {}", plain(line));
            }
        }
    }
    text
}
