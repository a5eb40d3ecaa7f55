//! Log lines to stderr; stdout belongs to the protocol. The last of them are kept, for
//! `trove logs`.

use std::{
    collections::VecDeque,
    io::{self, IsTerminal as _, Write},
};

use parking_lot::Mutex;
use tracing_subscriber::{
    EnvFilter, Layer as _, fmt::MakeWriter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use trove_core::content::{escape_controls, escape_in_json};

use crate::cli::{Global, LogFormat};

/// How many lines are kept.
const MAX_LINES: usize = 1_000;
/// The longest line that is kept whole.
const MAX_LINE_BYTES: usize = 4_096;

/// One for the process, as logging is.
static KEPT: Mutex<Kept> = Mutex::new(Kept { lines: VecDeque::new(), last: 0 });

struct Kept {
    lines: VecDeque<String>,
    /// The number of the last line; the first line has number 1.
    last: u64,
}

/// The lines kept after one number, oldest first, and the number of the last one.
pub(crate) fn recent(after: u64) -> (Vec<String>, u64) {
    let kept = KEPT.lock();
    let new = usize::try_from(kept.last.saturating_sub(after)).unwrap_or(usize::MAX);
    let skipped = kept.lines.len().saturating_sub(new);
    (kept.lines.iter().skip(skipped).cloned().collect(), kept.last)
}

/// Errors, but for those of tools: the command line shows those itself.
pub(crate) const BESIDES_TOOLS: &str = "error,trove_core::tools=off";

/// Starts logging. `default` is the level when the user names none.
pub(crate) fn start(global: &Global, default: &str) {
    let level = match (&global.log, global.verbose, global.quiet) {
        (Some(level), _, _) => level.as_str(),
        (None, 0, true) if default.starts_with("error") => default,
        (None, 0, true) => "error",
        (None, 0, false) => default,
        (None, 1, _) => "info",
        (None, 2, _) => "debug",
        (None, _, _) => "trace",
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(Terminal);
    let shown = match global.log_format {
        LogFormat::Text => {
            let is_coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            lines.with_ansi(is_coloured).with_target(false).boxed()
        }
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let kept = tracing_subscriber::fmt::layer().with_writer(Keeper).with_ansi(false);
    let logging = tracing_subscriber::registry()
        .with(shown.with_filter(filter(level)))
        .with(kept.with_target(false).with_filter(filter(at_least_info(level))));
    // A second start, as in tests, keeps the first.
    let _ = logging.try_init();
}

/// The kept log has as much as `serve` shows by itself, even if less is shown.
fn at_least_info(level: &str) -> &str {
    match level {
        "debug" | "trace" => level,
        _ => "info",
    }
}

/// Libraries log what passes through them; only their warnings are for us.
fn filter(level: &str) -> EnvFilter {
    let (level, more) = level.split_once(',').unwrap_or((level, "warn"));
    let crates = ["trove", "trove_code", "trove_core", "trove_mcp"];
    let ours = crates.map(|name| format!("{name}={level}")).join(",");
    let ours = format!("warn,{ours},{more}");
    EnvFilter::try_new(&ours).unwrap_or_else(|_| EnvFilter::new("warn"))
}

/// Stderr, where nothing that a server says may steer a terminal.
struct Terminal;

impl<'a> MakeWriter<'a> for Terminal {
    type Writer = Terminal;

    fn make_writer(&'a self) -> Terminal {
        Terminal
    }
}

impl Write for Terminal {
    /// The layer writes a line at a time, whole, with its own colours, whose codes stay. It has
    /// escaped those of others.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const COLOUR: char = '\u{1b}';
        let text = String::from_utf8_lossy(bytes);
        let mut stderr = io::stderr().lock();
        for (nth, part) in text.split(COLOUR).enumerate() {
            if nth > 0 {
                stderr.write_all(&[COLOUR as u8])?;
            }
            let shown =
                if text.starts_with('{') { escape_in_json(part) } else { escape_controls(part) };
            stderr.write_all(shown.as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

struct Keeper;

impl<'a> MakeWriter<'a> for Keeper {
    type Writer = Keeper;

    fn make_writer(&'a self) -> Keeper {
        Keeper
    }
}

impl Write for Keeper {
    /// The layer writes a line at a time, whole.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let shown = &bytes[..bytes.len().min(MAX_LINE_BYTES)];
        let mut kept = KEPT.lock();
        if kept.lines.len() == MAX_LINES {
            kept.lines.pop_front();
        }
        kept.lines.push_back(String::from_utf8_lossy(shown).trim_end().to_owned());
        kept.last += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
