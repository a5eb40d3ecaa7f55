//! How the gateway speaks MCP, both ways, in both protocol eras.
//!
//! [`upstream`] makes a Source of each configured server; [`server`] opens the doors
//! through which clients come. [`seal`] is what clients carry for us. Nothing outside this crate knows JSON-RPC.

pub mod bounds;
pub mod recipe;
pub mod seal;
pub mod server;
pub mod upstream;

mod era;
mod kin;
mod lines;
mod payload;
mod repeated;
mod sse;
mod wire;

pub use kin::Kin;

/// The protocol versions spoken, newest first.
pub fn protocol_versions() -> [&'static str; era::Version::ALL.len()] {
    era::Version::ALL.map(era::Version::as_str)
}
