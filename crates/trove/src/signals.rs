//! Signals: stop, or read the configuration again.
//!
//! The main thread hears them and does nothing else; all work is done by other threads. The system
//! hands a signal to the main thread first, and one that waits for a disk would keep it. A stop
//! has a deadline: past it, or at a second signal, the program ends as it is. Its guardian then
//! ends its servers.

use std::{
    io::{self, IsTerminal as _},
    sync::Arc,
    time::Duration,
};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::Notify,
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How long a stop may take: to finish what is under way, to end the servers, to write the audit.
const MAX_STOP: Duration = Duration::from_secs(20);
/// How long the last words may take; stderr may be as stuck as all the rest.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// The exit code of a stop that was cut off.
const CUT_OFF: i32 = 1;
/// As much as a main thread has.
const STACK_BYTES: usize = 8 << 20;

/// The requests that signals make.
#[derive(Clone, Default)]
pub struct Signals {
    stopping: CancellationToken,
    finished: CancellationToken,
    reloads: Arc<Notify>,
}

/// The signals that are heard.
struct Heard {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Does the work of the program on a thread of its own. Call it on the main thread, which
    /// listens from now on; the signals no longer end the program by themselves.
    pub(crate) fn during<T: Send>(work: impl FnOnce(&Signals) -> T + Send) -> io::Result<T> {
        let signals = Signals::default();
        let (runtime, heard) = listen()?;
        let worker = std::thread::Builder::new().name("work".to_owned()).stack_size(STACK_BYTES);
        std::thread::scope(|scope| {
            let worker = worker.spawn_scoped(scope, || {
                let _finished = signals.finished.clone().drop_guard();
                work(&signals)
            })?;
            signals.hear(&runtime, heard);
            worker.join().map_err(|_| io::Error::other("the work broke off"))
        })
    }

    /// Stops, and sets the deadline for it.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Comes once the program is to stop.
    pub async fn stopping(&self) {
        self.stopping.cancelled().await;
    }

    /// Comes at each wish to read the configuration again.
    pub(crate) async fn reload(&self) {
        self.reloads.notified().await;
    }

    /// Hears signals until the work is finished, or ends the program.
    fn hear(&self, runtime: &Runtime, mut heard: Heard) {
        let had_terminal = has_terminal();
        runtime.block_on(async {
            let is_by_signal = loop {
                tokio::select! {
                    () = self.finished.cancelled() => return,
                    () = self.stopping.cancelled() => break false,
                    _ = heard.terminate.recv() => break true,
                    _ = heard.interrupt.recv() => break true,
                    _ = heard.hangup.recv() => {
                        // The terminal was closed: its programs have no user any more.
                        if had_terminal && !has_terminal() {
                            break true;
                        }
                        self.reloads.notify_one();
                    }
                }
            };
            if !self.stopping.is_cancelled() {
                std::thread::spawn(|| info!("stopping"));
                self.stopping.cancel();
            }
            // Clients close our input and send a signal at once: only the second signal is haste.
            let mut signals_left = if is_by_signal { 1 } else { 2 };
            let deadline = tokio::time::sleep(MAX_STOP);
            tokio::pin!(deadline);
            while signals_left > 0 {
                tokio::select! {
                    () = self.finished.cancelled() => return,
                    () = &mut deadline => break,
                    _ = heard.terminate.recv() => signals_left -= 1,
                    _ = heard.interrupt.recv() => signals_left -= 1,
                }
            }
            std::thread::spawn(|| warn!("the stop was cut off; a disk or a server did not answer"));
            std::thread::sleep(LAST_WORDS);
            std::process::exit(CUT_OFF);
        });
    }
}

fn listen() -> io::Result<(Runtime, Heard)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let heard = {
        let _inside = runtime.enter();
        Heard {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        }
    };
    Ok((runtime, heard))
}

/// Whether a person may sit at this program.
fn has_terminal() -> bool {
    io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
}
