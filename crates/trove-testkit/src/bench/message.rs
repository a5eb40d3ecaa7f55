//! JSON-RPC messages as text: made cheaply, and checked without reading large bodies whole.

use std::borrow::Cow;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// The protocol of clients that begin with `initialize`.
pub(super) const LEGACY: &str = "2025-11-25";
/// The protocol of clients whose every request stands alone.
pub(super) const MODERN: &str = "2026-07-28";

/// How much of an answer is looked at to tell a result from an error.
const HEAD: usize = 256;

/// How a tool says that it failed.
const FAILED: &str = "\"isError\":true";

/// Which protocol a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

/// A request as text.
pub(super) fn request(era: Era, id: u64, method: &str, mut params: Value) -> String {
    if era == Era::Modern {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": { "name": "mcp-bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A notification without parameters, as text.
pub(super) fn notification(method: &str) -> String {
    json!({ "jsonrpc": "2.0", "method": method }).to_string()
}

/// The method and parameters of the first request.
pub(super) fn hello(era: Era) -> (&'static str, Value) {
    match era {
        Era::Legacy => {
            let client = json!({ "name": "mcp-bench", "version": "1" });
            let params =
                json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client });
            ("initialize", params)
        }
        Era::Modern => ("server/discover", json!({})),
    }
}

#[derive(Deserialize)]
struct Answer<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

/// The id of an answer; `None` for a message of another kind.
pub(super) fn id(message: &[u8]) -> Option<u64> {
    let head = head(message);
    // A large body need not be parsed for an id that stands in front of it.
    let in_front = head.find("\"id\":").filter(|at| {
        ["\"result\"", "\"error\"", "\"method\"", "\"params\""]
            .iter()
            .all(|key| head.find(key).is_none_or(|other| other > *at))
    });
    if let Some(at) = in_front {
        let digits = head[at + 5..].trim_start();
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        return digits[..end].parse().ok().filter(|_| !head.contains("\"method\""));
    }
    serde_json::from_slice::<Answer>(message).ok()?.id
}

/// Fails unless the message is a result of at least that many bytes.
pub(super) fn check(message: &[u8], least: usize) -> anyhow::Result<()> {
    let head = head(message);
    let is_result = match (head.find("\"result\""), head.find("\"error\"")) {
        (Some(result), error) => error.is_none_or(|error| result < error),
        (None, Some(_)) => false,
        (None, None) => serde_json::from_slice::<Answer>(message)?.result.is_some(),
    };
    if !is_result {
        bail!("answered with an error: {head}");
    }
    if message.len() < least {
        bail!("{} bytes where at least {least} were due: {head}", message.len());
    }
    Ok(())
}

/// Whether the answer of a tool says that it failed: the mark stands at either end.
pub(super) fn is_refused(message: &[u8]) -> bool {
    let tail = &message[message.len().saturating_sub(HEAD)..];
    [head(message), String::from_utf8_lossy(tail)].iter().any(|part| part.contains(FAILED))
}

/// A part of a list of resources.
pub(super) struct Page {
    pub(super) entries: usize,
    pub(super) next: Option<String>,
}

/// Reads the answer to `resources/list`.
pub(super) fn page(message: &[u8]) -> anyhow::Result<Page> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct List {
        resources: Vec<serde::de::IgnoredAny>,
        next_cursor: Option<String>,
    }
    #[derive(Deserialize)]
    struct Answered {
        result: List,
    }
    let answer: Answered = serde_json::from_slice(message)
        .with_context(|| format!("no list of resources: {}", head(message)))?;
    Ok(Page { entries: answer.result.resources.len(), next: answer.result.next_cursor })
}

fn head(message: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&message[..message.len().min(HEAD)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_wherever_it_stands() {
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":17,"result":{}}"#), Some(17));
        assert_eq!(id(br#"{"result":{"id":3},"id":18,"jsonrpc":"2.0"}"#), Some(18));
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#), None);
        assert_eq!(id(br#"{"jsonrpc":"2.0","method":"notifications/x"}"#), None);
    }

    #[test]
    fn an_error_and_a_short_answer_do_not_pass() {
        assert!(check(br#"{"id":1,"result":{"error":1}}"#, 10).is_ok());
        assert!(check(br#"{"id":1,"result":{}}"#, 1000).is_err());
        assert!(check(br#"{"id":1,"error":{"code":1,"data":{"result":1}}}"#, 0).is_err());
    }
}
