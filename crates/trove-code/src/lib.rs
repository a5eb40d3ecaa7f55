//! Small programs over resources, each in a process that can do no other thing.
//!
//! [`Pool`] is the gateway's side. It has a worker at hand, gives it one program and answers its
//! calls. It ends the worker at a deadline, at a bound, or when the caller has gone. [`work`] is
//! the worker's side: this very program, started under a hidden name. A worker locks itself in
//! before it reads a byte, runs one program and ends, so that nothing of it is left for the next.

mod allocator;
pub mod boxed;
mod check;
mod clock;
mod confine;
mod conversation;
mod hints;
mod interpreter;
mod monty;
mod policy;
mod pool;
mod queue;
mod values;
mod wire;
mod worker;

pub use allocator::Allocator;
pub use pool::Pool;
pub use worker::work;
