//! The gateway with fake Sources: what users notice, without a wire.

mod about;
mod access;
mod changes;
mod kept;
mod guide;
mod names;
mod templates;
