//! How much the gateway holds for all callers together.

use super::{MAX_CACHE_BYTES, MAX_CACHED_ANSWER, MAX_WATCHES};
use crate::{search::MAX_INDEX_BYTES, uri::MAX_URI_BYTES};

/// The bounds of the gateway that a configuration may move; the constants are where they
/// stand otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of answers that are kept.
    pub cache_bytes: u64,
    /// The most bytes of one of them.
    pub cached_answer_bytes: usize,
    /// The most bytes of the search index.
    pub index_bytes: u64,
    /// The most resources that are watched at once.
    pub watches: usize,
    /// The longest URI, listed or asked for; never more than [`MAX_URI_BYTES`].
    pub uri_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            cache_bytes: MAX_CACHE_BYTES,
            cached_answer_bytes: MAX_CACHED_ANSWER,
            index_bytes: MAX_INDEX_BYTES,
            watches: MAX_WATCHES,
            uri_bytes: MAX_URI_BYTES,
        }
    }
}
