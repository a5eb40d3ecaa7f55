//! A process that can only compute: it runs one program, or takes one document apart.
//!
//! [`Child`] is the parent's side, [`lock_in`] the child's. A message is a length, then JSON.

use std::{io, path::Path, process::ExitStatus, process::Stdio, time::Duration};

use parking_lot::Mutex;
use tokio::{
    process::{ChildStdin, ChildStdout, Command},
    time::timeout,
};

pub use crate::wire::{framed, receive, send};
use crate::{
    allocator::{self, OUT_OF_MEMORY},
    clock::{self, OUT_OF_TIME},
    confine,
    wire::Locks,
};

/// How long a child that closed its pipes may take to be gone.
const MAX_DYING: Duration = Duration::from_secs(1);

/// The bounds of a child.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// How much memory it may take.
    pub memory_bytes: usize,
    /// How long it may compute.
    pub compute_seconds: u64,
}

/// Gives up every right of this process but to compute, to read stdin and to write stdout.
pub fn lock_in(bounds: Bounds) -> io::Result<()> {
    lock(bounds)?;
    Ok(())
}

/// Gives them up, and says which the kernel let go.
pub(crate) fn lock(bounds: Bounds) -> io::Result<Locks> {
    clock::stop_when_over()?;
    let locks = confine::lock_in(bounds)?;
    allocator::limit(bounds.memory_bytes);
    Ok(locks)
}

/// A child that locks itself in; it ends when this is dropped.
#[derive(Debug)]
pub struct Child {
    child: Mutex<tokio::process::Child>,
    /// Its stdin.
    pub input: ChildStdin,
    /// Its stdout.
    pub output: ChildStdout,
}

/// How a child ended.
#[derive(Debug)]
pub enum Death {
    /// It took more memory than it may.
    OutOfMemory,
    /// It computed longer than it may.
    OutOfTime,
    /// It broke.
    Broke(String),
}

impl Child {
    /// Starts a child that has its pipes and no environment.
    pub fn start(program: &Path, args: &[String]) -> io::Result<Child> {
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            // Only a process of one thread may leave its network without being root.
            .env("_RJEM_MALLOC_CONF", "background_thread:false")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A Ctrl-C for the gateway is no Ctrl-C for its children.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
        Ok(Child { child: Mutex::new(child), input, output })
    }

    /// Whether it has not ended yet.
    pub fn is_alive(&self) -> bool {
        let mut child = self.child.lock();
        matches!(child.try_wait(), Ok(None))
    }

    /// Why it is gone.
    pub async fn death(&mut self) -> Death {
        let child = self.child.get_mut();
        let Ok(Ok(status)) = timeout(MAX_DYING, child.wait()).await else {
            return Death::Broke("it fell silent".to_owned());
        };
        cause(status)
    }
}

fn cause(status: ExitStatus) -> Death {
    if status.code() == Some(OUT_OF_MEMORY) {
        return Death::OutOfMemory;
    }
    if status.code() == Some(OUT_OF_TIME) {
        return Death::OutOfTime;
    }
    Death::Broke(status.to_string())
}
