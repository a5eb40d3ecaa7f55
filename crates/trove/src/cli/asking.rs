//! Options of the commands that ask about resources and servers.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::{Output, servers, uris};

/// `trove logs`.
#[derive(Debug, Clone, Args)]
pub struct Logs {
    /// Show the stderr of this server, instead of Trove's own log
    #[arg(add = servers())]
    pub server: Option<String>,
    /// Go on as more is written, until Ctrl-C
    #[arg(long, short)]
    pub follow: bool,
    #[command(flatten)]
    pub output: Output,
}

/// How to print, and how long to wait for it.
#[derive(Debug, Clone, Copy, Args)]
pub struct Wait {
    #[command(flatten)]
    pub output: Output,
    /// How many seconds to wait for servers to answer
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub wait: u64,
}

/// `trove read`.
#[derive(Debug, Clone, Args)]
pub struct Read {
    /// A URI as listed, a filled template, or `server+uri`
    #[arg(add = uris())]
    pub uri: String,
    #[command(flatten)]
    pub wait: Wait,
    /// Cut after so many bytes
    #[arg(long, alias = "max", value_name = "BYTES")]
    pub max_size: Option<u64>,
    /// Begin at this byte
    #[arg(long, value_name = "BYTES")]
    pub offset: Option<u64>,
    /// Only the lines that match this regular expression
    #[arg(long, value_name = "REGEX")]
    pub grep: Option<String>,
    /// As auto, json, text or binary
    #[arg(long, value_name = "FORM")]
    pub format: Option<String>,
}

/// Which of what was found, and how to print it.
#[derive(Debug, Clone, Args)]
pub struct Hits {
    #[command(flatten)]
    pub wait: Wait,
    /// Only this server; may be given again
    #[arg(long = "server", value_name = "ID", add = servers())]
    pub servers: Vec<String>,
    /// Only this type, such as text/markdown or 'text/*'; may be given again
    #[arg(long = "type", value_name = "MIME")]
    pub types: Vec<String>,
    /// How many to show
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub max: usize,
    /// Go on where an earlier answer ended
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
    /// Show a piece of each under it
    #[arg(long)]
    pub preview: bool,
}

/// `trove find`.
#[derive(Debug, Clone, Args)]
pub struct Find {
    /// Your question, in your own words; without one: everything, the best first
    pub query: Vec<String>,
    #[command(flatten)]
    pub hits: Hits,
    /// Leave out what is less relevant, from 0 to 1
    #[arg(long, value_name = "SCORE")]
    pub threshold: Option<f64>,
}

/// `trove search`.
#[derive(Debug, Clone, Args)]
pub struct Search {
    /// The terms, all of which must hold; a term may be a quoted phrase
    #[arg(value_name = "TERM", required = true)]
    pub terms: Vec<String>,
    #[command(flatten)]
    pub hits: Hits,
    /// Where to look
    #[arg(long, value_enum, default_value_t = SearchIn::All)]
    pub scope: SearchIn,
    /// Find misspelt words too
    #[arg(long)]
    pub fuzzy: bool,
    /// Only what changed on or after this date, such as 2026-11-01
    #[arg(long, value_name = "DATE")]
    pub after: Option<String>,
    /// Only what changed on or before this date
    #[arg(long, value_name = "DATE")]
    pub before: Option<String>,
}

/// Where terms are sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SearchIn {
    /// Everywhere
    All,
    /// In names, titles and URIs
    Name,
    /// In descriptions
    Description,
    /// In contents
    Content,
}

/// `trove summary`.
#[derive(Debug, Clone, Args)]
pub struct Summary {
    #[command(flatten)]
    pub wait: Wait,
    /// How to group
    #[arg(long, value_enum, default_value_t = Grouping::Server)]
    pub by: Grouping,
    /// Add sizes, how much is indexed, and how the cache does
    #[arg(long)]
    pub stats: bool,
}

/// `trove run`.
#[derive(Debug, Clone, Args)]
pub struct Run {
    /// The program; - for stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    #[command(flatten)]
    pub wait: Wait,
}

/// How a summary is grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Grouping {
    /// By server
    Server,
    /// By type
    Type,
    /// All in one
    None,
}

/// `trove bench`.
#[derive(Debug, Clone, Args)]
pub struct Bench {
    /// Only these servers
    #[arg(value_name = "ID", add = servers())]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub wait: Wait,
    /// How often to read of each server, in each way
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub reads: u16,
    /// How many reads are under way at once, where several are
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub concurrency: u8,
    /// The longest that the reads of one server may take
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=600))]
    pub seconds: u16,
}
