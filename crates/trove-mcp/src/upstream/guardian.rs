//! Ends our children when we cannot: after a `kill -9` of the gateway itself.
//!
//! The guardian is this same program, started once in a group of its own, holding the
//! read end of a pipe. When the pipe closes the gateway is gone, and every process that
//! carries our mark in its environment is killed. A mark is inherited, so that also a
//! grandchild that left its process group is found; the parent-death signal reaches
//! neither.

use std::{
    io::{self, Read},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::process::{Pid, Signal, kill_process};

/// The environment variable that marks our children.
pub const MARKER: &str = "TROVE_CHILD_OF";

/// How often marked processes are looked for; a process may start another while it dies.
const SWEEPS: usize = 20;

/// How to start a guardian: a program that calls [`watch_over`] with its last argument.
#[derive(Debug, Clone)]
pub struct GuardianCommand {
    /// The program.
    pub program: PathBuf,
    /// The arguments before the mark.
    pub args: Vec<String>,
}

/// The guardian as seen from the gateway. Dropping it makes the guardian look around and end.
#[derive(Debug)]
pub(crate) struct Guardian {
    mark: String,
    started: AtomicU64,
    _process: Child,
}

impl Guardian {
    pub(crate) fn start(command: &GuardianCommand) -> io::Result<Guardian> {
        use std::os::unix::process::CommandExt as _;
        let mark = format!("{:032x}", rand::random::<u128>());
        let process = Command::new(&command.program)
            .args(&command.args)
            .arg(&mark)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal to the gateway's group must not take the guardian with it.
            .process_group(0)
            .spawn()?;
        Ok(Guardian { mark, started: AtomicU64::new(0), _process: process })
    }

    /// The value of [`MARKER`] for the next child: our mark and the child's number, e.g. `MARK.3`.
    pub(crate) fn next_mark(&self) -> String {
        format!("{}.{}", self.mark, self.started.fetch_add(1, Ordering::Relaxed))
    }
}

/// Waits on stdin until the gateway is gone, then ends every process with its mark.
pub fn watch_over(mark: &str) {
    let mut sink = [0u8; 64];
    let mut stdin = io::stdin().lock();
    loop {
        match stdin.read(&mut sink) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    sweep(|found| found.split('.').next() == Some(mark));
}

/// Ends every process that carries this mark and no other.
pub(crate) fn end_marked(mark: &str) {
    sweep(|found| found == mark);
}

fn sweep(is_ours: impl Fn(&str) -> bool) {
    for _ in 0..SWEEPS {
        let marked = marked_processes(&is_ours);
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            // It may have ended by itself in the meantime.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn marked_processes(is_ours: &impl Fn(&str) -> bool) -> Vec<Pid> {
    let key = format!("{MARKER}=");
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    all.flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse::<i32>().ok()?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let mark =
                environment.split(|&b| b == 0).find_map(|one| one.strip_prefix(key.as_bytes()))?;
            let is_marked = std::str::from_utf8(mark).is_ok_and(is_ours);
            is_marked.then(|| Pid::from_raw(pid)).flatten()
        })
        .collect()
}
