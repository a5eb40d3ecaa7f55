//! The command line: what the server holds, which protocol it speaks, and what is wrong with it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use super::floods::Flood;

/// A small MCP server with known contents and faults to order.
#[derive(Debug, Clone, Parser)]
#[command(name = "toymcp", after_long_help = Fault::help())]
pub struct Options {
    /// Serve Streamable HTTP at `/mcp` on this address instead of stdio. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR", conflicts_with = "sse")]
    pub http: Option<SocketAddr>,
    /// Serve the older HTTP+SSE transport (`/sse` and `/message`) on this address instead of stdio.
    #[arg(long, value_name = "ADDR")]
    pub sse: Option<SocketAddr>,
    /// Which protocol era to speak.
    #[arg(long, value_enum, default_value = "both")]
    pub era: Eras,
    /// The one version to answer `initialize` with, whatever the client asks for.
    #[arg(long, value_name = "V")]
    pub version: Option<String>,
    /// The name of the server, with which every text it serves begins.
    #[arg(long, default_value = "toy")]
    pub name: String,
    /// The scheme of its own resources.
    #[arg(long, default_value = "toy")]
    pub scheme: String,
    /// How many generated resources to list.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub resources: usize,
    /// How many resources or templates one page of a list holds; everything by default.
    #[arg(long, value_name = "P", default_value_t = usize::MAX, hide_default_value = true)]
    pub page_size: usize,
    /// The kinds of URI the generated resources have.
    #[arg(long, value_enum, default_value = "plain")]
    pub uris: Uris,
    /// A further resource to list, of a URI that other servers may list too.
    #[arg(long, value_name = "URI")]
    pub shared: Vec<String>,
    /// Pad every text to this many bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub size: usize,
    /// In how many steps a slow call reports its progress.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub steps: u32,
    /// List only the generated and shared resources; the fixed ones stay readable.
    #[arg(long)]
    pub bare: bool,
    /// Do not offer resource subscriptions.
    #[arg(long)]
    pub no_subscribe: bool,
    /// A feature not to offer: its methods are unknown.
    #[arg(long, value_enum, value_name = "FEATURE")]
    pub without: Vec<Feature>,
    /// Play the tools of another server from this file, and offer only tools.
    #[arg(long, value_name = "FILE")]
    pub play: Option<PathBuf>,
    /// The `ttlMs` of cacheable results.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub ttl_ms: u64,
    /// The `cacheScope` of cacheable results.
    #[arg(long, default_value = "public", value_parser = ["public", "private"])]
    pub cache_scope: String,
    /// What to send without end though nobody asked for it.
    #[arg(long, value_enum, value_name = "KIND")]
    pub flood: Option<Flood>,
    /// Flood only while this file exists.
    #[arg(long, value_name = "FILE", requires = "flood")]
    pub flood_while: Option<PathBuf>,
    /// Something to do wrong; may be given several times. The list is below.
    #[arg(long, value_name = "FAULT", value_parser = Fault::parse)]
    pub fault: Vec<(Fault, u64)>,
}

/// The protocol eras a server can be told to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Eras {
    /// Only with `initialize`, up to 2025-11-25.
    Legacy,
    /// Only without, from 2026-07-28.
    Modern,
    /// Whichever the request speaks.
    Both,
}

/// The kinds of URI of the generated resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Uris {
    /// `SCHEME://item/N`.
    Plain,
    /// Many schemes and spellings in turn.
    Mixed,
}

/// A group of methods that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Feature {
    Resources,
    Tools,
    Prompts,
    Completion,
}

/// Something the server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    HangInit,
    HangRead,
    DelayInit,
    DelayList,
    DelayRead,
    CrashInit,
    CrashRead,
    CrashAfter,
    ErrorList,
    ErrorTemplates,
    ErrorRead,
    Garbage,
    Noise,
    HugeLine,
    NoLine,
    Stderr,
    PagesLoop,
    PagesCycle,
    PagesEndless,
    PagesEmpty,
    PagesChanging,
    BadItems,
    IgnoreUnknown,
    IgnoreSigterm,
    Fork,
    ForkSetsid,
    WrongId,
    Batch,
    FloodListChanged,
    DropUpdated,
    DropListChanged,
    Deep,
    Mangled,
    EvilText,
    Redirect,
    Gzip,
    Forget,
    HangUp,
    CutUnasked,
}

/// Every fault: its spelling, the unit of its amount (empty when it takes none), and what it does.
const FAULTS: [(Fault, &str, &str, &str); 39] = [
    (Fault::HangInit, "hang:init", "", "answers nothing at all"),
    (Fault::HangRead, "hang:read", "", "never answers resources/read"),
    (Fault::DelayInit, "delay:init", "MS", "reads nothing before that time has passed"),
    (Fault::DelayList, "delay:list", "MS", "answers each resources/list that much later"),
    (Fault::DelayRead, "delay:read", "MS", "answers each resources/read that much later"),
    (Fault::CrashInit, "crash:init", "", "exits at once"),
    (Fault::CrashRead, "crash:read", "", "exits at the first resources/read"),
    (Fault::CrashAfter, "crash:after", "N", "exits at the resources/read after that many"),
    (Fault::ErrorList, "error:list", "", "answers resources/list with an internal error"),
    (
        Fault::ErrorTemplates,
        "error:templates",
        "",
        "answers resources/templates/list with an error",
    ),
    (Fault::ErrorRead, "error:read", "", "answers resources/read with an internal error"),
    (Fault::Garbage, "garbage", "", "answers with lines that are neither JSON nor UTF-8"),
    (Fault::Noise, "noise", "", "prints banner lines on stdout before each message"),
    (Fault::HugeLine, "hugeline", "BYTES", "answers resources/read with a message of that size"),
    (
        Fault::NoLine,
        "noline",
        "BYTES",
        "answers resources/read with that many bytes and no newline",
    ),
    (Fault::Stderr, "stderr", "BYTES", "writes that much to stderr before it reads anything"),
    (Fault::PagesLoop, "pages:loop", "", "gives the same cursor for ever"),
    (Fault::PagesCycle, "pages:cycle", "", "gives the cursors a, b, a, b, and so on"),
    (Fault::PagesEndless, "pages:endless", "", "gives a new page of new resources for ever"),
    (Fault::PagesEmpty, "pages:empty", "", "gives an empty cursor for ever"),
    (
        Fault::PagesChanging,
        "pages:changing",
        "N",
        "lists that many resources, others at each look, and says at once that they changed",
    ),
    (Fault::BadItems, "baditems", "", "lists items of the wrong shape between the right ones"),
    (Fault::IgnoreUnknown, "ignore-unknown", "", "does not answer unknown methods"),
    (Fault::IgnoreSigterm, "ignore-sigterm", "", "stays after SIGTERM and after end of input"),
    (Fault::Fork, "fork", "", "starts `sleep 1000` in the process group of the server"),
    (Fault::ForkSetsid, "fork:setsid", "", "starts `sleep 1000` in a session of its own"),
    (
        Fault::WrongId,
        "wrongid",
        "",
        "sends answers with ids nobody asked for before each right one",
    ),
    (Fault::Batch, "batch", "", "before 2026-07-28, answers in a batch with a notification"),
    (
        Fault::FloodListChanged,
        "flood:listchanged",
        "N",
        "sends that many list_changed to each client that connects",
    ),
    (Fault::DropUpdated, "drop:updated", "", "never sends resources/updated"),
    (Fault::DropListChanged, "drop:listchanged", "", "never sends resources/list_changed"),
    (Fault::Deep, "deep", "N", "answers resources/read with arrays nested that deep"),
    (
        Fault::Mangled,
        "mangled",
        "",
        "answers the read of item N with JSON that is odd in the Nth way, which most parsers refuse",
    ),
    (
        Fault::EvilText,
        "eviltext",
        "",
        "names, descriptions, contents and errors that try to steer terminals and models",
    ),
    (Fault::Redirect, "redirect", "PORT", "over HTTP, sends whoever reads to that port"),
    (Fault::Gzip, "gzip", "", "over HTTP, says that the answer to a read is compressed"),
    (
        Fault::Forget,
        "forget",
        "STATUS",
        "over HTTP, knows each session for one read, then refuses it",
    ),
    (
        Fault::HangUp,
        "hangup",
        "",
        "over HTTP, answers a read only to whoever comes back with the id of an event",
    ),
    (
        Fault::CutUnasked,
        "cut:unasked",
        "MS",
        "over HTTP, ends the stream of what it says unasked after that time",
    ),
];

impl Fault {
    fn parse(text: &str) -> Result<(Self, u64), String> {
        let (name, amount) = text.split_once('=').unwrap_or((text, ""));
        let known = FAULTS.iter().find(|(_, spelling, ..)| *spelling == name);
        let (fault, _, unit, _) = known.ok_or_else(|| format!("no fault is called {name}"))?;
        match (unit.is_empty(), amount.is_empty()) {
            (true, true) => Ok((*fault, 0)),
            (false, false) => {
                amount.parse().map(|n| (*fault, n)).map_err(|e| format!("{amount}: {e}"))
            }
            (true, false) => Err(format!("{name} takes no amount")),
            (false, true) => Err(format!("{name} needs an amount: {name}={unit}")),
        }
    }

    fn help() -> String {
        let line = |(_, name, unit, text): &(Fault, &str, &str, &str)| {
            let spelling =
                if unit.is_empty() { (*name).to_owned() } else { format!("{name}={unit}") };
            format!("  {spelling:<22} {text}\n")
        };
        format!("Faults:\n{}", FAULTS.iter().map(line).collect::<String>())
    }
}

impl Options {
    /// Whether the methods of this group are offered.
    pub(super) fn offers(&self, feature: Feature) -> bool {
        let is_played = self.play.is_none() || feature == Feature::Tools;
        is_played && !self.without.contains(&feature)
    }

    /// Whether the server does this wrong.
    pub(super) fn has(&self, fault: Fault) -> bool {
        self.amount(fault).is_some()
    }

    /// How much of this it does wrong, if at all.
    pub(super) fn amount(&self, fault: Fault) -> Option<u64> {
        self.fault.iter().find(|(kind, _)| *kind == fault).map(|(_, amount)| *amount)
    }

    /// Waits for the amount of a fault that is a time in milliseconds.
    pub(super) async fn delay(&self, fault: Fault) {
        if let Some(ms) = self.amount(fault) {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_spelled_once_and_read_back() {
        for (n, (fault, name, unit, _)) in FAULTS.iter().enumerate() {
            let (text, amount) =
                if unit.is_empty() { ((*name).to_owned(), 0) } else { (format!("{name}=7"), 7) };
            assert_eq!(Fault::parse(&text), Ok((*fault, amount)));
            assert!(
                FAULTS[..n].iter().all(|(other, spelling, ..)| other != fault && spelling != name)
            );
        }
    }

    #[test]
    fn a_fault_with_the_wrong_amount_is_refused() {
        for text in ["bogus", "noise=1", "delay:init", "delay:init=soon"] {
            assert!(Fault::parse(text).is_err(), "{text}");
        }
    }
}
