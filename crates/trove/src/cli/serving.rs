//! Options of the commands that serve.

use std::net::SocketAddr;

use clap::Args;

use super::Output;
use crate::config::{BridgeMode, Toolset, Word};

/// `trove up`.
#[derive(Debug, Clone, Args)]
pub struct Up {
    #[command(flatten)]
    pub http: Http,
    #[command(flatten)]
    pub output: Output,
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
    #[arg(long, conflicts_with = "json")]
    pub stdio: bool,
    #[command(flatten)]
    pub http: Http,
    #[command(flatten)]
    pub output: Output,
}
