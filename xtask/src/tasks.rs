//! Runs the ten standard tasks over real servers and writes how they went.

use crate::{peers, steps};

/// Tells the test to write what it found.
const WRITE: &str = "TROVE_WRITE_TASKS";
const TESTS: &str = "test(ten_tasks_take)";

pub(crate) fn tasks(options: &peers::Options) -> anyhow::Result<()> {
    let environment = peers::install(options)?;
    let mut tests =
        steps::cargo(&["nextest", "run", "--package", "trove", "--test", "it", "-E", TESTS]);
    steps::run("tasks", tests.env("TROVE_PEERS", environment).env(WRITE, "1"))?;
    eprintln!("wrote docs/tasks.md and docs/code-tasks.md");
    Ok(())
}
