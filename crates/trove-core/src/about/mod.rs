//! `info://`: what the gateway says about itself, read off live state.
//!
//! Nothing here is typed twice: health is what the parts pushed to the StatusBoard,
//! capabilities are the tables that are served.

mod health;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::time::Instant;

pub use health::{Health, SourceHealth};

use crate::{
    caller::Caller,
    json::Json,
    resource::{Freshness, Listing, Resource, Scope},
    source::{Ask, Operation, Reply, Source, SourceError, SourceId},
    status::StatusBoard,
};

/// The most resources and the most templates that `info://capabilities` shows; the
/// totals beside them are always whole.
pub const MAX_SHOWN: usize = 1000;

/// How long our own list may be believed: it only changes with the program.
const OWN_LIST_TTL_MS: u64 = 300_000;

/// Where About finds what it tells.
pub struct Facts {
    /// The program's version.
    pub version: &'static str,
    /// When it started.
    pub started: Instant,
    /// What the Sources say about themselves.
    pub board: Arc<StatusBoard>,
    /// What is served at this moment; nothing while shutting down.
    pub capabilities: Box<dyn Fn(&Caller) -> Option<Capabilities> + Send + Sync>,
}

/// What the gateway serves.
#[derive(Debug, Default, Serialize)]
pub struct Capabilities {
    /// Tools.
    pub tools: Vec<Item>,
    /// Resources, at most [`MAX_SHOWN`].
    pub resources: Vec<Item>,
    /// How many resources there are.
    pub resources_total: usize,
    /// Templates, at most [`MAX_SHOWN`].
    pub templates: Vec<Item>,
    /// How many templates there are.
    pub templates_total: usize,
    /// Prompts.
    pub prompts: Vec<Item>,
}

/// One thing that is served.
#[derive(Debug, Serialize)]
pub struct Item {
    /// Its URI, if it is known by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The Source of `info://`.
pub struct About {
    id: SourceId,
    facts: Facts,
}

const HEALTH: &str = "info://health";
const CAPABILITIES: &str = "info://capabilities";

impl About {
    /// Tells what `facts` hold.
    pub fn new(facts: Facts) -> About {
        About { id: SourceId::own(), facts }
    }

    fn describe(&self, uri: &str, caller: &Caller) -> Option<Json> {
        match uri {
            HEALTH => Some(Json::of(&Health::of(&self.facts))),
            CAPABILITIES => (self.facts.capabilities)(caller).map(|all| Json::of(&all)),
            _ => None,
        }
    }
}

impl Source for About {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn is_builtin(&self) -> bool {
        true
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let entry = |uri: &str, name: &str, description: &str| {
            Resource::new(Json::of(&serde_json::json!({
                "uri": uri, "name": name, "description": description,
                "mimeType": "application/json",
            })))
        };
        let resources = [
            entry(
                CAPABILITIES,
                "Capabilities",
                "What this gateway serves: tools, resources, templates, prompts",
            ),
            entry(HEALTH, "Health", "The state of every server behind this gateway"),
        ];
        let freshness = Freshness { ttl_ms: OWN_LIST_TTL_MS, scope: Scope::Public };
        let resources = resources.into_iter().flatten().collect();
        Box::pin(async move { Ok(Listing { resources, freshness, ..Listing::default() }) })
    }

    fn perform<'a>(
        &'a self,
        operation: Operation,
        ask: Ask,
    ) -> BoxFuture<'a, Result<Reply, SourceError>> {
        Box::pin(async move {
            let Operation::Read { uri } = operation else {
                return Err(SourceError::NotOffered { what: "anything but reading" });
            };
            let body = self.describe(uri.as_str(), &ask.caller).ok_or(SourceError::NotFound)?;
            Ok(Reply::plain(Json::of(&serde_json::json!({
                "contents": [{
                    "uri": uri.as_str(), "mimeType": "application/json", "text": body.as_str(),
                }],
            }))))
        })
    }
}
