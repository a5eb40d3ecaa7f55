//! Messages as bytes: input is parsed only as far as needed, output is text built by hand.
//!
//! Results are raw JSON text rather than values, because a value would lose number formats and escapes.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The key of the protocol version in a request's `_meta`, which marks the request as modern.
pub(super) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of the client's capabilities in a request's `_meta`.
pub(super) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key under which a notification names the listen request it belongs to.
pub(super) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

pub(super) const MODERN_VERSION: &str = "2026-07-28";
pub(super) const LEGACY_VERSIONS: [&str; 4] =
    ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// How many filler bytes are sent at a time.
const FILL_CHUNK: usize = 64 * 1024;

/// One message from the client, with its id and params as they were spelled.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Incoming {
    pub id: Option<Box<RawValue>>,
    pub method: Option<String>,
    pub params: Option<Box<RawValue>>,
}

impl Incoming {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, RpcError> {
        serde_json::from_slice(bytes)
            .map_err(|e| RpcError::new(-32700, format!("parse error: {e}")))
    }

    /// The params as a value; `null` when there are none.
    pub(super) fn params(&self) -> Value {
        let raw = self.params.as_ref().map_or("null", |raw| raw.get());
        serde_json::from_str(raw).unwrap_or_default()
    }
}

/// A JSON-RPC error, and the HTTP status that goes with it in the modern era.
#[derive(Debug)]
pub(super) struct RpcError {
    pub code: i32,
    pub message: String,
    pub data: Option<Value>,
    pub status: u16,
}

impl RpcError {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        let status = match code {
            -32601 => 404,
            -32700 | -32600 | -32022..=-32020 => 400,
            _ => 200,
        };
        Self { code, message: message.into(), data: None, status }
    }

    pub(super) fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        Self::new(-32601, format!("method not found: {method}"))
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// The whole message that carries this error.
    pub(super) fn message(&self, id: &str) -> String {
        let data = self.data.as_ref().map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
        let (code, text) = (self.code, quote(&self.message));
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{text}{data}}}}}"#)
    }
}

/// Bytes to send as one message, perhaps with a filler in the middle that never exists in memory as a whole.
#[derive(Debug)]
pub(super) struct Frame {
    head: Vec<u8>,
    fill: usize,
    tail: Vec<u8>,
    /// The bytes are sent as they stand.
    is_raw: bool,
    /// Whether the message is ended as its transport demands.
    pub ended: bool,
    /// Whether the message answers its request, so that nothing follows it.
    pub last: bool,
    /// The HTTP status to answer with.
    pub status: u16,
}

impl Frame {
    /// A message that is followed by others.
    pub(super) fn message(json: impl Into<Vec<u8>>) -> Self {
        Self {
            head: json.into(),
            fill: 0,
            tail: Vec::new(),
            is_raw: false,
            ended: true,
            last: false,
            status: 200,
        }
    }

    /// Bytes for a stream, with the ends of their lines or events.
    pub(super) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { is_raw: true, ended: false, ..Self::message(bytes) }
    }

    /// A message that ends its exchange.
    pub(super) fn answer(json: impl Into<Vec<u8>>) -> Self {
        Self { last: true, ..Self::message(json) }
    }

    pub(super) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// An answer of `size` bytes, made by filling the gap between two parts of a message.
    pub(super) fn stretched(head: &str, tail: &str, size: usize) -> Self {
        let fill = size.saturating_sub(head.len() + tail.len());
        Self { fill, tail: tail.into(), ..Self::answer(head) }
    }

    /// Filler that is no message and has no end.
    pub(super) fn endless(size: usize) -> Self {
        Self { fill: size, ended: false, ..Self::answer("") }
    }

    /// The bytes in pieces of bounded size, between a prefix and a suffix.
    pub(super) fn pieces(
        self,
        prefix: &'static str,
        suffix: &'static str,
    ) -> impl Iterator<Item = Bytes> + Send {
        let chunk = Bytes::from(vec![b'x'; FILL_CHUNK.min(self.fill)]);
        let rest = chunk.slice(..self.fill % FILL_CHUNK);
        let whole = std::iter::repeat_n(chunk, self.fill / FILL_CHUNK);
        let prefix = if self.is_raw { "" } else { prefix };
        let suffix = if self.ended { suffix } else { "" };
        [Bytes::from_static(prefix.as_bytes()), self.head.into()]
            .into_iter()
            .chain(whole)
            .chain([rest, self.tail.into(), Bytes::from_static(suffix.as_bytes())])
            .filter(|piece| !piece.is_empty())
    }
}

/// A successful answer.
pub(super) fn result_message(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A notification.
pub(super) fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// Adds members to an object given as text.
pub(super) fn with_members(object: &str, members: &str) -> String {
    let body = object.strip_suffix('}').unwrap_or(object);
    let comma = if body.ends_with('{') { "" } else { "," };
    format!("{body}{comma}{members}}}")
}

/// A JSON string literal.
pub(super) fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretched_frame_has_the_size_asked_for() {
        for size in [4, 100, FILL_CHUNK, FILL_CHUNK + 4, 3 * FILL_CHUNK + 17] {
            let bytes: Vec<u8> =
                Frame::stretched("<<", ">>", size).pieces("", "").flatten().collect();
            assert_eq!(bytes.len(), size);
            assert!(bytes.starts_with(b"<<") && bytes.ends_with(b">>"));
        }
    }

    #[test]
    fn members_join_an_object_with_or_without_others() {
        assert_eq!(with_members("{}", r#""a":1"#), r#"{"a":1}"#);
        assert_eq!(with_members(r#"{"b":1.0}"#, r#""a":1"#), r#"{"b":1.0,"a":1}"#);
    }
}
