//! Weighs the evidence of a refusal, in one order: JSON-RPC code, HTTP status, `data`, names of
//! errors, words.
//!
//! The first that is sure decides. Where none is, the first that is likely does.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{
    plain::Said,
    status,
    words::{NAMES, Sign, WEAK_NAMES, WORDS},
};
use crate::json::Json;

/// The verdict of one piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Sure(Sign),
    Likely(Sign),
}

use Verdict::{Likely, Sure};

/// A refusal, made ready to be judged.
pub(super) struct Evidence {
    code: i64,
    message: Said,
    data: Option<Said>,
    /// Whether `data` names a URI, which is how 2026-07-28 says that nothing is there.
    names_uri: bool,
    /// Whether `data` says outright that asking again may help.
    says_retry: bool,
}

/// The evidence in its order.
const TABLE: [fn(&Evidence) -> Option<Verdict>; 5] = [
    Evidence::by_code,
    Evidence::by_status,
    Evidence::by_data,
    Evidence::by_names,
    Evidence::by_words,
];

/// A connection that was refused for a reason: the reason is told behind a colon.
static CONNECTING: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"\b(?:connect[a-z]*\b[^:]*\bfail[a-z]*|fail[a-z]* to connect)\b[^:]*: (.+)$";
    Regex::new(pattern).expect("a constant that a test compiles")
});

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
/// How the TypeScript SDK numbers a request that took too long.
const REQUEST_TIMEOUT: i64 = -32001;
const FORBIDDEN: i64 = -32003;
/// The most bytes of `data` that are looked at.
const MAX_DATA: usize = 16 * 1024;

impl Evidence {
    pub(super) fn of(code: i64, message: &str, data: Option<&Json>, uri: Option<&str>) -> Evidence {
        let repeated = status::repeated_code(message);
        let bare = message
            .split_once("MCP error ")
            .map_or(message, |(_, rest)| rest.split_once(": ").map_or(rest, |(_, words)| words));
        let bare = if repeated.is_some() { bare } else { message };
        let data = data.filter(|data| data.as_str().len() <= MAX_DATA);
        let told: Option<Value> = data.and_then(|data| serde_json::from_str(data.as_str()).ok());
        Evidence {
            code: if is_silent(code) { repeated.unwrap_or(code) } else { code },
            message: Said::of(bare, uri),
            data: told.as_ref().map(|told| Said::of(&told_by(told), uri)),
            names_uri: told.as_ref().is_some_and(|told| told["uri"].is_string()),
            says_retry: told.as_ref().is_some_and(says_retry),
        }
    }

    /// The meaning, if anything is known.
    pub(super) fn judged(&self) -> Option<Sign> {
        let verdicts: Vec<Verdict> = TABLE.iter().filter_map(|look| look(self)).collect();
        let sure = verdicts.iter().find_map(|verdict| match verdict {
            Sure(sign) => Some(*sign),
            Likely(_) => None,
        });
        let likely = verdicts.iter().find_map(|verdict| match verdict {
            Likely(sign) => Some(*sign),
            Sure(_) => None,
        });
        sure.or(likely)
    }

    fn by_code(&self) -> Option<Verdict> {
        match self.code {
            METHOD_NOT_FOUND => Some(Sure(Sign::OwnFault)),
            super::RESOURCE_NOT_FOUND => Some(Sure(Sign::Absent)),
            FORBIDDEN => Some(Sure(Sign::NotAllowed)),
            REQUEST_TIMEOUT => Some(Likely(Sign::Passing)),
            INVALID_PARAMS if self.names_uri => Some(Sure(Sign::Absent)),
            INVALID_PARAMS => Some(Likely(Sign::BadArgument)),
            code => {
                let status = u16::try_from(code).ok()?;
                self.by_number(status)
            }
        }
    }

    fn by_status(&self) -> Option<Verdict> {
        self.by_number(status::stated(&self.message.words)?)
    }

    fn by_number(&self, status: u16) -> Option<Verdict> {
        let verdict = status::meaning_of(status)?;
        if status != 403 {
            return Some(verdict);
        }
        // A 403 may be about a limit or a key; of anything else it says what it says.
        let said = self.by_names().or_else(|| self.by_words());
        match said {
            Some(Sure(sign @ (Sign::Passing | Sign::WhoAreYou))) => Some(Sure(sign)),
            _ => Some(Sure(Sign::NotAllowed)),
        }
    }

    fn by_data(&self) -> Option<Verdict> {
        if self.says_retry {
            return Some(Sure(Sign::Passing));
        }
        let said = self.data.as_ref()?;
        let by_status = status::stated(&said.words).and_then(status::meaning_of);
        by_status.or_else(|| names_of(said)).or_else(|| words_of(said))
    }

    fn by_names(&self) -> Option<Verdict> {
        names_of(&self.message)
    }

    fn by_words(&self) -> Option<Verdict> {
        let words = words_of(&self.message);
        words.or_else(|| weak_names_of(&self.message))
    }
}

/// Whether a number says nothing of what went wrong, e.g. -32603.
fn is_silent(code: i64) -> bool {
    matches!(code, 0 | 1 | -1 | -32603 | -32000)
}

fn names_of(said: &Said) -> Option<Verdict> {
    // An outer name, such as `ClientError`, says less than an inner one; the table decides.
    let rows = said.names.iter().filter_map(|name| NAMES.row_of(name));
    let (_, sign) = rows.min_by_key(|(row, _)| *row)?;
    Some(Sure(sign))
}

fn words_of(said: &Said) -> Option<Verdict> {
    let mut reason = said.words.as_str();
    while let Some(inner) = CONNECTING.captures(reason).and_then(|found| found.get(1)) {
        reason = inner.as_str();
    }
    let sign = WORDS.sign_of(reason).or_else(|| WORDS.sign_of(&said.words))?;
    Some(Sure(sign))
}

fn weak_names_of(said: &Said) -> Option<Verdict> {
    let rows = said.names.iter().filter_map(|name| WEAK_NAMES.row_of(name));
    let (_, sign) = rows.min_by_key(|(row, _)| *row)?;
    Some(Likely(sign))
}

/// The members of `data` that tell the reason, as one text,
/// e.g. `status: 403. Forbidden. ` of `{"response": {"status": 403, "error": "Forbidden"}}`.
fn told_by(data: &Value) -> String {
    let mut text = String::new();
    match data {
        Value::String(said) => text.push_str(said),
        Value::Array(all) => all.iter().for_each(|one| text.push_str(&told_by(one))),
        Value::Object(members) => {
            for (key, value) in members {
                tell_member(&mut text, &key.to_ascii_lowercase(), value);
            }
        }
        _ => {}
    }
    text
}

fn tell_member(text: &mut String, key: &str, value: &Value) {
    match value {
        Value::Number(number) if STATUSES.contains(&key) => {
            text.push_str(&format!("status: {number}. "));
        }
        Value::String(said) if TELLING.contains(&key) => text.push_str(&format!("{said}. ")),
        Value::Object(_) | Value::Array(_) if TELLING.contains(&key) || HOLDING.contains(&key) => {
            text.push_str(&told_by(value));
        }
        _ => {}
    }
}

/// Members whose number is an HTTP status.
const STATUSES: [&str; 6] =
    ["status", "statuscode", "status_code", "httpstatus", "http_status", "code"];

/// Members whose words tell the reason.
const TELLING: [&str; 15] = [
    "error",
    "code",
    "type",
    "message",
    "reason",
    "detail",
    "cause",
    "kind",
    "status",
    "name",
    "error_code",
    "errorcode",
    "error_type",
    "errno",
    "exception",
];

/// Members that only hold others, e.g. `response` of axios, `errors` and `extensions` of GraphQL.
const HOLDING: [&str; 7] =
    ["response", "data", "body", "errors", "extensions", "details", "innererror"];

fn says_retry(data: &Value) -> bool {
    let is_set = |key: &str| data[key].as_bool() == Some(true);
    let has = |key: &str| !data[key].is_null();
    is_set("retryable") || has("retryAfter") || has("retry_after") || has("retryAfterMs")
}
