//! The command line as types; the doc comments are the help. Here is what all commands
//! share, below what each takes.

mod asking;
mod clients;
mod recipe;
mod servers;
mod serving;
mod settings;
mod shell;

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

pub use asking::{Bench, Find, Grouping, Hits, Logs, Read, Run, Search, SearchIn, Summary, Wait};
pub use clients::{EntryOf, Import, Install, Uninstall};
pub use recipe::{DraftRecipe, RecipeCommand, TryRecipe};
pub use servers::{Add, Approve, AuthCommand, Remove};
pub use serving::{Http, Serve, ToolFlags, Up};
pub use settings::{
    ConfigCommand, FlagCommand, FlagPlace, GuideCommand, Show, Tools, ToolsCommand,
};
pub use shell::{Completions, Man};

use crate::{commands::exit, complete, failed::Class};

/// One door to every MCP resource: many MCP servers, one catalogue.
#[derive(Debug, Parser)]
#[command(name = "trove", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
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

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a configuration and a small guide to start from
    Init(Output),
    /// Start with what is there, and say how to connect a client
    Up(Up),
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
    /// Run a small Python program over the resources, in a box
    Run(Run),
    /// Show the state of every server
    Status(Wait),
    /// Show what a running Trove logs, or what one of its servers does
    Logs(Logs),
    /// Show the servers and folders of the configuration
    List(Output),
    /// Add a server or a folder to the configuration
    Add(Add),
    /// Remove a server or a folder from the configuration
    Remove(Remove),
    /// Show which commands a project's or another client's file would run, and let them
    Approve(Approve),
    /// Make resources of what a server's tools answer: list recipes, try one, draft one
    #[command(subcommand)]
    Recipe(RecipeCommand),
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
    /// Measure your servers, asked directly and through Trove
    Bench(Bench),
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

fn servers() -> ArgValueCompleter {
    ArgValueCompleter::new(complete::servers)
}

fn uris() -> ArgValueCompleter {
    ArgValueCompleter::new(complete::uris)
}

/// How to print.
#[derive(Debug, Clone, Copy, Args)]
pub struct Output {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Cli {
    /// Answers a shell that asks how a line may go on, and ends; else does nothing.
    pub fn complete() {
        clap_complete::CompleteEnv::with_factory(<Cli as clap::CommandFactory>::command).complete();
    }

    /// Parses the command line; help and mistakes are printed and become an exit code.
    pub fn parse_or_explain() -> Result<Cli, ExitCode> {
        Cli::try_parse().map_err(|error| {
            if !error.use_stderr() {
                // Nothing can be done if even this cannot be printed.
                let _ = error.print();
                return ExitCode::SUCCESS;
            }
            // A caller that wants JSON wants it of mistakes too; the line itself cannot be asked.
            if std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json")
            {
                explain_as_json(&error)
            } else {
                drop(error.print())
            }
            exit::USAGE.into()
        })
    }
}

/// One line, as of every other failure.
fn explain_as_json(error: &clap::Error) {
    let text = error.render().to_string();
    let message = text.trim().trim_start_matches("error: ");
    let line = serde_json::json!({
        "success": false, "error": Class::InvalidArguments, "message": message,
    });
    // If stdout is closed, the exit code still tells.
    let _ = writeln!(std::io::stdout(), "{line}");
}
