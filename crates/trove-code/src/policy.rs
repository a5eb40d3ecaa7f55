//! The rules for programs and their bounds. They are enforced as they stand here, and published.

use std::time::Duration;

use trove_core::programs::Rules;

/// How long a program may be.
const MAX_SOURCE: usize = 16 * 1024;
/// How many calls one may make.
const MAX_CALLS: usize = 50;
/// How many bytes those may read, shown to it or not.
const MAX_READ: usize = 20 * 1024 * 1024;
/// How much it may give back, what it printed and what it returns together.
const MAX_OUTPUT: usize = 32 * 1024;
/// How much memory it may take.
const MAX_MEMORY: usize = 128 * 1024 * 1024;
/// How long it may compute.
const MAX_COMPUTE: Duration = Duration::from_secs(10);
/// How long it may take altogether, with what it waits for.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(60);
/// How long the arguments of one call may be.
pub(crate) const MAX_ARGUMENTS: usize = 64 * 1024;
/// How deep functions may call one another.
pub(crate) const MAX_DEPTH: usize = 200;
/// How deep functions may be defined in one another: compiling takes twice as long for
/// each more.
pub(crate) const MAX_NESTED: usize = 8;
/// How many programs run at once, one of each caller.
pub(crate) const MAX_RUNNING: usize = 2;
/// How many wait for that.
pub(crate) const MAX_WAITING: usize = 16;
/// How long one waits for its turn.
pub(crate) const MAX_QUEUE_TIME: Duration = Duration::from_secs(20);

/// The modules of the interpreter that can be imported. Files, the environment and processes are
/// behind calls that are refused.
const MODULES: &[&str] = &[
    "asyncio",
    "base64",
    "binascii",
    "collections",
    "dataclasses",
    "datetime",
    "functools",
    "itertools",
    "json",
    "math",
    "os",
    "pathlib",
    "re",
    "sys",
    "typing",
    "unicodedata",
];

/// Names that are built into other Pythons and are missing here, or refuse their caller.
const MISSING: &[&str] = &[
    "__import__",
    "breakpoint",
    "compile",
    "delattr",
    "dir",
    "eval",
    "exec",
    "globals",
    "help",
    "input",
    "locals",
    "open",
    "vars",
];

/// All of it.
pub(crate) const RULES: Rules = Rules {
    modules: MODULES,
    missing: MISSING,
    memory_bytes: MAX_MEMORY,
    source_bytes: MAX_SOURCE,
    calls: MAX_CALLS,
    read_bytes: MAX_READ,
    output_bytes: MAX_OUTPUT,
    compute_seconds: MAX_COMPUTE.as_secs(),
    seconds: MAX_TIME.as_secs(),
};
