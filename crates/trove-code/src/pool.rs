//! The gateway's side: when a program runs, and with which worker.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::timeout;
use tracing::{debug, warn};
use trove_core::programs::{Fault, Host, Programs, Ran, Rules};

use crate::{
    check::check,
    conversation::Worker,
    policy::{MAX_TIME, RULES},
    queue::Queue,
    wire::Locks,
};

/// Workers for programs, each used once. One waits ready where programs are expected.
#[derive(Debug)]
pub struct Pool {
    program: PathBuf,
    args: Vec<String>,
    ready: Mutex<Option<Worker>>,
    queue: Queue,
    is_expected: AtomicBool,
    /// Whether it has been said what the kernel keeps from workers.
    was_warned: AtomicBool,
}

impl Pool {
    /// Workers that this command starts: a program that calls [`crate::work`].
    pub fn new(program: PathBuf, args: Vec<String>) -> Pool {
        Pool {
            program,
            args,
            ready: Mutex::default(),
            queue: Queue::new(),
            is_expected: AtomicBool::new(false),
            was_warned: AtomicBool::new(false),
        }
    }

    async fn run_in_turn(
        &self,
        source: &str,
        caller: Arc<str>,
        host: &dyn Host,
    ) -> Result<Ran, Fault> {
        check(source)?;
        let _place = self.queue.place(caller).await.ok_or(Fault::Busy)?;
        // One may have been killed while it waited.
        let ready = self.ready().take().filter(Worker::is_alive);
        let mut worker = match ready {
            Some(worker) => worker,
            None => Worker::start(&self.program, &self.args)?,
        };
        let work = async {
            let locks = worker.locks().await?;
            self.note(locks);
            worker.run(source, host).await
        };
        let ran = timeout(MAX_TIME, work).await;
        let late = Fault::OutOfTime { seconds: RULES.seconds, calls: worker.calls() };
        // Its files and pipes go with it.
        drop(worker);
        self.have_one_ready();
        ran.unwrap_or(Err(late))
    }

    fn ready(&self) -> parking_lot::MutexGuard<'_, Option<Worker>> {
        self.ready.lock()
    }

    fn have_one_ready(&self) {
        let mut ready = self.ready();
        match self.is_expected.load(Ordering::Relaxed) {
            false => *ready = None,
            true if ready.is_some() => {}
            // If none can be started, the next program is answered with the reason.
            true => *ready = Worker::start(&self.program, &self.args).ok(),
        }
    }

    /// Says once what the kernel does not allow.
    fn note(&self, locks: Locks) {
        debug!(?locks, "a worker is ready");
        let Locks { has_filter, has_no_network } = locks;
        let is_open = !has_filter || !has_no_network;
        if is_open && !self.was_warned.swap(true, Ordering::Relaxed) {
            warn!(
                has_filter,
                has_no_network, "the kernel does not give workers every lock; see docs/code.md"
            );
        }
    }
}

impl Programs for Pool {
    fn run<'a>(
        &'a self,
        source: &'a str,
        caller: Arc<str>,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Result<Ran, Fault>> {
        Box::pin(self.run_in_turn(source, caller, host))
    }

    fn rules(&self) -> Rules {
        RULES
    }

    fn expect(&self, is_expected: bool) {
        self.is_expected.store(is_expected, Ordering::Relaxed);
        self.have_one_ready();
    }
}
