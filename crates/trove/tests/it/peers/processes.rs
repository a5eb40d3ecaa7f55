//! Starts programs and makes sure they are gone afterwards.
//!
//! Every program gets a process group of its own, which is ended whole when its owner is dropped. A
//! client that is killed must not leave its server behind.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::drivers::Target;

/// How long a program may take to be ready. The machine may be busy with other tests.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a program may take to go after it was asked to.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How often a program is looked at that announces nothing by itself.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A running program, ended with its whole process group on drop.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Self { child }
    }

    fn signal_group(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // The group may be gone already, which is what is wanted.
        let _ = pid.map(|pid| rustix::process::kill_process_group(pid, signal));
    }

    fn has_ended_within(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return true;
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        false
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Asked first, so that a gateway can end its own children, which lead groups
        // of their own.
        self.signal_group(Signal::TERM);
        self.has_ended_within(END_LIMIT);
        self.signal_group(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Runs a program to its end within the limit and gives back its output. Any other end fails the
/// test, and shows the end of its stderr.
#[track_caller]
pub(crate) fn printed_by(command: &mut Command, limit: Duration) -> Printed {
    let complaints = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let errors = complaints.reopen().expect("the file can be opened twice");
    let mut process = Process::start(command.stdout(Stdio::piped()).stderr(errors));
    let mut stdout = process.child.stdout.take().expect("stdout is a pipe");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        // A closed receiver means the test has given up already.
        let _ = sender.send(stdout.read_to_string(&mut text).map(|_| text));
    });
    let stdout = match receiver.recv_timeout(limit) {
        Ok(text) => text.expect("the program prints UTF-8"),
        Err(_) => panic!("{command:?} did not end within {limit:?}\n{}", tail(complaints.path())),
    };
    let succeeded = process.child.wait().expect("a started program can be awaited").success();
    Printed { stdout, stderr: tail(complaints.path()), succeeded }
}

/// The output of a program, and whether it was content.
pub(crate) struct Printed {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) succeeded: bool,
}

fn tail(path: &Path) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let start = text.len().saturating_sub(4000);
    String::from_utf8_lossy(&text[start..]).into_owned()
}

/// A running `trove serve --http`.
#[derive(Debug)]
pub(crate) struct Trove {
    _process: Process,
}

impl Trove {
    /// Serves on the loopback port, and returns once the ready line was logged.
    pub(crate) fn serve_http(port: u16, config: &Path, home: &Path) -> Self {
        let mut command = Command::new(Self::program());
        command
            .args(["serve", "--http", &format!("127.0.0.1:{port}"), "--no-auth"])
            .args(["--log-format", "json", "--config"])
            .arg(config)
            .env("TROVE_HOME", home.join("home"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = Process::start(&mut command);
        let stderr = process.child.stderr.take().expect("stderr is a pipe");
        wait_for_ready_line(BufReader::new(stderr));
        Self { _process: process }
    }

    /// `trove serve --stdio`, for a client to start.
    pub(crate) fn stdio_target(config: &Path, home: &Path) -> Target {
        let config = config.to_str().expect("temporary paths are UTF-8");
        let arguments = ["serve", "--stdio", "--config", config];
        Target::stdio(&Self::program(), &arguments).with_variable(
            "TROVE_HOME",
            home.join("home").to_str().expect("temporary paths are UTF-8"),
        )
    }

    fn program() -> PathBuf {
        PathBuf::from(env!("CARGO_BIN_EXE_trove"))
    }
}

/// A program of another package of this workspace, built into the same folder.
#[track_caller]
pub(crate) fn sibling_program(name: &str) -> PathBuf {
    let program = Trove::program().with_file_name(name);
    assert!(program.exists(), "{name} is not built; run `cargo xtask test`");
    program
}

fn wait_for_ready_line(stderr: BufReader<impl std::io::Read + Send + 'static>) {
    let (sender, receiver) = mpsc::channel();
    // The thread outlives the wait: a full pipe would stop the program.
    std::thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let deadline = Instant::now() + START_LIMIT;
    let mut seen = String::new();
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) if is_ready_line(&line) => return,
            Ok(line) => seen.push_str(&format!("{line}\n")),
            Err(RecvTimeoutError::Timeout) => {
                panic!("trove is not ready after {START_LIMIT:?}\n{seen}")
            }
            Err(RecvTimeoutError::Disconnected) => {
                panic!("trove ended before it was ready\n{seen}")
            }
        }
    }
}

fn is_ready_line(line: &str) -> bool {
    let Ok(event) = serde_json::from_str::<Value>(line) else {
        return false;
    };
    // Log formats differ in whether the fields lie in an object of their own.
    event["message"] == "ready" || event["fields"]["message"] == "ready"
}

/// A loopback port nothing listens on.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port can be had");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// Returns once something accepts connections on the port.
#[track_caller]
pub(crate) fn wait_for_port(port: u16) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let deadline = Instant::now() + START_LIMIT;
    while TcpStream::connect_timeout(&address, START_LIMIT).is_err() {
        assert!(Instant::now() < deadline, "nothing listens on {address} after {START_LIMIT:?}");
        std::thread::sleep(LOOK_INTERVAL);
    }
}
