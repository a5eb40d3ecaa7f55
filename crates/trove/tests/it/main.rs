//! The real program against real servers.

mod conformance;
mod kit;
mod lists;
mod peers;
mod survival;
mod watch;
