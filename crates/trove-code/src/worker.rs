//! The worker's side: one program, then nothing.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use serde_json::{Map, Value};

use crate::{
    boxed::{self, Bounds},
    interpreter::{Ended, Interpreter as _, World},
    monty::Monty,
    policy::RULES,
    wire::{Failed, FromWorker, ToWorker, json_len, json_prefix, receive, send},
};

/// How much of what an exception says is told.
const MAX_WHY: usize = 2048;
/// How much of the way to it.
const MAX_WAY: usize = 4096;

/// Locks this process in, runs the one program it is given, and ends. For a process that
/// was started for nothing else, with pipes for stdin and stdout.
pub fn work() -> ExitCode {
    let bounds =
        Bounds { memory_bytes: RULES.memory_bytes, compute_seconds: RULES.compute_seconds };
    let locks = match boxed::lock(bounds) {
        Ok(locks) => locks,
        // Unlocked it must not run anything.
        Err(error) => {
            let _ = send(&mut io::stdout(), &FromWorker::Unready { why: error.to_string() });
            return ExitCode::FAILURE;
        }
    };
    match serve(io::stdin().lock(), io::stdout().lock(), FromWorker::Ready(locks)) {
        Ok(()) => ExitCode::SUCCESS,
        // The parent is gone.
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(input: impl Read, output: impl Write, ready: FromWorker) -> io::Result<()> {
    let mut line = Line { input, output };
    send(&mut line.output, &ready)?;
    let ToWorker::Run { source } = receive(&mut line.input)? else {
        return Err(io::Error::other("no program"));
    };
    let answer = match Monty.run(&source, &mut line) {
        Ended::Failed(failed) => FromWorker::Failed(complaint(failed)),
        Ended::Done { value, printed, is_cut } => within_bounds(value, printed, is_cut),
    };
    send(&mut line.output, &answer)
}

/// The returned value goes before the printed text.
fn within_bounds(value: Value, mut printed: String, mut is_cut: bool) -> FromWorker {
    let bytes = value.to_string().len();
    let Some(room) = RULES.output_bytes.checked_sub(bytes) else {
        is_cut |= cut(&mut printed, RULES.output_bytes);
        return FromWorker::TooMuch { bytes, printed, is_cut };
    };
    is_cut |= cut(&mut printed, room);
    FromWorker::Done { value, printed, is_cut }
}

/// Cuts a text so that it takes no more room in JSON; whether something was lost.
fn cut(text: &mut String, room: usize) -> bool {
    let fits = json_prefix(text, room).len();
    let is_cut = fits < text.len();
    text.truncate(fits);
    is_cut
}

/// A failure is told in no more than a program may say: first why, then where, then what it
/// had printed.
fn complaint(mut failed: Failed) -> Failed {
    let mut room = RULES.output_bytes;
    for (text, most) in [(&mut failed.message, MAX_WHY), (&mut failed.traceback, MAX_WAY)] {
        cut(text, most.min(room));
        room = room.saturating_sub(json_len(text));
    }
    failed.is_cut |= cut(&mut failed.printed, room);
    failed
}

/// The line to the gateway.
struct Line<R, W> {
    input: R,
    output: W,
}

impl<R: Read, W: Write> World for Line<R, W> {
    fn ask(&mut self, function: &str, arguments: Map<String, Value>) -> ToWorker {
        let call = FromWorker::Call { function: function.to_owned(), arguments };
        let answer = send(&mut self.output, &call).and_then(|()| receive(&mut self.input));
        answer.unwrap_or_else(|_| ToWorker::End {
            kind: "OSError".to_owned(),
            message: "the gateway is gone".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_returned_leaves_less_room_for_what_is_printed() {
        let value = json!("v".repeat(RULES.output_bytes - 14));
        let FromWorker::Done { printed, is_cut, .. } = within_bounds(value, "ä".repeat(20), false)
        else {
            panic!("it fits");
        };
        assert_eq!((printed.as_str(), is_cut), ("äääää", true));
    }

    #[test]
    fn a_failure_says_no_more_than_a_program_may() {
        let long = || "\u{1}".repeat(100_000);
        let failed = Failed {
            kind: "ValueError".to_owned(),
            message: long(),
            line: None,
            traceback: long(),
            printed: long(),
            is_cut: false,
        };
        let told = complaint(failed);
        let all = [&told.message, &told.traceback, &told.printed].map(|text| json_len(text));
        assert!(all.iter().all(|bytes| *bytes > 2000), "{all:?}");
        assert!(all.iter().sum::<usize>() <= RULES.output_bytes, "{all:?}");
    }

    #[test]
    fn a_text_is_as_long_as_it_is_written() {
        for text in ["", "plain", "a\"b\\c\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}äß€😀"] {
            assert_eq!(json_len(text), json!(text).to_string().len(), "{text:?}");
            for room in 2..json_len(text) {
                assert!(json_len(json_prefix(text, room)) <= room);
            }
            assert_eq!(json_prefix(text, json_len(text)), text);
        }
    }

    #[test]
    fn too_much_is_refused_whole() {
        let value = json!("v".repeat(RULES.output_bytes));
        let answer = within_bounds(value, String::new(), false);
        assert!(
            matches!(answer, FromWorker::TooMuch { bytes, .. } if bytes == RULES.output_bytes + 2)
        );
    }
}
