//! Options of the commands about other clients.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};

use super::Output;
use crate::{
    clients::{Scope, TABLE},
    config::Client,
};

/// `trove import`.
#[derive(Debug, Clone, Args)]
pub struct Import {
    /// Look at this client alone
    #[arg(long, value_parser = client(), conflicts_with = "from")]
    pub(crate) client: Option<Client>,
    /// Look at this file alone, of any client
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
    /// The owner of the file: you, or the project
    #[arg(long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// The name of the entry
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
    /// Put Trove in the place of the client's servers: they go into trove.toml;
    /// `uninstall` takes that back
    #[arg(long = "move", requires = "client")]
    pub(crate) moves: bool,
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
