//! Options of `trove recipe`.

use clap::{Args, Subcommand};

use super::{Output, Wait, servers};

/// `trove recipe`.
#[derive(Debug, Subcommand)]
pub enum RecipeCommand {
    /// Show the recipes that are part of Trove, and what each calls
    List(Output),
    /// List ten resources of a recipe, read one, search for one, and print what each step gave
    Try(TryRecipe),
    /// Print a recipe to begin with, made of the schemas of a server's tools
    Draft(DraftRecipe),
}

/// `trove recipe try`.
#[derive(Debug, Clone, Args)]
pub struct TryRecipe {
    /// A recipe, or a server
    #[arg(add = servers())]
    pub name: String,
    #[command(flatten)]
    pub wait: Wait,
}

/// `trove recipe draft`.
#[derive(Debug, Clone, Args)]
pub struct DraftRecipe {
    /// The server
    #[arg(add = servers())]
    pub server: String,
    /// Call the tool that lists, once, to see what its answer looks like; without this a person
    /// at a terminal is asked
    #[arg(long)]
    pub call: bool,
    #[command(flatten)]
    pub wait: Wait,
}

impl RecipeCommand {
    /// How to print what it says.
    pub fn output(&self) -> Output {
        match self {
            RecipeCommand::List(output) => *output,
            RecipeCommand::Try(TryRecipe { wait, .. })
            | RecipeCommand::Draft(DraftRecipe { wait, .. }) => wait.output,
        }
    }
}
