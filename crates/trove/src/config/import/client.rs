//! Which client a file belongs to, and what follows from it.

use std::{ffi::OsStr, fmt, path::Path};

use trove_mcp::upstream::Dialect;

use super::super::{
    file::Transport,
    tree::{Format, Node, Value},
};

/// A client whose file we read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Amp.
    Amp,
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cline.
    Cline,
    /// Codex.
    Codex,
    /// Continue.
    Continue,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    Gemini,
    /// goose.
    Goose,
    /// opencode.
    OpenCode,
    /// VS Code.
    VsCode,
    /// Windsurf, and Antigravity, which writes alike.
    Windsurf,
    /// Zed.
    Zed,
    /// Any other with `mcpServers`, such as Copilot CLI, Kiro or LM Studio.
    Other,
}

/// The unit of a bare `timeout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeoutUnit {
    Seconds,
    Milliseconds,
    /// The unit changed between versions, so the number says nothing.
    Unsettled,
}

impl Client {
    /// The client whose `mcpServers` these are.
    ///
    /// The path decides if it tells; then the other members of the file; then a mark in any
    /// entry. A file without a mark is read as Claude Code's, whose variables are the commonest.
    pub(super) fn of(format: Format, root: &Node, path: &Path, entries: &[&Node]) -> Client {
        let is_list = root.get("mcpServers").is_some_and(|s| matches!(s.value, Value::List(_)));
        if let Some(client) = by_path(path) {
            return client;
        }
        if format == Format::Yaml && is_list {
            return Client::Continue;
        }
        if root.get("projects").is_some() {
            return Client::ClaudeCode;
        }
        entries.iter().find_map(|entry| by_mark(entry)).unwrap_or(Client::Other)
    }

    /// How its variables are written.
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Client::Amp | Client::ClaudeCode | Client::Other => Dialect::ClaudeCode,
            Client::Continue => Dialect::Continue,
            Client::Cursor => Dialect::Cursor,
            Client::Gemini => Dialect::Gemini,
            Client::OpenCode => Dialect::OpenCode,
            Client::VsCode => Dialect::VsCode,
            Client::Windsurf => Dialect::Windsurf,
            Client::ClaudeDesktop | Client::Cline | Client::Codex | Client::Goose | Client::Zed => {
                Dialect::Plain
            }
        }
    }

    /// The meaning of a `url` without a type.
    pub(super) fn untyped_url(self) -> Transport {
        match self {
            Client::Cline | Client::Gemini => Transport::Sse,
            _ => Transport::Http,
        }
    }

    pub(super) fn timeout_unit(self) -> TimeoutUnit {
        match self {
            Client::Cline | Client::Codex | Client::Goose => TimeoutUnit::Seconds,
            Client::Zed => TimeoutUnit::Unsettled,
            _ => TimeoutUnit::Milliseconds,
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Client::Amp => "Amp",
            Client::ClaudeCode => "Claude Code",
            Client::ClaudeDesktop => "Claude Desktop",
            Client::Cline => "Cline",
            Client::Codex => "Codex",
            Client::Continue => "Continue",
            Client::Cursor => "Cursor",
            Client::Gemini => "Gemini CLI",
            Client::Goose => "goose",
            Client::OpenCode => "opencode",
            Client::VsCode => "VS Code",
            Client::Windsurf => "Windsurf",
            Client::Zed => "Zed",
            Client::Other => "an MCP client",
        })
    }
}

/// Files and folders that only one client has, e.g. `.cursor`. Antigravity lives inside Gemini's
/// folder, so the innermost part of the path decides.
fn by_path(path: &Path) -> Option<Client> {
    let of_part = |part: &OsStr| match part.to_str()? {
        "claude_desktop_config.json" => Some(Client::ClaudeDesktop),
        ".claude.json" | ".mcp.json" => Some(Client::ClaudeCode),
        "cline_mcp_settings.json" => Some(Client::Cline),
        ".continue" => Some(Client::Continue),
        ".cursor" => Some(Client::Cursor),
        ".gemini" => Some(Client::Gemini),
        ".codeium" | "windsurf" | "antigravity" => Some(Client::Windsurf),
        ".copilot" | ".factory" | ".junie" | ".kimi" | ".kiro" | ".lmstudio" => Some(Client::Other),
        _ => None,
    };
    path.iter().rev().find_map(of_part)
}

/// Keys and variables that only one client writes, e.g. `httpUrl` of Gemini.
fn by_mark(entry: &Node) -> Option<Client> {
    let has = |key| entry.get(key).is_some();
    let is_typed = |word| entry.get("type").and_then(Node::as_str) == Some(word);
    if has("serverUrl") || mentions(entry, &["${file:"]) {
        return Some(Client::Windsurf);
    }
    if has("httpUrl") || has("trust") {
        return Some(Client::Gemini);
    }
    let is_nested = entry.get("transport").is_some_and(Node::is_map);
    if is_nested || is_typed("streamableHttp") || has("autoApprove") {
        return Some(Client::Cline);
    }
    let of_editor = ["${workspaceFolder", "${userHome}", "${pathSeparator}", "${/}"];
    (has("envFile") || mentions(entry, &of_editor)).then_some(Client::Cursor)
}

/// Whether any string inside contains one of these.
fn mentions(node: &Node, signs: &[&str]) -> bool {
    match &node.value {
        Value::Text(text) => signs.iter().any(|sign| text.contains(sign)),
        Value::List(nodes) => nodes.iter().any(|node| mentions(node, signs)),
        Value::Map(entries) => entries.iter().any(|entry| mentions(&entry.node, signs)),
        _ => false,
    }
}
