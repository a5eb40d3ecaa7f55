//! `trove status`: the state of every server.

use std::{fmt::Write as _, io::stdout};

use serde_json::Value;
use trove_core::status::State;

use super::{Failed, errand, ls::plain, say};
use crate::{
    cli::{Global, Wait},
    errand::What,
    style::Paint,
};

/// How many of a failing server's last words are shown.
const LAST_WORDS: usize = 5;

pub(super) fn status(global: &Global, wait: Wait) -> Result<(), Failed> {
    let body = errand(global, What::Status, wait.wait)?;
    let both: Value = serde_json::from_str(&body).unwrap_or_default();
    let health = both["health"].as_str().unwrap_or_default();
    say(&if wait.output.json {
        format!("{health}\n")
    } else {
        table(health, &both["stderr"], Paint::of(&stdout()))
    });
    Ok(())
}

fn table(health: &str, stderr: &Value, paint: Paint) -> String {
    let health: Value = serde_json::from_str(health).unwrap_or_default();
    let mut text = String::new();
    let word = |value: &Value| value.as_str().map_or_else(|| "-".to_owned(), plain);
    for source in health["sources"].as_array().into_iter().flatten() {
        let id = word(&source["id"]);
        let state = format!("{:<13}", word(&source["state"]));
        let state = match source["state"].as_str() {
            Some("ready") => paint.good(&state),
            Some("idle") => state,
            _ => paint.bad(&state),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{id:<20} {state} {:<8} {:<11} {:>6} resources {:>4} templates  {}",
            word(&source["transport"]),
            word(&source["protocol"]),
            source["resources"],
            source["templates"],
            word(&source["server"]),
        );
        for omission in source["omissions"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "  listing is not whole: {}", word(omission));
        }
        if let Some(said) = source["from_tools"].as_str() {
            let _ = writeln!(text, "  {}", plain(said));
        }
        if let Some(said) = source["passing"].as_str() {
            let _ = writeln!(text, "  its tools are {}", plain(said));
        }
        if let Some(count) = source["changed"].as_u64() {
            let _ = writeln!(
                text,
                "  {count} descriptions differ from those that were approved: `trove approve` shows them"
            );
        }
        if let Some(warning) = source["warning"].as_str() {
            let _ = writeln!(text, "  note: {}", plain(warning));
        }
        if let Some(error) = source["last_error"].as_str() {
            // A server that was never started has made no error; the text says what it waits for.
            let is_idle = source["state"] == State::Idle.as_str();
            let prefix = if is_idle { "" } else { "last error: " };
            let _ = writeln!(text, "  {prefix}{}", plain(error));
            let lines = stderr[&id].as_array().map(Vec::as_slice).unwrap_or_default();
            for line in lines.iter().skip(lines.len().saturating_sub(LAST_WORDS)) {
                let _ = writeln!(text, "  its stderr: {}", word(line));
            }
        }
    }
    text
}
