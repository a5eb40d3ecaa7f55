//! What Sources offer beyond reading: tools, prompts, skills, directories.
//!
//! All of them work alike: find the owner by the name among the arguments, put the
//! owner's name there, ask, and make the names in the answer public.

use std::sync::Arc;

use super::{AskError, Gateway, resources::perform};
use crate::{
    caller::Caller,
    catalogue::{Snapshot, rewrite},
    json::{Json, Object},
    source::{Ask, Operation, Reply, Source},
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

impl Gateway {
    /// Does what is asked, with the thing that is named.
    pub async fn act(
        &self,
        _caller: &Caller,
        action: Action,
        arguments: &Json,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let snapshot = self.snapshot().await;
        let Routed { source, uri, arguments } = route(&snapshot, action, arguments)?;
        let operation = match action {
            Action::CallTool => Operation::CallTool { arguments },
            Action::GetPrompt => Operation::GetPrompt { arguments },
            Action::GetSkill => Operation::GetSkill { arguments },
            Action::ReadDirectory => Operation::ReadDirectory { arguments },
        };
        let reply = perform(&source, uri.as_ref(), operation, ask).await?;
        let rewrite = match action {
            Action::CallTool => rewrite::tool_result,
            Action::GetPrompt => rewrite::prompt_result,
            Action::GetSkill => rewrite::skill_result,
            Action::ReadDirectory => rewrite::directory,
        };
        let body = rewrite(&snapshot, source.id(), &reply.body);
        Ok(reply.with_body(body))
    }

    /// Asks every Source that can log to do so at `level` and above.
    pub async fn set_log_level(&self, _caller: &Caller, level: &str) {
        let snapshot = self.snapshot().await;
        let all = snapshot.members().iter().map(|member| member.source.set_log_level(level));
        futures_util::future::join_all(all).await;
    }
}

/// Finds the owner of what is named and puts the owner's name among the arguments.
fn route(snapshot: &Snapshot, action: Action, arguments: &Json) -> Result<Routed, AskError> {
    let key = action.key();
    let missing = || AskError::BadArguments { what: format!("`{key}` is missing or not a string") };
    let mut object = Object::parse(arguments.as_str()).ok_or_else(missing)?;
    let name = object.get_str(key).ok_or_else(missing)?.into_owned();
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
            let route = snapshot.route(&name).map_err(|e| AskError::route(&uri, e))?;
            (route.source, route.local.to_string(), Some(uri))
        }
    };
    if local == name {
        return Ok(Routed { source, uri, arguments: arguments.clone() });
    }
    object.set_str(key, &local);
    Ok(Routed { source, uri, arguments: object.to_json() })
}
