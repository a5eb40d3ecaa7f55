//! A client on the stdin and stdout of a child: one message a line, any number in flight.

use anyhow::bail;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::message::{self, Era};

/// Room for a whole pipe of output at a time.
const BUFFER: usize = 64 * 1024;

pub(super) struct Pipe {
    era: Era,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
    last_id: u64,
}

impl Pipe {
    /// Takes the streams of a child.
    pub(super) fn to(child: &mut Child, era: Era) -> anyhow::Result<Pipe> {
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the child has no pipes");
        };
        let stdout = BufReader::with_capacity(BUFFER, stdout);
        Ok(Pipe { era, stdin, stdout, line: Vec::new(), last_id: 0 })
    }

    /// Sends a request and gives its id.
    pub(super) async fn send(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        self.last_id += 1;
        let mut text = message::request(self.era, self.last_id, method, params);
        text.push('\n');
        self.stdin.write_all(text.as_bytes()).await?;
        Ok(self.last_id)
    }

    pub(super) async fn notify(&mut self, method: &str) -> anyhow::Result<()> {
        let text = message::notification(method) + "\n";
        self.stdin.write_all(text.as_bytes()).await?;
        Ok(())
    }

    /// Waits for a notification of this method.
    pub(super) async fn hear(&mut self, method: &str) -> anyhow::Result<()> {
        let member = format!("\"method\":\"{method}\"");
        loop {
            self.line.clear();
            if self.stdout.read_until(b'\n', &mut self.line).await? == 0 {
                bail!("the server has gone");
            }
            if String::from_utf8_lossy(&self.line).contains(&member) {
                return Ok(());
            }
        }
    }

    /// The next answer, to whichever request.
    pub(super) async fn receive(&mut self) -> anyhow::Result<(u64, &[u8])> {
        loop {
            self.line.clear();
            if self.stdout.read_until(b'\n', &mut self.line).await? == 0 {
                bail!("the server has gone");
            }
            if let Some(id) = message::id(&self.line) {
                return Ok((id, &self.line));
            }
        }
    }
}
