//! The envelope every tool answers in: [`Outcome`], or [`Failure`] as a result of a call.

use serde::Serialize;

use super::Answers;
use crate::{
    failure::{Class, Failure},
    json::{Json, Object, push_escapes},
    source::Reply,
};

/// The outcome of a tool.
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

    /// The input that the Source wants before it can answer.
    pub(super) fn needs_input(reply: Reply) -> Outcome {
        Outcome(Given::NeedsInput(reply))
    }

    /// Adds words for the person.
    #[must_use]
    pub fn message(self, message: &str) -> Outcome {
        self.with("message", message)
    }

    /// Adds words for the agent. They are ours: a server's words never come here.
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

/// The classes of failures, and the members of answers, as a page of Markdown.
pub fn classes_document() -> String {
    let mut text = String::from(
        "# Classes of failures\n\nA tool that fails answers with `success: false`, one of these in `error` and \
         `error_type`, a `message` and\nwhat to do next. The page, the audit log (`error`), the metrics \
         (`trove_failures_total`) and the command line with\n`--json` name failures by the same classes. The command line has \
         some of its own ([commands](commands.md#exit-codes)).\n\n",
    );
    text.push_str(&Class::table(false));
    text.push_str(
        "\n*JSON-RPC* is the code of 2026-07-28, and in brackets that of earlier eras where it differs; \
         an error that a server wrote\nkeeps its own code. *exit* is the exit code of the command line: where a server was \
         asked it is 4 if it cannot be reached,\nand 5 if it answered with an error. *HTTP* is the status of the page, which is 504\nif a server did not answer in time.\n\
         \n## The members of an answer\n\nEvery tool answers with `success`; the others are there where they say something.\n\n",
    );
    text.push_str(&Answers::Members.table());
    text
}

impl Failure {
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
