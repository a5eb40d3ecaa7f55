//! Monty, an interpreter for much of Python, as ours.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use monty::{FunctionCall, MontyRun, RunProgress};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyDate, MontyDateTime, MontyException,
    MontyObject, NameLookupResult, OsFunctionCall, PrintWriter, PrintWriterCallback,
    ResourceLimits, ResourceTracker,
};
use serde_json::{Map, Value};
use time::OffsetDateTime;
use trove_core::programs::{FUNCTIONS, Function};

use crate::{
    clock,
    interpreter::{Ended, Interpreter, World},
    policy::{MAX_ARGUMENTS, MAX_DEPTH, MAX_TIME, RULES},
    values::{from_json, to_json},
    wire::{Failed, Gift, ToWorker},
};

/// The name of a program in a traceback.
const NAME: &str = "program.py";
/// The interpreter.
pub(crate) struct Monty;

impl Interpreter for Monty {
    fn run(&self, source: &str, world: &mut dyn World) -> Ended {
        let mut printed = Printed::default();
        match run(source, world, &mut printed) {
            Ok(object) => match to_json(&object) {
                Some(value) => Ended::Done { value, printed: printed.text, is_cut: printed.is_cut },
                None => {
                    let deep = "what is returned is nested too deep";
                    let error = MontyException::new(ExcType::ValueError, Some(deep.to_owned()));
                    Ended::Failed(told(&error, printed))
                }
            },
            Err(error) => Ended::Failed(told(&error, printed)),
        }
    }
}

fn run(
    source: &str,
    world: &mut dyn World,
    printed: &mut Printed,
) -> Result<MontyObject, MontyException> {
    let names = FUNCTIONS.iter().map(|function| function.name.to_owned()).collect();
    let program = MontyRun::new(source.to_owned(), NAME, names, CompileOptions::default())?;
    let functions = FUNCTIONS
        .iter()
        .map(|function| MontyObject::Function { name: function.name.to_owned(), docstring: None });
    let limits = ResourceLimits::default()
        .max_duration(MAX_TIME)
        .max_memory(RULES.memory_bytes)
        .max_recursion_depth(MAX_DEPTH);
    let tracker = ResourceTracker::new(limits);
    let mut progress =
        program.start(functions.collect(), tracker, PrintWriter::Callback(printed))?;
    loop {
        progress = match progress {
            RunProgress::Complete(object) => return Ok(object),
            RunProgress::FunctionCall(call) => answer(call, world, printed)?,
            RunProgress::OsCall(call) => {
                call.resume_with(PrintWriter::Callback(printed), |call| outside(&call))?
            }
            RunProgress::NameLookup(lookup) => {
                lookup.resume(NameLookupResult::Undefined, PrintWriter::Callback(printed))?
            }
            RunProgress::ResolveFutures(futures) => {
                let never = "no function here needs to be awaited".to_owned();
                let error = MontyException::new(ExcType::RuntimeError, Some(never));
                futures.abort(error, PrintWriter::Callback(printed))?
            }
        };
    }
}

/// Has one call answered and goes on.
fn answer(
    call: FunctionCall,
    world: &mut dyn World,
    printed: &mut Printed,
) -> Result<RunProgress, MontyException> {
    let print = PrintWriter::Callback(printed);
    let name = call.function_name.clone();
    let function = FUNCTIONS.iter().find(|function| function.name == name);
    let Some(function) = function.filter(|_| call.object_id.is_none()) else {
        return call.resume(ExtFunctionResult::NotFound(name), print);
    };
    let arguments = match arguments(function, &call) {
        Ok(arguments) => arguments,
        Err(error) => return call.resume(error, print),
    };
    match world.ask(function.name, arguments) {
        ToWorker::Give(gift) => call.resume(taken(gift), print),
        ToWorker::Raise { kind, message } => call.resume(exception(&kind, message), print),
        ToWorker::End { kind, message } => call.abort(exception(&kind, message), print),
        ToWorker::Run { .. } => {
            let error = exception("OSError", "the gateway does not keep to the order".to_owned());
            call.abort(error, print)
        }
    }
}

/// The arguments of a call by their names, or the error that Python has for them.
fn arguments(
    function: &Function,
    call: &FunctionCall,
) -> Result<Map<String, Value>, MontyException> {
    let wrong = |what: String| {
        MontyException::new(ExcType::TypeError, Some(format!("{}() {what}", function.name)))
    };
    let size: usize = call.args.iter().map(MontyObject::deep_host_size).sum();
    let named: usize = call.kwargs.iter().map(|(_, value)| value.deep_host_size()).sum();
    if size + named > MAX_ARGUMENTS {
        let what = format!("takes at most {MAX_ARGUMENTS} bytes of arguments");
        return Err(MontyException::new(
            ExcType::ValueError,
            Some(format!("{}() {what}", function.name)),
        ));
    }
    if call.args.len() > function.parameters.len() {
        let most = function.parameters.len();
        return Err(wrong(format!("takes {most} arguments at most, not {}", call.args.len())));
    }
    let mut taken = Map::new();
    let placed = function.parameters.iter().map(|name| (*name).to_owned()).zip(&call.args);
    let named = call.kwargs.iter().map(|(key, value)| (key.to_string(), value));
    for (name, value) in placed.chain(named) {
        if !function.takes_more && !function.parameters.contains(&name.as_str()) {
            let all = function.parameters.join(", ");
            return Err(wrong(format!("has no argument {name:?}; it takes {all}")));
        }
        if matches!(value, MontyObject::Bytes(_)) {
            return Err(wrong(format!("takes no bytes as {name:?}; decode() them")));
        }
        let value = to_json(value).ok_or_else(|| wrong(format!("cannot take such a {name:?}")))?;
        if taken.insert(name.clone(), value).is_some() {
            return Err(wrong(format!("got {name:?} twice")));
        }
    }
    let first = function.parameters.first().filter(|name| **name != "server");
    match first.filter(|name| !taken.contains_key(**name)) {
        Some(name) => Err(wrong(format!("needs {name:?}"))),
        None => Ok(taken),
    }
}

/// The answer to a call, as a value of the program.
fn taken(gift: Gift) -> ExtFunctionResult {
    let object = match gift {
        Gift::Text(text) => MontyObject::String(text),
        Gift::Bytes(base64) => MontyObject::Bytes(STANDARD.decode(base64).unwrap_or_default()),
        Gift::Json(text) => match from_json(&text) {
            Ok(object) => object,
            Err(why) => {
                return exception("ValueError", format!("no JSON that can be taken: {why}")).into();
            }
        },
    };
    object.into()
}

fn exception(kind: &str, message: String) -> MontyException {
    MontyException::new(kind.parse().unwrap_or(ExcType::RuntimeError), Some(message))
}

/// The clock may be read. Files and the environment are not there.
fn outside(call: &OsFunctionCall) -> ExtFunctionResult {
    match call {
        OsFunctionCall::DateToday => {
            let now = OffsetDateTime::now_utc();
            let (month, day) = (u8::from(now.month()), now.day());
            MontyObject::Date(MontyDate { year: now.year(), month, day }).into()
        }
        OsFunctionCall::DateTimeNow(zone) => {
            let offset = zone.as_ref().map_or(0, |zone| i64::from(zone.offset_seconds));
            let now = OffsetDateTime::now_utc() + time::Duration::seconds(offset);
            MontyObject::DateTime(MontyDateTime {
                year: now.year(),
                month: now.month().into(),
                day: now.day(),
                hour: now.hour(),
                minute: now.minute(),
                second: now.second(),
                microsecond: now.microsecond(),
                offset_seconds: zone.as_ref().map(|zone| zone.offset_seconds),
                timezone_name: zone.as_ref().and_then(|zone| zone.name.clone()),
            })
            .into()
        }
        other => {
            let message = format!("{} is not there: programs see resources alone", other.name());
            exception("PermissionError", message).into()
        }
    }
}

/// The name of an exception, and its words.
fn why(error: &MontyException) -> (String, String) {
    let kind = error.exc_type();
    if clock::is_over() && kind == ExcType::MemoryError {
        let message = format!("the program computed for more than {} s", RULES.compute_seconds);
        return (ExcType::TimeoutError.to_string(), message);
    }
    let said = error.message().unwrap_or_default();
    if kind == ExcType::TimeoutError && said.starts_with("time limit exceeded") {
        return (kind.to_string(), format!("the program took more than {} s", RULES.seconds));
    }
    (kind.to_string(), said.to_owned())
}

fn told(error: &MontyException, printed: Printed) -> Failed {
    let (kind, message) = why(error);
    // Without a line it would say the same again.
    let mut traceback = String::new();
    if let Some((way, _)) = error.to_string().rsplit_once('\n')
        && !error.traceback().is_empty()
    {
        traceback = format!("{way}\n{kind}: {message}");
    }
    Failed {
        kind,
        message,
        line: error.traceback().last().map(|frame| frame.start.line),
        traceback,
        printed: printed.text,
        is_cut: printed.is_cut,
    }
}

/// The printed text, as far as it can be told.
#[derive(Default)]
struct Printed {
    text: String,
    is_cut: bool,
}

impl PrintWriterCallback for Printed {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        let room = RULES.output_bytes.saturating_sub(self.text.len());
        let fits = output.floor_char_boundary(room);
        self.is_cut |= fits < output.len();
        self.text.push_str(&output[..fits]);
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.stdout_write(Cow::Borrowed(end.encode_utf8(&mut [0; 4])))
    }
}
