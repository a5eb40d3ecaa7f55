//! The answers of the HTTP door: results, and why a request is not let in or is none.
//!
//! The texts of servers go out without being copied.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body::{Frame, SizeHint};
use trove_core::{Class, Json};

use super::{guard::Refusal, limits::TooMuch};
use crate::{
    payload::WORTH_SPARING,
    wire::{self, Outcome, RpcError, code},
};

pub(super) fn respond(status: StatusCode, body: Option<Body>) -> Response {
    let has_body = body.is_some();
    let mut response = Response::new(body.unwrap_or_default());
    *response.status_mut() = status;
    if has_body {
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    response
}

pub(super) fn bad_request(id: Option<&Json>, error: &RpcError) -> Response {
    respond(StatusCode::BAD_REQUEST, Some(Body::from(wire::error_response(id, error))))
}

/// Tells a caller who asks too much when to come back, in the words of HTTP and in ours.
pub(super) fn slow_down(id: Option<&Json>, too_much: &TooMuch) -> Response {
    let body = wire::error_response(id, &too_much_error(too_much));
    let mut response = respond(StatusCode::TOO_MANY_REQUESTS, Some(Body::from(body)));
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(too_much.seconds()));
    response
}

/// Tells a caller that there is no memory for the request, and when to send it again.
pub(super) fn no_room(too_much: &TooMuch) -> Response {
    let mut response = slow_down(None, too_much);
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}

pub(super) fn too_much_error(too_much: &TooMuch) -> RpcError {
    let wait = too_much.retry_after.as_millis().max(1);
    let text = format!("{}; try again in {wait} ms", too_much.why);
    let error = RpcError::new(Class::TooManyRequests.rpc(true), text);
    match Json::parse(format!("{{\"retryAfterMs\":{wait}}}")) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}

/// Turns a request away before it is known to be JSON-RPC, in words.
pub(super) fn refuse(status: StatusCode, why: &'static str) -> Response {
    turn_away(Refusal::new(status, why))
}

/// A refusal in the words of the guard.
pub(super) fn turn_away(refusal: Refusal) -> Response {
    let error = RpcError::new(code::INVALID_REQUEST, refusal.why);
    let body = Body::from(wire::error_response(None, &error));
    let mut response = respond(refusal.status, Some(body));
    let challenge = refusal.challenge.and_then(|text| HeaderValue::from_str(&text).ok());
    if let Some(challenge) = challenge {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// The body of an answer.
pub(super) fn answer(id: &Json, outcome: &Outcome) -> Body {
    match outcome {
        Ok(result) if result.len() >= WORTH_SPARING => {
            let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", id.as_str());
            let mut parts = VecDeque::from([Bytes::from(head)]);
            parts.extend(result.pieces().iter().cloned());
            parts.push_back(Bytes::from_static(b"}"));
            Body::new(Parts(parts))
        }
        outcome => Body::from(wire::response(id, outcome)),
    }
}

/// Bytes that go out one after another.
struct Parts(VecDeque<Bytes>);

impl http_body::Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|part| part.len() as u64).sum())
    }
}
