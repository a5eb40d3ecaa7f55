//! What the program does when it has nothing to do: it makes itself small.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// How long it must have rested.
const QUIET: Duration = Duration::from_secs(10);
/// Who used less of the processor than this meanwhile has rested.
const AT_REST: Duration = Duration::from_millis(100);
/// Who has used less than this since memory was given back has taken little of it again.
const AWAKE: Duration = Duration::from_millis(50);

/// Gives back, whenever the program has come to rest, what it keeps in memory of its own
/// file: its code, and the model by which it finds.
pub(crate) async fn watch(stop: CancellationToken) {
    let mut used = used();
    let mut given_back = None;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(QUIET) => {}
        }
        let before = std::mem::replace(&mut used, self::used());
        let is_small = given_back.is_some_and(|at| used - at < AWAKE);
        if used - before > AT_REST || is_small {
            continue;
        }
        match trove_pages::give_back() {
            Ok(bytes) => debug!(bytes, "at rest; the program's own pages are given back"),
            Err(error) => return warn!(%error, "pages cannot be given back; memory stays taken"),
        }
        given_back = Some(self::used());
    }
}

/// How long this process has had a processor.
fn used() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or_default())
}
