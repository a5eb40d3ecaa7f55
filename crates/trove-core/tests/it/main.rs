//! The gateway with fake Sources: what users notice, without a wire.

mod about;
mod access;
mod arrivals;
mod bridge;
mod changes;
mod find;
mod guide;
mod guide_tools;
mod kept;
mod live;
mod names;
mod opening;
mod search;
mod spellings;
mod templates;
mod tools;
mod truth;
