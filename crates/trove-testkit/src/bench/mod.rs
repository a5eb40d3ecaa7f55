//! Measures one MCP server at a time, and is one to measure against.
//!
//! Each measurement starts the server, speaks raw JSON-RPC with it, and prints one JSON
//! object a line. What figures mean together (rounds, medians, ratios, promises) is for
//! the caller: nothing here compares two servers.

mod ask;
mod client;
mod crowd;
mod http;
mod kill;
mod lists;
mod load;
mod message;
mod pair;
mod pipe;
mod process;
mod relay;
mod rest;
mod sizes;
mod soak;
mod start;
mod target;
mod upstream;
mod watch;

use std::io::Write as _;

use clap::{Parser, Subcommand};
use serde_json::Value;

/// Measures an MCP server, or is one.
#[derive(Debug, Parser)]
#[command(name = "mcp-bench")]
pub struct Options {
    #[command(subcommand)]
    measure: Measure,
}

#[derive(Debug, Subcommand)]
enum Measure {
    /// Serve resources of known sizes, on rmcp
    Upstream(upstream::Options),
    /// Carry messages from HTTP to a server over stdio, and nothing else
    Relay(relay::Options),
    /// Read resources of one size in a closed loop
    Read(load::Options),
    /// How much longer a tool takes than a native read of the same
    Pair(pair::Options),
    /// Ask the same again and again
    Ask(ask::Options),
    /// List every resource, page by page, again and again
    List(lists::Options),
    /// Time the first answer and the first full list
    Start(start::Options),
    /// Weigh the process once it holds the full list and rests
    Rest(rest::Options),
    /// Change a file, and time the notice of it
    Watch(watch::Options),
    /// Kill the upstream with SIGKILL during a request
    Kill(kill::Options),
    /// Weigh the process while very many idle connections are open
    Idle(crowd::Idle),
    /// Read with very many clients at once, and look whose each answer is
    Readers(crowd::Readers),
    /// Go on for a long time with random faults, and watch what grows
    Soak(soak::Options),
}

/// Does what the command line says.
pub fn run(options: Options) -> anyhow::Result<()> {
    // A server uses what the machine has; a measuring client stays on one thread, so that
    // it takes as little as possible from the server it measures.
    let mut runtime = match options.measure {
        Measure::Upstream(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    runtime.enable_all().build()?.block_on(async {
        match options.measure {
            Measure::Upstream(options) => upstream::serve(&options).await,
            Measure::Relay(options) => relay::serve(&options).await,
            Measure::Read(options) => load::measure(&options).await,
            Measure::Pair(options) => pair::measure(&options).await,
            Measure::Ask(options) => ask::measure(&options).await,
            Measure::List(options) => lists::measure(&options).await,
            Measure::Start(options) => start::measure(&options).await,
            Measure::Rest(options) => rest::measure(&options).await,
            Measure::Watch(options) => watch::measure(&options).await,
            Measure::Kill(options) => kill::measure(&options).await,
            Measure::Idle(options) => crowd::idle(&options).await,
            Measure::Readers(options) => crowd::readers(&options).await,
            Measure::Soak(options) => soak::measure(&options).await,
        }
    })
}

/// Prints one result.
fn print(result: &Value) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{result}")?;
    Ok(())
}

/// Milliseconds with all their digits.
fn millis(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
