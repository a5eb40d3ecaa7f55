//! Real test servers, fakes and a gateway in a box for the workspace's tests. Never shipped.

pub mod authority;
pub mod bench;
pub mod conformance;
pub mod corpus;
pub mod fake_source;
pub mod gateway_box;
mod numbers;
pub mod proxy;
pub mod retrieval;
pub mod spellings;
pub mod toy;
