//! `trove find`: resources that answer a question; and how hits are printed.

use std::{fmt::Write as _, io::stdout};

use serde_json::{Map, Value, json};

use super::{Failed, errand, ls::plain, say};
use crate::{
    cli::{Find, Global, Hits},
    errand::{Until, What},
    style::Paint,
};

/// The longest piece of a resource under a hit, in letters.
const MAX_PIECE: usize = 140;
/// How much of it stands before what was asked for.
const BEFORE: usize = 40;

pub(super) fn find(global: &Global, command: &Find) -> Result<(), Failed> {
    let mut arguments = filters(&command.hits);
    arguments.insert("query".into(), json!(command.query.join(" ")));
    // A machine gets the members it asked for; a person is shown a piece in any case.
    let is_for_person = !command.hits.wait.output.json;
    arguments.insert("includeContent".into(), json!(command.hits.preview || is_for_person));
    if let Some(threshold) = command.threshold {
        arguments.insert("relevanceThreshold".into(), json!(threshold));
    }
    found_by(global, "discover_resources", arguments, &command.hits)
}

/// Arguments in notes of the tools, and the options that stand for them here.
const OPTIONS: [(&str, &str); 7] = [
    ("relevanceThreshold 0", "--threshold 0"),
    ("fuzzyMatch", "--fuzzy"),
    ("`searchScope`", "--scope"),
    ("`after`", "--after"),
    ("`before`", "--before"),
    ("`servers`", "--server"),
    ("`contentTypes`", "--type"),
];

/// Asks a tool that finds, and prints what it found.
pub(super) fn found_by(
    global: &Global,
    tool: &str,
    arguments: Map<String, Value>,
    hits: &Hits,
) -> Result<(), Failed> {
    let asked = asked(&arguments);
    let (tool, arguments, until) = (tool.to_owned(), arguments.into(), Until::Indexed);
    let body = errand(global, What::Call { tool, arguments, until }, hits.wait.wait)?;
    if hits.wait.output.json {
        say(&format!("{body}\n"));
        return Ok(());
    }
    let found: Value = serde_json::from_str(&body).unwrap_or_default();
    say(&as_text(&found, &asked, hits.preview, Paint::of(&stdout())));
    Ok(())
}

/// The words that were asked for.
fn asked(arguments: &Map<String, Value>) -> Vec<String> {
    let query = arguments.get("query").and_then(Value::as_str);
    let terms = arguments.get("searchTerms").and_then(Value::as_array);
    let terms = terms.into_iter().flatten().filter_map(Value::as_str);
    let is_divider = |c: char| !c.is_alphanumeric();
    let words = query.into_iter().chain(terms).flat_map(|text| text.split(is_divider));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
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

/// A line a hit: score, URI, name, server, why. Under it stands a piece with the words asked for,
/// or all pieces. Last come notes on hits that may be missing.
fn as_text(found: &Value, asked: &[String], with_preview: bool, paint: Paint) -> String {
    let word = |value: &Value| value.as_str().map(plain).unwrap_or_default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let hits = list(&found["resources"]);
    let mut text = String::new();
    for hit in &hits {
        let score = hit["relevanceScore"].as_f64().unwrap_or_default();
        let why: Vec<String> = list(&hit["why"]).iter().map(word).collect();
        let near = if hit["nearMiss"] == true { ", perhaps" } else { "" };
        let stale = if hit["stale"] == true { ", its server is down" } else { "" };
        // Writing to a String cannot fail.
        let old = match (hit["previewStale"] == true, hit["asOf"].as_str()) {
            (true, Some(date)) => format!(", as of {}", plain(date)),
            _ => String::new(),
        };
        let (uri, name) = (paint.strong(&word(&hit["uri"])), word(&hit["name"]));
        let from = format!("({}: {}{near}{stale}{old})", word(&hit["server"]), why.join(", "));
        let _ = writeln!(text, "{score:.2}  {uri}  {name}  {}", paint.soft(&from));
        let snippets = list(&hit["highlights"]).into_iter().map(|one| one["snippet"].clone());
        let pieces = snippets.chain([hit["contentPreview"].clone()]);
        let pieces = pieces.filter(Value::is_string).map(|piece| one_line(&word(&piece)));
        let shown: Vec<String> = if with_preview {
            pieces.collect()
        } else {
            pieces.take(1).map(|piece| around(&piece, asked)).collect()
        };
        for piece in shown {
            let _ = writeln!(text, "      {}", marked(&piece, asked, paint));
        }
    }
    if hits.is_empty() {
        text.push_str("nothing found\n");
    }
    for error in list(&found["errors"]) {
        let _ = writeln!(text, "note: {}: {}", word(&error["server"]), word(&error["error"]));
    }
    if let Some(message) = found["message"].as_str() {
        // The tool speaks of its arguments, and here is a command line.
        let mut message = message.to_owned();
        for (argument, option) in OPTIONS {
            message = message.replace(argument, option);
        }
        let _ = writeln!(text, "note: {}", plain(&message));
    }
    if let Some(cursor) = found["cursor"].as_str() {
        let least = if found["totalIsAtLeast"] == true { "at least " } else { "" };
        let total = &found["totalFound"];
        let _ =
            writeln!(text, "note: {least}{total} in all; go on with --cursor {}", plain(cursor));
    }
    text
}

/// A piece of a document as one line: its visible line ends, e.g. `\n`, become spaces.
fn one_line(piece: &str) -> String {
    piece.replace("\\n", " ").replace("\\r", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As much of a piece as fits on a line, from shortly before the first word asked for.
fn around(piece: &str, asked: &[String]) -> String {
    let letters: Vec<char> = piece.chars().collect();
    if letters.len() <= MAX_PIECE {
        return piece.to_owned();
    }
    let is_asked = |word: &str| asked.iter().any(|one| one.to_lowercase() == word.to_lowercase());
    let mut at = 0;
    let mut first = 0;
    for part in piece.split_inclusive(|c: char| !c.is_alphanumeric()) {
        if is_asked(part.trim_end_matches(|c: char| !c.is_alphanumeric())) {
            first = at;
            break;
        }
        at += part.chars().count();
    }
    let start = first.saturating_sub(BEFORE).min(letters.len() - MAX_PIECE);
    let end = start + MAX_PIECE;
    let before = if start > 0 { "…" } else { "" };
    let after = if end < letters.len() { "…" } else { "" };
    format!("{before}{}{after}", letters[start..end].iter().collect::<String>().trim())
}

/// The text with every one of the words in bold.
fn marked(text: &str, words: &[String], paint: Paint) -> String {
    let mut out = String::new();
    for part in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let bare = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_match = !bare.is_empty() && words.iter().any(|word| word.eq_ignore_ascii_case(bare));
        if is_match {
            out.push_str(&format!("{}{}", paint.strong(bare), &part[bare.len()..]))
        } else {
            out.push_str(part)
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_is_a_line_and_steers_no_terminal() {
        let found = json!({ "resources": [{
            "uri": "docs://a", "name": "A\u{1b}[2Jb", "server": "d", "relevanceScore": 0.876, "why": ["name"],
            "contentPreview": "o\\n\\nne", "highlights": [{ "snippet": "two" }],
        }], "totalFound": 7, "cursor": "1", "errors": [{ "server": "x", "error": "gone\u{7}" }] });
        let plain = as_text(&found, &[], false, Paint::none());
        assert!(plain.starts_with("0.88  docs://a  A\\u{1b}[2Jb  (d: name)\n"), "{plain}");
        assert!(plain.contains("note: x: gone\\u{7}\n") && plain.contains("--cursor 1"));
        assert!(plain.contains("\n      two\nnote: "), "one piece alone: {plain}");
        assert!(as_text(&found, &[], true, Paint::none()).contains("\n      two\n      o ne\n"));
    }

    #[test]
    fn a_note_of_the_tool_speaks_of_the_command_line() {
        let message = "3 more are less so: ask with relevanceThreshold 0, or in other words.";
        let found = json!({ "resources": [], "message": message });
        let shown = as_text(&found, &[], false, Paint::none());
        assert!(shown.contains("ask with --threshold 0, or"), "{shown}");
        let message = "No resource within `before`, `servers` holds all the terms; use fuzzyMatch.";
        let found = json!({ "resources": [], "message": message });
        let shown = as_text(&found, &[], false, Paint::none());
        assert!(shown.contains("within --before, --server holds"), "{shown}");
        assert!(shown.contains("use --fuzzy"), "{shown}");
    }

    #[test]
    fn a_number_that_may_be_larger_is_shown_as_such() {
        let sure = json!({ "resources": [], "totalFound": 7, "cursor": "5" });
        assert!(as_text(&sure, &[], false, Paint::none()).contains("note: 7 in all"));
        let mut least = sure;
        least["totalIsAtLeast"] = json!(true);
        assert!(as_text(&least, &[], false, Paint::none()).contains("note: at least 7 in all"));
    }

    #[test]
    fn a_long_piece_is_shown_where_the_word_stands() {
        let (early, late) = ("so ".repeat(60), " and on".repeat(60));
        let shown = around(&format!("{early}Release{late}"), &["release".to_owned()]);
        assert!(shown.starts_with("…so ") && shown.ends_with('…'), "{shown}");
        assert!(shown.contains("Release and on") && shown.chars().count() <= MAX_PIECE + 2);
        assert!(around(&early, &[]).starts_with("so so"));
        assert_eq!(around("short", &[]), "short");
    }

    #[test]
    fn what_was_asked_for_is_marked() {
        let arguments = json!({ "query": "release, how?" });
        let asked = asked(arguments.as_object().unwrap());
        assert_eq!(asked, ["release", "how"]);
        let shown = marked("Release, and how-to", &asked, Paint::always());
        assert_eq!(shown, "\u{1b}[1mRelease\u{1b}[0m, and \u{1b}[1mhow\u{1b}[0m-to");
    }
}
