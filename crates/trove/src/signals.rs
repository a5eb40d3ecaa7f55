//! Signals: stop, or read the configuration again.
//!
//! They are heard by a thread of their own. The threads that answer requests may all wait for a
//! disk that does not answer, and a stop must work just then. A stop has a deadline: past it,
//! or at a second signal, the program ends as it is. Its guardian then ends its servers.

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

/// What signals ask for.
#[derive(Clone, Default)]
pub struct Signals {
    stopping: CancellationToken,
    reloads: Arc<Notify>,
}

/// The signals that are heard.
struct Heard {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Listens from now on; the signals no longer end the program by themselves.
    pub fn listen() -> Signals {
        let signals = Signals::default();
        if let Err(error) = signals.start() {
            warn!(%error, "signals end the program at once: nobody can listen for them");
        }
        signals
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

    fn start(&self) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let heard = {
            let _inside = runtime.enter();
            Heard {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                hangup: signal(SignalKind::hangup())?,
            }
        };
        let signals = self.clone();
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(move || signals.hear(&runtime, heard))?;
        Ok(())
    }

    /// Lives as long as the program.
    fn hear(&self, runtime: &Runtime, mut heard: Heard) {
        let had_terminal = has_terminal();
        runtime.block_on(async {
            loop {
                tokio::select! {
                    () = self.stopping.cancelled() => break,
                    _ = heard.terminate.recv() => break,
                    _ = heard.interrupt.recv() => break,
                    _ = heard.hangup.recv() => {
                        // The terminal was closed: nobody is left to use what runs in it.
                        if had_terminal && !has_terminal() {
                            break;
                        }
                        self.reloads.notify_one();
                    }
                }
            }
            if !self.stopping.is_cancelled() {
                std::thread::spawn(|| info!("stopping"));
                self.stopping.cancel();
            }
            tokio::select! {
                () = tokio::time::sleep(MAX_STOP) => {}
                _ = heard.terminate.recv() => {}
                _ = heard.interrupt.recv() => {}
            }
        });
        std::thread::spawn(|| warn!("the stop was cut off; a disk or a server did not answer"));
        std::thread::sleep(LAST_WORDS);
        std::process::exit(CUT_OFF);
    }
}

/// Whether somebody may sit at this program.
fn has_terminal() -> bool {
    io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
}
