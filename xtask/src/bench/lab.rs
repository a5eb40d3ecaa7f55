//! The tools of measurements: the release binaries, a folder, and targets to start.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::steps;

/// How many resources an upstream lists unless a measurement says otherwise.
pub(crate) const RESOURCES: usize = 1000;

/// Configurations lie apart, because Trove watches the folder of its own.
const CONFIGS: &str = "configs";

pub(crate) struct Lab {
    folder: PathBuf,
    trove: PathBuf,
    mcp_bench: PathBuf,
    toymcp: PathBuf,
    pub(crate) route_bench: PathBuf,
    pub(crate) retrieval_bench: PathBuf,
    pub(crate) is_quick: bool,
    /// How often each comparison is made.
    pub(crate) rounds: usize,
    /// How long each part of a round takes.
    pub(crate) seconds: f64,
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Stdio,
    Http,
}

/// A server to start and measure.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) url: Option<String>,
    pub(crate) command: Vec<String>,
    home: PathBuf,
}

/// An entry of a configuration.
#[derive(Clone)]
pub(crate) enum Upstream {
    Command(Vec<String>),
    Url(String),
    /// Its answers may be kept.
    Cached(Vec<String>),
}

/// A server that runs beside the measurement and ends with it.
pub(crate) struct Background {
    child: Child,
    pub(crate) url: String,
}

impl Drop for Background {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Target {
    /// Runs the server at its old address, by another command.
    pub(crate) fn running(mut self, upstream: &[String]) -> Target {
        let address = self.command.iter().skip_while(|part| *part != "--http");
        self.command = upstream.iter().chain(address).cloned().collect();
        self
    }

    /// Takes away what earlier runs have left.
    pub(crate) fn forget(&self) -> anyhow::Result<()> {
        if self.home.exists() {
            fs::remove_dir_all(&self.home)?;
        }
        Ok(())
    }
}

impl Lab {
    /// A folder for what is measured.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The program that is measured.
    pub(crate) fn trove_binary(&self) -> &Path {
        &self.trove
    }

    /// Builds everything, and copies it so that a build meanwhile changes nothing.
    pub(crate) fn open(is_quick: bool) -> anyhow::Result<Lab> {
        let built = build()?;
        let folder = built.values().next().and_then(|program| program.parent()?.parent());
        let folder = folder.context("nothing was built")?.join("bench");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join(CONFIGS))?;
        let keep = |name: &str| {
            let program = built.get(name).with_context(|| format!("{name} was not built"))?;
            let copy = folder.join(name);
            fs::copy(program, &copy)?;
            anyhow::Ok(copy)
        };
        Ok(Lab {
            trove: keep("trove")?,
            mcp_bench: keep("mcp-bench")?,
            toymcp: keep("toymcp")?,
            route_bench: keep("route-bench")?,
            retrieval_bench: keep("retrieval-bench")?,
            folder,
            is_quick,
            rounds: if is_quick { 3 } else { 5 },
            seconds: if is_quick { 0.7 } else { 2.0 },
        })
    }

    /// The command of the upstream to measure with.
    pub(crate) fn upstream(&self, arguments: &[&str]) -> Vec<String> {
        let mut command = vec![text(&self.mcp_bench), "upstream".to_owned()];
        command.extend(arguments.iter().map(|&argument| argument.to_owned()));
        command
    }

    /// The command of an upstream that does something wrong.
    pub(crate) fn faulty(&self, fault: &str) -> Vec<String> {
        vec![text(&self.toymcp), "--fault".to_owned(), fault.to_owned()]
    }

    /// The command of a toy, whose texts begin with its name.
    pub(crate) fn toy(&self, arguments: &[&str]) -> Vec<String> {
        let mut command = vec![text(&self.toymcp)];
        command.extend(arguments.iter().map(|&argument| argument.to_owned()));
        command
    }

    /// The upstream itself, without anything in between.
    pub(crate) fn direct(
        &self,
        name: &'static str,
        door: Door,
        upstream: &[&str],
    ) -> anyhow::Result<Target> {
        let mut command = self.upstream(upstream);
        let mut url = None;
        if door == Door::Http {
            let port = free_port()?;
            command.extend(["--http".to_owned(), format!("127.0.0.1:{port}")]);
            url = Some(format!("http://127.0.0.1:{port}/mcp"));
        }
        Ok(Target { name, url, command, home: self.folder.join("no-home") })
    }

    /// A relay that carries messages from HTTP to the upstream over stdio, and does nothing else.
    pub(super) fn relay(&self, name: &'static str, upstream: &[&str]) -> anyhow::Result<Target> {
        self.other(name, |port| {
            let mut command = vec![text(&self.mcp_bench), "relay".to_owned()];
            command.extend(["--http".to_owned(), format!("127.0.0.1:{port}"), "--".to_owned()]);
            command.extend(self.upstream(upstream));
            command
        })
    }

    /// Trove with a guide and no upstreams; `write` fills the folder of its configuration.
    pub(super) fn trove_with_guide(
        &self,
        name: &'static str,
        door: Door,
        write: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<Target> {
        let mut target = self.trove(name, door, &[])?;
        let folder = target.home.with_extension("config");
        fs::create_dir_all(&folder)?;
        write(&folder)?;
        target.command.pop();
        target.command.push(text(&folder.join("trove.toml")));
        Ok(target)
    }

    /// Trove in front of upstreams. Its state is kept under its name.
    pub(crate) fn trove(
        &self,
        name: &'static str,
        door: Door,
        upstreams: &[(&str, Upstream)],
    ) -> anyhow::Result<Target> {
        let file = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let servers: serde_json::Map<String, Value> =
            upstreams.iter().map(|(id, upstream)| ((*id).to_owned(), entry(upstream))).collect();
        // Only our own kind of file can say what is indexed and what may be kept.
        let config = self.folder.join(CONFIGS).join(format!("{file}.toml"));
        fs::write(&config, toml_of(&servers))?;
        let mut command = vec![text(&self.trove), "serve".to_owned()];
        let mut url = None;
        match door {
            Door::Stdio => command.push("--stdio".to_owned()),
            Door::Http => {
                let port = free_port()?;
                let address = format!("127.0.0.1:{port}");
                command.extend(["--http".to_owned(), address, "--no-auth".to_owned()]);
                url = Some(format!("http://127.0.0.1:{port}/mcp"));
            }
        }
        command.extend(["--log", "warn", "--yes", "--config"].map(str::to_owned));
        command.push(text(&config));
        Ok(Target { name, url, command, home: self.folder.join(format!("{file}-home")) })
    }

    /// Another product in front of an upstream, over HTTP; its command is told the port.
    pub(super) fn other(
        &self,
        name: &'static str,
        command: impl FnOnce(u16) -> Vec<String>,
    ) -> anyhow::Result<Target> {
        let port = free_port()?;
        let url = Some(format!("http://127.0.0.1:{port}/mcp"));
        Ok(Target { name, url, command: command(port), home: self.folder.join("no-home") })
    }

    /// Any server that is spoken to over stdio.
    pub(super) fn pipe(&self, name: &'static str, command: Vec<String>) -> Target {
        Target { name, url: None, command, home: self.folder.join("no-home") }
    }

    /// Starts an upstream over HTTP.
    pub(crate) fn background(&self, arguments: &[&str]) -> anyhow::Result<Background> {
        let target = self.direct("background", Door::Http, arguments)?;
        let (program, arguments) = target.command.split_first().context("no command")?;
        let child = Command::new(program).args(arguments).stdin(Stdio::null()).spawn()?;
        Ok(Background { child, url: target.url.unwrap_or_default() })
    }

    /// Starts a toy over HTTP.
    pub(super) fn remote_toy(&self, arguments: &[&str]) -> anyhow::Result<Background> {
        let address = format!("127.0.0.1:{}", free_port()?);
        let mut command = Command::new(&self.toymcp);
        command.args(arguments).args(["--http", &address]);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        Ok(Background { child: command.spawn()?, url: format!("http://{address}/mcp") })
    }

    /// Measures a target with `mcp-bench` and gives its results.
    pub(crate) fn measure(&self, what: &[&str], target: &Target) -> anyhow::Result<Vec<Value>> {
        let mut command = Command::new(&self.mcp_bench);
        command.args(what);
        if let Some(url) = &target.url {
            command.args(["--url", url]);
        }
        command.arg("--").args(&target.command);
        self.results(&format!("{}: {}", what[0], target.name), &mut command, target)
    }

    /// Runs a measuring command and reads the JSON objects it prints, one a line.
    pub(crate) fn results(
        &self,
        title: &str,
        command: &mut Command,
        target: &Target,
    ) -> anyhow::Result<Vec<Value>> {
        let log = File::options().create(true).append(true).open(self.folder.join("log"))?;
        let output = command
            .env("TROVE_HOME", &target.home)
            .env_remove("TROVE_CONFIG")
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stderr(log)
            .output()
            .with_context(|| format!("{title}: cannot start {command:?}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout);
            let log = self.folder.join("log");
            let log = log.strip_prefix(steps::root()).unwrap_or(&log).display();
            bail!("{title}: {}: {said}; see {log}", output.status);
        }
        let lines = output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).with_context(|| format!("{title}: no JSON")))
            .collect()
    }

    /// The one result of a measurement.
    pub(crate) fn result(&self, what: &[&str], target: &Target) -> anyhow::Result<Value> {
        let mut results = self.measure(what, target)?;
        results.pop().with_context(|| format!("{} of {} gave no result", what[0], target.name))
    }
}

/// Builds all programs for release; gives them by name. They are always built together:
/// fewer packages would mean other features of what they share, and so other code.
pub(crate) fn build() -> anyhow::Result<BTreeMap<String, PathBuf>> {
    build_packages(&["--package", "trove", "--package", "trove-testkit"])
}

fn build_packages(packages: &[&str]) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    eprintln!("building for release");
    let mut cargo = steps::cargo(&["build", "--release", "--quiet"]);
    cargo.args(packages);
    cargo.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
    let messages = steps::output("release build", &mut cargo)?;
    let mut programs = BTreeMap::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line)?;
        let is_program = message["target"]["kind"][0] == "bin";
        let (name, path) = (message["target"]["name"].as_str(), message["executable"].as_str());
        if let (true, Some(name), Some(path)) = (is_program, name, path) {
            programs.insert(name.to_owned(), PathBuf::from(path));
        }
    }
    Ok(programs)
}

/// Builds one program of the test kit for release, and nothing else.
pub(crate) fn build_one(name: &str) -> anyhow::Result<PathBuf> {
    let mut programs = build_packages(&["--package", "trove-testkit", "--bin", name])?;
    programs.remove(name).with_context(|| format!("{name} was not built"))
}

/// Contents are not read for the index, which would take the processor from what is measured
/// until it has read them all.
fn entry(upstream: &Upstream) -> Value {
    match upstream {
        Upstream::Command(command) => {
            json!({ "command": command[0], "args": command[1..], "index": "metadata" })
        }
        Upstream::Url(url) => json!({ "url": url, "index": "metadata" }),
        Upstream::Cached(command) => {
            // In the newer era the library itself says that nothing may be kept.
            let (program, args) = (&command[0], &command[1..]);
            json!({ "command": program, "args": args, "index": "metadata", "cache": "public", "protocol": "legacy" })
        }
    }
}

/// Servers as `trove.toml` has them; for texts and lists JSON and TOML are alike.
fn toml_of(servers: &serde_json::Map<String, Value>) -> String {
    let mut text = String::new();
    for (id, entry) in servers {
        text.push_str(&format!("[servers.{id}]\n"));
        for (key, value) in entry.as_object().into_iter().flatten() {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    text
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
