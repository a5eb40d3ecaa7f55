//! What a Source's refusal means. Its own word decides, where it can be told.
//!
//! "Not found" comes by number (-32002, or -32602 with the URI in its data) and by words. Under a
//! number that says nothing of the question, words count only where they speak of what was asked
//! for: a server that misses a host, a column or a file of its own has failed.

use std::ops::Range;

use super::SourceError;
use crate::uri::decode_once;

/// What the state of a server says that does not let us in: it has heard nothing of who we are,
/// or does not believe it.
pub const ASKS_WHO: &str = "the server asks who you are";
pub const NOT_BELIEVED: &str = "the server does not take the `Authorization` header";

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

    /// Whether it says that there is nothing of this name.
    pub fn means_absence_of(&self, uri: &str) -> bool {
        of_read(self, Some(uri)) == Meaning::NotFound
    }

    /// Whether asking again later may help whoever asked.
    pub fn may_pass(&self) -> bool {
        match of(self) {
            Meaning::Busy(_) | Meaning::Cancelled => true,
            Meaning::Failed { is_retryable } => is_retryable,
            Meaning::NotFound | Meaning::Forbidden | Meaning::TooLarge(_) => false,
        }
    }

    /// The same without the Source's own words; nothing where it has none. `uri` is what it was
    /// asked for, where that is one resource.
    pub fn without_cause(&self, uri: Option<&str>) -> Option<SourceError> {
        let withheld = || WITHHELD.to_owned();
        match self {
            SourceError::Refused { .. } if of_read(self, uri) == Meaning::NotFound => {
                Some(SourceError::NotFound)
            }
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
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;
const INVALID_PARAMS: i64 = -32602;
const CANCELLED: i64 = -32800;
/// The shortest part of a URI by which a text is known to speak of it.
const LEAST_NAME: usize = 2;
/// The shortest part of a URI that may say what kind of thing it is.
const LEAST_NOUN: usize = 3;
const TOO_MANY_REQUESTS: i64 = 429;
/// Under these numbers whatever is missing is what was asked for.
const TELLING: [i64; 2] = [INVALID_PARAMS, 404];
const FORBIDDEN: [i64; 3] = [401, 403, -32003];

/// What it means.
pub(crate) fn of(error: &SourceError) -> Meaning {
    of_read(error, None)
}

/// What it means of a read of `uri`.
pub(crate) fn of_read(error: &SourceError, uri: Option<&str>) -> Meaning {
    match error {
        SourceError::NotFound => Meaning::NotFound,
        SourceError::TooLarge { limit } => Meaning::TooLarge(*limit),
        SourceError::Busy { limit } => Meaning::Busy(*limit),
        SourceError::Refused { code, message, data } => {
            let text = message.to_ascii_lowercase();
            // What it was asked for may hold any words.
            let said = without(&text, uri);
            // With a `uri` in its data this is how 2026-07-28 says that nothing is there.
            let names_uri = data.as_ref().is_some_and(|data| data.get_str("uri").is_some());
            match *code {
                // It cannot read at all.
                METHOD_NOT_FOUND => Meaning::Failed { is_retryable: false },
                RESOURCE_NOT_FOUND => Meaning::NotFound,
                CANCELLED => Meaning::Cancelled,
                code if FORBIDDEN.contains(&code) => Meaning::Forbidden,
                INVALID_PARAMS if names_uri => Meaning::NotFound,
                TOO_MANY_REQUESTS => Meaning::Failed { is_retryable: true },
                _ if says_forbidden(&said) => Meaning::Forbidden,
                code if says_not_found(&said)
                    && (TELLING.contains(&code) || speaks_of(&text, uri)) =>
                {
                    Meaning::NotFound
                }
                _ => Meaning::Failed { is_retryable: says_later(&said) },
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

/// Stands for what was asked for.
const IT: &str = "\u{fffc}";

/// A URI as servers may write it, in small letters.
fn spellings(uri: &str) -> [Option<String>; 2] {
    let uri = uri.to_ascii_lowercase();
    let plain = decode_once(&uri).filter(|plain| *plain != uri);
    [Some(uri), plain]
}

/// A text, in small letters, without the words of a URI.
fn without(text: &str, uri: Option<&str>) -> String {
    let spellings = uri.map(spellings).into_iter().flatten().flatten();
    spellings.filter(|uri| !uri.is_empty()).fold(text.to_owned(), |text, uri| {
        if text.contains(&uri) { text.replace(&uri, IT) } else { text }
    })
}

/// Whether words that say that something is not there speak of what was asked for: they name it,
/// or they say nothing else.
fn speaks_of(text: &str, uri: Option<&str>) -> bool {
    let Some(uri) = uri else { return !is_its_own(text, None) && says_only(text, None) };
    spellings(uri).iter().flatten().any(|uri| {
        // Behind a name, as in `error reading x: why`, stands the reason; it may be another thing.
        let name = place_of(text, uri).filter(|name| !says_not_found(&text[..name.start]));
        let reason = name.and_then(|name| {
            let rest = text[name.end..].trim_start_matches(['\'', '"', '`', ')']);
            rest.strip_prefix(": ")
        });
        let said = reason.unwrap_or(text);
        let is_named = place_of(said, uri).is_some() || says_nothing_else(said);
        !is_its_own(said, Some(uri)) && (is_named || says_only(said, Some(uri)))
    })
}

/// Whether a reason says only that something is not there, without a word on what.
fn says_nothing_else(said: &str) -> bool {
    let said = said.trim_end_matches('.').trim_start_matches("it ").trim_start_matches("was ");
    ["not found", "does not exist", "doesn't exist"].contains(&said)
}

/// Whether what is missing is something the server works with.
fn is_its_own(text: &str, uri: Option<&str>) -> bool {
    let is_asked_for = |what: &str| {
        let missing = text.split_once(what).map_or("", |(_, rest)| rest);
        uri.is_some_and(|uri| missing.trim_matches([':', ' ', '.', '"', '\'']) == last_part(uri))
    };
    let lacks = |what: &&str| text.contains(*what) && !is_asked_for(what);
    text.contains("no such host") || ["no such column", "no such table"].iter().any(lacks)
}

fn last_part(uri: &str) -> &str {
    uri.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(uri)
}

/// Where a text names a URI: in full, or by its last part, which a file may have for its name.
fn place_of(text: &str, uri: &str) -> Option<Range<usize>> {
    let place = |name: &str, at: usize| at..at + name.len();
    if let Some(at) = text.find(uri).filter(|_| !uri.is_empty()) {
        return Some(place(uri, at));
    }
    let last = last_part(uri);
    let is_whole = |at: &usize| {
        let (before, after) = (&text[..*at], &text[at + last.len()..]);
        let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let begins = !before.ends_with(is_part) && !before.ends_with('.');
        let is_file = before.ends_with(['/', '\\', '\'', '"', '`']);
        let mut following = after.chars();
        begins
            && match (following.next(), following.next()) {
                (Some('.'), Some(c)) if is_part(c) => is_file,
                (Some('/' | '\\'), _) => false,
                (Some(c), _) => !is_part(c),
                (None, _) => true,
            }
    };
    // A single letter stands in many a sentence, a number does not.
    let tells = last.len() >= LEAST_NAME || last.bytes().all(|byte| byte.is_ascii_digit());
    if !tells || last.is_empty() {
        return None;
    }
    let mut places = text.match_indices(last).map(|(at, _)| at);
    places.find(is_whole).map(|at| place(last, at))
}

/// Whether a text says no more than that a resource is not there. The path of a file may be
/// anything; where the URI is known it is expected to be in it.
fn says_only(text: &str, uri: Option<&str>) -> bool {
    let mut said = text.trim().trim_end_matches('.');
    while let Some((_, rest)) = said.split_once(": ").filter(|(head, _)| head.contains("error")) {
        said = rest;
    }
    said = said.strip_prefix("http ").unwrap_or(said);
    said = said.strip_prefix("404").map_or(said, |rest| rest.trim_start_matches([':', ' ', '-']));
    let begins = [
        "resource not found",
        "document not found",
        "unknown resource",
        "no such resource",
        "no such document",
        "the specified key does not exist",
        "no matching content found",
        "no content found",
    ];
    if begins.iter().any(|words| said.starts_with(words)) {
        return true;
    }
    let no_file = [
        "enoent: no such file or directory",
        "no such file or directory",
        "no such file",
        "file not found",
    ];
    let is_no_file = no_file
        .iter()
        .any(|words| said.strip_prefix(words).is_some_and(|path| path.is_empty() || uri.is_none()));
    is_no_file || said == "not found" || is_named_missing(said, uri)
}

/// `resource x does not exist`, with at most one word for its name; or the same of what the URI
/// itself calls it, as `user` does in `user://5` and `notes` in `app://notes/5`.
fn is_named_missing(said: &str, uri: Option<&str>) -> bool {
    let said = ["the ", "requested "]
        .iter()
        .fold(said, |said, word| said.strip_prefix(word).unwrap_or(said));
    let words = uri.unwrap_or_default().split(|c: char| !c.is_alphanumeric());
    let own = words.filter(|word| word.len() >= LEAST_NOUN).find_map(|word| {
        let one = word.strip_suffix('s').unwrap_or(word);
        said.strip_prefix(word).or_else(|| said.strip_prefix(one))
    });
    let general = ["resource", "file", "document"];
    let noun = general.iter().find_map(|noun| said.strip_prefix(noun)).or(own);
    let ends = ["not found", "does not exist", "doesn't exist"];
    let name = noun.and_then(|rest| ends.iter().find_map(|end| rest.strip_suffix(end)));
    name.is_some_and(|name| {
        let words =
            name.split_whitespace().filter(|word| !["was", "could", "be", "is"].contains(word));
        name.starts_with(' ') && words.count() <= 1
    })
}

fn says_later(text: &str) -> bool {
    let words = [
        "timed out",
        "timeout",
        "temporarily unavailable",
        "econnreset",
        "too many requests",
        "rate limit",
    ];
    has_any(text, &words)
}

/// How the state of a server tells that it does not let us in.
fn is_denied(state: &str) -> bool {
    has_any(state, &[ASKS_WHO, NOT_BELIEVED, "HTTP status 401", "HTTP status 403"])
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
    fn words_count_where_they_speak_of_what_was_asked_for() {
        let means = |message: &str| {
            let message = message.to_owned();
            let refused = SourceError::Refused { code: -32603, message, data: None };
            of_read(&refused, Some("file:///notes/Plan.md"))
        };
        for message in [
            "Resource not found",
            "Not found.",
            "MCP error -32603: Resource not found: 17",
            "The requested resource was not found",
            "Document abc does not exist",
            "ENOENT: no such file or directory, open '/srv/notes/plan.md'",
            "[Errno 2] No such file or directory: '/srv/notes/Plan.md'",
            "cannot read file:///notes/Plan.md: it does not exist",
        ] {
            assert_eq!(means(message), Meaning::NotFound, "{message}");
        }
        for message in [
            "Get \"https://api.example/plan.md\": dial tcp: lookup api.example: no such host",
            "OperationalError: no such column: owner",
            "config file /etc/x not found",
            "ENOENT: no such file or directory, open '/etc/server.json'",
            "file not found: /etc/server.json",
            "role \"reader\" does not exist",
        ] {
            let failed = Meaning::Failed { is_retryable: false };
            assert_eq!(means(message), failed, "{message}");
        }
    }

    #[test]
    fn a_name_is_known_by_its_number_and_without_its_escapes() {
        for (uri, message, is_it) in [
            ("user://5", "User 5 not found", true),
            ("user://5", "column 55 does not exist", false),
            ("user://a", "a host does not exist", false),
            ("file:///My%20Plan.md", "cannot open '/srv/my plan.md': it does not exist", true),
            ("user://5", "User not found", true),
            ("app://notes/5", "Error: Note was not found.", true),
            ("app://notes/5", "config not found", false),
            ("app://notes/5", "notebook not found", false),
            ("gh://o/r/issues/5", "GitHub API error: 404 Not Found", true),
            ("gh://o/r/issues/5", "HTTP 404: Not Found", true),
            ("s3://bucket/x", "The specified key does not exist.", true),
            ("sqlite://db/ghosts", "no such table: ghosts", true),
            ("sqlite://db/owner", "no such table: x_owner", false),
            ("http://api/plan", "lookup plan: no such host", false),
            (
                "docs://a/report",
                "Error reading resource docs://a/report: [Errno 2] No such file or directory: '/srv/report.md'",
                true,
            ),
            (
                "docs://report",
                "Error reading resource docs://report: [Errno 2] No such file or directory: '/etc/creds.json'",
                false,
            ),
            (
                "docs://t/5",
                "Error reading resource docs://t/5: HTTPConnectionPool: host not found",
                false,
            ),
            ("notes://5", "Failed to read notes://5: config.json not found", false),
            ("notes://5", "Failed to read 'notes://5': not found", true),
            ("notes://5", "read notes://5: database \"app\" does not exist", false),
            ("notes://5", "error 5: library libfoo.so.5 not found", false),
            ("notes://5", "Internal error at line 5: module 'x' does not exist", false),
            ("notes://5", "Note '5' not found", true),
            ("docs://guide", r"[Errno 2] No such file or directory: 'C:\srv\guide.md'", true),
            (
                "docs://t/home",
                "ENOENT: no such file or directory, open '/home/app/config.json'",
                false,
            ),
            ("docs://t/forbidden", "Unknown resource: docs://t/forbidden", true),
            ("docs://t/access%20denied", "Unknown resource: docs://t/access denied", true),
            ("docs://t/eacces", "Resource not found: docs://t/eacces", true),
            ("db:///a/no module.md", "Unknown resource: db:///a/no module.md", true),
        ] {
            let refused = SourceError::Refused { code: 0, message: message.into(), data: None };
            assert_eq!(refused.means_absence_of(uri), is_it, "{uri}: {message}");
        }
    }

    #[test]
    fn what_a_uri_is_called_says_nothing_of_how_its_read_went() {
        let refused = SourceError::Refused {
            code: -32603,
            message: "cannot parse docs://t/timeout".to_owned(),
            data: None,
        };
        let failed = Meaning::Failed { is_retryable: false };
        assert_eq!(of_read(&refused, Some("docs://t/timeout")), failed);
    }

    #[test]
    fn a_server_that_is_asked_too_often_is_worth_asking_again() {
        for (code, message) in [(429, ""), (-32603, "Too many requests"), (0, "rate limit hit")] {
            let failed = Meaning::Failed { is_retryable: true };
            assert_eq!(refused(code, message, None), failed, "{code} {message}");
        }
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
        for words in [ASKS_WHO, NOT_BELIEVED] {
            let state = format!("not connected: {words}");
            assert_eq!(of(&SourceError::Unavailable { state }), Meaning::Forbidden);
        }
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
