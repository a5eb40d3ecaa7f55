//! The tools that a recipe would call: a person sees and approves them with the server.

use aws_lc_rs::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use trove_core::hex;
use trove_mcp::{
    recipe::{Choice, Recipe},
    upstream::{Reach, Text, UpstreamConfig},
};

use crate::config::shipped_recipes;

/// The tools that a recipe calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Calls {
    /// The name of a shipped recipe; `None` if it stands in the configuration.
    pub(crate) name: Option<String>,
    /// Every tool it may call.
    pub(crate) tools: Vec<String>,
    /// A digest of a recipe that is not ours: its arguments decide what a tool does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
}

impl Calls {
    /// Of the recipe that a server has or would be given.
    pub(crate) fn of(upstream: &UpstreamConfig) -> Option<Calls> {
        match &upstream.recipe {
            Choice::Given(_) => Calls::asked_for(upstream),
            Choice::Auto { .. } => recognised(upstream).map(|recipes| Calls::by(&recipes)),
            Choice::Off => None,
        }
    }

    /// Of the recipe for a command line or URL.
    pub(crate) fn for_words<'a>(words: impl Iterator<Item = &'a str>) -> Option<Calls> {
        let words: Vec<&str> = words.collect();
        shipped_for(&words).map(|recipes| Calls::by(&recipes))
    }

    /// Of the recipe that its entry asks for.
    pub(super) fn asked_for(upstream: &UpstreamConfig) -> Option<Calls> {
        match &upstream.recipe {
            Choice::Given(recipes) => {
                Some(Calls::by(&recipes.iter().map(|one| &**one).collect::<Vec<_>>()))
            }
            Choice::Auto { .. } | Choice::Off => None,
        }
    }

    fn by(recipes: &[&Recipe]) -> Calls {
        let mut tools: Vec<String> = Vec::new();
        for recipe in recipes {
            tools.extend(recipe.tools().into_iter().map(str::to_owned));
        }
        tools.sort();
        tools.dedup();
        let name = recipes.first().and_then(|one| one.name.clone());
        let own = recipes.first().filter(|one| one.name.is_none());
        let sha256 = own.map(|one| hex(digest(&SHA256, one.written.as_bytes()).as_ref()));
        Calls { name, tools, sha256 }
    }

    /// The recipe and its tools in words, e.g. `git, which calls git_log, git_show`.
    pub(crate) fn shown(&self) -> String {
        let name = self.name.as_deref().unwrap_or("of its own");
        format!("{name}, which calls {}", self.tools.join(", "))
    }
}

/// The shipped recipe for what would be started or reached.
fn recognised(upstream: &UpstreamConfig) -> Option<Vec<&'static Recipe>> {
    let words: Vec<&str> = match &upstream.reach {
        Reach::Stdio { command, args, .. } => {
            std::iter::once(command).chain(args).map(Text::written).collect()
        }
        Reach::Http(remote) | Reach::Sse(remote) => vec![remote.url.written()],
    };
    shipped_for(&words)
}

fn shipped_for(words: &[&str]) -> Option<Vec<&'static Recipe>> {
    let shipped = shipped_recipes().iter().find(|one| one.is_named_in(words.iter().copied()))?;
    Some(shipped.variants.iter().map(|one| &**one).collect())
}

/// Lets the recipe of a server call tools that do not say of themselves that they only read.
pub(super) fn let_call(upstream: &mut UpstreamConfig) {
    if let Choice::Auto { is_approved } = &mut upstream.recipe {
        *is_approved = true;
    }
}
