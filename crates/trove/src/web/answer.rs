//! Answers to the page: JSON, or an error that says the next step.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use serde_json::{Value, json};
use trove_core::{Json, PublicUri, SourceError, content::escape_line, gateway::AskError};

/// An answer, or why there is none.
pub(super) type Answer = Result<Response, Response>;

/// JSON that no cache may keep.
pub(super) fn json_of(value: &impl Serialize) -> Response {
    written(StatusCode::OK, Json::of(value).as_bytes().clone())
}

fn written(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// An error of ours; `next` says what to do about it.
pub(super) fn refuse(status: StatusCode, message: &str, next: &[&str]) -> Response {
    fail(status, "Refused", message, json!(next), Value::Null)
}

/// Something the page asked for without naming it.
pub(super) fn missing(name: &str) -> Response {
    let message = format!("`{name}` is missing");
    refuse(StatusCode::BAD_REQUEST, &message, &["Reload the page."])
}

fn fail(status: StatusCode, error: &str, message: &str, next: Value, more: Value) -> Response {
    let message = escape_line(message);
    let body = json!({ "error": error, "message": message, "next": next, "candidates": more });
    written(status, body.to_string())
}

/// Why the Gateway gave nothing, in the words of the page.
pub(super) fn explain(error: &AskError) -> Response {
    let message = error.to_string();
    let (status, class, next) = match error {
        AskError::NotFound { .. } => (
            StatusCode::NOT_FOUND,
            "NotFound",
            vec![
                "Search for a part of its name.",
                "If its server is down, see Health: what it listed before may be gone.",
            ],
        ),
        AskError::Ambiguous { .. } => {
            (StatusCode::CONFLICT, "Ambiguous", vec!["Choose whose you mean."])
        }
        AskError::Forbidden { .. } => (
            StatusCode::FORBIDDEN,
            "Forbidden",
            vec!["See auth://status for your roles, and the policy in Settings for the rule."],
        ),
        AskError::UnknownName { .. } => (StatusCode::NOT_FOUND, "NotFound", vec![]),
        AskError::BadCursor(_) | AskError::BadArguments { .. } => {
            (StatusCode::BAD_REQUEST, "BadArguments", vec![])
        }
        AskError::TooManyWatches { .. } => {
            (StatusCode::TOO_MANY_REQUESTS, "TooManyWatches", vec!["Close other pages."])
        }
        AskError::Source { error, uri, .. } => of_source(error, uri.as_ref()),
    };
    let candidates = match error {
        AskError::Ambiguous { candidates, .. } => {
            json!(candidates.iter().map(ToString::to_string).collect::<Vec<_>>())
        }
        _ => Value::Null,
    };
    fail(status, class, &message, json!(next), candidates)
}

fn of_source(
    error: &SourceError,
    uri: Option<&PublicUri>,
) -> (StatusCode, &'static str, Vec<&'static str>) {
    let is_absent = |uri: &PublicUri| error.means_absence_of(uri.as_str());
    if uri.map_or_else(|| error.means_not_found(), is_absent) {
        let next = "The server lists it no longer, or never did; look at what it lists now.";
        return (StatusCode::NOT_FOUND, "NotFound", vec![next]);
    }
    let logs = "See what the server wrote to its log, under Health.";
    match error {
        SourceError::TimedOut { .. } => (
            StatusCode::GATEWAY_TIMEOUT,
            "TimedOut",
            vec!["Try again.", "Raise the server's timeout_ms if it is slow by nature.", logs],
        ),
        SourceError::Busy { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "Busy", vec!["Try again in a moment."])
        }
        SourceError::TooLarge { .. } => (
            StatusCode::BAD_GATEWAY,
            "TooLarge",
            vec!["Read a smaller resource, or a part of it through a template."],
        ),
        SourceError::Unavailable { .. } | SourceError::Lost => (
            StatusCode::BAD_GATEWAY,
            "Unavailable",
            vec!["Try again: Trove connects anew by itself.", logs, "Run `trove doctor`."],
        ),
        SourceError::NotFound
        | SourceError::Refused { .. }
        | SourceError::NotOffered { .. }
        | SourceError::Malformed { .. } => (StatusCode::BAD_GATEWAY, "SourceError", vec![logs]),
    }
}
