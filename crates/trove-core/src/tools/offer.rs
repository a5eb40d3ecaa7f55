//! Which clients need the bridge: by the name a client gives itself, from a dated table.
//!
//! Clients declare nothing about resources, so their names are all there is to go by. A client that
//! is not in the table gets the tools: one tool too many is better than data out of reach.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::caller::Caller;

/// When clients get tools that only repeat what resources give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BridgeMode {
    /// When their model cannot open resources by itself.
    #[default]
    Auto,
    Always,
    Never,
}

/// How much of the bridge a client needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Everything: its model knows tools only.
    All,
    /// Templates: its model opens what is listed.
    Templates,
    Nothing,
}

/// The day the table was last checked.
pub static CLIENTS_DATE: LazyLock<&'static str> = LazyLock::new(|| TABLE.date);

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("clients.json")).expect("a file of ours, tested")
});

/// Every client that is known, in the order of the table.
pub fn clients() -> &'static [Client] {
    &TABLE.clients
}

/// The row of the client that gives itself this name.
pub fn client(name: &str) -> Option<&'static Client> {
    let is_it = |client: &&Client| {
        let own = client.name.len();
        name.get(..own).is_some_and(|start| start.eq_ignore_ascii_case(client.name))
            && (name.len() == own || client.appends && name[own..].starts_with('-'))
    };
    TABLE.clients.iter().find(is_it)
}

#[derive(Deserialize)]
struct Table {
    date: &'static str,
    clients: Vec<Client>,
}

/// The facts on one client.
#[derive(Debug, Deserialize, Serialize)]
pub struct Client {
    /// The name it gives itself.
    pub name: &'static str,
    /// Some versions append the name of the server to it.
    #[serde(default, skip_serializing)]
    pub appends: bool,
    /// The name that people use.
    pub title: &'static str,
    /// Its model lists and reads resources by itself.
    pub reads: bool,
    /// Its model can use templates.
    pub templates: bool,
    /// How much of one answer it takes, where that is known.
    #[serde(default)]
    pub takes: Option<Takes>,
}

/// How much of one answer a client takes before it cuts, by whichever it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Takes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub characters: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
}

/// How much of the bridge this caller needs.
pub(super) fn need(mode: BridgeMode, caller: &Caller) -> Need {
    match mode {
        BridgeMode::Always => Need::All,
        BridgeMode::Never => Need::Nothing,
        BridgeMode::Auto => {
            let name = caller.client.as_deref().unwrap_or_default();
            match client(name) {
                Some(Client { reads: true, templates: true, .. }) => Need::Nothing,
                Some(Client { reads: true, templates: false, .. }) => Need::Templates,
                Some(Client { reads: false, .. }) | None => Need::All,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Door;

    fn needs(mode: BridgeMode, name: &str) -> Need {
        let client = (!name.is_empty()).then(|| name.into());
        need(mode, &Caller { client, ..Caller::behind(Door::Http) })
    }

    #[test]
    fn tool_only_and_unknown_clients_get_all_and_native_readers_what_they_lack() {
        for name in ["claude-ai", "cursor-vscode", "Zed", "zed", "nobody-knows", ""] {
            assert_eq!(needs(BridgeMode::Auto, name), Need::All, "{name}");
        }
        assert_eq!(needs(BridgeMode::Auto, "claude-code"), Need::Templates);
        assert_eq!(needs(BridgeMode::Auto, "codex-mcp-client"), Need::Nothing);
        for name in
            ["gemini-cli-mcp-client", "gemini-cli-mcp-client-trove", "qwen-cli-mcp-client-x"]
        {
            assert_eq!(needs(BridgeMode::Auto, name), Need::Templates, "{name}");
        }
        assert_eq!(needs(BridgeMode::Auto, "codex-mcp-client-x"), Need::All);
        assert_eq!(needs(BridgeMode::Auto, "gemini-cli-mcp-clients"), Need::All);
    }

    #[test]
    fn a_mode_that_is_set_asks_no_table() {
        assert_eq!(needs(BridgeMode::Always, "codex-mcp-client"), Need::All);
        assert_eq!(needs(BridgeMode::Never, "zed"), Need::Nothing);
    }

    #[test]
    fn a_client_that_cuts_answers_says_where() {
        let takes = |name: &str| clients().iter().find(|c| c.name == name).and_then(|c| c.takes);
        assert_eq!(takes("codex-mcp-client").and_then(|takes| takes.tokens), Some(10_000));
        assert_eq!(takes("zed"), None);
    }

    #[test]
    fn the_table_has_a_date() {
        assert_eq!(CLIENTS_DATE.len(), "2026-11-15".len());
    }
}
