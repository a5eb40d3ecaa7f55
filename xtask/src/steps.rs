//! Runs other programs as named steps, and knows where the checkout is.
//!
//! A step either succeeds or ends the chore: nothing here retries or guesses.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail};

/// The root of the checkout this command was started from.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for every run. The compiled-in value alone would name
    // another checkout whenever two of them share one target directory.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().expect("xtask lies one level below the root").to_path_buf()
}

/// A `cargo` command in the root of the checkout.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    // The variable names the very cargo that runs us, toolchain included.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end with its output on ours, and fails unless it succeeds.
pub(crate) fn run(title: &str, command: &mut Command) -> anyhow::Result<()> {
    eprintln!("\n── {title}");
    let started = Instant::now();
    let status = command.status().with_context(|| format!("{title}: cannot start {command:?}"))?;
    if !status.success() {
        bail!("{title}: {status}");
    }
    eprintln!("── {title}: done in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Runs a command to its end and gives back what it wrote on stdout.
pub(crate) fn output(title: &str, command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{title}: cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{title}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("{title}: stdout is not UTF-8"))
}
