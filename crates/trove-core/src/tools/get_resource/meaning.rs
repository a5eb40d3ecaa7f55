//! What a Source's refusal means. Its own word decides, where it can be told.
//!
//! "Not found" comes in three forms: by number (-32002, or -32602 with the URI in its
//! data), by words under any number, and as a success whose text is an error.

use super::Reading;
use crate::{
    catalogue::{RoutedBy, Snapshot},
    json::{Object, items},
    source::SourceError,
};

/// The longest text that is taken for an error and not for a document.
const MAX_SAID: usize = 400;
/// The shortest value by which such a text is known to speak of what was asked for.
const LEAST_VALUE: usize = 2;

/// What an error of a Source means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    NotFound,
    Forbidden,
    TooLarge(usize),
    Busy(usize),
    Cancelled,
    /// Whether asking again may help.
    Failed {
        is_retryable: bool,
    },
}

const METHOD_NOT_FOUND: i64 = -32601;
const RESOURCE_NOT_FOUND: i64 = -32002;
const INVALID_PARAMS: i64 = -32602;
const CANCELLED: i64 = -32800;
const FORBIDDEN: [i64; 3] = [401, 403, -32003];

pub(super) fn of(error: &SourceError) -> Meaning {
    match error {
        SourceError::NotFound => Meaning::NotFound,
        SourceError::TooLarge { limit } => Meaning::TooLarge(*limit),
        SourceError::Busy { limit } => Meaning::Busy(*limit),
        SourceError::Refused { code, message, data } => {
            let text = message.to_ascii_lowercase();
            // With a `uri` in its data this is how 2026-07-28 says that nothing is there.
            let names_uri = data.as_ref().is_some_and(|data| data.get_str("uri").is_some());
            match *code {
                // It cannot read at all.
                METHOD_NOT_FOUND => Meaning::Failed { is_retryable: false },
                RESOURCE_NOT_FOUND => Meaning::NotFound,
                CANCELLED => Meaning::Cancelled,
                code if FORBIDDEN.contains(&code) => Meaning::Forbidden,
                INVALID_PARAMS if names_uri => Meaning::NotFound,
                _ if says_forbidden(&text) => Meaning::Forbidden,
                _ if says_not_found(&text) => Meaning::NotFound,
                _ => Meaning::Failed { is_retryable: says_timeout(&text) },
            }
        }
        SourceError::Unavailable { state } if is_denied(state) => Meaning::Forbidden,
        SourceError::Unavailable { state } => {
            Meaning::Failed { is_retryable: !is_misconfigured(state) }
        }
        SourceError::Lost
        | SourceError::TimedOut { .. }
        | SourceError::NotOffered { .. }
        | SourceError::Malformed { .. } => Meaning::Failed { is_retryable: error.is_retryable() },
    }
}

fn says_not_found(text: &str) -> bool {
    // What is missing is then not the resource but something the server needs.
    let is_other = ["method not found", "command not found", "module not found", "no module"];
    let words = [
        "not found",
        "unknown resource",
        "no such",
        "does not exist",
        "doesn't exist",
        "enoent",
        "no matching content found",
        "no content found",
    ];
    has_any(text, &words) && !has_any(text, &is_other)
}

fn says_forbidden(text: &str) -> bool {
    let words = [
        "unauthorized",
        "forbidden",
        "permission denied",
        "access denied",
        "not allowed",
        "eacces",
    ];
    has_any(text, &words) && !text.contains("method not allowed")
}

fn says_timeout(text: &str) -> bool {
    has_any(text, &["timed out", "timeout", "temporarily unavailable", "econnreset"])
}

/// How the state of a server tells that it does not let us in.
fn is_denied(state: &str) -> bool {
    has_any(state, &["HTTP status 401", "HTTP status 403"])
}

/// How the state of a server tells that it cannot work as it is configured.
fn is_misconfigured(state: &str) -> bool {
    let words = [
        "is not on the PATH",
        "there is no program",
        "may not be run",
        "correct `cwd`",
        "could not be started",
        "is not set",
        "correct it in the configuration",
    ];
    has_any(state, &words) || state == "stopped" || state == "it was removed"
}

fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|words| text.contains(words))
}

/// The error that a success is in truth. Only what nobody lists is doubted, since the
/// text of a listed resource is data whatever it says; and only a short line that says
/// of what was asked for that it is not there.
pub(super) fn reported_as_text(snapshot: &Snapshot, reading: &Reading) -> Option<String> {
    let body = &reading.reply.body;
    if reading.by == RoutedBy::Listing || body.as_bytes().len() > 4 * MAX_SAID {
        return None;
    }
    let local = reading.local.as_str();
    if snapshot.listed(&reading.source, local).is_some() {
        return None;
    }
    let contents = body.get("contents")?;
    let [one] = items(contents.as_str())?[..] else { return None };
    let content = Object::parse(one)?;
    let is_plain = content.get_str("mimeType").is_none_or(|mime| mime.starts_with("text/plain"));
    let text = content.get_str("text")?;
    let said = text.trim();
    if !is_plain || said.len() > MAX_SAID || said.contains('\n') {
        return None;
    }
    let lower = said.to_ascii_lowercase();
    let begins = ["error: resource not found", "resource not found", "unknown resource"];
    let is_plain_word = begins.iter().any(|words| lower.starts_with(words));
    let speaks_of_it = || {
        let values = snapshot.template_of(&reading.source, local).map(|(_, values)| values);
        let values: Vec<String> =
            values.iter().flat_map(|all| all.iter()).map(|(_, value)| value.to_string()).collect();
        said.contains(local) || values.iter().any(|value| names(said, value))
    };
    (says_not_found(&lower) && (is_plain_word || speaks_of_it())).then(|| said.to_owned())
}

/// Whether a sentence names a value: between quotes, or as its last word.
fn names(said: &str, value: &str) -> bool {
    let quoted = |quote: char| said.contains(&format!("{quote}{value}{quote}"));
    let is_last = || said.trim_end_matches('.').ends_with(&format!(" {value}"));
    value.len() >= LEAST_VALUE && (['\'', '"', '`'].into_iter().any(quoted) || is_last())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn refused(code: i64, message: &str, data: Option<&str>) -> Meaning {
        let data = data.map(|text| Json::parse(text.to_owned()).unwrap());
        of(&SourceError::Refused { code, message: message.to_owned(), data })
    }

    #[test]
    fn every_way_to_say_not_found_is_understood() {
        for (code, message) in [
            (-32002, "Resource not found"),
            (-32002, "x"),
            (-32602, "Unknown resource: a://b"),
            (0, "Unknown resource: a://b"),
            (-32603, "ENOENT: no such file or directory"),
        ] {
            assert_eq!(refused(code, message, None), Meaning::NotFound, "{code} {message}");
        }
        assert_eq!(refused(-32602, "bad", Some(r#"{"uri":"a://b"}"#)), Meaning::NotFound);
    }

    #[test]
    fn what_is_not_about_the_resource_is_a_failure() {
        for (code, message) in [
            (-32601, "Method not found"),
            (-32602, "bad"),
            (-32603, "sh: git: command not found"),
            (-32603, "ModuleNotFoundError: No module named 'x'"),
        ] {
            let failed = Meaning::Failed { is_retryable: false };
            assert_eq!(refused(code, message, None), failed, "{message}");
        }
        let timed_out = refused(-32603, "upstream timed out", None);
        assert_eq!(timed_out, Meaning::Failed { is_retryable: true });
    }

    #[test]
    fn a_refusal_is_known_by_number_by_words_and_by_status() {
        assert_eq!(refused(401, "", None), Meaning::Forbidden);
        assert_eq!(refused(-32603, "Access denied - path outside", None), Meaning::Forbidden);
        assert_eq!(refused(-32603, "Forbidden", None), Meaning::Forbidden);
        let state = "waiting to try again; HTTP status 403: no".to_owned();
        assert_eq!(of(&SourceError::Unavailable { state }), Meaning::Forbidden);
        assert_eq!(refused(-32800, "cancelled", None), Meaning::Cancelled);
    }

    #[test]
    fn a_server_that_cannot_start_is_not_worth_asking_again() {
        for (state, is_retryable) in [
            ("waiting to try again; `npx` is not on the PATH; install it", false),
            ("waiting to try again; there is no program /opt/x; install it", false),
            ("still connecting; it has not answered yet", true),
            ("stopped", false),
        ] {
            let error = SourceError::Unavailable { state: state.to_owned() };
            assert_eq!(of(&error), Meaning::Failed { is_retryable }, "{state}");
        }
    }
}
