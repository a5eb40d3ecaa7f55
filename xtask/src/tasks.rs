//! Runs what is asked of search over real servers and writes how it went: the ten standard
//! tasks, and the twenty questions of a person with the usual servers.

use crate::{peers, steps};

/// A set of questions: the tests that ask it, the variable that has them write, and where.
struct Questions {
    tests: &'static str,
    write: &'static str,
    documents: &'static str,
}

const TASKS: Questions = Questions {
    tests: "test(ten_tasks_take)",
    write: "TROVE_WRITE_TASKS",
    documents: "docs/tasks.md and docs/code-tasks.md",
};
const PROOF: Questions = Questions {
    tests: "test(twenty_questions_are_answered)",
    write: "TROVE_WRITE_PROOF",
    documents: "docs/proof.md",
};

pub(crate) fn tasks(options: &peers::Options) -> anyhow::Result<()> {
    ask(options, &TASKS)
}

pub(crate) fn proof(options: &peers::Options) -> anyhow::Result<()> {
    ask(options, &PROOF)
}

fn ask(options: &peers::Options, questions: &Questions) -> anyhow::Result<()> {
    let environment = peers::install(options)?;
    let run = ["nextest", "run", "--package", "trove", "--test", "it", "-E", questions.tests];
    let mut tests = steps::cargo(&run);
    steps::run("questions", tests.env("TROVE_PEERS", environment).env(questions.write, "1"))?;
    eprintln!("wrote {}", questions.documents);
    Ok(())
}
