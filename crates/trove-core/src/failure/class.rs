//! The classes of failures: one table, from which every door takes its words and numbers.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Codes of JSON-RPC that failures are told by.
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;
/// The code for a resource that is not there, until 2025-11-25.
const RESOURCE_NOT_FOUND: i64 = -32002;
/// A role is missing; a number of ours.
const FORBIDDEN: i64 = -32003;
/// The caller asks too much; a number of ours. `data.retryAfterMs` says when to ask again.
const TOO_MUCH: i64 = -32004;

/// Exit codes, as docs/reference/commands.md lists them.
pub mod exit {
    /// The command line is wrong.
    pub const USAGE: u8 = 1;
    /// `doctor` found something that must be mended.
    pub const TO_MEND: u8 = 1;
    /// The configuration is wrong.
    pub const CONFIG: u8 = 2;
    /// The caller lacks the role it takes.
    pub const UNAUTHORISED: u8 = 3;
    /// A server, or an address, cannot be reached.
    pub const UNREACHABLE: u8 = 4;
    /// A server answered with an error, or there is no such resource.
    pub const SOURCE: u8 = 5;
}

/// A row of the table.
struct Row {
    class: Class,
    name: &'static str,
    label: &'static str,
    /// The JSON-RPC code of 2026-07-28.
    rpc: i64,
    /// The JSON-RPC code of earlier eras.
    legacy_rpc: i64,
    exit: u8,
    http: u16,
    teller: Teller,
    meaning: &'static str,
    next: &'static str,
}

/// The part of Trove that a class belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Teller {
    /// Tools give it, and so do all doors.
    Tools,
    /// Tools and doors give it to a caller that may not do something.
    Rules,
    /// Only doors give it, to a caller that may not enter or asks too much.
    Doors,
    /// Only the command line gives it.
    Commands,
}

macro_rules! classes {
    ($($class:ident $name:literal $label:literal: $rpc:tt $legacy:tt, $exit:ident, $http:literal, $teller:ident; $meaning:literal; $next:literal)*) => {
        /// The class of a failure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Class {
            $(#[doc = $meaning] $class,)*
        }

        const TABLE: &[Row] = &[$(Row {
            class: Class::$class,
            name: $name,
            label: $label,
            rpc: $rpc,
            legacy_rpc: $legacy,
            exit: exit::$exit,
            http: $http,
            teller: Teller::$teller,
            meaning: $meaning,
            next: $next,
        },)*];
    };
}

// Name, label: codes of 2026-07-28 and earlier eras, exit code, HTTP status, teller; meaning;
// advice
classes! {
    InvalidUri "InvalidURI" "invalid_uri": INVALID_PARAMS RESOURCE_NOT_FOUND, SOURCE, 404, Tools;
        "the URI is malformed, or no resource or template fits it";
        "take one of the names that `trove ls`, or get_resource without `uri`, lists"
    MissingTemplateVariable "MissingTemplateVariable" "missing_template_variable": INVALID_PARAMS INVALID_PARAMS, SOURCE, 400, Tools;
        "a variable of a template has no value";
        "give a value for each of `missing_variables`"
    InvalidTemplateVariable "InvalidTemplateVariable" "invalid_template_variable": INVALID_PARAMS INVALID_PARAMS, SOURCE, 400, Tools;
        "the value of a variable breaks its rule";
        "give a value that obeys `rule`"
    Unauthorized "Unauthorized" "unauthorized": FORBIDDEN FORBIDDEN, UNAUTHORISED, 403, Rules;
        "the caller lacks a role, or the server wants a login or refuses it";
        "read `auth://status` for your roles here; check the server's login or credentials"
    ResourceExecutionError "ResourceExecutionError" "resource_execution_error": INTERNAL_ERROR INTERNAL_ERROR, SOURCE, 502, Tools;
        "the server failed";
        "ask again if `retryable` is true; `trove status` shows how the server is"
    NotFound "NotFound" "not_found": INVALID_PARAMS RESOURCE_NOT_FOUND, SOURCE, 404, Tools;
        "the thing is not there";
        "check the name against what is listed now"
    AmbiguousUri "AmbiguousURI" "ambiguous_uri": INVALID_PARAMS INVALID_PARAMS, SOURCE, 409, Tools;
        "several servers own it";
        "ask for one of `candidates`"
    TooLarge "TooLarge" "too_large": INTERNAL_ERROR INTERNAL_ERROR, SOURCE, 502, Tools;
        "it is larger than a limit";
        "ask for something smaller, or for a part of it"
    Busy "Busy" "busy": INTERNAL_ERROR INTERNAL_ERROR, UNREACHABLE, 503, Tools;
        "too much is going on";
        "ask again in a few seconds"
    Cancelled "Cancelled" "cancelled": INTERNAL_ERROR INTERNAL_ERROR, SOURCE, 502, Tools;
        "the caller took the question back";
        "ask again if it is still wanted"
    InvalidArguments "InvalidArguments" "invalid_arguments": INVALID_PARAMS INVALID_PARAMS, USAGE, 400, Tools;
        "the arguments are not what the tool takes";
        "correct the argument that the message names"
    TooManyWatches "TooManyWatches" "too_many_watches": INVALID_REQUEST INVALID_REQUEST, SOURCE, 429, Doors;
        "the caller watches as many resources as one may";
        "unsubscribe from some"
    ConsentRequired "ConsentRequired" "consent_required": INVALID_PARAMS INVALID_PARAMS, SOURCE, 403, Rules;
        "a person must say so first";
        "ask the person, then call again with the word that the message names"
    Conflict "Conflict" "conflict": INVALID_PARAMS INVALID_PARAMS, SOURCE, 409, Tools;
        "it exists already, or something depends on it";
        "choose another name, or change first what depends on it"
    StorageError "StorageError" "storage_error": INTERNAL_ERROR INTERNAL_ERROR, SOURCE, 500, Tools;
        "what was to be kept could not be";
        "mend what the message names, then try again"
    CodeError "CodeError" "code_error": INVALID_PARAMS INVALID_PARAMS, SOURCE, 400, Tools;
        "the program that was sent failed";
        "correct the program where `traceback` says"
    InternalError "InternalError" "internal_error": INTERNAL_ERROR INTERNAL_ERROR, SOURCE, 500, Tools;
        "a fault of Trove's";
        "try once more, then report it with what `trove logs` shows"
    Forbidden "Forbidden" "forbidden": INVALID_REQUEST INVALID_REQUEST, UNAUTHORISED, 403, Doors;
        "this Host or Origin may not ask, or this person may not enter";
        "use the address that `trove up` prints"
    TooManyRequests "TooManyRequests" "too_many_requests": TOO_MUCH TOO_MUCH, SOURCE, 429, Doors;
        "the caller asks more often than one may";
        "ask again in a few seconds"
    Unauthenticated "Unauthenticated" "unauthenticated": INVALID_REQUEST INVALID_REQUEST, UNAUTHORISED, 401, Doors;
        "the HTTP door did not find out who asks";
        "send the token: `trove up` prints it"
    Config "Config" "config": INTERNAL_ERROR INTERNAL_ERROR, CONFIG, 500, Commands;
        "the configuration is wrong; where it has errors, `problems` lists each with file, line and hint";
        "mend what `trove config check` shows"
    Approvals "Approvals" "approvals": INTERNAL_ERROR INTERNAL_ERROR, CONFIG, 500, Commands;
        "servers wait for approval, or approvals cannot be kept";
        "look at what waits with `trove approve`"
    Client "Client" "client": INTERNAL_ERROR INTERNAL_ERROR, CONFIG, 500, Commands;
        "the file of another client is not as it should be, or, with code 1, what is wanted of it cannot be";
        "do what the message says"
    Store "Store" "store": INTERNAL_ERROR INTERNAL_ERROR, CONFIG, 500, Commands;
        "flags cannot be kept";
        "mend the file that the message names"
    Unreachable "Unreachable" "unreachable": INTERNAL_ERROR INTERNAL_ERROR, UNREACHABLE, 503, Commands;
        "an address cannot be served on, no Trove is running, or no server could be measured";
        "do what the message says"
    Lost "Lost" "lost": INTERNAL_ERROR INTERNAL_ERROR, UNREACHABLE, 503, Commands;
        "the running Trove ended in the middle of its answer";
        "run the command again"
    Output "Output" "output": INTERNAL_ERROR INTERNAL_ERROR, UNREACHABLE, 500, Commands;
        "the answer could not be written; this is said on stderr alone";
        "look where the output goes"
    Runtime "Runtime" "runtime": INTERNAL_ERROR INTERNAL_ERROR, UNREACHABLE, 500, Commands;
        "the machine gives no threads";
        "end other programs, then run the command again"
}

/// How many classes there are.
pub const CLASSES: usize = TABLE.len();

impl Class {
    /// Every class, in the order of the table.
    pub fn all() -> impl Iterator<Item = Class> {
        TABLE.iter().map(|row| row.class)
    }

    /// Its name, e.g. `NotFound`: `error` of an answer, the word of the audit log and of the page.
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Its name in snake case, e.g. `not_found`: `error_type` of an answer, and the label of the
    /// metrics.
    pub fn label(self) -> &'static str {
        self.row().label
    }

    /// Its JSON-RPC code, by the era of the client.
    pub fn rpc(self, is_modern: bool) -> i64 {
        let row = self.row();
        if is_modern { row.rpc } else { row.legacy_rpc }
    }

    /// Its exit code.
    pub fn exit(self) -> u8 {
        self.row().exit
    }

    /// Its HTTP status.
    pub fn http(self) -> u16 {
        self.row().http
    }

    /// The part of Trove that it belongs to.
    pub fn teller(self) -> Teller {
        self.row().teller
    }

    /// Whether the caller was not allowed, rather than something went wrong.
    pub fn is_refusal(self) -> bool {
        matches!(self.teller(), Teller::Rules | Teller::Doors)
    }

    /// Whether tools fail so.
    pub fn is_of_tools(self) -> bool {
        matches!(self.teller(), Teller::Tools | Teller::Rules)
    }

    /// The next step, if only the class is known.
    pub fn next(self) -> &'static str {
        self.row().next
    }

    /// The class of that name.
    pub fn named(name: &str) -> Option<Class> {
        Class::all().find(|class| class.as_str() == name)
    }

    /// The table as Markdown: the classes of tools and doors, or those of the command line alone.
    pub fn table(of_commands: bool) -> String {
        let mut text = if of_commands {
            String::from("| class | code | meaning | what to do |\n|---|---|---|---|\n")
        } else {
            String::from(
                "| error | error_type | JSON-RPC | exit | HTTP | meaning | what to do |\n|---|---|---|---|---|---|---|\n",
            )
        };
        for row in TABLE.iter().filter(|row| (row.teller == Teller::Commands) == of_commands) {
            let Row { name, label, exit, http, meaning, next, .. } = row;
            let rpc = if row.rpc == row.legacy_rpc {
                row.rpc.to_string()
            } else {
                format!("{} ({})", row.rpc, row.legacy_rpc)
            };
            // Writing to a String cannot fail.
            let _ = if of_commands {
                writeln!(text, "| `{name}` | {exit} | {meaning} | {next} |")
            } else {
                writeln!(
                    text,
                    "| `{name}` | `{label}` | {rpc} | {exit} | {http} | {meaning} | {next} |"
                )
            };
        }
        text
    }

    fn row(self) -> &'static Row {
        // The macro writes the classes and the table in one order.
        &TABLE[self as usize]
    }
}

impl Serialize for Class {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Class, D::Error> {
        let name = String::deserialize(from)?;
        // A Trove of another version may know classes that this one does not.
        Ok(Class::named(&name).unwrap_or(Class::InternalError))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_a_row_of_its_own() {
        for (n, class) in Class::all().enumerate() {
            assert_eq!(class as usize, n);
            assert_eq!(class.row().class, class);
            assert_eq!(Class::named(class.as_str()), Some(class));
            let same = class.label().replace('_', "");
            assert_eq!(same, class.as_str().to_ascii_lowercase());
        }
    }
}
