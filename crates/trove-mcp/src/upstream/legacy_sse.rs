//! The HTTP+SSE transport of 2024-11-05: answers arrive on one long stream, requests
//! go by POST to the address that the stream names first.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use reqwest::{
    Client, RequestBuilder, Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::JoinSet,
};
use tracing::{debug, warn};
use trove_core::SourceId;

use super::{
    events::{End, Events},
    http::{is_event_stream, read_body, unauthorized, unreachable},
    link::{Inbox, LinkError, own_id},
    meter::CutOff,
    mux::{Mux, MuxLink},
    oauth::Bearer,
    secrets::beginning,
};
use crate::{
    bounds::{Bounds, MAX_STATUS_LETTERS},
    sse::Parser,
    wire::{self, Message},
};

/// How long the server may take to name the address for requests.
const MAX_WAIT_FOR_ENDPOINT: Duration = Duration::from_secs(10);
/// How long the server may take to take a message that gets no answer.
const MAX_POST: Duration = Duration::from_secs(30);
/// Without it a server does not serve.
const INITIALIZED: &str = "notifications/initialized";
/// How many messages are posted at once.
const MAX_POSTS: usize = 16;
/// Some servers take a request only when its work is done; after so long the next has its place.
const SLOW_POST: Duration = Duration::from_millis(250);

/// Opens the stream and learns where requests go.
pub(crate) async fn connect(
    source: &SourceId,
    client: Client,
    url: &str,
    headers: HeaderMap,
    inbox: Arc<Inbox>,
    bounds: &Bounds,
    bearer: Option<Bearer>,
) -> Result<MuxLink, LinkError> {
    let accept = HeaderValue::from_static("text/event-stream");
    let pass = Pass { source: source.clone(), headers, bearer };
    let sent = pass.send(client.get(url).header(ACCEPT, accept)).await;
    let response = sent.map_err(|error| unreachable(&error))?;
    let status = response.status();
    if status == StatusCode::UNAUTHORIZED {
        return Err(pass.refused());
    }
    if !status.is_success() || !is_event_stream(&response) {
        let body = read_body(response, 4096, &inbox.meter).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        let text = beginning(&text, MAX_STATUS_LETTERS).to_owned();
        return Err(LinkError::Status(status.as_u16(), text));
    }
    let base = response.url().clone();
    let (mux, out) = Mux::new(source.clone(), inbox, bounds.waiting);
    let (found, endpoint) = oneshot::channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(receive(response, bounds.message_bytes, mux.clone(), found));
    let endpoint = tokio::time::timeout(MAX_WAIT_FOR_ENDPOINT, endpoint).await;
    let endpoint = endpoint.map_err(|_| LinkError::TimedOut(MAX_WAIT_FOR_ENDPOINT))?;
    let endpoint = endpoint.map_err(|_| LinkError::Lost)?;
    let target = same_origin(&base, &endpoint)?;
    let posts = Arc::new(Posts { client, target, pass, mux: mux.clone() });
    tasks.spawn(posts.run(out, bounds.waiting));
    Ok(MuxLink::new(mux, tasks, None))
}

/// The address for requests, e.g. `/messages?id=1`, which must be on the server we asked.
fn same_origin(base: &Url, endpoint: &str) -> Result<Url, LinkError> {
    let bad = |what: &str| {
        LinkError::Malformed(format!("the server named {what} as the address for requests"))
    };
    let target = base.join(endpoint).map_err(|_| bad("no URL"))?;
    if target.origin() == base.origin() { Ok(target) } else { Err(bad("another server")) }
}

async fn receive(
    response: Response,
    longest: usize,
    mux: Arc<Mux>,
    found: oneshot::Sender<String>,
) {
    let mut found = Some(found);
    let mut parser = Parser::new(longest);
    let mut events = Events::new(response.bytes_stream(), &mut parser, mux.meter().clone());
    loop {
        let event = match events.next().await {
            Ok(event) => event,
            Err(End::TooLong) => {
                warn!(limit = longest, "an event is too long; connection given up");
                break;
            }
            Err(End::Over) => break,
            // The life of this server closes the connection.
            Err(End::CutOff) => return,
        };
        if event.name == "endpoint"
            && let Some(found) = found.take()
        {
            let _ = found.send(String::from_utf8_lossy(&event.data).into_owned());
            continue;
        }
        match mux.deliver(event.data).await {
            Ok(true) => {}
            Ok(false) => debug!("an event that is no message; skipped"),
            Err(CutOff) => return,
        }
    }
    mux.close();
}

/// Our identity at the server.
struct Pass {
    source: SourceId,
    headers: HeaderMap,
    bearer: Option<Bearer>,
}

impl Pass {
    /// Sends a request; a token that is refused is renewed once.
    async fn send(&self, request: RequestBuilder) -> reqwest::Result<Response> {
        let token = match &self.bearer {
            Some(bearer) => bearer.header().await,
            None => None,
        };
        let request = request.headers(self.headers.clone());
        let again = request.try_clone();
        let response = with(request, token.clone()).send().await?;
        let (Some(bearer), Some(again)) = (&self.bearer, again) else { return Ok(response) };
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        match bearer.after_refusal(token.as_ref()).await {
            Some(renewed) => with(again, Some(renewed)).send().await,
            None => Ok(response),
        }
    }

    fn refused(&self) -> LinkError {
        unauthorized(&self.source, self.headers.contains_key(AUTHORIZATION))
    }
}

fn with(request: RequestBuilder, token: Option<HeaderValue>) -> RequestBuilder {
    match token {
        Some(token) => request.header(AUTHORIZATION, token),
        None => request,
    }
}

struct Posts {
    client: Client,
    target: Url,
    pass: Pass,
    mux: Arc<Mux>,
}

impl Posts {
    /// Posts what comes, no more than `most` messages at a time.
    async fn run(self: Arc<Self>, mut out: mpsc::Receiver<Bytes>, most: usize) {
        let places = Arc::new(Semaphore::new(MAX_POSTS));
        let mut under_way = JoinSet::new();
        while let Some(message) = out.recv().await {
            while under_way.try_join_next().is_some() {}
            while under_way.len() >= most {
                under_way.join_next().await;
            }
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let posts = self.clone();
            under_way.spawn(async move {
                let mut post = std::pin::pin!(posts.post(message));
                let is_slow = tokio::time::timeout(SLOW_POST, &mut post).await.is_err();
                drop(place);
                if is_slow {
                    post.await;
                }
            });
        }
    }

    /// Posts one message. If that fails, so does its request. The connection stays good, unless the
    /// server calls it gone or unauthorised, or lost the greeting.
    async fn post(&self, message: Bytes) {
        let (id, is_greeting) = match wire::parse(&message) {
            Ok(Message::Request(request)) => (own_id(&request.id), false),
            Ok(Message::Notification { method, .. }) => (None, method == INITIALIZED),
            Ok(_) | Err(_) => (None, false),
        };
        let request = self.client.post(self.target.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(message);
        match self.while_wanted(self.pass.send(request), id).await {
            Some(Ok(response)) if response.status().is_success() => {}
            Some(Ok(response)) if is_end(response.status()) => self.mux.close(),
            Some(Ok(response)) if response.status() == StatusCode::UNAUTHORIZED => {
                self.mux.fail(id, self.pass.refused());
                self.mux.close();
            }
            Some(Ok(response)) if is_greeting && is_lost(response.status()) => self.mux.close(),
            Some(Err(_)) if is_greeting => self.mux.close(),
            Some(Ok(response)) => {
                let text = "the server refused the request".to_owned();
                self.mux.fail(id, LinkError::Status(response.status().as_u16(), text));
            }
            Some(Err(error)) if error.is_connect() => self.mux.close(),
            Some(Err(error)) => self.mux.fail(id, unreachable(&error)),
            None => debug!("the server never took a message"),
        }
    }

    /// Waits for as long as the request waits for its answer, and a while beyond.
    async fn while_wanted<T>(&self, sent: impl Future<Output = T>, id: Option<u64>) -> Option<T> {
        let mut sent = std::pin::pin!(sent);
        loop {
            match tokio::time::timeout(MAX_POST, &mut sent).await {
                Ok(sent) => return Some(sent),
                Err(_) if id.is_some_and(|id| self.mux.waits_for(id)) => {}
                Err(_) => return None,
            }
        }
    }
}

/// Whether a status says that the connection itself is gone.
fn is_end(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::NOT_FOUND
            | StatusCode::GONE
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
    )
}

/// Whether a status leaves open whether a message was taken. A server that refuses a message
/// without an id may still serve.
fn is_lost(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::AsyncWriteExt as _,
        net::TcpListener,
        sync::{broadcast, watch},
    };
    use trove_core::Gateway;

    use super::*;
    use crate::upstream::{
        http::peer::{Asked, json, next},
        link::{Call, Link as _},
        meter::Meter,
        oauth::{Credentials, Grant},
    };

    /// A server that takes a request only when it is done with it. It is done with even ones at
    /// once, with the others when it is told to go on. It loses every seventh.
    async fn serve(listener: TcpListener, go_on: watch::Receiver<bool>) {
        let (events, told) = mpsc::channel::<String>(64);
        let mut told = Some(told);
        let mut connections = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let (events, mut go_on) = (events.clone(), go_on.clone());
            let mut told = told.take();
            connections.spawn(async move {
                while let Some(asked) = next(&mut stream).await {
                    if let Some(mut told) = told.take() {
                        let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n";
                        let first = format!("{head}event: endpoint\ndata: /post\n\n");
                        stream.write_all(first.as_bytes()).await.expect("we listen");
                        while let Some(event) = told.recv().await {
                            let event = format!("data: {event}\n\n");
                            stream.write_all(event.as_bytes()).await.expect("we listen");
                        }
                    }
                    let id: u64 = asked.id.parse().expect("a request");
                    if id.is_multiple_of(7) {
                        return;
                    }
                    if id % 2 == 1 {
                        go_on.wait_for(|go_on| *go_on).await.expect("the test lives");
                    }
                    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{id}}}"#);
                    events.send(answer).await.expect("the stream is open");
                    let taken = json(202, "").expect("a response");
                    stream.write_all(taken.as_bytes()).await.expect("we listen");
                }
            });
        }
    }

    /// A server that answers each request with the status it is told.
    async fn serve_with(
        listener: TcpListener,
        status: impl Fn(&Asked) -> u16 + Send + Sync + 'static,
    ) {
        let status = Arc::new(status);
        let (events, _) = broadcast::channel::<String>(64);
        let mut connections = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let (status, events) = (status.clone(), events.clone());
            connections.spawn(async move {
                while let Some(asked) = next(&mut stream).await {
                    let status = status(&asked);
                    if status == 200 {
                        let mut told = events.subscribe();
                        let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n";
                        let first = format!("{head}event: endpoint\ndata: /post\n\n");
                        stream.write_all(first.as_bytes()).await.expect("we listen");
                        while let Ok(event) = told.recv().await {
                            let event = format!("data: {event}\n\n");
                            stream.write_all(event.as_bytes()).await.expect("we listen");
                        }
                    }
                    let id = &asked.id;
                    if status == 202 && !id.is_empty() {
                        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{id}}}"#);
                        events.send(answer).expect("the stream is open");
                    }
                    let taken = json(status, "").expect("a response");
                    stream.write_all(taken.as_bytes()).await.expect("we listen");
                }
            });
        }
    }

    /// A connection to such a server, with the tokens that lie in a folder.
    async fn link_to(
        status: impl Fn(&Asked) -> u16 + Send + Sync + 'static,
        tokens: impl FnOnce(&str) -> Option<Credentials>,
    ) -> (JoinSet<()>, Result<MuxLink, LinkError>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/sse", listener.local_addr().expect("bound"));
        let mut server = JoinSet::new();
        server.spawn(serve_with(listener, status));
        let gateway = Gateway::new(trove_core::gateway::Parts::new("test")).await;
        let source = SourceId::new("one").expect("a valid id");
        let bounds = Bounds::default();
        let meter = Arc::new(Meter::new(bounds.unasked));
        let inbox = Inbox::new(source.clone(), gateway.feed(), meter);
        let bearer =
            tokens(&url).and_then(|tokens| Bearer::new(&source, &url, tokens, Arc::default()));
        let (client, headers) = (Client::new(), HeaderMap::new());
        (server, connect(&source, client, &url, headers, inbox, &bounds, bearer).await)
    }

    fn grant(url: &str, token: &str) -> Grant {
        let text = |text: &str| text.to_owned();
        Grant {
            server: text("one"),
            resource: text(url),
            issuer: text("http://i.test"),
            token_endpoint: text("http://i.test/token"),
            client_id: text("c"),
            client_secret: None,
            access_token: text(token),
            refresh_token: None,
            expires_at: None,
            scope: None,
        }
    }

    #[tokio::test]
    async fn a_token_that_is_refused_is_renewed_and_nobody_waits_for_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let tokens = Credentials::in_folder(folder.path());
        let (kept, keeper, mut at) = (tokens.clone(), tokens.clone(), String::new());
        let (valid, taken) = watch::channel("old");
        let status = move |asked: &Asked| {
            let is_known =
                asked.head.contains(&format!("authorization: bearer {}\r", *taken.borrow()));
            match asked.head.starts_with("get") {
                _ if !is_known => 401,
                true => 200,
                false => 202,
            }
        };
        let (_server, link) = link_to(status, |url| {
            keeper.keep(grant(url, "old")).expect("it is kept");
            at = url.to_owned();
            Some(tokens)
        })
        .await;
        let link = link.expect("it is there");
        assert_eq!(link.request(call(1)).await.expect("an answer").as_str(), "1");
        valid.send_replace("new");
        kept.keep(grant(&at, "new")).expect("it is kept");
        assert_eq!(link.request(call(2)).await.expect("an answer").as_str(), "2");
        assert!(!link.closed().is_cancelled());
        valid.send_replace("another");
        let refused = link.request(call(3)).await.expect_err("nobody logged in");
        assert!(refused.to_string().contains("trove auth login one"), "{refused}");
        link.closed().cancelled().await;
    }

    #[tokio::test]
    async fn a_server_that_did_not_hear_that_we_begin_is_met_anew() {
        let status = |asked: &Asked| match asked.head.starts_with("get") {
            true => 200,
            false if asked.method == INITIALIZED => 500,
            false => 202,
        };
        let (_server, link) = link_to(status, |_| None).await;
        let link = link.expect("it is there");
        link.notify("notifications/cancelled", None).await.expect("it is sent");
        assert_eq!(link.request(call(1)).await.expect("an answer").as_str(), "1");
        link.notify(INITIALIZED, None).await.expect("it is sent");
        link.closed().cancelled().await;
    }

    fn call(id: u64) -> Call {
        let params = "{}".to_owned();
        Call { id, method: "tools/call", params, repeated: Vec::new(), notices: None }
    }

    #[tokio::test]
    async fn a_request_that_is_taken_late_or_never_harms_no_other() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/sse", listener.local_addr().expect("bound"));
        let (go_on, told) = watch::channel(false);
        let _server = tokio::spawn(serve(listener, told));
        let gateway = Gateway::new(trove_core::gateway::Parts::new("test")).await;
        let source = SourceId::new("one").expect("a valid id");
        let bounds = Bounds::default();
        let meter = Arc::new(Meter::new(bounds.unasked));
        let inbox = Inbox::new(source.clone(), gateway.feed(), meter);
        let (client, headers) = (Client::new(), HeaderMap::new());
        let link = connect(&source, client, &url, headers, inbox, &bounds, None).await;
        let link = link.expect("it is there");
        tokio::time::pause();

        let odd = (0..).map(|n| 2 * n + 1).filter(|id| id % 7 != 0).take(2 * MAX_POSTS);
        let slow = futures_util::future::join_all(odd.map(|id| link.request(call(id))));
        let mut slow = std::pin::pin!(slow);
        tokio::select! {
            _ = &mut slow => panic!("they wait"),
            () = tokio::time::sleep(MAX_POST * 3) => {}
        }
        assert_eq!(link.request(call(100)).await.expect("an answer").as_str(), "100");
        let lost = link.request(call(70)).await.expect_err("it is lost");
        assert!(matches!(lost, LinkError::Unreachable(_)), "{lost}");
        assert_eq!(link.request(call(102)).await.expect("an answer").as_str(), "102");
        go_on.send_replace(true);
        assert!(slow.await.iter().all(Result::is_ok));
        assert!(!link.closed().is_cancelled());
        link.close().await;
    }
}
