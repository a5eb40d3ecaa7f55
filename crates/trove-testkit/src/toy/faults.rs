//! Faults of the process rather than of the protocol: crashes, floods, children and signals.

use std::io::Write as _;
use std::process::Stdio;

use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::options::{Fault, Options};

/// How much is written to stderr at a time.
const LINE: &[u8] = b"toymcp: this line is one of very many and says nothing of any interest\n";

/// Does what goes wrong before anything is read.
pub(super) fn at_start(options: &Options) -> anyhow::Result<()> {
    if options.has(Fault::CrashInit) {
        anyhow::bail!("crashed, as told");
    }
    if options.has(Fault::IgnoreSigterm) {
        let mut signals = signal(SignalKind::terminate())?;
        tokio::spawn(async move { while signals.recv().await.is_some() {} });
    }
    if options.has(Fault::Fork) {
        start_child(Command::new("sleep").arg("1000"))?;
    }
    if options.has(Fault::ForkSetsid) {
        start_child(Command::new("setsid").args(["sleep", "1000"]))?;
    }
    // Written here and not in a task: a parent that does not drain stderr must see the server hang.
    let flood = options.amount(Fault::Stderr).unwrap_or(0);
    let mut stderr = std::io::stderr().lock();
    for _ in 0..flood.div_ceil(LINE.len() as u64) {
        stderr.write_all(LINE)?;
    }
    Ok(())
}

/// Starts a child that keeps the server's stdout and stderr open, as real wrappers do, and tells its pid.
fn start_child(command: &mut Command) -> anyhow::Result<()> {
    let child = command.stdin(Stdio::null()).spawn()?;
    writeln!(std::io::stderr(), "child {}", child.id().unwrap_or_default())?;
    Ok(())
}
