//! We are the server: MCP clients of either era come in here.
//!
//! Doors are thin. They find out the caller and the era, call the Gateway once, and write its
//! answer in the words of that era.

mod asking;
mod bodies;
mod browser;
mod carried;
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
mod session_notes;
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
pub use session_notes::{MAX_NOTED_BYTES, SessionNotes};
pub use stdio::serve_stdio;

use crate::{
    bounds::Bounds,
    era::OUR_VERSION,
    kin::Kin,
    seal::{Ring, Seal},
};

/// The parts that all doors share.
pub struct Server {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) tools: Arc<Tools>,
    pub(crate) bounds: Bounds,
    pub(crate) memory: Memory,
}

/// The parts of a server that outlive it: other doors share them, or the next run.
#[derive(Clone)]
pub struct Memory {
    /// The mark by which circles of Troves are found.
    pub kin: Arc<Kin>,
    /// Seals what clients carry.
    pub seal: Arc<Seal>,
    /// The changes of sessions that their ids do not tell.
    pub notes: Arc<SessionNotes>,
}

impl Memory {
    /// One that ends with the process.
    pub fn forgetful() -> Memory {
        Memory {
            kin: Arc::default(),
            seal: Arc::new(Seal::new(Ring::random())),
            notes: Arc::default(),
        }
    }
}

impl Server {
    /// A server in front of a gateway and its tools.
    pub fn new(gateway: Arc<Gateway>, tools: Arc<Tools>) -> Arc<Server> {
        Server::within(gateway, tools, Bounds::default())
    }

    /// Makes the server within other bounds, e.g. those of the configuration.
    pub fn within(gateway: Arc<Gateway>, tools: Arc<Tools>, bounds: Bounds) -> Arc<Server> {
        Server::of(gateway, tools, bounds, Memory::forgetful())
    }

    /// Makes the server as one of several Troves that may have each other as servers.
    pub fn of(
        gateway: Arc<Gateway>,
        tools: Arc<Tools>,
        bounds: Bounds,
        memory: Memory,
    ) -> Arc<Server> {
        Arc::new(Server { gateway, tools, bounds, memory })
    }

    pub(crate) fn seal(&self) -> &Seal {
        &self.memory.seal
    }

    pub(crate) fn notes(&self) -> &SessionNotes {
        &self.memory.notes
    }
}

pub(crate) fn server_info() -> String {
    format!("{{\"name\":\"trove\",\"title\":\"Trove\",\"version\":{}}}", quote(OUR_VERSION))
}
