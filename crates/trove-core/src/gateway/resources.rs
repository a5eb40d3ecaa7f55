//! Lists, reading, completion and watching.

use std::sync::Arc;

use super::{AskError, Gateway};
use crate::{
    caller::Caller,
    catalogue::{List, Page, Snapshot, rewrite},
    json::{Json, Object},
    source::{Ask, Operation, Reply, Source, SourceId},
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
    /// A page of one of the lists, all Sources together.
    pub async fn list(
        &self,
        _caller: &Caller,
        list: List,
        cursor: Option<&str>,
    ) -> Result<ListAnswer, AskError> {
        let snapshot = self.snapshot().await;
        Ok(ListAnswer { page: snapshot.page(list, cursor)?, snapshot })
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
        let reply = perform(&route.source, Some(uri), operation, ask).await?;
        let body = rewrite::contents(&snapshot, route.source.id(), &route.local, &reply.body);
        Ok(reply.with_body(body))
    }

    /// Offers values for an argument of a template or prompt.
    pub async fn complete(
        &self,
        _caller: &Caller,
        arguments: &Json,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let snapshot = self.snapshot().await;
        let (source, arguments) = localise_reference(&snapshot, arguments)?;
        perform(&source, None, Operation::Complete { arguments }, ask).await
    }

    /// Begins to report changes of a resource as [`crate::catalogue::Change::Updated`].
    /// Each success must be followed by one [`Gateway::unwatch`].
    pub async fn watch(&self, _caller: &Caller, uri: &PublicUri) -> Result<Watched, AskError> {
        let snapshot = self.snapshot().await;
        let route = snapshot.route(uri.as_str()).map_err(|e| AskError::route(uri, e))?;
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
            // Whoever began to watch meanwhile was told so before the Source was told to end.
            if self.watches.is_held(watched) {
                let _ = member.source.watch(&watched.1).await;
            }
        }
    }
}

/// Finds the owner of the `ref` among arguments and puts the owner's name there.
fn localise_reference(
    snapshot: &Snapshot,
    arguments: &Json,
) -> Result<(Arc<dyn Source>, Json), AskError> {
    let bad = |what: &str| AskError::BadArguments { what: what.to_owned() };
    let mut object =
        Object::parse(arguments.as_str()).ok_or_else(|| bad("params must be an object"))?;
    let reference = object.get("ref").and_then(Object::parse);
    let mut reference = reference.ok_or_else(|| bad("`ref` is missing"))?;
    let member = |key: &str| reference.get_str(key).map(|text| text.into_owned());
    let source = match member("type").as_deref() {
        Some("ref/resource") => {
            let uri = PublicUri::new(member("uri").ok_or_else(|| bad("`ref.uri` is missing"))?);
            let route =
                snapshot.route_template(uri.as_str()).map_err(|e| AskError::route(&uri, e))?;
            reference.set_str("uri", route.local.as_str());
            route.source
        }
        Some("ref/prompt") => {
            let name = member("name").ok_or_else(|| bad("`ref.name` is missing"))?;
            let Some((source, local)) = snapshot.route_prompt(&name) else {
                return Err(AskError::UnknownName { what: "prompt", name });
            };
            reference.set_str("name", local);
            source.clone()
        }
        Some(_) | None => return Err(bad("`ref.type` must be ref/resource or ref/prompt")),
    };
    let reference = reference.to_text();
    object.set("ref", reference);
    Ok((source, object.to_json()))
}

/// Asks a Source; `uri` is what the caller asked for, if that is one resource.
pub(super) async fn perform(
    source: &Arc<dyn Source>,
    uri: Option<&PublicUri>,
    operation: Operation,
    ask: Ask,
) -> Result<Reply, AskError> {
    source.perform(operation, ask).await.map_err(|error| AskError::Source {
        source_id: source.id().clone(),
        uri: uri.cloned(),
        error,
    })
}
