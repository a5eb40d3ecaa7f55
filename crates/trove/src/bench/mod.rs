//! How fast the servers of a configuration are, asked directly and through Trove.
//!
//! One client asks in both ways. It first asks the servers themselves, as if there were no Trove.
//! Then it asks a Trove in front of them, over HTTP on this machine. So what differs is Trove. It
//! calls only lists and reads, and keeps no result. The [`Plan`] bounds the number of reads, the
//! time, and how many are read at once.

mod figures;
mod measure;
mod stand;
mod table;

use std::time::Duration;

pub(crate) use figures::Report;
pub(crate) use measure::measure;
pub(crate) use table::as_text;

/// How much is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// So many reads of each server in each way, one at a time; then as many at once.
    pub(crate) reads: usize,
    /// So many are under way where several are.
    pub(crate) concurrency: usize,
    /// The longest all reads of one server may take.
    pub(crate) longest: Duration,
    /// How long servers may take until they are listed.
    pub(crate) wait: Duration,
}
