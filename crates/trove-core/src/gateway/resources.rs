//! Resources: list, read, complete, watch.

use std::sync::Arc;

use super::{AskError, Gateway};
use crate::{
    caller::Caller,
    catalogue::{Page, Route, Snapshot, rewrite},
    json::{Json, Object},
    source::{Ask, Operation, Reply, SourceId},
    uri::{LocalUri, PublicUri},
};

/// A page of a list, with the Snapshot it was cut from.
pub struct ListAnswer {
    /// The page.
    pub page: Page,
    /// The Snapshot, for freshness and staleness.
    pub snapshot: Arc<Snapshot>,
}

/// What is watched: the owner and its name for it.
pub type Watched = (SourceId, LocalUri);

impl Gateway {
    /// A page of all resources of all Sources.
    pub async fn list_resources(
        &self,
        _caller: &Caller,
        cursor: Option<&str>,
    ) -> Result<ListAnswer, AskError> {
        let snapshot = self.snapshot().await;
        Ok(ListAnswer { page: snapshot.page_of_resources(cursor)?, snapshot })
    }

    /// A page of all templates of all Sources.
    pub async fn list_templates(
        &self,
        _caller: &Caller,
        cursor: Option<&str>,
    ) -> Result<ListAnswer, AskError> {
        let snapshot = self.snapshot().await;
        Ok(ListAnswer { page: snapshot.page_of_templates(cursor)?, snapshot })
    }

    /// Reads one resource: the result object as its Source wrote it, names made public.
    pub async fn read(
        &self,
        _caller: &Caller,
        uri: &PublicUri,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let snapshot = self.snapshot().await;
        let route = snapshot.route(uri.as_str()).map_err(|e| AskError::route(uri, e))?;
        let operation = Operation::Read { uri: route.local.clone() };
        let result = perform(&route, uri, operation, ask).await?;
        let body = rewrite::contents(&snapshot, route.source.id(), &result.body);
        Ok(result.with_body(body))
    }

    /// Lists the members of a directory resource.
    pub async fn read_directory(
        &self,
        _caller: &Caller,
        arguments: &Json,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let snapshot = self.snapshot().await;
        let (uri, route, arguments) = route_argument(&snapshot, arguments)?;
        let operation = Operation::ReadDirectory { arguments };
        let result = perform(&route, &uri, operation, ask).await?;
        let body = rewrite::directory(&snapshot, route.source.id(), &result.body);
        Ok(result.with_body(body))
    }

    /// A page of all skills of all Sources.
    pub async fn list_skills(
        &self,
        _caller: &Caller,
        cursor: Option<&str>,
    ) -> Result<ListAnswer, AskError> {
        let snapshot = self.snapshot().await;
        Ok(ListAnswer { page: snapshot.page_of_skills(cursor)?, snapshot })
    }

    /// Describes one skill.
    pub async fn get_skill(
        &self,
        _caller: &Caller,
        arguments: &Json,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let snapshot = self.snapshot().await;
        let (uri, route, arguments) = route_argument(&snapshot, arguments)?;
        let result = perform(&route, &uri, Operation::GetSkill { arguments }, ask).await?;
        let body = rewrite::skill_result(&snapshot, route.source.id(), &result.body);
        Ok(result.with_body(body))
    }

    /// Offers values for an argument of a template or prompt.
    pub async fn complete(
        &self,
        _caller: &Caller,
        arguments: &Json,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let snapshot = self.snapshot().await;
        let bad = |what: &str| AskError::BadArguments { what: what.to_owned() };
        let mut object =
            Object::parse(arguments.as_str()).ok_or_else(|| bad("params must be an object"))?;
        let reference = object.get("ref").and_then(Object::parse);
        let mut reference = reference.ok_or_else(|| bad("`ref` is missing"))?;
        let kind = reference.get_str("type").map(|kind| kind.into_owned());
        let source = match kind.as_deref() {
            Some("ref/resource") => {
                let text = reference.get_str("uri").ok_or_else(|| bad("`ref.uri` is missing"))?;
                let uri = PublicUri::new(&*text);
                let route =
                    snapshot.route_template(uri.as_str()).map_err(|e| AskError::route(&uri, e))?;
                reference.set_str("uri", route.local.as_str());
                route.source
            }
            Some("ref/prompt") => {
                let name = reference.get_str("name").ok_or_else(|| bad("`ref.name` is missing"))?;
                let unknown = || AskError::UnknownName { what: "prompt", name: name.to_string() };
                let (source, local) = snapshot.route_prompt(&name).ok_or_else(unknown)?;
                let (source, local) = (source.clone(), local.to_owned());
                reference.set_str("name", &local);
                source
            }
            Some(_) | None => return Err(bad("`ref.type` must be ref/resource or ref/prompt")),
        };
        let reference = reference.to_text();
        object.set("ref", reference);
        let operation = Operation::Complete { arguments: object.to_json() };
        source.perform(operation, ask).await.map_err(|error| AskError::Source {
            source_id: source.id().clone(),
            uri: None,
            error,
        })
    }

    /// Begins to report changes of a resource as [`crate::catalogue::Change::Updated`].
    /// Each success must be followed by one [`Gateway::unwatch`].
    pub async fn watch(&self, _caller: &Caller, uri: &PublicUri) -> Result<Watched, AskError> {
        let route =
            self.snapshot().await.route(uri.as_str()).map_err(|e| AskError::route(uri, e))?;
        let watched = (route.source.id().clone(), route.local.clone());
        let is_first = self.watches.hold(&watched)?;
        if is_first && let Err(error) = route.source.watch(&route.local).await {
            self.watches.release(&watched);
            return Err(AskError::Source { source_id: watched.0, uri: Some(uri.clone()), error });
        }
        Ok(watched)
    }

    /// Ends what [`Gateway::watch`] began.
    pub async fn unwatch(&self, watched: &Watched) {
        let was_last = self.watches.release(watched);
        if was_last && let Some(member) = self.catalogue.snapshot().member(&watched.0) {
            member.source.unwatch(&watched.1).await;
        }
    }
}

/// Finds the owner of the `uri` among arguments and puts the owner's name there.
fn route_argument(
    snapshot: &Snapshot,
    arguments: &Json,
) -> Result<(PublicUri, Route, Json), AskError> {
    let missing = || AskError::BadArguments { what: "`uri` is missing or not a string".to_owned() };
    let mut object = Object::parse(arguments.as_str()).ok_or_else(missing)?;
    let uri = PublicUri::new(&*object.get_str("uri").ok_or_else(missing)?);
    let route = snapshot.route(uri.as_str()).map_err(|e| AskError::route(&uri, e))?;
    object.set_str("uri", route.local.as_str());
    let arguments = object.to_json();
    Ok((uri, route, arguments))
}

async fn perform(
    route: &Route,
    uri: &PublicUri,
    operation: Operation,
    ask: Ask,
) -> Result<Reply, AskError> {
    route.source.perform(operation, ask).await.map_err(|error| AskError::Source {
        source_id: route.source.id().clone(),
        uri: Some(uri.clone()),
        error,
    })
}
