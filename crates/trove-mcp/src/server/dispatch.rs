//! One method, one call to the Gateway.

use std::pin::pin;

use tokio::sync::mpsc;
use tracing::warn;
use trove_core::{
    Caller, Json, PublicUri, SourceError,
    catalogue::List,
    content::escape_line,
    gateway::{Action, Answer, AskError, Call, Read},
    json::{Object, quote},
    metrics::Ending,
    source::{Ask, Notice, Reply},
    tools::{Effect, Question},
};

use super::{
    Server,
    asking::{Asking, missing},
    carried::{STATE, close_cursor, close_state, of_state, open_cursor, open_state},
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

    /// Answers a request that needs no session, without counting it.
    pub(super) async fn dispatch(
        &self,
        method: &str,
        params: Option<Json>,
        asking: &Asking,
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Outcome {
        if self.memory.kin.has_seen(asking.meta.as_ref()) {
            return Err(RpcError::new(code::INVALID_REQUEST, format!("not answered: {CIRCLE}")));
        }
        let params = params.unwrap_or_else(Json::empty_object);
        let given = Given::of(&params, asking, notices);
        if let Some((list, key)) = list_of(method)
            && self.shows(list, &asking.caller)
        {
            return self.list(list, key, &given).await;
        }
        let is_modern = asking.version.is_modern();
        match method {
            "resources/read" => self.read(given).await,
            "tools/call" if self.shows(List::Tools, &asking.caller) => {
                let tool = self.tool_in(&given)?;
                let timer = self.begin_call(&tool.name, tool.is_ours);
                timed_call(timer, pin!(self.call_tool(tool, given))).await
            }
            "prompts/get" if self.shows(List::Prompts, &asking.caller) => {
                self.get_prompt(given).await
            }
            "skills/get" if self.shows(List::Skills, &asking.caller) => {
                self.act(Action::GetSkill, given).await
            }
            "resources/directory/read" if self.shows(List::Skills, &asking.caller) => {
                self.act(Action::ReadDirectory, given).await
            }
            "completion/complete" => self.complete(given).await,
            "server/discover" if is_modern => {
                Ok(self.told(self.discover(&asking.caller), &asking.caller).into())
            }
            "ping" if !is_modern => Ok(Json::empty_object().into()),
            _ => Err(unknown_method(method)),
        }
    }

    /// Asks the Gateway.
    async fn run(&self, call: Call, asking: &Asking) -> Result<Answer, RpcError> {
        let answer = self.gateway.run(&asking.caller, call).await;
        answer.map_err(|error| self.refusal(error, asking))
    }

    async fn list(&self, list: List, key: &'static str, given: &Given<'_>) -> Outcome {
        let asking = given.asking;
        let cursor = match given.object.get("cursor") {
            Some(cursor) if cursor != "null" => {
                let sealed = given.required("cursor")?;
                Some(open_cursor(self.seal(), &sealed, &asking.caller))
            }
            _ => None,
        };
        let is_first = cursor.is_none();
        let Answer::Page(mut answer) = self.run(Call::List(list, cursor), asking).await? else {
            return Err(no_object());
        };
        // Ours first: no client that cuts the list loses them.
        let ours = match list {
            List::Tools if is_first => self.tools.list(&asking.caller),
            List::Prompts if is_first => self.tools.prompts(),
            _ => Vec::new(),
        };
        if list == List::Tools && self.tools.searches_tools() {
            // They are found by a tool of ours, not listed.
            answer.page.entries.clear();
            answer.page.next = None;
        }
        answer.page.entries.splice(0..0, ours);
        answer.page.next = match answer.page.next.take() {
            Some(next) => Some(close_cursor(self.seal(), &next, &asking.caller)?),
            None => None,
        };
        Ok(self.told(encode::list(key, &answer, asking.version), &asking.caller).into())
    }

    async fn read(&self, mut given: Given<'_>) -> Outcome {
        let uri = given.required("uri")?;
        let subject = Subject { action: None, name: &uri, caller: &given.asking.caller };
        given.open(self, subject)?;
        let call = Call::Read(Read::of(&PublicUri::new(uri.as_str()), given.ask()));
        let answer = self.run(call, given.asking).await?;
        self.sealed(answer, subject, Keeping::Cacheable, given.asking)
    }

    /// The tool that a request names.
    pub(super) fn tool_in(&self, given: &Given<'_>) -> Result<NamedTool, RpcError> {
        let name = given.required("name")?;
        Ok(NamedTool { is_ours: self.tools.has(&name), name })
    }

    /// A tool of ours, or else one of a Source.
    pub(super) async fn call_tool(&self, tool: NamedTool, mut given: Given<'_>) -> Outcome {
        let NamedTool { name, is_ours } = tool;
        if !is_ours {
            return self.act(Action::CallTool, given).await;
        }
        let arguments = given.member("arguments");
        let asking = given.asking;
        let subject =
            Subject { action: Some(Action::CallTool), name: &name, caller: &asking.caller };
        given.open(self, subject)?;
        let answer = self.tools.call(&asking.caller, &name, arguments.as_ref(), given.ask()).await;
        let Some(reply) = answer else {
            let unknown = AskError::UnknownName { what: "tool", name };
            return Err(self.refusal(unknown, asking));
        };
        // A tool of ours may pass on what a server answered.
        let reply = if asking.version.is_modern() { reply } else { encode::legacy_result(reply) };
        self.sealed(Answer::Reply(reply), subject, Keeping::OnceOnly, asking)
    }

    /// A prompt of ours, or else one of a Source.
    async fn get_prompt(&self, given: Given<'_>) -> Outcome {
        let name = given.required("name")?;
        let arguments = given.member("arguments");
        let asking = given.asking;
        let ask = asking.ask(&given.object, None);
        match self.tools.prompt(&asking.caller, &name, arguments.as_ref(), ask).await {
            None => self.act(Action::GetPrompt, given).await,
            Some(Ok(reply)) => encode::reply(reply, Keeping::OnceOnly, asking.version),
            Some(Err(failure)) => {
                let is_masked = self.gateway.access().withholds_causes_from(&asking.caller);
                Err(encode::failure(&failure, is_masked, asking.version))
            }
        }
    }

    async fn act(&self, action: Action, mut given: Given<'_>) -> Outcome {
        let name = given.required(action.key())?;
        let asking = given.asking;
        let subject = Subject { action: Some(action), name: &name, caller: &asking.caller };
        given.open(self, subject)?;
        let ask = given.ask();
        let call = Call::Act(action, given.into_arguments(), ask);
        let mut answer = self.run(call, asking).await?;
        if action == Action::CallTool
            && !asking.version.is_modern()
            && let Answer::Reply(reply) = answer
        {
            answer = Answer::Reply(encode::legacy_result(reply));
        }
        let keeping = match action {
            Action::CallTool | Action::GetPrompt => Keeping::OnceOnly,
            Action::GetSkill | Action::ReadDirectory => Keeping::Cacheable,
        };
        self.sealed(answer, subject, keeping, asking)
    }

    async fn complete(&self, given: Given<'_>) -> Outcome {
        let asking = given.asking;
        let ask = asking.ask(&Object::default(), None);
        let call = Call::Complete(given.into_arguments(), ask);
        let answer = match self.gateway.run(&asking.caller, call).await {
            Ok(answer) => answer.into_reply().ok_or_else(no_object)?,
            Err(AskError::Source { error, .. }) if offers_none(&error) => {
                let none = r#"{"completion":{"values":[],"total":0,"hasMore":false}}"#;
                Reply::plain(Json::parse(none).expect("a literal"))
            }
            Err(error) => return Err(self.refusal(error, asking)),
        };
        encode::reply(answer, Keeping::OnceOnly, asking.version)
    }

    fn sealed(
        &self,
        answer: Answer,
        subject: Subject<'_>,
        keeping: Keeping,
        asking: &Asking,
    ) -> Outcome {
        let answer = answer.into_reply().ok_or_else(no_object)?;
        let needs_input = answer.needs_input;
        let result = encode::reply(answer, keeping, asking.version)?;
        if !needs_input {
            return Ok(result);
        }
        let request = subject.to_string();
        let belongs_to = of_state(subject.caller, &request);
        let lifetime = self.bounds.state_age;
        Ok(close_state(self.seal(), result.into_json(), &belongs_to, lifetime)?.into())
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
        self.memory.kin.tell(caller.client.as_deref(), answer)
    }

    /// Our capabilities: always the catalogue; tools and prompts where this caller has some.
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

    /// Whether a request may change something, so that it must not be left half done. A tool of an
    /// upstream counts as one that may, even if it declares itself read-only.
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

    /// The question that a person must answer before this call of a tool.
    pub(super) fn question(&self, params: Option<&Json>) -> Option<Question> {
        let params = params?;
        let object = params.object()?;
        let arguments = object.get_original("arguments").map(|text| params.part(text));
        self.tools.question(&object.get_str("name")?, arguments.as_ref())
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

/// A tool that is to be called.
pub(super) struct NamedTool {
    name: String,
    /// It is one of our own.
    is_ours: bool,
}

/// A request on its way to one call: its params are taken apart once.
pub(super) struct Given<'a> {
    params: &'a Json,
    object: Object<'a>,
    asking: &'a Asking,
    notices: Option<mpsc::Sender<Notice>>,
}

impl<'a> Given<'a> {
    pub(super) fn of(
        params: &'a Json,
        asking: &'a Asking,
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Given<'a> {
        Given { params, object: params.object().unwrap_or_default(), asking, notices }
    }

    /// A string among them, which must be there.
    fn required(&self, key: &str) -> Result<String, RpcError> {
        let text = self.object.get_str(key).ok_or_else(|| missing(key))?;
        Ok(text.into_owned())
    }

    /// A member as the client wrote it.
    fn member(&self, key: &str) -> Option<Json> {
        self.object.get_original(key).map(|text| self.params.part(text))
    }

    /// Opens the state that a modern client brings back, if it was given out for this.
    fn open(&mut self, server: &Server, subject: Subject<'_>) -> Result<(), RpcError> {
        if !self.asking.version.is_modern() || self.object.get(STATE).is_none() {
            return Ok(());
        }
        let request = subject.to_string();
        let belongs_to = of_state(subject.caller, &request);
        open_state(server.seal(), &mut self.object, &belongs_to, server.bounds.state_age)
    }

    /// The companions of the question; the notices go with them.
    fn ask(&mut self) -> Ask {
        self.asking.ask(&self.object, self.notices.take())
    }

    /// The params without what belongs to this hop only.
    fn into_arguments(mut self) -> Json {
        for key in ["_meta", "inputResponses", STATE] {
            self.object.remove(key);
        }
        if self.object.is_edited() { self.object.to_json() } else { self.params.clone() }
    }
}

/// The subject of a request: sealed state belongs to it alone.
#[derive(Clone, Copy)]
struct Subject<'a> {
    /// `None`: a read.
    action: Option<Action>,
    name: &'a str,
    /// The caller who carries the state: no other may bring it back.
    caller: &'a Caller,
}

impl std::fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.action, self.name)
    }
}

/// The list a method asks for, and its key in the result, e.g. `resourceTemplates`.
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

/// The error that says so of an answer.
fn no_object() -> RpcError {
    RpcError::new(code::INTERNAL_ERROR, "the server's result was no object")
}
