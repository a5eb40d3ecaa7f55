//! A client over Streamable HTTP: one connection, one request in flight.
//!
//! It reads what the servers measured here write: a body with its length or in chunks,
//! as JSON or as one event. It is written by hand because each microsecond spent here is
//! taken from the server on the other core.

use anyhow::{Context as _, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::message::{self, Era, LEGACY, MODERN};

const BUFFER: usize = 64 * 1024;

pub(super) struct Http {
    era: Era,
    host: String,
    path: String,
    session: Option<String>,
    stream: BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
    last_id: u64,
}

/// The head of a response.
#[derive(Default)]
struct Head {
    status: u16,
    length: Option<usize>,
    is_chunked: bool,
    is_event_stream: bool,
}

impl Http {
    /// Connects to `http://HOST/PATH`.
    pub(super) async fn connect(url: &str, era: Era) -> anyhow::Result<Http> {
        let place = url.strip_prefix("http://").context("the URL must begin with http://")?;
        let (host, path) = place.split_once('/').unwrap_or((place, ""));
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        Ok(Http {
            era,
            host: host.to_owned(),
            path: format!("/{path}"),
            session: None,
            stream: BufReader::with_capacity(BUFFER, stream),
            line: String::new(),
            body: Vec::new(),
            last_id: 0,
        })
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> anyhow::Result<&[u8]> {
        self.last_id += 1;
        let name = params["uri"].as_str().map(str::to_owned);
        let text = message::request(self.era, self.last_id, method, params);
        self.post(method, name.as_deref(), &text).await
    }

    pub(super) async fn notify(&mut self, method: &str) -> anyhow::Result<()> {
        let text = message::notification(method);
        self.post(method, None, &text).await?;
        Ok(())
    }

    async fn post(
        &mut self,
        method: &str,
        name: Option<&str>,
        text: &str,
    ) -> anyhow::Result<&[u8]> {
        let request = self.request(method, name, text);
        self.stream.write_all(request.as_bytes()).await?;
        let head = self.read_head().await?;
        self.read_body(&head).await?;
        if !(200..300).contains(&head.status) {
            bail!("HTTP {}: {}", head.status, String::from_utf8_lossy(&self.body));
        }
        if head.is_event_stream { event_of(&self.body) } else { Ok(&self.body) }
    }

    fn request(&self, method: &str, name: Option<&str>, text: &str) -> String {
        let mut headers = String::new();
        let mut add = |header: &str, value: &str| {
            headers.extend([header, ": ", value, "\r\n"]);
        };
        add("Host", &self.host);
        add("Content-Type", "application/json");
        add("Accept", "application/json, text/event-stream");
        add("Content-Length", &text.len().to_string());
        if let Some(session) = &self.session {
            add("Mcp-Session-Id", session);
        }
        match self.era {
            Era::Legacy if method == "initialize" => {}
            Era::Legacy => add("MCP-Protocol-Version", LEGACY),
            Era::Modern => {
                add("MCP-Protocol-Version", MODERN);
                add("Mcp-Method", method);
                if let Some(name) = name {
                    add("Mcp-Name", name);
                }
            }
        }
        format!("POST {} HTTP/1.1\r\n{headers}\r\n{text}", self.path)
    }

    async fn read_head(&mut self) -> anyhow::Result<Head> {
        self.read_line().await?;
        let status = self.line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.with_context(|| format!("no HTTP: {}", self.line))?;
        let mut head = Head { status, ..Head::default() };
        loop {
            self.read_line().await?;
            if self.line.is_empty() {
                return Ok(head);
            }
            let (name, value) = self.line.split_once(':').context("a header without a colon")?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = Some(value.parse()?),
                "transfer-encoding" => head.is_chunked = value.eq_ignore_ascii_case("chunked"),
                "content-type" => head.is_event_stream = value.starts_with("text/event-stream"),
                "mcp-session-id" => self.session = Some(value.to_owned()),
                _ => {}
            }
        }
    }

    async fn read_body(&mut self, head: &Head) -> anyhow::Result<()> {
        self.body.clear();
        if !head.is_chunked {
            return self.read_bytes(head.length.unwrap_or(0)).await;
        }
        loop {
            self.read_line().await?;
            let length = usize::from_str_radix(&self.line, 16).context("a chunk has no length")?;
            self.read_bytes(length).await?;
            self.read_line().await?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    /// Appends that many bytes to the body.
    async fn read_bytes(&mut self, count: usize) -> anyhow::Result<()> {
        let end = self.body.len();
        self.body.resize(end + count, 0);
        self.stream.read_exact(&mut self.body[end..]).await?;
        Ok(())
    }

    async fn read_line(&mut self) -> anyhow::Result<()> {
        self.line.clear();
        if self.stream.read_line(&mut self.line).await? == 0 {
            bail!("the server hung up");
        }
        self.line.truncate(self.line.trim_end().len());
        Ok(())
    }
}

/// The one message of an event stream; earlier lines carry no data.
fn event_of(body: &[u8]) -> anyhow::Result<&[u8]> {
    const START: &[u8] = b"data: {";
    let at = body.windows(START.len()).position(|window| window == START);
    let message = &body[at.context("the stream ended without a message")? + START.len() - 1..];
    // The rest of an event after its data, such as its id, is short and holds no brace.
    let end = message.iter().rposition(|&byte| byte == b'}');
    Ok(&message[..=end.context("the message was cut off")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_an_event_stream_is_found() {
        let body = b"id: 0\nretry: 3000\ndata: \n\ndata: {\"id\":1}\nid: 1/2\n\n";
        assert_eq!(event_of(body).unwrap(), b"{\"id\":1}");
        assert!(event_of(b": nothing\n\n").is_err());
    }
}
