//! The command line as types; the doc comments are the help.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use clap_complete::engine::ArgValueCompleter;

use crate::{
    clients::{Scope, TABLE},
    commands::exit,
    complete,
    config::{BridgeMode, Client, Toolset, Word},
};

/// One door to every MCP resource: many MCP servers, one catalogue.
#[derive(Debug, Parser)]
#[command(name = "trove", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// The configuration: trove.toml, or any client's own file
    #[arg(long, short, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Run what a project's or another client's file names without approval, this time
    #[arg(long, alias = "approve", global = true)]
    pub yes: bool,
    /// Start the servers for this command alone, even if a Trove is running
    #[arg(long, global = true)]
    pub alone: bool,
    /// Say nothing on stderr but errors: no notes, no progress
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on stderr; given again, still more
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// How much to say on stderr: error, warn, info, debug, trace
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log: Option<String>,
    /// How to say it
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a configuration and a small guide to start from
    Init(Output),
    /// Start with what is there, and say how to connect a client
    Up(Http),
    /// Serve MCP on stdin and stdout, over HTTP, or both
    Serve(Serve),
    /// List every resource and template
    Ls(Wait),
    /// Read one resource
    Read(Read),
    /// Find resources by what you want to know
    Find(Find),
    /// Search resources for words that must all be there
    Search(Search),
    /// Count resources by server and type
    Summary(Summary),
    /// Show the state of every server
    Status(Wait),
    /// Show what a running Trove logs, or what one of its servers does
    Logs(Logs),
    /// Show the servers of the configuration
    List(Output),
    /// Add a server to the configuration
    Add(Add),
    /// Remove a server from the configuration
    Remove(Remove),
    /// Show which commands a project's or another client's file would run, and let them
    Approve(Approve),
    /// Look at local knowledge: categories, collections, documents
    #[command(subcommand)]
    Guide(GuideCommand),
    /// List the tools that clients can be given; `show` one whole
    Tools(Tools),
    /// Log in to servers that ask for it, and out again
    #[command(subcommand)]
    Auth(AuthCommand),
    /// Look at flags, set and remove them
    #[command(subcommand)]
    Flag(FlagCommand),
    /// Find what is wrong, and say how to mend it
    Doctor(Wait),
    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Take over the servers that other clients have; nothing is started
    Import(Import),
    /// Put Trove into a client; without --client, show which clients are here
    Install(Install),
    /// Take Trove out of a client
    Uninstall(Uninstall),
    /// Print what makes a shell complete commands, servers and URIs
    Completions(Completions),
    /// Print the manual
    Man(Man),
}

/// `trove logs`.
#[derive(Debug, Clone, Args)]
pub struct Logs {
    /// What this server wrote to its stderr, instead of what Trove logs
    #[arg(add = servers())]
    pub server: Option<String>,
    /// Go on as more is written, until Ctrl-C
    #[arg(long, short)]
    pub follow: bool,
    #[command(flatten)]
    pub output: Output,
}

/// `trove add`.
#[derive(Debug, Clone, Args)]
pub struct Add {
    /// What to call it
    pub name: String,
    /// The program and its arguments, behind `--`
    #[arg(last = true, required_unless_present = "url", conflicts_with = "url")]
    pub command: Vec<String>,
    /// Where it is served
    #[arg(long)]
    pub url: Option<String>,
    /// A variable it gets, as in KEY=VALUE; may be given again
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "url")]
    pub env: Vec<String>,
    /// A header to send, as in 'KEY: VALUE'; may be given again
    #[arg(long, value_name = "KEY: VALUE", requires = "url")]
    pub header: Vec<String>,
    /// Show the change, and make none
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: Output,
}

/// `trove remove`.
#[derive(Debug, Clone, Args)]
pub struct Remove {
    /// The server
    #[arg(add = servers())]
    pub name: String,
    /// Show the change, and make none
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: Output,
}

/// `trove guide`.
#[derive(Debug, Clone, Subcommand)]
pub enum GuideCommand {
    /// List categories and collections
    List(Output),
    /// List the documents of a category
    Documents {
        /// The category
        category: String,
        #[command(flatten)]
        output: Output,
    },
    /// Print documents, as in `lang/python,checklists`
    Show {
        /// Which: a category or collection, with `/` and a document or pattern; several with commas
        expression: String,
        #[command(flatten)]
        output: Output,
    },
}

/// `trove tools`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Tools {
    #[command(subcommand)]
    pub command: Option<ToolsCommand>,
    #[command(flatten)]
    pub output: Output,
}

/// `trove tools show`.
#[derive(Debug, Clone, Subcommand)]
pub enum ToolsCommand {
    /// Print all there is to know of one tool
    Show {
        /// Its name
        name: String,
        #[command(flatten)]
        output: Output,
    },
}

/// `trove completions`.
#[derive(Debug, Clone, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    pub shell: String,
}

/// `trove man`.
#[derive(Debug, Clone, Args)]
pub struct Man {
    /// Write a page for every command into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "markdown")]
    pub to: Option<PathBuf>,
    /// All commands on one page of Markdown
    #[arg(long)]
    pub markdown: bool,
}

fn servers() -> ArgValueCompleter {
    ArgValueCompleter::new(complete::servers)
}

fn uris() -> ArgValueCompleter {
    ArgValueCompleter::new(complete::uris)
}

/// `trove auth`.
#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Print the address at which to log in to a server, and wait until you have
    Login {
        /// The server, by its id
        server: String,
    },
    /// Show to which servers you are logged in
    Status(Output),
    /// Forget the tokens of a server
    Logout {
        /// The server, by its id
        server: String,
    },
}

/// Where and to whom HTTP is served.
#[derive(Debug, Clone, Args)]
pub struct Http {
    /// The address to serve HTTP on; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub http: Option<SocketAddr>,
    /// Let anybody on this machine in, without a token
    #[arg(long)]
    pub no_auth: bool,
    #[command(flatten)]
    pub tools: ToolFlags,
}

/// Which tools clients get.
#[derive(Debug, Clone, Args)]
pub struct ToolFlags {
    /// When clients get tools to read resources with
    #[arg(long, value_name = "MODE", value_parser = word::<BridgeMode>)]
    pub bridge: Option<BridgeMode>,
    /// The groups of tools to offer, with commas between
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = word::<Toolset>)]
    pub toolsets: Option<Vec<Toolset>>,
}

fn word<T: Word>(text: &str) -> Result<T, String> {
    let all = || T::WORDS.join(", ");
    T::from_word(text).ok_or_else(|| format!("it must be one of {}", all()))
}

/// `trove serve`.
#[derive(Debug, Clone, Args)]
pub struct Serve {
    /// Speak MCP on stdin and stdout
    #[arg(long)]
    pub stdio: bool,
    #[command(flatten)]
    pub http: Http,
}

/// How to print.
#[derive(Debug, Clone, Copy, Args)]
pub struct Output {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
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
    /// What you want to know, in your own words; nothing: everything, the best first
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

/// `trove approve`.
#[derive(Debug, Clone, Args)]
pub struct Approve {
    /// The servers to let run, as they are now; none: only show them
    #[arg(value_name = "ID", add = servers())]
    pub ids: Vec<String>,
    /// Let all of them run
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    #[command(flatten)]
    pub output: Output,
}

/// `trove flag`.
#[derive(Debug, Clone, Subcommand)]
pub enum FlagCommand {
    /// Print the value of a flag
    Get {
        /// Its name: letters, digits, `_` and `-`
        name: String,
        #[command(flatten)]
        place: FlagPlace,
    },
    /// Set a flag
    Set {
        /// Its name: letters, digits, `_` and `-`
        name: String,
        /// true, false, a JSON list of strings, a JSON map, or any other text as it is
        #[arg(allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        place: FlagPlace,
    },
    /// List flags with their values
    List {
        /// Only those whose names match, as in `content-*`
        pattern: Option<String>,
        #[command(flatten)]
        place: FlagPlace,
    },
    /// Remove a flag, so that its default holds again
    Unset {
        /// Its name
        name: String,
        #[command(flatten)]
        place: FlagPlace,
    },
}

/// Whose flags, and how to print them.
#[derive(Debug, Clone, Args)]
pub struct FlagPlace {
    /// The flags of this project instead of those of all projects; reading then looks at the
    /// project, at all projects and at the defaults, in this order
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    #[command(flatten)]
    pub output: Output,
}

/// `trove config`.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ConfigCommand {
    /// Report every problem
    Check(Output),
    /// Show the settings in force, secrets masked
    Show(Show),
    /// Print the JSON Schema of trove.toml
    Schema,
}

/// `trove config show`.
#[derive(Debug, Clone, Copy, Args)]
pub struct Show {
    /// Print who decided each setting: a flag, the environment, the file or nobody
    #[arg(long)]
    pub origin: bool,
    #[command(flatten)]
    pub output: Output,
}

/// `trove import`.
#[derive(Debug, Clone, Args)]
pub struct Import {
    /// Look at this client alone
    #[arg(long, value_parser = client(), conflicts_with = "from")]
    pub(crate) client: Option<Client>,
    /// Look at this file alone, whatever client it belongs to
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// The trove.toml to add servers to; else the one in force, else ./trove.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Which entry of which client.
#[derive(Debug, Clone, Args)]
pub struct EntryOf {
    /// Whose file
    #[arg(long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// What the entry is called
    #[arg(long, default_value = "trove")]
    pub(crate) name: String,
    /// Show the change, and make none
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also replace or remove an entry that is not Trove's
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `trove install`.
#[derive(Debug, Clone, Args)]
pub struct Install {
    /// The client to put Trove into
    #[arg(long, value_parser = client())]
    pub(crate) client: Option<Client>,
    /// Let the client connect to a running Trove by its URL
    #[arg(long, conflicts_with = "stdio")]
    pub(crate) http: bool,
    /// Let the client start Trove; this is what happens by itself
    #[arg(long)]
    pub(crate) stdio: bool,
    #[command(flatten)]
    pub(crate) entry: EntryOf,
}

/// `trove uninstall`.
#[derive(Debug, Clone, Args)]
pub struct Uninstall {
    /// The client to take Trove out of
    #[arg(long, value_parser = client())]
    pub(crate) client: Client,
    #[command(flatten)]
    pub(crate) entry: EntryOf,
}

/// Takes the word of a client, or another that means the same.
fn client() -> impl TypedValueParser<Value = Client> {
    let words = TABLE.iter().map(|row| PossibleValue::new(row.word).aliases(row.aliases));
    PossibleValuesParser::new(words).try_map(|word| {
        let mut rows = TABLE.iter();
        let row = rows.find(|row| row.word == word || row.aliases.contains(&word.as_str()));
        row.map(|row| row.client).ok_or("no client Trove knows")
    })
}

impl Cli {
    /// Answers a shell that asks how a line may go on, and ends; else does nothing.
    pub fn complete() {
        clap_complete::CompleteEnv::with_factory(<Cli as clap::CommandFactory>::command).complete();
    }

    /// Parses the command line; help and mistakes are printed and become an exit code.
    pub fn parse_or_explain() -> Result<Cli, ExitCode> {
        Cli::try_parse().map_err(|error| {
            // Nothing can be done if even this cannot be printed.
            let _ = error.print();
            if error.use_stderr() { exit::USAGE.into() } else { ExitCode::SUCCESS }
        })
    }
}
