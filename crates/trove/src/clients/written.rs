//! Imported servers as text of `trove.toml`, behind what stands there already.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

use super::{
    convert::{Converted, Imported, Origin},
    table::word,
};
use crate::approval::Calls;

/// How long one request may take where `trove.toml` does not say.
const DEFAULT_TIMEOUT_MS: u128 = 30_000;

/// The text of `trove.toml` with the servers added at its end.
pub(crate) fn toml_with(text: &str, servers: &[Imported]) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let has_text = !text.trim().is_empty();
    let all = document.entry("servers").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let is_inline = all.is_inline_table();
    if let Some(all) = all.as_table_like_mut() {
        for (index, server) in servers.iter().enumerate() {
            let mut table = table(server);
            let gap = if has_text || index > 0 { "\n" } else { "" };
            table.decor_mut().set_prefix(format!("{gap}{}", comment(server)));
            let item = if is_inline {
                Item::Value(Value::InlineTable(table.into_inline_table()))
            } else {
                Item::Table(table)
            };
            all.insert(server.id.as_str(), item);
        }
    }
    Ok(document.to_string())
}

fn comment(server: &Imported) -> String {
    let Origin { client, path, name, .. } = &server.origin;
    // A name may hold anything; a comment ends with its line.
    let plain = |text: &str| text.replace(|c: char| c.is_control(), " ");
    let path = path.display().to_string();
    let mut comment = format!("# `{}` of {client}, {}\n", plain(name), plain(&path));
    if !server.not_followed.is_empty() {
        comment
            .push_str(&format!("# not taken over: {}\n", plain(&server.not_followed.join(", "))));
    }
    comment
}

fn table(server: &Imported) -> Table {
    let mut table = Table::new();
    let mut add = |key: &str, value: Value| drop(table.insert(key, Item::Value(value)));
    match &server.server {
        Converted::Stdio { command, args, env, cwd } => {
            add("command", Value::from(command.as_str()));
            if !args.is_empty() {
                let args: Array = args.iter().map(String::as_str).collect();
                add("args", Value::Array(args));
            }
            if !env.is_empty() {
                add("env", Value::InlineTable(inline(env)));
            }
            if let Some(cwd) = cwd {
                add("cwd", Value::from(cwd.as_str()));
            }
        }
        Converted::Remote { url, is_sse, headers } => {
            add("url", Value::from(url.as_str()));
            if *is_sse {
                add("transport", Value::from("sse"));
            }
            if !headers.is_empty() {
                add("headers", Value::InlineTable(inline(headers)));
            }
        }
    }
    add("moved_from", Value::from(word(server.origin.client)));
    if let Some(name) = Calls::of(&server.as_found).and_then(|calls| calls.name) {
        add("recipe", Value::from(name));
    }
    if server.timeout_ms != DEFAULT_TIMEOUT_MS
        && let Ok(timeout) = i64::try_from(server.timeout_ms)
    {
        add("timeout_ms", Value::from(timeout));
    }
    table
}

fn inline(pairs: &[(String, String)]) -> InlineTable {
    pairs.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str()))).collect()
}
