//! Whether an entry of a client's file is Trove.

use std::path::{Path, PathBuf};

use crate::config::tree::{Node, Value};

/// The keys under which clients keep the program.
const COMMANDS: [&str; 3] = ["command", "cmd", "path"];
/// The keys under which clients keep a URL.
const URLS: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];

/// The words a stdio entry is started with, the program first.
pub(super) fn words(entry: &Node) -> Vec<&str> {
    let command = COMMANDS.iter().find_map(|key| entry.get(key));
    let Some(command) = command else { return Vec::new() };
    let mut words: Vec<&str> = match &command.value {
        Value::List(_) => command.elements().iter().filter_map(Node::as_str).collect(),
        _ => command.as_str().into_iter().collect(),
    };
    let args = entry.get("args").map(Node::elements).unwrap_or_default();
    words.extend(args.iter().filter_map(Node::as_str));
    words
}

/// The URL of an entry that has one.
pub(super) fn url(entry: &Node) -> Option<&str> {
    URLS.iter().find_map(|key| entry.get(key)).and_then(Node::as_str)
}

/// Whether the entry starts Trove, under any name of this `program`, or reaches one on this
/// machine.
pub(super) fn is_ours(entry: &Node, program: &Path) -> bool {
    let words = words(entry);
    let is_this = words.first().is_some_and(|first| Path::new(first) == program);
    is_this || crate::config::launches_trove(&words) || url(entry).is_some_and(is_our_url)
}

/// Where a Trove on this machine is served. Another program may serve there too; the
/// name of the entry has to settle that.
fn is_our_url(url: &str) -> bool {
    let rest = url.strip_prefix("http://").unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    matches!(name, "127.0.0.1" | "localhost" | "[::1]") && rest.ends_with("/mcp")
}

/// The program the entry starts, if it is named by its path and is not there.
pub(super) fn missing_program(entry: &Node) -> Option<PathBuf> {
    let program = PathBuf::from(words(entry).first()?);
    (program.is_absolute() && !program.exists()).then_some(program)
}

/// The configuration the entry names by its path, if it is not there.
pub(super) fn missing_config(entry: &Node) -> Option<PathBuf> {
    let words = words(entry);
    let at = words.iter().position(|word| *word == "--config")?;
    let config = PathBuf::from(words.get(at + 1)?);
    (config.is_absolute() && !config.exists()).then_some(config)
}
