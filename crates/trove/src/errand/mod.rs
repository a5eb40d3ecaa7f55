//! One question of the command line, answered by a gateway. A Trove that runs already answers over
//! its socket. Else one is started for it.
//!
//! Both ways lead through [`perform`], so the answer is the same. The way it is printed is not
//! known here.

mod ask;
mod door;
mod recipe;

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trove_core::{
    Caller, Json, PublicUri, SourceId,
    content::{Payload, contents, first_text},
    gateway::View,
    project::ProjectName,
    source::Ask,
    status::State,
};

pub(crate) use ask::{GRACE, ask};
pub(crate) use door::open;

use crate::{
    app::Live,
    failed::{Class, Failed},
    telemetry,
};

/// How often we look whether something awaited is there.
const LOOK: Duration = Duration::from_millis(10);
/// How long texts are looked at again that an earlier run has read.
const MAX_LOOKING_AGAIN: Duration = Duration::from_secs(2);
/// The most names that are given to complete one.
const MAX_NAMES: usize = 2_000;
/// The name of the command line in the audit log.
pub(crate) const CLIENT: &str = "trove-cli";

/// The question, and how many seconds servers are waited for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Errand {
    pub(crate) what: What,
    pub(crate) wait: u64,
    /// The folder of the command, which may decide about the project.
    folder: Option<PathBuf>,
}

impl Errand {
    /// An errand from the current folder.
    pub(crate) fn new(what: What, wait: u64) -> Errand {
        Errand { what, wait, folder: std::env::current_dir().ok() }
    }
}

/// The question of an errand.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    /// Every resource and template, as a JSON array.
    List,
    /// The bytes of one resource.
    Read { uri: String },
    /// The answer of a tool.
    Call { tool: String, arguments: Value, until: Until },
    /// The state of every server.
    Status,
    /// The log, and what servers wrote to theirs.
    Logs { server: Option<String>, after: u64 },
    /// Ten resources, one read and one search of a server, or of the servers with this recipe.
    Try { name: String },
    /// A recipe to begin with. `calls`: the tool that lists may be called once.
    Draft { server: String, calls: bool },
    /// Names that begin so: servers, or URIs.
    Names { of: Names, start: String },
}

/// How much must be there before an answer is worth giving.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Until {
    /// Nothing.
    Now,
    /// Every server has answered or failed.
    Listed,
    /// The owner of this URI answers, or every server has answered or failed.
    Owner(String),
    /// Listed resources can be found.
    Indexed,
}

/// The kind of names to complete.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Names {
    Servers,
    Uris,
}

/// The outcome of an errand.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Notes for the person at the terminal.
    pub(crate) notes: Vec<String>,
    pub(crate) body: Vec<u8>,
}

/// The gateway that answers. One that runs for long knows most things already, and makes no caller
/// wait for its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Started,
    Running,
}

/// Does it.
pub(crate) async fn perform(live: &Live, errand: &Errand, whose: Whose) -> Result<Answer, Failed> {
    let wait = Duration::from_secs(errand.wait);
    let project = live.gateway().project_in(errand.folder.as_slice());
    let work = Work { live, wait, whose, project };
    match &errand.what {
        What::List => work.list().await,
        What::Read { uri } => work.read(uri).await,
        What::Call { tool, arguments, until } => work.call(tool, arguments, until).await,
        What::Status => work.status().await,
        What::Logs { server, after } => work.logs(server.as_deref(), *after).await,
        What::Try { name } => work.try_recipe(name).await,
        What::Draft { server, calls } => work.draft(server, *calls).await,
        What::Names { of, start } => work.names(*of, start).await,
    }
}

struct Work<'a> {
    live: &'a Live,
    wait: Duration,
    whose: Whose,
    project: Option<ProjectName>,
}

impl Work<'_> {
    fn caller(&self) -> Caller {
        let (client, project) = (Some(CLIENT.into()), self.project.clone());
        Caller { client, project, ..Caller::local() }
    }

    async fn list(&self) -> Result<Answer, Failed> {
        let notes = self.settle("shown").await;
        let view = self.live.gateway().browse(&self.caller()).await;
        let body = listed(&view).into_bytes();
        Ok(Answer { notes, body })
    }

    async fn read(&self, uri: &str) -> Result<Answer, Failed> {
        self.until(&Until::Owner(uri.to_owned())).await;
        let uri = PublicUri::new(uri);
        let read = self.live.gateway().read(&self.caller(), &uri, Ask::default()).await?;
        Ok(Answer { notes: Vec::new(), body: raw(&read.reply.body)? })
    }

    async fn call(&self, tool: &str, arguments: &Value, until: &Until) -> Result<Answer, Failed> {
        let notes = self.until(until).await;
        let object = self.called(tool, arguments).await?;
        Ok(Answer { notes, body: object.as_str().as_bytes().to_vec() })
    }

    /// Calls a tool as a client would and gives its object; a failure keeps its own.
    async fn called(&self, name: &str, arguments: &Value) -> Result<Json, Failed> {
        let tools = self.live.tools().all();
        let arguments = Json::of(arguments);
        let caller = self.caller();
        match tools.attempt(&caller, name, Some(&arguments), Ask::default()).await {
            None => Ok(Json::empty_object()),
            Some(Ok(reply)) => {
                Ok(reply.body.get("structuredContent").unwrap_or_else(Json::empty_object))
            }
            Some(Err(failure)) => {
                let is_masked = self.live.gateway().access().withholds_causes_from(&caller);
                let object = failure.to_json(is_masked).as_str().to_owned();
                Err(Failed { object: Some(object), ..Failed::from(&failure) })
            }
        }
    }

    /// `info://health`, through the front door so that it is the object every other reader
    /// gets; and the last words of servers that fail.
    async fn status(&self) -> Result<Answer, Failed> {
        self.settle("shown").await;
        let uri = PublicUri::new("info://health");
        let read = self.live.gateway().read(&self.caller(), &uri, Ask::default()).await?;
        let health = first_text(&read.reply.body).unwrap_or_default();
        let mut words = serde_json::Map::new();
        for (id, status) in self.live.gateway().board().all() {
            if status.last_error.is_some() {
                let lines = self.live.upstreams().stderr(&id).await;
                words.insert(id.to_string(), lines.into());
            }
        }
        let both = serde_json::json!({ "health": health, "stderr": words });
        Ok(Answer { notes: Vec::new(), body: both.to_string().into_bytes() })
    }

    async fn logs(&self, server: Option<&str>, after: u64) -> Result<Answer, Failed> {
        let answer = match server {
            None => {
                let (lines, last) = telemetry::recent(after);
                serde_json::json!({ "lines": lines, "last": last })
            }
            Some(name) => {
                let id = SourceId::normalise(name);
                if self.live.gateway().board().of(&id).is_none() {
                    let message = format!("there is no server `{name}`; `trove status` shows all");
                    return Err(Failed::new(Class::InvalidArguments, message));
                }
                let lines = self.live.upstreams().stderr(&id).await;
                serde_json::json!({ "server": id.as_str(), "lines": lines })
            }
        };
        Ok(Answer { notes: Vec::new(), body: answer.to_string().into_bytes() })
    }

    async fn names(&self, of: Names, start: &str) -> Result<Answer, Failed> {
        let view = self.live.gateway().view(&self.caller()).await;
        let names: Vec<String> = match of {
            Names::Servers => {
                let all = self.live.gateway().board().all();
                all.into_keys()
                    .map(|id| id.to_string())
                    .filter(|id| id.starts_with(start))
                    .collect()
            }
            Names::Uris => {
                let uris = view.resources().map(|(one, _)| one.public.as_str());
                uris.filter(|uri| uri.starts_with(start)).take(MAX_NAMES).map(Into::into).collect()
            }
        };
        let body = serde_json::to_vec(&names).unwrap_or_default();
        Ok(Answer { notes: Vec::new(), body })
    }

    async fn until(&self, until: &Until) -> Vec<String> {
        match until {
            Until::Now => Vec::new(),
            Until::Listed => self.settle("counted").await,
            Until::Owner(uri) => {
                // No need to wait for every server when the owner of this one is there.
                let _ = tokio::time::timeout(self.wait, self.owner(uri)).await;
                Vec::new()
            }
            Until::Indexed => {
                let mut notes = self.settle("found").await;
                notes.extend(self.indexed().await);
                notes
            }
        }
    }

    /// Waits until the owner of a URI answers, or every server has answered or failed.
    async fn owner(&self, uri: &str) {
        let gateway = self.live.gateway();
        while !unsettled(self.live).is_empty() {
            let route = gateway.snapshot().await.route(uri);
            let owner = route.ok().and_then(|route| gateway.board().of(route.source.id()));
            if owner.is_some_and(|status| status.state == State::Ready) {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until every server has answered or failed; says which did not answer, and why.
    async fn settle(&self, done: &str) -> Vec<String> {
        let settled = async {
            while !unsettled(self.live).is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        };
        // Out of patience: the answer is as good as it is by now.
        let _ = tokio::time::timeout(self.wait, settled).await;
        let note =
            |id: SourceId| format!("{id} has not answered yet; {done} is what it listed last time");
        let mut notes: Vec<String> = unsettled(self.live).into_iter().map(note).collect();
        let all = self.live.gateway().board().all().into_iter();
        let has_failed =
            |state| matches!(state, State::Backoff | State::CircuitOpen | State::CutOff);
        let failed = all.filter(|(_, it)| has_failed(it.state));
        notes.extend(failed.map(|(id, it)| {
            let why = it.last_error.map(|outage| outage.to_string()).unwrap_or_default();
            format!("{id} does not answer ({why}); {done} is what it listed last time")
        }));
        notes
    }

    /// Waits until names, contents and meanings can be found.
    async fn indexed(&self) -> Option<String> {
        let gateway = self.live.gateway();
        let indexed = async {
            gateway.crawled().await;
            // Servers may have changed since the last run. Where there is too much to look at
            // all of it again, hits tell the age of their texts.
            let _ = tokio::time::timeout(MAX_LOOKING_AGAIN, gateway.looked_again()).await;
            let Some(search) = gateway.search() else { return };
            while search.awaiting_meaning() > 0 {
                tokio::time::sleep(LOOK).await;
            }
        };
        let patience = match self.whose {
            Whose::Started => self.wait,
            Whose::Running => Duration::ZERO,
        };
        if tokio::time::timeout(patience, indexed).await.is_ok() {
            return None;
        }
        let is_all_read = gateway.search().is_some_and(|search| search.pending(1).is_empty());
        match (self.whose, is_all_read) {
            (Whose::Running, true) => None,
            (Whose::Running, false) => Some("not everything is indexed yet".to_owned()),
            (Whose::Started, _) => {
                Some("not everything is indexed yet; --wait gives it more seconds".to_owned())
            }
        }
    }
}

/// The servers that have neither answered nor failed yet.
fn unsettled(live: &Live) -> Vec<SourceId> {
    let all = live.gateway().board().all();
    all.into_iter().filter(|(_, status)| !status.is_settled()).map(|(id, _)| id).collect()
}

/// One array; each entry as listed, with the server it belongs to.
fn listed(view: &View) -> String {
    let snapshot = view.snapshot();
    let resources = view.resources().map(|(one, _)| (one.member, &one.entry));
    let templates = view.templates().map(|(one, _)| (one.member, &one.entry));
    let entries: Vec<String> = resources
        .chain(templates)
        .map(|(member, entry)| with_server(entry, snapshot.owner(member).id().as_str()))
        .collect();
    format!("[{}]", entries.join(",\n"))
}

fn with_server(entry: &Json, server: &str) -> String {
    let Some(mut object) = entry.object() else { return entry.as_str().to_owned() };
    object.set_str("server", server);
    object.to_text()
}

/// The contents as they are: text as text, binary decoded, several one after another.
fn raw(result: &Json) -> Result<Vec<u8>, Failed> {
    let mut bytes = Vec::new();
    for content in contents(result) {
        match content.payload {
            Payload::Text(words) => bytes.extend_from_slice(words.text().as_bytes()),
            Payload::Blob(decoded) => bytes.extend(decoded),
            Payload::Odd(_) => {
                let message = "the server's answer has a content that is neither text nor base64";
                return Err(Failed::new(Class::ResourceExecutionError, message));
            }
        }
    }
    Ok(bytes)
}
