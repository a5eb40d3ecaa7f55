//! What the gateway is, without any wire.
//!
//! Read it from the top: *words* (plain values), the *seam* ([`source`]), *parts*, the
//! *use cases* ([`gateway`]) and what is offered as [`tools`], a paragraph of lines for
//! each below. Each layer imports only what stands before it; parts do not import one
//! another.
//!
//! Nothing here knows JSON-RPC, HTTP, the environment or the terminal; only the table of classes in
//! [`failure`] has their numbers.

pub mod aside;
pub mod caller;
pub mod changes;
pub mod content;
pub mod failure;
pub mod files;
pub mod hex;
pub mod json;
pub mod metrics;
pub mod project;
pub mod resource;
pub mod source_id;
pub mod state_file;
pub mod status;
pub mod template;
pub mod uri;

mod scan;

pub mod papers;
pub mod programs;
pub mod source;

pub mod about;
pub mod access;
pub mod cache;
pub mod catalogue;
pub mod flags;
pub mod knowledge;
pub mod search;

pub mod gateway;

pub mod tools;

pub use caller::Caller;
pub use failure::{Class, Failure};
pub use gateway::Gateway;
pub use hex::hex;
pub use json::Json;
pub use project::ProjectName;
pub use source::{Source, SourceError};
pub use source_id::{BadSourceId, SourceId};
pub use uri::{LocalUri, PublicUri};
