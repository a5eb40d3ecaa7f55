//! From a received message to the frames that answer it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::floods::{self, Stream};
use super::options::{Eras, Fault, Feature, Options};
use super::peer::{Peer, lock};
use super::state::{Change, Listener, Toy};
use super::wire::{
    Frame, Incoming, LEGACY_VERSIONS, META_CAPABILITIES, META_SUBSCRIPTION, META_VERSION,
    MODERN_VERSION, RpcError, notification, quote, result_message, with_members,
};
use super::{content, faults, lists, tools};

/// The place in a message that a filler goes to.
const FILLER: &str = "@FILLER@";

/// The era of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

impl Era {
    /// The era a request speaks, as far as the server is willing to hear it.
    pub(super) fn of(options: &Options, method: &str, params: &Value) -> Self {
        let is_modern = params["_meta"].get(META_VERSION).is_some() || method == "server/discover";
        match options.era {
            Eras::Legacy => Self::Legacy,
            Eras::Modern => Self::Modern,
            Eras::Both if is_modern => Self::Modern,
            Eras::Both => Self::Legacy,
        }
    }
}

/// One request on its way to an answer.
#[derive(Debug)]
pub(super) struct Exchange {
    pub toy: Arc<Toy>,
    pub peer: Arc<Peer>,
    pub era: Era,
    pub id: String,
    pub incoming: Incoming,
    pub params: Value,
    reply: mpsc::Sender<Frame>,
    cancel: CancellationToken,
}

/// How an exchange ends.
pub(super) enum Answer {
    Result(String),
    /// A result that carries `ttlMs` and `cacheScope` in the modern era.
    Cacheable(String),
    Raw(Frame),
    Nothing,
}

/// Takes in one message. A request comes back as an exchange, to be run by the transport; the rest is done at once.
pub(super) fn receive(
    toy: &Arc<Toy>,
    peer: &Arc<Peer>,
    reply: mpsc::Sender<Frame>,
    incoming: Incoming,
) -> Option<Exchange> {
    let method = incoming.method.as_deref()?;
    *lock(&toy.received).entry(method.to_owned()).or_default() += 1;
    let params = incoming.params();
    let Some(id) = incoming.id.as_ref().map(|id| id.get().to_owned()) else {
        match method {
            "notifications/initialized" => toy.welcome(peer),
            "notifications/cancelled" => {
                let running = lock(&peer.in_flight).get(&params["requestId"].to_string()).cloned();
                running.inspect(CancellationToken::cancel);
            }
            _ => {}
        }
        return None;
    };
    let cancel = CancellationToken::new();
    lock(&peer.in_flight).insert(id.clone(), cancel.clone());
    let era = Era::of(&toy.options, method, &params);
    Some(Exchange {
        toy: Arc::clone(toy),
        peer: Arc::clone(peer),
        era,
        id,
        incoming,
        params,
        reply,
        cancel,
    })
}

impl Exchange {
    /// Answers the request, well or badly.
    pub(super) async fn run(self) {
        if self.toy.options.has(Fault::HangInit) {
            self.gone().await;
            return;
        }
        let frame = match self.answer().await {
            Ok(Answer::Result(result)) => Some(self.finished(&result, "")),
            Ok(Answer::Cacheable(result)) => {
                let Options { ttl_ms, cache_scope, .. } = &self.toy.options;
                let hints = format!(r#","ttlMs":{ttl_ms},"cacheScope":"{cache_scope}""#);
                Some(self.finished(&result, &hints))
            }
            Ok(Answer::Raw(frame)) => Some(frame),
            Ok(Answer::Nothing) => None,
            Err(error) => {
                let status = if self.era == Era::Modern { error.status } else { 200 };
                Some(Frame::answer(error.message(&self.id)).with_status(status))
            }
        };
        if let Some(frame) = frame {
            self.send_last(frame).await;
        }
        lock(&self.peer.in_flight).remove(&self.id);
    }

    /// A result in the shape of the era.
    fn finished(&self, result: &str, hints: &str) -> Frame {
        if self.era == Era::Legacy {
            let message = result_message(&self.id, result);
            return Frame::answer(match self.toy.options.has(Fault::Batch) {
                true => format!("[{},{message}]", notification("notifications/other", "{}")),
                false => message,
            });
        }
        let about = server_info(&self.toy.options);
        let members = format!(
            r#""resultType":"complete"{hints},"_meta":{{"io.modelcontextprotocol/serverInfo":{about}}}"#
        );
        Frame::answer(result_message(&self.id, &with_members(result, &members)))
    }

    async fn send_last(&self, frame: Frame) {
        let options = &self.toy.options;
        if options.has(Fault::WrongId) {
            let decoy = result_message(
                "@",
                r#"{"contents":[{"uri":"wrong://id","text":"nobody asked for this"}]}"#,
            );
            for id in ["987654321", "\"nobody\"", "null", &quote(self.id.trim_matches('"'))] {
                if id != self.id {
                    self.send(Frame::message(decoy.replacen('@', id, 1))).await;
                }
            }
        }
        if options.has(Fault::Garbage) {
            self.send(Frame::answer(&b"%%% not JSON \xff\xfe {\"jsonrpc\":\"2.0\",\"id\":"[..]))
                .await;
        } else {
            self.send(frame).await;
        }
    }

    async fn send(&self, frame: Frame) {
        let _client_gone = self.reply.send(frame).await;
    }

    /// Waits until the answer is no longer wanted.
    async fn gone(&self) {
        // Hanging up cancels a modern request; a legacy client may come back for the answer.
        let hung_up = async {
            match self.era {
                Era::Modern => self.reply.closed().await,
                Era::Legacy => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.peer.closed.cancelled() => {}
            () = hung_up => {}
        }
    }

    /// Waits and reports progress. If the answer is no longer wanted, it counts that and says so.
    pub(super) async fn linger(&self, ms: u64) -> bool {
        let token = &self.params["_meta"]["progressToken"];
        let steps = self.toy.options.steps;
        for step in 1..=steps {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(ms) / steps) => {}
                () = self.gone() => {
                    self.toy.cancelled.fetch_add(1, Ordering::Relaxed);
                    return false;
                }
            }
            if !token.is_null() {
                let params = json!({ "progressToken": token, "progress": step, "total": steps });
                self.send(Frame::message(notification(
                    "notifications/progress",
                    &params.to_string(),
                )))
                .await;
            }
        }
        true
    }

    async fn answer(&self) -> Result<Answer, RpcError> {
        let options = &self.toy.options;
        let method = self.incoming.method.as_deref().unwrap_or_default();
        let Some(known) = self.is_known(method) else {
            return Ok(Answer::Nothing);
        };
        if !known {
            return Err(RpcError::unknown_method(method));
        }
        if self.era == Era::Modern {
            check_meta(&self.params["_meta"])?;
        }
        match method {
            "initialize" => Ok(Answer::Result(self.initialize())),
            "server/discover" => Ok(Answer::Cacheable(discover(options))),
            "subscriptions/listen" => self.listen().await,
            "resources/list" => {
                options.delay(Fault::DelayList).await;
                if options.has(Fault::PagesChanging) {
                    let toy = Arc::clone(&self.toy);
                    self.toy.tasks.spawn(async move { toy.announce(Change::ResourceList).await });
                }
                lists::resources(&self.toy, &self.params["cursor"]).map(Answer::Cacheable)
            }
            "resources/templates/list" => {
                lists::templates(options, &self.params["cursor"]).map(Answer::Cacheable)
            }
            "resources/read" => self.read().await,
            "resources/subscribe" => {
                lock(&self.peer.subscribed).insert(self.uri()?.to_owned());
                Ok(Answer::Result("{}".to_owned()))
            }
            "resources/unsubscribe" => {
                lock(&self.peer.subscribed).remove(self.uri()?);
                Ok(Answer::Result("{}".to_owned()))
            }
            "completion/complete" => Ok(Answer::Result(complete(&self.params))),
            "tools/list" => Ok(Answer::Cacheable(tools::list(&self.toy))),
            "tools/call" => tools::call(self).await,
            "prompts/list" => Ok(Answer::Cacheable(tools::list_prompts())),
            "prompts/get" => tools::get_prompt(self),
            _ => Ok(Answer::Result("{}".to_owned())),
        }
    }

    /// Whether the server offers a method in this era; `None` when it does not and says nothing about it either.
    fn is_known(&self, method: &str) -> Option<bool> {
        let options = &self.toy.options;
        let offers = |feature| options.offers(feature);
        let is_legacy = self.era == Era::Legacy;
        let known = match method {
            "initialize" | "ping" => is_legacy,
            "server/discover" | "subscriptions/listen" => !is_legacy,
            "resources/subscribe" | "resources/unsubscribe" => {
                is_legacy && !options.no_subscribe && offers(Feature::Resources)
            }
            "resources/list" | "resources/templates/list" | "resources/read" => {
                offers(Feature::Resources)
            }
            "tools/list" | "tools/call" => offers(Feature::Tools),
            "prompts/list" | "prompts/get" => offers(Feature::Prompts),
            "completion/complete" => offers(Feature::Completion),
            _ => false,
        };
        (known || !options.has(Fault::IgnoreUnknown)).then_some(known)
    }

    fn initialize(&self) -> String {
        let options = &self.toy.options;
        let asked = self.params["protocolVersion"].as_str().unwrap_or_default();
        let agreed = if LEGACY_VERSIONS.contains(&asked) { asked } else { LEGACY_VERSIONS[0] };
        let version = quote(options.version.as_deref().unwrap_or(agreed));
        let (capabilities, about) = (capabilities(options), server_info(options));
        format!(
            r#"{{"protocolVersion":{version},"capabilities":{capabilities},"serverInfo":{about}}}"#
        )
    }

    async fn listen(&self) -> Result<Answer, RpcError> {
        let (toy, asked) = (&self.toy, &self.params["notifications"]);
        let lists = asked["resourcesListChanged"] == true;
        let followed =
            asked["resourceSubscriptions"].as_array().filter(|_| !toy.options.no_subscribe);
        // Resources it does not have are left out.
        let is_there = |uri: &&Value| uri.as_str().is_some_and(|uri| toy.read(uri).is_some());
        let followed: Option<Vec<&Value>> =
            followed.map(|uris| uris.iter().filter(is_there).collect());
        let mut accepted = json!({});
        if lists {
            accepted["resourcesListChanged"] = json!(true);
        }
        if let Some(uris) = &followed {
            accepted["resourceSubscriptions"] = json!(uris);
        }
        let id = &self.id;
        let params =
            format!(r#"{{"notifications":{accepted},"_meta":{{"{META_SUBSCRIPTION}":{id}}}}}"#);
        self.send(Frame::message(notification(
            "notifications/subscriptions/acknowledged",
            &params,
        )))
        .await;
        let uris =
            followed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        toy.add_listener(Listener { id: id.clone(), out: self.reply.clone(), lists, uris });
        // On stdio the flood has begun with the server.
        if toy.options.http.is_some() {
            floods::start(toy, &self.reply, Stream::Events);
        }
        for _ in 0..toy.options.amount(Fault::FloodListChanged).unwrap_or(0) {
            self.send(Frame::message(toy.announcement(Change::ResourceList, Some(id)))).await;
        }
        self.gone().await;
        toy.drop_listener(id, &self.reply);
        Ok(Answer::Nothing)
    }

    async fn read(&self) -> Result<Answer, RpcError> {
        let (toy, uri) = (&self.toy, self.uri()?);
        faults_of_read(toy).await?;
        if let Some(raw) = faults::twisted(toy, uri, &self.id) {
            return Ok(Answer::Raw(Frame::answer(raw)));
        }
        if toy.options.has(Fault::HangRead) {
            self.gone().await;
            return Ok(Answer::Nothing);
        }
        if let Some(size) = toy.options.amount(Fault::NoLine) {
            return Ok(Answer::Raw(Frame::endless(usize::try_from(size).unwrap_or(usize::MAX))));
        }
        if let Some(ms) = uri.strip_prefix(&content::own(&toy.options, "slow/"))
            && !self
                .linger(
                    ms.parse()
                        .map_err(|_| RpcError::invalid_params("not a number of milliseconds"))?,
                )
                .await
        {
            return Ok(Answer::Nothing);
        }
        let contents = toy.read(uri).ok_or_else(|| self.not_found(uri))?;
        if let Some(size) = toy.options.amount(Fault::HugeLine) {
            let text = quote(&format!("{}|{uri}|{FILLER}", toy.options.name));
            let result = format!(
                r#"{{"contents":[{{"uri":{},"mimeType":"text/plain","text":{text}}}]}}"#,
                quote(uri)
            );
            let message = result_message(
                &self.id,
                &with_members(
                    &result,
                    r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#,
                ),
            );
            let (head, tail) = message.split_once(FILLER).unwrap_or((&message, ""));
            return Ok(Answer::Raw(Frame::stretched(
                head,
                tail,
                usize::try_from(size).unwrap_or(usize::MAX),
            )));
        }
        Ok(Answer::Cacheable(format!(r#"{{"contents":[{contents}]}}"#)))
    }

    fn uri(&self) -> Result<&str, RpcError> {
        self.params["uri"].as_str().ok_or_else(|| RpcError::invalid_params("uri must be a string"))
    }

    fn not_found(&self, uri: &str) -> RpcError {
        let code = if self.era == Era::Modern { -32602 } else { -32002 };
        let evil = if self.toy.options.has(Fault::EvilText) { content::EVIL } else { "" };
        RpcError::new(code, format!("no resource {uri}{evil}")).with_data(json!({ "uri": uri }))
    }
}

async fn faults_of_read(toy: &Toy) -> Result<(), RpcError> {
    let options = &toy.options;
    let reads = lock(&toy.received).get("resources/read").copied().unwrap_or(0);
    if options.has(Fault::CrashRead)
        || options.amount(Fault::CrashAfter).is_some_and(|most| reads > most)
    {
        std::process::exit(1);
    }
    options.delay(Fault::DelayRead).await;
    if options.has(Fault::ErrorRead) {
        return Err(RpcError::new(-32603, "reads are broken here"));
    }
    Ok(())
}

/// Refuses a modern request that lacks what every one must carry.
fn check_meta(meta: &Value) -> Result<(), RpcError> {
    let Some(version) = meta[META_VERSION].as_str().filter(|_| meta[META_CAPABILITIES].is_object())
    else {
        let missing = RpcError::invalid_params(
            "_meta lacks the protocol version or the client's capabilities",
        );
        return Err(RpcError { status: 400, ..missing });
    };
    if version != MODERN_VERSION {
        let data = json!({ "requested": version, "supported": [MODERN_VERSION] });
        return Err(RpcError::new(-32022, "unsupported protocol version").with_data(data));
    }
    Ok(())
}

fn discover(options: &Options) -> String {
    let legacy = LEGACY_VERSIONS.iter().filter(|_| options.era == Eras::Both);
    let versions: Vec<&str> = [MODERN_VERSION].iter().chain(legacy).copied().collect();
    format!(
        r#"{{"supportedVersions":{},"capabilities":{}}}"#,
        json!(versions),
        capabilities(options)
    )
}

fn capabilities(options: &Options) -> Value {
    let all = [
        (
            Feature::Resources,
            "resources",
            json!({ "listChanged": true, "subscribe": !options.no_subscribe }),
        ),
        (Feature::Tools, "tools", json!({})),
        (Feature::Prompts, "prompts", json!({})),
        (Feature::Completion, "completions", json!({})),
    ];
    let offered = all.into_iter().filter(|(feature, ..)| options.offers(*feature));
    Value::Object(offered.map(|(_, key, value)| (key.to_owned(), value)).collect())
}

fn server_info(options: &Options) -> Value {
    json!({ "name": options.name, "version": env!("CARGO_PKG_VERSION") })
}

fn complete(params: &Value) -> String {
    let typed = params["argument"]["value"].as_str().unwrap_or_default();
    let is_note = params["ref"]["uri"] == "note://{id}" && params["argument"]["name"] == "id";
    let known = content::NOTE_IDS.iter().filter(|id| is_note && id.starts_with(typed));
    let values: Vec<&str> = known.copied().collect();
    json!({ "completion": { "total": values.len(), "hasMore": false, "values": values } })
        .to_string()
}
