//! Reads HTTP statuses and numbers of JSON-RPC, also where a text repeats them.

use std::sync::LazyLock;

use regex::Regex;

use super::evidence::{Verdict, Verdict::Likely, Verdict::Sure};
use super::words::Sign;

/// The ways in which a text tells a status. Its words are in small letters and its values are
/// marked, so that a number in a URI is none.
static STATED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let ways = [
        r"(?:\bhttps?(?:/[0-9.]+)?|\bstatus[ _]?(?:code)?|http_?status|\bresponse code|\berror code|\bserver response|\berr!|error|exception|\bcode|\breturned|\bresponded with|\bfailed with(?: status)?)[ ]?(?:error|status|code)*[ ]?[:=]?(?: is)?[ ]?[(\[<]?([45][0-9]{2})\b",
        r"^(?:[a-z.]+(?:error|exception)[ ]?: )?[(\[<]?([45][0-9]{2})(?:[)\]>:,-]| [{<\x01]| (?:get|post|put|patch|delete|head)\b| ?$)",
        r"[(\[]([45][0-9]{2})[)\]]",
        r"\b([45][0-9]{2})[ ,:-]+(?:message= *)?(?:(?:client|server) error|page not|bad request|unauthorized|payment required|forbidden|not found|method not|not acceptable|request time|conflict|gone\b|length required|precondition|payload|request entity|uri too|unsupported media|range not|unprocess|locked|failed dependency|too early|upgrade required|too many|internal|not implemented|bad gateway|service|gateway|http version|insufficient storage|loop detected)",
        r"\b(?:client|server) error ?[('\x01]* ?([45][0-9]{2})\b",
    ];
    ways.iter().filter_map(|way| Regex::new(way).ok()).collect()
});

/// The HTTP status that a text tells, e.g. 404 in `status code 404`.
pub(super) fn stated(words: &str) -> Option<u16> {
    let found = STATED.iter().find_map(|way| way.captures(words))?;
    found.get(1)?.as_str().parse().ok()
}

/// The meaning of an HTTP status. A verdict that is only likely gives way to the text.
pub(super) fn meaning_of(status: u16) -> Option<Verdict> {
    let verdict = match status {
        401 | 407 | 419 | 440 | 511 => Sure(Sign::WhoAreYou),
        402 | 451 => Sure(Sign::NotAllowed),
        403 => Likely(Sign::NotAllowed),
        404 | 410 => Sure(Sign::Absent),
        408 | 423 | 425 | 429 | 499 | 502..=504 | 509 | 520..=524 | 527..=530 | 598 | 599 => {
            Sure(Sign::Passing)
        }
        405 | 406 | 411..=417 | 422 | 428 | 431 => Sure(Sign::BadArgument),
        400..=499 => Likely(Sign::BadArgument),
        501 | 505..=508 | 510 | 525 | 526 => Sure(Sign::OwnFault),
        500..=599 => Likely(Sign::OwnFault),
        _ => return None,
    };
    Some(verdict)
}

/// A number of JSON-RPC that a text repeats, as in `MCP error -32602: …`.
pub(super) fn repeated_code(message: &str) -> Option<i64> {
    let rest = message.split_once("MCP error ").map(|(_, rest)| rest)?;
    let end = rest.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
