//! We are the server: MCP clients of either era come in here.
//!
//! Doors are thin. They find out who asks and in which era, call the Gateway once, and
//! write its answer in the words of that era.

mod asking;
mod body;
mod dispatch;
mod encode;
mod guard;
mod headers;
mod http;
mod legacy;
mod listen;
mod seal;
mod sessions;
mod stdio;

use std::sync::Arc;

use trove_core::{Gateway, json::quote};

pub use guard::{Guard, Identity};
pub use http::router;
pub use stdio::serve_stdio;

use crate::era::OUR_VERSION;
use seal::Seal;

/// What all doors share.
pub struct Server {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) seal: Seal,
}

impl Server {
    /// A server in front of a gateway.
    pub fn new(gateway: Arc<Gateway>) -> Arc<Server> {
        Arc::new(Server { gateway, seal: Seal::new() })
    }
}

/// What a client's model should know about us, in a few words.
pub(crate) const INSTRUCTIONS: &str = "Trove gathers the resources of several MCP servers under one roof. \
List or read resources as usual. A name that several servers use is listed as `server+uri`, and that form \
always works. `info://health` tells which servers answer, `info://capabilities` what is served.";

pub(crate) fn server_info() -> String {
    format!("{{\"name\":\"trove\",\"title\":\"Trove\",\"version\":{}}}", quote(OUR_VERSION))
}
