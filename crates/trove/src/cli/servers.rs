//! Options of the commands that change or admit servers.

use clap::{Args, Subcommand};

use super::{Output, servers};

/// `trove add`.
#[derive(Debug, Clone, Args)]
pub struct Add {
    /// The name of the server; or a folder, whose files are served without any program
    #[arg(value_name = "NAME|FOLDER")]
    pub name: String,
    /// The program and its arguments, behind `--`
    #[arg(last = true, conflicts_with = "url")]
    pub command: Vec<String>,
    /// The name of the folder, if not its own
    #[arg(long = "as", value_name = "NAME", conflicts_with_all = ["url", "command"])]
    pub named: Option<String>,
    /// Where it is served
    #[arg(long)]
    pub url: Option<String>,
    /// A variable it gets, as in KEY=VALUE; may be given again
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "url")]
    pub env: Vec<String>,
    /// A header to send, as in 'KEY: VALUE'; may be given again
    #[arg(long, value_name = "KEY: VALUE", requires = "url")]
    pub header: Vec<String>,
    /// Make no resources of its tools, even if a recipe is for it
    #[arg(long)]
    pub no_recipe: bool,
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

/// `trove auth`.
#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Print the address at which to log in to a server, and wait until you have
    Login {
        /// The server, by its id
        #[arg(add = servers())]
        server: String,
        #[command(flatten)]
        output: Output,
    },
    /// Show to which servers you are logged in
    Status(Output),
    /// Forget the tokens of a server
    Logout {
        /// The server, by its id
        #[arg(add = servers())]
        server: String,
        #[command(flatten)]
        output: Output,
    },
}

impl AuthCommand {
    /// How to print what it says.
    pub fn output(&self) -> Output {
        match self {
            AuthCommand::Login { output, .. }
            | AuthCommand::Status(output)
            | AuthCommand::Logout { output, .. } => *output,
        }
    }
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
