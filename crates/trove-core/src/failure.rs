//! Why something was not given: a class, the subject, the cause, and the next steps.
//!
//! The cause stays typed until a door shows it. Doors take words and numbers from the class.

mod advice;
mod class;
mod outage;
mod source_error;

use serde_json::Value;

use crate::{
    content::escape_line,
    json::{Json, Object},
    uri::PublicUri,
};
pub use advice::{Advice, Mentioned};
pub(crate) use advice::{bounded, named};
pub use class::{CLASSES, Class, Teller, exit};
pub use outage::{Outage, Why};
pub use source_error::SourceError;

/// The words in place of a cause that is not for the caller.
pub const WITHHELD: &str = "withheld; see the gateway's log";

/// The HTTP status of an answer that a server did not give in time.
const GATEWAY_TIMEOUT: u16 = 504;

/// Why something was not given, and what to do about it.
#[derive(Debug)]
pub struct Failure(Box<Parts>);

#[derive(Debug)]
struct Parts {
    class: Class,
    message: String,
    subject: Option<PublicUri>,
    cause: Option<Cause>,
    details: Option<String>,
    advice: Vec<Advice>,
    instruction: Option<String>,
    retryable: bool,
    /// Members that only some failures have: `valid_uris`, `candidates`, `total`, …
    more: Vec<(&'static str, Value)>,
}

/// The error behind a failure.
#[derive(Debug)]
enum Cause {
    /// A Source gave no answer.
    Source(SourceError),
    /// Another error: its kind, and its words with those of its own causes.
    Other(String, String),
}

impl Failure {
    /// A failure; `action` says what to do about it.
    pub fn new(class: Class, message: impl Into<String>, action: impl Into<Advice>) -> Failure {
        Failure(Box::new(Parts {
            class,
            message: bounded(message.into()),
            subject: None,
            cause: None,
            details: None,
            advice: vec![action.into()],
            instruction: None,
            retryable: false,
            more: Vec::new(),
        }))
    }

    /// The arguments are wrong; the message says how.
    pub fn arguments(message: impl Into<String>) -> Failure {
        let action = "Correct the argument and call again.";
        Failure::new(Class::InvalidArguments, message, action)
    }

    pub fn class(&self) -> Class {
        self.0.class
    }

    /// Its exit code. Where a Source was asked, it tells whether that could be reached.
    pub fn exit(&self) -> u8 {
        match &self.0.cause {
            Some(Cause::Source(error)) if error.is_retryable() => exit::UNREACHABLE,
            Some(Cause::Source(_)) => exit::SOURCE,
            Some(Cause::Other(..)) | None => self.0.class.exit(),
        }
    }

    /// Its HTTP status. A Source that did not answer in time has one of its own.
    pub fn http(&self) -> u16 {
        match &self.0.cause {
            Some(Cause::Source(SourceError::TimedOut { .. })) => GATEWAY_TIMEOUT,
            _ => self.0.class.http(),
        }
    }

    /// The resource that was asked for, if it is one.
    pub fn subject(&self) -> Option<&PublicUri> {
        self.0.subject.as_ref()
    }

    /// The next steps, the best first.
    pub fn advice(&self) -> &[Advice] {
        &self.0.advice
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The members that only some failures have.
    pub fn more(&self) -> &[(&'static str, Value)] {
        &self.0.more
    }

    /// The cause in full, on one line.
    pub fn cause(&self) -> Option<String> {
        let told = self.exception().map(|(kind, message)| format!("{kind}: {message}"));
        let cause = told.or_else(|| self.0.details.clone())?;
        Some(escape_line(&cause).into_owned())
    }

    /// One more thing to do about it.
    #[must_use]
    pub fn suggest(mut self, action: impl Into<Advice>) -> Failure {
        self.0.advice.push(action.into());
        self
    }

    /// Names the tools to be called as they are offered. Advice that needs a tool which is not
    /// offered is left out.
    pub(crate) fn name_tools(&mut self, offered: impl Fn(&str) -> Mentioned) {
        let named = |advice: &Advice| advice.named(&offered).map(Advice::from);
        let actions: Vec<Advice> = self.0.advice.iter().filter_map(named).collect();
        self.0.advice = if actions.is_empty() {
            vec![Advice::from("Tell the user what is missing.")]
        } else {
            actions
        };
    }

    /// The argument that is wrong, if it is one.
    pub(crate) fn field(&self) -> Option<&str> {
        let field = self.0.more.iter().find(|(key, _)| *key == "field");
        field.and_then(|(_, value)| value.as_str())
    }

    /// The cause in full; left out in production.
    #[must_use]
    pub fn details(mut self, details: impl Into<String>) -> Failure {
        self.0.details = Some(bounded(details.into()));
        self
    }

    /// The name that was asked for.
    #[must_use]
    pub fn about(mut self, subject: PublicUri) -> Failure {
        self.0.subject = Some(subject);
        self
    }

    /// The error of the Source that was asked; its words are left out in production.
    #[must_use]
    pub fn by_source(mut self, error: &SourceError) -> Failure {
        self.0.cause = Some(Cause::Source(error.clone()));
        self
    }

    /// The error behind it, with what caused that; left out in production.
    #[must_use]
    pub fn caused_by(mut self, error: &(dyn std::error::Error + 'static)) -> Failure {
        let chain: Vec<String> =
            std::iter::successors(Some(error), |e| e.source()).map(|e| e.to_string()).collect();
        self.0.cause = Some(Cause::Other(kind_of(&error), chain.join(": ")));
        self
    }

    /// Words for the agent.
    #[must_use]
    pub fn instruction(mut self, instruction: impl Into<String>) -> Failure {
        self.0.instruction = Some(instruction.into());
        self
    }

    /// Whether asking again later may help.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Failure {
        self.0.retryable = retryable;
        self
    }

    /// A member that only some failures have.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Failure {
        self.0.more.push((key, value.into()));
        self
    }

    /// The object; with `masked` without what only those who run the gateway should see.
    pub fn to_json(&self, masked: bool) -> Json {
        self.to_object(masked).to_json()
    }

    /// The object, not written out yet.
    pub(crate) fn to_object(&self, masked: bool) -> Object<'static> {
        let class = self.0.class;
        let mut object = Object::new();
        object.set("success", "false");
        object.set_str("error", class.as_str());
        object.set_str("error_type", class.label());
        object.set_str("message", &self.0.message);
        if let Some(details) = &self.0.details {
            object.set_str("details", if masked { WITHHELD } else { details });
        }
        let actions: Vec<String> = self.0.advice.iter().map(Advice::text).collect();
        object.set("suggested_actions", Json::of(&actions).as_str().to_owned());
        if let Some((kind, message)) = self.exception().filter(|_| !masked) {
            object.set_str("exception_type", &kind);
            object.set_str("exception_message", &message);
        }
        for (key, value) in &self.0.more {
            object.set(key, value.to_string());
        }
        if let Some(instruction) = &self.0.instruction {
            object.set_str("instruction", instruction);
        }
        object.set("retryable", if self.0.retryable { "true" } else { "false" });
        object
    }

    /// The kind of the error behind it, and its words, of which servers may have written part.
    fn exception(&self) -> Option<(String, String)> {
        let (kind, told) = match &self.0.cause {
            Some(Cause::Other(kind, told)) => (kind.clone(), told.clone()),
            // Other classes say by themselves what the Source meant.
            Some(Cause::Source(error)) if self.0.class == Class::ResourceExecutionError => {
                (kind_of(error), error.to_string())
            }
            Some(Cause::Source(_)) | None => return None,
        };
        Some((kind, bounded(escape_line(&told).into_owned())))
    }
}

/// The kind of an error: the name of its variant, e.g. `TimedOut`.
fn kind_of(error: &impl std::fmt::Debug) -> String {
    let debug = format!("{error:?}");
    debug.split([' ', '{', '(']).next().unwrap_or("Error").to_owned()
}
