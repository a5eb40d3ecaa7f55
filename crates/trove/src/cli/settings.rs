//! Options of the commands about guide, tools, flags and the configuration.

use clap::{Args, Subcommand};

use super::Output;

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
        /// true, false, null to remove it, a JSON list of strings, a JSON map, or any other text, numbers too, as it is
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

/// The owner of the flags, and how to print them.
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
    Schema(Output),
}

/// `trove config show`.
#[derive(Debug, Clone, Copy, Args)]
pub struct Show {
    /// Print the origin of each setting: a flag, the environment, the file or the default
    #[arg(long)]
    pub origin: bool,
    #[command(flatten)]
    pub output: Output,
}
