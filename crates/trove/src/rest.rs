//! Makes the program small when it is idle.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// How soon it looks again after it was busy, and how late when it keeps being woken.
const SOON: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_secs(10);
/// A program that used less than one part in so many of the time has rested. One that used more
/// than one in so many was busy.
const AT_REST: u32 = 32;
const BUSY: u32 = 2;
/// So much of its file a program may keep that does next to nothing.
const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// Gives back the memory of the program's own file whenever it has come to rest: its code, and the
/// model by which it finds.
///
/// A program woken often would read its pages again and again. So it looks ever more rarely, until
/// there was something to do.
pub(crate) async fn watch(stop: CancellationToken) {
    let mut used = used();
    let mut pause = SOON;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        let before = std::mem::replace(&mut used, self::used());
        let share = |parts| used - before > pause / parts;
        if share(AT_REST) {
            pause = if share(BUSY) { SOON } else { pause };
            continue;
        }
        pause = LATE.min(pause * 2);
        if trove_pages::taken() <= KEPT_BYTES {
            continue;
        }
        match trove_pages::give_back() {
            Ok(bytes) => debug!(bytes, "at rest; the program's own pages are given back"),
            Err(error) => return warn!(%error, "pages cannot be given back; memory stays taken"),
        }
        used = self::used();
    }
}

/// How long this process has had a processor.
fn used() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or_default())
}
