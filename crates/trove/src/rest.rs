//! What the program does when it has nothing to do: it makes itself small.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// How soon it looks again after it was busy, and how late when it has nothing to give back.
const SOON: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_secs(10);
/// Who used less than one part in so many of the time has rested.
const AT_REST: u32 = 32;
/// Who has used less than this since memory was given back has taken little of it again.
const AWAKE: Duration = Duration::from_millis(50);

/// Gives back, whenever the program has come to rest, what it keeps in memory of its own
/// file: its code, and the model by which it finds.
pub(crate) async fn watch(stop: CancellationToken) {
    let mut used = used();
    let mut given_back = None;
    let mut pause = SOON;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        let before = std::mem::replace(&mut used, self::used());
        let has_rested = used - before < pause / AT_REST;
        if given_back.is_some_and(|at| used - at < AWAKE) {
            pause = LATE.min(pause * 2);
            continue;
        }
        pause = SOON;
        if !has_rested {
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
