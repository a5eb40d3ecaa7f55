//! The actions of Sources beyond reading: tools, prompts, skills, directories.
//!
//! All of them work alike: find the owner by the name among the arguments, put the
//! owner's name there, ask, and make the names in the answer public.

use std::sync::{Arc, atomic::AtomicU8};

use super::{AskError, Gateway, fetch::perform, trim::Replied};
use crate::{
    caller::Caller,
    catalogue::{Snapshot, rewrite},
    json::Json,
    source::{Ask, Operation, Reply, Source, SourceId},
    uri::PublicUri,
};

/// Something to do with what is named among the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Call the tool `name`.
    CallTool,
    /// Fill the prompt `name`.
    GetPrompt,
    /// Describe the skill `uri`.
    GetSkill,
    /// List the members of the directory `uri`.
    ReadDirectory,
}

impl Action {
    /// Its name in the audit log.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Action::CallTool => "call_tool",
            Action::GetPrompt => "get_prompt",
            Action::GetSkill => "get_skill",
            Action::ReadDirectory => "read_directory",
        }
    }

    /// Which of the arguments names the thing.
    pub fn key(self) -> &'static str {
        match self {
            Action::CallTool | Action::GetPrompt => "name",
            Action::GetSkill | Action::ReadDirectory => "uri",
        }
    }
}

/// An action on its way to its Source.
struct Routed {
    source: Arc<dyn Source>,
    uri: Option<PublicUri>,
    arguments: Json,
}

/// Casts doubt on the texts of a Source when a call of a tool has ended. A caller may go while the
/// tool is at work: its future is dropped, and the tool may have written all the same.
struct Doubting<'a> {
    gateway: &'a Gateway,
    source: &'a SourceId,
}

impl Drop for Doubting<'_> {
    fn drop(&mut self) {
        self.gateway.doubt_texts(self.source);
    }
}

/// Whether a tool says of itself that it changes nothing.
fn only_reads(snapshot: &Snapshot, name: &str) -> bool {
    let annotations = snapshot.tool(name).and_then(|tool| tool.entry.get("annotations"));
    let hint = annotations.and_then(|annotations| annotations.get("readOnlyHint"));
    hint.is_some_and(|hint| hint.as_str() == "true")
}

impl Gateway {
    /// Does what is asked, with the thing that is named.
    pub(super) async fn fetch_action(
        &self,
        caller: &Caller,
        action: Action,
        arguments: &Json,
        mut ask: Ask,
    ) -> Result<Reply, AskError> {
        let name = arguments.get_str(action.key()).unwrap_or_default();
        let find = |snapshot: &Snapshot| self.route(caller, snapshot, action, arguments);
        let (snapshot, routed) = self.once_known(Some(&name), None, find).await;
        let routed = match routed {
            Ok(routed) => routed,
            Err(error) => {
                return Err(self.refused(caller, &snapshot, (action, arguments), error).await);
            }
        };
        let Routed { source, uri, arguments } = routed;
        ask.caller = caller.clone();
        ask.visible = self.visible(caller, source.id());
        let operation = match action {
            Action::CallTool => Operation::CallTool { arguments },
            Action::GetPrompt => Operation::GetPrompt { arguments },
            Action::GetSkill => Operation::GetSkill { arguments },
            Action::ReadDirectory => Operation::ReadDirectory { arguments },
        };
        let may_write = action == Action::CallTool && !only_reads(&snapshot, &name);
        let doubt = may_write.then(|| Doubting { gateway: self, source: source.id() });
        let reply = perform(&source, uri.as_ref(), operation, ask).await;
        drop(doubt);
        if may_write {
            self.catalogue.doubt(source.id()).await;
        }
        let reply = reply?;
        let rewrite = match action {
            Action::CallTool => rewrite::tool_result,
            Action::GetPrompt => rewrite::prompt_result,
            Action::GetSkill => rewrite::skill_result,
            Action::ReadDirectory => rewrite::directory,
        };
        let given = Replied { id: source.id(), body: &reply.body };
        let body = self.without_hidden(caller, &snapshot, action, &given);
        let body = rewrite(&snapshot, source.id(), &body);
        Ok(Reply { body, ..reply })
    }

    /// The error for a caller who asks for a hidden entry. It is the answer of local knowledge to a
    /// name that is not there.
    async fn refused(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        (action, arguments): (Action, &Json),
        error: AskError,
    ) -> AskError {
        let uri = PublicUri::new(arguments.get_str(action.key()).unwrap_or_default());
        let route = snapshot.route(uri.as_str()).ok();
        let (AskError::NotFound { .. }, Some(route), Some(knowledge)) =
            (&error, route, self.knowledge())
        else {
            return error;
        };
        if route.source.id() != knowledge.id() {
            return error;
        }
        let mut object = arguments.object().unwrap_or_default();
        object.set_str(action.key(), route.local.as_str());
        let arguments = object.to_json();
        let operation = match action {
            Action::GetSkill => Operation::GetSkill { arguments },
            Action::ReadDirectory => Operation::ReadDirectory { arguments },
            Action::CallTool | Action::GetPrompt => return error,
        };
        let visible = self.visible(caller, knowledge.id());
        let ask = Ask { caller: caller.clone(), visible, ..Ask::default() };
        perform(&route.source, Some(&uri), operation, ask).await.err().unwrap_or(error)
    }

    /// The rank of the lowest level of logs that any client wants to hear, this one among them.
    pub fn lowest_level(&self, level: &Arc<AtomicU8>) -> u8 {
        self.hearers.lowest_with(level)
    }

    /// Asks every Source that can log to do so at `level` and above.
    pub(super) async fn pass_log_level(&self, level: &str) {
        let snapshot = self.snapshot().await;
        let all = snapshot.members().iter().map(|member| member.source.set_log_level(level));
        futures_util::future::join_all(all).await;
    }

    /// Finds the owner of what is named and puts the owner's name among the arguments.
    fn route(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        action: Action,
        arguments: &Json,
    ) -> Result<Routed, AskError> {
        let key = action.key();
        let missing =
            || AskError::BadArguments { what: format!("`{key}` is missing or not a string") };
        let mut object = arguments.object().ok_or_else(missing)?;
        let name = object.get_str(key).ok_or_else(missing)?.into_owned();
        AskError::check_once(&object, &[key])?;
        let unknown = |what, name| AskError::UnknownName { what, name };
        let (source, local, uri) = match action {
            Action::CallTool => match snapshot.route_tool(&name) {
                Some((source, local)) => (source.clone(), local.to_owned(), None),
                None => return Err(unknown("tool", name)),
            },
            Action::GetPrompt => match snapshot.route_prompt(&name) {
                Some((source, local)) => (source.clone(), local.to_owned(), None),
                None => return Err(unknown("prompt", name)),
            },
            Action::GetSkill | Action::ReadDirectory => {
                let uri = PublicUri::new(name.as_str());
                let route = self.admit(caller, snapshot, &uri)?;
                (route.source, route.local.to_string(), Some(uri))
            }
        };
        if local == name {
            return Ok(Routed { source, uri, arguments: arguments.clone() });
        }
        object.set_str(key, &local);
        Ok(Routed { source, uri, arguments: object.to_json() })
    }
}
