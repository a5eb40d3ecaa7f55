//! One file a command; what they share is here: the configuration, the runtime, the
//! exit codes.

mod approve;
mod config;
mod doctor;
mod find;
mod flag;
mod import;
mod init;
mod install;
mod ls;
mod read;
mod search;
mod serve;
mod status;
mod summary;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use trove_core::{Caller, Json, SourceError, SourceId, gateway::AskError, source::Ask};

use crate::{
    app::App,
    cli::{Cli, Command, Global, Install, Uninstall, Wait},
    clients::{ClientError, Host, Os},
    config::{Loaded, Overrides, ProcessEnv, Request, load},
    telemetry,
};

/// The hidden command under which this program watches over the children of another.
pub const GUARDIAN: &str = "__guardian";

/// Exit codes by class.
pub mod exit {
    /// The command line is wrong.
    pub const USAGE: u8 = 1;
    /// `doctor` found something that must be mended.
    pub const TO_MEND: u8 = 1;
    /// The configuration is wrong.
    pub const CONFIG: u8 = 2;
    /// A server, or an address, cannot be reached.
    pub const UNREACHABLE: u8 = 4;
    /// A server answered with an error, or there is no such resource.
    pub const SOURCE: u8 = 5;
}

/// The code with which a Source says that there is no such resource.
const NOT_FOUND: i64 = -32002;

/// The most threads that answer requests.
const MAX_THREADS: usize = 8;

/// Why a command ended badly.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) code: u8,
    pub(crate) class: &'static str,
    pub(crate) message: String,
    /// What a tool answered, where one did: printed instead with `--json`.
    pub(crate) object: Option<Json>,
}

impl Failed {
    pub(crate) fn new(code: u8, class: &'static str, message: impl Into<String>) -> Failed {
        Failed { code, class, message: message.into(), object: None }
    }
}

impl From<AskError> for Failed {
    fn from(error: AskError) -> Failed {
        let message = error.to_string();
        match error {
            AskError::Source { error, .. } if error.is_retryable() => {
                Failed::new(exit::UNREACHABLE, "ResourceExecutionError", message)
            }
            AskError::NotFound { .. } => {
                let message = format!("{message}; `trove ls` shows what there is");
                Failed::new(exit::SOURCE, "InvalidURI", message)
            }
            // What our own guide says of a name that leads nowhere; it names what is near.
            AskError::Source { error: SourceError::Refused { code: NOT_FOUND, .. }, .. } => {
                Failed::new(exit::SOURCE, "InvalidURI", message)
            }
            AskError::Ambiguous { .. } => Failed::new(exit::SOURCE, "AmbiguousURI", message),
            _ => Failed::new(exit::SOURCE, "ResourceExecutionError", message),
        }
    }
}

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Failed {
        Failed::new(error.exit_code(), "Client", error.to_string())
    }
}

/// Runs one command.
pub fn run(cli: Cli) -> ExitCode {
    let wants_json = cli.command.wants_json();
    let outcome = match cli.command {
        Command::Init => init::init(),
        Command::Up(http) => serve::up(&cli.global, &http),
        Command::Serve(serve) => serve::serve(&cli.global, &serve),
        Command::Ls(wait) => ls::ls(&cli.global, wait),
        Command::Read(read) => read::read(&cli.global, &read),
        Command::Find(command) => find::find(&cli.global, &command),
        Command::Search(command) => search::search(&cli.global, &command),
        Command::Summary(command) => summary::summary(&cli.global, &command),
        Command::Status(wait) => status::status(&cli.global, wait),
        Command::Approve(approve) => approve::approve(&cli.global, &approve),
        Command::Flag(command) => flag::flag(&cli.global, &command),
        Command::Doctor(wait) => doctor::doctor(&cli.global, wait),
        Command::Config(command) => config::config(&cli.global, command),
        Command::Import(import) => import::import(&cli.global, &import),
        Command::Install(install) => install::install(&cli.global, &install),
        Command::Uninstall(uninstall) => install::uninstall(&uninstall),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            explain(&failed, wants_json);
            failed.code.into()
        }
    }
}

impl Command {
    fn wants_json(&self) -> bool {
        use crate::cli::ConfigCommand;
        match self {
            Command::Ls(wait) | Command::Status(wait) | Command::Doctor(wait) => wait.output.json,
            Command::Config(ConfigCommand::Check(output) | ConfigCommand::Show(output)) => {
                output.json
            }
            Command::Read(read) => read.wait.output.json,
            Command::Find(find) => find.hits.wait.output.json,
            Command::Search(search) => search.hits.wait.output.json,
            Command::Summary(summary) => summary.wait.output.json,
            Command::Approve(approve) => approve.output.json,
            Command::Flag(command) => command.place().output.json,
            Command::Import(import) => import.output.json,
            Command::Install(Install { entry, .. })
            | Command::Uninstall(Uninstall { entry, .. }) => entry.output.json,
            Command::Init
            | Command::Up(_)
            | Command::Serve(_)
            | Command::Config(ConfigCommand::Schema) => false,
        }
    }
}

#[expect(clippy::print_stderr, clippy::print_stdout, reason = "this is the terminal's side")]
fn explain(failed: &Failed, wants_json: bool) {
    if let Some(object) = failed.object.as_ref().filter(|_| wants_json) {
        println!("{}", object.as_str());
    } else if wants_json {
        let line = serde_json::json!({
            "success": false, "error": failed.class, "message": failed.message,
        });
        println!("{line}");
    } else {
        eprintln!("error: {}", failed.message);
    }
}

/// Loads the configuration; its problems go to stderr, and errors in it end the command.
#[expect(clippy::print_stderr, reason = "problems are for whoever sits at the terminal")]
fn configure(global: &Global, flags: Overrides) -> Result<(Loaded, PathBuf), Failed> {
    let cwd = current_folder()?;
    let request =
        Request { explicit: global.config.clone(), cwd: cwd.clone(), env: &ProcessEnv, flags };
    let loaded = load(&request);
    for problem in &loaded.problems {
        eprintln!("{problem}");
    }
    if loaded.is_usable() {
        return Ok((loaded, cwd));
    }
    let message = "the configuration has errors; see above, mend them and start again";
    Err(Failed::new(exit::CONFIG, "Config", message))
}

/// The configuration as it is, with all its problems.
fn load_as_is(global: &Global) -> Result<Loaded, Failed> {
    let (explicit, cwd) = (global.config.clone(), current_folder()?);
    Ok(load(&Request { explicit, cwd, env: &ProcessEnv, flags: Overrides::default() }))
}

fn current_folder() -> Result<PathBuf, Failed> {
    std::env::current_dir().map_err(|error| {
        Failed::new(exit::CONFIG, "Config", format!("the current folder is gone: {error}"))
    })
}

/// This machine, for what looks at other programs' files.
fn host() -> Result<Host<'static>, Failed> {
    let program = this_program().map_err(|error| {
        let message = format!("where this program lies cannot be told: {error}");
        Failed::new(exit::CONFIG, "Config", message)
    })?;
    let now = std::time::SystemTime::now();
    Ok(Host { os: Os::this(), env: &ProcessEnv, cwd: current_folder()?, program, now })
}

/// This program under the name it is found by on `PATH`, which outlives its next version;
/// else by its own path.
fn this_program() -> std::io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let name = own.file_name().unwrap_or_default().to_owned();
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&folders).map(|folder| folder.join(&name));
    let is_this =
        |path: &PathBuf| path.is_absolute() && path.canonicalize().is_ok_and(|p| p == own);
    Ok(found.find(is_this).unwrap_or(own))
}

/// Prints an answer. A reader that has seen enough, such as `head`, is no fault.
fn say(text: &str) {
    use std::io::Write as _;
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Half of the cores are left to the servers we start: on a small machine one thread of
/// ours is faster than two that wake each other.
fn runtime() -> Result<tokio::runtime::Runtime, Failed> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads((cores / 2).clamp(1, MAX_THREADS))
        .enable_all()
        .build()
        .map_err(|error| Failed::new(exit::UNREACHABLE, "Runtime", format!("no threads: {error}")))
}

/// Starts the servers without any door, does one thing, and stops them.
#[expect(clippy::print_stderr, reason = "who is missing is for whoever sits at the terminal")]
fn once<T>(
    global: &Global,
    work: impl AsyncFnOnce(&App) -> Result<T, Failed>,
) -> Result<T, Failed> {
    let (loaded, _) = configure(global, Overrides::default())?;
    telemetry::start(global, "error");
    runtime()?.block_on(async {
        let app = App::start(&loaded, global.yes).await;
        for id in app.admission().waiting() {
            eprintln!("note: {id} is waiting for approval: run `trove approve {id}`");
        }
        let outcome = work(&app).await;
        app.shutdown().await;
        outcome
    })
}

/// Calls a tool as a client would and gives its object; a failure keeps its own.
async fn call_tool(app: &App, name: &str, arguments: &serde_json::Value) -> Result<Json, Failed> {
    let tools = app.tools().all();
    let arguments = Json::of(arguments);
    let reply = tools.call(&Caller::local(), name, Some(&arguments), Ask::default()).await;
    let body = reply.map(|reply| reply.body).unwrap_or_else(Json::empty_object);
    let object = body.get("structuredContent").unwrap_or_else(Json::empty_object);
    if body.get("isError").is_none_or(|is_error| is_error.as_str() != "true") {
        return Ok(object);
    }
    let text = |key: &str| object.get_str(key).unwrap_or_default();
    let code = match (text("error").as_str(), text("exception_type").as_str()) {
        ("InvalidArguments", _) => exit::USAGE,
        ("Busy", _) | (_, "Unavailable" | "Lost" | "TimedOut") => exit::UNREACHABLE,
        _ => exit::SOURCE,
    };
    let mut failed = Failed::new(code, "Failed", text("message"));
    failed.object = Some(object);
    Err(failed)
}

/// Waits until every server has answered or failed, or `is_enough` says so.
async fn settle(app: &App, wait: Wait, is_enough: impl AsyncFn() -> bool) {
    let settled = async {
        while !unsettled(app).is_empty() && !is_enough().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    // Out of patience: what there is by now is the answer.
    let _ = tokio::time::timeout(Duration::from_secs(wait.wait), settled).await;
}

/// The servers that have neither answered nor failed yet.
fn unsettled(app: &App) -> Vec<SourceId> {
    let all = app.gateway.board().all();
    all.into_iter().filter(|(_, status)| !status.is_settled()).map(|(id, _)| id).collect()
}
