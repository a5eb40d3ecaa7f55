//! One method, one call to the Gateway.

use std::pin::pin;

use tokio::sync::mpsc;
use tracing::warn;
use trove_core::{
    Caller, Json, PublicUri, SourceError,
    catalogue::List,
    content::escape_line,
    gateway::{Action, AskError},
    json::{Object, quote},
    metrics::Ending,
    source::{Notice, Reply},
    tools::{Effect, Question},
};

use super::{
    Server,
    asking::{Asking, missing, required},
    encode::{self, Keeping},
    instructions::instructions,
    measure::{timed, timed_call},
    server_info,
};
use crate::{
    era::{SKILLS, Version},
    kin::CIRCLE,
    wire::{Outcome, Request, RpcError, code},
};

impl Server {
    /// Answers a request that needs no session.
    pub(crate) async fn answer(
        &self,
        method: &str,
        params: Option<Json>,
        asking: &Asking,
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Outcome {
        let work = pin!(self.dispatch(method, params, asking, notices));
        timed(self.begin(method), work).await
    }

    /// The same, not counted.
    pub(super) async fn dispatch(
        &self,
        method: &str,
        params: Option<Json>,
        asking: &Asking,
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Outcome {
        if self.kin.has_seen(asking.meta.as_ref()) {
            return Err(RpcError::new(code::INVALID_REQUEST, format!("not answered: {CIRCLE}")));
        }
        if let Some((list, key)) = list_of(method)
            && self.shows(list, &asking.caller)
        {
            return self.list(list, key, params.as_ref(), asking).await;
        }
        let is_modern = asking.version.is_modern();
        match method {
            "resources/read" => self.read(params, asking, notices).await,
            "tools/call" if self.shows(List::Tools, &asking.caller) => {
                let call = ToolCall::of(self, params.as_ref())?;
                let timer = self.begin_call(&call.name, call.is_ours);
                timed_call(timer, pin!(self.call_tool(call, params, asking, notices))).await
            }
            "prompts/get" if self.shows(List::Prompts, &asking.caller) => {
                self.get_prompt(params, asking, notices).await
            }
            "skills/get" if self.shows(List::Skills, &asking.caller) => {
                self.act(Action::GetSkill, params, asking, notices).await
            }
            "resources/directory/read" if self.shows(List::Skills, &asking.caller) => {
                self.act(Action::ReadDirectory, params, asking, notices).await
            }
            "completion/complete" => self.complete(params, asking).await,
            "server/discover" if is_modern => {
                Ok(self.told(self.discover(&asking.caller), &asking.caller).into())
            }
            "ping" if !is_modern => Ok(Json::empty_object().into()),
            _ => Err(unknown_method(method)),
        }
    }

    async fn list(
        &self,
        list: List,
        key: &'static str,
        params: Option<&Json>,
        asking: &Asking,
    ) -> Outcome {
        let cursor = match params.and_then(|params| params.get("cursor")) {
            Some(cursor) if cursor.as_str() != "null" => Some(required(params, "cursor")?),
            _ => None,
        };
        let answer = self.gateway.list(&asking.caller, list, cursor.as_deref()).await;
        let mut answer = answer.map_err(|error| self.refusal(error, asking))?;
        // Ours first: no client that cuts the list loses them.
        let ours = match list {
            List::Tools if cursor.is_none() => self.tools.list(&asking.caller),
            List::Prompts if cursor.is_none() => self.tools.prompts(),
            _ => Vec::new(),
        };
        answer.page.entries.splice(0..0, ours);
        Ok(self.told(encode::list(key, &answer, asking.version), &asking.caller).into())
    }

    async fn read(
        &self,
        params: Option<Json>,
        asking: &Asking,
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Outcome {
        let uri = required(params.as_ref(), "uri")?;
        let subject = Subject { action: None, name: &uri, caller: &asking.caller };
        let params = self.unsealed(params, subject, asking)?;
        let ask = asking.ask(params.as_ref(), notices);
        let public = PublicUri::new(uri.as_str());
        let answer =
            self.gateway.read(&asking.caller, &public, ask).await.map(|reading| reading.reply);
        self.sealed(answer, subject, Keeping::Cacheable, asking)
    }

    /// A tool of ours, or else one of a Source.
    pub(super) async fn call_tool(
        &self,
        call: ToolCall,
        params: Option<Json>,
        asking: &Asking,
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Outcome {
        let ToolCall { name, arguments: given, is_ours } = call;
        if !is_ours {
            return self.act(Action::CallTool, params, asking, notices).await;
        }
        let subject =
            Subject { action: Some(Action::CallTool), name: &name, caller: &asking.caller };
        let params = self.unsealed(params, subject, asking)?;
        let ask = asking.ask(params.as_ref(), notices);
        let answer = self.tools.call(&asking.caller, &name, given.as_ref(), ask).await;
        let unknown = || AskError::UnknownName { what: "tool", name: name.clone() };
        self.sealed(answer.ok_or_else(unknown), subject, Keeping::OnceOnly, asking)
    }

    /// A prompt of ours, or else one of a Source.
    async fn get_prompt(
        &self,
        params: Option<Json>,
        asking: &Asking,
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Outcome {
        let name = required(params.as_ref(), "name")?;
        let given = params.as_ref().and_then(|params| params.get("arguments"));
        let ask = asking.ask(params.as_ref(), None);
        match self.tools.prompt(&asking.caller, &name, given.as_ref(), ask).await {
            None => self.act(Action::GetPrompt, params, asking, notices).await,
            Some(Ok(reply)) => encode::reply(reply, Keeping::OnceOnly, asking.version),
            Some(Err(failure)) => {
                let is_masked = self.gateway.access().withholds_causes_from(&asking.caller);
                Err(encode::failure(&failure, is_masked, asking.version))
            }
        }
    }

    async fn act(
        &self,
        action: Action,
        params: Option<Json>,
        asking: &Asking,
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Outcome {
        let name = required(params.as_ref(), action.key())?;
        let subject = Subject { action: Some(action), name: &name, caller: &asking.caller };
        let params = self.unsealed(params, subject, asking)?;
        let ask = asking.ask(params.as_ref(), notices);
        let arguments = arguments(params.as_ref());
        let answer = self.gateway.act(&asking.caller, action, &arguments, ask).await;
        let answer = match action {
            Action::CallTool if !asking.version.is_modern() => answer.map(encode::legacy_result),
            _ => answer,
        };
        let keeping = match action {
            Action::CallTool | Action::GetPrompt => Keeping::OnceOnly,
            Action::GetSkill | Action::ReadDirectory => Keeping::Cacheable,
        };
        self.sealed(answer, subject, keeping, asking)
    }

    async fn complete(&self, params: Option<Json>, asking: &Asking) -> Outcome {
        let arguments = arguments(params.as_ref());
        let ask = asking.ask(None, None);
        let answer = match self.gateway.complete(&asking.caller, &arguments, ask).await {
            Err(AskError::Source { error, .. }) if offers_none(&error) => {
                let none = r#"{"completion":{"values":[],"total":0,"hasMore":false}}"#;
                Ok(Reply::plain(Json::parse(none).expect("a literal")))
            }
            other => other,
        };
        let answer = answer.map_err(|error| self.refusal(error, asking))?;
        encode::reply(answer, Keeping::OnceOnly, asking.version)
    }

    fn unsealed(
        &self,
        params: Option<Json>,
        subject: Subject<'_>,
        asking: &Asking,
    ) -> Result<Option<Json>, RpcError> {
        match params {
            Some(params) if asking.version.is_modern() => {
                self.seal.open(params, &subject.to_string()).map(Some)
            }
            other => Ok(other),
        }
    }

    fn sealed(
        &self,
        answer: Result<Reply, AskError>,
        subject: Subject<'_>,
        keeping: Keeping,
        asking: &Asking,
    ) -> Outcome {
        let answer = answer.map_err(|error| self.refusal(error, asking))?;
        let needs_input = answer.needs_input;
        let result = encode::reply(answer, keeping, asking.version)?;
        if !needs_input {
            return Ok(result);
        }
        Ok(self.seal.close(result.into_json(), &subject.to_string()).into())
    }

    /// Why a question got no answer, as far as the caller may know; the log has the rest.
    pub(super) fn refusal(&self, error: AskError, asking: &Asking) -> RpcError {
        let AskError::Source { source_id, uri, error: cause } = error else {
            return encode::error(error, asking.version);
        };
        let withheld = if self.gateway.access().withholds_causes_from(&asking.caller) {
            cause.without_cause(uri.as_ref().map(|uri| uri.as_str()))
        } else {
            None
        };
        let told = match withheld {
            Some(told) => {
                let cause = cause.to_string();
                warn!(source = %source_id, cause = %escape_line(&cause), "failure");
                told
            }
            None => cause,
        };
        encode::error(AskError::Source { source_id, uri, error: told }, asking.version)
    }

    fn discover(&self, caller: &Caller) -> Json {
        let versions: Vec<String> = Version::ALL.iter().map(|v| quote(v.as_str())).collect();
        let mut object = Object::new();
        object.set("supportedVersions", format!("[{}]", versions.join(",")));
        object.set("capabilities", self.capabilities(Version::MODERN, caller));
        object.set("instructions", quote(&instructions(&self.tools)));
        encode::modernise(&mut object, Keeping::Cacheable, None);
        object.to_json()
    }

    /// The answer to `initialize`, and the version agreed on.
    pub(crate) fn initialize(&self, params: Option<&Json>, caller: &Caller) -> (Version, Json) {
        let timer = self.begin("initialize");
        let wanted =
            params.and_then(|p| p.get_str("protocolVersion")).and_then(|v| Version::parse(&v));
        let version = wanted.filter(|v| !v.is_modern()).unwrap_or(Version::NEWEST_LEGACY);
        let mut object = Object::new();
        object.set_str("protocolVersion", version.as_str());
        object.set("capabilities", self.capabilities(version, caller));
        object.set("serverInfo", server_info());
        object.set("instructions", quote(&instructions(&self.tools)));
        timer.end(Ending::Ok);
        (version, self.told(object.to_json(), caller))
    }

    /// An answer with what another Trove must know of us.
    fn told(&self, answer: Json, caller: &Caller) -> Json {
        self.kin.tell(caller.client.as_deref(), answer)
    }

    /// What we offer: the catalogue always, the rest where there is something of it.
    fn capabilities(&self, version: Version, caller: &Caller) -> String {
        let mut all = Object::new();
        all.set("resources", r#"{"subscribe":true,"listChanged":true}"#);
        all.set("completions", "{}");
        all.set("logging", "{}");
        if self.shows(List::Tools, caller) {
            all.set("tools", r#"{"listChanged":true}"#);
        }
        if self.shows(List::Prompts, caller) {
            all.set("prompts", r#"{"listChanged":true}"#);
        }
        if version >= Version::V2025_11_25 && self.shows(List::Skills, caller) {
            all.set("extensions", format!("{{\"{SKILLS}\":{{\"directoryRead\":true}}}}"));
        }
        all.to_text()
    }

    /// Whether a request may change something, so that it must not be left half done. A
    /// tool of somebody else's may, whatever it says of itself.
    pub(super) fn has_effects(&self, request: &Request) -> bool {
        match request.method.as_str() {
            "tools/call" => {
                let name = request.params.as_ref().and_then(|params| params.get_str("name"));
                name.and_then(|name| self.tools.effect(&name)) != Some(Effect::Reads)
            }
            "resources/subscribe" | "resources/unsubscribe" => true,
            _ => false,
        }
    }

    /// Whether a list is offered; the catalogue always is.
    fn shows(&self, list: List, caller: &Caller) -> bool {
        let snapshot = self.gateway.current();
        match list {
            List::Resources | List::Templates => true,
            List::Tools => self.tools.are_shown_to(caller) || snapshot.abilities().tools,
            List::Prompts => true,
            List::Skills => !snapshot.skills().is_empty() || snapshot.abilities().skills,
        }
    }
}

/// Which tool is called, and with what.
pub(super) struct ToolCall {
    name: String,
    arguments: Option<Json>,
    /// It is one of our own.
    is_ours: bool,
}

impl ToolCall {
    pub(super) fn of(server: &Server, params: Option<&Json>) -> Result<ToolCall, RpcError> {
        let name = params.and_then(|params| params.get_str("name"));
        let name = name.ok_or_else(|| missing("name"))?;
        let arguments = params.and_then(|params| params.get("arguments"));
        Ok(ToolCall { is_ours: server.tools.has(&name), name, arguments })
    }

    /// What a person must be asked before.
    pub(super) fn question(&self, server: &Server) -> Option<Question> {
        server.tools.question(&self.name, self.arguments.as_ref())
    }
}

/// What a request is about: sealed state belongs to it alone.
#[derive(Clone, Copy)]
struct Subject<'a> {
    /// Nothing: a read.
    action: Option<Action>,
    name: &'a str,
    /// Who was asked to carry it: nobody else may bring it back.
    caller: &'a Caller,
}

impl std::fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scope = self.caller.scope();
        write!(f, "{} {scope} {:?} {}", scope.len(), self.action, self.name)
    }
}

/// The list a method asks for, and the key it stands under in the result.
fn list_of(method: &str) -> Option<(List, &'static str)> {
    Some(match method {
        "resources/list" => (List::Resources, "resources"),
        "resources/templates/list" => (List::Templates, "resourceTemplates"),
        "tools/list" => (List::Tools, "tools"),
        "prompts/list" => (List::Prompts, "prompts"),
        "skills/list" => (List::Skills, "skills"),
        _ => return None,
    })
}

pub(crate) fn unknown_method(method: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("method not found: {method}"))
}

fn offers_none(error: &SourceError) -> bool {
    match error {
        SourceError::NotOffered { .. } => true,
        SourceError::Refused { code, .. } => *code == code::METHOD_NOT_FOUND,
        _ => false,
    }
}

/// The params without what belongs to this hop only.
fn arguments(params: Option<&Json>) -> Json {
    let Some(params) = params else { return Json::empty_object() };
    let Some(mut object) = params.object() else { return params.clone() };
    for key in ["_meta", "inputResponses", "requestState"] {
        object.remove(key);
    }
    if object.is_edited() { object.to_json() } else { params.clone() }
}
