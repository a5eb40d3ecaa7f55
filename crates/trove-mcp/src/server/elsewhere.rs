//! Scripts of pages elsewhere that may ask here. Their browser wants to hear it from us before it
//! sends a request, and again before it shows them the answer.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{HeaderValue, Method, StatusCode, header};

use super::{
    guard::Guard,
    responses::{respond, turn_away},
};

const METHODS: &str = "GET, POST, DELETE";
/// The headers that a client sends beside those that every script may.
const SENT: &str = "authorization, content-type, accept, last-event-id, mcp-session-id, \
                    mcp-protocol-version, mcp-method, mcp-name";
/// The headers that a client reads beside those that every script may.
const READ: &str = "mcp-session-id, www-authenticate, retry-after";
/// For how many seconds a browser need not ask again.
const REMEMBERED: &str = "600";

/// Says so to the pages that are listed; for all others nothing changes.
pub(super) async fn tell(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let Some(origin) = guard.listed_origin(request.headers()) else {
        return next.run(request).await;
    };
    let mut response = match is_first_question(&request) {
        true => may_it(&guard, &request),
        false => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READ));
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    response
}

/// Whether a browser asks on its own whether the script may.
fn is_first_question(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn may_it(guard: &Guard, request: &Request) -> Response {
    if let Err(refusal) = guard.admit_place(request.headers(), "/mcp") {
        return turn_away(refusal);
    }
    let mut response = respond(StatusCode::NO_CONTENT, None);
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (header::ACCESS_CONTROL_MAX_AGE, REMEMBERED),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
