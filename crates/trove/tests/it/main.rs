//! The real program against real servers.

mod cli;
mod conformance;
mod eras;
mod fidelity;
mod http;
mod kit;
mod lists;
mod peers;
mod progress;
mod reload;
mod restart;
mod survival;
mod watch;
