//! The real program against real servers.

mod conformance;
mod eras;
mod fidelity;
mod kit;
mod lists;
mod peers;
mod survival;
mod watch;
