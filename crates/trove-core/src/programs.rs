//! The seam to the part that runs small programs: its input, and its answers.
//!
//! An implementation of [`Programs`] keeps every program in a box of its own. The only way out of
//! the box are the calls in [`FUNCTIONS`], which a [`Host`] answers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// The functions a program can call, with their parameters in order.
pub const FUNCTIONS: &[Function] = &[
    Function { name: "find", parameters: &["query", "server", "limit"], takes_more: false },
    Function { name: "list_resources", parameters: &["server"], takes_more: false },
    Function { name: "read", parameters: &["uri", "server", "offset", "limit"], takes_more: false },
    Function { name: "read_json", parameters: &["uri", "server"], takes_more: false },
    Function { name: "grep", parameters: &["uri", "pattern", "server"], takes_more: false },
    Function { name: "expand", parameters: &["template"], takes_more: true },
];

/// One function a program can call.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    pub name: &'static str,
    /// Its parameters; the first must be given unless it is `server`.
    pub parameters: &'static [&'static str],
    /// Whether it takes any other keyword too.
    pub takes_more: bool,
}

/// Runs programs.
pub trait Programs: Send + Sync {
    /// Runs one to its end. Dropping the future ends the program. One caller's programs
    /// wait for one another, `caller` being who that is.
    fn run<'a>(
        &'a self,
        source: &'a str,
        caller: Arc<str>,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Result<Ran, Fault>>;

    /// The rules that are enforced.
    fn rules(&self) -> Rules;

    /// Whether programs are expected, so that one can begin at once.
    fn expect(&self, is_expected: bool);
}

/// Answers the calls of one program.
pub trait Host: Send + Sync {
    /// Answers one call; its arguments go by the names of [`FUNCTIONS`]. The program may
    /// read `room` bytes more: beyond them an answer need not be finished.
    fn call<'a>(
        &'a self,
        function: &'a str,
        arguments: Map<String, Value>,
        room: usize,
    ) -> BoxFuture<'a, Result<Answer, Raised>>;
}

/// The answer to a call, and how many bytes were read for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The answer.
    pub given: Given,
    /// The bytes that were read; the answer may hold fewer.
    pub read: usize,
}

/// The value of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    Text(String),
    Bytes(Vec<u8>),
    /// A text that the program gets as the value it says, if it is JSON.
    Json(String),
}

/// An exception that a call raises in the program, which may catch it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    /// The class of the exception.
    pub kind: Exception,
    /// Its text.
    pub message: String,
}

/// The classes of exceptions that calls raise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exception {
    /// There is no such thing.
    LookupError,
    /// An argument has the wrong value.
    ValueError,
    /// An argument has the wrong type.
    TypeError,
    /// The caller may not.
    PermissionError,
    /// The Source failed.
    OSError,
}

impl Exception {
    /// Its name in a program.
    pub fn as_str(self) -> &'static str {
        match self {
            Exception::LookupError => "LookupError",
            Exception::ValueError => "ValueError",
            Exception::TypeError => "TypeError",
            Exception::PermissionError => "PermissionError",
            Exception::OSError => "OSError",
        }
    }
}

/// The result of a program that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// The value of its last expression or its `return`.
    pub value: Value,
    /// The text it printed.
    pub printed: String,
    /// Whether it printed more than is told.
    pub is_cut: bool,
    /// How many calls it made.
    pub calls: usize,
    /// How many bytes they read, shown to it or not.
    pub read_bytes: usize,
}

/// Why a program gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The program is longer than programs may be.
    #[error("the program has {bytes} bytes; at most {limit} are taken")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// Functions stand inside functions deeper than they may.
    #[error("line {line}: at most {limit} functions may be defined inside one another")]
    TooNested {
        /// Where.
        line: usize,
        /// How deep they may.
        limit: usize,
    },
    /// Too many programs run.
    #[error("too many programs are running")]
    Busy,
    /// It failed at a line of its own.
    #[error(transparent)]
    Raised(#[from] Box<Complaint>),
    /// It took longer than it may.
    #[error("the program took longer than {seconds} s and was ended, after {calls} calls")]
    OutOfTime {
        /// How long it may take.
        seconds: u64,
        /// How many calls it had made.
        calls: usize,
    },
    /// It took more memory than it may.
    #[error("the program took more than {megabytes} MB of memory and was ended")]
    OutOfMemory {
        /// How much it may take.
        megabytes: u64,
    },
    /// It gave back more than it may.
    #[error("the program returns {bytes} bytes; at most {limit} can be given back")]
    TooMuch {
        /// How much it gave.
        bytes: usize,
        /// How much it may give.
        limit: usize,
        /// The text it had printed.
        printed: String,
        /// Whether it had printed more than is told.
        is_cut: bool,
    },
    /// The worker itself broke.
    #[error("what ran the program broke: {how}")]
    Broke {
        /// How.
        how: String,
    },
    /// Nothing is there that could run it.
    #[error("no program can be run: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
}

/// Where and why a program failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The class of the exception.
    pub kind: String,
    /// Its text.
    pub message: String,
    /// The line, where it is known.
    pub line: Option<u32>,
    /// The way there.
    pub traceback: String,
    /// The text that had been printed.
    pub printed: String,
    /// Whether more had been printed than is told.
    pub is_cut: bool,
    /// The next step for the author of the program.
    pub hint: String,
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.kind)?;
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}

impl std::error::Error for Complaint {}

/// The rules for every program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The modules that may be imported; all others are refused.
    pub modules: &'static [&'static str],
    /// Built-in names of other Pythons that this one lacks or refuses.
    pub missing: &'static [&'static str],
    /// How much memory one may take.
    pub memory_bytes: usize,
    /// How long one may be.
    pub source_bytes: usize,
    /// How many calls one may make.
    pub calls: usize,
    /// How many bytes those may read, shown to it or not.
    pub read_bytes: usize,
    /// How much it may give back.
    pub output_bytes: usize,
    /// How long it may compute.
    pub compute_seconds: u64,
    /// How long it may take altogether.
    pub seconds: u64,
}
