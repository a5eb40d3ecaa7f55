//! A server behind a URL that answers as a test tells it to.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use trove_core::{Gateway, SourceId, json::Json};

use super::*;

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The method of the message.
    pub(crate) method: String,
    /// Its id as text; empty where it has none.
    pub(crate) id: String,
    /// The line and the headers before it, in small letters.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    fn new(head: &str, body: String) -> Asked {
        let message = Json::parse(body.clone()).ok();
        let member = |key: &str| message.as_ref().and_then(|message| message.get(key));
        let method = message.as_ref().and_then(|message| message.get_str("method"));
        Asked {
            method: method.unwrap_or_default().to_string(),
            id: member("id").map(|id| id.as_str().to_owned()).unwrap_or_default(),
            head: head.to_ascii_lowercase(),
            body,
        }
    }

    /// A success.
    pub(crate) fn result(&self, result: &str) -> Option<String> {
        let id = &self.id;
        json(200, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    }

    /// A refusal.
    pub(crate) fn error(&self, status: u16, code: i64, message: &str) -> Option<String> {
        let id = &self.id;
        let error = format!(r#"{{"code":{code},"message":"{message}"}}"#);
        json(status, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
    }
}

/// A whole response.
pub(crate) fn json(status: u16, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}

/// The server; it ends with the test.
pub(crate) struct Peer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    _tasks: JoinSet<()>,
}

impl Peer {
    /// Begins to answer. If `answer` gives `None`, the client is hung up on.
    pub(crate) async fn start(
        answer: impl Fn(&Asked) -> Option<String> + Send + Sync + 'static,
    ) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("bound"));
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (answer, log) = (Arc::new(answer), asked.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, log) = (answer.clone(), log.clone());
                connections.spawn(async move {
                    while let Some(asked) = next(&mut stream).await {
                        log.lock().expect("no test panics with it").push(asked.clone());
                        let Some(response) = answer(&asked) else { return };
                        if stream.write_all(response.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Peer { url, asked, _tasks: tasks }
    }

    /// The methods it was asked for, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        let asked = self.asked.lock().expect("no test panics with it");
        asked.iter().map(|asked| asked.method.clone()).collect()
    }

    /// A connection to it.
    pub(crate) async fn link(&self) -> HttpLink {
        link_to(&self.url).await
    }
}

/// A connection to the server at this address.
pub(crate) async fn link_to(url: &str) -> HttpLink {
    let gateway = Gateway::new(trove_core::gateway::Parts::new("test")).await;
    let source = SourceId::new("one").expect("a valid id");
    let (client, headers, bounds) = (Client::new(), HeaderMap::new(), Bounds::default());
    let meter = Arc::new(Meter::new(bounds.unasked));
    let inbox = Inbox::new(source.clone(), gateway.feed(), meter);
    HttpLink::new(&source, client, url.to_owned(), headers, inbox, &bounds, None)
}

impl HttpLink {
    /// Looks for the answer to a request in a stream of chunks.
    pub(crate) async fn answer_in_chunks<E>(
        &self,
        chunks: impl Stream<Item = Result<Bytes, E>> + Unpin,
        call: Call,
    ) -> Option<Result<Json, LinkError>> {
        if let Some(notices) = &call.notices {
            self.shared.notices().insert(call.id, notices.clone());
        }
        let mut parser = Parser::new(self.shared.longest);
        self.shared.answer_in(chunks, &mut parser, &call).await
    }
}

/// The next request of a connection.
pub(crate) async fn next(stream: &mut TcpStream) -> Option<Asked> {
    let mut read = Vec::new();
    let head = loop {
        if let Some(end) = memchr::memmem::find(&read, b"\r\n\r\n") {
            break read.drain(..end + 4).collect::<Vec<u8>>();
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.trim().parse().expect("a number"));
    while read.len() < length {
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
    Some(Asked::new(&head, String::from_utf8_lossy(&read).into_owned()))
}
