//! Edits one block of a YAML file by its lines, and writes small files whole.
//!
//! No library keeps comments while it edits YAML, so this one moves lines: the tree says where
//! keys stand, the indentation where they end. A spelling that lines cannot settle is refused,
//! and the caller reads the result back in any case.

use serde_json::{Map, Value as Json};

use super::{edit::Spot, entry::Entry, error::ClientError};
use crate::config::tree::{Node, Value};

/// How far keys of a new block are moved in.
const INDENT: usize = 2;

pub(super) fn put(
    text: &str,
    tree: &Node,
    spot: &Spot<'_>,
    entry: &Entry,
) -> Result<String, ClientError> {
    refuse_documents(text, spot)?;
    let mut lines = Lines::of(text);
    let key = tree.entries().iter().rev().find(|e| e.key == spot.key);
    let Some(key) = key else {
        if !matches!(tree.value, Value::Map(_) | Value::Null) {
            return Err(spot.unfit("it is no map", "make it one"));
        }
        let mut block = vec![format!("{}:", spot.key)];
        block.extend(rendered(spot.name, &entry.whole(), INDENT));
        lines.append(block);
        return Ok(lines.into_text());
    };
    let start = line_of(key.at.line);
    match &key.node.value {
        Value::Map(children) if !children.is_empty() => {
            let indent = child_indent(&lines, start, children[0].at.line, spot)?;
            match children.iter().rev().find(|child| child.key == spot.name) {
                Some(child) => {
                    let own = line_of(child.at.line);
                    let end = lines.end_of(own, indent);
                    let fresh = rendered(spot.name, &merged(&child.node, entry), indent);
                    lines.replace(own, end, fresh);
                }
                None => {
                    let end = lines.end_of(start, key_indent(&lines, start));
                    lines.replace(end, end, rendered(spot.name, &entry.whole(), indent));
                }
            }
        }
        Value::Map(_) | Value::Null => {
            let indent = key_indent(&lines, start) + INDENT;
            lines.open(start, spot)?;
            lines.replace(start + 1, start + 1, rendered(spot.name, &entry.whole(), indent));
        }
        _ => return Err(spot.unfit(format!("`{}` is no map", spot.key), "make it one")),
    }
    Ok(lines.into_text())
}

pub(super) fn take(text: &str, tree: &Node, spot: &Spot<'_>) -> Result<String, ClientError> {
    refuse_documents(text, spot)?;
    let mut lines = Lines::of(text);
    let key = tree.entries().iter().rev().find(|e| e.key == spot.key);
    let children = key.map(|key| key.node.entries()).unwrap_or_default();
    let Some(child) = children.iter().rev().find(|child| child.key == spot.name) else {
        return Ok(text.to_owned());
    };
    let start = line_of(key.map_or(1, |key| key.at.line));
    let indent = child_indent(&lines, start, child.at.line, spot)?;
    let own = line_of(child.at.line);
    let end = lines.end_of(own, indent);
    lines.replace(own, end, Vec::new());
    if children.len() == 1 {
        // A key with nothing below it would read as nothing at all.
        lines.close(start);
    }
    Ok(lines.into_text())
}

/// A file that holds one server of Continue.
pub(super) fn own_file(name: &str, entry: &Map<String, Json>) -> String {
    let mut text = String::from("name: Trove\nversion: 0.0.1\nschema: v1\nmcpServers:\n");
    text.push_str(&format!("  - name: {}\n", scalar(name)));
    for line in pairs(entry, 4) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn rendered(name: &str, entry: &Map<String, Json>, indent: usize) -> Vec<String> {
    let mut lines = vec![format!("{:indent$}{}:", "", scalar(name))];
    lines.extend(pairs(entry, indent + INDENT));
    lines
}

/// One line a key; what is deeper is written as JSON, which YAML reads as well.
fn pairs(entry: &Map<String, Json>, indent: usize) -> Vec<String> {
    entry.iter().map(|(key, value)| format!("{:indent$}{}: {value}", "", scalar(key))).collect()
}

/// A key as plain as it can be without being taken for something else.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if is_plain && !words.contains(&text.to_lowercase().as_str()) {
        return text.to_owned();
    }
    Json::from(text).to_string()
}

/// The present entry, with our members in it.
fn merged(present: &Node, entry: &Entry) -> Map<String, Json> {
    let mut map = Map::new();
    for old in present.entries() {
        if !entry.never.contains(&old.key.as_str()) {
            map.insert(old.key.clone(), json(&old.node));
        }
    }
    map.extend(entry.must.clone());
    map
}

pub(super) fn json(node: &Node) -> Json {
    match &node.value {
        Value::Null | Value::Date => Json::Null,
        Value::Bool(flag) => Json::from(*flag),
        Value::Integer(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(nodes) => Json::Array(nodes.iter().map(json).collect()),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|e| (e.key.clone(), json(&e.node))).collect())
        }
    }
}

/// A file of several documents has no one place for an entry.
fn refuse_documents(text: &str, spot: &Spot<'_>) -> Result<(), ClientError> {
    let mut has_content = false;
    for line in text.lines() {
        let is_mark = line.starts_with("---") || line.starts_with("...");
        if is_mark && has_content {
            return Err(spot.unfit("it holds more than one document", "add the entry by hand"));
        }
        has_content |= is_content(line) && !is_mark && !line.starts_with('%');
    }
    Ok(())
}

/// How far the keys inside are moved in; one line with everything on it cannot be edited.
fn child_indent(
    lines: &Lines,
    start: usize,
    child_line: u32,
    spot: &Spot<'_>,
) -> Result<usize, ClientError> {
    let child = line_of(child_line);
    let indent = key_indent(lines, child);
    let is_block = child > start
        && indent > key_indent(lines, start)
        && !lines.0[child].trim_start().starts_with(['{', '?', '-', ','])
        && !lines.0[start].contains('{');
    if is_block {
        return Ok(indent);
    }
    let what = format!("`{}` is not written with one line a key", spot.key);
    Err(spot.unfit(what, "write it so, or add the entry by hand"))
}

fn key_indent(lines: &Lines, line: usize) -> usize {
    lines.0.get(line).map_or(0, |line| indent_of(line))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Neither blank nor a comment.
fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

fn line_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1)
}

/// The lines of a text, without their ends.
struct Lines(Vec<String>);

impl Lines {
    fn of(text: &str) -> Lines {
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        if lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Lines(lines)
    }

    /// Behind the last line that belongs to the key at `start`, which is moved in by
    /// `indent`. Comments and blank lines after it belong to what follows.
    fn end_of(&self, start: usize, indent: usize) -> usize {
        let mut end = start + 1;
        for (at, line) in self.0.iter().enumerate().skip(start + 1) {
            if !is_content(line) {
                continue;
            }
            // A list may stand as far left as the key that holds it.
            let is_item = indent_of(line) == indent && line.trim_start().starts_with("- ");
            if indent_of(line) <= indent && !is_item {
                break;
            }
            end = at + 1;
        }
        end
    }

    fn replace(&mut self, from: usize, to: usize, fresh: Vec<String>) {
        self.0.splice(from..to, fresh);
    }

    fn append(&mut self, fresh: Vec<String>) {
        if self.0.last().is_some_and(|line| is_content(line)) {
            self.0.push(String::new());
        }
        self.0.extend(fresh);
    }

    /// Takes an empty value from behind a key, so that lines can stand below it.
    fn open(&mut self, line: usize, spot: &Spot<'_>) -> Result<(), ClientError> {
        let old = &self.0[line];
        let (key, rest) = old.split_once(':').unwrap_or((old, ""));
        let rest = rest.trim();
        let comment = rest.find('#').map_or("", |at| &rest[at..]);
        let value = rest.strip_suffix(comment).unwrap_or(rest).trim();
        if !matches!(value, "" | "{}" | "{ }" | "~" | "null") {
            let what = format!("the value of `{}` is written in an unusual way", spot.key);
            return Err(spot.unfit(what, "write it with one line a key"));
        }
        let gap = if comment.is_empty() { "" } else { " " };
        self.0[line] = format!("{key}:{gap}{comment}");
        Ok(())
    }

    /// Gives a key whose block is empty now an empty value.
    fn close(&mut self, line: usize) {
        let old = &self.0[line];
        let (key, rest) = old.split_once(':').unwrap_or((old, ""));
        let gap = if rest.trim().is_empty() { "" } else { " " };
        self.0[line] = format!("{key}: {{}}{gap}{}", rest.trim());
    }

    fn into_text(self) -> String {
        let mut text = self.0.join("\n");
        text.push('\n');
        text
    }
}
