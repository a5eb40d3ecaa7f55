//! What a Source's refusal means. Its own word decides, where it can be told.
//!
//! "Not found" comes by number (-32002, or -32602 with the URI in its data) and by words under
//! any number.

use super::SourceError;

/// What is told in place of a cause that is not for the caller.
pub(crate) const WITHHELD: &str = "withheld; see the gateway's log";

/// What an error of a Source means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
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

impl SourceError {
    /// Whether it says that nothing is there, in whatever words.
    pub fn means_not_found(&self) -> bool {
        of(self) == Meaning::NotFound
    }

    /// Whether asking again later may help whoever asked.
    pub fn may_pass(&self) -> bool {
        match of(self) {
            Meaning::Busy(_) | Meaning::Cancelled => true,
            Meaning::Failed { is_retryable } => is_retryable,
            Meaning::NotFound | Meaning::Forbidden | Meaning::TooLarge(_) => false,
        }
    }

    /// The same without the Source's own words; nothing where it has none.
    pub fn without_cause(&self) -> Option<SourceError> {
        let withheld = || WITHHELD.to_owned();
        match self {
            SourceError::Refused { .. } if self.means_not_found() => Some(SourceError::NotFound),
            SourceError::Refused { code, .. } => {
                Some(SourceError::Refused { code: *code, message: withheld(), data: None })
            }
            SourceError::Unavailable { .. } => Some(SourceError::Unavailable { state: withheld() }),
            SourceError::Malformed { .. } => Some(SourceError::Malformed { what: withheld() }),
            SourceError::Lost
            | SourceError::TimedOut { .. }
            | SourceError::NotFound
            | SourceError::TooLarge { .. }
            | SourceError::Busy { .. }
            | SourceError::NotOffered { .. } => None,
        }
    }

    /// Whether it says that what was asked for is wrong. Of a read that is the URI.
    pub(crate) fn blames_arguments(&self) -> bool {
        matches!(self, SourceError::Refused { code: INVALID_PARAMS, .. })
    }
}

const METHOD_NOT_FOUND: i64 = -32601;
const RESOURCE_NOT_FOUND: i64 = -32002;
const INVALID_PARAMS: i64 = -32602;
const CANCELLED: i64 = -32800;
const FORBIDDEN: [i64; 3] = [401, 403, -32003];

/// What it means.
pub(crate) fn of(error: &SourceError) -> Meaning {
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

/// Whether words, in small letters, say that nothing is there.
pub(crate) fn says_not_found(text: &str) -> bool {
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
