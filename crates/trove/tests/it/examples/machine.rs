//! A bare machine: an empty home, Trove on the `PATH`, and launchers. These start the servers that
//! the tests install in place of fetching them.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::{blocks, compare};
use crate::peers::drivers;

/// How long one block may take, in seconds.
const LIMIT: &str = "120";

/// A machine of one page.
pub(super) struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    pub(super) fn new() -> Machine {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let machine = Machine { dir };
        for folder in [machine.bin(), machine.user()] {
            std::fs::create_dir(folder).expect("a folder can be made");
        }
        symlink(env!("CARGO_BIN_EXE_trove"), machine.bin().join("trove")).expect("a link");
        symlink(drivers::node(), machine.bin().join("node")).expect("a link");
        machine.put_launcher();
        machine
    }

    fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    fn user(&self) -> PathBuf {
        self.dir.path().join("user")
    }

    /// `npx -y PACKAGE ARGUMENTS`, which starts the package that is installed.
    fn put_launcher(&self) {
        let packages = drivers::npm_script("server-filesystem/dist/index.js");
        let packages = packages.ancestors().nth(3).expect("a package lies in a folder");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = -y ] && shift\nname=${{1##*/}}\nshift\nexec node '{}'/\"$name\"/dist/index.js \"$@\"\n",
            packages.display()
        );
        let launcher = self.bin().join("npx");
        std::fs::write(&launcher, script).expect("a file can be written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(launcher, mode).expect("a file can be made a program");
    }

    /// A program on this machine, which is ended where it takes too long.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", LIMIT, program])
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.bin().display()))
            .env("HOME", self.user())
            .env("LANG", "C.UTF-8")
            .current_dir(self.user())
            .stdin(Stdio::null());
        command
    }

    fn shell(&self, script: &str) -> Output {
        let mut command = self.command("bash");
        command.args(["-euo", "pipefail", "-c", script]);
        command.output().expect("bash can be started")
    }

    /// Runs lines of shell, of which none may fail.
    pub(super) fn run_script(&self, script: &str) -> Result<(), String> {
        let output = self.shell(script);
        if output.status.success() {
            return Ok(());
        }
        let (out, error) = (&output.stdout, &output.stderr);
        let (out, error) = (String::from_utf8_lossy(out), String::from_utf8_lossy(error));
        Err(format!("it failed ({}):\n{script}\n{out}{error}", output.status))
    }

    /// Runs what stands behind each `$ ` and compares what it prints.
    pub(super) fn run_console(&self, text: &str) -> Result<(), String> {
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(typed) = line.strip_prefix("$ ") else {
                return Err(format!("`{line}` stands before the first `$ `"));
            };
            let mut typed = typed.to_owned();
            while typed.ends_with('\\') {
                let _ = write!(typed, "\n{}", lines.next().unwrap_or_default());
            }
            let mut expected = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                expected.push(line);
            }
            self.expect(&typed, &expected)?;
        }
        Ok(())
    }

    fn expect(&self, typed: &str, expected: &[&str]) -> Result<(), String> {
        let output = self.shell(&format!("exec 2>&1\n{typed}"));
        let printed = String::from_utf8_lossy(&output.stdout);
        let came: Vec<&str> = printed.lines().collect();
        if compare::lines_match(expected, &came) {
            return Ok(());
        }
        let expected = expected.join("\n");
        Err(format!("`{typed}` was to print\n{expected}\nand printed\n{printed}"))
    }

    /// Writes a file below the home.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let path = self.user().join(path);
        let folder = path.parent().ok_or("a file lies in a folder")?;
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        std::fs::write(&path, text).map_err(|error| error.to_string())
    }

    /// Lets Trove check a configuration.
    pub(super) fn check_settings(&self, text: &str) -> Result<(), String> {
        let file = self.dir.path().join("example.toml");
        std::fs::write(&file, text).expect("a file can be written");
        let mut command = self.command("trove");
        let output = command.args(["config", "check", "--config"]).arg(file).output();
        let output = output.expect("trove can be started");
        if output.status.success() {
            return Ok(());
        }
        let (out, error) = (&output.stdout, &output.stderr);
        let (out, error) = (String::from_utf8_lossy(out), String::from_utf8_lossy(error));
        Err(format!("`trove config check` refuses it:\n{out}{error}"))
    }

    /// Sends requests to a Trove on stdio, and compares its answers.
    pub(super) fn converse(&self, text: &str) -> Result<(), String> {
        let mut child = self
            .command("trove")
            .args(["serve", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("trove can be started");
        let outcome = talk(&mut child, text);
        // Its client has gone, so it ends.
        let ended = child.wait();
        outcome.and(ended.map(drop).map_err(|error| error.to_string()))
    }
}

/// The advice while a server has not been listed.
const ASK_AGAIN: &str = "Ask again in a few seconds";
/// How often it is followed: for two minutes.
const MOST_TRIES: usize = 1200;

fn talk(child: &mut Child, text: &str) -> Result<(), String> {
    let mut input = child.stdin.take().expect("stdin is a pipe");
    let output = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
    let mut answers = output.lines().map_while(Result::ok).filter_map(|line| {
        let message: Value = serde_json::from_str(&line).ok()?;
        message.get("method").is_none().then_some(message)
    });
    let mut ask = |message: &Value| writeln!(input, "{message}").map_err(|e| e.to_string());
    ask(&json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "example", "version": "1" },
    } }))?;
    answers.next().ok_or("no answer to `initialize`")?;
    ask(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
    let mut came = None;
    for value in blocks::values(text)? {
        if value.get("method").is_some() {
            for _ in 0..MOST_TRIES {
                ask(&value)?;
                came = answers.next();
                // A server that starts slowly: what the answer says to do is done.
                let is_early = came.as_ref().is_some_and(|it| it.to_string().contains(ASK_AGAIN));
                if !is_early {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            continue;
        }
        let answer = came.take().ok_or("there is no answer")?;
        if let Some(why) = compare::difference(&value, &answer) {
            return Err(format!("{why}\nexpected {value}\ncame {answer}"));
        }
    }
    Ok(())
}
