//! A configured server as a recipe sees it: tools to list and to call.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use trove_core::{
    Json, Source as _, SourceError, SourceId,
    resource::Named,
    source::{Ask, Operation},
    status::Recipe,
};

use super::{Reach, Upstreams, listing, source::Upstream};
use crate::recipe::{Made, Toolbox, only_reads};

/// A server with what its recipe makes.
pub(super) fn made(upstream: &Arc<Upstream>) -> Made<Upstream> {
    let (config, shared) = (&upstream.config, &upstream.shared);
    let (choice, may_search) = (config.recipe.clone(), config.is_searched);
    let (recipes, bounds) = (shared.recipes.clone(), shared.bounds.clone());
    Made::new(upstream.clone(), choice, may_search, recipes, bounds)
}

impl Upstreams {
    /// The tools that a server lists now; none if it has none.
    pub async fn tools(&self, id: &SourceId) -> Result<Vec<Named>, SourceError> {
        let upstream = self.upstream(id).await.ok_or(SourceError::NotFound)?;
        Ok(upstream.tools().await?.unwrap_or_default())
    }

    /// Calls a tool without arguments, if it says of itself that it only reads.
    pub async fn call_reading(&self, id: &SourceId, name: &str) -> Result<Json, SourceError> {
        let upstream = self.upstream(id).await.ok_or(SourceError::NotFound)?;
        let tools = upstream.tools().await?.unwrap_or_default();
        let is_it = |tool: &&Named| &*tool.name == name && only_reads(tool);
        if !tools.iter().any(|tool| is_it(&tool)) {
            return Err(SourceError::NotOffered { what: "such a tool that only reads" });
        }
        let arguments = Json::of(&serde_json::json!({ "name": name, "arguments": {} }));
        let operation = Operation::CallTool { arguments };
        Ok(upstream.perform(operation, Ask::default()).await?.body)
    }
}

impl Toolbox for Upstream {
    fn tools(&self) -> BoxFuture<'_, Result<Option<Vec<Named>>, SourceError>> {
        Box::pin(async {
            let conversation = self.ready().await?;
            let (timeout, bounds) = (self.config.timeout, &self.shared.bounds);
            let listed = listing::tools(&conversation, timeout, bounds).await;
            listed.map_err(|error| self.without_secrets(error))
        })
    }

    fn calls_itself(&self) -> Option<String> {
        self.conversation()?.hello.server.clone()
    }

    fn meetings(&self) -> u32 {
        self.shared.board.of(self.id()).map_or(0, |status| status.connects)
    }

    fn started_with(&self) -> Vec<String> {
        let texts = match &self.config.reach {
            Reach::Stdio { command, args, .. } => std::iter::once(command).chain(args).collect(),
            Reach::Http(remote) | Reach::Sse(remote) => vec![&remote.url],
        };
        let scope = &*self.shared.scope;
        let as_started =
            |text: &super::Text| text.expand(scope).unwrap_or_else(|_| text.written().to_owned());
        texts.into_iter().map(as_started).collect()
    }

    fn tell(&self, tools: Option<usize>, recipe: Option<Recipe>) {
        self.shared.board.update(self.id(), |status| {
            status.tools = tools;
            status.recipe = recipe;
        });
    }
}
