//! Children: started without a shell, with a small environment, ended with all they
//! started themselves. Nowhere else is a process made.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::Mutex;
use rustix::{
    pipe::fcntl_setpipe_size,
    process::{Pid, Signal, kill_process_group},
};
use tokio::{
    io::AsyncRead,
    process::{ChildStdin, ChildStdout, Command},
    runtime::Handle,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use trove_core::SourceId;

use super::{
    guardian::{MARKER, end_marked},
    interpreter::{missing_interpreter, places},
    meter::{CutOff, Meter},
    secrets::{Secrets, without_first_word, without_last_word},
    source::Shared,
};
use crate::{
    bounds::{CHILD_GRACE, MAX_STDERR_LINE, MAX_STDERR_LINES},
    lines::{Line, Lines},
};

/// The variables that a child inherits from our environment. Its entry declares all others.
pub const ENV_ALLOW_LIST: [&str; 17] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "NIX_SSL_CERT_FILE",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// The size of the pipe from a child.
const PIPE_BYTES: usize = 256 * 1024;
/// How long a child may take to end by itself once its stdin is closed.
const POLITE_WAIT: Duration = Duration::from_millis(300);

/// A child to be started.
pub(crate) struct Spawn {
    pub(crate) source: SourceId,
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) stderr: Arc<StderrRing>,
    pub(crate) shared: Arc<Shared>,
}

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    #[error("`{0}` is not on the PATH; install it, or give its full path in `command`")]
    NotFound(String),
    #[error("there is no program {0}; install it, or correct `command`")]
    NoSuchProgram(String),
    #[error(
        "`{command}` is run by {interpreter:?}, which is not there; install that, or correct the first line of the file"
    )]
    NoInterpreter { command: String, interpreter: String },
    #[error("`{command}` may not be run: {error}; check its permissions")]
    Denied { command: String, error: io::Error },
    #[error("the working directory {0} does not exist; correct `cwd`")]
    NoSuchDirectory(String),
    #[error("`{command}` could not be started: {error}")]
    Other { command: String, error: io::Error },
}

impl Spawn {
    /// Starts the child in a process group of its own.
    pub(crate) fn start(self) -> Result<(Process, ChildStdin, ChildStdout), SpawnError> {
        let mut command = Command::new(&self.command);
        command
            .args(&self.args)
            .env_clear()
            .envs(&self.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mark = self.shared.guardian().map(|guardian| guardian.next_mark());
        if let Some(mark) = &mark {
            command.env(MARKER, mark);
        }
        if let Some(cwd) = &self.cwd {
            if !cwd.is_dir() {
                return Err(SpawnError::NoSuchDirectory(cwd.display().to_string()));
            }
            command.current_dir(cwd);
        }
        let mut child = command.spawn().map_err(|error| self.explain(error))?;
        debug!(source = %self.source, pid = child.id(), "child started");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(self.explain(io::Error::other("no pipes")));
        };
        // A larger pipe lets a long message through in a few turns; a system that grants
        // none is only slower.
        let _ = fcntl_setpipe_size(&stdout, PIPE_BYTES);
        let pid = child.id();
        let group = pid.and_then(|id| Pid::from_raw(id.cast_signed()));
        let drain = child.stderr.take().map(|stderr| tokio::spawn(self.stderr.drain(stderr)));
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        let ending = Ending::default();
        let known = ending.clone();
        tokio::spawn(async move {
            // Collects the child whenever it ends; the guard tells all listeners.
            if let Ok(status) = child.wait().await {
                known.note(status.to_string());
            }
            drop(end);
        });
        Ok((Process { pid, group, mark, ended, ending, drain }, stdin, stdout))
    }

    fn explain(&self, error: io::Error) -> SpawnError {
        let command = self.command.clone();
        match error.kind() {
            io::ErrorKind::NotFound => match self.missing_interpreter() {
                Some(interpreter) => SpawnError::NoInterpreter { command, interpreter },
                None if command.contains('/') => SpawnError::NoSuchProgram(command),
                None => SpawnError::NotFound(command),
            },
            io::ErrorKind::PermissionDenied => SpawnError::Denied { command, error },
            _ => SpawnError::Other { command, error },
        }
    }

    fn missing_interpreter(&self) -> Option<String> {
        let here = self.cwd.as_deref().unwrap_or(Path::new("."));
        let path = self.env.get("PATH").map(String::as_str);
        places(&self.command, here, path).iter().find_map(|place| missing_interpreter(place))
    }
}

/// How a child ended, once it has: by itself, or because we wanted it to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ending(Arc<OnceLock<String>>);

impl Ending {
    fn note(&self, how: String) {
        // The first word counts.
        let _ = self.0.set(how);
    }

    /// Its exit code or the signal, if it ended by itself.
    pub(crate) fn of_itself(&self) -> Option<&str> {
        self.0.get().map(String::as_str).filter(|how| !how.is_empty())
    }
}

/// A running child.
pub(crate) struct Process {
    pid: Option<u32>,
    group: Option<Pid>,
    /// By which those are known that it started and that left its group.
    mark: Option<String>,
    ended: CancellationToken,
    ending: Ending,
    drain: Option<JoinHandle<()>>,
}

impl Process {
    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Cancelled when the child has ended, even if processes of its own live on.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    pub(crate) fn ending(&self) -> Ending {
        self.ending.clone()
    }

    /// Ends the child and everything it started: politely, then not.
    pub(crate) async fn end(mut self) {
        let has_ended = tokio::time::timeout(POLITE_WAIT, self.ended.cancelled()).await.is_ok();
        if !has_ended {
            self.ending.note(String::new());
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(CHILD_GRACE, self.ended.cancelled()).await;
        }
        // Also after a willing end: a wrapper such as npx may have left its own child.
        self.signal(Signal::KILL);
        if let Some(mark) = self.mark.take() {
            let _ = tokio::task::spawn_blocking(move || end_marked(&mark)).await;
        }
        let _ = tokio::time::timeout(CHILD_GRACE, self.ended.cancelled()).await;
        // Its last words tell why it ended; only a grandchild can keep them from ending too.
        if let Some(mut drain) = self.drain.take()
            && tokio::time::timeout(POLITE_WAIT, &mut drain).await.is_err()
        {
            drain.abort();
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // A group that is gone already is what we want.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A caller that gives up in the middle of connecting leaves no process behind.
        self.signal(Signal::KILL);
        if let (Some(mark), Ok(runtime)) = (self.mark.take(), Handle::try_current()) {
            runtime.spawn_blocking(move || end_marked(&mark));
        }
    }
}

/// The last lines a child wrote to stderr.
#[derive(Debug)]
pub(crate) struct StderrRing {
    lines: Mutex<VecDeque<String>>,
    secrets: Arc<Secrets>,
    meter: Arc<Meter>,
}

impl StderrRing {
    /// A ring that keeps no secret.
    pub(crate) fn without(secrets: Arc<Secrets>, meter: Arc<Meter>) -> StderrRing {
        StderrRing { lines: Mutex::default(), secrets, meter }
    }

    /// The last lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().iter().cloned().collect()
    }

    /// Reads to the end, keeping the last lines. A child within its budget never blocks.
    pub(crate) fn drain(
        self: &Arc<Self>,
        stderr: impl AsyncRead + Unpin + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (ring, mut lines) = (self.clone(), Lines::new(stderr, MAX_STDERR_LINE));
        async move {
            while let Some(line) = lines.next().await {
                let passed_over = lines.take_passed_over();
                let bytes = ring.take(line) + passed_over.blank + passed_over.excess;
                if ring.meter.stderr(bytes).await == Err(CutOff) {
                    return;
                }
            }
        }
    }

    /// Keeps a line; says how many bytes it has.
    fn take(&self, line: Line) -> usize {
        match line {
            Line::None => 0,
            Line::Text(text) | Line::Last(text) => {
                self.push(&text);
                text.len()
            }
            Line::TooLong { head, tail } => {
                let (head, tail) = (String::from_utf8_lossy(&head), String::from_utf8_lossy(&tail));
                let (head, tail) = (without_last_word(&head), without_first_word(&tail));
                self.push(format!("{head} ... {tail}").as_bytes());
                0
            }
        }
    }

    fn push(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        let text = self.secrets.hide(&text).into_owned();
        let mut lines = self.lines.lock();
        if lines.len() == MAX_STDERR_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}
