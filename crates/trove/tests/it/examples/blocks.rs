//! The fenced blocks of a page, with what is to be done with each.

use serde_json::Value;

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The line in which its text begins.
    pub(super) line: usize,
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// The treatment of a block, from its info string.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Prepare,
    Script,
    Console,
    Settings,
    Conversation,
    Json,
    From(String),
    As(String),
    NotRun(String),
    Unknown(String),
}

impl Kind {
    fn of(info: &str) -> Kind {
        let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
        let rest = rest.trim();
        if let Some(reason) = rest.strip_prefix("not run:").map(str::trim) {
            return match reason.is_empty() {
                true => Kind::Unknown(info.to_owned()),
                false => Kind::NotRun(reason.to_owned()),
            };
        }
        if let Some(file) = rest.strip_prefix("from ") {
            return Kind::From(file.trim().to_owned());
        }
        if let Some(file) = rest.strip_prefix("as ") {
            return Kind::As(file.trim().to_owned());
        }
        match (language, rest) {
            ("sh", "") => Kind::Script,
            ("console", "") => Kind::Console,
            ("toml", "") => Kind::Settings,
            ("json-rpc", "") => Kind::Conversation,
            ("json", "") => Kind::Json,
            _ => Kind::Unknown(info.to_owned()),
        }
    }
}

/// The blocks of a page, in order.
pub(super) fn of(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let (kind, end) = match line.trim_start().strip_prefix("```") {
            Some(info) => (Kind::of(info.trim()), "```"),
            None if line.trim() == "<!-- prepare" => (Kind::Prepare, "-->"),
            None => continue,
        };
        let indent = line.len() - line.trim_start().len();
        let mut text = String::new();
        for (_, line) in lines.by_ref() {
            if line.trim() == end {
                break;
            }
            text.push_str(line.get(indent..).unwrap_or_default());
            text.push('\n');
        }
        blocks.push(Block { line: at + 2, kind, text });
    }
    blocks
}

/// The JSON values of a block, one after another.
pub(super) fn values(text: &str) -> Result<Vec<Value>, String> {
    let all = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let all: Result<Vec<Value>, serde_json::Error> = all.collect();
    all.map_err(|error| format!("this is no JSON: {error}"))
}

#[test]
fn blocks_are_told_apart_by_their_info_string() {
    let page = "a\n```sh\none\n```\n<!-- prepare\ntwo\n-->\n- x\n  ```sh not run: no network\n  three\n  ```\n```\nfour\n```\n```rust from a.rs\nfive\n```\n```sh not run:\nsix\n```\n";
    let blocks = of(page);
    let kinds: Vec<&Kind> = blocks.iter().map(|block| &block.kind).collect();
    assert_eq!(
        kinds,
        [
            &Kind::Script,
            &Kind::Prepare,
            &Kind::NotRun("no network".into()),
            &Kind::Unknown(String::new()),
            &Kind::From("a.rs".into()),
            &Kind::Unknown("sh not run:".into()),
        ]
    );
    assert_eq!((blocks[0].line, blocks[2].text.as_str()), (3, "three\n"));
}
