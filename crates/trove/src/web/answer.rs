//! Answers to the page: JSON, or an error that says the next step.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use serde_json::{Value, json};
use trove_core::{Class, Failure, Json, SourceError, content::escape_line, gateway::AskError};

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

/// An error of the page; `next` says what to do about it.
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

/// Why the Gateway gave nothing.
pub(super) fn explain(error: &AskError) -> Response {
    failed(&Failure::from(error.clone()), &next_steps(error))
}

/// A failure, in the class and with the status of the table.
pub(super) fn failed(failure: &Failure, next: &[&str]) -> Response {
    let class = failure.class();
    let status = StatusCode::from_u16(failure.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let candidates = failure.more().iter().find(|(key, _)| *key == "candidates");
    let candidates = candidates.map(|(_, names)| names.clone()).unwrap_or_default();
    fail(status, class.as_str(), failure.message(), json!(next), candidates)
}

const LOGS: &str = "See what the server wrote to its log, under Health.";

/// The next steps for a person at the page.
fn next_steps(error: &AskError) -> Vec<&'static str> {
    match error.class() {
        Class::InvalidUri => vec![
            "Search for a part of its name.",
            "If its server is down, see Health: what it listed before may be gone.",
        ],
        Class::NotFound => {
            vec!["The server lists it no longer, or never did; look at what it lists now."]
        }
        Class::AmbiguousUri => vec!["Choose whose you mean."],
        Class::Unauthorized => match error {
            AskError::Source { .. } => vec![
                "Log in to the server, or check its credentials in the configuration; Health has the command.",
                LOGS,
            ],
            _ => vec!["See auth://status for your roles, and the policy in Settings for the rule."],
        },
        Class::TooManyWatches => vec!["Close other pages."],
        Class::Busy => vec!["Try again in a moment."],
        Class::TooLarge => vec!["Read a smaller resource, or a part of it through a template."],
        Class::ResourceExecutionError => match error {
            AskError::Source { error: SourceError::TimedOut { .. }, .. } => {
                vec!["Try again.", "Raise the server's timeout_ms if it is slow by nature.", LOGS]
            }
            AskError::Source { error, .. } if error.is_retryable() => {
                vec!["Try again: Trove connects anew by itself.", LOGS, "Run `trove doctor`."]
            }
            _ => vec![LOGS],
        },
        _ => Vec::new(),
    }
}
