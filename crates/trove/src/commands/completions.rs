//! `trove completions`: what makes a shell ask this program how a line may go on.

use clap_complete::env::Shells;

use super::{Failed, exit, say};
use crate::cli::Completions;

pub(super) fn completions(completions: &Completions) -> Result<(), Failed> {
    let broken = |error: &dyn std::fmt::Display| {
        Failed::new(exit::USAGE, "Usage", format!("no completions for this shell: {error}"))
    };
    let shells = Shells::builtins();
    let shell = shells.completer(&completions.shell).ok_or_else(|| broken(&completions.shell))?;
    let mut script = Vec::new();
    // By its name: the program may move, and the script stays.
    shell
        .write_registration("COMPLETE", "trove", "trove", "trove", &mut script)
        .map_err(|error| broken(&error))?;
    say(&String::from_utf8_lossy(&script));
    Ok(())
}
