//! Floods without end: what a server sends again and again though none of it was asked for.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use tokio::sync::mpsc;

use super::state::Toy;
use super::wire::{Frame, notification};

/// How many pieces of a flood are sent at a time.
const AT_ONCE: usize = 64;
/// How often a flood that must rest looks whether it may go on.
const LOOK: Duration = Duration::from_millis(20);

/// What a server is flooded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Flood {
    /// `resources/list_changed`.
    ListChanged,
    /// `resources/updated` of a resource that nobody watches.
    Updated,
    /// Log messages.
    Log,
    /// Progress of a request that is none of the client's.
    Progress,
    /// `ping`.
    Ping,
    /// `roots/list`.
    Roots,
    /// `sampling/createMessage`.
    Sampling,
    /// Answers to requests that were not made.
    Answers,
    /// Lines or events that are no messages.
    Noise,
    /// Blank lines, or events without data.
    Blank,
    /// Comments of an event stream; blank lines elsewhere.
    Comments,
    /// Ids and `retry` of an event stream; blank lines elsewhere.
    Fields,
    /// One line that never ends.
    Line,
    /// Lines on stderr.
    Stderr,
}

/// How messages are told apart on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Lines,
    Events,
}

impl Flood {
    /// Some of it, as it stands on a stream.
    fn text(self, stream: Stream) -> String {
        let call = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":"q","method":"{method}"}}"#);
        let message = match self {
            Flood::ListChanged => notification("notifications/resources/list_changed", "{}"),
            Flood::Updated => notification("notifications/resources/updated", r#"{"uri":"a:b"}"#),
            Flood::Log => {
                let params = r#"{"level":"info","data":"nothing of any interest"}"#;
                notification("notifications/message", params)
            }
            Flood::Progress => {
                let params = r#"{"progressToken":999999999,"progress":1}"#;
                notification("notifications/progress", params)
            }
            Flood::Ping => call("ping"),
            Flood::Roots => call("roots/list"),
            Flood::Sampling => call("sampling/createMessage"),
            Flood::Answers => r#"{"jsonrpc":"2.0","id":999999999,"result":{}}"#.to_owned(),
            Flood::Noise => "toymcp: ready to serve".to_owned(),
            Flood::Blank | Flood::Comments | Flood::Fields => String::new(),
            Flood::Line => return "x".repeat(1024),
            Flood::Stderr => return String::new(),
        };
        match (stream, self) {
            (Stream::Lines, _) => format!("{message}\n"),
            (Stream::Events, Flood::Blank) => "data:\n\n".to_owned(),
            (Stream::Events, Flood::Comments) => ": nothing\n\n".to_owned(),
            (Stream::Events, Flood::Fields) => "id: 7\nretry: 1000\n\n".to_owned(),
            (Stream::Events, _) => format!("data: {message}\n\n"),
        }
    }
}

/// Whether the server floods now.
fn goes_on(only_while: Option<&PathBuf>) -> bool {
    only_while.is_none_or(|file| file.exists())
}

/// Floods a client on this stream, as it is told to, until the client is gone.
pub(super) fn start(toy: &Arc<Toy>, out: &mpsc::Sender<Frame>, stream: Stream) {
    let Some(flood) = toy.options.flood else { return };
    let text = flood.text(stream).repeat(AT_ONCE);
    if text.is_empty() {
        return;
    }
    // Its end is that of the client, so it must hold no sender for ever.
    let (out, only_while) = (out.downgrade(), toy.options.flood_while.clone());
    toy.tasks.spawn(async move {
        loop {
            if !goes_on(only_while.as_ref()) {
                tokio::time::sleep(LOOK).await;
            }
            let Some(out) = out.upgrade() else { return };
            if goes_on(only_while.as_ref()) && out.send(Frame::raw(text.clone())).await.is_err() {
                return;
            }
        }
    });
}

/// Floods stderr from now on, if told to.
pub(super) fn start_on_stderr(flood: Option<Flood>, only_while: Option<PathBuf>) {
    if flood != Some(Flood::Stderr) {
        return;
    }
    std::thread::spawn(move || {
        let lines = "toymcp: one of very many lines that say nothing of any interest\n".repeat(64);
        loop {
            if !goes_on(only_while.as_ref()) {
                std::thread::sleep(LOOK);
                continue;
            }
            if std::io::stderr().write_all(lines.as_bytes()).is_err() {
                return;
            }
        }
    });
}
