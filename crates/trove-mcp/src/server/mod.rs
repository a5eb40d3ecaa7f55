//! We are the server: MCP clients of either era come in here.
//!
//! Doors are thin. They find out the caller and the era, call the Gateway once, and write its
//! answer in the words of that era.

mod asking;
mod bodies;
mod browser;
mod connections;
mod dispatch;
mod early;
mod elsewhere;
mod encode;
mod exchange;
mod gather;
mod guard;
mod headers;
mod heads;
mod http;
pub mod identity;
mod instructions;
mod limits;
mod listen;
mod measure;
mod pretend;
mod questions;
mod responses;
mod roots;
mod seal;
mod sessions;
mod sse_door;
mod stdio;
mod streams;

use std::sync::Arc;

use trove_core::{Gateway, json::quote, tools::Tools};

pub use browser::{KEY_HEADER, Lock, Pass, behind};
pub use connections::serve;
pub use guard::{Admitted, Guard, Identity, Refusal};
pub use http::{router, router_with_sse};
pub use pretend::Pretend;
pub use stdio::serve_stdio;

use crate::{bounds::Bounds, era::OUR_VERSION, kin::Kin};
use seal::Seal;

/// The parts that all doors share.
pub struct Server {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) tools: Arc<Tools>,
    pub(crate) seal: Seal,
    pub(crate) bounds: Bounds,
    pub(crate) kin: Arc<Kin>,
}

impl Server {
    /// A server in front of a gateway and its tools.
    pub fn new(gateway: Arc<Gateway>, tools: Arc<Tools>) -> Arc<Server> {
        Server::within(gateway, tools, Bounds::default())
    }

    /// Makes the server within other bounds, e.g. those of the configuration.
    pub fn within(gateway: Arc<Gateway>, tools: Arc<Tools>, bounds: Bounds) -> Arc<Server> {
        Server::of(gateway, tools, bounds, Arc::default())
    }

    /// Makes the server as one of several Troves that may have each other as servers.
    pub fn of(
        gateway: Arc<Gateway>,
        tools: Arc<Tools>,
        bounds: Bounds,
        kin: Arc<Kin>,
    ) -> Arc<Server> {
        let seal = Seal::new(bounds.state_age);
        Arc::new(Server { gateway, tools, seal, bounds, kin })
    }
}

pub(crate) fn server_info() -> String {
    format!("{{\"name\":\"trove\",\"title\":\"Trove\",\"version\":{}}}", quote(OUR_VERSION))
}
