//! A parsed file as a tree that remembers where everything stands.
//!
//! TOML, JSON with comments and YAML give the same tree, so what comes after asks only
//! what the file says. Nothing here knows which keys exist.

use std::path::Path;

mod json;
mod toml;
mod yaml;

pub(crate) use json::{jsonc, parse as parse_json};
pub(crate) use toml::parse as parse_toml;
pub(crate) use yaml::parse as parse_yaml;

/// A place in a file, counted from one; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The beginning of a file.
pub(crate) const TOP: At = At { line: 1, column: 1 };

/// A value and its place.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) at: At,
    pub(crate) value: Value,
}

#[derive(Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    /// Only TOML has dates; nothing we read is one.
    Date,
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and what it holds, in the order of the file.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) at: At,
    pub(crate) key: String,
    pub(crate) node: Node,
}

/// Why the text is no tree.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) at: At,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Toml,
    Json,
    Yaml,
}

/// Reads a file of any of the three formats.
///
/// The text decides. A brace or a comment with slashes begins JSON. Of the other two, a text is
/// YAML if TOML refuses it and YAML takes it as a map. The name settles only whose mistakes to
/// report.
pub(crate) fn parse(text: &str, path: &Path) -> Result<(Format, Node), Vec<SyntaxError>> {
    let start = text.trim_start();
    if ["{", "//", "/*"].iter().any(|sign| start.starts_with(sign)) {
        return json::parse(text).map(|node| (Format::Json, node));
    }
    let of_toml = match toml::parse(text) {
        Ok(node) => return Ok((Format::Toml, node)),
        Err(errors) => errors,
    };
    let is_named =
        |endings: &[&str]| path.extension().is_some_and(|e| endings.iter().any(|x| e == *x));
    let is_named_yaml = is_named(&["yaml", "yml"]);
    match yaml::parse(text) {
        Ok(node) if node.is_map() && !is_named(&["toml"]) => Ok((Format::Yaml, node)),
        Err(errors) if is_named_yaml => Err(errors),
        _ => Err(of_toml),
    }
}

impl Node {
    /// The value of a key; of two alike the last, as clients take it.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().rev().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The keys of a map, and none of anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The elements of a list, and none of anything else.
    pub(crate) fn elements(&self) -> &[Node] {
        match &self.value {
            Value::List(nodes) => nodes,
            _ => &[],
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.value, Value::Map(_))
    }

    /// Its type in words, e.g. `a list`; never its value, which may be a secret.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a fraction",
            Value::Date => "a date",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a table",
        }
    }
}

/// Turns byte offsets into places.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Lines { text, starts }
    }

    fn at(&self, offset: usize) -> At {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        let before = self.text.get(start..offset).unwrap_or_default();
        At { line: count(line), column: count(before.chars().count() + 1) }
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key and scalar with its place.
    fn outline(node: &Node, into: &mut String) {
        let At { line, column } = node.at;
        match &node.value {
            Value::Map(entries) => {
                for entry in entries {
                    into.push_str(&format!("{}@{}:{} ", entry.key, entry.at.line, entry.at.column));
                    outline(&entry.node, into);
                }
            }
            Value::List(nodes) => nodes.iter().for_each(|node| outline(node, into)),
            Value::Text(text) => into.push_str(&format!("{text:?}@{line}:{column} ")),
            Value::Integer(number) => into.push_str(&format!("{number}@{line}:{column} ")),
            Value::Float(number) => into.push_str(&format!("{number}@{line}:{column} ")),
            _ => into.push_str(&format!("{}@{line}:{column} ", node.kind())),
        }
    }

    #[track_caller]
    fn check(name: &str, text: &str, format: Format, expect: &str) {
        let (got, node) = parse(text, Path::new(name)).map_err(|e| format!("{e:?}")).unwrap();
        let mut shown = String::new();
        outline(&node, &mut shown);
        assert_eq!((got, shown.trim_end()), (format, expect));
    }

    #[test]
    fn toml_keeps_the_order_of_the_file() {
        check(
            "x",
            "[b.c]\nz = 1\na = [\"é\", true, 1.5]\n[a]\nwhen = 2026-01-01\n",
            Format::Toml,
            "b@1:2 c@1:4 z@2:1 1@2:5 a@3:1 \"é\"@3:6 true or false@3:11 1.5@3:17 \
             a@4:2 when@5:1 a date@5:8",
        );
    }

    #[test]
    fn json_may_have_comments_and_trailing_commas() {
        check(
            "x.toml",
            "// hello\n{ \"é\": {\"b\": [1, null,],}, /* . */ \"c\": 0.5 }",
            Format::Json,
            "é@2:3 b@2:9 1@2:15 nothing@2:18 c@2:36 0.5@2:41",
        );
    }

    #[test]
    fn yaml_is_what_toml_refuses() {
        check(
            "x",
            "a:\n  - name: 'é'\n    n: 5\n    f: 1.5\n  - true\nb: {c: }\n",
            Format::Yaml,
            "a@1:1 name@2:5 \"é\"@2:11 n@3:5 5@3:8 f@4:5 1.5@4:8 true or false@5:5 \
             b@6:1 c@6:5 nothing@6:6",
        );
    }

    #[track_caller]
    fn check_error(name: &str, text: &str, expect: &str) {
        let errors = parse(text, Path::new(name)).err().unwrap();
        let shown: Vec<String> = errors
            .iter()
            .map(|e| format!("{}:{}: {}", e.at.line, e.at.column, e.message))
            .collect();
        assert_eq!(shown.join("\n"), expect);
    }

    #[test]
    fn mistakes_are_those_of_the_format() {
        check_error(
            "x",
            "a = \n[b\nc = 1",
            "1:5: string values must be quoted, expected literal string\n\
             2:3: unclosed table, expected `]`",
        );
        check_error("x.json", "{\"a\": 1 \"b\": 2}", "1:8: expected comma");
        check_error("x.yaml", "a: [1\nb: 2", "2:2: illegal placement of ':' indicator");
    }
}
