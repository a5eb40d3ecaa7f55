//! Prints for commands, and notes whether it got through.

use std::{
    io::{self, Write as _},
    sync::OnceLock,
};

use serde::de::IgnoredAny;
use trove_core::content::escape_in_json;

use super::{Class, Failed};

/// Why something could not be printed. A command says much in many places; that it was in
/// vain is asked once, at its end.
static UNSAID: OnceLock<io::Error> = OnceLock::new();

/// Prints an answer. In JSON a character that could act unseen on a terminal is written as an
/// escape, so that the value stays the same. Other texts were made visible where they were put
/// together.
pub(super) fn say(text: &str) {
    let is_json = text.lines().all(|line| serde_json::from_str::<IgnoredAny>(line).is_ok())
        || serde_json::from_str::<IgnoredAny>(text).is_ok();
    if is_json { say_bytes(escape_in_json(text).as_bytes()) } else { say_bytes(text.as_bytes()) }
}

/// Prints bytes as they are. A reader that has seen enough, such as `head`, is no fault.
pub(super) fn say_bytes(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    // Bytes left in the buffer would be lost at the end without a word.
    let printed = stdout.write_all(bytes).and_then(|()| stdout.flush());
    if let Err(error) = printed
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        // The first says why; those after it only follow from it.
        let _ = UNSAID.set(error);
    }
}

/// Whether something could not be printed, such as to a disk that is full.
pub(super) fn unsaid() -> Option<Failed> {
    let error = UNSAID.get()?;
    let message = format!("the answer could not be written: {error}");
    Some(Failed::new(Class::Output, message))
}
