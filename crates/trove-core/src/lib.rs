//! What the gateway is, without any wire.
//!
//! Read it from the top: *words* (plain values: [`json`], [`uri`], [`template`],
<<<<<<< HEAD
//! [`resource`], [`source_id`], [`caller`], [`status`]), the *seam* ([`source`]), *parts*
//! ([`catalogue`], [`about`], [`access`]), and the *use cases* ([`gateway`]). Each layer imports
//! only what stands before it; parts do not import one another.
=======
//! [`resource`], [`source_id`], [`caller`], [`status`], [`content`]), the *seam*
//! ([`source`]), *parts* ([`catalogue`], [`about`]), and the *use cases* ([`gateway`]).
//! Each layer imports only what stands before it; parts do not import one another.
>>>>>>> e1f8b44 (core: tell what the contents of a resource are, and show them in windows)
//!
//! Nothing here knows JSON-RPC, HTTP, the environment or the terminal.

pub mod caller;
pub mod content;
pub mod json;
pub mod resource;
pub mod source_id;
pub mod status;
pub mod template;
pub mod uri;

mod scan;

pub mod source;

pub mod about;
pub mod access;
pub mod catalogue;

pub mod gateway;

pub use caller::Caller;
pub use gateway::Gateway;
pub use json::Json;
pub use source::{Source, SourceError};
pub use source_id::{BadSourceId, SourceId};
pub use uri::{LocalUri, PublicUri};
