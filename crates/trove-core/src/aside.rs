//! Work that takes long enough for others to notice, done where none of them waits for it.

use tokio::runtime::{Handle, RuntimeFlavor};

/// From how many bytes on going through a message is such work: it takes about as long as a read.
pub const ASIDE_FROM: usize = 256 * 1024;

/// Does the work; if it is about so many bytes that others would notice, another thread serves
/// them meanwhile.
pub fn aside<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes < ASIDE_FROM { work() } else { apart(work) }
}

/// Does long work while another thread serves those who would wait for this one.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // Others than we are not served by such a runtime.
        _ => work(),
    }
}
