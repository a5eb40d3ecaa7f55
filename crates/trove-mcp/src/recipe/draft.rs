//! A recipe to begin with, proposed from the schemas of a server's tools and one answer.

use std::fmt::Write as _;

use serde_json::Value;
use trove_core::{Json, SourceId, resource::Named};

use super::{
    answer::Answer,
    fit::{Tool, tools_of},
};

/// How tools that list begin, or end.
const LISTING: [&str; 5] = ["list", "all", "search", "find", "read"];
/// How tools that read one thing begin.
const READING: [&str; 5] = ["get", "read", "retrieve", "open", "fetch"];
/// How the members are called by which things are known, the best first.
const IDS: [&str; 8] = ["uri", "id", "key", "identifier", "slug", "path", "number", "name"];
const NAMES: [&str; 6] = ["title", "name", "summary", "subject", "label", "path"];
const TEXTS: [&str; 3] = ["description", "summary", "text"];
const MOMENTS: [&str; 5] = ["updated_at", "updatedAt", "updated", "modified", "last_modified"];

/// The tools that a recipe could be made of. Each says of itself that it only reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    /// One that lists without being told what.
    pub list: Option<String>,
    /// One that reads a thing, and the argument that names the thing.
    pub read: Option<(String, String)>,
    /// One that searches, and the argument that takes the question.
    pub search: Option<(String, String)>,
}

impl Proposal {
    /// Of the tools that a server lists.
    pub fn of(listed: &[Named]) -> Proposal {
        let tools = tools_of(listed);
        let mut named: Vec<(&String, &Tool)> =
            tools.iter().filter(|(_, tool)| tool.only_reads == Some(true)).collect();
        named.sort_by_key(|(name, _)| *name);
        let is_called = |name: &str, words: &[&str]| {
            let lower = name.to_ascii_lowercase();
            lower.split(['_', '-', '.']).any(|word| words.contains(&word))
        };
        let list = |words: &[&str]| {
            let fits = |(name, tool): &&(&String, &Tool)| {
                tool.needs().is_empty() && is_called(name, words)
            };
            named.iter().find(fits).map(|(name, _)| (*name).clone())
        };
        let read = named.iter().find_map(|(name, tool)| match tool.needs() {
            [one] if is_called(name, &READING) => Some(((*name).clone(), one.clone())),
            _ => None,
        });
        let search = named
            .iter()
            .find_map(|(name, tool)| Some(((*name).clone(), tool.question(name)?.to_owned())));
        Proposal { list: list(&LISTING[..1]).or_else(|| list(&LISTING)), read, search }
    }

    /// The recipe as text of `trove.toml`. `answer` is what the listing tool gave, if it was
    /// called; without it the members of things are guesses.
    pub fn draft(&self, id: &SourceId, answer: Option<Json>) -> String {
        let found = answer.and_then(|body| things(&body));
        let things = found.unwrap_or_default();
        let scheme = id.as_str();
        let mut text = format!("[servers.{id}.resources]\n");
        // Writing to a String cannot fail.
        let _ = match &self.list {
            Some(tool) => writeln!(
                text,
                "list = [{{ tool = \"{tool}\", items = \"{}\", uri = \"{scheme}://thing/{{{}}}\", name = \"{{{}}}\"{} }}]",
                things.path, things.id, things.name, things.more
            ),
            None => writeln!(text, "# No tool that only reads lists without being told what."),
        };
        let _ = match &self.read {
            Some((tool, argument)) => writeln!(
                text,
                "read = [{{ template = \"{scheme}://thing/{{{id}}}\", tool = \"{tool}\", arguments = {{ {argument} = \"{{{id}}}\" }} }}]",
                id = things.id
            ),
            None => {
                writeln!(text, "# No tool that only reads takes one name: add `read` yourself.")
            }
        };
        if let Some((tool, argument)) = &self.search {
            let _ = writeln!(
                text,
                "search = [{{ tool = \"{tool}\", arguments = {{ {argument} = \"{{query}}\" }}, items = \"{}\", uri = \"{scheme}://thing/{{{}}}\", name = \"{{{}}}\" }}]",
                things.path, things.id, things.name
            );
        }
        text
    }
}

/// Where the things of an answer are, and what their members are called.
struct Things {
    path: String,
    id: String,
    name: String,
    /// Further members of the step.
    more: String,
}

impl Default for Things {
    fn default() -> Things {
        let (path, id, name) = ("$.items[*]".to_owned(), "id".to_owned(), "title".to_owned());
        Things { path, id, name, more: String::new() }
    }
}

fn things(body: &Json) -> Option<Things> {
    let answer = Answer::of(body.clone(), false).ok()?;
    let data = answer.data(&answer.text()).ok()??;
    let (path, first) = first_things("$", &data, 2)?;
    let has = |names: &[&str]| {
        let is_there = |name: &&&str| first[**name].is_string() || first[**name].is_number();
        names.iter().find(is_there).map(|name| (*name).to_owned())
    };
    let id = has(&IDS)?;
    let mut more = String::new();
    for (key, names) in [("description", &TEXTS[..]), ("modified", &MOMENTS[..])] {
        if let Some(name) = has(names) {
            let _ = write!(more, ", {key} = \"{{{name}}}\"");
        }
    }
    Some(Things { path, name: has(&NAMES).unwrap_or_else(|| id.clone()), id, more })
}

/// The first list of objects in an answer, at most so many members down.
fn first_things<'a>(path: &str, data: &'a Value, depth: usize) -> Option<(String, &'a Value)> {
    if let Value::Array(items) = data {
        let first = items.first().filter(|first| first.is_object())?;
        return Some((format!("{path}[*]"), first));
    }
    if depth == 0 {
        return None;
    }
    let is_name = |key: &str| key.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    let members = data.as_object()?.iter().filter(|(key, _)| is_name(key));
    members
        .into_iter()
        .find_map(|(key, one)| first_things(&format!("{path}.{key}"), one, depth - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_made_of_tools_that_only_read_and_of_an_answer() {
        let tool = |name: &str, reads: bool, required: &str| {
            let text = format!(
                r#"{{"name":"{name}","annotations":{{"readOnlyHint":{reads}}},"inputSchema":
                {{"properties":{{"id":{{"type":"string"}},"query":{{"type":"string"}}}},"required":{required}}}}}"#
            );
            Named::new(Json::parse(text).expect("JSON"), "name").expect("a tool")
        };
        let tools = [
            tool("list_gone", false, "[]"),
            tool("list_notes", true, "[]"),
            tool("get_note", true, r#"["id"]"#),
            tool("search_notes", true, r#"["query"]"#),
        ];
        let proposal = Proposal::of(&tools);
        assert_eq!(proposal.list.as_deref(), Some("list_notes"));
        let answer = r#"{"content":[{"type":"text","text":"{\"notes\":[{\"key\":\"k\",\"title\":\"T\",\"updated\":\"x\"}]}"}]}"#;
        let id = SourceId::new("notes").expect("an id");
        let draft = proposal.draft(&id, Some(Json::parse(answer).expect("JSON")));
        assert!(draft.contains(r#"items = "$.notes[*]", uri = "notes://thing/{key}", name = "{title}", modified = "{updated}""#), "{draft}");
        assert!(draft.contains(r#"tool = "get_note", arguments = { id = "{key}" }"#), "{draft}");
        assert!(draft.contains(r#"search = [{ tool = "search_notes""#), "{draft}");
    }
}
