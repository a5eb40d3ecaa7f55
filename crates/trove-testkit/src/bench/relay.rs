//! A relay from HTTP to a server over stdio that carries messages and does nothing else: no
//! catalogue, no rules, no checks. Any way between the two costs as much on the machine.
//!
//! It understands what the measuring client here writes, and one thread does it all.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::process::{ChildStdin, Command, Stdio};
use std::rc::Rc;

use anyhow::Context as _;
use clap::Args;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

const BUFFER: usize = 64 * 1024;
const ID: &[u8] = b"\"id\":";
const ACCEPTED: &[u8] = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Listen here
    #[arg(long, value_name = "ADDR")]
    http: SocketAddr,
    /// The command that starts the server
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

struct Relay {
    server: ChildStdin,
    last: Cell<u64>,
    /// By the id that the server knows.
    waiting: RefCell<HashMap<u64, Waiting>>,
}

/// The task that waits for an answer, and the id it has there.
struct Waiting {
    client: Rc<TcpStream>,
    id: Vec<u8>,
}

/// Carries until the server ends.
pub(super) async fn serve(options: &Options) -> anyhow::Result<()> {
    let (program, arguments) = options.command.split_first().context("no command")?;
    let mut server = Command::new(program);
    let mut server = server.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let answers = OwnedFd::from(server.stdout.take().context("no stdout")?);
    let answers = pipe::Receiver::from_owned_fd(answers)?;
    let relay = Rc::new(Relay {
        server: server.stdin.take().context("no stdin")?,
        last: Cell::new(0),
        waiting: RefCell::default(),
    });
    let listener = TcpListener::bind(options.http).await?;
    LocalSet::new()
        .run_until(async {
            let carried = spawn_local(Rc::clone(&relay).answers(answers));
            spawn_local(async move {
                while let Ok((client, _)) = listener.accept().await {
                    spawn_local(Rc::clone(&relay).requests(client));
                }
            });
            carried.await?
        })
        .await
}

impl Relay {
    /// Carries what one client asks, until it goes.
    async fn requests(self: Rc<Self>, client: TcpStream) -> anyhow::Result<()> {
        client.set_nodelay(true)?;
        let client = Rc::new(client);
        let mut held = Vec::with_capacity(BUFFER);
        loop {
            client.readable().await?;
            match client.try_read_buf(&mut held) {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                read => read?,
            };
            while let Some(body) = whole(&held) {
                self.ask(&held[body.clone()], &client).await?;
                held.drain(..body.end);
            }
        }
    }

    /// Passes one message on, under an id that no other client uses.
    async fn ask(&self, message: &[u8], client: &Rc<TcpStream>) -> anyhow::Result<()> {
        let Some(id) = id_in(message) else {
            self.tell(&[message, b"\n"])?;
            return write(client, &[ACCEPTED]).await;
        };
        self.last.set(self.last.get() + 1);
        let own = self.last.get();
        let waiting = Waiting { client: Rc::clone(client), id: message[id.clone()].to_vec() };
        self.waiting.borrow_mut().insert(own, waiting);
        self.tell(&[&message[..id.start], own.to_string().as_bytes(), &message[id.end..], b"\n"])
    }

    /// Requests are short and few, so the pipe takes them at once.
    fn tell(&self, parts: &[&[u8]]) -> anyhow::Result<()> {
        Ok((&self.server).write_all(&parts.concat())?)
    }

    /// Carries what the server says, until it ends.
    async fn answers(self: Rc<Self>, mut server: pipe::Receiver) -> anyhow::Result<()> {
        let mut held = Vec::with_capacity(BUFFER);
        loop {
            let known = held.len();
            if server.read_buf(&mut held).await? == 0 {
                return Ok(());
            }
            let mut start = 0;
            while let Some(end) = line_end(&held, start.max(known)) {
                self.answer(&held[start..end]).await?;
                start = end + 1;
            }
            held.drain(..start);
        }
    }

    async fn answer(&self, message: &[u8]) -> anyhow::Result<()> {
        let Some(id) = id_in(message) else { return Ok(()) };
        let own = std::str::from_utf8(&message[id.clone()])?.trim().parse()?;
        let waiting = self.waiting.borrow_mut().remove(&own);
        let Some(Waiting { client, id: theirs }) = waiting else { return Ok(()) };
        let (before, after) = (&message[..id.start], &message[id.end..]);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            before.len() + theirs.len() + after.len()
        );
        write(&client, &[head.as_bytes(), before, &theirs, after]).await
    }
}

/// Where the body of a request stands, once it is there.
fn whole(held: &[u8]) -> Option<Range<usize>> {
    let head = held.windows(4).position(|window| window == b"\r\n\r\n")?;
    let lines = std::str::from_utf8(&held[..head]).ok()?.lines();
    let length = lines.filter_map(|line| line.strip_prefix("Content-Length: ")).next()?;
    let end = head + 4 + length.parse::<usize>().ok()?;
    (end <= held.len()).then_some(head + 4..end)
}

/// Where the id of a message stands, if it has one.
fn id_in(message: &[u8]) -> Option<Range<usize>> {
    let start = message.windows(ID.len()).position(|window| window == ID)? + ID.len();
    let length = message[start..].iter().position(|byte| b",}".contains(byte))?;
    Some(start..start + length)
}

fn line_end(text: &[u8], from: usize) -> Option<usize> {
    text[from..].iter().position(|&byte| byte == b'\n').map(|at| from + at)
}

/// Writes all parts, in one call where the socket takes them.
async fn write(client: &TcpStream, parts: &[&[u8]]) -> anyhow::Result<()> {
    let (all, mut done) = (parts.concat(), 0);
    while done < all.len() {
        match client.try_write(&all[done..]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => client.writable().await?,
            written => done += written?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_once_its_body_is_there() {
        let request = b"POST / HTTP/1.1\r\nContent-Length: 8\r\n\r\n{\"id\":7}POST";
        assert_eq!(whole(request), Some(38..46));
        assert_eq!(whole(&request[..45]), None);
        assert_eq!(id_in(&request[38..46]), Some(6..7));
        assert_eq!(id_in(b"{\"method\":\"notifications/x\"}"), None);
    }
}
