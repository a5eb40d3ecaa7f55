//! A raw JSON-RPC MCP server with known contents and faults to order.
//!
//! It is written by hand, without an MCP library. So it can keep odd JSON byte for byte and
//! misbehave below the level of a message. It validates no more than a test needs and never defends
//! itself.

mod content;
mod dispatch;
mod faults;
mod floods;
mod http;
mod lists;
mod options;
mod peer;
mod played;
mod sse;
mod state;
mod stdio;
mod tools;
mod wire;

pub use options::Options;

use std::sync::Arc;

use options::Fault;
use state::Toy;

/// Serves until the client leaves (stdio) or for ever (HTTP).
pub async fn run(options: Options) -> anyhow::Result<()> {
    faults::at_start(&options)?;
    let toy = Arc::new(Toy::new(options));
    if let Some(address) = toy.options.http {
        return http::serve(toy, address).await;
    }
    if let Some(address) = toy.options.sse {
        return sse::serve(toy, address).await;
    }
    stdio::serve(&toy).await?;
    // A server that ignores the polite signal would not leave at end of input either.
    if toy.options.has(Fault::IgnoreSigterm) {
        std::future::pending::<()>().await;
    }
    Ok(())
}
