//! Four raw clients: over stdio or HTTP, of the legacy or the modern era.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::task::JoinHandle;

use super::transcript::{Heard, Transcript};
use super::wire::{header_text, hear_all, member, posted, request};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Stdio,
    Http,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// The kind of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) door: Door,
    pub(crate) era: Era,
}

impl Kind {
    pub(crate) const STDIO_LEGACY: Kind = Kind { door: Door::Stdio, era: Era::Legacy };
    pub(crate) const STDIO_MODERN: Kind = Kind { door: Door::Stdio, era: Era::Modern };
    pub(crate) const HTTP_LEGACY: Kind = Kind { door: Door::Http, era: Era::Legacy };
    pub(crate) const HTTP_MODERN: Kind = Kind { door: Door::Http, era: Era::Modern };
    pub(crate) const ALL: [Kind; 4] =
        [Kind::STDIO_LEGACY, Kind::STDIO_MODERN, Kind::HTTP_LEGACY, Kind::HTTP_MODERN];
}

/// A client that has met Trove.
pub(crate) struct Client {
    pub(crate) kind: Kind,
    pub(crate) transcript: Arc<Transcript>,
    way: Way,
    version: String,
    /// Its own name.
    name: String,
    /// The requests it can answer.
    capabilities: Value,
    /// Up to where notifications have been waited for.
    heard: Mutex<usize>,
}

#[derive(Clone)]
enum Way {
    Pipe(Arc<Pipe>),
    Http { http: reqwest::Client, url: String, session: Option<String> },
}

/// The stdin and stdout of Trove.
pub(crate) struct Pipe {
    stdin: tokio::sync::Mutex<Option<ChildStdin>>,
    transcript: Arc<Transcript>,
}

impl Pipe {
    pub(crate) fn new(stdin: ChildStdin, transcript: Arc<Transcript>) -> Pipe {
        Pipe { stdin: tokio::sync::Mutex::new(Some(stdin)), transcript }
    }

    pub(crate) fn transcript(&self) -> &Arc<Transcript> {
        &self.transcript
    }

    /// Says that nothing more will come.
    pub(crate) async fn close(&self) {
        self.stdin.lock().await.take();
    }

    /// Writes one line.
    pub(crate) async fn write(&self, line: &str) {
        let mut stdin = self.stdin.lock().await;
        let stdin = stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{line}\n").as_bytes()).await.expect("trove reads its stdin");
    }
}

/// A request on its way. Over HTTP, dropping it hangs up.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: u64,
    from: usize,
    task: Option<JoinHandle<()>>,
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Client {
    pub(crate) async fn connect(kind: Kind, pipe: &Arc<Pipe>, url: &str) -> Client {
        Client::connect_as(kind, "2025-11-25", pipe, url).await
    }

    /// Meets Trove; the version is for the legacy era only.
    pub(crate) async fn connect_as(
        kind: Kind,
        version: &str,
        pipe: &Arc<Pipe>,
        url: &str,
    ) -> Client {
        Client::introduce(("it", json!({})), kind, version, pipe, url).await
    }

    /// Meets Trove under a name, and says what it can be asked for.
    pub(crate) async fn introduce(
        (name, capabilities): (&str, Value),
        kind: Kind,
        version: &str,
        pipe: &Arc<Pipe>,
        url: &str,
    ) -> Client {
        let (way, transcript) = match kind.door {
            Door::Stdio => (Way::Pipe(pipe.clone()), pipe.transcript.clone()),
            Door::Http => {
                let way =
                    Way::Http { http: reqwest::Client::new(), url: url.to_owned(), session: None };
                (way, Transcript::new())
            }
        };
        let heard = Mutex::new(transcript.len());
        let version = version.to_owned();
        let name = name.to_owned();
        let mut client = Client { kind, transcript, way, version, name, capabilities, heard };
        if kind.era == Era::Legacy {
            client.initialize().await;
        }
        client
    }

    async fn initialize(&mut self) {
        let version = self.version.clone();
        let params = json!({
            "protocolVersion": version, "capabilities": self.capabilities,
            "clientInfo": { "name": self.name, "version": "1" },
        });
        if let Way::Http { http, url, session } = &mut self.way {
            let body = request(next_id(), "initialize", &params.to_string());
            let answer = posted(http, url, None).body(body).send().await.expect("trove answers");
            let id = answer.headers()["mcp-session-id"].to_str().expect("an id is plain text");
            *session = Some(id.to_owned());
            let heard: Value = answer.json().await.expect("the answer is JSON");
            assert_eq!(heard["result"]["protocolVersion"], version);
            self.listen_unasked();
        } else {
            let result = self.ask("initialize", params).await.expect("trove answers");
            assert_eq!(result["protocolVersion"], version);
        }
        self.notify("notifications/initialized", json!({})).await;
    }

    /// Opens the stream of a legacy session over HTTP, at first or again.
    pub(crate) fn listen_unasked(&self) {
        let Way::Http { http, url, session } = &self.way else { return };
        let session = session.as_deref().unwrap_or_default();
        let get = http.get(url.as_str()).header("Mcp-Session-Id", session);
        let get = get.header("Accept", "text/event-stream");
        tokio::spawn(hear_all(get, None, self.transcript.clone()));
    }

    /// The id of a legacy session over HTTP.
    pub(crate) fn session(&self) -> Option<&str> {
        match &self.way {
            Way::Http { session, .. } => session.as_deref(),
            Way::Pipe(_) => None,
        }
    }

    /// Asks and gives the result, or the error object.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Result<Value, Value> {
        let call = self.send(method, &params.to_string(), None).await;
        self.answer(call).await
    }

    /// Begins a request whose params are an object spelled by the caller.
    pub(crate) async fn send(&self, method: &str, params: &str, token: Option<Value>) -> Call {
        let id = next_id();
        let from = self.transcript.len();
        let body = request(id, method, &self.dressed(method, params, token));
        let task = match &self.way {
            Way::Pipe(pipe) => {
                pipe.write(&body).await;
                None
            }
            Way::Http { http, url, session } => {
                let post = self.headed(posted(http, url, session.as_deref()), method, params);
                Some(tokio::spawn(hear_all(post.body(body), Some(id), self.transcript.clone())))
            }
        };
        Call { id, from, task }
    }

    /// The result of a request, or its error object.
    pub(crate) async fn answer(&self, call: Call) -> Result<Value, Value> {
        let heard = self.heard_answer(&call).await;
        match heard.json.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(heard.json["result"].clone()),
        }
    }

    /// The whole message that answers a request.
    pub(crate) async fn heard_answer(&self, call: &Call) -> Arc<Heard> {
        let is_answer = |message: &Value| message["id"] == call.id && message["method"].is_null();
        let what = format!("the answer to request {} of {:?}", call.id, self.kind);
        self.transcript.first(call.from, is_answer, &what).await.1
    }

    /// The result of a request as text, byte for byte.
    pub(crate) async fn ask_text(&self, method: &str, params: &str) -> String {
        let call = self.send(method, params, None).await;
        let heard = self.heard_answer(&call).await;
        member(&heard.text, "result").unwrap_or_else(|| panic!("no result: {}", heard.text))
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.tell(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Answers what Trove asked.
    pub(crate) async fn reply(&self, asked: &Value, result: Value) {
        self.tell(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).await;
    }

    async fn tell(&self, message: Value) {
        let body = message.to_string();
        match &self.way {
            Way::Pipe(pipe) => pipe.write(&body).await,
            Way::Http { http, url, session } => {
                let answer = posted(http, url, session.as_deref()).body(body).send().await;
                assert_eq!(answer.expect("trove answers").status(), 202);
            }
        }
    }

    /// Takes a request back in the way of this kind of client.
    pub(crate) async fn cancel(&self, call: Call) {
        if self.kind != Kind::HTTP_MODERN {
            self.notify("notifications/cancelled", json!({ "requestId": call.id })).await;
        }
        drop(call);
    }

    fn dressed(&self, method: &str, params: &str, token: Option<Value>) -> String {
        let mut meta = json!({});
        if let Some(token) = token {
            meta["progressToken"] = token;
        }
        if self.kind.era == Era::Modern && method != "initialize" {
            meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            let info = json!({ "name": self.name, "version": "1" });
            meta["io.modelcontextprotocol/clientInfo"] = info;
        }
        if meta == json!({}) {
            return params.to_owned();
        }
        let rest = params.trim_start().strip_prefix('{').expect("params are an object");
        let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
        format!("{{\"_meta\":{meta}{comma}{rest}")
    }

    fn headed(&self, post: RequestBuilder, method: &str, params: &str) -> RequestBuilder {
        if self.kind.era == Era::Legacy {
            return post.header("MCP-Protocol-Version", &self.version);
        }
        let params: Value = serde_json::from_str(params).expect("params are JSON");
        let post = post.header("MCP-Protocol-Version", MODERN).header("Mcp-Method", method);
        match params["uri"].as_str().or_else(|| params["name"].as_str()) {
            Some(name) => post.header("Mcp-Name", header_text(name)),
            None => post,
        }
    }

    /// The text of a resource with one content.
    pub(crate) async fn text(&self, uri: &str) -> String {
        let result = self.read(uri).await;
        let result =
            result.unwrap_or_else(|error| panic!("{uri} through {:?}: {error}", self.kind));
        result["contents"][0]["text"].as_str().expect("the content is text").to_owned()
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<Value, Value> {
        self.ask("resources/read", json!({ "uri": uri })).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask("tools/call", params).await.unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    /// Every entry of a list, all pages put together.
    pub(crate) async fn list(&self, method: &str, key: &str) -> Vec<Value> {
        self.pages(method, key).await.concat()
    }

    pub(crate) async fn pages(&self, method: &str, key: &str) -> Vec<Vec<Value>> {
        let (mut pages, mut params) = (Vec::new(), json!({}));
        loop {
            let result = self.ask(method, params).await.expect("a page can be listed");
            pages.push(result[key].as_array().expect("a page is an array").clone());
            match result.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return pages,
            }
        }
    }

    /// Every URI of the resource list.
    pub(crate) async fn uris(&self) -> Vec<String> {
        let all = self.list("resources/list", "resources").await;
        all.iter().map(|entry| entry["uri"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Begins to hear of list changes and of these resources, in the way of the era. The call must
    /// be kept for as long.
    pub(crate) async fn follow(&self, uris: &[&str]) -> Option<Call> {
        if self.kind.era == Era::Modern {
            let filter = json!({
                "resourcesListChanged": true, "toolsListChanged": true, "promptsListChanged": true,
                "resourceSubscriptions": uris,
            });
            return Some(self.listen(filter).await.0);
        }
        for uri in uris {
            let subscribed = self.ask("resources/subscribe", json!({ "uri": uri })).await;
            subscribed.unwrap_or_else(|error| panic!("{uri}: {error}"));
        }
        None
    }

    /// Ends what `follow` began.
    pub(crate) async fn unfollow(&self, following: Option<Call>, uris: &[&str]) {
        match following {
            Some(call) => self.cancel(call).await,
            None => {
                for uri in uris {
                    let ended = self.ask("resources/unsubscribe", json!({ "uri": uri })).await;
                    ended.expect("a subscription can be ended");
                }
            }
        }
    }

    /// Opens a stream of changes, and gives it with its acknowledgement.
    pub(crate) async fn listen(&self, filter: Value) -> (Call, Value) {
        let params = json!({ "notifications": filter }).to_string();
        let call = self.send("subscriptions/listen", &params, None).await;
        let id = call.id;
        let is_first = move |m: &Value| m["params"]["_meta"][SUBSCRIPTION] == id || m["id"] == id;
        let (_, first) = self.transcript.first(call.from, is_first, "the stream to open").await;
        (call, first.json.clone())
    }

    /// The next notification of this method that is for this client.
    pub(crate) async fn hear(&self, method: &str) -> Value {
        let from = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |message: &Value| message["method"] == method && self.is_mine(message);
        let what = format!("{method} at {:?}", self.kind);
        let (at, heard) = self.transcript.first(from, is_it, &what).await;
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = at + 1;
        heard.json.clone()
    }

    /// Everything of this method that was for this client, from an index on.
    pub(crate) fn heard_since(&self, from: usize, method: &str) -> Vec<Value> {
        let all = self.transcript.since(from);
        let mine = all.iter().map(|heard| &heard.json);
        mine.filter(|m| m["method"] == method && self.is_mine(m)).cloned().collect()
    }

    /// Two clients of different eras may share one pair of streams.
    fn is_mine(&self, message: &Value) -> bool {
        let is_tagged = message["params"]["_meta"].get(SUBSCRIPTION).is_some();
        is_tagged == (self.kind.era == Era::Modern)
    }
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
