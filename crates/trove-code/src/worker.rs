//! The worker's side: one program, then nothing.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use serde_json::{Map, Value};

use crate::{
    allocator, confine,
    interpreter::{Ended, Interpreter as _, World},
    monty::Monty,
    policy::RULES,
    wire::{FromWorker, ToWorker, receive, send},
};

/// Locks this process in, runs the one program it is given, and ends. For a process that
/// was started for nothing else, with pipes for stdin and stdout.
pub fn work() -> ExitCode {
    let locks = match confine::lock_in() {
        Ok(locks) => locks,
        // Unlocked it must not run anything.
        Err(_) => return ExitCode::FAILURE,
    };
    allocator::limit(RULES.memory_bytes);
    match serve(io::stdin().lock(), io::stdout().lock(), FromWorker::Ready(locks)) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever started us is gone.
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
        Ended::Failed(failed) => FromWorker::Failed(failed),
        Ended::Done { value, printed, is_cut } => within_bounds(value, printed, is_cut),
    };
    send(&mut line.output, &answer)
}

/// What is returned goes before what was printed.
fn within_bounds(value: Value, mut printed: String, mut is_cut: bool) -> FromWorker {
    let bytes = value.to_string().len();
    let Some(room) = RULES.output_bytes.checked_sub(bytes) else {
        return FromWorker::TooMuch { bytes };
    };
    if printed.len() > room {
        printed.truncate(printed.floor_char_boundary(room));
        is_cut = true;
    }
    FromWorker::Done { value, printed, is_cut }
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
        let value = json!("v".repeat(RULES.output_bytes - 12));
        let FromWorker::Done { printed, is_cut, .. } = within_bounds(value, "ä".repeat(20), false)
        else {
            panic!("it fits");
        };
        assert_eq!((printed.as_str(), is_cut), ("äääää", true));
    }

    #[test]
    fn too_much_is_refused_whole() {
        let value = json!("v".repeat(RULES.output_bytes));
        let answer = within_bounds(value, String::new(), false);
        assert!(matches!(answer, FromWorker::TooMuch { bytes } if bytes == RULES.output_bytes + 2));
    }
}
