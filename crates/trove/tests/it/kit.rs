//! The kit of every test of the program: a folder, a running Trove, clients and toy servers.
//!
//! Clients write JSON-RPC by hand, so that a test sees what is on the wire and nothing
//! that a library made of it. Everything that is started ends when its owner is dropped.

pub(crate) mod client;
pub(crate) mod terminal;
pub(crate) mod toy;
pub(crate) mod transcript;
pub(crate) mod wire;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;
use tokio::process::{Child, Command};

use client::{Client, Kind, Pipe};
use transcript::Transcript;

/// How long anything may take that a test waits for. The machine may be busy.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);
/// How often something is looked at that announces nothing by itself.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A folder with a configuration, and a state that outlives one run of Trove.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: tempfile::TempDir,
    /// Whether Trove is told of the configuration, or left to find it.
    is_named: bool,
    /// More variables of the environment.
    variables: Vec<(&'static str, &'static str)>,
}

impl Folder {
    pub(crate) fn empty() -> Arc<Folder> {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        Arc::new(Folder { dir, is_named: true, variables: Vec::new() })
    }

    /// A project: a Trove that is started in it finds its configuration.
    pub(crate) fn project(config: &str) -> Arc<Folder> {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let folder = Folder { dir, is_named: false, variables: Vec::new() };
        folder.write(config);
        Arc::new(folder)
    }

    pub(crate) fn with(config: &str) -> Arc<Folder> {
        let folder = Folder::empty();
        folder.write(config);
        folder
    }

    /// A folder with variables in Trove's environment.
    pub(crate) fn with_variables(
        config: &str,
        variables: &[(&'static str, &'static str)],
    ) -> Arc<Folder> {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let folder = Folder { dir, is_named: true, variables: variables.to_vec() };
        folder.write(config);
        Arc::new(folder)
    }

    /// Replaces the configuration as an editor does: a new file in place of the old.
    pub(crate) fn write(&self, config: &str) {
        let draft = self.dir.path().join("draft.toml");
        std::fs::write(&draft, config).expect("the configuration can be written");
        std::fs::rename(draft, self.config()).expect("the configuration can be replaced");
    }

    /// Writes a file below the folder.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        let folder = path.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(folder).expect("the folder can be made");
        std::fs::write(path, text).expect("the file can be written");
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.dir.path().join("trove.toml")
    }

    /// The user's home folder.
    pub(crate) fn user(&self) -> PathBuf {
        self.dir.path().join("user")
    }

    /// The value of TROVE_HOME.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Trove with this folder as its own and its working directory.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trove"));
        command
            .current_dir(self.dir.path())
            .env("TROVE_HOME", self.home())
            // Clients of the person who runs the tests are none of theirs.
            .env("HOME", self.user())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("CODEX_HOME")
            .env_remove("TROVE_CONFIG")
            .envs(self.variables.iter().copied())
            .kill_on_drop(true);
        if self.is_named && self.config().is_file() {
            // Named, and so the user's own: a file that was only found would wait for approval.
            command.env("TROVE_CONFIG", self.config());
        }
        command
    }

    /// Runs one command to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.command();
        command.args(args).stdin(Stdio::null()).process_group(0);
        let output = within(LIMIT, "the command to end", command.output()).await;
        let output = output.expect("trove can be started");
        Ran {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The result of one command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("the command prints UTF-8")
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("no JSON: {e}: {self:?}"))
    }
}

/// A running Trove with both doors open and no token asked for.
pub(crate) struct Trove {
    pub(crate) folder: Arc<Folder>,
    /// Where it serves HTTP.
    pub(crate) url: String,
    /// Its log, line by line.
    pub(crate) log: Arc<Transcript>,
    child: Child,
    pipe: Arc<Pipe>,
}

impl Trove {
    pub(crate) async fn start(config: &str) -> Trove {
        Trove::start_in(&Folder::with(config)).await
    }

    pub(crate) async fn start_in(folder: &Arc<Folder>) -> Trove {
        Trove::start_with(folder, &["serve", "--stdio", "--http", "127.0.0.1:0", "--no-auth"]).await
    }

    /// Starts Trove with other arguments, one of which must open the HTTP door.
    pub(crate) async fn start_with(folder: &Arc<Folder>, args: &[&str]) -> Trove {
        Trove::start_as(folder, args, &[]).await
    }

    /// Starts it with variables in its environment.
    pub(crate) async fn start_as(
        folder: &Arc<Folder>,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Trove {
        let mut command = folder.command();
        command.envs(env.iter().copied()).args(args);
        Trove::started(folder, command).await
    }

    /// Starts it by way of another program, which is given `first` and then Trove's command.
    pub(crate) async fn start_behind(
        folder: &Arc<Folder>,
        before: &[&std::ffi::OsStr],
        first: &std::ffi::OsStr,
        args: &[&str],
    ) -> Trove {
        let own = folder.command();
        let mut command = Command::new(before[0]);
        command.args(&before[1..]).arg(first).arg(own.as_std().get_program()).args(args);
        command.current_dir(folder.path()).kill_on_drop(true);
        for (name, value) in own.as_std().get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Trove::started(folder, command).await
    }

    async fn started(folder: &Arc<Folder>, mut command: Command) -> Trove {
        command
            .args(["--log-format", "json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn().expect("trove can be started");
        let log = Transcript::of(child.stderr.take().expect("stderr is a pipe"));
        let is_ready = |line: &Value| line["message"] == "ready";
        let (_, ready) = log.first(0, is_ready, "trove to be ready").await;
        let url = ready.json["http"].as_str().expect("the ready line names the address").to_owned();
        let stdin = child.stdin.take().expect("stdin is a pipe");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let pipe = Arc::new(Pipe::new(stdin, Transcript::of(stdout)));
        Trove { folder: folder.clone(), url, log, child, pipe }
    }

    /// A client of this kind. The two on stdio share one pair of streams.
    pub(crate) async fn client(&self, kind: Kind) -> Client {
        Client::connect(kind, &self.pipe, &self.url).await
    }

    /// A legacy client of an older version.
    pub(crate) async fn older_client(&self, door: client::Door, version: &str) -> Client {
        let kind = Kind { door, era: client::Era::Legacy };
        Client::connect_as(kind, version, &self.pipe, &self.url).await
    }

    /// A client that calls itself something.
    pub(crate) async fn client_named(&self, name: &str, kind: Kind) -> Client {
        let told = (name, serde_json::json!({}));
        Client::introduce(told, kind, "2025-11-25", &self.pipe, &self.url).await
    }

    /// A client that can be asked for something.
    pub(crate) async fn client_with(&self, capabilities: Value, kind: Kind) -> Client {
        Client::introduce(("it", capabilities), kind, "2025-11-25", &self.pipe, &self.url).await
    }

    /// A client for tests that do not care which.
    pub(crate) async fn any_client(&self) -> Client {
        self.client(Kind::HTTP_MODERN).await
    }

    /// Its lines on stdout.
    pub(crate) fn stdout(&self) -> &Arc<Transcript> {
        self.pipe.transcript()
    }

    /// Writes a line to its stdin that no client would.
    pub(crate) async fn write(&self, line: &str) {
        self.pipe.write(line).await;
    }

    pub(crate) fn pid(&self) -> Pid {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        id.and_then(Pid::from_raw).expect("trove is running")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(self.pid(), signal).expect("trove can be signalled");
    }

    /// Says that the client on stdio has gone.
    pub(crate) async fn close_stdin(&self) {
        self.pipe.close().await;
    }

    /// Waits for the program to end by itself.
    pub(crate) async fn ended(&mut self) -> std::process::ExitStatus {
        within(LIMIT, "trove to end", self.child.wait()).await.expect("trove can be awaited")
    }

    /// The object of `info://health`.
    pub(crate) async fn health(&self) -> Value {
        let text = self.any_client().await.text("info://health").await;
        serde_json::from_str(&text).expect("info://health is JSON")
    }

    /// The entry of one source in `info://health`, once that is so.
    pub(crate) async fn source(&self, id: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + LIMIT;
        loop {
            let health = self.health().await;
            let sources = health["sources"].as_array().expect("health lists the sources");
            let found = sources.iter().find(|source| source["id"] == id);
            if let Some(source) = found.filter(|source| is_so(source)) {
                return source.clone();
            }
            let now = format!("{found:?}");
            assert!(Instant::now() < deadline, "{id} is not as awaited: {now}");
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Returns once each source answers and has been listed.
    pub(crate) async fn ready(&self, ids: &[&str]) {
        for id in ids {
            self.source(id, is_ready).await;
        }
    }

    /// Trove with these toys, once all of them are there.
    pub(crate) async fn with(toys: &[toy::Toy]) -> Trove {
        let trove = Trove::start(&toy::config(toys)).await;
        let ids: Vec<&str> = toys.iter().map(toy::Toy::id).collect();
        trove.ready(&ids).await;
        trove
    }
}

/// Whether a source answers and what is listed of it is what it has.
pub(crate) fn is_ready(source: &Value) -> bool {
    source["state"] == "ready" && source["stale_seconds"].is_null()
}

impl Drop for Trove {
    fn drop(&mut self) {
        // Without mercy: its guardian then ends its children.
        end(&mut self.child);
    }
}

/// Kills a program and waits until it is gone.
fn end(child: &mut Child) {
    let _ = child.start_kill();
    let deadline = Instant::now() + Duration::from_secs(5);
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits for something, but not for ever.
pub(crate) async fn within<T>(limit: Duration, what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(limit, work).await;
    done.unwrap_or_else(|_| panic!("waited {limit:?} for {what}"))
}

/// Returns once this is so.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so().await {
        assert!(Instant::now() < deadline, "waited {LIMIT:?} for {what}");
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// Whether a URI or a template is one of Trove's own.
pub(crate) fn is_own(uri: &str) -> bool {
    ["info://", "guide://", "config://", "auth://"].iter().any(|scheme| uri.starts_with(scheme))
}
