//! Options of the commands about the program itself.

use std::path::PathBuf;

use clap::Args;

use super::Output;

/// `trove completions`.
#[derive(Debug, Clone, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    pub shell: String,
    #[command(flatten)]
    pub output: Output,
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
    #[command(flatten)]
    pub output: Output,
}
