//! Trove on a terminal: a pseudo-terminal that Python opens, because only a terminal is
//! asked questions and shown progress.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use super::{Folder, LIMIT, LOOK_INTERVAL, within};

/// Runs a program on a terminal, with what we write as what is typed.
const SCRIPT: &str = r#"
import os, pty, select, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
inputs = [terminal, 0]
while True:
    ready, _, _ = select.select(inputs, [], [])
    if terminal in ready:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        os.write(1, data)
    if 0 in ready:
        data = os.read(0, 65536)
        if data:
            os.write(terminal, data)
        else:
            inputs.remove(0)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"#;

/// A program on a terminal.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
}

impl Terminal {
    pub(crate) fn start(folder: &Folder, args: &[&str]) -> Terminal {
        let trove = folder.command();
        let mut command = Command::new("python3");
        command.args(["-c", SCRIPT]).arg(trove.as_std().get_program()).args(args);
        for (name, value) in trove.as_std().get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(folder.path()).env("TERM", "xterm").env_remove("NO_COLOR");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.kill_on_drop(true).spawn().expect("python3 can be started");
        let keys = child.stdin.take().expect("stdin is a pipe");
        let mut output = child.stdout.take().expect("stdout is a pipe");
        let screen = Arc::new(Mutex::new(String::new()));
        let own = screen.clone();
        tokio::spawn(async move {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes).await {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                own.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
            }
        });
        Terminal { child, keys, screen }
    }

    /// All that was written on it.
    pub(crate) fn screen(&self) -> String {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until something stands there, and gives all that does.
    pub(crate) async fn shows(&self, text: &str) -> String {
        let deadline = Instant::now() + LIMIT;
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(Instant::now() < deadline, "{text:?} does not appear in {screen}");
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    pub(crate) async fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).await.expect("the terminal takes keys");
        self.keys.flush().await.expect("the terminal takes keys");
    }

    /// Waits for the program to end; gives its exit code.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let status = within(LIMIT, "the program to end", self.child.wait()).await;
        status.expect("the program can be awaited").code()
    }
}
