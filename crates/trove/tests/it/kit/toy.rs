//! Toy servers: how they are configured, and those that Trove does not start itself.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::process::{Child, Command};

use super::client::{Client, Door, Era, Kind, Pipe};
use super::transcript::Transcript;
use crate::peers::processes::sibling_program;

/// A toy as Trove is to be told of it.
#[derive(Debug, Clone)]
pub(crate) struct Toy {
    id: String,
    reach: Reach,
    settings: String,
}

#[derive(Debug, Clone)]
enum Reach {
    Stdio(Vec<String>),
    Url(String),
}

/// A toy that Trove starts; its name is the id.
pub(crate) fn toy(id: &str, args: &str) -> Toy {
    let args = ["--name", id].into_iter().chain(args.split_whitespace());
    let reach = Reach::Stdio(args.map(str::to_owned).collect());
    Toy { id: id.to_owned(), reach, settings: String::new() }
}

/// A toy whose tools and prompts are shown too.
pub(crate) fn whole(id: &str, args: &str) -> Toy {
    toy(id, args).set("expose = \"all\"")
}

impl Toy {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Adds a line to its entry.
    pub(crate) fn set(mut self, line: &str) -> Toy {
        self.settings.push_str(line);
        self.settings.push('\n');
        self
    }

    /// Starts it with these arguments too, blanks and all.
    pub(crate) fn with_args(mut self, more: &[&str]) -> Toy {
        if let Reach::Stdio(args) = &mut self.reach {
            // The last of a repeated option would be refused.
            if more[0] == "--name" {
                args.drain(..2);
            }
            args.extend(more.iter().map(|arg| (*arg).to_owned()));
        }
        self
    }

    /// Puts it behind a URL.
    pub(crate) fn with_url(mut self, url: &str) -> Toy {
        self.reach = Reach::Url(url.to_owned());
        self
    }

    fn toml(&self) -> String {
        let reach = match &self.reach {
            // JSON and TOML spell strings alike.
            Reach::Stdio(args) => format!("command = {:?}\nargs = {}", program(), json!(args)),
            Reach::Url(url) if url.ends_with("/sse") => {
                format!("url = {url:?}\ntransport = \"sse\"")
            }
            Reach::Url(url) => format!("url = {url:?}"),
        };
        // The indexer reads nothing while a test counts reads.
        let index = if self.settings.contains("index = ") { "" } else { "index = \"metadata\"" };
        format!("[servers.{}]\n{reach}\n{}{index}\n", self.id, self.settings)
    }
}

/// The file of a client that has these toys.
pub(crate) fn client_file(toys: &[Toy]) -> String {
    let entry = |toy: &Toy| match &toy.reach {
        Reach::Stdio(args) => json!({ "command": program(), "args": args }),
        Reach::Url(url) => json!({ "url": url }),
    };
    let servers = toys.iter().map(|toy| (toy.id.clone(), entry(toy)));
    json!({ "mcpServers": servers.collect::<serde_json::Map<_, _>>() }).to_string()
}

/// A configuration with these toys.
pub(crate) fn config(toys: &[Toy]) -> String {
    toys.iter().map(Toy::toml).collect::<Vec<_>>().join("\n")
}

/// Where the toy lies.
pub(crate) fn program() -> PathBuf {
    sibling_program("toymcp")
}

/// A toy that runs by itself behind a URL.
pub(crate) struct Remote {
    child: Child,
    address: SocketAddr,
    flag: &'static str,
    args: String,
    id: String,
}

impl Remote {
    /// Streamable HTTP.
    pub(crate) async fn http(id: &str, args: &str) -> Remote {
        Remote::start(id, "--http", args, "127.0.0.1:0").await
    }

    /// The older HTTP+SSE transport.
    pub(crate) async fn sse(id: &str, args: &str) -> Remote {
        Remote::start(id, "--sse", args, "127.0.0.1:0").await
    }

    async fn start(id: &str, flag: &'static str, args: &str, address: &str) -> Remote {
        let mut command = Command::new(program());
        command
            .args([flag, address, "--name", id])
            .args(args.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("the toy can be started");
        let log = Transcript::of(child.stderr.take().expect("stderr is a pipe"));
        let (_, line) = log.first(0, |_| true, "the toy to listen").await;
        let address = line.text.strip_prefix("listening ").and_then(|text| text.parse().ok());
        let address = address.unwrap_or_else(|| panic!("the toy says {}", line.text));
        Remote { child, address, flag, args: args.to_owned(), id: id.to_owned() }
    }

    /// Ends it and starts it anew at the same address.
    pub(crate) async fn restart(&mut self) {
        self.stop();
        self.start_again().await;
    }

    pub(crate) fn stop(&mut self) {
        super::end(&mut self.child);
    }

    pub(crate) async fn start_again(&mut self) {
        let address = self.address.to_string();
        *self = Remote::start(&self.id.clone(), self.flag, &self.args.clone(), &address).await;
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        let path = if self.flag == "--sse" { "sse" } else { "mcp" };
        format!("http://{}/{path}", self.address)
    }

    pub(crate) fn toy(&self) -> Toy {
        self.toy_at(self.address)
    }

    /// The toy reached at another address, as through a proxy.
    pub(crate) fn toy_at(&self, address: SocketAddr) -> Toy {
        let path = if self.flag == "--sse" { "sse" } else { "mcp" };
        let reach = Reach::Url(format!("http://{address}/{path}"));
        Toy { id: self.id.clone(), reach, settings: String::new() }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A toy on stdio with no gateway before it, and its client, to compare Trove with.
pub(crate) struct Straight {
    pub(crate) client: Client,
    _child: Child,
}

impl Straight {
    pub(crate) async fn start(id: &str, args: &str, era: Era) -> Straight {
        let mut command = Command::new(program());
        command
            .args(["--name", id])
            .args(args.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("the toy can be started");
        let stdin = child.stdin.take().expect("stdin is a pipe");
        let stdout = Transcript::of(child.stdout.take().expect("stdout is a pipe"));
        let pipe = Arc::new(Pipe::new(stdin, stdout));
        let client = Client::connect(Kind { door: Door::Stdio, era }, &pipe, "").await;
        Straight { client, _child: child }
    }
}

/// The part after `NAME|URI|` in a toy's text.
pub(crate) fn body(text: &str) -> &str {
    text.splitn(3, '|').nth(2).expect("a toy's text has three parts")
}

/// How often a toy received a method, from the text of its `requests`.
pub(crate) fn count(requests: &str, method: &str) -> u64 {
    let counts: Value = serde_json::from_str(body(requests)).expect("the counts are JSON");
    counts[method].as_u64().unwrap_or(0)
}
