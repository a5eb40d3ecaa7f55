//! A property of all files: read and written again, they say the same.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    edit::Spot,
    entry::{Entry, Launch},
    locate::Scope,
    table::{Form, TABLE},
    verify,
};
use crate::config::Client;

fn entry(client: Client) -> Entry {
    let row = TABLE.iter().find(|row| row.client == client).expect("a row");
    let args = vec!["serve".to_owned(), "--config".to_owned(), "/a b/\"é\"\\.toml".to_owned()];
    let launch = Launch::Stdio { command: "/opt/a: b/trove".into(), args, env: Default::default() };
    Entry::of(row, Scope::User, "trove", &launch).expect("an entry")
}

/// Puts the entry in, again, and takes it out.
fn round(form: Form, client: Client, key: &str, text: &str) -> Result<(), TestCaseError> {
    let spot = Spot { path: Path::new("/x"), form, key, name: "trove" };
    let entry = entry(client);
    let before = spot.read(text).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let put = spot.put(text, &entry);
    let put = put.map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
    prop_assert_eq!(spot.put(&put, &entry).ok(), Some(put.clone()), "a second time");
    let taken = spot.take(&put).map_err(|error| TestCaseError::fail(format!("{error}: {put}")))?;
    let taken = taken.unwrap_or_default();
    let after = spot.read(&taken).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(verify::same_but_at(&before, &after, &[key, "trove"]), "{}", taken);
    prop_assert!(spot.find(&after).is_none());
    Ok(())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z #:'\"{}\\[\\]é,-]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec(("[a-z][a-z #:.-]{0,5}", inner), 0..4)
        .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>()))
}

/// A file with other keys before and after the servers.
fn file(key: &'static str) -> impl Strategy<Value = Value> {
    (object(value()), prop::option::of(object(value())), object(value())).prop_map(
        move |(before, servers, after)| {
            let mut root = Map::new();
            let pairs = |value: Value| match value {
                Value::Object(map) => map,
                _ => Map::new(),
            };
            root.extend(pairs(before));
            if let Some(servers) = servers {
                root.insert(key.into(), servers);
            }
            root.extend(pairs(after).into_iter().filter(|(name, _)| name != key));
            Value::Object(root)
        },
    )
}

/// Block YAML, one key a line, with comments strewn in.
fn yaml(value: &Value, indent: usize, text: &mut String) {
    let Value::Object(map) = value else { return };
    for (index, (key, inner)) in map.iter().enumerate() {
        if index % 2 == 1 {
            text.push_str(&format!("{:indent$}# about the next\n\n", ""));
        }
        let key = json!(key);
        match inner {
            Value::Object(inner_map) if !inner_map.is_empty() => {
                text.push_str(&format!("{:indent$}{key}:   # block\n", ""));
                yaml(inner, indent + 2, text);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push_str(&format!("{:indent$}{key}:\n", ""));
                for item in items {
                    text.push_str(&format!("{:indent$}- {item}\n", ""));
                }
            }
            other => text.push_str(&format!("{:indent$}{key}: {other}\n", "")),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn json_in_one_line(root in file("mcpServers")) {
        round(Form::Json, Client::Cursor, "mcpServers", &root.to_string())?;
    }

    #[test]
    fn t34_json_on_many_lines_with_comments(root in file("mcpServers"), at in any::<prop::sample::Index>()) {
        let mut lines: Vec<String> = format!("{root:#}").lines().map(str::to_owned).collect();
        let line = at.index(lines.len());
        lines.insert(line, "// a \"comment\" { [".to_owned());
        round(Form::Json, Client::Cursor, "mcpServers", &lines.join("\n"))?;
    }

    #[test]
    fn yaml_in_blocks(root in file("extensions")) {
        let mut text = String::from("# goose\n");
        yaml(&root, 0, &mut text);
        round(Form::Yaml, Client::Goose, "extensions", &text)?;
    }

    #[test]
    fn toml_of_any_kind(root in file("mcp_servers")) {
        // TOML has no null.
        if let Ok(text) = toml::to_string(&root) {
            round(Form::Toml, Client::Codex, "mcp_servers", &text)?;
        }
    }

    #[test]
    fn no_text_makes_an_editor_panic(text in "[{}\\[\\]\":,#/*a-z0-9 \n=.-]{0,60}") {
        for (form, client, key) in [
            (Form::Json, Client::Cursor, "a"),
            (Form::Toml, Client::Codex, "a"),
            (Form::Yaml, Client::Goose, "a"),
        ] {
            let spot = Spot { path: Path::new("/x"), form, key, name: "trove" };
            let _ = spot.put(&text, &entry(client));
            let _ = spot.take(&text);
        }
    }
}
