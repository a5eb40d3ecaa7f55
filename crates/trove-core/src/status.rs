//! The last state that each part reported.
//!
//! Owners push, readers (`info://`, the command line) read; so all of them tell the
//! same story and none needs a handle to the parts.

use std::{collections::BTreeMap, path::Path, sync::OnceLock};

use parking_lot::RwLock;
use tokio::time::Instant;

use crate::{failure::Outage, source_id::SourceId};

/// The last known state of every Source.
#[derive(Debug, Default)]
pub struct StatusBoard {
    sources: RwLock<BTreeMap<SourceId, SourceStatus>>,
    /// The words that name the configuration on a command line, a blank before them.
    configuration: OnceLock<String>,
}

/// A command by which a person lets a server work again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Log in to it.
    LogIn,
    /// Approve what would be run.
    Approve,
    /// Look at what is wrong.
    Examine,
}

/// The state of one Source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStatus {
    /// Since when it is on the board.
    pub since: Instant,
    /// Where it is in its life.
    pub state: State,
    /// How it is reached: `stdio`, `http`, `sse`, `folder`, `builtin`.
    pub transport: &'static str,
    /// The protocol version spoken, once known.
    pub protocol: Option<String>,
    /// The name that the server gives itself.
    pub server: Option<String>,
    /// The time the last answer took, in microseconds.
    pub latency_us: Option<u64>,
    /// The last error, and the help for it.
    pub last_error: Option<Outage>,
    /// A warning about a server that may work all the same.
    pub warning: Option<&'static str>,
    /// It sends more than is asked for, and is read slowly.
    pub is_slowed: bool,
    /// Its list is longer than Trove takes.
    pub is_cut: bool,
    /// How many attempts to connect have failed in a row.
    pub failures: u32,
    /// How many times it was connected.
    pub connects: u32,
    /// Since when its listing is only a memory.
    pub stale_since: Option<Instant>,
    /// Its listing is known, if only from memory.
    pub is_known: bool,
    /// How many resources, templates, tools and prompts it lists.
    pub counts: Counts,
    /// How many tools the server has, shown or not, as far as is known.
    pub tools: Option<usize>,
    /// The recipe that makes resources of its tools, if there is one for it.
    pub recipe: Option<Recipe>,
    /// Whether its tools are passed on to clients, and why.
    pub passing: Option<String>,
    /// How many descriptions differ from those that were accepted.
    pub changed: usize,
    /// The parts that are missing from its listing, and why.
    pub omissions: Vec<String>,
    /// The process, where it is a child.
    pub pid: Option<u32>,
}

/// How much a Source lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub resources: usize,
    pub templates: usize,
    pub tools: usize,
    pub prompts: usize,
}

/// The recipe that makes resources of the tools of a Source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// Its name, e.g. `filesystem`.
    pub name: String,
    /// Why it is off; empty if it is in force.
    pub why: Vec<String>,
    /// How many resources it makes.
    pub made: usize,
}

/// Where a Source is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Known, not started.
    Idle,
    /// Being started or spoken to for the first time.
    Connecting,
    /// Answering.
    Ready,
    /// Waiting before the next attempt.
    Backoff,
    /// It failed so often that attempts are rare.
    CircuitOpen,
    /// It sent far more than was asked for, and is left alone for a while.
    CutOff,
    /// Stopped for good.
    Stopped,
}

/// The warning about a Source that is read slowly, with what to do.
pub const SLOWED: &str = "it sends far more than is asked for, so Trove reads it slowly, and cuts it off if it goes on; have it say less (its log level is a place to begin)";

/// The warning about a Source whose list has no end in sight.
pub const CUT: &str = "its list was cut, and what follows is not served; `omissions` says where, and `limits` in the configuration has the bounds of lists";

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Connecting => "connecting",
            State::Ready => "ready",
            State::Backoff => "backoff",
            State::CircuitOpen => "circuit-open",
            State::CutOff => "cut-off",
            State::Stopped => "stopped",
        }
    }
}

impl SourceStatus {
    /// The warning about it now, if there is one.
    pub fn oddity(&self) -> Option<&'static str> {
        if self.is_slowed {
            return Some(SLOWED);
        }
        if self.is_cut { Some(CUT) } else { self.warning }
    }

    /// A sentence on what is made of its tools; see [`from_tools`].
    pub fn from_tools(&self) -> Option<String> {
        from_tools(self.tools, self.recipe.as_ref(), self.counts.resources)
    }

    /// Known, nothing more.
    pub fn new(transport: &'static str) -> SourceStatus {
        SourceStatus {
            since: Instant::now(),
            state: State::Idle,
            transport,
            protocol: None,
            server: None,
            latency_us: None,
            last_error: None,
            warning: None,
            is_slowed: false,
            is_cut: false,
            failures: 0,
            connects: 0,
            stale_since: None,
            is_known: false,
            counts: Counts::default(),
            tools: None,
            recipe: None,
            passing: None,
            changed: 0,
            omissions: Vec::new(),
            pid: None,
        }
    }

    /// Whether it is still to be listed, and nothing is remembered of it either.
    pub fn is_unlisted(&self) -> bool {
        match self.state {
            State::Idle | State::Connecting | State::Ready => {
                !self.is_known && self.last_error.is_none()
            }
            State::Backoff | State::CircuitOpen | State::CutOff | State::Stopped => false,
        }
    }

    /// Whether the first attempt has ended, well or badly.
    pub fn is_settled(&self) -> bool {
        match self.state {
            // Listed, or not to be listed for the time being.
            State::Ready => self.stale_since.is_none() || self.last_error.is_some(),
            State::Backoff | State::CircuitOpen | State::CutOff | State::Stopped => true,
            // Not to be started, for the reason that is given.
            State::Idle => self.last_error.is_some(),
            // Tried again: the first attempt failed.
            State::Connecting => self.failures > 0,
        }
    }
}

/// A sentence on what is made of the tools of a server that lists `resources`. It is `None` if
/// there are no tools, or no recipe for a server that lists resources of its own. Example:
/// `12 tools, no resources of its own: recipe filesystem makes 3,420`.
pub fn from_tools(
    tools: Option<usize>,
    recipe: Option<&Recipe>,
    resources: usize,
) -> Option<String> {
    let tools = match tools? {
        0 => return None,
        1 => "1 tool".to_owned(),
        count => format!("{} tools", grouped(count)),
    };
    let Some(Recipe { name, why, made }) = recipe else {
        return (resources == 0).then(|| format!("{tools}, no resources, and no recipe for them"));
    };
    if !why.is_empty() {
        let none = if resources == 0 { ", no resources" } else { "" };
        return Some(format!("{tools}{none}: recipe {name} is off, since {}", why.join("; ")));
    }
    let none = if resources > *made { "" } else { ", no resources of its own" };
    let made = grouped(resources.min(*made));
    Some(format!("{tools}{none}: recipe {name} makes {made}"))
}

/// A number with a comma before each group of three digits, e.g. `1,234`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl StatusBoard {
    /// Whether something holds of any Source.
    pub fn any(&self, holds: impl Fn(&SourceStatus) -> bool) -> bool {
        self.read().values().any(holds)
    }

    /// Puts a Source on the board.
    pub fn add(&self, id: &SourceId, transport: &'static str) {
        self.write().insert(id.clone(), SourceStatus::new(transport));
    }

    /// Takes a Source off the board.
    pub fn remove(&self, id: &SourceId) {
        self.write().remove(id);
    }

    /// Changes what is said of a Source; a Source not on the board stays off it.
    pub fn update(&self, id: &SourceId, change: impl FnOnce(&mut SourceStatus)) {
        if let Some(status) = self.write().get_mut(id) {
            change(status);
        }
    }

    /// The state of one Source.
    pub fn of(&self, id: &SourceId) -> Option<SourceStatus> {
        self.read().get(id).cloned()
    }

    /// The states of all, by id.
    pub fn all(&self) -> BTreeMap<SourceId, SourceStatus> {
        self.read().clone()
    }

    /// Says which file configures this Trove; unless one is named, commands find it by themselves.
    pub fn name_configuration(&self, file: &Path) {
        let _ = self.configuration.set(naming(file));
    }

    /// The command of a remedy, fit to be typed, e.g. `trove auth login wiki`.
    pub fn command(&self, remedy: Remedy, id: &SourceId) -> String {
        remedy.command(id, self.configuration.get().map_or("", String::as_str))
    }

    fn read(&self) -> parking_lot::RwLockReadGuard<'_, BTreeMap<SourceId, SourceStatus>> {
        self.sources.read()
    }

    fn write(&self) -> parking_lot::RwLockWriteGuard<'_, BTreeMap<SourceId, SourceStatus>> {
        self.sources.write()
    }
}

impl Remedy {
    /// The command for a server, e.g. `trove auth login wiki`; `configuration` is made by
    /// [`naming`], or empty.
    pub fn command(self, id: &SourceId, configuration: &str) -> String {
        match self {
            Remedy::LogIn => format!("trove auth login {id}{configuration}"),
            Remedy::Approve => format!("trove approve{configuration} {id}"),
            Remedy::Examine => format!("trove doctor{configuration}"),
        }
    }
}

/// The words that name a configuration on a command line, e.g. ` --config /w/trove.toml`.
pub fn naming(file: &Path) -> String {
    format!(" --config {}", shell_word(&file.to_string_lossy()))
}

/// A word that every shell takes as it is, e.g. `'/my files/trove.toml'`.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_configuration_as_a_shell_takes_it() {
        let board = StatusBoard::default();
        let wiki = SourceId::new("wiki").unwrap();
        assert_eq!(board.command(Remedy::LogIn, &wiki), "trove auth login wiki");
        board.name_configuration(Path::new("/my files/it's.toml"));
        let approve = board.command(Remedy::Approve, &wiki);
        assert_eq!(approve, r"trove approve --config '/my files/it'\''s.toml' wiki");
        assert_eq!(shell_word("/a/b-c_1.toml"), "/a/b-c_1.toml");
    }

    #[test]
    fn a_server_that_is_tried_again_is_not_waited_for() {
        let mut status = SourceStatus::new("stdio");
        status.state = State::Connecting;
        assert!(!status.is_settled());
        status.failures = 1;
        assert!(status.is_settled());
    }
}
