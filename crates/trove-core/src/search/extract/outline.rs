//! The words that give structure to a text: headings, columns, keys.

use std::collections::HashSet;

use super::MAX_HEADINGS;

/// Headings of Markdown, and what its front matter says.
pub(super) fn markdown(text: &str) -> Vec<String> {
    let mut headings = Vec::new();
    let (front, body) = split_front_matter(text);
    for line in front.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim().trim_matches(['"', '\'', '[', ']']);
        let is_told = matches!(key.trim(), "title" | "description" | "tags" | "keywords" | "name");
        if is_told && !value.is_empty() {
            headings.push(value.to_owned());
        }
    }
    let mut fence: Option<&str> = None;
    let mut before = "";
    for line in body.lines() {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        if let Some(mark) = mark {
            fence = match fence {
                Some(open) if open == mark => None,
                Some(open) => Some(open),
                None => Some(mark),
            };
        } else if fence.is_none() {
            headings.extend(heading(line, before));
        }
        before = if fence.is_some() { "" } else { line };
        if headings.len() >= MAX_HEADINGS {
            break;
        }
    }
    headings
}

/// The heading of a line, or of an underlined line before it, e.g. `Usage` of `## Usage`.
fn heading(line: &str, before: &str) -> Option<String> {
    let hashes = line.bytes().take_while(|b| *b == b'#').count();
    let rest = &line[hashes..];
    if (1..=6).contains(&hashes) && rest.starts_with(' ') {
        let title = rest.trim().trim_end_matches('#').trim();
        return (!title.is_empty()).then(|| title.to_owned());
    }
    let under = line.trim_end();
    let is_rule =
        under.len() >= 3 && (under.bytes().all(|b| b == b'=') || under.bytes().all(|b| b == b'-'));
    let before = before.trim();
    (is_rule && !before.is_empty() && !before.starts_with(['#', '-', '|', '>']))
        .then(|| before.to_owned())
}

/// The text between two lines of `---` at the beginning, and the rest.
fn split_front_matter(text: &str) -> (&str, &str) {
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return ("", text);
    };
    match rest.find("\n---") {
        Some(end) => {
            let after = &rest[end + 4..];
            (&rest[..end], after.find('\n').map_or("", |at| &after[at + 1..]))
        }
        None => ("", text),
    }
}

/// The keys of JSON, each once, in their order, e.g. `a` of `{"a":1}`. Finds them by their shape,
/// so that cut off or repeated values do no harm.
pub(super) fn json_keys(text: &str) -> Vec<String> {
    let mut keys = Unique::default();
    let mut rest = text;
    while let Some(start) = rest.find('"') {
        let inside = &rest[start + 1..];
        let Some(len) = string_len(inside) else { break };
        let key = &inside[..len];
        rest = &inside[len + 1..];
        if rest.trim_start().starts_with(':') && !keys.add(key) {
            break;
        }
    }
    keys.list
}

/// How long a JSON string is whose opening quote is behind us.
fn string_len(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// The columns that the first line names, e.g. `id` and `name` of `id,"name"`.
pub(super) fn columns(text: &str, separator: char) -> Vec<String> {
    let first = text.lines().next().unwrap_or_default();
    let mut columns = Unique::default();
    for column in first.trim_start_matches('\u{feff}').split(separator) {
        columns.add(column.trim().trim_matches('"'));
    }
    columns.list
}

/// The keys of YAML, TOML, INI and their like, and the names of their sections, e.g. `port` of
/// `port = 80`.
pub(super) fn settings_keys(text: &str) -> Vec<String> {
    let mut keys = Unique::default();
    for line in text.lines().map(str::trim_start) {
        let line = line.trim_start_matches("- ");
        if line.starts_with(['#', ';', '/']) {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            keys.add(section.trim_start_matches('[').split(']').next().unwrap_or_default());
            continue;
        }
        let len = line
            .find(|c: char| !c.is_alphanumeric() && !"_-.\"'$".contains(c))
            .unwrap_or(line.len());
        if line[len..].trim_start().starts_with([':', '=']) {
            keys.add(line[..len].trim_matches(['"', '\'']));
        }
        if keys.list.len() >= MAX_HEADINGS {
            break;
        }
    }
    keys.list
}

/// Texts, each once, in the order they came.
#[derive(Default)]
struct Unique {
    list: Vec<String>,
    seen: HashSet<String>,
}

impl Unique {
    /// The longest text that is a name.
    const MAX_NAME_BYTES: usize = 100;

    /// Adds one; false when there are enough.
    fn add(&mut self, text: &str) -> bool {
        let fits = !text.is_empty() && text.len() <= Self::MAX_NAME_BYTES;
        if fits && self.seen.insert(text.to_owned()) {
            self.list.push(text.to_owned());
        }
        self.list.len() < MAX_HEADINGS
    }
}
