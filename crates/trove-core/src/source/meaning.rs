//! The meaning of a Source's refusal.
//!
//! The Source's own word decides, as far as it can be told: `evidence` weighs its numbers, names
//! and words. Where they tell nothing, the meaning is not known, and no answer pretends otherwise.

mod evidence;
mod plain;
mod status;
#[cfg(test)]
mod tests;
mod words;

use self::{evidence::Evidence, words::Sign};
use crate::{
    failure::{Class, Outage, SourceError, WITHHELD, Why},
    json::Json,
};

/// The meaning of an error of a Source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// There is no such thing.
    NotFound,
    /// The server does not know who asks, or does not believe it.
    WhoAreYou,
    /// The server knows who asks, and refuses.
    Forbidden,
    /// The answer is larger than this many bytes.
    TooLarge(usize),
    /// This many requests are waiting already.
    Busy(usize),
    /// The request was taken back.
    Cancelled,
    /// A value in the question cannot be right.
    BadArgument,
    /// The fault passes by itself: asking again later may help.
    Passing,
    /// The server itself is at fault, and waiting seldom mends that.
    OwnFault,
    /// Asking again cannot help: the server is not set up for it.
    Hopeless,
    /// Nothing is known.
    Unknown,
}

impl Meaning {
    /// Whether asking again may help. Of what is not known, one more try is worth it.
    pub fn may_pass(self) -> bool {
        match self {
            Meaning::Busy(_) | Meaning::Cancelled | Meaning::Passing | Meaning::Unknown => true,
            Meaning::NotFound
            | Meaning::WhoAreYou
            | Meaning::Forbidden
            | Meaning::TooLarge(_)
            | Meaning::BadArgument
            | Meaning::OwnFault
            | Meaning::Hopeless => false,
        }
    }

    /// The class of a failure that it is told as.
    pub fn class(self) -> Class {
        match self {
            Meaning::NotFound => Class::NotFound,
            Meaning::WhoAreYou | Meaning::Forbidden => Class::Unauthorized,
            Meaning::TooLarge(_) => Class::TooLarge,
            Meaning::Busy(_) => Class::Busy,
            Meaning::Cancelled => Class::Cancelled,
            Meaning::BadArgument
            | Meaning::Passing
            | Meaning::OwnFault
            | Meaning::Hopeless
            | Meaning::Unknown => Class::ResourceExecutionError,
        }
    }

    fn of_sign(sign: Option<Sign>) -> Meaning {
        match sign {
            Some(Sign::Absent) => Meaning::NotFound,
            Some(Sign::Passing) => Meaning::Passing,
            Some(Sign::WhoAreYou) => Meaning::WhoAreYou,
            Some(Sign::NotAllowed) => Meaning::Forbidden,
            Some(Sign::BadArgument) => Meaning::BadArgument,
            Some(Sign::OwnFault) => Meaning::OwnFault,
            None => Meaning::Unknown,
        }
    }
}

impl SourceError {
    /// Its meaning, as the answer to a read of `uri` where it was one.
    pub fn meaning(&self, uri: Option<&str>) -> Meaning {
        match self {
            SourceError::NotFound => Meaning::NotFound,
            SourceError::TooLarge { limit } => Meaning::TooLarge(*limit),
            SourceError::Busy { limit } => Meaning::Busy(*limit),
            SourceError::Refused { code, message, data } => {
                of_refusal(*code, message, data.as_ref(), uri)
            }
            SourceError::Unavailable(outage) => of_outage(outage.why),
            SourceError::Told { class, .. } => of_class(*class),
            SourceError::Lost | SourceError::TimedOut { .. } => Meaning::Passing,
            SourceError::NotOffered { .. } => Meaning::Hopeless,
            SourceError::Malformed { .. } => Meaning::OwnFault,
        }
    }

    /// Whether it says, in any words, that nothing is there.
    pub fn means_not_found(&self) -> bool {
        self.meaning(None) == Meaning::NotFound
    }

    /// Whether it says that there is nothing of this name.
    pub fn means_absence_of(&self, uri: &str) -> bool {
        self.meaning(Some(uri)) == Meaning::NotFound
    }

    /// Whether asking again later may help.
    pub fn may_pass(&self) -> bool {
        self.meaning(None).may_pass()
    }

    /// The error without the Source's own words; none if it holds none. `uri` is the resource
    /// that was asked for, if it was one.
    pub fn without_cause(&self, uri: Option<&str>) -> Option<SourceError> {
        let withheld = || WITHHELD.to_owned();
        match self {
            SourceError::Refused { .. } if self.meaning(uri) == Meaning::NotFound => {
                Some(SourceError::NotFound)
            }
            SourceError::Refused { code, .. } => {
                // The words are gone, and what they meant is still told.
                let may_pass = self.meaning(uri).may_pass();
                let data = Json::of(&serde_json::json!({ "retryable": may_pass }));
                Some(SourceError::Refused { code: *code, message: withheld(), data: Some(data) })
            }
            SourceError::Told { .. } if self.meaning(uri) == Meaning::NotFound => {
                Some(SourceError::NotFound)
            }
            SourceError::Told { class, .. } => {
                Some(SourceError::Told { class: *class, message: withheld() })
            }
            SourceError::Unavailable(outage) => {
                Some(SourceError::Unavailable(Outage::new(outage.why, WITHHELD)))
            }
            SourceError::Malformed { .. } => Some(SourceError::Malformed { what: withheld() }),
            SourceError::Lost
            | SourceError::TimedOut { .. }
            | SourceError::NotFound
            | SourceError::TooLarge { .. }
            | SourceError::Busy { .. }
            | SourceError::NotOffered { .. } => None,
        }
    }

    /// The outage of a Source that fails so while it does `what`, e.g. `listing`.
    pub fn as_outage(&self, what: &str) -> Outage {
        if let SourceError::Unavailable(outage) = self {
            let told = format!("{what}: not connected: {}", outage.told);
            return outage.clone().told(told);
        }
        let why = match self.meaning(None) {
            Meaning::WhoAreYou => Why::NotBelieved,
            Meaning::Forbidden => Why::Forbidden,
            Meaning::Hopeless => Why::Misconfigured,
            _ => Why::Passing,
        };
        Outage::new(why, format!("{what}: {self}"))
    }

    /// Whether it says by its number that the question is wrong. Of a read that is the URI.
    pub(crate) fn blames_arguments(&self) -> bool {
        matches!(self, SourceError::Refused { code: INVALID_PARAMS, .. })
            && matches!(self.meaning(None), Meaning::BadArgument | Meaning::NotFound)
    }
}

const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;
const INVALID_PARAMS: i64 = -32602;
const CANCELLED: i64 = -32800;
/// Kinds of things that are a server's own, unless they are what was asked for.
const OWN_THINGS: [&str; 2] = ["no such table", "no such column"];

fn of_refusal(code: i64, message: &str, data: Option<&Json>, uri: Option<&str>) -> Meaning {
    match code {
        METHOD_NOT_FOUND => return Meaning::Hopeless,
        CANCELLED => return Meaning::Cancelled,
        _ => {}
    }
    if uri.is_some_and(|uri| lacks_what_was_asked_for(message, uri)) {
        return Meaning::NotFound;
    }
    Meaning::of_sign(Evidence::of(code, message, data, uri).judged())
}

/// Whether a server misses a thing of its own that is just what the URI names. Example: `no such
/// table: ghosts` of `sqlite://db/ghosts`.
fn lacks_what_was_asked_for(message: &str, uri: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let last = last_part(uri).to_ascii_lowercase();
    let missing = OWN_THINGS.iter().find_map(|what| message.split_once(what));
    missing.is_some_and(|(_, rest)| rest.trim_matches([':', ' ', '.', '"', '\'']) == last)
}

fn last_part(uri: &str) -> &str {
    uri.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(uri)
}

/// Whether a word by itself would be taken for the reason of a failure.
fn says_anything(word: &str) -> bool {
    let has_letters = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    has_letters && Evidence::of(0, word, None, None).judged().is_some()
}

/// Whether the words of an answer say that nothing is there. They may also be its contents, so
/// fewer words count here than in an error.
pub(crate) fn says_not_found(text: &str) -> bool {
    let plain = [
        "not found",
        "unknown ",
        "no such",
        "does not exist",
        "doesn't exist",
        "enoent",
        "no matching content found",
        "no content found",
    ];
    let text = text.to_ascii_lowercase();
    has_any(&text, &plain) && Evidence::of(0, &text, None, None).judged() == Some(Sign::Absent)
}

fn of_outage(why: Why) -> Meaning {
    match why {
        Why::Passing => Meaning::Passing,
        Why::AsksWho | Why::NotBelieved => Meaning::WhoAreYou,
        Why::Forbidden => Meaning::Forbidden,
        Why::Unapproved | Why::Misconfigured | Why::Gone => Meaning::Hopeless,
    }
}

/// The meaning of a failure of a Source of our own, which tells its class.
fn of_class(class: Class) -> Meaning {
    match class {
        Class::InvalidUri | Class::NotFound => Meaning::NotFound,
        Class::InvalidArguments => Meaning::BadArgument,
        Class::Busy => Meaning::Passing,
        _ => Meaning::OwnFault,
    }
}

fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|words| text.contains(words))
}
