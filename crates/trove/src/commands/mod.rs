//! One file a command; what they share is here: the configuration, the runtime, the
//! exit codes.

mod approve;
mod auth;
mod bench;
mod completions;
mod config;
mod doctor;
mod find;
mod flag;
mod folders;
mod guide;
mod import;
mod init;
mod install;
mod logs;
mod ls;
mod man;
mod noted;
mod read;
mod recipe;
mod run;
mod said;
mod search;
mod serve;
mod servers;
mod status;
mod summary;
mod tools;
mod up;

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::ExitCode,
};

use said::{say, say_bytes, unsaid};
use trove_core::{content::escape_controls, status::Remedy};

pub use crate::failed::exit;
use crate::{
    app::{App, memory_of},
    borrow::{Extras, Lends},
    cli::{Cli, Command, Global, Install, Uninstall},
    clients::ClientError,
    config::{Loaded, Overrides, Problem, ProcessEnv, Request, Severity, load},
    errand::{self, Answer, Errand, What, Whose},
    failed::{Class, Failed},
    machine::{current_folder, host},
    progress,
    style::Paint,
    telemetry,
};

/// The hidden command under which this program watches over the children of another.
pub const GUARDIAN: &str = "__guardian";

/// The hidden command under which this program runs one program of a client.
pub const CODE_WORKER: &str = "__code-worker";

/// The hidden command under which this program takes one document apart.
pub const DOCUMENT_WORKER: &str = "__document-worker";

/// The most threads that answer requests.
const MAX_THREADS: usize = 8;

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Failed {
        Failed::new(Class::Client, error.to_string()).exiting(error.exit_code())
    }
}

/// Runs one command.
pub fn run(cli: Cli) -> ExitCode {
    let wants_json = cli.command.wants_json();
    let outcome = match cli.command {
        Command::Init(output) => init::init(output),
        Command::Up(command) => up::up(&cli.global, &command),
        Command::Serve(serve) => serve::serve(&cli.global, &serve),
        Command::Ls(wait) => ls::ls(&cli.global, wait),
        Command::Read(read) => read::read(&cli.global, &read),
        Command::Find(command) => find::find(&cli.global, &command),
        Command::Search(command) => search::search(&cli.global, &command),
        Command::Summary(command) => summary::summary(&cli.global, &command),
        Command::Run(command) => run::run(&cli.global, &command),
        Command::Status(wait) => status::status(&cli.global, wait),
        Command::Logs(logs) => logs::logs(&cli.global, &logs),
        Command::List(output) => servers::list(&cli.global, output),
        Command::Add(add) => servers::add(&cli.global, &add),
        Command::Remove(remove) => servers::remove(&cli.global, &remove),
        Command::Approve(approve) => approve::approve(&cli.global, &approve),
        Command::Recipe(command) => recipe::recipe(&cli.global, &command),
        Command::Guide(command) => guide::guide(&cli.global, &command),
        Command::Tools(tools) => tools::tools(&tools),
        Command::Auth(command) => auth::auth(&cli.global, &command),
        Command::Flag(command) => flag::flag(&cli.global, &command),
        Command::Doctor(wait) => doctor::doctor(&cli.global, wait),
        Command::Bench(command) => bench::bench(&cli.global, &command),
        Command::Config(command) => config::config(&cli.global, command),
        Command::Import(import) => import::import(&cli.global, &import),
        Command::Install(install) => install::install(&cli.global, &install),
        Command::Uninstall(uninstall) => install::uninstall(&uninstall),
        Command::Completions(completions) => completions::completions(&completions),
        Command::Man(man) => man::man(&man),
    };
    if let Err(failed) = &outcome {
        explain(failed, wants_json);
    }
    let unsaid = unsaid();
    if let Some(failed) = &unsaid {
        complain(failed);
    }
    let failed = outcome.err().or(unsaid);
    failed.map_or(ExitCode::SUCCESS, |failed| failed.code.into())
}

impl Command {
    fn wants_json(&self) -> bool {
        use crate::cli::ConfigCommand;
        match self {
            Command::Ls(wait) | Command::Status(wait) | Command::Doctor(wait) => wait.output.json,
            Command::Config(ConfigCommand::Show(command)) => command.output.json,
            Command::Config(ConfigCommand::Check(output) | ConfigCommand::Schema(output)) => {
                output.json
            }
            Command::Read(read) => read.wait.output.json,
            Command::Find(find) => find.hits.wait.output.json,
            Command::Search(search) => search.hits.wait.output.json,
            Command::Summary(summary) => summary.wait.output.json,
            Command::Run(run) => run.wait.output.json,
            Command::Bench(bench) => bench.wait.output.json,
            Command::Approve(approve) => approve.output.json,
            Command::Logs(logs) => logs.output.json,
            Command::List(output) => output.json,
            Command::Add(add) => add.output.json,
            Command::Remove(remove) => remove.output.json,
            Command::Recipe(command) => command.output().json,
            Command::Guide(command) => command.output().json,
            Command::Tools(tools) => tools.output().json,
            Command::Flag(command) => command.place().output.json,
            Command::Import(import) => import.output.json,
            Command::Install(Install { entry, .. })
            | Command::Uninstall(Uninstall { entry, .. }) => entry.output.json,
            Command::Auth(command) => command.output().json,
            Command::Init(output) => output.json,
            Command::Up(up) => up.output.json,
            Command::Serve(serve) => serve.output.json,
            Command::Completions(completions) => completions.output.json,
            Command::Man(man) => man.output.json,
        }
    }
}

fn explain(failed: &Failed, wants_json: bool) {
    if let Some(object) = failed.object.as_ref().filter(|_| wants_json) {
        say(&format!("{object}\n"));
    } else if wants_json {
        let line = serde_json::json!({
            "success": false, "error": failed.class, "message": failed.message,
        });
        say(&format!("{line}\n"));
    } else {
        complain(failed);
    }
}

#[expect(clippy::print_stderr, reason = "this is the terminal's side")]
fn complain(failed: &Failed) {
    // What failed may speak in a server's own words.
    eprintln!("error: {}", escape_controls(&failed.message));
}

/// Loads the configuration; its problems go to stderr, and errors in it end the command.
#[expect(clippy::print_stderr, reason = "problems are for whoever sits at the terminal")]
fn configure(global: &Global, flags: Overrides) -> Result<(Loaded, PathBuf), Failed> {
    let cwd = current_folder()?;
    let request =
        Request { explicit: global.config.clone(), cwd: cwd.clone(), env: &ProcessEnv, flags };
    let loaded = load(&request);
    let is_said = |problem: &&Problem| !global.quiet || problem.severity == Severity::Error;
    for problem in loaded.problems.iter().filter(is_said) {
        // A project brings its own file, and a file its own words.
        eprintln!("{}", escape_controls(&problem.to_string()));
    }
    if loaded.is_usable() {
        return Ok((loaded, cwd));
    }
    let message = "the configuration has errors; see above, mend them and start again";
    let mut failed = Failed::new(Class::Config, message);
    // Whoever reads the object may not see what stands above.
    let object = serde_json::json!({
        "success": false,
        "error": Class::Config,
        "message": "the configuration has errors; mend the `problems` and start again",
        "problems": loaded.problems,
    });
    failed.object = Some(object.to_string());
    Err(failed)
}

/// The configuration as it is, with all its problems.
fn load_as_is(global: &Global) -> Result<Loaded, Failed> {
    let (explicit, cwd) = (global.config.clone(), current_folder()?);
    Ok(load(&Request { explicit, cwd, env: &ProcessEnv, flags: Overrides::default() }))
}

/// Half of the cores are left to the servers we start: on a small machine one thread of
/// ours is faster than two that wake each other.
fn runtime() -> Result<tokio::runtime::Runtime, Failed> {
    threads(cores() / 2)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn threads(count: usize) -> Result<tokio::runtime::Runtime, Failed> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(count.clamp(1, MAX_THREADS))
        .enable_all()
        .build()
        .map_err(|error| Failed::new(Class::Runtime, format!("no threads: {error}")))
}

/// Has something done by the Trove that runs with this configuration, else by one that is
/// started for it and stopped again.
fn errand_bytes(global: &Global, what: What, wait: u64) -> Result<Vec<u8>, Failed> {
    let (mut loaded, _) = configure(global, Overrides::default())?;
    telemetry::start(global, telemetry::BESIDES_TOOLS);
    let errand = Errand::new(what, wait);
    if let Some(outcome) = ask_running(global, &loaded, &errand) {
        return outcome.map(|answer| told(global, answer));
    }
    let found = Extras::new(Lends::Approved).add_to(&mut loaded, &host()?);
    let mut notes = Vec::new();
    if found > loaded.borrowed.len() {
        let more = found - loaded.borrowed.len();
        notes.push(format!(
            "{more} servers of other clients are not served: `trove approve` shows them"
        ));
    }
    runtime()?.block_on(async {
        let app = App::start(&loaded, global.yes).await;
        for id in app.admission().waiting() {
            let command = app.gateway.board().command(Remedy::Approve, &id);
            notes.push(format!("{id} is waiting for approval: run `{command}`"));
        }
        let work = errand::perform(app.live(), &errand, Whose::Started);
        let outcome = if draws(global) {
            progress::during(&app.gateway, Paint::of(&io::stderr()), work).await
        } else {
            work.await
        };
        app.shutdown().await;
        told(global, Answer { notes, body: Vec::new() });
        outcome.map(|answer| told(global, answer))
    })
}

/// Whether somebody looks at stderr who may be shown how far things are.
fn draws(global: &Global) -> bool {
    let can_redraw = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    !global.quiet && can_redraw && io::stderr().is_terminal()
}

/// The same, where the answer is text.
fn errand(global: &Global, what: What, wait: u64) -> Result<String, Failed> {
    let bytes = errand_bytes(global, what, wait)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whoever says `--yes` means servers that a running Trove may not have started.
fn ask_running(
    global: &Global,
    loaded: &Loaded,
    errand: &Errand,
) -> Option<Result<Answer, Failed>> {
    if global.yes || global.alone {
        return None;
    }
    errand::ask(&loaded.config.state_dir.value, &memory_of(loaded), errand, errand::GRACE)
}

/// The answer itself; what there is to say about it is said.
#[expect(clippy::print_stderr, reason = "notes are for whoever sits at the terminal")]
fn told(global: &Global, answer: Answer) -> Vec<u8> {
    for note in answer.notes.iter().filter(|_| !global.quiet) {
        eprintln!("note: {}", escape_controls(note));
    }
    answer.body
}
