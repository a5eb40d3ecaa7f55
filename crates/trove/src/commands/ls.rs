//! `trove ls`: every resource and template of every server.

use std::io::Write as _;

use trove_core::{Json, catalogue::Snapshot, json::Object};

use super::{Failed, once, settle, unsettled};
use crate::cli::{Global, Wait};

#[expect(clippy::print_stderr, reason = "who is missing is for whoever sits at the terminal")]
pub(super) fn ls(global: &Global, wait: Wait) -> Result<(), Failed> {
    once(global, async |app| {
        settle(app, wait, async || false).await;
        for id in unsettled(app) {
            eprintln!("note: {id} has not answered yet; shown is what it listed last time");
        }
        let snapshot = app.gateway.snapshot().await;
        let text = if wait.output.json { as_json(&snapshot) } else { as_text(&snapshot) };
        // A reader that has seen enough, such as `head`, is no fault.
        let _ = std::io::stdout().write_all(text.as_bytes());
        Ok(())
    })
}

/// One array; each entry as listed, with the server it belongs to.
fn as_json(snapshot: &Snapshot) -> String {
    let resources = snapshot.resources().iter().map(|r| (r.member, &r.entry));
    let templates = snapshot.templates().iter().map(|t| (t.member, &t.entry));
    let entries: Vec<String> = resources
        .chain(templates)
        .map(|(member, entry)| with_server(entry, snapshot.owner(member).id().as_str()))
        .collect();
    format!("[{}]\n", entries.join(",\n"))
}

fn with_server(entry: &Json, server: &str) -> String {
    let Some(mut object) = Object::parse(entry.as_str()) else { return entry.as_str().to_owned() };
    object.set_str("server", server);
    object.to_text()
}

fn as_text(snapshot: &Snapshot) -> String {
    let resources = snapshot.resources().iter().map(|r| (r.member, r.public.as_str(), &r.entry));
    let templates = snapshot.templates().iter().map(|t| (t.member, t.public.as_str(), &t.entry));
    let mut text = String::new();
    for (member, uri, entry) in resources.chain(templates) {
        let name = entry.get_str("title").or_else(|| entry.get_str("name")).unwrap_or_default();
        let server = snapshot.owner(member).id();
        text.push_str(&format!("{}\t{}\t{}\n", server, plain(uri), plain(&name)));
    }
    text
}

/// Text of a server on its way to a terminal: no control character may steer it.
pub(super) fn plain(text: &str) -> String {
    let is_unsafe = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars()
        .flat_map(|c| if is_unsafe(c) { c.escape_unicode().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_server_says_steers_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\n\u{202e}c é"), "a\\u{1b}[31mb\\u{a}\\u{202e}c é");
    }
}
