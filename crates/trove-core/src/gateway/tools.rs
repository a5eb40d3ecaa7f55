//! Tools and prompts of Sources that show theirs.

use std::sync::Arc;

use super::{AskError, Gateway, resources::ListAnswer};
use crate::{
    caller::Caller,
    catalogue::rewrite,
    json::{Json, Object},
    source::{Ask, Operation, Reply, Source},
};

impl Gateway {
    /// A page of all tools.
    pub async fn list_tools(
        &self,
        _caller: &Caller,
        cursor: Option<&str>,
    ) -> Result<ListAnswer, AskError> {
        let snapshot = self.snapshot().await;
        Ok(ListAnswer { page: snapshot.page_of_tools(cursor)?, snapshot })
    }

    /// A page of all prompts.
    pub async fn list_prompts(
        &self,
        _caller: &Caller,
        cursor: Option<&str>,
    ) -> Result<ListAnswer, AskError> {
        let snapshot = self.snapshot().await;
        Ok(ListAnswer { page: snapshot.page_of_prompts(cursor)?, snapshot })
    }

    /// Calls a tool; links in its result are made public.
    pub async fn call_tool(
        &self,
        _caller: &Caller,
        arguments: &Json,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let snapshot = self.snapshot().await;
        let (source, arguments) = localise("tool", arguments, |name| snapshot.route_tool(name))?;
        let result = perform(&source, Operation::CallTool { arguments }, ask).await?;
        let body = rewrite::tool_result(&snapshot, source.id(), &result.body);
        Ok(result.with_body(body))
    }

    /// Fills a prompt; links in it are made public.
    pub async fn get_prompt(
        &self,
        _caller: &Caller,
        arguments: &Json,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let snapshot = self.snapshot().await;
        let (source, arguments) =
            localise("prompt", arguments, |name| snapshot.route_prompt(name))?;
        let result = perform(&source, Operation::GetPrompt { arguments }, ask).await?;
        let body = rewrite::prompt_result(&snapshot, source.id(), &result.body);
        Ok(result.with_body(body))
    }

    /// Asks every Source that can log to do so at `level` and above.
    pub async fn set_log_level(&self, _caller: &Caller, level: &str) {
        let snapshot = self.snapshot().await;
        let all = snapshot.members().iter().map(|member| member.source.set_log_level(level));
        futures_util::future::join_all(all).await;
    }
}

/// Finds the owner of the `name` among arguments and puts the owner's name there.
fn localise<'s>(
    what: &'static str,
    arguments: &Json,
    route: impl FnOnce(&str) -> Option<(&'s Arc<dyn Source>, &'s str)>,
) -> Result<(Arc<dyn Source>, Json), AskError> {
    let missing =
        || AskError::BadArguments { what: "`name` is missing or not a string".to_owned() };
    let mut object = Object::parse(arguments.as_str()).ok_or_else(missing)?;
    let name = object.get_str("name").ok_or_else(missing)?.into_owned();
    let Some((source, local)) = route(&name) else {
        return Err(AskError::UnknownName { what, name });
    };
    if local == name {
        return Ok((source.clone(), arguments.clone()));
    }
    object.set_str("name", local);
    Ok((source.clone(), object.to_json()))
}

async fn perform(
    source: &Arc<dyn Source>,
    operation: Operation,
    ask: Ask,
) -> Result<Reply, AskError> {
    source.perform(operation, ask).await.map_err(|error| AskError::Source {
        source_id: source.id().clone(),
        uri: None,
        error,
    })
}
