//! The server that is measured: how to start it, reach it and stop it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::client::Client;
use super::http::Http;
use super::message::Era;
use super::pipe::Pipe;

/// How long a server may take to answer for the first time, or to list everything.
const MAX_START: Duration = Duration::from_secs(180);
/// How often a server that does not listen yet is tried again.
const RETRY: Duration = Duration::from_millis(1);
/// How often a list that is not whole yet is asked for again.
const LOOK: Duration = Duration::from_millis(2);
/// How long a server may take to end once asked.
const MAX_STOP: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Args)]
pub(super) struct Target {
    /// Where the server listens once it runs; without this it is spoken to over stdio
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Speak the protocol in which each request stands alone
    #[arg(long)]
    modern: bool,
    /// How many resources the server lists when it is ready
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) expect: usize,
    /// The command that starts the server
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// A server that has given its first answer.
pub(super) struct Running {
    child: Child,
    pub(super) client: Client,
    pub(super) spawned: Instant,
    /// From the start of the process to the first answer.
    pub(super) first_answer: Duration,
}

impl Target {
    pub(super) fn era(&self) -> Era {
        if self.modern { Era::Modern } else { Era::Legacy }
    }

    /// Starts the server and waits for its first answer.
    pub(super) async fn start(&self) -> anyhow::Result<Running> {
        let spawned = Instant::now();
        let mut child = self.spawn()?;
        let greeted = tokio::time::timeout(MAX_START, self.greet(&mut child)).await;
        let (mut client, first_answer) = greeted.context("no answer to the first request")??;
        client.confirm(self.era()).await?;
        Ok(Running { child, client, spawned, first_answer: first_answer - spawned })
    }

    /// One more client of a server over HTTP.
    pub(super) async fn connect(&self) -> anyhow::Result<Http> {
        let url = self.url.as_deref().context("only a server over HTTP has several clients")?;
        let mut client = Client::Http(Http::connect(url, self.era()).await?);
        client.greet(self.era()).await?;
        client.confirm(self.era()).await?;
        match client {
            Client::Http(http) => Ok(http),
            Client::Pipe(_) => bail!("a client over HTTP is no pipe"),
        }
    }

    /// A client of a server over HTTP that has not said anything yet, or has greeted where
    /// its era wants that.
    pub(super) async fn visit(&self, era: Era) -> anyhow::Result<Http> {
        let url = self.url.as_deref().context("only a server over HTTP has several clients")?;
        let http = Http::connect(url, era).await?;
        if era == Era::Modern {
            return Ok(http);
        }
        let mut client = Client::Http(http);
        client.greet(era).await?;
        client.confirm(era).await?;
        match client {
            Client::Http(http) => Ok(http),
            Client::Pipe(_) => bail!("a client over HTTP is no pipe"),
        }
    }

    /// A connection on which half a request is written.
    pub(super) async fn dial(&self) -> anyhow::Result<TcpStream> {
        let url = self.url.as_deref().context("only a server over HTTP can be dialled")?;
        let host = url.trim_start_matches("http://").split('/').next().unwrap_or_default();
        let mut stream = TcpStream::connect(host).await?;
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le").await?;
        Ok(stream)
    }

    fn spawn(&self) -> anyhow::Result<Child> {
        let (program, arguments) = self.command.split_first().context("no command")?;
        let mut command = Command::new(program);
        command.args(arguments).kill_on_drop(true);
        if self.url.is_none() {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        } else {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        }
        command.spawn().with_context(|| format!("cannot start {program}"))
    }

    async fn greet(&self, child: &mut Child) -> anyhow::Result<(Client, Instant)> {
        let Some(url) = &self.url else {
            let mut client = Client::Pipe(Pipe::to(child, self.era())?);
            client.greet(self.era()).await?;
            return Ok((client, Instant::now()));
        };
        let http = loop {
            match Http::connect(url, self.era()).await {
                Ok(http) => break http,
                Err(error) if child.try_wait()?.is_some() => return Err(error),
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        };
        let mut client = Client::Http(http);
        client.greet(self.era()).await?;
        Ok((client, Instant::now()))
    }
}

impl Running {
    pub(super) fn id(&self) -> anyhow::Result<u32> {
        self.child.id().context("the server has ended")
    }

    /// Lists until everything is there; gives the moment and the bytes of that list.
    pub(super) async fn list_all(&mut self, expect: usize) -> anyhow::Result<(Instant, usize)> {
        let deadline = Instant::now() + MAX_START;
        loop {
            let list = self.client.list().await?;
            if list.entries >= expect {
                return Ok((Instant::now(), list.bytes));
            }
            if Instant::now() > deadline {
                bail!("{} resources where {expect} were due", list.entries);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks the server to end, and makes it if it does not.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        signal("TERM", self.id()?).await?;
        if tokio::time::timeout(MAX_STOP, self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }
}

/// Sends a signal by the name that POSIX gives it.
pub(super) async fn signal(name: &str, id: u32) -> anyhow::Result<()> {
    let script = format!("kill -s {name} {id}");
    let status = Command::new("sh").args(["-c", &script]).status().await?;
    if !status.success() {
        bail!("{script}: {status}");
    }
    Ok(())
}
