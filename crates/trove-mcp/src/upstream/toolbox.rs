//! A configured server as a recipe sees it: tools to list and to call.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use trove_core::{Source as _, SourceError, resource::Named, status::Recipe};

use super::{Reach, listing, source::Upstream};
use crate::recipe::{Made, Toolbox};

/// A server with what its recipe makes.
pub(super) fn made(upstream: &Arc<Upstream>) -> Made<Upstream> {
    let (config, shared) = (&upstream.config, &upstream.shared);
    let (choice, may_search) = (config.recipe.clone(), config.is_searched);
    let (recipes, bounds) = (shared.recipes.clone(), shared.bounds.clone());
    Made::new(upstream.clone(), choice, may_search, recipes, bounds)
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
