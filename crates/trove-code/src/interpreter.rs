//! The needs of a worker towards an interpreter.

use serde_json::{Map, Value};

use crate::wire::{Failed, ToWorker};

/// Runs a program from its first line to its end.
pub(crate) trait Interpreter {
    fn run(&self, source: &str, world: &mut dyn World) -> Ended;
}

/// All that a program sees besides itself.
pub(crate) trait World {
    /// Has a call answered; gives what came of it, or that it must end.
    fn ask(&mut self, function: &str, arguments: Map<String, Value>) -> ToWorker;
}

/// How a program ended.
pub(crate) enum Ended {
    Done { value: Value, printed: String, is_cut: bool },
    Failed(Failed),
}
