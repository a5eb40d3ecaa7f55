//! The envelope every tool answers in: [`Outcome`] or [`Failure`], one shape each.

use serde::Serialize;
use serde_json::Value;

use super::{
    Answers,
    advice::{Advice, Mentioned, bounded},
};
use crate::{
    content::escape_line,
    json::{Json, Object, push_escapes},
    source::{Reply, meaning::WITHHELD},
};

/// What a tool gave.
pub struct Outcome(pub(super) Given);

pub(super) enum Given {
    /// The answer.
    Answer(Answer),
    /// The answer, written out.
    Written(Reply),
    /// The Source wants something from the caller first; its own words.
    NeedsInput(Reply),
}

/// An answer, its members written already.
pub(super) struct Answer {
    pub(super) object: Object<'static>,
}

impl Outcome {
    /// `{success: true, value}`.
    pub fn ok(value: impl Serialize) -> Outcome {
        let mut object = Object::new();
        object.set("success", "true");
        object.set("value", Json::of(&value).as_str().to_owned());
        Outcome::flat(object)
    }

    /// `{success: true}` with these members beside it.
    pub(super) fn flat(object: Object<'static>) -> Outcome {
        Outcome(Given::Answer(Answer { object }))
    }

    /// What the Source wants before it can answer.
    pub(super) fn needs_input(reply: Reply) -> Outcome {
        Outcome(Given::NeedsInput(reply))
    }

    /// Adds words for the person.
    #[must_use]
    pub fn message(self, message: &str) -> Outcome {
        self.with("message", message)
    }

    /// Adds words for the agent. They are ours: what a server wrote never comes here.
    #[must_use]
    pub fn instruction(self, instruction: &str) -> Outcome {
        self.with("instruction", instruction)
    }

    /// An object whose text comes in parts, `success: true` among its members, and content
    /// blocks that follow it.
    pub(super) fn written(parts: &[&str], blocks: &[String]) -> Outcome {
        Outcome(Given::Written(result(parts, blocks, false)))
    }

    fn with(mut self, key: &'static str, text: &str) -> Outcome {
        if let Given::Answer(answer) = &mut self.0 {
            answer.object.set_str(key, text);
        }
        self
    }
}

impl Answer {
    /// The result of the call: the object as structured content and as text.
    pub(super) fn into_reply(self) -> Reply {
        result(&[&self.object.to_text()], &[], false)
    }
}

/// The class of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The URI is malformed, or no resource or template fits it.
    InvalidUri,
    /// A variable of a template has no value.
    MissingTemplateVariable,
    /// The value of a variable breaks its rule.
    InvalidTemplateVariable,
    /// The caller lacks a role.
    Unauthorized,
    /// The Source failed.
    ResourceExecutionError,
    /// The thing is not there.
    NotFound,
    /// Several Sources own it.
    AmbiguousUri,
    /// It is larger than a limit.
    TooLarge,
    /// Too much is going on.
    Busy,
    /// The caller took the question back.
    Cancelled,
    /// The arguments are not what the tool takes.
    InvalidArguments,
    /// A person must say so first.
    ConsentRequired,
    /// It exists already, or something depends on it.
    Conflict,
    /// What was to be kept could not be.
    StorageError,
    /// The program that was sent failed.
    CodeError,
    /// A fault of ours.
    InternalError,
}

impl Class {
    /// Every class, with what it means.
    pub const ALL: [(Class, &str); 16] = [
        (Class::InvalidUri, "the URI is malformed, or no resource or template fits it"),
        (Class::MissingTemplateVariable, "a variable of a template has no value"),
        (Class::InvalidTemplateVariable, "the value of a variable breaks its rule"),
        (Class::Unauthorized, "the caller lacks a role"),
        (Class::ResourceExecutionError, "the server failed"),
        (Class::NotFound, "the thing is not there"),
        (Class::AmbiguousUri, "several servers own it"),
        (Class::TooLarge, "it is larger than a limit"),
        (Class::Busy, "too much is going on"),
        (Class::Cancelled, "the caller took the question back"),
        (Class::InvalidArguments, "the arguments are not what the tool takes"),
        (Class::ConsentRequired, "a person must say so first"),
        (Class::Conflict, "it exists already, or something depends on it"),
        (Class::StorageError, "what was to be kept could not be"),
        (Class::CodeError, "the program that was sent failed"),
        (Class::InternalError, "a fault of Trove's"),
    ];

    /// The classes as a page of Markdown.
    pub fn document() -> String {
        let mut text = String::from(
            "# Classes of failures\n\nA tool that fails answers with `success: false`, one of these in `error` and \
             `error_type`, a `message` and\nwhat to do next; so do the page, and the command line with `--json`, \
             which has\nsome classes of its own ([commands](commands.md#exit-codes)).\n\n\
             | error | error_type | meaning |\n|---|---|---|\n",
        );
        for (class, meaning) in Class::ALL {
            let (name, code) = class.names();
            text.push_str(&format!("| `{name}` | `{code}` | {meaning} |\n"));
        }
        text.push_str("\n## The members of an answer\n\nEvery tool answers with `success`; the others are there where they say something.\n\n");
        text.push_str(&Answers::Members.table());
        text
    }

    /// Its name, and its code.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Class::InvalidUri => ("InvalidURI", "invalid_uri"),
            Class::MissingTemplateVariable => {
                ("MissingTemplateVariable", "missing_template_variable")
            }
            Class::InvalidTemplateVariable => {
                ("InvalidTemplateVariable", "invalid_template_variable")
            }
            Class::Unauthorized => ("Unauthorized", "unauthorized"),
            Class::ResourceExecutionError => ("ResourceExecutionError", "resource_execution_error"),
            Class::NotFound => ("NotFound", "not_found"),
            Class::AmbiguousUri => ("AmbiguousURI", "ambiguous_uri"),
            Class::TooLarge => ("TooLarge", "too_large"),
            Class::Busy => ("Busy", "busy"),
            Class::Cancelled => ("Cancelled", "cancelled"),
            Class::InvalidArguments => ("InvalidArguments", "invalid_arguments"),
            Class::ConsentRequired => ("ConsentRequired", "consent_required"),
            Class::Conflict => ("Conflict", "conflict"),
            Class::StorageError => ("StorageError", "storage_error"),
            Class::CodeError => ("CodeError", "code_error"),
            Class::InternalError => ("InternalError", "internal_error"),
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        self.names().0
    }
}

/// Why a tool gave nothing, and what to do about it.
#[derive(Debug)]
pub struct Failure(Box<Fault>);

#[derive(Debug)]
struct Fault {
    class: Class,
    message: String,
    details: Option<String>,
    suggested_actions: Vec<Advice>,
    exception: Option<(String, String)>,
    instruction: Option<String>,
    retryable: bool,
    /// Members only some classes have: `valid_uris`, `candidates`, `total`, …
    more: Vec<(&'static str, Value)>,
}

impl Failure {
    /// A failure; `action` says what to do about it.
    pub fn new(class: Class, message: impl Into<String>, action: impl Into<Advice>) -> Failure {
        Failure(Box::new(Fault {
            class,
            message: bounded(message.into()),
            details: None,
            suggested_actions: vec![action.into()],
            exception: None,
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

    /// Its class.
    pub fn class(&self) -> Class {
        self.0.class
    }

    /// What to do about it first.
    pub(super) fn action(&self) -> String {
        self.0.suggested_actions.first().map(Advice::text).unwrap_or_default()
    }

    /// Its message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What exactly happened, on one line.
    pub(super) fn cause(&self) -> Option<String> {
        let told = self.0.exception.as_ref().map(|(kind, message)| format!("{kind}: {message}"));
        let cause = told.or_else(|| self.0.details.clone())?;
        Some(escape_line(&cause).into_owned())
    }

    /// One more thing to do about it.
    #[must_use]
    pub fn suggest(mut self, action: impl Into<Advice>) -> Failure {
        self.0.suggested_actions.push(action.into());
        self
    }

    /// Has the tools that are to be called named as they are offered; what takes one that is
    /// not is not advised.
    pub(super) fn name_tools(&mut self, offered: impl Fn(&str) -> Mentioned) {
        let named = |advice: &Advice| advice.named(&offered).map(Advice::from);
        let actions: Vec<Advice> = self.0.suggested_actions.iter().filter_map(named).collect();
        self.0.suggested_actions = if actions.is_empty() {
            vec![Advice::from("Tell the user what is missing.")]
        } else {
            actions
        };
    }

    /// The argument that is wrong, if it is one.
    pub(super) fn field(&self) -> Option<&str> {
        let field = self.0.more.iter().find(|(key, _)| *key == "field");
        field.and_then(|(_, value)| value.as_str())
    }

    /// What exactly happened; left out in production.
    #[must_use]
    pub fn details(mut self, details: impl Into<String>) -> Failure {
        self.0.details = Some(bounded(details.into()));
        self
    }

    /// The error behind it, with what caused that; left out in production.
    #[must_use]
    pub fn caused_by(mut self, error: &(dyn std::error::Error + 'static)) -> Failure {
        let debug = format!("{error:?}");
        let name = debug.split([' ', '{', '(']).next().unwrap_or("Error").to_owned();
        let chain: Vec<String> =
            std::iter::successors(Some(error), |e| e.source()).map(|e| e.to_string()).collect();
        // Servers may have written part of it.
        let chain = bounded(escape_line(&chain.join(": ")).into_owned());
        self.0.exception = Some((name, chain));
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

    fn to_object(&self, masked: bool) -> Object<'static> {
        let (error, error_type) = self.0.class.names();
        let mut object = Object::new();
        object.set("success", "false");
        object.set_str("error", error);
        object.set_str("error_type", error_type);
        object.set_str("message", &self.0.message);
        if let Some(details) = &self.0.details {
            object.set_str("details", if masked { WITHHELD } else { details });
        }
        let actions: Vec<String> = self.0.suggested_actions.iter().map(Advice::text).collect();
        object.set("suggested_actions", Json::of(&actions).as_str().to_owned());
        if let Some((kind, message)) = self.0.exception.as_ref().filter(|_| !masked) {
            object.set_str("exception_type", kind);
            object.set_str("exception_message", message);
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

    /// The result of the call.
    pub(super) fn to_reply(&self, masked: bool) -> Reply {
        result(&[&self.to_object(masked).to_text()], &[], true)
    }
}

/// A tool result: the object as text first, then other blocks, and as structured content. Its
/// text comes in parts, so that a large one need not be copied to be among its neighbours; one
/// that begins and ends with a quote is one string.
fn result(parts: &[&str], blocks: &[String], is_error: bool) -> Reply {
    let size: usize = parts.iter().map(|part| part.len()).sum();
    let more: usize = blocks.iter().map(String::len).sum();
    // As text it grows by the escapes of what is quoted in it already.
    let mut body = String::with_capacity(size * 2 + size / 8 + more + 512);
    body.push_str(r#"{"content":[{"type":"text","text":""#);
    for part in parts {
        push_escapes(&mut body, part);
    }
    body.push_str(r#""}"#);
    for block in blocks {
        body.push(',');
        body.push_str(block);
    }
    body.push_str(r#"],"structuredContent":"#);
    for part in parts {
        body.push_str(part);
    }
    body.push_str(if is_error { r#","isError":true}"# } else { r#","isError":false}"# });
    Reply::plain(Json::written(body))
}
