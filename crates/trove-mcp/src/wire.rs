//! JSON-RPC messages, parsed no deeper than needed to know where they go.

use std::borrow::Cow;

use bytes::{BufMut as _, Bytes, BytesMut};
use bytestring::ByteString;
use serde::Deserialize;
use trove_core::json::{Json, Object, is_deeper, items, quote};

use crate::{bounds::MAX_BATCH, payload::Payload};

/// The answer to a request.
pub(crate) type Outcome = Result<Payload, RpcError>;

/// One message, its payload still text.
#[derive(Debug)]
pub(crate) enum Message {
    Request(Request),
    Notification { method: String, params: Option<Json> },
    Response { id: Json, outcome: Result<Json, RpcError> },
}

/// A request from a peer.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// As the peer wrote it, to be echoed.
    pub(crate) id: Json,
    pub(crate) method: String,
    pub(crate) params: Option<Json>,
}

/// A JSON-RPC error.
#[derive(Debug, Clone)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Json>,
}

impl BadMessage {
    /// The error to answer with, and the request it answers if that can be told.
    pub(crate) fn answer(self) -> (Option<Json>, RpcError) {
        match self {
            BadMessage::NotJson => (None, RpcError::new(code::PARSE_ERROR, "not JSON")),
            BadMessage::TooDeep { limit } => {
                let text = format!("nested deeper than {limit} levels");
                (None, RpcError::new(code::INVALID_REQUEST, text))
            }
            BadMessage::NotRpc { id } => {
                let text = "neither request, notification nor response";
                (id, RpcError::new(code::INVALID_REQUEST, text))
            }
        }
    }
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), data: None }
    }

    pub(crate) fn with_data(self, data: Json) -> RpcError {
        RpcError { data: Some(data), ..self }
    }
}

/// The numbers of the protocol.
pub(crate) mod code {
    pub(crate) const PARSE_ERROR: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    pub(crate) const INTERNAL_ERROR: i64 = -32603;
    /// Legacy eras only; 2026-07-28 uses invalid params.
    pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;
    /// Legacy eras only: where a person must go to a page first.
    pub(crate) const URL_ELICITATION: i64 = -32042;
    pub(crate) const HEADER_MISMATCH: i64 = -32020;
    pub(crate) const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    code: f64,
    #[serde(default)]
    message: String,
}

/// Why a text is no message.
#[derive(Debug)]
pub(crate) enum BadMessage {
    NotJson,
    /// It nests deeper than it may.
    TooDeep {
        limit: usize,
    },
    /// JSON, but neither request, notification nor response; the id if there is one.
    NotRpc {
        id: Option<Json>,
    },
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses one message; its payload shares the memory of `text`.
pub(crate) fn parse(text: &Bytes) -> Result<Message, BadMessage> {
    // Some runtimes begin their output with a mark of its encoding.
    let text = &if text.starts_with(BYTE_ORDER_MARK) { text.slice(3..) } else { text.clone() };
    let text = &ByteString::try_from(text.clone()).map_err(|_| BadMessage::NotJson)?;
    let Some((whole, object)) = Object::with_json(text) else {
        return Err(match Json::parse(text.as_bytes().clone()) {
            Ok(_) => BadMessage::NotRpc { id: None },
            Err(_) => BadMessage::NotJson,
        });
    };
    let member = |key: &str| object.get_original(key).map(|value| whole.part(value));
    let is_null = |value: &Json| value.as_bytes() == &b"null"[..];
    let params = member("params").filter(|params| !is_null(params));
    let method = object.get_str("method").map(Cow::into_owned);
    let has_method = object.get("method").is_some();
    match (method, member("id"), member("result"), member("error")) {
        (Some(method), Some(id), ..) if is_id(&id) => {
            Ok(Message::Request(Request { id, method, params }))
        }
        (Some(method), None, ..) => Ok(Message::Notification { method, params }),
        (None, Some(id), _, Some(error)) if !has_method && !is_null(&error) => {
            Ok(Message::Response { id, outcome: Err(parse_error(&error)) })
        }
        (None, Some(id), Some(result), _) if !has_method => {
            Ok(Message::Response { id, outcome: Ok(result) })
        }
        (Some(_), ..) => Err(BadMessage::NotRpc { id: None }),
        (None, id, ..) => Err(BadMessage::NotRpc { id: id.filter(is_id) }),
    }
}

/// An id is a string or a number, e.g. `"a"` or `7`, never null, an array or an object.
pub(crate) fn is_id(id: &Json) -> bool {
    id.as_bytes().first().is_some_and(|b| matches!(b, b'"' | b'-' | b'0'..=b'9'))
}

fn parse_error(error: &Json) -> RpcError {
    match error.to::<ErrorBody>() {
        Ok(body) => RpcError {
            // Some servers write the code as a float.
            code: body.code as i64,
            message: body.message,
            data: error.get("data").filter(|data| data.as_bytes() != &b"null"[..]),
        },
        Err(_) => RpcError {
            code: code::INTERNAL_ERROR,
            message: "the error itself was malformed".into(),
            data: Some(error.clone()),
        },
    }
}

/// The messages of a batch, or the one message there is.
pub(crate) fn parse_batch(text: &Bytes) -> Option<Vec<Bytes>> {
    if text.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'[') {
        return None;
    }
    let items = items(std::str::from_utf8(text).ok()?)?;
    Some(items.into_iter().map(|item| text.slice_ref(item.as_bytes())).collect())
}

/// The messages of a server: one, or those of a batch, as in 2025-03-26.
pub(crate) fn messages(text: &Bytes) -> Vec<Bytes> {
    parse_batch(text).unwrap_or_else(|| vec![text.clone()])
}

/// The answers to a batch, as one.
pub(crate) fn batch(answers: &[Bytes]) -> Bytes {
    let size: usize = answers.iter().map(|answer| answer.len() + 1).sum();
    let mut all = BytesMut::with_capacity(size + 2);
    for (n, answer) in answers.iter().enumerate() {
        all.put_u8(if n == 0 { b'[' } else { b',' });
        all.put_slice(answer);
    }
    all.put_u8(b']');
    all.freeze()
}

/// Why a batch is not taken.
pub(crate) fn no_batch() -> RpcError {
    let text = format!(
        "batches exist in 2025-03-26 only, with 1 to {MAX_BATCH} messages; send one message at a time"
    );
    RpcError::new(code::INVALID_REQUEST, text)
}

/// Parses a message from a client, which may also nest deeper than `limit`.
pub(crate) fn parse_request(text: &Bytes, limit: usize) -> Result<Message, BadMessage> {
    if is_deeper(text, limit) { Err(BadMessage::TooDeep { limit }) } else { parse(text) }
}

/// A request of ours.
pub(crate) fn request(id: u64, method: &str, params: &str) -> Bytes {
    let mut out = BytesMut::with_capacity(params.len() + method.len() + 64);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.to_string().as_bytes());
    out.extend_from_slice(b",\"method\":\"");
    out.extend_from_slice(method.as_bytes());
    out.extend_from_slice(b"\",\"params\":");
    extend_one_line(&mut out, params.as_bytes());
    out.extend_from_slice(b"}");
    out.freeze()
}

/// A notification of ours.
pub(crate) fn notification(method: &str, params: Option<&str>) -> Bytes {
    let mut out = BytesMut::with_capacity(params.map_or(0, str::len) + method.len() + 48);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"");
    out.extend_from_slice(method.as_bytes());
    out.extend_from_slice(b"\"");
    if let Some(params) = params {
        out.extend_from_slice(b",\"params\":");
        extend_one_line(&mut out, params.as_bytes());
    }
    out.extend_from_slice(b"}");
    out.freeze()
}

/// The answer to a request.
pub(crate) fn response(id: &Json, outcome: &Outcome) -> Bytes {
    match outcome {
        Ok(result) => {
            let mut out = BytesMut::with_capacity(result.len() + 64);
            out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
            out.extend_from_slice(id.as_bytes());
            out.extend_from_slice(b",\"result\":");
            for piece in result.pieces() {
                extend_one_line(&mut out, piece);
            }
            out.extend_from_slice(b"}");
            out.freeze()
        }
        Err(error) => error_response(Some(id), error),
    }
}

/// An error answer; without an id if none could be read.
pub(crate) fn error_response(id: Option<&Json>, error: &RpcError) -> Bytes {
    let mut body = Object::new();
    body.set("code", error.code.to_string());
    body.set("message", quote(&error.message));
    if let Some(data) = &error.data {
        body.set("data", data.as_str().replace(['\n', '\r'], " "));
    }
    let id = id.map_or("null", Json::as_str);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", body.to_text()).into()
}

/// Line ends in JSON text stand between tokens only. Blanks there mean the same and keep a message
/// on one line, as stdio and SSE demand.
fn extend_one_line(out: &mut BytesMut, text: &[u8]) {
    let start = out.len();
    out.extend_from_slice(text);
    if memchr::memchr2(b'\n', b'\r', text).is_some() {
        for byte in &mut out[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::MAX_DEPTH;

    fn kind(text: &str) -> String {
        match parse(&Bytes::from(text.to_owned())) {
            Ok(Message::Request(r)) => format!("request {} {}", r.id.as_str(), r.method),
            Ok(Message::Notification { method, .. }) => format!("notification {method}"),
            Ok(Message::Response { id, outcome: Ok(r) }) => {
                format!("result {} {}", id.as_str(), r.as_str())
            }
            Ok(Message::Response { id, outcome: Err(e) }) => {
                format!("error {} {}", id.as_str(), e.code)
            }
            Err(BadMessage::NotJson) => "not json".into(),
            Err(BadMessage::TooDeep { .. }) => "too deep".into(),
            Err(BadMessage::NotRpc { id }) => format!("not rpc {}", id.is_some()),
        }
    }

    #[test]
    fn messages_are_told_apart() {
        let check = |text: &str, expect: &str| assert_eq!(kind(text), expect, "{text}");
        check(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, "request 1 m");
        check(r#"{"method":"m","id":"x"}"#, r#"request "x" m"#);
        check(r#"{"method":"m"}"#, "notification m");
        check(r#"{"id":7,"result":null}"#, "result 7 null");
        check(r#"{"result":{"a": 1.0},"id":7}"#, r#"result 7 {"a": 1.0}"#);
        check(r#"{"id":7,"error":{"code":-32602.0,"message":"x"}}"#, "error 7 -32602");
        check(r#"{"id":7,"error":"boom"}"#, "error 7 -32603");
        check(r#"{"id":7,"error":null,"result":1}"#, "result 7 1");
        check(r#"{"id":7}"#, "not rpc true");
        check(r#"{"id":null,"method":"m"}"#, "not rpc false");
        check(r#"{"id":[1],"method":"m"}"#, "not rpc false");
        check("[]", "not rpc false");
        check("hello", "not json");
        check("{\"id\":1", "not json");
    }

    #[test]
    fn a_message_is_always_one_line() {
        let result = Json::parse("{\n\"a\":\r\n\"b\\n\"}").unwrap();
        let line = response(&Json::parse("1").unwrap(), &Ok(result.into()));
        assert_eq!(line, &br#"{"jsonrpc":"2.0","id":1,"result":{ "a":  "b\n"}}"#[..]);
    }

    #[test]
    fn t50_fuzz_messages() {
        trove_fuzz::feed("jsonrpc", |input| {
            let text = Bytes::copy_from_slice(input);
            let _ = parse_batch(&text);
            let shape = |message: Result<Message, BadMessage>| match message {
                Ok(Message::Request(request)) => {
                    assert!(serde_json::from_str::<serde_json::Value>(request.id.as_str()).is_ok());
                    1
                }
                Ok(Message::Notification { .. }) => 2,
                Ok(Message::Response { outcome, .. }) => 3 + u8::from(outcome.is_ok()),
                Err(BadMessage::NotJson) => 5,
                Err(BadMessage::TooDeep { .. }) => 6,
                Err(BadMessage::NotRpc { id }) => 7 + u8::from(id.is_some()),
            };
            (shape(parse(&text)), shape(parse_request(&text, MAX_DEPTH)))
        });
    }
}
